#include "systems/methods/train.h"

#include "engine/base/log.h"
#include "engine/base/round.h"
#include "systems/networks/checkpoint.h"
#include "systems/networks/net_unet.h"
#include "systems/sampling/geometry.h"

#include <math.h>
#include <string.h>

const char *const epoch_value_names[EPOCH_VALUES] = {"loss", "rate", "val_loss", "val_ssim", "val_psnr"};

/* ---- opening ------------------------------------------------------------------------------------------- */

static bool is_method(const struct training *training, enum train_method method) {
  return (enum train_method)training->options->train.method == method;
}

/* Masks are learned of columns or points, through the transform of an image. */
static bool check_masks(const struct training *training, struct error *error) {
  const struct options *options = training->options;
  const char *method = is_method(training, METHOD_LOUPE) ? "loupe" : "tau_step";
  if (!training_learns_masks(training)) return true;
  if (options->data.kspace == KSPACE_MEASURED && options->network.input == INPUT_MAGNITUDE)
    return fail_usage(error,
                      "train.method is %s, which transforms images, and data.kspace is measured; set it to "
                      "image, network.input to complex, or train.method to reconstructor, l2s, l2sr or pgmri",
                      method);
  if (options->acquisition.geometry == GEOMETRY_POINTS && is_method(training, METHOD_TAU_STEP) &&
      options->data.size % (1u << options->tau.pools))
    return fail_usage(
        error,
        "train.method is tau_step and acquisition.geometry points: its sampler halves images of "
        "data.size %u %u times (tau.pools); set it to a multiple of %u, or tau.pools lower",
        options->data.size, options->tau.pools, 1u << options->tau.pools);
  if (options->acquisition.geometry != GEOMETRY_SPOKES) return true;
  return fail_usage(
      error,
      "train.method is %s, which learns masks of lines or points, and acquisition.geometry is %s; "
      "set it to one of these, or train.method to reconstructor, l2s, l2sr or pgmri",
      method, geometry_chosen(options)->name);
}

static bool open_policy(struct training *training, const char *path, struct error *error) {
  const struct options *options = training->options;
  struct policy_setup setup = {.device = training->device,
                               .kernels = training->train.simulation.kernels,
                               .size = options->data.size,
                               .precision = (enum block_precision)options->policy.precision,
                               .batch = options->policy.batch};
  return policy_load(&training->policy, path, &setup, error) || fail_in(error, "the policy");
}

static void lend_policy(struct training *training, struct feed *feed, bool drawn) {
  feed->simulation.policy = &training->policy;
  feed->simulation.best = !drawn;
}

/* By what LOUPE's masks are drawn as samples are dealt, where its graph does not observe them itself. */
static struct loupe *drawing(struct training *training) {
  bool draws = is_method(training, METHOD_LOUPE) && !loupe_views(training->options);
  return draws ? &training->loupe : NULL;
}

static struct feed_setup feed_setup_of(struct training *training, size_t batch,
                                       const struct training_wish *wish) {
  return (struct feed_setup){.device = training->device,
                             .options = training->options,
                             .split = SPLIT_TRAIN,
                             .batch = batch,
                             .policy = wish->policy,
                             .loupe = drawing(training),
                             .deal_only = training_learns_masks(training) && !drawing(training),
                             .fill = wish->fill,
                             .slices = wish->slices,
                             .kernel_folder = wish->kernel_folder};
}

static struct feed_setup validation_setup(struct feed_setup setup) {
  setup.split = SPLIT_VAL;
  setup.validate = true;
  return setup;
}

static bool describe(struct training *training, size_t batch, const struct training_wish *wish,
                     struct error *error) {
  struct feed_setup setup = feed_setup_of(training, batch, wish), other = validation_setup(setup);
  feed_describe(&training->train, &setup);
  feed_describe(&training->validation, &other);
  return training_build(training, error);
}

bool training_describe(struct training *training, const struct options *options, bool by_policy,
                       struct error *error) {
  *training = (struct training){.options = options};
  return describe(training, 1, &(struct training_wish){.policy = by_policy ? "" : NULL}, error);
}

