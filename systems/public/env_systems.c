#include "systems/public/env_systems.h"

#include "systems/public/env.h"
#include "systems/scan/planes.h"
#include "systems/scan/systems.h"

static struct arg flags(cl_mem memory) {
  return arg_buffer(ARG_IN, ELEMENT_U32, memory);
}

static struct arg array(const struct env *env, enum element element, enum l2sr_array which) {
  return arg_buffer(ARG_INOUT, element, env_array_memory(env, which));
}

/* ---- steps --------------------------------------------------------------------------------------------- */

/* What l2sr_env_decide has chosen is there already, and so is what the array itself holds. */
static void run_place(struct world *world, void *context) {
  const struct env *env = context;
  struct device *device = world_device(world);
  const struct env_source *source = &env->source;
  size_t bytes = sizeof(uint32_t) * env->envs;
  cl_mem to = world_out(world, ENV_action).as.m;
  if (source->memory == to) return;
  if (source->memory)
    device_copy(device, source->memory, source->offset, to, 0, bytes);
  else if (source->host)
    CL(device, clEnqueueWriteBuffer(device->queue, to, CL_FALSE, 0, bytes, source->host, 0, NULL, NULL));
}

const struct system system_env_place = {
    .name = "env_place", .doc = "the program's actions", .writes = SET(ENV_action), .run = run_place};

static void run_check(struct world *world, void *context) {
  const struct env *env = context;
  if (!env_checks(env)) {
    world_idle(world);
    return;
  }
  kernel_run(world_kernels(world), "env_check", env->envs,
             ARGS(world_in(world, ENV_action), world_in(world, ENV_mask), flags(env->skip),
                  flags(env->before), arg_buffer(ARG_INOUT, ELEMENT_U32, env->refused),
                  arg_u32(env->config.invalid == L2SR_INVALID_ERROR)));
}

const struct system system_env_check = {.name = "env_check",
                                        .doc = "find an action that is out of range, or taken",
                                        .reads = SET(ENV_action) | SET(ENV_mask),
                                        .kernels = {"env_check"},
                                        .run = run_check};

static void run_take(struct world *world, void *context) {
  const struct env *env = context;
  kernel_run(world_kernels(world), "env_take", env->envs,
             ARGS(flags(env->skip), flags(env->refused), world_inout(world, ENV_action),
                  world_inout(world, ENV_mask), world_inout(world, ENV_step), world_inout(world, ENV_done),
                  world_part(world, ENV_reward), arg_u32(env->acquisition.budget),
                  arg_u32(env->config.invalid == L2SR_INVALID_MASK)));
}

#define TAKEN (SET(ENV_action) | SET(ENV_mask) | SET(ENV_step) | SET(ENV_done))
const struct system system_env_take = {.name = "env_take",
                                       .doc = "acquire the program's actions",
                                       .reads = TAKEN,
                                       .writes = TAKEN | SET(ENV_reward),
                                       .kernels = {"env_take"},
                                       .run = run_take};

static void run_ended(struct world *world, void *context) {
  const struct env *env = context;
  device_copy(world_device(world), world_in(world, ENV_done).as.m, 0, env->reset, 0, sizeof(uint32_t) * env->envs);
}

const struct system system_env_ended = {.name = "env_ended",
                                        .doc = "reset the environments whose scan has ended",
                                        .reads = SET(ENV_done),
                                        .run = run_ended};

/* In the step that ends a scan its reward stays to be read. */
static void run_begin(struct world *world, void *context) {
  const struct env *env = context;
  bool same_step = env->sent && env->config.autoreset == L2SR_RESET_SAME_STEP;
  kernel_run(world_kernels(world), "env_begin", env->envs,
             ARGS(flags(env->reset), flags(env->refused), world_inout(world, ENV_scan),
                  world_in(world, SLICE_order), world_inout(world, ENV_slice), world_inout(world, ENV_mask),
                  world_inout(world, ENV_step), world_inout(world, ENV_done), world_part(world, ENV_reward),
                  world_in(world, SCENE_initial), arg_u32(0), arg_u32((uint32_t)env->envs),
                  arg_u32((uint32_t)world_rows(world, TABLE_SLICE)), arg_u32(!same_step)));
}

