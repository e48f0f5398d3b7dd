#include "systems/scan/systems.h"

static void run(struct world *world, void *context) {
  const struct simulation *simulation = context;
  kernel_run(world->kernels, "mask_reset", world->rows[TABLE_ENV],
             ARGS(world_in(world, ENV_done), world_inout(world, ENV_scan), world_in(world, SLICE_order),
                  world_inout(world, ENV_slice), world_inout(world, ENV_mask), world_inout(world, ENV_step),
                  arg_buffer(ARG_IN, ELEMENT_U8, simulation->initial), arg_u32(simulation->first_scan),
                  arg_u32((uint32_t)world->rows[TABLE_ENV]), arg_u32((uint32_t)world->rows[TABLE_SLICE])));
}

const struct system system_reset = {.name = "reset",
                                    .doc = "start the next scan where one has ended",
                                    .reads = SET(ENV_done) | SET(ENV_scan) | SET(SLICE_order) |
                                             SET(ENV_slice) | SET(ENV_mask) | SET(ENV_step),
                                    .writes = SET(ENV_scan) | SET(ENV_slice) | SET(ENV_mask) | SET(ENV_step),
                                    .kernels = {"mask_reset"},
                                    .run = run};