static bool open_feeds(struct training *training, size_t batch, const struct training_wish *wish,
                       struct error *error) {
  struct feed_setup setup = feed_setup_of(training, batch, wish);
  if (!describe(training, batch, wish, error)) return false;
  setup.columns = training->update.touched;
  if (!feed_open(&training->train, &setup, error) ||
      (wish->policy && !open_policy(training, wish->policy, error)))
    return false;
  lend_policy(training, &training->train, wish->drawn);
  setup = validation_setup(setup);
  setup.columns = training->validate.touched;
  setup.kernels = training->train.simulation.kernels;
  if (!feed_open(&training->validation, &setup, error)) return false;
  lend_policy(training, &training->validation, false);
  if (!feed_epoch(&training->validation, 0, error)) return false;
  if (!wish->fill && !strcmp(training->train.dataset.hash, training->validation.dataset.hash))
    log_warning("training and validation data are the same files; make folders train and val in %s",
                training->options->data.path);
  return true;
}

static struct loupe_setup loupe_setup_of(const struct training *training, size_t batch) {
  return (struct loupe_setup){training->device, training->train.simulation.kernels, training->options, batch};
}

static bool tau_setup_of(const struct training *training, size_t batch, struct tau_setup *setup,
                         struct error *error) {
  *setup = (struct tau_setup){.device = training->device,
                              .kernels = training->train.simulation.kernels,
                              .options = training->options,
                              .batch = batch,
                              .train = true};
  return acquisition_only(&setup->acquisition, training->options, training->arena, error);
}

/* What learns the masks needs passes of the network, and room beside it. */
static bool plan_masks(struct training *training, struct reconstructor_setup *setup, struct error *error) {
  struct loupe_setup loupe = loupe_setup_of(training, setup->batch);
  struct tau_setup tau;
  if (is_method(training, METHOD_LOUPE))
    return loupe_measure(&loupe, &setup->beside, &setup->beside_image, error);
  if (!is_method(training, METHOD_TAU_STEP)) return true;
  setup->passes = tau_passes(training->options);
  return tau_setup_of(training, setup->batch, &tau, error) &&
         tau_measure(&tau, &setup->beside, &setup->beside_image, error);
}

static bool open_network(struct training *training, size_t batch, const char *start, struct error *error) {
  const struct options *options = training->options;
  struct reconstructor_setup setup = {.device = training->device,
                                      .kernels = training->train.simulation.kernels,
                                      .size = options->data.size,
                                      .channels = options->network.channels,
                                      .pools = options->network.pools,
                                      .complex = options->network.input == INPUT_COMPLEX,
                                      .scale = options->data.scale,
                                      .absolute = !is_method(training, METHOD_TAU_STEP),
                                      .precision = (enum block_precision)options->network.precision,
                                      .batch = batch,
                                      .train = true,
                                      .input_gradient = training_learns_masks(training)};
  if (!plan_masks(training, &setup, error) ||
      !(start ? reconstructor_load(&training->reconstructor, start, &setup, error)
              : reconstructor_open(&training->reconstructor, &setup, error)))
    return false;
  if (!start) graph_start(training->reconstructor.graph, options->world.seed);
  reconstructor_changed(&training->reconstructor);
  training->train.simulation.reconstructor = training->validation.simulation.reconstructor =
      &training->reconstructor;
  return true;
}

static bool open_optimiser(struct training *training, struct error *error) {
  const struct options *options = training->options;
  struct optimiser_setup setup =
      optimise_defaults((enum optimiser_kind)options->train.optimiser, options->train.rate);
  setup.clip = options->train.clip;
  setup.decay = options->train.weight_decay;
  return optimise_open(&training->optimiser, training->reconstructor.graph, &setup, error);
}

static bool open_masks(struct training *training, struct error *error) {
  size_t batch = training->reconstructor.batch;
  struct loupe_setup loupe = loupe_setup_of(training, batch);
  struct tau_setup tau;
  if (is_method(training, METHOD_LOUPE)) return loupe_open(&training->loupe, &loupe, error);
  return !is_method(training, METHOD_TAU_STEP) ||
         (tau_setup_of(training, batch, &tau, error) &&
          tau_open(&training->tau, &tau, &training->reconstructor, error));
}

static size_t parts_bytes(const struct training *training) {
  return sizeof(float) * training->options->train.log_every * training->options->train.batch *
         training->loss.tiles;
}

