/* The output folder of a training: checkpoints, logs, and going on from them. */
#include "engine/base/log.h"
#include "engine/files/events.h"
#include "systems/methods/train.h"
#include "systems/networks/checkpoint.h"

#include <math.h>
#include <string.h>
#include <time.h>

const char *training_path(const struct training *training, const char *name) {
  return run_path(&training->run, training->arena, name);
}

/* ---- writing ------------------------------------------------------------------------------------------- */

static bool write_log(const struct training *training, struct store *store, struct error *error) {
  size_t epochs = training->epoch, updates = epochs * training->updates;
  char name[64];
  bool good =
      store_write(store, "log/update/loss", STORE_F64, 1, &updates, training->update_loss, false, error);
  for (int v = 0; good && v < EPOCH_VALUES; v++) {
    snprintf(name, sizeof name, "log/epoch/%s", epoch_value_names[v]);
    good = store_write(store, name, STORE_F64, 1, &epochs, training->epoch_value[v], false, error);
  }
  return good;
}

static bool save_checkpoint(const struct training *training, const char *name, struct error *error) {
  struct store *store;
  if (!store_create(&store, training_path(training, name), error)) return false;
  if (reconstructor_write(&training->reconstructor, store, error) &&
      run_write(&training->run, store, error) && store_put_number(store, "epoch", training->epoch, error) &&
      store_put_number(store, "best_epoch", training->best_epoch, error) &&
      store_put_number(store, "best_val_loss", training->best, error) && write_log(training, store, error) &&
      (!training->loupe.graph || loupe_write(&training->loupe, store, error)) &&
      (!training->tau.graph || tau_write(&training->tau, store, error)))
    return store_commit(store, error);
  store_close(store);
  return false;
}

static bool save_log(const struct training *training, struct error *error) {
  struct store *store;
  if (!store_create(&store, training_path(training, "log.h5"), error)) return false;
  if (write_log(training, store, error)) return store_commit(store, error);
  store_close(store);
  return false;
}

bool training_save(struct training *training, struct error *error) {
  if (training->best_epoch == training->epoch && !save_checkpoint(training, "best.h5", error)) return false;
  return save_log(training, error) && run_flush(&training->run, error) &&
         save_checkpoint(training, "last.h5", error);
}

/* ---- log.jsonl ----------------------------------------------------------------------------------------- */

void training_log_update(const struct training *training, double loss, double gradient_norm,
                         double images_per_second) {
  if (!training->run.log) return;
  fprintf(training->run.log, "{\"kind\":\"update\",\"epoch\":%u,\"step\":%llu,\"loss\":", training->epoch + 1,
          (unsigned long long)training->optimiser.step);
  json_number(training->run.log, loss);
  fprintf(training->run.log, ",\"gradient_norm\":");
  json_number(training->run.log, gradient_norm);
  fprintf(training->run.log, ",\"rate\":%.9g,\"images_per_second\":%.5g}\n", training->optimiser.rate,
          images_per_second);
  fflush(training->run.log);
}

void training_log_epoch(const struct training *training, FILE *file) {
  if (!file) return;
  fprintf(file, "{\"kind\":\"epoch\",\"epoch\":%u,\"step\":%llu", training->epoch,
          (unsigned long long)training->optimiser.step);
  for (int v = 0; v < EPOCH_VALUES; v++) {
    fprintf(file, ",\"%s\":", epoch_value_names[v]);
    json_number(file, training->epoch_value[v][training->epoch - 1]);
  }
  fprintf(file, ",\"best_epoch\":%u,\"images_per_second\":%.5g}\n", training->best_epoch,
          training->images_per_second);
  fflush(file);
}

void training_log_event(const struct training *training) {
  static const char *const tags[EPOCH_VALUES] = {"loss/train", "rate", "loss/validation", "ssim/validation",
                                                 "psnr/validation"};
  struct event_scalar scalars[EPOCH_VALUES];
  if (!training->run.events) return;
  for (int v = 0; v < EPOCH_VALUES; v++)
    scalars[v] = (struct event_scalar){tags[v], training->epoch_value[v][training->epoch - 1]};
  events_add(training->run.events, (double)time(NULL), training->epoch, scalars, EPOCH_VALUES);
  fflush(training->run.events);
}

/* ---- going on ------------------------------------------------------------------------------------------ */

/* They say where, how long, what is printed; or are of other work. */
#define MASKS_MAY_DIFFER(other)                                                                              \
  {                                                                                                          \
    "evaluate.", "phantom.", "reward.", "policy.", "learn.", "alternate.", "pgmri.", "data.path",            \
        "data.split", "data.window", "train.epochs", "train.output", "train.log_every", "train.masks",       \
        "train.sampler", "train.accelerations", "train.initial_accelerations", "train.early_stopping",       \
        "world.envs", "sampler.", other, NULL                                                                \
  }
static const char *const loupe_may_differ[] = MASKS_MAY_DIFFER("tau.");
static const char *const tau_may_differ[] = MASKS_MAY_DIFFER("loupe.");
static const char *const may_differ[] = {"evaluate.",
                                         "phantom.",
                                         "reward.",
                                         "acquisition.acceleration",
                                         "acquisition.horizon",
                                         "acquisition.initial_lines",
                                         "acquisition.budget",
                                         "policy.",
                                         "learn.",
                                         "alternate.",
                                         "train.keep_activations",
                                         "sampler.candidates",
                                         "pgmri.",
                                         "loupe.",
                                         "tau.",
                                         "sampler.tau_step",
                                         "train.method",
                                         "data.path",
                                         "data.split",
                                         "train.epochs",
                                         "train.output",
                                         "train.log_every",
                                         "world.envs",
                                         "data.window",
                                         "train.early_stopping",
                                         NULL};

