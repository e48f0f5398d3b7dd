#include "systems/methods/train.h"

#include "engine/base/log.h"
#include "engine/base/round.h"
#include "systems/methods/method.h"
#include "systems/networks/checkpoint.h"

#include <math.h>
#include <string.h>

static struct training *training_of(struct trainer *trainer) {
  return (struct training *)trainer;
}

/* ---- opening ------------------------------------------------------------------------------------------- */

/* A pass takes no more than there are scans. */
static struct policy_setup policy_setup(const struct training *training) {
  const struct simulation *simulation = &training->train.simulation;
  size_t scans = world_capacity(simulation->world, TABLE_ENV);
  size_t others = world_capacity(training->validation.simulation.world, TABLE_ENV);
  struct policy_setup setup = policy_setup_of(training->trainer.device, simulation->kernels,
                                              training->trainer.options, scans > others ? scans : others);
  setup.planned = true;
  return setup;
}

/* Validation takes the most probable actions. */
static bool open_policy(struct training *training, const struct trainer_config *config, struct error *error) {
  struct policy_setup setup = policy_setup(training);
  if (!config->policy) return true;
  training->train.simulation.policy = training->validation.simulation.policy = &training->policy;
  training->train.simulation.best = !config->drawn;
  training->validation.simulation.best = true;
  return policy_load(&training->policy, config->policy, &setup, error) || fail_in(error, "the policy");
}

static struct feed_setup feed_setup_of(const struct training *training, size_t batch,
                                       const struct trainer_config *config) {
  return (struct feed_setup){.device = training->trainer.device,
                             .options = training->trainer.options,
                             .split = SPLIT_TRAIN,
                             .batch = batch,
                             .policy = config->policy,
                             .learns = training->masks,
                             .round = config->round,
                             .fill = config->fill,
                             .slices = config->slices,
                             .kernel_folder = config->kernel_folder};
}

static struct feed_setup validation_setup(struct feed_setup setup) {
  setup.split = SPLIT_VAL;
  setup.validate = true;
  return setup;
}

/* Images that the network takes at a time. */
static size_t training_batch(const struct options *options) {
  return options->train.batch < options->network.batch ? options->train.batch : options->network.batch;
}

static bool describe(struct training *training, size_t batch, const struct trainer_config *config,
                     struct error *error) {
  struct feed_setup setup = feed_setup_of(training, batch, config), other = validation_setup(setup);
  setup.columns = training->update.touched;
  other.columns = training->validate.touched;
  struct arena *arena = training->trainer.arena;
  return feed_describe(&training->train, &setup, arena, error) &&
         feed_describe(&training->validation, &other, arena, error) && training_build(training, error);
}

bool training_describe(struct training *training, const struct options *options, bool by_policy,
                       struct arena *arena, struct error *error) {
  *training = (struct training){.trainer = {.options = options, .arena = arena},
                                .masks = by_policy ? NULL : method_of(options)->masks};
  const struct trainer_config config = {.policy = by_policy ? "" : NULL};
  size_t batch = training_batch(options);
  return describe(training, batch, &config, error) &&
         describe(training, batch, &config, error); /* what is brought into a window follows from what updates look at */
}

static bool open_feeds(struct training *training, size_t batch, const struct trainer_config *config,
                       struct error *error) {
  struct feed_setup setup = feed_setup_of(training, batch, config);
  if (!describe(training, batch, config, error)) return false;
  setup.columns = training->update.touched;
  if (!feed_open(&training->train, &setup, error)) return false;
  setup = validation_setup(setup);
  setup.columns = training->validate.touched;
  setup.kernels = training->train.simulation.kernels;
  if (!feed_open(&training->validation, &setup, error)) return false;
  if (!config->fill && !strcmp(training->train.dataset.hash, training->validation.dataset.hash))
    log_warning("training and validation data are the same files; make folders train and val in %s",
                training->trainer.options->data.path);
  return true;
}

static bool masks_setup(struct training *training, size_t batch, struct masks_setup *setup, struct error *error) {
  const struct trainer *trainer = &training->trainer;
  *setup = (struct masks_setup){.device = trainer->device,
                                .kernels = training->train.simulation.kernels,
                                .options = trainer->options,
                                .batch = batch,
                                .train = true};
  return acquisition_only(&setup->acquisition, trainer->options, trainer->arena, error);
}

