#include "systems/methods/fit.h"

#include "engine/base/log.h"
#include "engine/base/round.h"
#include "systems/networks/checkpoint.h"
#include "systems/sampling/geometry.h"

#include <math.h>
#include <string.h>

struct fitting *fitting_of(const struct training *training) {
  return OWN(fitting, training);
}

/* ---- options ------------------------------------------------------------------------------------------- */

bool fit_check(const struct task_check *check, struct error *error) {
  const struct rate_schedule rates = fit_rates(check->options);
  return rate_check(&rates, "train.milestones", error) &&
         network_check(network_chosen(check->options), check->options, error);
}

/* What learns masks by a U-Net goes through one image's transform; the variational network takes k-space of all coils. */
static bool check_one_coil(const struct options *options, const char *method, struct error *error) {
  if (options->coils.simulate && options->network.input == INPUT_MAGNITUDE)
    return fail_usage(error,
                      "train.method is %s, which transforms images, and coils.simulate %u; set it to 0, or train.method "
                      "to reconstructor, l2s, l2sr, pgmri or lbcs",
                      method, options->coils.simulate);
  return options->data.kspace != KSPACE_MEASURED || options->network.input != INPUT_MAGNITUDE ||
         fail_usage(
             error,
             "train.method is %s, which transforms images, and data.kspace is measured; set it to "
             "image, network.input to complex, or train.method to reconstructor, l2s, l2sr, pgmri or lbcs",
             method);
}

#define METHOD_WORD(enumerator, name) #name,
static const char *const method_word[] = {TRAIN_METHODS(METHOD_WORD)};

bool fit_check_masks(const struct task_check *check, struct error *error) {
  const struct options *options = check->options;
  const char *method = method_word[options->train.method];
  if (options->reconstruct.method != RECONSTRUCT_VARNET && !check_one_coil(options, method, error)) return false;
  if (geometry_chosen(options)->columns || geometry_chosen(options)->points)
    return fit_check(check, error);
  return fail_usage(
      error,
      "train.method is %s, which learns masks of lines or points, and acquisition.geometry is %s; "
      "set it to one of these, or train.method to reconstructor, l2s, l2sr, pgmri or lbcs",
      method, geometry_chosen(options)->name);
}

void fit_set_round(struct options *options, uint32_t round) {
  const double divisor = pow(options->alternate.divisor, round - 1.0);
  options->train.epochs = options->alternate.epochs;
  options->train.batch = options->alternate.batch;
  options->train.rate = options->alternate.rate / divisor;
  options->train.schedule = SCHEDULE_STEP;
  options->train.rate_factor = options->alternate.rate_factor;
  options->train.rate_every = options->alternate.rate_every;
  options->train.optimiser = OPTIMISER_ADAM;
  options->train.clip = options->train.weight_decay = 0;
  options->train.early_stopping = options->alternate.early_stopping;
}

/* ---- data ---------------------------------------------------------------------------------------------- */

static size_t batch_of(const struct options *options) {
  return options->train.batch < options->network.batch ? options->train.batch : options->network.batch;
}

size_t fit_images_batch(const struct options *options) {
  return options->train.batch < options->policy.batch ? options->train.batch : options->policy.batch;
}

/* Masks are learned where a task has a way through them, or a policy's where it has one that does not change. Of a
 * reconstructor that does not change there are images. */
bool fit_describe(struct training *training, struct error *error) {
  struct fitting *fitting = fitting_of(training);
  bool images = training->task->networks[1] == &network_fixed_reconstructor;
  struct minibatch_setup setup = {.batch = (images ? fit_images_batch : batch_of)(training->options),
                             .images = images,
                             .learns = training->task->facts,
                             .policy = training->task->networks[1] == &network_fixed_policy,
                             .round = training->config.round,
                             .made = training->config.fill,
                             .opens = training->device,
                             .columns = training_columns(training, &training->train)},
                    other = setup;
  other.validate = true;
  other.columns = training_columns(training, &training->validation);
  return minibatch_describe(&fitting->train, &training->train, &setup, training->arena, error) &&
         minibatch_describe(&fitting->validation, &training->validation, &other, training->arena, error);
}