static bool open_loss(struct training *training, struct error *error) {
  const struct options *options = training->options;
  size_t n = options->data.size;
  if (!loss_open(&training->loss, training->device, training->train.simulation.kernels,
                 (enum loss_kind)options->train.loss, n, n, training->reconstructor.batch, error))
    return false;
  training->parts = device_buffer(training->device, parts_bytes(training), "the losses", error);
  training->part = arena_try(training->arena, parts_bytes(training));
  if (training->parts && !training->part)
    fail_memory(error, "no host memory for the losses; lower train.log_every");
  return training->parts && training->part;
}

/* Everything that the systems point to is open. */
static bool open_schedules(struct training *training, struct error *error) {
  struct kernels *kernels = training->train.simulation.kernels;
  return training_build(training, error) && schedule_prepare(&training->update, kernels, error) &&
         schedule_prepare(&training->validate, kernels, error);
}

static bool open_history(struct training *training, struct error *error) {
  size_t epochs = training->options->train.epochs, batch = training->options->train.batch;
  training->updates = divide_up(training->train.slices, batch);
  bool good =
      (training->update_loss = arena_try(training->arena, sizeof(double) * epochs * training->updates));
  for (int v = 0; good && v < EPOCH_VALUES; v++)
    good = (training->epoch_value[v] = arena_try(training->arena, sizeof(double) * epochs));
  return good ? true
              : fail_memory(error, "no host memory for the log of %zu epochs; lower train.epochs", epochs);
}

/* Everything is open: a step takes no more. */
static void state_memory(const struct training *training) {
  const struct device *device = training->device;
  size_t batch = training->options->train.batch, images = training->reconstructor.batch;
  log_info("training takes %.1f of %.1f MiB: updates of %zu slice%s, %zu a pass%s, %zu %s of the network",
           (double)device->bytes / 0x1p20, (double)device->facts.memory / 0x1p20, batch, plural(batch),
           images, images < batch ? " whose gradients add up" : "", training->reconstructor.passes,
           training->reconstructor.passes == 1 ? "pass" : "passes");
}

bool training_open(struct training *training, struct device *device, const struct options *options,
                   const struct training_wish *wish, struct error *error) {
  size_t batch =
      options->train.batch < options->network.batch ? options->train.batch : options->network.batch;
  *training = (struct training){.arena = arena_open(), .device = device, .options = options};
  if (check_masks(training, error) &&
      optimise_read_milestones("train.milestones", options->train.milestones, training->milestone,
                               &training->milestones, error) &&
      net_unet_check(options, error) && open_feeds(training, batch, wish, error) &&
      open_network(training, batch, wish->start, error) && open_masks(training, error) &&
      open_loss(training, error) && open_optimiser(training, error) && open_schedules(training, error) &&
      open_history(training, error) &&
      (!*options->train.output || training_open_files(training, wish, error)) &&
      device_finish(device, error)) {
    state_memory(training);
    return true;
  }
  training_close(training);
  return false;
}

void training_close(struct training *training) {
  run_close(&training->run);
  if (training->optimiser.device) optimise_close(&training->optimiser);
  if (training->loupe.graph) loupe_close(&training->loupe);
  if (training->tau.graph) tau_close(&training->tau);
  device_release(training->device, training->parts, parts_bytes(training));
  if (training->loss.device) loss_close(&training->loss);
  reconstructor_close(&training->reconstructor);
  policy_close(&training->policy);
  if (training->validation.arena) feed_close(&training->validation);
  if (training->train.arena) feed_close(&training->train);
  arena_close(training->arena);
  *training = (struct training){0};
}

/* ---- one update ---------------------------------------------------------------------------------------- */

double training_rate(const struct training *training, uint32_t epoch) {
  const struct options *options = training->options;
  double rate = options->train.rate, factor = options->train.rate_factor;
  return options->train.schedule == SCHEDULE_STEP
             ? optimise_step_rate(rate, factor, options->train.rate_every, epoch)
             : optimise_milestone_rate(rate, factor, training->milestone, training->milestones, epoch);
}

void training_step(struct training *training, size_t first, size_t count) {
  REQUIRE(count && count <= training->options->train.batch, "%zu samples an update", count);
  REQUIRE(training->pending < training->options->train.log_every, "%zu losses are unread", training->pending);
  training->first = first;
  training->count = count;
  schedule_run(&training->update, &training->train.simulation.world);
  training->pending++;
}