/* Room for what makes the masks is planned with the reconstructor's. */
static bool measure_beside(struct training *training, size_t batch, const struct trainer_config *config,
                           struct network_need *need, struct error *error) {
  struct policy_setup policy = policy_setup(training);
  if (config->policy) return policy_measure(&policy, config->policy, need, error) || fail_in(error, "the policy");
  if (!training->masks) return true;
  struct masks_setup setup;
  return masks_setup(training, batch, &setup, error) && training->masks->measure(&setup, need, error);
}

static bool open_network(struct training *training, size_t batch, const struct trainer_config *config,
                         struct error *error) {
  const struct options *options = training->trainer.options;
  const struct masks *masks = training->masks;
  struct reconstructor_setup setup =
      reconstructor_setup_of(training->trainer.device, training->train.simulation.kernels, options, batch);
  setup.absolute = !masks || masks->absolute;
  setup.train = true;
  setup.input_gradient = masks;
  setup.passes = masks ? masks->passes(options) : 0;
  if (!measure_beside(training, batch, config, setup.beside, error) ||
      !reconstructor_begin(&training->reconstructor, config->start, &setup, options->world.seed, error))
    return false;
  training->train.simulation.reconstructor = training->validation.simulation.reconstructor =
      &training->reconstructor;
  return true;
}

static bool open_masks(struct training *training, struct error *error) {
  struct masks_setup setup;
  return !training->masks || (masks_setup(training, training->reconstructor.batch, &setup, error) &&
                              training->masks->open(training, &setup, error));
}

static bool open_optimiser(struct training *training, struct error *error) {
  const struct options *options = training->trainer.options;
  struct optimiser_setup setup =
      optimise_defaults((enum optimiser_kind)options->train.optimiser, options->train.rate);
  setup.clip = options->train.clip;
  setup.decay = options->train.weight_decay;
  return optimise_open(&training->trainer.optimiser, training->reconstructor.graph, &setup, error);
}

static size_t parts_bytes(const struct training *training) {
  const struct options *options = training->trainer.options;
  return sizeof(float) * options->train.log_every * options->train.batch * training->loss.tiles;
}

static bool open_loss(struct training *training, struct error *error) {
  struct trainer *trainer = &training->trainer;
  size_t n = trainer->options->data.size;
  if (!loss_open(&training->loss, trainer->device, training->train.simulation.kernels,
                 (enum loss_kind)trainer->options->train.loss, n, n, training->reconstructor.batch, error))
    return false;
  training->parts = device_buffer(trainer->device, parts_bytes(training), "the losses", error);
  training->part = arena_try(trainer->arena, parts_bytes(training));
  if (training->parts && !training->part)
    fail_memory(error, "no host memory for the losses; lower train.log_every");
  return training->parts && training->part;
}

/* Everything that the systems point to is open. */
static bool open_schedules(struct training *training, struct error *error) {
  struct kernels *kernels = training->train.simulation.kernels;
  return training_build(training, error) && schedule_prepare(&training->update, kernels, error) &&
         schedule_prepare(&training->draw, kernels, error) &&
         schedule_prepare(&training->validate, kernels, error);
}

static bool count_updates(struct training *training, struct error *error) {
  struct trainer *trainer = &training->trainer;
  const struct options *options = trainer->options;
  size_t slices = training->train.slices;
  trainer->each = trainer->save_every = divide_up(slices, options->train.batch);
  trainer->wanted = trainer->each * options->train.epochs;
  trainer->look_every = options->train.log_every;
  trainer->patience = options->train.early_stopping;
  trainer->world = training->train.simulation.world;
  trainer->work = (double)slices / (double)trainer->each;
  trainer->event_each = 1;
  trainer->event_per = trainer->each;
  return trainer_open_history(trainer, error);
}

/* They say where, how long, what is printed; or are of other work. */
#define MAY_DIFFER                                                                                           \
  "evaluate.", "phantom.", "reward.", "policy.", "learn.", "alternate.", "pgmri.", "lbcs.", "data.path",     \
      "data.split", "data.window", "train.epochs", "train.output", "train.start", "train.log_every",         \
      "train.early_stopping", "world.envs"
