/* Decisions: the heuristic samplers' four kernels, told apart by the sampler's row, the policy's, and those
 * of tau steps; and of points, all of which are one decision. */
#include "kernels/kernels.h"
#include "systems/networks/policy.h"
#include "systems/networks/tau.h"
#include "systems/scan/systems.h"

static void run_draw(struct world *world, void *context) {
  const struct simulation *simulation = context;
  kernel_run(world->kernels, "line_draw", world->rows[TABLE_ENV],
             ARGS(world_in(world, ENV_mask), world_in(world, ENV_scan), world_in(world, ENV_step),
                  arg_buffer(ARG_IN, ELEMENT_U32, simulation->choice), world_out(world, ENV_action),
                  world_out(world, ENV_log_prob), arg_u32(simulation->options->world.seed)));
}

static void run_next(struct world *world, void *context) {
  const struct simulation *simulation = context;
  kernel_run(world->kernels, "line_next", world->rows[TABLE_ENV],
             ARGS(world_in(world, ENV_mask), arg_buffer(ARG_IN, ELEMENT_U32, simulation->choice),
                  world_out(world, ENV_action), world_out(world, ENV_log_prob)));
}

static void run_disc(struct world *world, void *context) {
  const struct simulation *simulation = context;
  kernel_run(world->kernels, "line_disc", world->rows[TABLE_ENV],
             ARGS(world_in(world, ENV_mask), world_in(world, ENV_scan), world_in(world, ENV_step),
                  world_out(world, ENV_action), world_out(world, ENV_log_prob),
                  arg_u32(simulation->options->world.seed),
                  arg_u32(sampler_distance(&simulation->acquisition))));
}

static void run_exact(struct world *world, void *context) {
  const struct simulation *simulation = context;
  const struct acquisition *scan = &simulation->acquisition;
  kernel_run(world->kernels, "line_exact", world->rows[TABLE_ENV],
             ARGS(world_in(world, ENV_mask), world_in(world, ENV_scan), world_in(world, ENV_step),
                  arg_buffer(ARG_IN, ELEMENT_U32, simulation->chances), world_out(world, ENV_action),
                  world_out(world, ENV_log_prob), arg_u32(simulation->options->world.seed),
                  arg_u32(scan->budget), arg_u32(scan->initial_start), arg_u32(scan->initial_lines)));
}

/* Observations and masks of scans [first, first + images) into the policy, the former from its image `place`
 * on. */
static void present(struct world *world, struct policy *policy, size_t first, size_t place, size_t images) {
  observe_standardise(world, policy->input, first, place, images);
  kernel_run(world->kernels, "policy_mask", images,
             ARGS(world_in(world, ENV_mask), arg_buffer(ARG_OUT, ELEMENT_F32, policy->mask),
                  arg_u32((uint32_t)first)));
}

static void run_present(struct world *world, void *context) {
  const struct simulation *simulation = context;
  present(world, simulation->policy, 0, 0, world->rows[TABLE_ENV]);
}

/* As many scans at a time as the policy takes. */
static void run_policy(struct world *world, void *context) {
  const struct simulation *simulation = context;
  struct policy *policy = simulation->policy;
  struct policy_choice choice = {world_in(world, ENV_scan).as.m, world_in(world, ENV_step).as.m,
                                 world_out(world, ENV_action).as.m, world_out(world, ENV_log_prob).as.m};
  size_t rows = world->rows[TABLE_ENV], value = sizeof(float);
  for (size_t first = 0; first < rows; first += policy->batch) {
    size_t images = rows - first < policy->batch ? rows - first : policy->batch;
    size_t place = simulation->keeps ? simulation->rollout_row + first : 0;
    present(world, policy, first, place, images);
    if (simulation->keeps)
      policy_forward_part(policy, place, images);
    else
      policy_forward(policy, images);
    policy_act(policy, &choice, first, images, simulation->options->world.seed, simulation->best);
    device_copy(world->device, policy->value, 0, world_out(world, ENV_value).as.m, first * value,
                images * value);
  }
}

/* All steps' lines are drawn before the first is acquired: what is looked at between needs no more than them.
 */
static void run_sequence(struct world *world, void *context) {
  const struct simulation *simulation = context;
  struct tau *tau = simulation->tau;
  size_t rows = world->rows[TABLE_ENV];
  tau->graph->best = !simulation->sampler->random;
  if (!simulation->taken) tau_plan(tau, world, simulation->ranks, rows, simulation->first_scan);
  kernel_run(world->kernels, "sequence_next", rows,
             ARGS(world_in(world, ENV_mask), arg_buffer(ARG_IN, ELEMENT_U32, simulation->ranks),
                  world_out(world, ENV_action), world_out(world, ENV_log_prob)));
}

