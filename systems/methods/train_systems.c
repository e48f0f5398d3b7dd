/* The systems of an update of a reconstructor, and of its validation. */
#include "systems/methods/train.h"
#include "systems/scan/systems.h"

/* ---- numbers ------------------------------------------------------------------------------------------- */

uint32_t training_sample(const struct training *training) {
  uint64_t sample = training_epoch(training) * training->train.slices + training->first + training->done;
  return (uint32_t)(sample % 0x80000000u);
}

uint32_t training_update(const struct training *training) {
  const struct trainer *trainer = &training->trainer;
  uint64_t first = training->first + training->done, batch = trainer->options->train.batch;
  return (uint32_t)((training_epoch(training) * trainer->each + first / batch) % 0x80000000u);
}

/* ---- an update ----------------------------------------------------------------------------------------- */

static void run_zero(struct world *world, void *context) {
  struct training *training = context;
  reconstructor_bind(&training->reconstructor, world);
  if (training->masks) training->masks->bind(training, world);
  graph_zero_gradients(training->reconstructor.graph);
  if (training->masks) graph_zero_gradients(training->learner.graph);
}

static const struct system zero = {
    .name = "zero_gradients",
    .doc = "gradients of all that is trained start at 0",
    .writes = SET(RECONSTRUCTOR_cleared),
    .run = run_zero};

/* Parts of a minibatch that the network takes at once; their gradients add up. */
static bool next_part(struct world *world, void *context, size_t turn) {
  struct training *training = context;
  size_t batch = training->reconstructor.batch, done = turn * batch;
  if (done >= training->count) return false;
  training->done = done;
  feed_deal(&training->train, training->first + done,
            training->count - done < batch ? training->count - done : batch);
  reconstructor_bind(&training->reconstructor, world);
  return true;
}

static const struct system repeat_parts = {
    .name = "passes", .doc = "samples of the minibatch that the network takes at a time", .next = next_part};

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
  const struct loss_target target = target_in(world);
  size_t images = world_rows(world, TABLE_ENV), image = sizeof(float) * training->loss.tiles;
  loss_run(&training->loss, &target, world_in(world, BATCH_output).as.m,
           world_out(world, BATCH_output_gradient).as.m, images, 1.0 / (double)training->count);
  device_copy(training->trainer.device, training->loss.part, 0, training->parts,
              image * (training->pending * training->trainer.options->train.batch + training->done), image * images);
}

static const struct system loss = {.name = "loss",
                                   .doc = "the scene's loss, and its gradient at the output",
                                   .reads = LOSS_READS,
                                   .writes = SET(BATCH_output_gradient),
                                   .run = run_loss};

static void run_backward(struct world *world, void *context) {
  struct training *training = context;
  reconstructor_backward(&training->reconstructor, world_rows(world, TABLE_ENV));
}

/* The systems that made the input learn by BATCH.input_gradient: training_build adds them. */
static const struct system backward = {.name = "backward_reconstructor",
                                                     .doc = "the reconstructor's backward pass",
                                                     .reads = SET(BATCH_output_gradient) |
                                                              BACKWARD_READS(RECONSTRUCTOR),
                                                     .writes = BACKWARD_WRITES(RECONSTRUCTOR),
                                                     .run = run_backward};

static void run_optimise(struct world *world, void *context) {
  struct training *training = context;
  (void)world;
  struct trainer *trainer = &training->trainer;
  trainer->optimiser.rate =
      training_rate(training, trainer->options->train.rate, training_epoch(training));
  optimise_step(&trainer->optimiser);
  reconstructor_changed(&training->reconstructor);
}

static const struct system optimise = {
    .name = "optimise_reconstructor",
    .doc = "a step of the reconstructor's parameters",
    .reads = LEARN_READS(RECONSTRUCTOR),
    .writes = LEARN_WRITES(RECONSTRUCTOR),
    .run = run_optimise};

