/* Reconstructors write ENV.reconstruction in units of the image; scoring does not know which one did. */
#include "systems/networks/reconstructor.h"
#include "systems/networks/coil_view.h"
#include "systems/scan/systems.h"

static void run_zero_filled(struct world *world, void *context) {
  (void)context;
  kernel_run(world_kernels(world), "image_zero_filled", world_rows(world, TABLE_ENV),
             ARGS(world_in(world, ENV_slice), world_in(world, ENV_magnitude), world_in(world, SLICE_unit),
                  world_out(world, ENV_reconstruction)));
}

const struct system system_reconstruct = {.name = "reconstruct",
                                          .doc = "the zero-filled image itself",
                                          .reads = SET(ENV_slice) | SET(ENV_magnitude) | SET(SLICE_unit),
                                          .writes = SET(ENV_reconstruction),
                                          .kernels = {"image_zero_filled"},
                                          .run = run_zero_filled};

static bool next_pass(struct world *world, void *context, size_t turn) {
  struct simulation *simulation = context;
  if (!world_is_bound(world, BATCH_input, simulation->reconstructor->input))
    reconstructor_bind(simulation->reconstructor, world);
  return pass_take(&simulation->pass, turn, world_rows(world, TABLE_ENV), simulation->reconstructor->batch);
}

const struct system system_repeat_reconstructor = {
    .name = "passes",
    .doc = "scans that the reconstructor takes at a time",
    .covers = TABLE_BIT(TABLE_ENV),
    .next = next_pass};

static void run_encode_image(struct world *world, void *context) {
  const struct pass *pass = &((const struct simulation *)context)->pass;
  observe_standardise(world, world_part(world, BATCH_input), pass->first, 0, pass->images);
}

const struct system system_encode = {.name = "encode",
                                     .doc = "the reconstructor's input: observations, standardised and clamped",
                                     .reads = OBSERVE_STANDARDISE_READS,
                                     .writes = SET(BATCH_input),
                                     .kernels = {"image_standardise"},
                                     .run = run_encode_image};

static void run_encode_complex(struct world *world, void *context) {
  const struct simulation *simulation = context;
  const struct pass *pass = &simulation->pass;
  const struct arg mask = world_in(world, ENV_mask);
  observe_frequencies(world, world_in(world, ENV_slice), &mask, pass->first,
                  reconstructor_frequencies(simulation->reconstructor), pass->images);
  reconstructor_view(simulation->reconstructor, pass->images);
}

/* simulation_add_encode adds the k-space that there is. */
const struct system system_encode_complex = {
    .name = "encode_complex",
    .doc = "the reconstructor's input: complex images of the acquired actions",
    .reads = SET(ENV_slice) | SET(ENV_mask) | SET(SLICE_unit),
    .writes = SET(BATCH_input),
    .kernels = {"view_frequencies"},
    .run = run_encode_complex};

/* ---- the variational network ---------------------------------------------------------------------------- */

static void run_encode_varnet(struct world *world, void *context) {
  const struct simulation *simulation = context;
  const struct pass *pass = &simulation->pass;
  const struct reconstructor_inputs inputs = reconstructor_inputs(simulation->reconstructor);
  const struct scan_shape shape = scan_shape_of(simulation->options);
  uint32_t entries = (uint32_t)world_shape(world, SHAPE_A);
  struct coil_view view = {.slice = world_in(world, ENV_slice),
                           .mask = world_in(world, ENV_mask),
                           .first = (uint32_t)pass->first,
                           .images = pass->images,
                           .net = &simulation->reconstructor->setup.varnet};
  coil_view_kspace(world, &view, world_out(world, BATCH_input).as.m);
  kernel_run(world_kernels(world), "view_masks", pass->images,
             ARGS(view.slice, view.mask, world_in(world, SLICE_mean), world_in(world, SLICE_std),
                  arg_buffer(ARG_OUT, ELEMENT_F32, inputs.mask), arg_buffer(ARG_OUT, ELEMENT_C64, inputs.units),
                  arg_u32(entries), arg_u32((uint32_t)pass->first), arg_u32(shape.padded_left),
                  arg_u32(entries - shape.padded_right)));
  if (inputs.maps) coil_view_maps(world, &view, inputs.maps);
}

/* simulation_add_encode adds the k-space and the maps that there are. */
const struct system system_encode_varnet = {
    .name = "encode_varnet",
    .doc = "the variational network's input: acquired k-space of every coil, and the mask",
    .reads = SET(ENV_slice) | SET(ENV_mask) | SET(SLICE_unit) | SET(SLICE_mean) | SET(SLICE_std),
    .writes = SET(BATCH_input),
    .kernels = {"view_coils", "view_masks"},
    .run = run_encode_varnet};

static void run_encode_varnet_back(struct world *world, void *context) {
  const struct simulation *simulation = context;
  const struct net_varnet_setup *net = &simulation->reconstructor->setup.varnet;
  struct arg slice = world_in(world, ENV_slice);
  kernel_run(world_kernels(world), "view_coils_back", world_rows(world, TABLE_ENV),
             ARGS(slice, coil_view_column(world, SLICE_coils, ELEMENT_U32, slice), coil_view_values(world),
                  world_in(world, SLICE_unit), arg_unnamed(world_in(world, BATCH_input_gradient)),
                  arg_buffer(ARG_IN, ELEMENT_F32, reconstructor_inputs(simulation->reconstructor).mask_gradient),
                  arg_unnamed(world_out(world, BATCH_drawn_gradient)), arg_u32((uint32_t)net->height),
                  arg_u32((uint32_t)net->width), arg_u32((uint32_t)world_shape(world, SHAPE_A)),
                  arg_u32((uint32_t)coil_view_stride(world)), arg_u32((uint32_t)net->coils)));
}

/* simulation_add_encode_back adds the k-space that there is. */
const struct system system_encode_varnet_back = {
    .name = "encode_varnet_back",
    .doc = "the gradient of the masks, through the variational network's input and its data consistency",
    .reads = SET(ENV_slice) | SET(SLICE_unit) | SET(BATCH_input_gradient),
    .writes = SET(BATCH_drawn_gradient),
    .kernels = {"view_coils_back"},
    .run = run_encode_varnet_back};

static void run_forward(struct world *world, void *context) {
  const struct simulation *simulation = context;
  (void)world;
  reconstructor_forward(simulation->reconstructor, simulation->pass.images);
}

const struct system system_forward_reconstructor = {.name = "forward_reconstructor",
                                                    .doc = "the reconstructor's forward pass",
                                                    .reads = SET(BATCH_input) | FORWARD_READS(RECONSTRUCTOR),
                                                    .writes = SET(BATCH_output) | FORWARD_WRITES(RECONSTRUCTOR),
                                                    .run = run_forward};

static void run_restore(struct world *world, void *context) {
  const struct pass *pass = &((const struct simulation *)context)->pass;
  kernel_run(world_kernels(world), "image_restore", pass->images,
             ARGS(world_in(world, ENV_slice), world_in(world, BATCH_output), world_in(world, SLICE_mean),
                  world_in(world, SLICE_std), world_part(world, ENV_reconstruction),
                  arg_u32((uint32_t)pass->first)));
}

const struct system system_restore = {
    .name = "restore",
    .doc = "the output in units of the image, by the slice's mean and deviation",
    .reads = SET(ENV_slice) | SET(BATCH_output) | SET(SLICE_mean) | SET(SLICE_std),
    .parts = SET(ENV_reconstruction),
    .kernels = {"image_restore"},
    .run = run_restore};
