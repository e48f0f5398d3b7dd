/* Reconstructors write ENV.reconstruction in units of the image; scoring does not know which one did. */
#include "systems/networks/reconstructor.h"
#include "systems/scan/systems.h"

static void run_zero_filled(struct world *world, void *context) {
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
                                          .run = run_zero_filled};

static void standardise(struct world *world, struct reconstructor *reconstructor, size_t first,
                        size_t images) {
  observe_standardise(world, reconstructor->input, first, 0, images);
}

static void run_standardise(struct world *world, void *context) {
  const struct simulation *simulation = context;
  standardise(world, simulation->reconstructor, 0, world->rows[TABLE_ENV]);
}

const struct system system_standardise = {.name = "standardise",
                                          .doc = "the network's input, standardised and clamped",
                                          .reads = OBSERVE_STANDARDISE_READS,
                                          .kernels = {"image_standardise"},
                                          .run = run_standardise};

/* Of the acquired lines of scans [first, first + images). */
static void view(struct world *world, struct reconstructor *reconstructor, size_t first, size_t images) {
  observe_present(world, world->column[ENV_slice], first, true,
                  graph_value(reconstructor->view, reconstructor->frequencies), images);
  reconstructor_view(reconstructor, images);
}

static void run_view(struct world *world, void *context) {
  const struct simulation *simulation = context;
  view(world, simulation->reconstructor, 0, world->rows[TABLE_ENV]);
}

/* The column of k-space is added to the reads of both by simulation.c. */
const struct system system_view = {.name = "view",
                                   .doc = "the network's input, the complex image of the acquired lines",
                                   .reads = SET(ENV_slice) | SET(ENV_mask) | SET(SLICE_unit),
                                   .kernels = {"view_present"},
                                   .run = run_view};

static void restore(struct world *world, const struct reconstructor *reconstructor, struct arg to,
                    size_t first, size_t images) {
  to.kind = ARG_INOUT; /* each pass writes its own rows */
  kernel_run(world->kernels, "image_restore", images,
             ARGS(world_in(world, ENV_slice), arg_buffer(ARG_IN, ELEMENT_F32, reconstructor->output),
                  world_in(world, SLICE_mean), world_in(world, SLICE_std), to, arg_u32((uint32_t)first)));
}

/* What the network sees of scans [first, first + images) becomes its input. */
typedef void present(struct world *world, struct reconstructor *reconstructor, size_t first, size_t images);

/* As many scans at a time as the network takes. */
static void run_passes(struct world *world, void *context, present *look) {
  struct reconstructor *reconstructor = ((const struct simulation *)context)->reconstructor;
  struct arg to = world_out(world, ENV_reconstruction);
  size_t rows = world->rows[TABLE_ENV], most = reconstructor->batch;
  for (size_t first = 0; first < rows; first += most) {
    size_t images = rows - first < most ? rows - first : most;
    look(world, reconstructor, first, images);
    reconstructor_forward(reconstructor, images);
    restore(world, reconstructor, to, first, images);
  }
}

static void run_complex(struct world *world, void *context) {
  run_passes(world, context, view);
}

const struct system system_reconstruct_complex = {
    .name = "reconstruct_complex",
    .doc = "the network's image of the complex image of the acquired lines, as it is",
    .reads = SET(ENV_slice) | SET(ENV_mask) | SET(SLICE_unit) | SET(SLICE_mean) | SET(SLICE_std),
    .writes = SET(ENV_reconstruction),
    .kernels = {"view_present", "image_restore"},
    .run = run_complex};

static void run_network(struct world *world, void *context) {
  run_passes(world, context, standardise);
}

const struct system system_reconstruct_network = {
    .name = "reconstruct_network",
    .doc = "the network's image, by the slice's mean and deviation",
    .reads = OBSERVE_STANDARDISE_READS | SET(SLICE_mean) | SET(SLICE_std),
    .writes = SET(ENV_reconstruction),
    .kernels = {"image_standardise", "image_restore"},
    .run = run_network};
