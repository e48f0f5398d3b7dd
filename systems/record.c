/* Keeps what a step produced in the step's rows of ROLLOUT: actions, rewards and metrics, never images. */
#include "systems/systems.h"

static const struct {
  unsigned env, rollout;
} pairs[] = {{ENV_action, ROLLOUT_action}, {ENV_reward, ROLLOUT_reward},
             {ENV_ssim, ROLLOUT_ssim},     {ENV_ssim_uniform, ROLLOUT_ssim_uniform},
             {ENV_psnr, ROLLOUT_psnr},     {ENV_psnr_unclamped, ROLLOUT_psnr_unclamped},
             {ENV_nmse, ROLLOUT_nmse},     {ENV_mse, ROLLOUT_mse}};

/* Copies every pair that this list of systems computes: simulation_open narrows reads and writes to those. */
static void run(struct world *world, void *context) {
  const struct simulation *simulation = context;
  size_t rows = world->rows[TABLE_ENV];
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    if (!(world->running->reads & SET(pairs[i].env))) continue;
    struct arg from = world_in(world, pairs[i].env), to = world_out(world, pairs[i].rollout);
    size_t bytes = world_column_bytes(world, pairs[i].env);
    device_copy(world->device, from.as.m, 0, to.as.m, simulation->rollout_row * bytes, rows * bytes);
  }
}

const struct system system_record = {
    .name = "record",
    .doc = "keep the step's action, reward and metrics in ROLLOUT",
    .reads = SET(ENV_action) | SET(ENV_reward) | SET(ENV_ssim) | SET(ENV_ssim_uniform) | SET(ENV_psnr) |
             SET(ENV_psnr_unclamped) | SET(ENV_nmse) | SET(ENV_mse),
    .writes = SET(ROLLOUT_action) | SET(ROLLOUT_reward) | SET(ROLLOUT_ssim) | SET(ROLLOUT_ssim_uniform) |
              SET(ROLLOUT_psnr) | SET(ROLLOUT_psnr_unclamped) | SET(ROLLOUT_nmse) | SET(ROLLOUT_mse),
    .run = run};
