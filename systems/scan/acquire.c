#include "systems/scan/systems.h"

static void run_acquire(struct world *world, void *context) {
  const struct simulation *simulation = context;
  kernel_run(world_kernels(world), "mask_acquire", world_rows(world, TABLE_ENV),
             ARGS(world_in(world, ENV_action), world_inout(world, ENV_mask), world_inout(world, ENV_step),
                  world_out(world, ENV_done), arg_u32(simulation->steps)));
}

const struct system system_acquire = {.name = "acquire",
                                      .doc = "add the chosen action to the mask",
                                      .reads = SET(ENV_action) | SET(ENV_mask) | SET(ENV_step),
                                      .writes = SET(ENV_mask) | SET(ENV_step) | SET(ENV_done),
                                      .kernels = {"mask_acquire"},
                                      .run = run_acquire};