static const char *const may_differ[] = {MAY_DIFFER,
                                         "acquisition.acceleration",
                                         "acquisition.horizon",
                                         "acquisition.initial_lines",
                                         "acquisition.budget",
                                         "train.keep_activations",
                                         "sampler.candidates",
                                         "loupe.",
                                         "tau.",
                                         "sampler.tau_step",
                                         "train.method",
                                         NULL};
static const char *const masks_may_differ[] = {MAY_DIFFER,
                                               "train.masks",
                                               "train.sampler",
                                               "train.accelerations",
                                               "train.initial_accelerations",
                                               "sampler.",
                                               NULL};

/* With new parameters and masks of heuristics it has no origin. */
static bool set_origin(struct training *training, const struct trainer_config *config, struct error *error) {
  struct run_origin *origin = training->trainer.run.origin;
  if (!config->start && !config->policy) return true;
  origin[0].name = config->policy ? "reconstructor" : RUN_START;
  if (!config->policy) return checkpoint_hash(training->reconstructor.graph, origin[0].value, error);
  origin[1].name = "policy";
  origin[2].name = "actions";
  snprintf(origin[2].value, sizeof origin[2].value, "%s", config->drawn ? "drawn" : "best");
  return checkpoint_hash(training->reconstructor.graph, origin[0].value, error) &&
         checkpoint_hash(training->policy.graph, origin[1].value, error);
}

static bool open_files(struct training *training, const struct trainer_config *config, struct error *error) {
  training->trainer.run = (struct run_files){
      .train = {training->train.dataset.hash, training->train.slices, &training->train.dataset},
      .validation = {training->validation.dataset.hash, training->validation.slices,
                     &training->validation.dataset},
      .start = training->masks  ? NULL
               : config->policy ? "learn.reconstructor"
                                : "train.start",
      .may_differ = training->masks ? masks_may_differ : may_differ};
  return set_origin(training, config, error) && trainer_open_files(&training->trainer, config, error);
}

/* Everything is open: a step takes no more. */
static void state_memory(const struct training *training) {
  const struct device *device = training->trainer.device;
  size_t batch = training->trainer.options->train.batch, images = training->reconstructor.batch;
  log_info("training takes %.1f of %.1f MiB: updates of %zu slice%s, %zu a pass%s, %zu %s of the network",
           (double)device->bytes / 0x1p20, (double)device->facts.memory / 0x1p20, batch, plural(batch),
           images, images < batch ? " whose gradients add up" : "", training->reconstructor.network.passes,
           training->reconstructor.network.passes == 1 ? "pass" : "passes");
}

bool training_open(struct training *training, struct device *device, const struct options *options,
                   const struct trainer_config *config, struct error *error) {
  size_t batch = training_batch(options);
  *training = (struct training){.trainer = {.task = config->policy ? &task_round : &task_reconstructor,
                                            .arena = arena_open(),
                                            .device = device,
                                            .options = options},
                                .masks = config->policy ? NULL : method_of(options)->masks};
  if ((!training->masks || training->masks->check(options, error)) &&
      optimise_read_milestones("train.milestones", options->train.milestones, training->milestone,
                               &training->milestones, error) &&
      network_check(&network_unet, options, error) && open_feeds(training, batch, config, error) &&
      open_network(training, batch, config, error) && open_policy(training, config, error) &&
      feed_epoch(&training->validation, 0, error) &&
      open_masks(training, error) && open_loss(training, error) &&
      open_optimiser(training, error) && open_schedules(training, error) && count_updates(training, error) &&
      open_files(training, config, error) && device_finish(device, error)) {
    state_memory(training);
    return true;
  }
  training_close(training);
  return false;
}

void training_close(struct training *training) {
  struct trainer *trainer = &training->trainer;
  trainer_close(trainer);
  if (training->masks) training->masks->close(training);
  device_release(trainer->device, training->parts, training->parts ? parts_bytes(training) : 0);
  if (training->loss.device) loss_close(&training->loss);
  policy_close(&training->policy);
  reconstructor_close(&training->reconstructor);
  if (training->validation.arena) feed_close(&training->validation);
  if (training->train.arena) feed_close(&training->train);
  arena_close(trainer->arena);
  *training = (struct training){0};
}

