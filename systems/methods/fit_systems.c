/* The systems of an update of a reconstructor, and of its validation; lists of them. */
#include "systems/methods/fit.h"
#include "systems/planned/planned.h"
#include "systems/scan/systems.h"

/* ---- numbers ------------------------------------------------------------------------------------------- */

uint32_t fit_sample(const struct training *training) {
  const struct fitting *fitting = training->own;
  uint64_t sample = fit_epoch(training) * fitting->train.slices + fitting->first + fitting->done;
  return (uint32_t)(sample % 0x80000000u);
}

uint32_t fit_update(const struct training *training) {
  const struct fitting *fitting = training->own;
  uint64_t first = fitting->first + fitting->done, batch = training->options->train.batch;
  return (uint32_t)((fit_epoch(training) * training->each + first / batch) % 0x80000000u);
}

struct rate_schedule fit_rates(const struct options *options) {
  return (struct rate_schedule){.factor = options->train.rate_factor,
                                .every = options->train.schedule == SCHEDULE_STEP ? options->train.rate_every : 0,
                                .milestones = options->train.milestones};
}

/* ---- an update ----------------------------------------------------------------------------------------- */

static void run_zero(struct world *world, void *context) {
  struct training *training = context;
  const struct fitting *fitting = training->own;
  (void)world;
  graph_zero_gradients(training->reconstructor.graph);
  if (fitting->sampler.graph) graph_zero_gradients(fitting->sampler.graph);
}

static const struct system zero = {.name = "zero_gradients",
                                   .doc = "gradients of all that is trained start at 0",
                                   .writes = SET(RECONSTRUCTOR_cleared),
                                   .run = run_zero};

/* Parts of a minibatch that the network takes at once; their gradients add up. */
static bool next_part(struct world *world, void *context, size_t turn) {
  struct training *training = context;
  struct fitting *fitting = training->own;
  struct shard_pass pass;
  const struct shards shards = device_shards(training->device);
  if (!shards_take(&shards, &pass, turn, fitting->count, training->reconstructor.batch)) return false;
  fitting->done = pass.first;
  graph_set_shards(training->reconstructor.graph, pass.shard, pass.each);
  if (fitting->sampler.graph) graph_set_shards(fitting->sampler.graph, pass.shard, pass.each);
  if (fitting->sampler.sample) *fitting->sampler.sample = fit_sample(training);
  minibatch_select(&fitting->train, fitting->first + pass.first, pass.rows);
  (void)world;
  return true;
}

static const struct system repeat_parts = {
    .name = "passes", .doc = "samples of the minibatch that the network takes at a time", .next = next_part};

static void run_backward(struct world *world, void *context) {
  struct training *training = context;
  size_t images = world_rows(world, TABLE_ENV);
  /* the same scale for all parts of an update where their sums are the same */
  bool parted = device_shards(training->device).all > 1;
  reconstructor_backward(&training->reconstructor, images, parted ? fitting_of(training)->count : images);
}

/* What made the input learns by BATCH.input_gradient: fit_fill_update adds it. */
static const struct system backward = {.name = "backward_reconstructor",
                                       .doc = "the reconstructor's backward pass",
                                       .reads = SET(BATCH_output_gradient) | BACKWARD_READS(RECONSTRUCTOR),
                                       .writes = BACKWARD_WRITES(RECONSTRUCTOR),
                                       .run = run_backward};

static void run_optimise(struct world *world, void *context) {
  struct training *training = context;
  const struct fitting *fitting = training->own;
  (void)world;
  const struct rate_schedule rates = fit_rates(training->options);
  double rate = rate_at(&rates, training->options->train.rate, fit_epoch(training));
  training->optimiser.rate = fitting->fixed ? 0 : rate;
  optimise_step(&training->optimiser);
  path_changed(&training->reconstructor.network.path);
}

static const struct system optimise = {.name = "optimise_reconstructor",
                                       .doc = "a step of the reconstructor's parameters",
                                       .reads = LEARN_READS(RECONSTRUCTOR),
                                       .writes = LEARN_WRITES(RECONSTRUCTOR),
                                       .run = run_optimise};

static void run_optimise_masks(struct world *world, void *context) {
  struct training *training = context;
  const struct fitting *fitting = training->own;
  const struct fit_sampler *sampler = &fitting->sampler;
  double own = sampler->rate;
  (void)world;
  const struct rate_schedule rates = fit_rates(training->options);
  sampler->optimiser->rate = rate_at(&rates, own > 0 ? own : training->options->train.rate, fit_epoch(training));
  optimise_step(sampler->optimiser);
  if (sampler->path) path_changed(sampler->path);
}

static const struct system optimise_masks = {.name = "optimise_masks",
                                             .doc = "a step of the parameters that learn the masks",
                                             .reads = LEARN_READS(SAMPLER),
                                             .writes = LEARN_WRITES(SAMPLER),
                                             .run = run_optimise_masks};

/* ---- one update ---------------------------------------------------------------------------------------- */

uint64_t fit_epoch(const struct training *training) {
  return training->done / training->each;
}

