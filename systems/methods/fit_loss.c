/* The loss of an update of a reconstructor, and of its validation. */
#include "systems/methods/fit.h"

static struct loss_target target_in(struct world *world) {
  return (struct loss_target){world_in(world, ENV_slice).as.m, world_in(world, SLICE_image).as.m,
                              world_in(world, SLICE_mean).as.m, world_in(world, SLICE_std).as.m,
                              world_in(world, SLICE_data_range).as.m};
}

#define LOSS_READS                                                                                           \
  (SET(ENV_slice) | SET(BATCH_output) | SET(SLICE_image) | SET(SLICE_mean) | SET(SLICE_std) |                \
   SET(SLICE_data_range))

/* Each tile's share stays on the device until the update's loss is read. */
static void run_loss(struct world *world, void *context) {
  struct training *training = context;
  struct fitting *fitting = training->own;
  const struct loss_target target = target_in(world);
  size_t images = world_rows(world, TABLE_ENV), image = sizeof(float) * fitting->loss.tiles;
  loss_run(&fitting->loss, &target, world_in(world, BATCH_output).as.m,
           world_out(world, BATCH_output_gradient).as.m, images, 1.0 / (double)fitting->count);
  device_copy(training->device, fitting->loss.part, 0, fitting->parts,
              image * (fitting->pending * training->options->train.batch + fitting->done), image * images);
}

const struct system fit_loss = {.name = "loss",
                                .doc = "the scene's loss, and its gradient at the output",
                                .reads = LOSS_READS,
                                .writes = SET(BATCH_output_gradient),
                                .run = run_loss};

static void run_validation_loss(struct world *world, void *context) {
  struct fitting *fitting = ((struct training *)context)->own;
  const struct loss_target target = target_in(world);
  loss_run(&fitting->loss, &target, world_in(world, BATCH_output).as.m, NULL, world_rows(world, TABLE_ENV),
           1);
}

const struct system fit_validation_loss = {.name = "validation_loss",
                                           .doc = "the scene's loss alone",
                                           .reads = LOSS_READS,
                                           .run = run_validation_loss};