/* ---- one update ---------------------------------------------------------------------------------------- */

double training_rate(const struct training *training, double rate, uint64_t epoch) {
  const struct options *options = training->trainer.options;
  double factor = options->train.rate_factor;
  return options->train.schedule == SCHEDULE_STEP
             ? optimise_step_rate(rate, factor, options->train.rate_every, (uint32_t)epoch)
             : optimise_milestone_rate(rate, factor, training->milestone, training->milestones,
                                       (uint32_t)epoch);
}

uint64_t training_epoch(const struct training *training) {
  return training->trainer.done / training->trainer.each;
}

void training_step(struct training *training, size_t first, size_t count) {
  const struct options *options = training->trainer.options;
  REQUIRE(count && count <= options->train.batch, "%zu samples an update", count);
  REQUIRE(training->pending < options->train.log_every, "%zu losses are unread", training->pending);
  training->first = first;
  training->count = count;
  schedule_run(&training->update, training->train.simulation.world);
  training->pending++;
}

/* Samples of an update of the epoch; *first is the first one. */
static size_t samples_of(const struct training *training, uint64_t update, size_t *first) {
  size_t batch = training->trainer.options->train.batch;
  *first = update * batch;
  size_t left = training->train.slices - *first;
  return left < batch ? left : batch;
}

static bool begin_epoch(struct trainer *trainer, uint64_t epoch, struct error *error) {
  struct training *training = training_of(trainer);
  training->epoch_sum = 0;
  return feed_epoch(&training->train, (uint32_t)epoch, error);
}

static void step(struct trainer *trainer) {
  struct training *training = training_of(trainer);
  size_t first, count = samples_of(training, trainer->done % trainer->each, &first);
  training_step(training, first, count);
}

/* ---- looking ------------------------------------------------------------------------------------------- */

static double batch_loss(const struct training *training, size_t slot, size_t count) {
  const float *part = training->part + slot * training->trainer.options->train.batch * training->loss.tiles;
  double sum = 0;
  for (size_t i = 0; i < count * training->loss.tiles; i++) sum += part[i];
  return (loss_is_ssim(training->loss.kind) ? -sum : sum) / (double)count;
}

/* Names the slices, some of which may be the cause. */
static bool refuse_loss(const struct training *training, uint64_t update, double loss, struct error *error) {
  const struct feed *feed = &training->train;
  size_t first, count = samples_of(training, update, &first), shown = 0, used = 0;
  char slices[500] = "";
  for (; shown < count && used < sizeof slices - 100; shown++) {
    const struct slice_name *name = &feed->report.names[feed->order[first + shown]];
    used += (size_t)snprintf(slices + used, sizeof slices - used, "%s%.60s:%zu", shown ? ", " : "",
                             feed->dataset.volumes[name->volume].name, name->slice);
  }
  if (shown < count) snprintf(slices + used, sizeof slices - used, " and %zu more", count - shown);
  char what[700];
  snprintf(what, sizeof what, "the loss of update %llu of epoch %llu (slices of its minibatch: %s)",
           (unsigned long long)update + 1,
           (unsigned long long)((training->trainer.done - 1) / training->trainer.each + 1), slices);
  return trainer_refuse(&training->trainer, what, loss, error);
}

/* The mean of the updates whose losses have not been read. */
static bool look(struct trainer *trainer, double values[TRAINER_VALUES], struct error *error) {
  struct training *training = training_of(trainer);
  size_t pending = training->pending, first;
  uint64_t start = (trainer->done - 1) % trainer->each + 1 - pending;
  device_read(trainer->device, training->parts, 0,
              sizeof(float) * pending * trainer->options->train.batch * training->loss.tiles, training->part);
  if (!device_finish(trainer->device, error)) return false;
  training->pending = 0;
  for (size_t i = 0; i < pending; i++) {
    size_t count = samples_of(training, start + i, &first);
    double loss = batch_loss(training, i, count);
    if (!isfinite(loss)) return refuse_loss(training, start + i, loss, error);
    training->epoch_sum += loss * (double)count;
    values[0] += loss / (double)pending;
  }
  values[2] = trainer->optimiser.rate;
  return optimise_norm(&trainer->optimiser, &values[1], error);
}

enum { VALIDATED = 4 }; /* loss, SSIM, PSNR, and the scene's metric where a policy makes the masks */