void fit_note(struct training *training, struct lists *lists, const char *stage, struct arena *arena) {
  const struct fitting *fitting = fitting_of(training);
  minibatch_note(&fitting->train, lists, stage, arena);
  minibatch_note(&fitting->validation, lists, stage, arena);
}

static struct minibatches *minibatches_of(const struct training *training, const struct split *split) {
  struct fitting *fitting = training->own;
  return split == &training->validation ? &fitting->validation : &fitting->train;
}

struct simulation_plan fit_plan(const struct training *training, const struct split *split, size_t slices) {
  return minibatch_plan(minibatches_of(training, split), slices);
}

bool fit_load(struct training *training, struct split *split, struct error *error) {
  if (!minibatch_open(minibatches_of(training, split), error)) return false;
  if (split == &training->validation && !training->config.fill &&
      !strcmp(training->train.dataset.hash, split->dataset.hash))
    log_warning("training and validation data are the same files; make folders train and val in %s",
                training->options->data.path);
  return true;
}

/* ---- networks ------------------------------------------------------------------------------------------ */

struct masks_setup fit_masks_setup(const struct training *training) {
  return (struct masks_setup){.device = training->device,
                              .kernels = training->train.simulation.kernels,
                              .options = training->options,
                              .acquisition = training->acquisition,
                              .batch = training->reconstructor.graph ? training->reconstructor.batch
                                                                     : batch_of(training->options),
                              .coils = training_coils(training),
                              .train = true};
}

static const char *start_of(const struct training *training) {
  return training->config.start ? training->config.start : training->config.reconstructor;
}

static bool open_reconstructor(struct training *training, struct error *error) {
  const struct options *options = training->options;
  const struct fit_way *way = training->task->facts;
  struct reconstructor_setup setup = reconstructor_setup_of(
      training->device, training->train.simulation.kernels, options, batch_of(options));
  reconstructor_set_coils(&setup, training_coils(training));
  setup.absolute = !way || !way->passes;
  setup.train = true;
  setup.input_gradient = way;
  setup.passes = setup.absolute ? 1 : way->passes(options);
  memcpy(setup.beside, training->beside, sizeof setup.beside);
  training_share_reconstructor(training);
  return reconstructor_begin(&training->reconstructor, start_of(training), &setup, options->world.seed,
                             error);
}

struct optimiser_setup fit_optimiser(const struct options *options) {
  struct optimiser_setup setup =
      optimise_defaults((enum optimiser_kind)options->train.optimiser, options->train.rate);
  setup.clip = options->train.clip;
  setup.decay = options->train.weight_decay;
  return setup;
}

static const char *origin(const struct training *training) {
  return training->config.start ? RUN_START : training->config.reconstructor ? "reconstructor" : "";
}

static bool write_reconstructor(const struct training *training, struct store *store, struct error *error) {
  return reconstructor_write(&training->reconstructor, store, error);
}

/* A network with its own optimiser: what makes masks, or looks at outputs. */
static bool learns_beside(const struct training *training) {
  return training->task->facts || fitting_of(training)->add_beside;
}

/* No method goes on with a network that another has trained. */
static bool check_method(const struct training *training, struct store *store, struct error *error) {
  char sampler[32] = "reconstructor";
  store_text(store, "sampler", sampler, sizeof sampler);
  return !strcmp(sampler, learns_beside(training) ? method_word[training->options->train.method] : "reconstructor") ||
         fail(error, "it was trained with train.method %s; go on with that, or use another train.output",
              sampler);
}

/* What learns beside it has made as many steps. */
static bool read_reconstructor(struct training *training, struct store *store, struct error *error) {
  if (!check_method(training, store, error) || !reconstructor_same(&training->reconstructor, store, error)) return false;
  reconstructor_changed(&training->reconstructor);
  if (learns_beside(training)) fitting_of(training)->sampler.optimiser->step = training->optimiser.step;
  return true;
}

bool fit_fits(struct device *device, const struct options *options, const char *path, struct error *error) {
  struct reconstructor_setup setup = reconstructor_setup_of(device, NULL, options, 1);
  setup.absolute = setup.train = true;
  return reconstructor_fits(&setup, path, error);
}