/* ---- losses -------------------------------------------------------------------------------------------- */

static size_t batch_of(const struct training *training, size_t update, size_t *first) {
  size_t batch = training->options->train.batch, left;
  *first = update * batch;
  left = training->train.slices - *first;
  return left < batch ? left : batch;
}

static double batch_loss(const struct training *training, size_t slot, size_t count) {
  const float *part = training->part + slot * training->options->train.batch * training->loss.tiles;
  double sum = 0;
  for (size_t i = 0; i < count * training->loss.tiles; i++) sum += part[i];
  return (loss_is_ssim(training->loss.kind) ? -sum : sum) / (double)count;
}

/* What there is to go back to, and what to do. */
static bool refuse_training(const struct training *training, struct error *error) {
  struct error text = *error;
  if (*training->options->train.output && training->epoch)
    return fail_as(
        error, L2SR_DIVERGED,
        "%.1100s; the last good checkpoint is %s of epoch %u; lower train.rate or set train.clip and "
        "train anew",
        text.text, training_path(training, "last.h5"), training->epoch);
  return fail_as(error, L2SR_DIVERGED,
                 "%.1100s; no checkpoint was written before; lower train.rate or set train.clip", text.text);
}

static bool refuse_loss(const struct training *training, size_t update, double loss, struct error *error) {
  const struct feed *feed = &training->train;
  size_t first, count = batch_of(training, update, &first), shown = 0, used = 0;
  char slices[600] = "";
  for (; shown < count && used < sizeof slices - 100; shown++) {
    const struct slice_name *name = &feed->report.names[feed->order[first + shown]];
    used += (size_t)snprintf(slices + used, sizeof slices - used, "%s%.60s:%zu", shown ? ", " : "",
                             feed->dataset.volumes[name->volume].name, name->slice);
  }
  if (shown < count) snprintf(slices + used, sizeof slices - used, " and %zu more", count - shown);
  fail(error, "the loss is %g at step %zu (epoch %u); slices of its batch: %s", loss,
       training->epoch * training->updates + update + 1, training->epoch + 1, slices);
  return refuse_training(training, error);
}

/* The updates' losses were good: the last of them has spoiled the parameters. */
static bool refuse_validation(const struct training *training, double loss, struct error *error) {
  fail(error,
       "the validation loss is %g after epoch %u, whose training losses were finite; an update has made the "
       "network diverge",
       loss, training->epoch + 1);
  return refuse_training(training, error);
}

/* Reads the losses of the updates up to `update` that have not been read; *mean is theirs. */
static bool read_losses(struct training *training, size_t update, double *mean, struct error *error) {
  size_t pending = training->pending, start = update + 1 - pending, first;
  double *to = training->update_loss + training->epoch * training->updates;
  device_read(training->device, training->parts, 0,
              sizeof(float) * pending * training->options->train.batch * training->loss.tiles,
              training->part);
  if (!device_finish(training->device, error)) return false;
  training->pending = 0;
  *mean = 0;
  for (size_t i = 0; i < pending; i++) {
    size_t count = batch_of(training, start + i, &first);
    to[start + i] = batch_loss(training, i, count);
    if (!isfinite(to[start + i])) return refuse_loss(training, start + i, to[start + i], error);
    *mean += to[start + i] / (double)pending;
  }
  return true;
}

/* ---- an epoch ------------------------------------------------------------------------------------------ */

static bool run_updates(struct training *training, struct progress *progress, struct error *error) {
  size_t every = training->options->train.log_every, first, seen = progress->done, logged = 0;
  double start = clock_seconds(), mean, norm, sum = 0;
  for (size_t update = 0; update < training->updates; update++) {
    size_t count = batch_of(training, update, &first);
    training_step(training, first, count);
    if (training->pending < every && update + 1 < training->updates) continue;
    if (!read_losses(training, update, &mean, error) || !optimise_norm(&training->optimiser, &norm, error))
      return false;
    double now = clock_seconds();
    training_log_update(training, mean, norm, (double)(first + count - logged) / (now - start));
    progress_move(progress, seen + first + count);
    start = now;
    logged = first + count;
  }
  for (size_t update = 0; update < training->updates; update++)
    sum += training->update_loss[training->epoch * training->updates + update] *
           (double)batch_of(training, update, &first);
  training->epoch_value[EPOCH_LOSS][training->epoch] = sum / (double)training->train.slices;
  training->epoch_value[EPOCH_RATE][training->epoch] = training->optimiser.rate;
  return true;
}