static bool read_history(struct training *training, struct store *store, const char *name, size_t count,
                         double *to, struct error *error) {
  if (!store_read_known(store, name, STORE_F64, count, to, error))
    return fail_in(error, "the log of %u epoch%s", training->epoch, plural(training->epoch));
  for (size_t i = 0; i < count; i++)
    if (!isfinite(to[i]))
      return fail(error, "%s holds %g at entry %zu; it must be finite: the file is damaged", name, to[i], i);
  return true;
}

static bool read_log(struct training *training, struct store *store, struct error *error) {
  size_t epochs = training->epoch;
  char name[64];
  if (epochs > training->options->train.epochs)
    return fail(error, "it has %zu epoch%s, train.epochs is %u; set it to %zu or more", epochs,
                plural(epochs), training->options->train.epochs, epochs);
  bool good = read_history(training, store, "log/update/loss", epochs * training->updates,
                           training->update_loss, error);
  for (int v = 0; good && v < EPOCH_VALUES; v++) {
    snprintf(name, sizeof name, "log/epoch/%s", epoch_value_names[v]);
    good = read_history(training, store, name, epochs, training->epoch_value[v], error);
  }
  return good;
}

/* A best loss that no epoch had would keep best.h5 from ever being replaced. */
static bool check_best(const struct training *training, struct error *error) {
  uint32_t epoch = training->best_epoch;
  double loss = epoch ? training->epoch_value[EPOCH_VAL_LOSS][epoch - 1] : training->best;
  if ((epoch || !training->epoch) && loss == training->best) return true;
  return fail(
      error,
      "it has best_val_loss %.9g of epoch %u, whose loss in its log is %.9g: the file is damaged, start "
      "anew in another train.output",
      training->best, epoch, loss);
}

static bool check_steps(const struct training *training, struct error *error) {
  uint64_t expected = (uint64_t)training->epoch * training->updates;
  if (training->optimiser.step == expected) return true;
  return fail(
      error,
      "it has optimiser_step %llu; %u epochs of %zu updates are %llu: the file is damaged, start anew in "
      "another train.output",
      (unsigned long long)training->optimiser.step, training->epoch, training->updates,
      (unsigned long long)expected);
}

/* What one of the methods has trained the others do not go on with. */
static bool read_masks(struct training *training, struct store *store, struct error *error) {
  struct loupe *loupe = &training->loupe;
  struct tau *tau = &training->tau;
  const char *own = loupe->graph ? "loupe" : tau->graph ? "tau_step" : "reconstructor";
  char sampler[32] = "reconstructor";
  store_text(store, "sampler", sampler, sizeof sampler);
  if (strcmp(sampler, own) != 0)
    return fail(error, "it was trained with train.method %s; go on with that, or use another train.output",
                sampler);
  loupe->optimiser.step = tau->optimiser.step = training->optimiser.step;
  return (!loupe->graph || loupe_read(loupe, store, error)) && (!tau->graph || tau_read(tau, store, error));
}

static bool read_state(struct store *store, void *context, struct error *error) {
  struct training *training = context;
  double epoch, best_epoch;
  if (!checkpoint_whole(store, "epoch", 1e9, &epoch, error) ||
      !checkpoint_whole(store, "best_epoch", epoch, &best_epoch, error) ||
      !checkpoint_number(store, "best_val_loss", -1e15, 1e15, &training->best, error))
    return false;
  training->epoch = (uint32_t)epoch;
  training->best_epoch = (uint32_t)best_epoch;
  if (!reconstructor_same(&training->reconstructor, store, error) || !read_log(training, store, error) ||
      !check_best(training, error) || !check_steps(training, error) || !read_masks(training, store, error) ||
      !run_has_best(&training->run, training->best_epoch == training->epoch, error))
    return false;
  reconstructor_changed(&training->reconstructor);
  log_info("going on from %s after epoch %u", training_path(training, "last.h5"), training->epoch);
  return true;
}

/* With new parameters and masks of heuristics it has none. */
static bool set_origin(struct training *training, const struct training_wish *wish, struct error *error) {
  struct run_origin *origin = training->run.origin;
  if (!wish->policy) return true;
  origin[0].name = "reconstructor";
  origin[1].name = "policy";
  origin[2].name = "actions";
  snprintf(origin[2].value, sizeof origin[2].value, "%s", wish->drawn ? "drawn" : "best");
  return checkpoint_hash(training->reconstructor.graph, origin[0].value, error) &&
         checkpoint_hash(training->policy.graph, origin[1].value, error);
}

static bool write_best(void *context, struct error *error) {
  return save_checkpoint(context, "best.h5", error);
}

static bool mend_best(struct training *training, struct error *error) {
  bool is_last = training->best_epoch && training->best_epoch == training->epoch;
  return run_mend_best(&training->run, is_last, write_best, training, error);
}

bool training_open_files(struct training *training, const struct training_wish *wish, struct error *error) {
  static const char *const others[] = {"best.h5", "log.h5", NULL};
  training->run =
      (struct run_files){.folder = training->options->train.output,
                         .options = training->options,
                         .optimiser = &training->optimiser,
                         .train = {training->train.dataset.hash, training->train.slices,
                                    &training->train.dataset},
                         .validation = {training->validation.dataset.hash, training->validation.slices,
                                         &training->validation.dataset},
                         .network = "unet",
                         .others = others,
                         .may_differ = training->loupe.graph ? loupe_may_differ
                                       : training->tau.graph ? tau_may_differ
                                                             : may_differ};
  return set_origin(training, wish, error) &&
         run_open(&training->run, wish->resume, read_state, training, error) && mend_best(training, error);
}
