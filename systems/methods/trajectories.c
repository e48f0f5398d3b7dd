#include "systems/methods/trajectories.h"

#include "systems/scan/systems.h"

/* A draw's gain over the mean of its slice: some thousandths to some hundredths of SSIM. */
static const double usual_gain = 0.01;

/* ---- opening ------------------------------------------------------------------------------------------- */

struct simulation_plan trajectories_plan(const struct options *options, size_t slices, size_t most,
                                         size_t draws, size_t steps) {
  return (struct simulation_plan){.slices = slices,
                                  .envs = most * draws,
                                  .rollout_steps = steps,
                                  .score_every_step = true,
                                  .metrics = metric_list[options->reward.metric].name,
                                  .record = true,
                                  .policy = true,
                                  .dense = true};
}

static size_t images_of(const struct trajectories *trajectories, size_t slices) {
  size_t later = trajectories->setup.greedy ? slices : slices * trajectories->setup.draws;
  return slices + (trajectories->steps - 1) * later;
}

size_t trajectories_images(const struct trajectories *trajectories) {
  return images_of(trajectories, trajectories->slices);
}

static bool open_buffers(struct trajectories *trajectories, struct error *error) {
  struct simulation *simulation = trajectories->setup.simulation;
  struct dense_kept *kept = &simulation->kept;
  struct device *device = simulation->device;
  const struct world *world = &simulation->world;
  size_t images = images_of(trajectories, trajectories->most), mask = sizeof(float) * world->width;
  return ((kept->images = device_buffer(device, images * mask * world->height,
                                        "what PG-MRI's policy saw (lower pgmri.batch)", error)) &&
          (kept->masks = device_buffer(device, images * mask, "the masks of what it saw", error)) &&
          (trajectories->columns.terms =
               device_buffer(device, 2 * sizeof(float) * images, "the terms of the loss", error)));
}

static bool need_kernels(struct kernels *kernels, struct error *error) {
  return kernel_need(kernels, "pgmri_spread", error) && kernel_need(kernels, "pgmri_follow", error) &&
         kernel_need(kernels, "pgmri_advantage", error);
}

bool trajectories_open(struct trajectories *trajectories, const struct trajectories_setup *setup,
                       struct error *error) {
  struct simulation *simulation = setup->simulation;
  const struct world *world = &simulation->world;
  *trajectories = (struct trajectories){
      .setup = *setup, .steps = simulation->acquisition.budget, .most = setup->batch * setup->minibatches};
  REQUIRE(simulation->dense && simulation->policy, "the simulation has no policy that looks at images");
  REQUIRE(setup->draws > 1 || !setup->baseline, "one draw has no baseline");
  REQUIRE(setup->greedy || setup->baseline, "the nongreedy estimate is with its baseline");
  REQUIRE(trajectories->most * setup->draws <= world->capacity[TABLE_ENV] &&
              trajectories->most * setup->draws * trajectories->steps <= world->capacity[TABLE_ROLLOUT],
          "%zu slices with %zu draws; there are %zu environments", trajectories->most, setup->draws,
          world->capacity[TABLE_ENV]);
  trajectories->columns = (struct policy_draws){.action = world->column[ROLLOUT_action],
                                                .advantage = world->column[ROLLOUT_advantage],
                                                .draws = setup->draws,
                                                .shared = setup->greedy};
  if (need_kernels(simulation->kernels, error) && open_buffers(trajectories, error)) return true;
  trajectories_close(trajectories);
  return false;
}

void trajectories_close(struct trajectories *trajectories) {
  struct simulation *simulation = trajectories->setup.simulation;
  struct dense_kept *kept = &simulation->kept;
  size_t images = images_of(trajectories, trajectories->most), mask = sizeof(float) * simulation->world.width;
  device_release(simulation->device, kept->images, images * mask * simulation->world.height);
  device_release(simulation->device, kept->masks, images * mask);
  device_release(simulation->device, trajectories->columns.terms, 2 * sizeof(float) * images);
  *kept = (struct dense_kept){0};
  trajectories->columns.terms = NULL;
}

/* ---- playing ------------------------------------------------------------------------------------------- */

