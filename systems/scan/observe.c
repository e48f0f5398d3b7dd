#include "kernels/kernels.h"
#include "systems/scan/systems.h"

static void run_observe(struct world *world, void *context) {
  const struct simulation *simulation = context;
  kernel_run(world_kernels(world), simulation->observe_kernel, world_rows(world, TABLE_ENV),
             ARGS(world_in(world, ENV_slice), world_in(world, ENV_mask), world_in(world, SLICE_hybrid),
                  world_in(world, SCENE_phase), world_out(world, ENV_magnitude),
                  world_out(world, ENV_magnitude_mean), world_out(world, ENV_magnitude_std)));
}

const struct system system_observe = {
    .name = "observe",
    .doc = "zero-filled magnitude of the acquired lines, with mean and deviation",
    .reads = SET(ENV_slice) | SET(ENV_mask) | SET(SLICE_hybrid) | SET(SCENE_phase),
    .writes = SET(ENV_magnitude) | SET(ENV_magnitude_mean) | SET(ENV_magnitude_std),
    .run = run_observe};

/* Sizes beyond the fast transform's take the direct sum. */
bool observe_open(struct simulation *simulation, struct error *error) {
  const struct world *world = simulation->world;
  simulation->observe_kernel =
      observe_fft_fits(world_height(world), world_width(world)) ? "observe_fft" : "observe_direct";
  return kernel_need(simulation->kernels, simulation->observe_kernel, error);
}

/* ---- and back --------------------------------------------------------------------------------------------- */

static void run_observe_back(struct world *world, void *context) {
  (void)context;
  bool fast = observe_fft_fits(world_height(world), world_width(world));
  kernel_run(world_kernels(world), fast ? "observe_back_fft" : "observe_back_direct", world_rows(world, TABLE_ENV),
             ARGS(world_in(world, ENV_slice), world_in(world, ENV_mask), world_in(world, SLICE_hybrid),
                  world_in(world, SCENE_phase), world_in(world, ENV_magnitude),
                  world_in(world, ENV_magnitude_mean), world_in(world, ENV_magnitude_std),
                  world_in(world, SLICE_unit), world_in(world, BATCH_input_gradient),
                  arg_unnamed(world_out(world, BATCH_drawn_gradient))));
}

const struct system system_observe_back = {
    .name = "observe_back",
    .doc = "the gradient of the masks, through standardisation, magnitude and transform",
    .reads = SET(ENV_slice) | SET(ENV_mask) | SET(SLICE_hybrid) | SET(SCENE_phase) | SET(ENV_magnitude) |
             SET(ENV_magnitude_mean) | SET(ENV_magnitude_std) | SET(SLICE_unit) | SET(BATCH_input_gradient),
    .writes = SET(BATCH_drawn_gradient),
    .run = run_observe_back};

/* ---- for networks -------------------------------------------------------------------------------------- */

void observe_standardise(struct world *world, struct arg input, size_t first, size_t place, size_t images) {
  kernel_run(world_kernels(world), "image_standardise", images,
             ARGS(world_in(world, ENV_slice), world_in(world, ENV_magnitude),
                  world_in(world, ENV_magnitude_mean), world_in(world, ENV_magnitude_std),
                  world_in(world, SLICE_unit), input, arg_u32((uint32_t)first), arg_u32((uint32_t)place)));
}

void observe_mask(struct world *world, const struct pass *pass) {
  kernel_run(world_kernels(world), "policy_mask", pass->images,
             ARGS(world_in(world, ENV_mask), arg_unnamed(world_out(world, BATCH_taken)),
                  arg_u32((uint32_t)pass->first)));
}

static void run_encode_policy(struct world *world, void *context) {
  const struct pass *pass = &((const struct simulation *)context)->pass;
  observe_standardise(world, arg_unnamed(world_part(world, BATCH_observation)), pass->first, pass->place,
                      pass->images);
  observe_mask(world, pass);
}

const struct system system_encode_policy = {.name = "encode_policy",
                                            .doc = "the policy's inputs: standardised observations and masks",
                                            .reads = OBSERVE_STANDARDISE_READS | SET(ENV_mask),
                                            .writes = SET(BATCH_observation) | SET(BATCH_taken),
                                            .kernels = {"image_standardise", "policy_mask"},
                                            .run = run_encode_policy};

/* The file's own k-space has one coil there (simulation_open). */
void observe_frequencies(struct world *world, struct arg slice, const struct arg *mask, size_t first,
                     cl_mem planes, size_t images) {
  unsigned kspace = world_reads(world, SLICE_kspace) ? SLICE_kspace : SLICE_coil_kspace;
  kernel_run(world_kernels(world), "view_frequencies", images,
             ARGS(slice, mask ? *mask : arg_buffer(ARG_IN, ELEMENT_U8, slice.as.m),
                  arg_unnamed(world_in(world, kspace)), world_in(world, SLICE_unit),
                  arg_buffer(ARG_OUT, ELEMENT_F32, planes), arg_u32((uint32_t)world_height(world)),
                  arg_u32((uint32_t)world_width(world)), arg_u32((uint32_t)first),
                  arg_u32(mask ? (uint32_t)world_shape(world, SHAPE_A) : 0)));
}

bool observe_complex_open(struct simulation *simulation, struct error *error) {
  return kernel_need(simulation->kernels, "view_frequencies", error);
}
