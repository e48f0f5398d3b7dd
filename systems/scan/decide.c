/* Decisions by the heuristic samplers' four kernels, which the sampler's row tells apart, by tau steps, and
 * for points, all of which are one decision. */
#include "kernels/kernels.h"
#include "systems/networks/tau.h"
#include "systems/scan/observation.h"
#include "systems/scan/sequence.h"
#include "systems/scan/systems.h"

static void run_draw(struct world *world, void *context) {
  const struct simulation *simulation = context;
  kernel_run(world_kernels(world), "line_draw", world_rows(world, TABLE_ENV),
             ARGS(world_in(world, ENV_mask), world_in(world, ENV_scan), world_in(world, ENV_step),
                  world_in(world, SCENE_weight), world_out(world, ENV_action), world_out(world, ENV_log_prob),
                  arg_u32(simulation->options->world.seed)));
}

static void run_next(struct world *world, void *context) {
  (void)context;
  kernel_run(world_kernels(world), "line_next", world_rows(world, TABLE_ENV),
             ARGS(world_in(world, ENV_mask), arg_unnamed(world_in(world, SCENE_weight)),
                  world_out(world, ENV_action), world_out(world, ENV_log_prob)));
}

static void run_disc(struct world *world, void *context) {
  const struct simulation *simulation = context;
  kernel_run(world_kernels(world), "line_disc", world_rows(world, TABLE_ENV),
             ARGS(world_in(world, ENV_mask), world_in(world, ENV_scan), world_in(world, ENV_step),
                  world_out(world, ENV_action), world_out(world, ENV_log_prob),
                  arg_u32(simulation->options->world.seed),
                  arg_u32(sampler_distance(&simulation->acquisition))));
}

static void run_exact(struct world *world, void *context) {
  const struct simulation *simulation = context;
  const struct acquisition *scan = &simulation->acquisition;
  kernel_run(world_kernels(world), "line_exact", world_rows(world, TABLE_ENV),
             ARGS(world_in(world, ENV_mask), world_in(world, ENV_scan), world_in(world, ENV_step),
                  world_in(world, SCENE_chance), world_out(world, ENV_action), world_out(world, ENV_log_prob),
                  arg_u32(simulation->options->world.seed), arg_u32(scan->budget),
                  arg_u32(scan->initial_start), arg_u32(scan->initial_lines)));
}

/* ---- tau steps ---------------------------------------------------------------------------------------- */

static void run_order(struct world *world, void *context) {
  const struct simulation *simulation = context;
  struct tau *tau = simulation->tau;
  size_t rows = world_rows(world, TABLE_ENV), most = tau->graph->batch;
  tau->graph->best = !simulation->sampler->random;
  tau_watch(tau);
  for (size_t row = 0; row < rows; row += most) {
    size_t images = rows - row < most ? rows - row : most;
    tau_encode(tau, world, world_in(world, ENV_slice), row, simulation->first_scan + (uint32_t)row, images);
    tau_run(tau, images);
    for (uint32_t step = 0; step <= tau->steps; step++)
      kernel_run(world_kernels(world), "sequence_rank", images,
                 ARGS(graph_arg(ARG_IN, graph_value(tau->graph, tau->net.mask[step])), world_part(world, ENV_rank),
                      arg_u32((uint32_t)row), arg_u32(step)));
  }
}

static void run_sequence(struct world *world, void *context) {
  (void)context;
  kernel_run(world_kernels(world), "sequence_next", world_rows(world, TABLE_ENV),
             ARGS(world_in(world, ENV_mask), world_in(world, ENV_rank), world_out(world, ENV_action),
                  world_out(world, ENV_log_prob)));
}

/* ---- points ------------------------------------------------------------------------------------------- */

/* The masks are whole: no point is the action. */
static void name_none(struct world *world) {
  size_t bytes = sizeof(uint32_t) * world_rows(world, TABLE_ENV);
  device_fill(world_device(world), world_out(world, ENV_action).as.m, 0, bytes, NO_LINE);
  device_fill(world_device(world), world_out(world, ENV_log_prob).as.m, 0, bytes, 0);
}

static void run_points(struct world *world, void *context) {
  const struct simulation *simulation = context;
  points_draw(&simulation->points, world_in(world, ENV_scan).as.m, world_inout(world, ENV_mask),
              world_rows(world, TABLE_ENV));
  name_none(world);
}

static void run_points_sequence(struct world *world, void *context) {
  const struct simulation *simulation = context;
  struct tau *tau = simulation->tau;
  size_t rows = world_rows(world, TABLE_ENV), most = tau->graph->batch;
  tau->graph->best = !simulation->sampler->random;
  tau_watch(tau);
  for (size_t row = 0; row < rows; row += most) {
    size_t images = rows - row < most ? rows - row : most;
    tau_encode(tau, world, world_in(world, ENV_slice), row, simulation->first_scan + (uint32_t)row, images);
    tau_run(tau, images);
    kernel_run(world_kernels(world), "loupe_keep", images * tau->acquisition.shape.actions,
               ARGS(graph_arg(ARG_IN, graph_value(tau->graph, tau->net.mask[tau->steps])), world_part(world, ENV_mask),
                    arg_u32((uint32_t)row)));
  }
  name_none(world);
}

/* ---- rows --------------------------------------------------------------------------------------------- */

#define DRAWN (SET(ENV_mask) | SET(ENV_scan) | SET(ENV_step))
#define CHOSEN (SET(ENV_action) | SET(ENV_log_prob))

const struct system system_decide_draw = {.name = "decide_draw",
                                          .doc = "draw a free action by weight",
                                          .reads = DRAWN | SET(SCENE_weight),
                                          .writes = CHOSEN,
                                          .kernels = {"line_draw"},
                                          .run = run_draw};

const struct system system_decide_next = {.name = "decide_next",
                                          .doc = "take the free action of lowest rank",
                                          .reads = SET(ENV_mask) | SET(SCENE_weight),
                                          .writes = CHOSEN,
                                          .kernels = {"line_next"},
                                          .run = run_next};

const struct system system_decide_disc = {.name = "decide_disc",
                                          .doc = "draw a free action away from the acquired ones",
                                          .reads = DRAWN,
                                          .writes = CHOSEN,
                                          .kernels = {"line_disc"},
                                          .run = run_disc};

const struct system system_decide_exact = {.name = "decide_exact",
                                           .doc = "draw the next action of exactly the budget",
                                           .reads = DRAWN | SET(SCENE_chance),
                                           .writes = CHOSEN,
                                           .kernels = {"line_exact"},
                                           .run = run_exact};

/* simulation_lists.c adds tau_encode_reads to what the networks of tau steps read. */
const struct system system_order_lines = {
    .name = "order_lines",
    .doc = "draw the actions of all tau steps by a network that looks at reconstructions",
    .reads = SET(ENV_slice) | FORWARD_READS(SAMPLER),
    .writes = SET(ENV_rank) | FORWARD_WRITES(SAMPLER),
    .kernels = {"sequence_rank"},
    .run = run_order};

const struct system system_decide_sequence = {.name = "decide_sequence",
                                              .doc = "take the next action of the scan's own order",
                                              .reads = SET(ENV_mask) | SET(ENV_rank),
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
    .doc = "draw the points of all tau steps by a network that looks at reconstructions",
    .reads = SET(ENV_slice) | FORWARD_READS(SAMPLER),
    .writes = CHOSEN | SET(ENV_mask) | FORWARD_WRITES(SAMPLER),
    .kernels = {"loupe_keep"},
    .run = run_points_sequence};