const struct task_network network_learned_reconstructor = {.open = open_reconstructor,
                                                           .close = training_close_reconstructor,
                                                           .graph = training_reconstructor_graph,
                                                           .optimiser = fit_optimiser,
                                                           .origin = origin,
                                                           .write = write_reconstructor,
                                                           .read = read_reconstructor};

bool fit_measure_masks(struct training *training, struct network_need *need, struct error *error) {
  const struct fit_way *way = training->task->facts;
  const struct masks_setup setup = fit_masks_setup(training);
  return way->measure(&setup, need, error);
}

struct graph *fit_masks_graph(const struct training *training) {
  return fitting_of(training)->sampler.graph;
}

bool fit_write_masks(const struct training *training, struct store *store, struct error *error) {
  const struct fit_sampler *sampler = &fitting_of(training)->sampler;
  return facts_write(sampler->facts, &sampler->is, store, error) &&
         checkpoint_write_parameters(store, "sampler", sampler->graph, error) &&
         checkpoint_write_moments(store, "sampler_optimiser", sampler->optimiser, error);
}

bool fit_read_masks(struct training *training, struct store *store, struct error *error) {
  const struct fit_sampler *sampler = &fitting_of(training)->sampler;
  if (!facts_same(sampler->facts, &sampler->is, store, error) ||
      !checkpoint_read_parameters(store, "sampler", sampler->graph, error))
    return false;
  if (sampler->path) path_changed(sampler->path);
  return checkpoint_read_moments(store, "sampler_optimiser", sampler->optimiser, error);
}

/* ---- opening ------------------------------------------------------------------------------------------- */

static size_t parts_bytes(const struct training *training) {
  const struct fitting *fitting = training->own;
  const struct options *options = training->options;
  return sizeof(float) * options->train.log_every * options->train.batch * fitting->loss.tiles;
}

static bool open_loss(struct training *training, struct error *error) {
  struct fitting *fitting = training->own;
  const struct scan_shape shape = scan_shape_of(training->options);
  if (!loss_open(&fitting->loss, training->device, training->train.simulation.kernels,
                 (enum loss_kind)training->options->train.loss, shape.height, shape.width, training->reconstructor.batch, error))
    return false;
  return true;
}

static void count_updates(struct training *training) {
  const struct fitting *fitting = training->own;
  const struct options *options = training->options;
  size_t slices = fitting->train.slices;
  training->each = training->save_every = divide_up(slices, options->train.batch);
  training->wanted = training->each * options->train.epochs;
  training->log_every = options->train.log_every;
  training->patience = options->train.early_stopping;
  training->work = (double)slices / (double)training->each;
  training->event_per = training->each;
}

bool fit_open_epochs(struct training *training, struct error *error) {
  struct fitting *fitting = fitting_of(training);
  count_updates(training);
  if (!minibatch_epoch(&fitting->validation, 0, error) ||
      !(fitting->parts = device_buffer(training->device, parts_bytes(training), "the losses", error)))
    return false;
  device_fill(training->device, fitting->parts, 0, parts_bytes(training), 0);
  return (fitting->part = arena_try(training->arena, parts_bytes(training))) ||
         fail_memory(error, "no host memory for the losses; lower train.log_every");
}

/* Everything is open: a step takes no more. */
static void state_memory(const struct training *training) {
  const struct device *device = training->device;
  size_t batch = training->options->train.batch, images = training->reconstructor.batch;
  log_info("training takes %.1f of %.1f MiB: updates of %zu slice%s, %zu a pass%s, %zu %s of the network",
           (double)device->bytes / 0x1p20, (double)device->facts.memory / 0x1p20, batch, plural(batch),
           images, images < batch ? " whose gradients add up" : "", training->reconstructor.network.path.passes,
           training->reconstructor.network.path.passes == 1 ? "pass" : "passes");
}

bool fit_open(struct training *training, struct error *error) {
  reconstructor_bind(&training->reconstructor, training->train.simulation.world);
  reconstructor_bind(&training->reconstructor, training->validation.simulation.world);
  bool good = open_loss(training, error) && fit_open_epochs(training, error);
  if (good) state_memory(training);
  return good;
}