void fit_step(struct training *training, size_t first, size_t count) {
  struct fitting *fitting = training->own;
  const struct options *options = training->options;
  REQUIRE(count && count <= options->train.batch, "%zu samples an update", count);
  REQUIRE(fitting->pending < options->train.log_every, "%zu losses are unread", fitting->pending);
  fitting->first = first;
  fitting->count = count;
  schedule_run(&training->list[FIT_UPDATE], training->train.simulation.world);
  fitting->pending++;
}

/* Samples of an update of the epoch; *first is the first one. */
size_t fit_samples(const struct training *training, uint64_t update, size_t *first) {
  const struct fitting *fitting = training->own;
  size_t batch = training->options->train.batch;
  *first = update * batch;
  size_t left = fitting->train.slices - *first;
  return left < batch ? left : batch;
}

void training_step(struct training *training) {
  size_t first, count = fit_samples(training, training->done % training->each, &first);
  fit_step(training, first, count);
}

/* ---- lists --------------------------------------------------------------------------------------------- */

void fit_fill_update(struct training *training, struct schedule *schedule) {
  const struct fit_way *way = training->task->facts;
  const struct fitting *fitting = training->own;
  bool both = way || fitting->add_beside;
  struct system *start = schedule_add(schedule, &zero, training);
  if (both) start->writes |= SET(SAMPLER_cleared);
  schedule_add(schedule, &repeat_parts, training);
  minibatch_add(&fitting_of(training)->train, schedule);
  if (way) way->there(training, schedule);
  schedule_add(schedule, &system_forward_reconstructor, &training->train.simulation);
  schedule_add(schedule, &fit_loss, training);
  if (fitting->add_beside) fitting->add_beside(training, schedule);
  struct system *back = schedule_add(schedule, &backward, training);
  if (way) back->writes |= SET(BATCH_input_gradient);
  if (way) way->back(training, schedule);
  schedule_add(schedule, &system_end, NULL);
  schedule_add(schedule, &optimise, training);
  if (both) schedule_add(schedule, &optimise_masks, training);
}

void fit_fill_masks(struct training *training, struct schedule *schedule) {
  minibatch_add_masks(&fitting_of(training)->train, schedule);
}

void fit_fill_validate(struct training *training, struct schedule *schedule) {
  minibatch_add(&fitting_of(training)->validation, schedule);
  schedule_add(schedule, &fit_validation_loss, training);
}

/* ---- masks of validation samples ----------------------------------------------------------------------------- */

/* Their numbers are above those of training (systems/training/minibatch.c). */
static bool next_draws(struct world *world, void *context, size_t turn) {
  struct training *training = context;
  struct fitting *fitting = training->own;
  struct pass pass;
  (void)world;
  if (!pass_take(&pass, turn, fitting->validation.slices, training->reconstructor.batch)) return false;
  minibatch_select(&fitting->validation, pass.first, pass.images);
  if (fitting->planner) fitting->planner->number = 0x80000000u + (uint32_t)pass.first;
  return true;
}

const struct system fit_repeat_draws = {.name = "passes",
                                        .doc = "samples of the validation data whose masks are made at a time",
                                        .covers = TABLE_BIT(TABLE_EPOCH),
                                        .next = next_draws};

static void run_gather(struct world *world, void *context) {
  const struct fitting *fitting = ((const struct training *)context)->own;
  world_copy(world, EPOCH_slice, fitting->validation.sample, ENV_slice, 0, world_rows(world, TABLE_ENV));
}

static const struct system gather_slices = {.name = "gather_slices",
                                            .doc = "give each environment the slice of its sample",
                                            .reads = SET(EPOCH_slice),
                                            .writes = SET(ENV_slice),
                                            .run = run_gather};

static void run_keep(struct world *world, void *context) {
  const struct fitting *fitting = ((const struct training *)context)->own;
  world_copy(world, ENV_mask, 0, EPOCH_mask, fitting->validation.sample, world_rows(world, TABLE_ENV));
}

static const struct system keep_plans = {.name = "keep_plans",
                                         .doc = "masks of scans as those of the epoch's samples",
                                         .reads = SET(ENV_mask),
                                         .parts = SET(EPOCH_mask),
                                         .run = run_keep};

void fit_add_plan(struct training *training, const struct planner_desc *desc, struct schedule *schedule) {
  schedule_add(schedule, &fit_repeat_draws, training);
  minibatch_add_load(&fitting_of(training)->validation, schedule);
  schedule_add(schedule, &gather_slices, training);
  planner_add(&training->validation.simulation, desc, schedule);
  schedule_add(schedule, &keep_plans, training);
  schedule_add(schedule, &system_end, NULL);
}

/* With the column of the scene's metric where a policy makes the masks. */
static const struct system save_scores = {.name = "save_scores",
                                          .doc = "scores of a part of the validation data",
                                          .reads = SET(ENV_ssim) | SET(ENV_psnr)};

void fit_fill_scores(struct training *training, struct schedule *schedule) {
  struct system *row = schedule_add(schedule, &save_scores, NULL);
  if (fitting_of(training)->validation.setup.policy)
    row->reads |= SET(metric_list[training->options->reward.metric].env);
}

const struct system *const fit_opened_rows[] = {&system_load_pairs, NULL};
const struct system *const fit_systems[] = {&zero,           &repeat_parts,        &fit_loss, &backward, &optimise,
                                            &optimise_masks, &fit_validation_loss,
                                            &fit_repeat_draws, &gather_slices,     &keep_plans, NULL};