/* Adds the losses and scores of a batch of the validation data. */
static bool validate_batch(struct training *training, size_t first, size_t count, double sum[3],
                           struct error *error) {
  struct feed *feed = &training->validation;
  struct arena *arena = arena_open();
  double *loss = ARENA_NEW(arena, double, count);
  float *ssim = ARENA_NEW(arena, float, count), *psnr = ARENA_NEW(arena, float, count);
  feed_deal(feed, first, count);
  training->count = count;
  schedule_run(&training->validate, &feed->simulation.world);
  world_read(&feed->simulation.world, ENV_ssim, 0, count, ssim);
  world_read(&feed->simulation.world, ENV_psnr, 0, count, psnr);
  bool good = loss_read(&training->loss, count, loss, error);
  for (size_t i = 0; i < count; i++) {
    sum[0] += loss[i];
    sum[1] += ssim[i];
    sum[2] += psnr[i];
  }
  arena_close(arena);
  return good;
}

static bool validate(struct training *training, struct error *error) {
  size_t slices = training->validation.slices, batch = training->reconstructor.batch;
  double sum[3] = {0};
  if (training_learns_masks(training)) schedule_run(&training->draw, &training->validation.simulation.world);
  for (size_t first = 0; first < slices; first += batch)
    if (!validate_batch(training, first, slices - first < batch ? slices - first : batch, sum, error))
      return false;
  for (int i = 0; i < 3; i++)
    training->epoch_value[EPOCH_VAL_LOSS + i][training->epoch] = sum[i] / (double)slices;
  return isfinite(sum[0]) ? true : refuse_validation(training, sum[0], error);
}

static bool run_epoch(struct training *training, struct progress *progress, struct error *error) {
  double start = clock_seconds();
  if (!feed_epoch(&training->train, training->epoch, error) || !run_updates(training, progress, error))
    return false;
  training->images_per_second = (double)training->train.slices / (clock_seconds() - start);
  if (!validate(training, error)) return false;
  double loss = training->epoch_value[EPOCH_VAL_LOSS][training->epoch++];
  if (!training->best_epoch || loss < training->best) {
    training->best = loss;
    training->best_epoch = training->epoch;
  }
  training_log_epoch(training, training->run.log);
  training_log_event(training);
  return !*training->options->train.output || training_save(training, error);
}

bool training_done(const struct training *training) {
  uint32_t patience = training->options->train.early_stopping;
  return training->epoch >= training->options->train.epochs ||
         (patience && training->epoch - training->best_epoch >= patience);
}

static void print_epoch(const struct training *training) {
  size_t e = training->epoch - 1;
  log_info("epoch %u/%u: rate %g, loss %.5f, validation loss %.5f, SSIM %.5f, PSNR %.3f dB%s",
           training->epoch, training->options->train.epochs, training->epoch_value[EPOCH_RATE][e],
           training->epoch_value[EPOCH_LOSS][e], training->epoch_value[EPOCH_VAL_LOSS][e],
           training->epoch_value[EPOCH_VAL_SSIM][e], training->epoch_value[EPOCH_VAL_PSNR][e],
           training->best_epoch == training->epoch ? ", best" : "");
}

bool training_run(struct training *training, const struct training_wish *wish, struct error *error) {
  struct progress progress;
  uint32_t epochs = training->options->train.epochs;
  bool good = true;
  progress_open(&progress, "training", "images",
                (epochs > training->epoch ? epochs - training->epoch : 0) * training->train.slices);
  while (good && !training_done(training)) {
    good = run_epoch(training, &progress, error);
    if (good) print_epoch(training);
    if (good && wish->see) wish->see(training, wish->context);
  }
  if (good && training->epoch < epochs)
    log_info("stopped early: no better validation loss for %u epoch%s",
             training->options->train.early_stopping, plural(training->options->train.early_stopping));
  progress_close(&progress);
  return good;
}