void fit_close(struct training *training) {
  struct fitting *fitting = training->own;
  device_release(training->device, fitting->parts, fitting->parts ? parts_bytes(training) : 0);
  if (fitting->loss.device) loss_close(&fitting->loss);
  minibatch_close(&fitting->validation);
  minibatch_close(&fitting->train);
}

/* ---- epochs -------------------------------------------------------------------------------------------- */

bool fit_begin(struct training *training, uint64_t epoch, struct error *error) {
  struct fitting *fitting = training->own;
  fitting->epoch_sum = 0;
  return minibatch_epoch(&fitting->train, (uint32_t)epoch, error);
}

/* ---- looking ------------------------------------------------------------------------------------------- */

static double batch_loss(const struct training *training, size_t slot, size_t count) {
  const struct fitting *fitting = training->own;
  const float *part = fitting->part + slot * training->options->train.batch * fitting->loss.tiles;
  double sum = 0;
  for (size_t i = 0; i < count * fitting->loss.tiles; i++) sum += part[i];
  return (loss_is_ssim(fitting->loss.kind) ? -sum : sum) / (double)count;
}

/* Names the slices, some of which may be the cause. */
static bool refuse_loss(const struct training *training, uint64_t update, double loss, struct error *error) {
  const struct minibatches *batches = &fitting_of(training)->train;
  size_t first, count = fit_samples(training, update, &first), shown = 0, used = 0;
  char slices[500] = "";
  for (; shown < count && used < sizeof slices - 100; shown++) {
    const struct slice_name *name = &batches->split->report.names[batches->order.slice[first + shown]];
    used += (size_t)snprintf(slices + used, sizeof slices - used, "%s%.60s:%zu", shown ? ", " : "",
                             batches->split->dataset.volumes[name->volume].name, name->slice);
  }
  if (shown < count) snprintf(slices + used, sizeof slices - used, " and %zu more", count - shown);
  char what[700];
  snprintf(what, sizeof what, "the loss of update %llu of epoch %llu (slices of its minibatch: %s)",
           (unsigned long long)update + 1, (unsigned long long)((training->done - 1) / training->each + 1),
           slices);
  return trainer_refuse(training, what, loss, error);
}

/* Each rank has those of its own samples, and 0 in place of the others'. */
bool fit_read_losses(struct training *training, size_t *updates, struct error *error) {
  struct fitting *fitting = training->own;
  size_t bytes = sizeof(float) * fitting->pending * training->options->train.batch * fitting->loss.tiles;
  device_read(training->device, fitting->parts, 0, bytes, fitting->part);
  if (!device_finish(training->device, error)) return false;
  if (ranks_count(training->device->ranks) > 1) device_fill(training->device, fitting->parts, 0, bytes, 0);
  ranks_unite(training->device->ranks, fitting->part, bytes);
  *updates = fitting->pending;
  fitting->pending = 0;
  return true;
}

/* The mean of the updates whose losses have not been read. */
bool fit_log(struct training *training, double values[TRAINING_VALUES], struct error *error) {
  struct fitting *fitting = training->own;
  size_t pending, first;
  if (!fit_read_losses(training, &pending, error)) return false;
  uint64_t start = (training->done - 1) % training->each + 1 - pending;
  for (size_t i = 0; i < pending; i++) {
    size_t count = fit_samples(training, start + i, &first);
    double loss = batch_loss(training, i, count);
    if (!isfinite(loss)) return refuse_loss(training, start + i, loss, error);
    fitting->epoch_sum += loss * (double)count;
    values[0] += loss / (double)pending;
  }
  values[2] = training->optimiser.rate;
  return optimise_norm(&training->optimiser, &values[1], error);
}

enum { VALIDATED = 4 }; /* loss, SSIM, PSNR, and the scene's metric where a policy makes the masks */

