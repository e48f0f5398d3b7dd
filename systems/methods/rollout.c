#include "systems/methods/rollout.h"

#include "engine/base/round.h"
#include "systems/scan/systems.h"
#include "systems/scan/window.h"

/* ---- opening ------------------------------------------------------------------------------------------- */

struct simulation_plan rollout_plan(const struct options *options, size_t slices, size_t envs, size_t rows) {
  return (struct simulation_plan){.slices = slices,
                                  .envs = envs,
                                  .rollout_steps = divide_up(rows, envs),
                                  .score_every_step = options->reward.form == REWARD_DENSE,
                                  .metrics = metric_list[options->reward.metric].name,
                                  .observe_every_step = true,
                                  .record = true,
                                  .policy = true};
}

bool rollout_can_keep(const struct device *device, size_t scans, size_t launch) {
  return device->facts.matrix != MATRIX_NONE && scans % 2 == 0 && launch >= scans;
}

static bool open_buffers(struct rollout *rollout, struct error *error) {
  struct device *device = rollout->simulation->device;
  size_t rows = sizeof(uint32_t) * rollout->rows, scans = sizeof(float) * rollout->scans;
  if (!(rollout->update.order = device_buffer(device, rows, "the order of an update", error)) ||
      !(rollout->update.terms = device_buffer(device, 4 * rows, "the terms of the loss", error)) ||
      !(rollout->last_value = device_buffer(device, scans, "the last values", error)))
    return false;
  device_fill(device, rollout->last_value, 0, scans, 0);
  return true;
}

static bool open_normalised(struct rollout *rollout, struct error *error) {
  struct simulation *simulation = rollout->simulation;
  size_t bytes = sizeof(float) * rollout->rows;
  rollout->normalised = device_buffer(simulation->device, bytes, "the normalised advantages", error);
  rollout->update.advantage = rollout->normalised;
  return rollout->normalised && kernel_need(simulation->kernels, "policy_normalise", error);
}

static void write_order(struct rollout *rollout) {
  struct arena *arena = arena_open();
  uint32_t *order = ARENA_NEW(arena, uint32_t, rollout->rows);
  for (size_t i = 0; i < rollout->rows; i++) order[i] = (uint32_t)i;
  rollout_order(rollout, order);
  arena_close(arena);
}

bool rollout_open(struct rollout *rollout, const struct rollout_setup *setup, struct error *error) {
  struct simulation *simulation = setup->simulation;
  const cl_mem *column = simulation->world.column;
  *rollout = (struct rollout){.simulation = simulation,
                              .scans = setup->scans,
                              .launch = setup->launch < setup->scans ? setup->launch : setup->scans,
                              .gamma = setup->gamma,
                              .lambda = setup->lambda};
  REQUIRE(rollout->launch && rollout->launch <= simulation->world.capacity[TABLE_ENV],
          "%zu scans a launch; there are %zu environments", rollout->launch,
          simulation->world.capacity[TABLE_ENV]);
  rollout->steps = simulation->acquisition.budget;
  rollout->rows = rollout->steps * rollout->scans;
  REQUIRE(simulation->policy && rollout->rows && rollout->rows <= simulation->world.capacity[TABLE_ROLLOUT],
          "%zu rows; the world has %zu", rollout->rows, simulation->world.capacity[TABLE_ROLLOUT]);
  REQUIRE(!setup->keep || (simulation->policy->blocks && simulation->policy->batch >= rollout->rows &&
                             rollout_can_keep(simulation->device, rollout->scans, rollout->launch)),
          "%zu rows cannot be kept", rollout->rows);
  simulation->keeps = setup->keep;
  rollout->update = (struct policy_update){.action = column[ROLLOUT_action],
                                           .log_prob = column[ROLLOUT_log_prob],
                                           .advantage = column[ROLLOUT_advantage],
                                           .target = column[ROLLOUT_return]};
  if (!open_buffers(rollout, error) || !kernel_need(simulation->kernels, "policy_recall", error) ||
      !kernel_need(simulation->kernels, "policy_recall_mask", error) ||
      !kernel_need(simulation->kernels, "policy_advantage", error) ||
      (setup->normalise && !open_normalised(rollout, error))) {
    rollout_close(rollout);
    return false;
  }
  write_order(rollout);
  return true;
}

void rollout_close(struct rollout *rollout) {
  struct device *device = rollout->simulation->device;
  device_release(device, rollout->update.order, sizeof(uint32_t) * rollout->rows);
  device_release(device, rollout->update.terms, 4 * sizeof(float) * rollout->rows);
  device_release(device, rollout->last_value, sizeof(float) * rollout->scans);
  device_release(device, rollout->normalised, sizeof(float) * rollout->rows);
  rollout->update.order = rollout->update.terms = rollout->last_value = rollout->normalised = NULL;
}

/* ---- playing ------------------------------------------------------------------------------------------- */

static void run_advantage(struct rollout *rollout) {
  const struct world *world = &rollout->simulation->world;
  const char *before = device_part(world->device, "advantage");
  kernel_run(
      world->kernels, "policy_advantage", rollout->scans,
      ARGS(graph_arg(ARG_IN, world->column[ROLLOUT_reward]), graph_arg(ARG_IN, world->column[ROLLOUT_value]),
           arg_buffer(ARG_IN, ELEMENT_U32, world->column[ROLLOUT_done]),
           graph_arg(ARG_IN, rollout->last_value), graph_arg(ARG_OUT, world->column[ROLLOUT_advantage]),
           graph_arg(ARG_OUT, world->column[ROLLOUT_return]), arg_u32((uint32_t)rollout->steps),
           arg_f32((float)rollout->gamma), arg_f32((float)rollout->lambda)));
  device_part(world->device, before);
}