#define BEGUN (SET(ENV_scan) | SET(ENV_slice) | SET(ENV_mask) | SET(ENV_step) | SET(ENV_done))
const struct system system_env_begin = {.name = "env_begin",
                                        .doc = "start the next scan of the environments that are reset",
                                        .reads = BEGUN | SET(SLICE_order) | SET(SCENE_initial),
                                        .writes = BEGUN | SET(ENV_reward),
                                        .kernels = {"env_begin"},
                                        .run = run_begin};

/* ---- scores -------------------------------------------------------------------------------------------- */

static const struct metric *rewarded(const struct env *env) {
  return &metric_list[env->options.reward.metric];
}

/* Lists add the metric of the scene's reward to what these two read. */
static void run_reward(struct world *world, void *context) {
  const struct env *env = context;
  const struct metric *metric = rewarded(env);
  kernel_run(world_kernels(world), "env_reward", env->envs,
             ARGS(arg_unnamed(world_in(world, metric->env)), world_in(world, ENV_step),
                  world_in(world, ENV_done), flags(env->skip), flags(env->refused),
                  world_inout(world, ENV_quality), world_part(world, ENV_reward), arg_f32(metric->sign),
                  arg_f32((float)metric_scale(&env->options)), arg_u32((uint32_t)env->options.reward.form)));
}

const struct system system_env_reward = {.name = "env_reward",
                                         .doc = "reward of the step by the rule reward.form",
                                         .reads = SET(ENV_step) | SET(ENV_done) | SET(ENV_quality),
                                         .writes = SET(ENV_quality) | SET(ENV_reward),
                                         .kernels = {"env_reward"},
                                         .run = run_reward};

static void run_quality(struct world *world, void *context) {
  const struct env *env = context;
  const struct metric *metric = rewarded(env);
  kernel_run(world_kernels(world), "env_quality", env->envs,
             ARGS(arg_unnamed(world_in(world, metric->env)), flags(env->reset), flags(env->refused),
                  world_part(world, ENV_quality), arg_f32(metric->sign)));
}

const struct system system_env_quality = {.name = "env_quality",
                                          .doc = "the quality that scans start from",
                                          .writes = SET(ENV_quality),
                                          .kernels = {"env_quality"},
                                          .run = run_quality};

/* Lists add the metrics that they compute. */
static void run_keep_scores(struct world *world, void *context) {
  const struct env *env = context;
  for (size_t m = 0; m < METRICS_SCORED; m++) {
    if (!world_reads(world, metric_list[m].env)) continue;
    kernel_run(world_kernels(world), "env_keep", env->envs,
               ARGS(arg_unnamed(world_in(world, metric_list[m].env)), world_in(world, ENV_done),
                    flags(env->refused), array(env, ELEMENT_F32, metric_arrays[m]),
                    arg_u32(env->all)));
  }
}

static void run_clear_scores(struct world *world, void *context) {
  const struct env *env = context;
  for (size_t m = 0; m < METRICS_SCORED; m++)
    if (env_array_memory(env, metric_arrays[m]))
      kernel_run(world_kernels(world), "env_clear", env->envs,
                 ARGS(flags(env->refused), array(env, ELEMENT_F32, metric_arrays[m])));
}

const struct system system_env_clear_scores = {.name = "env_clear_scores",
                                               .doc = "no scores any more, unless the step is refused",
                                               .kernels = {"env_clear"},
                                               .run = run_clear_scores};

const struct system system_env_keep_scores = {.name = "env_keep_scores",
                                              .doc = "scores of scans that have ended, or of all",
                                              .reads = SET(ENV_done),
                                              .kernels = {"env_keep"},
                                              .run = run_keep_scores};

/* ---- arrays -------------------------------------------------------------------------------------------- */

static void run_free(struct world *world, void *context) {
  const struct env *env = context;
  kernel_run(
      world_kernels(world), "env_free", env->envs * world_shape(world, SHAPE_A),
      ARGS(world_in(world, ENV_mask), arg_buffer(ARG_OUT, ELEMENT_U8, env_array_memory(env, L2SR_FREE))));
}