/* The masks are whole: no point is the action. */
static void name_none(struct world *world) {
  size_t bytes = sizeof(uint32_t) * world->rows[TABLE_ENV];
  device_fill(world->device, world_out(world, ENV_action).as.m, 0, bytes, NO_LINE);
  device_fill(world->device, world_out(world, ENV_log_prob).as.m, 0, bytes, 0);
}

static void run_points(struct world *world, void *context) {
  const struct simulation *simulation = context;
  points_draw(&simulation->points, world_in(world, ENV_scan).as.m, world_inout(world, ENV_mask),
              world->rows[TABLE_ENV]);
  name_none(world);
}

static void run_points_sequence(struct world *world, void *context) {
  const struct simulation *simulation = context;
  struct tau *tau = simulation->tau;
  tau->graph->best = !simulation->sampler->random;
  tau_scan(tau, world, world_inout(world, ENV_mask), world->rows[TABLE_ENV], simulation->first_scan);
  name_none(world);
}

#define DRAWN (SET(ENV_mask) | SET(ENV_scan) | SET(ENV_step))
#define CHOSEN (SET(ENV_action) | SET(ENV_log_prob))

const struct system system_decide_draw = {.name = "decide_draw",
                                          .doc = "draw a free line by weight",
                                          .reads = DRAWN,
                                          .writes = CHOSEN,
                                          .kernels = {"line_draw"},
                                          .run = run_draw};

const struct system system_decide_next = {.name = "decide_next",
                                          .doc = "take the free line of lowest rank",
                                          .reads = SET(ENV_mask),
                                          .writes = CHOSEN,
                                          .kernels = {"line_next"},
                                          .run = run_next};

const struct system system_decide_disc = {.name = "decide_disc",
                                          .doc = "draw a free line away from the acquired ones",
                                          .reads = DRAWN,
                                          .writes = CHOSEN,
                                          .kernels = {"line_disc"},
                                          .run = run_disc};

const struct system system_decide_exact = {.name = "decide_exact",
                                           .doc = "draw the next line of exactly the budget",
                                           .reads = DRAWN,
                                           .writes = CHOSEN,
                                           .kernels = {"line_exact"},
                                           .run = run_exact};

const struct system system_decide_sequence = {
    .name = "decide_sequence",
    .doc = "take the next line of a step's, drawn by a network that looks at reconstructions",
    .reads = SET(ENV_mask) | SET(ENV_slice) | SET(SLICE_image) | SET(SLICE_unit),
    .writes = CHOSEN,
    .kernels = {"sequence_next"},
    .run = run_sequence};

const struct system system_decide_points = {.name = "decide_points",
                                            .doc = "draw the points of a scan, exactly the budget",
                                            .reads = SET(ENV_mask) | SET(ENV_scan),
                                            .writes = CHOSEN | SET(ENV_mask),
                                            .kernels = {"loupe_keep"},
                                            .run = run_points};

const struct system system_decide_points_sequence = {
    .name = "decide_points_sequence",
    .doc = "draw the points of all steps by a network that looks at reconstructions",
    .reads = SET(ENV_mask) | SET(ENV_slice) | SET(SLICE_image) | SET(SLICE_unit),
    .writes = CHOSEN | SET(ENV_mask),
    .kernels = {"loupe_keep"},
    .run = run_points_sequence};

#define PRESENTED (OBSERVE_STANDARDISE_READS | SET(ENV_mask))

const struct system system_decide_policy = {.name = "decide_policy",
                                            .doc = "draw a free line by the policy, or take its best",
                                            .reads = PRESENTED | SET(ENV_scan) | SET(ENV_step),
                                            .writes = CHOSEN | SET(ENV_value),
                                            .kernels = {"image_standardise", "policy_mask", "policy_act"},
                                            .run = run_policy};

const struct system system_present = {.name = "present",
                                      .doc = "the policy's inputs: standardised observations and masks",
                                      .reads = PRESENTED,
                                      .kernels = {"image_standardise", "policy_mask"},
                                      .run = run_present};

const struct system *const decide_by_kind[] = {[SAMPLER_DRAW] = &system_decide_draw,
                                               [SAMPLER_NEXT] = &system_decide_next,
                                               [SAMPLER_DISC] = &system_decide_disc,
                                               [SAMPLER_EXACT] = &system_decide_exact,
                                               [SAMPLER_SEQUENCE] = &system_decide_sequence,
                                               [SAMPLER_ORACLE] = &system_decide_oracle,
                                               [SAMPLER_AVERAGE_ORACLE] = &system_decide_oracle,
                                               [SAMPLER_POLICY] = &system_decide_policy};
