#include "systems/methods/baseline.h"

#include "components/components.h"
#include "engine/device/kernel.h"

float leave_one_out(size_t members) {
  return (float)members / (float)(members - 1);
}

static const char *const baseline_name[] = {"critic", "group", "group_critic"};

bool baseline_check(const struct options *options, struct error *error) {
  uint32_t group = options->learn.group, scans = options->learn.scans;
  const char *baseline = baseline_name[options->learn.baseline];
  if (options->learn.baseline != BASELINE_CRITIC && group < 2)
    return fail_usage(error,
                      "learn.baseline is %s and learn.group %u: a scan has no others of its slice; set learn.group "
                      "to 2 or more, or learn.baseline to critic",
                      baseline, group);
  if (scans % group)
    return fail_usage(error,
                      "learn.scans is %u and learn.group %u: a rollout must have whole groups; set learn.scans to "
                      "a multiple of learn.group",
                      scans, group);
  if (group > 1 && group == scans)
    return fail_usage(error,
                      "learn.scans and learn.group are both %u: a rollout would scan one slice only; set "
                      "learn.scans to twice learn.group or more",
                      group);
  return true;
}

bool baseline_refuse(const struct options *options, const char *own, struct error *error) {
  if (options->learn.group == 1 && options->learn.baseline == BASELINE_CRITIC) return true;
  return fail_usage(error,
                    "learn.group is %u and learn.baseline %s, which l2s and l2sr look at; this method has %s of "
                    "its own; take the two keys away",
                    options->learn.group, baseline_name[options->learn.baseline], own);
}

static void run_centre(struct world *world, void *context) {
  const struct scan_group *group = context;
  kernel_run(world_kernels(world), "group_centre", group->scans,
             ARGS(world_in(world, ROLLOUT_reward), world_out(world, ROLLOUT_centred),
                  arg_u32((uint32_t)group->steps), arg_u32((uint32_t)group->members),
                  arg_u32((uint32_t)group->stride), arg_f32(group->scale)));
}

const struct system system_centre_rewards = {
    .name = "centre_rewards",
    .doc = "rewards less the mean of the scans of the same slice (Kool et al. 2019)",
    .reads = SET(ROLLOUT_reward),
    .writes = SET(ROLLOUT_centred),
    .kernels = {"group_centre"},
    .run = run_centre};