/* With the column of the scene's metric where a policy makes the masks. */
static const struct system save_scores = {.name = "save_scores",
                                          .doc = "scores of a part of the validation data",
                                          .reads = SET(ENV_ssim) | SET(ENV_psnr)};

/* Adds the losses and scores of a part of the validation data. */
static bool validate_part(struct training *training, size_t first, size_t count, double sum[VALIDATED],
                          struct error *error) {
  struct feed *feed = &training->validation;
  const struct metric *metric = &metric_list[training->trainer.options->reward.metric];
  struct arena *arena = arena_open();
  double *loss = ARENA_NEW(arena, double, count);
  float *ssim = ARENA_NEW(arena, float, count), *psnr = ARENA_NEW(arena, float, count),
        *score = ARENA_NEW(arena, float, count);
  struct world *world = feed->simulation.world;
  struct system save = save_scores;
  if (feed->setup.policy) save.reads |= SET(metric->env);
  feed_deal(feed, first, count);
  schedule_run(&training->validate, world);
  struct world_use before = world_enter(world, &save);
  world_read(world, ENV_ssim, 0, count, ssim);
  world_read(world, ENV_psnr, 0, count, psnr);
  if (feed->setup.policy) world_read(world, metric->env, 0, count, score);
  world_leave(world, before);
  bool good = loss_read(&training->loss, count, loss, error);
  for (size_t i = 0; i < count; i++) {
    sum[0] += loss[i];
    sum[1] += ssim[i];
    sum[2] += psnr[i];
    sum[3] += metric->sign * score[i];
  }
  arena_close(arena);
  return good;
}

static bool validate(struct trainer *trainer, double values[TRAINER_VALUES], struct error *error) {
  struct training *training = training_of(trainer);
  size_t slices = training->validation.slices, batch = training->reconstructor.batch;
  double sum[VALIDATED] = {0};
  if (training->masks) schedule_run(&training->draw, training->validation.simulation.world);
  for (size_t first = 0; first < slices; first += batch)
    if (!validate_part(training, first, slices - first < batch ? slices - first : batch, sum, error))
      return false;
  values[EPOCH_LOSS] = training->epoch_sum / (double)training->train.slices;
  values[EPOCH_RATE] = trainer->optimiser.rate;
  for (int i = 0; i < VALIDATED; i++) values[EPOCH_VAL_LOSS + i] = sum[i] / (double)slices;
  return true;
}

/* ---- files --------------------------------------------------------------------------------------------- */

static bool write(const struct trainer *trainer, struct store *store, struct error *error) {
  const struct training *training = (const struct training *)trainer;
  return reconstructor_write(&training->reconstructor, store, error) &&
         (!training->masks || training->masks->write(training, store, error));
}

static bool check_steps(const struct trainer *trainer, struct error *error) {
  if (trainer->optimiser.step == trainer->done) return true;
  return fail_file(error,
                   "it has optimiser_step %llu and updates %llu, which must be equal: the file is damaged, start "
                   "anew in another train.output",
                   (unsigned long long)trainer->optimiser.step, (unsigned long long)trainer->done);
}

/* No method goes on with a network that another has trained. */
static bool read_masks(struct training *training, struct store *store, struct error *error) {
  const char *own = training->masks ? training->masks->name : "reconstructor";
  char sampler[32] = "reconstructor";
  store_text(store, "sampler", sampler, sizeof sampler);
  if (strcmp(sampler, own) != 0)
    return fail(error, "it was trained with train.method %s; go on with that, or use another train.output",
                sampler);
  if (!training->masks) return true;
  training->learner.optimiser->step = training->trainer.optimiser.step; /* both have made the same steps */
  return training->masks->read(training, store, error);
}

static bool check_epochs(const struct trainer *trainer, struct error *error) {
  if (trainer->done % trainer->each == 0) return true;
  return fail_file(error,
                   "it has %llu updates; it must be whole epochs of %llu: the file is damaged, start anew in "
                   "another train.output",
                   (unsigned long long)trainer->done, (unsigned long long)trainer->each);
}

