#include "systems/scan/callback.h"
#include "systems/classifier/classify.h"
#include "systems/scan/systems.h"

const struct metric metric_list[METRICS] = {
#define X(name, sign, scales, system, title, unit, digits)                                                   \
  {#name, ENV_##name, ROLLOUT_##name, sign, scales, &system_##system, title, unit, digits, 0},
    METRIC_ROWS(X)
#undef X
#define Y(place, name, sign, title, most)                                                                          \
  [place] = {name, ENV_log_likelihood, ROLLOUT_log_likelihood, sign, true, &system_score_classes, title, "", 4, most}
        Y(METRIC_CROSS_ENTROPY, "cross_entropy", -1, "Cross-entropy", 0),
    Y(METRIC_ACCURACY, "accuracy", 1, "Accuracy", 1), Y(METRIC_AUC, "auc", 1, "AUC", 1),
#undef Y
};

double metric_scale(const struct options *options) {
  return metric_list[options->reward.metric].scales ? options->reward.scale : 1;
}

const struct system *simulation_add_score(struct simulation *simulation, struct schedule *schedule, const struct metric *metric) {
  struct system *row = schedule_add(schedule, metric->system, simulation);
  if (metric->system == &system_score_callback && *simulation->options->data.label) row->reads |= SET(SLICE_label);
  return metric->system;
}

#define PAIR                                                                                                 \
  (SET(ENV_slice) | SET(ENV_reconstruction) | SET(SLICE_image) | SET(SLICE_mean) | SET(SLICE_std) |          \
   SET(SLICE_data_range))
#define PAIR_ARGS(world)                                                                                     \
  world_in(world, ENV_slice), world_in(world, ENV_reconstruction), world_in(world, SLICE_image),             \
      world_in(world, SLICE_mean), world_in(world, SLICE_std), world_in(world, SLICE_data_range)

static void run_ssim(struct world *world, void *context) {
  (void)context;
  kernel_run(world_kernels(world), "score_ssim", world_rows(world, TABLE_ENV),
             ARGS(PAIR_ARGS(world), world_out(world, ENV_ssim)));
}

static void run_ssim_uniform(struct world *world, void *context) {
  (void)context;
  kernel_run(world_kernels(world), "score_ssim_uniform", world_rows(world, TABLE_ENV),
             ARGS(PAIR_ARGS(world), world_out(world, ENV_ssim_uniform)));
}

static void run_error(struct world *world, void *context) {
  (void)context;
  kernel_run(world_kernels(world), "score_error", world_rows(world, TABLE_ENV),
             ARGS(PAIR_ARGS(world), world_out(world, ENV_psnr), world_out(world, ENV_psnr_unclamped),
                  world_out(world, ENV_nmse), world_out(world, ENV_mse)));
}

/* The column of the scene's metric is added to the reads by simulation_open; the kernel calls it score. */
static void run_reward(struct world *world, void *context) {
  const struct simulation *simulation = context;
  const struct metric *metric = &metric_list[simulation->options->reward.metric];
  struct arg score = world_in(world, metric->env);
  score.name = NULL;
  kernel_run(world_kernels(world), "score_reward", world_rows(world, TABLE_ENV),
             ARGS(score, world_in(world, ENV_step), world_in(world, ENV_done),
                  world_inout(world, ENV_quality), world_out(world, ENV_reward), arg_f32(metric->sign),
                  arg_f32((float)metric_scale(simulation->options)),
                  arg_u32((uint32_t)simulation->options->reward.form)));
}

const struct system system_score_ssim = {.name = "score_ssim",
                                         .doc = "SSIM with the 11x11 Gaussian window",
                                         .reads = PAIR,
                                         .writes = SET(ENV_ssim),
                                         .kernels = {"score_ssim"},
                                         .run = run_ssim};

const struct system system_score_ssim_uniform = {.name = "score_ssim_uniform",
                                                 .doc = "SSIM with the 7x7 uniform window",
                                                 .reads = PAIR,
                                                 .writes = SET(ENV_ssim_uniform),
                                                 .kernels = {"score_ssim_uniform"},
                                                 .run = run_ssim_uniform};

const struct system system_score_error = {.name = "score_error",
                                          .doc = "PSNR, NMSE and MSE",
                                          .reads = PAIR,
                                          .writes = SET(ENV_psnr) | SET(ENV_psnr_unclamped) | SET(ENV_nmse) |
                                                    SET(ENV_mse),
                                          .kernels = {"score_error"},
                                          .run = run_error};

const struct system system_reward = {.name = "reward",
                                     .doc = "quality and reward of the step",
                                     .reads = SET(ENV_step) | SET(ENV_done) | SET(ENV_quality),
                                     .writes = SET(ENV_quality) | SET(ENV_reward),
                                     .kernels = {"score_reward"},
                                     .run = run_reward};