/* The losses and scores of a part of the validation data. */
static bool validate_part(struct training *training, size_t first, size_t count, double (*of)[VALIDATED],
                          struct error *error) {
  struct fitting *fitting = training->own;
  struct minibatches *batches = &fitting->validation;
  const struct metric *metric = &metric_list[training->options->reward.metric];
  size_t read = batches->setup.policy ? 3 : 2;
  struct arena *arena = arena_open();
  double *loss = ARENA_NEW(arena, double, count);
  float *score = ARENA_NEW(arena, float, 3 * count);
  minibatch_select(batches, first, count);
  training_run_list(training, FIT_VALIDATE);
  bool good = training_look(training, FIT_SCORES,
                            COLUMNS({ENV_ssim, 0, count, score}, {ENV_psnr, 0, count, score + count},
                                    {metric->env, 0, count, batches->setup.policy ? score + 2 * count : NULL}),
                            error) &&
              loss_read(&fitting->loss, count, loss, error);
  for (size_t i = 0; i < count; i++) {
    of[i][0] = loss[i];
    for (size_t k = 0; k < read; k++) of[i][1 + k] = (k == 2 ? metric->sign : 1) * score[k * count + i];
  }
  arena_close(arena);
  return good;
}

/* Every rank takes some of the slices; sums are in their order. */
static bool validate_slices(struct training *training, double (*of)[VALIDATED], double sum[VALIDATED], struct error *error) {
  size_t slices = fitting_of(training)->validation.slices, most = training->reconstructor.batch, first;
  size_t end = ranks_rows(training->device->ranks, slices, &first);
  for (; first < end; first += most)
    if (!validate_part(training, first, end - first < most ? end - first : most, of + first, error)) return false;
  ranks_unite(training->device->ranks, of, slices * sizeof *of);
  for (size_t i = 0; i < slices; i++)
    for (int k = 0; k < VALIDATED; k++) sum[k] += of[i][k];
  return true;
}

bool fit_validate(struct training *training, double values[TRAINING_VALUES], struct error *error) {
  struct fitting *fitting = training->own;
  size_t slices = fitting->validation.slices;
  double sum[VALIDATED] = {0};
  if (training->task->lists[FIT_DRAW].name) training_run_list(training, FIT_DRAW);
  struct arena *arena = arena_open();
  bool good = validate_slices(training, arena_new_array(arena, sizeof(double[VALIDATED]), slices), sum, error);
  arena_close(arena);
  if (!good) return false;
  values[EPOCH_LOSS] = fitting->epoch_sum / (double)fitting->train.slices;
  values[EPOCH_RATE] = training->optimiser.rate;
  for (int i = 0; i < VALIDATED; i++) values[EPOCH_VAL_LOSS + i] = sum[i] / (double)slices;
  return true;
}

/* ---- files --------------------------------------------------------------------------------------------- */

bool fit_read(struct training *training, struct store *store, struct error *error) {
  (void)store;
  if (training->done % training->each)
    return fail_file(error,
                     "it has %llu updates; it must be whole epochs of %llu: the file is damaged, start anew in "
                     "another train.output",
                     (unsigned long long)training->done, (unsigned long long)training->each);
  if (training->optimiser.step == training->done) return true;
  return fail_file(error,
                   "it has optimiser_step %llu and updates %llu, which must be equal: the file is damaged, start "
                   "anew in another train.output",
                   (unsigned long long)training->optimiser.step, (unsigned long long)training->done);
}

/* ---- the log ------------------------------------------------------------------------------------------- */

const struct log_value fit_update_values[] = {
    {"loss", NULL, "the mean loss of the updates since the last look"},
    {"gradient_norm", NULL, "the norm of the last update's gradient, before clipping"},
    {"rate", NULL, "the learning rate"},
    {NULL, NULL, NULL}};

const struct log_value fit_epoch_values[] = {FIT_EPOCH_ROWS, [EPOCH_VALUES] = {NULL, NULL, NULL}};
const struct log_value fit_round_values[] = {
    FIT_EPOCH_ROWS,
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
const struct log_curve fit_curves[] = {
    {"loss", "training", .value = EPOCH_LOSS},
    {"loss", "validation", .validation = true, .value = EPOCH_VAL_LOSS},
    {"SSIM", "training", .minus = true, .value = EPOCH_LOSS, .shown = trains_ssim},
    {"SSIM", "uniform window, training", .minus = true, .value = EPOCH_LOSS, .shown = has_uniform_ssim},
    {"SSIM", "validation", .validation = true, .value = EPOCH_VAL_SSIM, .shown = has_ssim},
    {"SSIM", "Gaussian window, validation", .validation = true, .value = EPOCH_VAL_SSIM,
     .shown = has_uniform_ssim},
    {.up = NULL}};