static bool read(struct trainer *trainer, struct store *store, struct error *error) {
  struct training *training = training_of(trainer);
  if (!reconstructor_same(&training->reconstructor, store, error) || !check_epochs(trainer, error) ||
      !check_steps(trainer, error) || !read_masks(training, store, error))
    return false;
  reconstructor_changed(&training->reconstructor);
  return true;
}

/* ---- the task ------------------------------------------------------------------------------------------ */

static void add_all(struct trainer *trainer, struct schedule *schedule) {
  struct training *training = training_of(trainer);
  feed_add_masks(&training->train, schedule);
  training_add_update(training, schedule);
}

static const struct trainer_value update_values[] = {
    {"loss", NULL, "the mean loss of the updates since the last look"},
    {"gradient_norm", NULL, "the norm of the last update's gradient, before clipping"},
    {"rate", NULL, "the learning rate"},
    {NULL, NULL, NULL}};

#define EPOCH_ROWS                                                                                           \
  [EPOCH_LOSS] = {"loss", "loss/train", "the mean loss of the epoch's images"},                              \
  [EPOCH_RATE] = {"rate", "rate", "the learning rate"},                                                      \
  [EPOCH_VAL_LOSS] = {"val_loss", "loss/validation", "the validation loss"},                                 \
  [EPOCH_VAL_SSIM] = {"val_ssim", "ssim/validation", "the SSIM of the validation images"},                   \
  [EPOCH_VAL_PSNR] = {"val_psnr", "psnr/validation", "the PSNR of the validation images"}

static const struct trainer_value epoch_values[] = {EPOCH_ROWS, [EPOCH_VALUES] = {NULL, NULL, NULL}};
static const struct trainer_value round_values[] = {
    EPOCH_ROWS,
    [EPOCH_VAL_SCORE] = {"val_score", "score/validation", "the scene's metric, of the policy's scans"},
    [EPOCH_VAL_SCORE + 1] = {NULL, NULL, NULL}};

static bool has_ssim(const struct options *options) {
  return options->train.loss != LOSS_SSIM_UNIFORM;
}

static bool has_uniform_ssim(const struct options *options) {
  return options->train.loss == LOSS_SSIM_UNIFORM;
}

static bool trains_ssim(const struct options *options) {
  return loss_is_ssim((enum loss_kind)options->train.loss) && has_ssim(options);
}

/* A loss that is an SSIM is minus that of the training; validation's is that of tables always. */
static const struct trainer_curve epoch_curves[] = {
    {"loss", "training", .value = EPOCH_LOSS},
    {"loss", "validation", .validation = true, .value = EPOCH_VAL_LOSS},
    {"SSIM", "training", .minus = true, .value = EPOCH_LOSS, .shown = trains_ssim},
    {"SSIM", "uniform window, training", .minus = true, .value = EPOCH_LOSS, .shown = has_uniform_ssim},
    {"SSIM", "validation", .validation = true, .value = EPOCH_VAL_SSIM, .shown = has_ssim},
    {"SSIM", "Gaussian window, validation", .validation = true, .value = EPOCH_VAL_SSIM, .shown = has_uniform_ssim},
    {.up = NULL}};

#define RECONSTRUCTOR_TASK                                                                                   \
  .network = "unet", .unit = "update", .worked = "images", .train = {"update", update_values, 1},            \
  .select = SELECT_LOWEST, .selected = EPOCH_VAL_LOSS, .epochs = true, .curves = epoch_curves,               \
  .advice = "lower train.rate or set train.clip", .add = add_all, .begin = begin_epoch, .step = step,        \
  .look = look, .validate = validate, .write = write, .read = read

const struct task task_reconstructor = {
    RECONSTRUCTOR_TASK, .validation = {"epoch", epoch_values, 1 << EPOCH_VAL_LOSS}, .more = "train.epochs"};

const struct task task_round = {
    RECONSTRUCTOR_TASK,
    .validation = {"epoch", round_values, 1 << EPOCH_VAL_LOSS | 1 << EPOCH_VAL_SCORE},
    .more = "alternate.epochs"};

const struct method method_reconstructor = {
    .name = "reconstructor",
    .doc = "the network that makes an image of a zero-filled one, on masks of heuristics",
    .paper = "U-Net, arXiv:1505.04597; as in L2SR, doi:10.1088/1361-6420/ad3b34",
    .networks = "U-Net",
    .systems = train_systems};
