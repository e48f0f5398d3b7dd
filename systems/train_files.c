/* The output folder of a training: checkpoints, logs, and going on from them. */
#include "engine/events.h"
#include "engine/log.h"
#include "systems/checkpoint.h"
#include "systems/run_files.h"
#include "systems/train.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* How long the appended files are when last.h5 is written. */
struct lengths {
  double log, events;
};

const char *training_path(const struct training *training, const char *name) {
  return arena_text(training->arena, "%s/%s", training->options->train.output, name);
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

static bool write_facts(const struct training *training, struct store *store, struct error *error) {
  const struct device_facts *facts = &training->device->facts;
  char *scene = run_scene_text(training->options);
  bool good = scene && store_put_text(store, "scene", scene, error) &&
              store_put_text(store, "version", L2SR_VERSION, error) &&
              store_put_text(store, "device", facts->name, error) &&
              store_put_text(store, "driver", facts->driver, error) &&
              store_put_text(store, "training_selection", training->train.dataset.hash, error) &&
              store_put_text(store, "validation_selection", training->validation.dataset.hash, error) &&
              store_put_number(store, "training_slices", (double)training->train.slices, error) &&
              store_put_number(store, "validation_slices", (double)training->validation.slices, error) &&
              store_put_number(store, "seed", training->options->world.seed, error) &&
              store_put_number(store, "epoch", training->epoch, error) &&
              store_put_number(store, "step", (double)training->optimiser.step, error) &&
              store_put_number(store, "best_epoch", training->best_epoch, error) &&
              store_put_number(store, "best_val_loss", training->best, error) &&
              store_put_number(store, "log_bytes", (double)ftell(training->log), error) &&
              store_put_number(store, "events_bytes", (double)ftell(training->events), error);
  free(scene);
  return good;
}

static bool save_checkpoint(const struct training *training, const char *name, struct error *error) {
  struct store *store;
  if (!store_create(&store, training_path(training, name), error)) return false;
  if (reconstructor_write(&training->reconstructor, store, error) &&
      checkpoint_write_optimiser(store, &training->optimiser, error) && write_facts(training, store, error) &&
      write_log(training, store, error))
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
  return save_log(training, error) && run_flush(training->log, training_path(training, "log.jsonl"), error) &&
         run_flush(training->events, training_path(training, EVENTS_NAME), error) &&
         save_checkpoint(training, "last.h5", error);
}

/* ---- log.jsonl ----------------------------------------------------------------------------------------- */

void training_log_update(const struct training *training, double loss, double gradient_norm,
                         double images_per_second) {
  if (!training->log) return;
  fprintf(training->log, "{\"kind\":\"update\",\"epoch\":%u,\"step\":%llu,\"loss\":", training->epoch + 1,
          (unsigned long long)training->optimiser.step);
  json_number(training->log, loss);
  fprintf(training->log, ",\"gradient_norm\":");
  json_number(training->log, gradient_norm);
  fprintf(training->log, ",\"rate\":%.9g,\"images_per_second\":%.5g}\n", training->optimiser.rate,
          images_per_second);
  fflush(training->log);
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
  if (!training->events) return;
  for (int v = 0; v < EPOCH_VALUES; v++)
    scalars[v] = (struct event_scalar){tags[v], training->epoch_value[v][training->epoch - 1]};
  events_add(training->events, (double)time(NULL), training->epoch, scalars, EPOCH_VALUES);
  fflush(training->events);
}

/* ---- going on ------------------------------------------------------------------------------------------ */

/* They say where, how long, what is printed; or are of other work. */
static const char *const may_differ[] = {"evaluate.",
                                         "phantom.",
                                         "reward.",
                                         "acquisition.",
                                         "policy.",
                                         "learn.",
                                         "alternate.",
                                         "pgmri.",
                                         "train.method",
                                         "data.path",
                                         "data.split",
                                         "train.epochs",
                                         "train.output",
                                         "train.log_every",
                                         "world.envs",
                                         "train.early_stopping",
                                         NULL};

static bool compare_split(const struct feed *feed, const char *name, struct store *store,
                          struct error *error) {
  char selection[80] = "", key[64];
  double slices = 0;
  snprintf(key, sizeof key, "%s_selection", name);
  bool same = store_text(store, key, selection, sizeof selection) && !strcmp(selection, feed->dataset.hash);
  snprintf(key, sizeof key, "%s_slices", name);
  if (store_number(store, key, &slices) && same && slices == (double)feed->slices) return true;
  return fail(error,
              "it is of other data: %s files %.16s (%.0f slices), now %.16s (%zu); use those, or another "
              "train.output",
              name, selection, slices, feed->dataset.hash, feed->slices);
}

static bool compare_data(const struct training *training, struct store *store, struct error *error) {
  return compare_split(&training->train, "training", store, error) &&
         compare_split(&training->validation, "validation", store, error);
}

static bool read_history(struct training *training, struct store *store, const char *name, size_t count,
                         double *to, struct error *error) {
  struct store_shape shape;
  if (!store_shape(store, name, &shape, error)) return false;
  if (shape.rank != 1 || shape.size[0] != count)
    return fail(error, "%s has not the %zu entries of %u epochs", name, count, training->epoch);
  return store_read(store, name, STORE_F64, NULL, &count, to, error);
}

static bool read_log(struct training *training, struct store *store, struct error *error) {
  size_t epochs = training->epoch;
  char name[64];
  if (epochs > training->options->train.epochs)
    return fail(error, "it has %zu epochs, train.epochs is %u; set it to %zu or more", epochs,
                training->options->train.epochs, epochs);
  bool good = read_history(training, store, "log/update/loss", epochs * training->updates,
                           training->update_loss, error);
  for (int v = 0; good && v < EPOCH_VALUES; v++) {
    snprintf(name, sizeof name, "log/epoch/%s", epoch_value_names[v]);
    good = read_history(training, store, name, epochs, training->epoch_value[v], error);
  }
  return good;
}

static bool read_state(struct training *training, struct store *store, struct lengths *lengths,
                       struct error *error) {
  double epoch, best_epoch;
  char *scene = arena_try(training->arena, RUN_SCENE_MOST);
  if (!scene || !store_text(store, "scene", scene, RUN_SCENE_MOST) || !store_number(store, "epoch", &epoch) ||
      !store_number(store, "best_epoch", &best_epoch) ||
      !store_number(store, "best_val_loss", &training->best) ||
      !store_number(store, "log_bytes", &lengths->log) ||
      !store_number(store, "events_bytes", &lengths->events))
    return fail(error,
                "it is no checkpoint of a training: scene, epoch, best_epoch, best_val_loss, log_bytes or "
                "events_bytes is missing");
  if (!(epoch >= 0 && epoch <= 1e9 && epoch == floor(epoch)) ||
      !(best_epoch >= 0 && best_epoch <= epoch && best_epoch == floor(best_epoch)) ||
      !(lengths->log >= 0 && lengths->log <= 1e15 && lengths->events >= 0 && lengths->events <= 1e15))
    return fail(
        error,
        "it has epoch %g, best_epoch %g, log_bytes %g and events_bytes %g; epochs are whole, best_epoch "
        "is at most epoch and bytes are at least 0: the file is damaged, start anew in another "
        "train.output",
        epoch, best_epoch, lengths->log, lengths->events);
  training->epoch = (uint32_t)epoch;
  training->best_epoch = (uint32_t)best_epoch;
  return run_same_scene(training->options, scene, may_differ, error) &&
         compare_data(training, store, error) &&
         checkpoint_read_parameters(store, "param", training->reconstructor.graph, error) &&
         checkpoint_read_optimiser(store, &training->optimiser, error) && read_log(training, store, error);
}

static bool go_on(struct training *training, const char *path, struct lengths *lengths, struct error *error) {
  struct store *store;
  if (!store_open(&store, path, error)) return fail_in(error, "cannot go on");
  bool good = read_state(training, store, lengths, error);
  if (good) run_compare_device(store, path, training->device->facts.name);
  store_close(store);
  if (!good) return fail_in(error, "cannot go on from %s", path);
  reconstructor_changed(&training->reconstructor);
  log_info("going on from %s after epoch %u", path, training->epoch);
  return true;
}

static bool open_events(struct training *training, double bytes, struct error *error) {
  const char *path = training_path(training, EVENTS_NAME);
  training->events = fopen(path, "ab");
  if (!training->events) return fail(error, "cannot write %s: %s", path, strerror(errno));
  if (!run_shorten(training->events, path, bytes, error)) return false;
  if (ftell(training->events) == 0) events_start(training->events, (double)time(NULL));
  return true;
}

bool training_open_files(struct training *training, bool resume, struct error *error) {
  static const char *const others[] = {"best.h5", "log.h5", NULL};
  const char *folder = training->options->train.output, *last = training_path(training, "last.h5");
  const char *log = training_path(training, "log.jsonl");
  struct lengths lengths = {0};
  if (!run_open_log(&training->log, folder, log, error) || !run_folder_takes(folder, others, resume, error))
    return false;
  if (file_is_there(last) && !go_on(training, last, &lengths, error)) return false;
  run_remove_leftovers(folder, others);
  if (resume && !file_is_there(last)) log_info("there is no %s yet: training from the start", last);
  return run_shorten(training->log, log, lengths.log, error) && open_events(training, lengths.events, error);
}