/* What begin records stands in the first step's row, what finish records in the last one's; steps without a
 * reward of their own have 0. */
static void play_launch(struct rollout *rollout, uint32_t first_scan, size_t first, size_t scans) {
  struct simulation *simulation = rollout->simulation;
  struct world *world = &simulation->world;
  simulation_restart(simulation, first_scan + (uint32_t)first, scans);
  simulation->rollout_row = first;
  schedule_run(&simulation->begin, world);
  for (size_t step = 0; step < rollout->steps; step++) {
    simulation->rollout_row = step * rollout->scans + first;
    schedule_run(&simulation->step, world);
  }
  schedule_run(&simulation->finish, world);
}

void rollout_play(struct rollout *rollout, uint32_t first_scan) {
  rollout->simulation->device->phase = "roll-out";
  world_fill(&rollout->simulation->world, ROLLOUT_reward, 0);
  window_bring_scans(rollout->simulation, first_scan, rollout->scans);
  for (size_t first = 0; first < rollout->scans; first += rollout->launch) {
    size_t left = rollout->scans - first;
    play_launch(rollout, first_scan, first, left < rollout->launch ? left : rollout->launch);
  }
  run_advantage(rollout);
  rollout->kept = rollout->simulation->keeps;
  rollout->simulation->device->phase = "";
}

/* ---- learning ------------------------------------------------------------------------------------------ */

void rollout_order(struct rollout *rollout, const uint32_t *order) {
  device_write(rollout->simulation->device, rollout->update.order, 0, sizeof *order * rollout->rows, order);
}

void rollout_normalise(struct rollout *rollout, size_t most) {
  const struct world *world = &rollout->simulation->world;
  if (!rollout->normalised) return;
  const char *before = device_part(world->device, "normalise");
  kernel_run(world->kernels, "policy_normalise", divide_up(rollout->rows, most),
             ARGS(arg_buffer(ARG_IN, ELEMENT_U32, rollout->update.order),
                  graph_arg(ARG_IN, world->column[ROLLOUT_advantage]),
                  graph_arg(ARG_INOUT, rollout->normalised), arg_u32((uint32_t)rollout->rows),
                  arg_u32((uint32_t)most)));
  device_part(world->device, before);
}

/* ENV holds other scans after this; the next begin resets them all. */
void rollout_recall(struct rollout *rollout, size_t first, size_t images) {
  struct simulation *simulation = rollout->simulation;
  struct world *world = &simulation->world;
  REQUIRE(images <= world->capacity[TABLE_ENV] && images <= simulation->policy->batch,
          "%zu images; there are %zu environments, a pass takes %zu", images, world->capacity[TABLE_ENV],
          simulation->policy->batch);
  const char *before = device_part(world->device, "recall");
  kernel_run(world->kernels, "policy_recall", images,
             ARGS(arg_buffer(ARG_IN, ELEMENT_U32, rollout->update.order),
                  arg_buffer(ARG_IN, ELEMENT_U32, world->column[ROLLOUT_slice]),
                  arg_buffer(ARG_IN, ELEMENT_U32, world->column[ROLLOUT_action]),
                  arg_buffer(ARG_OUT, ELEMENT_U32, world->column[ENV_slice]),
                  arg_buffer(ARG_OUT, ELEMENT_U8, world->column[ENV_mask]),
                  arg_buffer(ARG_IN, ELEMENT_U8, simulation->initial), arg_u32((uint32_t)first),
                  arg_u32((uint32_t)rollout->scans)));
  world->rows[TABLE_ENV] = images;
  schedule_run(&simulation->batch, world);
  device_part(world->device, before);
}

static void gradient_kept(struct rollout *rollout) {
  const struct simulation *simulation = rollout->simulation;
  struct policy *policy = simulation->policy;
  REQUIRE(rollout->kept, "no roll-out since the last update: its activations are gone");
  const char *before = device_part(simulation->device, "recall");
  kernel_run(simulation->kernels, "policy_recall_mask", rollout->rows,
             ARGS(arg_buffer(ARG_IN, ELEMENT_U32, simulation->world.column[ROLLOUT_action]),
                  graph_arg(ARG_OUT, policy->mask), arg_buffer(ARG_IN, ELEMENT_U8, simulation->initial),
                  arg_u32((uint32_t)rollout->scans)));
  device_part(simulation->device, before);
  policy_forward_kept(policy, rollout->rows);
  policy_loss(policy, &rollout->update, 0, rollout->rows, 1 / (double)rollout->rows);
  policy_backward(policy, rollout->rows);
  rollout->kept = false;
}

void rollout_gradient(struct rollout *rollout, size_t first, size_t count) {
  struct policy *policy = rollout->simulation->policy;
  if (rollout->simulation->keeps) {
    REQUIRE(!first && count == rollout->rows, "rows %zu to %zu of the %zu that are kept", first,
            first + count, rollout->rows);
    gradient_kept(rollout);
    return;
  }
  size_t envs = rollout->simulation->world.capacity[TABLE_ENV], end = first + count;
  size_t most = policy->batch < envs ? policy->batch : envs;
  REQUIRE(count && end <= rollout->rows, "rows %zu to %zu of %zu", first, end, rollout->rows);
  for (size_t row = first; row < end; row += most) {
    size_t images = end - row < most ? end - row : most;
    rollout_recall(rollout, row, images);
    policy_forward(policy, images);
    policy_loss(policy, &rollout->update, row, images, 1 / (double)count);
    policy_backward(policy, images);
  }
}
