/* Environment-steps per second of DDQN's training: scans side by side take an action, and updates draw of the
 * replay. Beside it stand the passes through its networks alone, in the same batches: decisions,
 * reconstructions for rewards, what updates look at and learn. */
#include "systems/replay/ddqn.h"
#include "engine/base/log.h"
#include "engine/base/text.h"
#include "tools/bench/bench.h"

#include <math.h>

struct ddqn_bench {
  struct device *device;
  struct training training;
  double seconds, passes_seconds; /* of a scan, all of its actions */
};

static const struct ddqn *ddqn_in(const struct ddqn_bench *bench) {
  return ddqn_of(&bench->training);
}

static void take_action(struct ddqn_bench *bench) {
  bench->training.task->step(&bench->training);
  bench->training.done++;
}

static void scan_once(void *context) {
  struct ddqn_bench *bench = context;
  for (size_t step = 0; step < ddqn_in(bench)->replay.steps; step++) take_action(bench);
}

/* The replay holds what updates want, and the last one's numbers are such. */
static bool fill_replay(struct ddqn_bench *bench, struct error *error) {
  struct training *training = &bench->training;
  double values[TRAINING_VALUES] = {0};
  while (!training->optimiser.step) scan_once(bench);
  if (!training->task->log(training, values, error)) return false;
  return isfinite(values[DDQN_loss]) || fail(error, "the loss of an update is %g", values[DDQN_loss]);
}

/* ---- the passes alone ---------------------------------------------------------------------------------- */

static void pass_reconstructor(struct ddqn_bench *bench, size_t images) {
  struct reconstructor *reconstructor = &bench->training.reconstructor;
  struct pass pass;
  if (!reconstructor->graph) return;
  for (size_t turn = 0; pass_take(&pass, turn, images, reconstructor->batch); turn++)
    reconstructor_forward(reconstructor, pass.images);
}

static void pass_policy(struct policy *policy, size_t images, size_t most, bool backward) {
  struct pass pass;
  for (size_t turn = 0; pass_take(&pass, turn, images, most); turn++) {
    path_forward(&policy->network.path, pass.images);
    if (backward) graph_set_shards(policy->graph, 0, pass.images);
    if (backward) policy_backward(policy, pass.images);
  }
}

static void pass_update(struct ddqn_bench *bench) {
  struct training *training = &bench->training;
  const struct options *options = training->options;
  struct ddqn *ddqn = ddqn_of(training);
  for (int seen = 0; seen < 2 && ddqn_looks_at_reconstructions(options); seen++)
    pass_reconstructor(bench, ddqn->batch);
  if (options->ddqn.estimator == DDQN_DOUBLE) pass_policy(&training->policy, ddqn->batch, ddqn->most, false);
  pass_policy(&ddqn->target, ddqn->batch, ddqn->most, false);
  pass_policy(&training->policy, ddqn->batch, ddqn->most, true);
}

static void pass_scan(void *context) {
  struct ddqn_bench *bench = context;
  struct training *training = &bench->training;
  const struct replay *replay = &ddqn_in(bench)->replay;
  pass_reconstructor(bench, replay->scans);
  for (size_t step = 0; step < replay->steps; step++) {
    pass_policy(&training->policy, replay->scans, training->policy.batch, false);
    pass_reconstructor(bench, replay->scans);
    for (uint32_t i = 0; i < training->options->ddqn.updates; i++) pass_update(bench);
  }
}

/* ---- the bench ----------------------------------------------------------------------------------------- */

static void print_result(const struct ddqn_bench *bench, bool json) {
  const struct options *options = bench->training.options;
  const struct replay *replay = &ddqn_in(bench)->replay;
  double steps = (double)(replay->scans * replay->steps), rate = steps / bench->seconds,
         share = bench->passes_seconds / bench->seconds;
  const char *network = block_precision_name((enum block_precision)options->network.precision),
             *policy = block_precision_name((enum block_precision)options->policy.precision),
             *path = bench->training.policy.blocks ? "fused" : "portable";
  const struct scan_shape shape = scan_shape_of(options);
  char size[SCAN_SHAPE_TEXT];
  if (json) {
    printf("{\"bench\":\"ddqn\",\"device\":");
    json_text(stdout, bench->device->facts.name);
    printf(
        ",\"size\":%s,\"scans\":%zu,\"budget\":%zu,\"updates\":%u,\"batch\":%u,\"network_precision\":\"%s\","
        "\"policy_precision\":\"%s\",\"path\":\"%s\",\"steps_per_second\":%.6g,\"passes_steps_per_second\":%."
        "6g,"
        "\"share\":%.4g,\"milliseconds\":%.6g}\n",
        scan_shape_text(&shape, size), replay->scans, replay->steps, options->ddqn.updates,
        options->ddqn.batch, network, policy, path, rate, rate / share, share,
        1e3 * bench->seconds / (double)replay->steps);
    return;
  }
  printf("DDQN: %zu scan%s side by side, T = %zu, %u update%s of %u an action, %ux%u, reconstructor %s, "
         "policy %s, %s path, on %s\n",
         replay->scans, plural(replay->scans), replay->steps, options->ddqn.updates,
         plural(options->ddqn.updates), options->ddqn.batch, shape.height, shape.width, network, policy, path,
         bench->device->facts.name);
  printf("  %s environment-steps/s, %s ms an action of all scans: %.1f %% of the networks' passes alone "
         "(%s/s)\n",
         text_number(rate, 5).text, text_number(1e3 * bench->seconds / (double)replay->steps, 4).text,
         100 * share, text_number(rate / share, 5).text);
}

bool bench_ddqn(struct call *call, struct device *device, struct error *error) {
  const struct options *options = &call->options;
  struct ddqn_bench bench = {.device = device};
  uint32_t slices = 1024;
  if (!call_number(call, "slices", 1, 1000000, &slices, error)) return false;
  struct training_config config = {.task = &task_ddqn,
                                   .kernel_folder = call_flag(call, "kernels"),
                                   .fill = bench_slices,
                                   .slices = slices};
  if (ddqn_is_specific_to_data(options))
    return fail_usage(
        error,
        "ddqn.specific is data_set, whose network sees no image; bench ddqn times passes of images: set "
        "it to subject");
  if (!training_open(&bench.training, device, options, &config, error)) return false;
  bool good = fill_replay(&bench, error) && bench_passes(device, scan_once, &bench, &bench.seconds, error) &&
              bench_passes(device, pass_scan, &bench, &bench.passes_seconds, error);
  if (good) print_result(&bench, call_flag(call, "json"));
  if (good && call_flag(call, "profile")) good = bench_profile(device, scan_once, &bench, false, error);
  training_close(&bench.training);
  return good;
}
