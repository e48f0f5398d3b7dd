/* Reconstructors write ENV.reconstruction in units of the image; scoring does not know which one did. */
#include "systems/systems.h"

static void run(struct world *world, void *context) {
  (void)context;
  kernel_run(world->kernels, "image_zero_filled", world->rows[TABLE_ENV],
             ARGS(world_in(world, ENV_slice), world_in(world, ENV_magnitude), world_in(world, SLICE_unit),
                  world_out(world, ENV_reconstruction)));
}

const struct system system_reconstruct = {.name = "reconstruct",
                                          .doc = "the zero-filled image itself",
                                          .reads = SET(ENV_slice) | SET(ENV_magnitude) | SET(SLICE_unit),
                                          .writes = SET(ENV_reconstruction),
                                          .kernels = {"image_zero_filled"},
                                          .run = run};