static void run_optimise_masks(struct world *world, void *context) {
  struct training *training = context;
  const struct options *options = training->trainer.options;
  double own = *(const double *)((const char *)options + training->masks->rate);
  (void)world;
  training->learner.optimiser->rate =
      training_rate(training, own > 0 ? own : options->train.rate, training_epoch(training));
  optimise_step(training->learner.optimiser);
  if (training->masks->changed) training->masks->changed(training);
}

static const struct system optimise_masks = {.name = "optimise_masks",
                                             .doc = "a step of the parameters that learn the masks",
                                             .reads = LEARN_READS(SAMPLER),
                                             .writes = LEARN_WRITES(SAMPLER),
                                             .run = run_optimise_masks};

/* ---- validation ---------------------------------------------------------------------------------------- */

static void run_validation_loss(struct world *world, void *context) {
  struct training *training = context;
  const struct loss_target target = target_in(world);
  loss_run(&training->loss, &target, world_in(world, BATCH_output).as.m, NULL, world_rows(world, TABLE_ENV), 1);
}

static const struct system validation_loss = {.name = "validation_loss",
                                              .doc = "the scene's loss alone",
                                              .reads = LOSS_READS,
                                              .run = run_validation_loss};

/* ---- lists --------------------------------------------------------------------------------------------- */

void training_add_update(struct training *training, struct schedule *schedule) {
  const struct masks *masks = training->masks;
  struct system *start = schedule_add(schedule, &zero, training);
  if (masks) start->writes |= SET(SAMPLER_cleared);
  schedule_add(schedule, &repeat_parts, training);
  feed_add_batch(&training->train, schedule);
  if (masks) masks->add_forward(training, schedule);
  schedule_add(schedule, &system_forward_reconstructor, &training->train.simulation);
  schedule_add(schedule, &loss, training);
  struct system *back = schedule_add(schedule, &backward, training);
  if (masks) back->writes |= SET(BATCH_input_gradient);
  if (masks) masks->add_backward(training, schedule);
  schedule_add(schedule, &system_end, NULL);
  schedule_add(schedule, &optimise, training);
  if (masks) schedule_add(schedule, &optimise_masks, training);
}

static void add_draw(struct training *training, struct schedule *schedule) {
  if (training->masks) training->masks->add_draw(training, schedule);
}

static void add_validate(struct training *training, struct schedule *schedule) {
  feed_add_batch(&training->validation, schedule);
  schedule_add(schedule, &validation_loss, training);
}

static bool build(struct training *training, struct schedule *schedule, const char *name,
                  void (*fill)(struct training *training, struct schedule *schedule), struct error *error) {
  schedule_open(schedule, &component_schema);
  schedule_name(schedule, "%s", name);
  fill(training, schedule);
  return schedule_close(schedule, error);
}

bool training_build(struct training *training, struct error *error) {
  return build(training, &training->update, "update", training_add_update, error) &&
         build(training, &training->draw, "learned masks", add_draw, error) &&
         build(training, &training->validate, "validate", add_validate, error);
}

bool training_list(struct lists *lists, const struct options *options, const char *stage, bool by_policy,
                   struct arena *arena, struct error *error) {
  struct training *training = ARENA_NEW(arena, struct training, 1);
  const struct feed *train = &training->train, *validation = &training->validation;
  if (!training_describe(training, options, by_policy, arena, error) ||
      !lists_put_data(lists, stage, &train->simulation, arena, error) ||
      !lists_put_data(lists, stage, &validation->simulation, arena, error))
    return false;
  feed_note(train, lists, stage, arena);
  feed_note(validation, lists, stage, arena);
  lists_put(lists, stage, "before the first epoch", &validation->masks);
  lists_put(lists, stage, "before every epoch", &train->masks);
  lists_put(lists, stage, "for every minibatch", &training->update);
  lists_put(lists, stage, "after every epoch", &training->draw);
  lists_put(lists, stage, "for every part of the validation data", &training->validate);
  return true;
}

const struct system *const train_systems[] = {&zero, &repeat_parts, &loss, &backward, &optimise, &optimise_masks,
                                              &validation_loss, NULL};