static void keep_actions(struct world *world, const struct env *env, enum l2sr_array which, bool acquired) {
  kernel_run(world_kernels(world), "env_keep_free", env->envs,
             ARGS(world_in(world, ENV_mask), world_in(world, ENV_done), flags(env->refused),
                  array(env, ELEMENT_U8, which), arg_u32(acquired)));
}

static void run_final_free(struct world *world, void *context) {
  keep_actions(world, context, L2SR_FINAL_FREE, false);
}

static void run_final_acquired(struct world *world, void *context) {
  keep_actions(world, context, L2SR_FINAL_ACQUIRED, true);
}

static void keep_pixels(struct world *world, const struct env *env, struct arg image, enum l2sr_array which) {
  kernel_run(world_kernels(world), "env_keep_pixels", env->envs,
             ARGS(image, world_in(world, ENV_done), flags(env->refused), array(env, ELEMENT_F32, which)));
}

static void run_final_target(struct world *world, void *context) {
  const struct env *env = context;
  keep_pixels(world, env, arg_buffer(ARG_IN, ELEMENT_F32, env_array_memory(env, L2SR_TARGET)), L2SR_FINAL_TARGET);
}

static void run_final_reconstruction(struct world *world, void *context) {
  keep_pixels(world, context, arg_unnamed(world_in(world, ENV_reconstruction)), L2SR_FINAL_RECONSTRUCTION);
}

static void run_kspace(struct world *world, void *context) {
  const struct env *env = context;
  planes_kspace(world, &env->simulation, env->taken, env_array_memory(env, L2SR_KSPACE), 0, env->envs);
}

static void run_maps(struct world *world, void *context) {
  const struct env *env = context;
  planes_maps(world, &env->simulation, env_array_memory(env, L2SR_MAPS), 0, env->envs);
}

static void run_standardise(struct world *world, void *context) {
  const struct env *env = context;
  observe_standardise(world, array(env, ELEMENT_F32, L2SR_STANDARDISED), 0, 0, env->envs);
}

static void run_final_standardised(struct world *world, void *context) {
  const struct env *env = context;
  kernel_run(world_kernels(world), "env_keep_standardised", env->envs,
             ARGS(world_in(world, ENV_slice), world_in(world, ENV_magnitude),
                  world_in(world, ENV_magnitude_mean), world_in(world, ENV_magnitude_std),
                  world_in(world, SLICE_unit), world_in(world, ENV_done), flags(env->refused),
                  array(env, ELEMENT_F32, L2SR_FINAL_STANDARDISED)));
}

static void run_final_observation(struct world *world, void *context) {
  const struct env *env = context;
  kernel_run(world_kernels(world), "env_keep_image", env->envs,
             ARGS(world_in(world, ENV_magnitude), world_in(world, ENV_done), flags(env->refused),
                  array(env, ELEMENT_REAL, L2SR_FINAL_OBSERVATION)));
}

static void run_target(struct world *world, void *context) {
  const struct env *env = context;
  kernel_run(world_kernels(world), "env_target", env->envs,
             ARGS(world_in(world, ENV_slice), world_in(world, SLICE_image), world_in(world, SLICE_mean),
                  world_in(world, SLICE_std),
                  arg_buffer(ARG_OUT, ELEMENT_F32, env_array_memory(env, L2SR_TARGET)), arg_u32(0)));
}

static void run_label(struct world *world, void *context) {
  const struct env *env = context;
  kernel_run(world_kernels(world), "env_label", env->envs,
             ARGS(world_in(world, ENV_slice), world_in(world, SLICE_label),
                  arg_buffer(ARG_OUT, ELEMENT_F32, env_array_memory(env, L2SR_LABEL)), arg_u32(0)));
}

static void run_final_label(struct world *world, void *context) {
  const struct env *env = context;
  kernel_run(world_kernels(world), "env_keep", env->envs,
             ARGS(arg_buffer(ARG_IN, ELEMENT_F32, env_array_memory(env, L2SR_LABEL)), world_in(world, ENV_done),
                  flags(env->refused), array(env, ELEMENT_F32, L2SR_FINAL_LABEL), arg_u32(0)));
}