/* One scan of every slice has begun; the others take over its state. */
static void spread(struct trajectories *trajectories, uint32_t first) {
  struct world *world = &trajectories->setup.simulation->world;
  const cl_mem *column = world->column;
  world->rows[TABLE_ENV] = trajectories->slices * trajectories->setup.draws;
  kernel_run(world->kernels, "pgmri_spread", world->rows[TABLE_ENV],
             ARGS(arg_buffer(ARG_INOUT, ELEMENT_U32, column[ENV_scan]),
                  arg_buffer(ARG_INOUT, ELEMENT_U32, column[ENV_slice]),
                  arg_buffer(ARG_INOUT, ELEMENT_U8, column[ENV_mask]),
                  arg_buffer(ARG_INOUT, ELEMENT_U32, column[ENV_step]),
                  graph_arg(ARG_INOUT, column[ENV_quality]), arg_u32(first),
                  arg_u32((uint32_t)trajectories->slices)));
}

static void follow_one(struct trajectories *trajectories) {
  struct simulation *simulation = trajectories->setup.simulation;
  struct world *world = &simulation->world;
  const cl_mem *column = world->column;
  kernel_run(world->kernels, "pgmri_follow", world->rows[TABLE_ENV],
             ARGS(arg_buffer(ARG_IN, ELEMENT_U32, column[ENV_scan]),
                  arg_buffer(ARG_IN, ELEMENT_U32, column[ENV_step]),
                  arg_buffer(ARG_INOUT, ELEMENT_U8, column[ENV_mask]),
                  graph_arg(ARG_INOUT, column[ENV_quality]), graph_arg(ARG_INOUT, column[ENV_reconstruction]),
                  arg_u32((uint32_t)trajectories->slices), arg_u32((uint32_t)trajectories->setup.batch),
                  arg_u32(simulation->options->world.seed)));
}

/* Greedy: a step's own gain, which is a discount of 0. */
static void find_advantages(struct trajectories *trajectories) {
  const struct trajectories_setup *setup = &trajectories->setup;
  struct world *world = &setup->simulation->world;
  kernel_run(world->kernels, "pgmri_advantage", world->rows[TABLE_ENV],
             ARGS(graph_arg(ARG_IN, world->column[ROLLOUT_reward]),
                  graph_arg(ARG_OUT, world->column[ROLLOUT_advantage]),
                  arg_u32((uint32_t)trajectories->steps), arg_u32((uint32_t)trajectories->slices),
                  arg_u32((uint32_t)setup->batch), arg_u32((uint32_t)setup->minibatches),
                  arg_f32(setup->greedy ? 0 : (float)setup->gamma), arg_u32(setup->baseline)));
}

void trajectories_play(struct trajectories *trajectories, uint32_t first, size_t slices) {
  struct simulation *simulation = trajectories->setup.simulation;
  bool greedy = trajectories->setup.greedy;
  REQUIRE(slices && slices <= trajectories->most, "%zu slices; an update takes %zu", slices,
          trajectories->most);
  trajectories->slices = trajectories->columns.slices = slices;
  simulation->kept.row = simulation->rollout_row = 0;
  simulation_restart(simulation, first, slices);
  schedule_run(&simulation->begin, &simulation->world);
  spread(trajectories, first);
  for (size_t step = 0; step < trajectories->steps; step++) {
    simulation->kept.slices = greedy || step == 0 ? slices : 0;
    simulation->rollout_row = step * slices * trajectories->setup.draws;
    schedule_run(&simulation->step, &simulation->world);
    if (greedy && step + 1 < trajectories->steps) follow_one(trajectories);
  }
  find_advantages(trajectories);
}

/* ---- learning ------------------------------------------------------------------------------------------ */

static double usual_advantage(const struct trajectories *trajectories) {
  const struct trajectories_setup *setup = &trajectories->setup;
  return usual_gain * metric_scale(setup->simulation->options) /
         (double)(trajectories->slices * setup->draws);
}

void trajectories_gradient(struct trajectories *trajectories) {
  struct simulation *simulation = trajectories->setup.simulation;
  struct policy *policy = simulation->policy;
  const struct dense_kept *kept = &simulation->kept;
  size_t images = trajectories_images(trajectories), mask = sizeof(float) * simulation->world.width;
  size_t image = mask * simulation->world.height;
  for (size_t first = 0; first < images; first += policy->batch) {
    size_t count = images - first < policy->batch ? images - first : policy->batch;
    device_copy(simulation->device, kept->images, first * image, policy->input, 0, count * image);
    device_copy(simulation->device, kept->masks, first * mask, policy->mask, 0, count * mask);
    policy_forward(policy, count);
    policy_reinforce(policy, &trajectories->columns, first, count, usual_advantage(trajectories));
    policy_backward(policy, count);
  }
}
