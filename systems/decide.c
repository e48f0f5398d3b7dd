/* The heuristic samplers' decisions: three kernels, told apart by the sampler's row. */
#include "systems/systems.h"

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

const struct system *const decide_by_kind[] = {[SAMPLER_DRAW] = &system_decide_draw,
                                               [SAMPLER_NEXT] = &system_decide_next,
                                               [SAMPLER_DISC] = &system_decide_disc};
