#include "kernels/kernels.h"
#include "systems/systems.h"

/* Sizes beyond the fast transform's take the direct sum. */
static const char *kernel_of(const struct world *world) {
  return observe_fft_fits(world->height, world->width) ? "observe_fft" : "observe_direct";
}

static void run(struct world *world, void *context) {
  const struct simulation *simulation = context;
  kernel_run(world->kernels, kernel_of(world), world->rows[TABLE_ENV],
             ARGS(world_in(world, ENV_slice), world_in(world, ENV_mask), world_in(world, SLICE_hybrid),
                  arg_buffer(ARG_IN, ELEMENT_C64, simulation->phase), world_out(world, ENV_magnitude),
                  world_out(world, ENV_magnitude_mean), world_out(world, ENV_magnitude_std)));
}

const struct system system_observe = {
    .name = "observe",
    .doc = "zero-filled magnitude of the acquired lines, with mean and deviation",
    .reads = SET(ENV_slice) | SET(ENV_mask) | SET(SLICE_hybrid),
    .writes = SET(ENV_magnitude) | SET(ENV_magnitude_mean) | SET(ENV_magnitude_std),
    .run = run};

bool observe_open(struct simulation *simulation, struct error *error) {
  return kernel_need(simulation->kernels, kernel_of(&simulation->world), error);
}

void observe_standardise(struct world *world, cl_mem input, size_t first, size_t place, size_t images) {
  kernel_run(world->kernels, "image_standardise", images,
             ARGS(world_in(world, ENV_slice), world_in(world, ENV_magnitude),
                  world_in(world, ENV_magnitude_mean), world_in(world, ENV_magnitude_std),
                  world_in(world, SLICE_unit), arg_buffer(ARG_INOUT, ELEMENT_F32, input),
                  arg_u32((uint32_t)first), arg_u32((uint32_t)place)));
}