const struct system system_env_free = {.name = "env_free",
                                       .doc = "free actions",
                                       .reads = SET(ENV_mask),
                                       .kernels = {"env_free"},
                                       .run = run_free};
const struct system system_env_final_free = {.name = "env_final_free",
                                             .doc = "free actions at the end of a scan",
                                             .reads = SET(ENV_mask) | SET(ENV_done),
                                             .kernels = {"env_keep_free"},
                                             .run = run_final_free};
const struct system system_env_standardise = {.name = "env_standardise",
                                              .doc = "standardised observations",
                                              .reads = OBSERVE_STANDARDISE_READS,
                                              .kernels = {"image_standardise"},
                                              .run = run_standardise};
const struct system system_env_final_standardised = {.name = "env_final_standardised",
                                                     .doc = "standardised observations at the end of a scan",
                                                     .reads = OBSERVE_STANDARDISE_READS | SET(ENV_done),
                                                     .kernels = {"env_keep_standardised"},
                                                     .run = run_final_standardised};
const struct system system_env_final_observation = {.name = "env_final_observation",
                                                    .doc = "observations at the end of a scan",
                                                    .reads = SET(ENV_magnitude) | SET(ENV_done),
                                                    .kernels = {"env_keep_image"},
                                                    .run = run_final_observation};
const struct system system_env_target = {.name = "env_target",
                                         .doc = "images that scans are scored against",
                                         .reads = SET(ENV_slice) | SET(SLICE_image) | SET(SLICE_mean) |
                                                  SET(SLICE_std),
                                         .kernels = {"env_target"},
                                         .run = run_target};

const struct system system_env_final_target = {.name = "env_final_target",
                                               .doc = "images that ended scans were scored against",
                                               .reads = SET(ENV_done),
                                               .kernels = {"env_keep_pixels"},
                                               .run = run_final_target};
const struct system system_env_final_acquired = {.name = "env_final_acquired",
                                                 .doc = "acquired actions at the end of a scan",
                                                 .reads = SET(ENV_mask) | SET(ENV_done),
                                                 .kernels = {"env_keep_free"},
                                                 .run = run_final_acquired};
const struct system system_env_final_reconstruction = {.name = "env_final_reconstruction",
                                                       .doc = "reconstructions at the end of a scan",
                                                       .reads = SET(ENV_reconstruction) | SET(ENV_done),
                                                       .kernels = {"env_keep_pixels"},
                                                       .run = run_final_reconstruction};

const struct system system_env_label = {.name = "env_label",
                                        .doc = "labels of slices",
                                        .reads = SET(ENV_slice) | SET(SLICE_label),
                                        .kernels = {"env_label"},
                                        .run = run_label};
const struct system system_env_final_label = {.name = "env_final_label",
                                              .doc = "labels of the slices of ended scans",
                                              .reads = SET(ENV_done),
                                              .kernels = {"env_keep"},
                                              .run = run_final_label};

/* env_array_need says what these two read (systems/scan/planes.h). */
const struct system system_env_kspace = {.name = "env_kspace",
                                         .doc = "complex k-space of what is acquired",
                                         .kernels = {"solve_mark", "view_planes"},
                                         .run = run_kspace};
const struct system system_env_maps = {
    .name = "env_maps", .doc = "coil sensitivities", .kernels = {"view_planes"}, .run = run_maps};

const struct system *const env_systems[] = {&system_env_place,
                                            &system_env_check,
                                            &system_env_take,
                                            &system_env_ended,
                                            &system_env_begin,
                                            &system_env_reward,
                                            &system_env_quality,
                                            &system_env_keep_scores,
                                            &system_env_clear_scores,
                                            &system_env_free,
                                            &system_env_final_free,
                                            &system_env_standardise,
                                            &system_env_final_standardised,
                                            &system_env_final_observation,
                                            &system_env_target,
                                            &system_env_final_target,
                                            &system_env_final_acquired,
                                            &system_env_final_reconstruction,
                                            &system_env_label,
                                            &system_env_final_label,
                                            &system_env_kspace,
                                            &system_env_maps,
                                            NULL};
