/* The output folder of PG-MRI's training: checkpoints, log, and going on from them. */
#include "systems/pgmri.h"

#include "engine/log.h"
#include "systems/checkpoint.h"
#include "systems/run_files.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const value_names[PGMRI_VALUE_COUNT] = {
#define X(name, ...) #name,
    PGMRI_VALUES(X)
#undef X
};

static const char *path_of(const struct pgmri *pgmri, const char *name) {
  return arena_text(pgmri->arena, "%s/%s", pgmri->folder, name);
}

/* ---- writing ------------------------------------------------------------------------------------------- */

static bool write_facts(const struct pgmri *pgmri, struct store *store, struct error *error) {
  const struct device_facts *facts = &pgmri->device->facts;
  char *scene = run_scene_text(pgmri->options);
  long bytes = pgmri->log ? ftell(pgmri->log) : 0;
  bool good = scene && store_put_text(store, "scene", scene, error) &&
              store_put_text(store, "version", L2SR_VERSION, error) &&
              store_put_text(store, "device", facts->name, error) &&
              store_put_text(store, "driver", facts->driver, error) &&
              store_put_text(store, "training_selection", pgmri->train.dataset.hash, error) &&
              store_put_text(store, "validation_selection", pgmri->validation.dataset.hash, error) &&
              store_put_number(store, "seed", pgmri->options->world.seed, error) &&
              store_put_number(store, "updates", (double)pgmri->updates, error) &&
              store_put_number(store, "score", pgmri->score, error) &&
              store_put_number(store, "log_bytes", (double)bytes, error);
  free(scene);
  return good;
}

bool pgmri_save(const struct pgmri *pgmri, const char *name, struct error *error) {
  struct store *store;
  if (!run_flush(pgmri->log, path_of(pgmri, "log.jsonl"), error) ||
      !store_create(&store, path_of(pgmri, name), error))
    return false;
  if (policy_write(&pgmri->policy, store, error) &&
      checkpoint_write_optimiser(store, &pgmri->optimiser, error) && write_facts(pgmri, store, error))
    return store_commit(store, error);
  store_close(store);
  return false;
}

/* ---- log.jsonl ----------------------------------------------------------------------------------------- */

static void log_start(const struct pgmri *pgmri, FILE *file, const char *kind) {
  fprintf(file, "{\"kind\":\"%s\",\"epoch\":%.6g,\"updates\":%llu", kind,
          (double)pgmri->updates / (double)pgmri->each, (unsigned long long)pgmri->updates);
}

void pgmri_log_look(const struct pgmri *pgmri, FILE *file) {
  if (!file) return;
  log_start(pgmri, file, "look");
  for (int v = 0; v < PGMRI_VALUE_COUNT; v++) {
    fprintf(file, ",\"%s\":", value_names[v]);
    json_number(file, pgmri->look[v]);
  }
  fprintf(file, ",\"images_per_second\":%.5g}\n", pgmri->images_per_second);
  fflush(file);
}

void pgmri_log_validation(const struct pgmri *pgmri, FILE *file) {
  if (!file) return;
  log_start(pgmri, file, "validation");
  fprintf(file, ",\"metric\":\"%s\",\"score\":", metric_list[pgmri->options->reward.metric].name);
  json_number(file, pgmri->score);
  fprintf(file, "}\n");
  fflush(file);
}

/* ---- going on ------------------------------------------------------------------------------------------ */

/* They say where, how long, and what is printed or kept; or are of other work. */
static const char *const may_differ[] = {
    "evaluate.",  "phantom.",   "train.",       "alternate.", "learn.",           "sampler.",    "data.path",
    "data.split", "world.envs", "pgmri.epochs", "pgmri.keep", "pgmri.save_every", "reward.form", NULL};

static bool whole(double value, double most) {
  return value >= 0 && value <= most && value == floor(value);
}

static bool compare_data(const struct pgmri *pgmri, struct store *store, struct error *error) {
  char train[80] = "", validation[80] = "";
  const char *own = pgmri->train.dataset.hash, *other = pgmri->validation.dataset.hash;
  if (store_text(store, "training_selection", train, sizeof train) &&
      store_text(store, "validation_selection", validation, sizeof validation) && !strcmp(train, own) &&
      !strcmp(validation, other))
    return true;
  return fail(error,
              "it is of other data: training files %.16s and validation files %.16s, now %.16s and %.16s",
              train, validation, own, other);
}

static bool read_state(struct pgmri *pgmri, struct store *store, double *log_bytes, struct error *error) {
  double updates;
  char *scene = arena_try(pgmri->arena, RUN_SCENE_MOST);
  if (!scene || !store_text(store, "scene", scene, RUN_SCENE_MOST) ||
      !store_number(store, "updates", &updates) || !store_number(store, "score", &pgmri->score) ||
      !store_number(store, "log_bytes", log_bytes))
    return fail(error,
                "it is no checkpoint of PG-MRI's training: scene, updates, score or log_bytes is missing");
  if (!whole(updates, (double)pgmri->wanted) || !whole(*log_bytes, 1e15))
    return fail(error,
                "it has updates %g and log_bytes %g; expected whole numbers, and at most %llu updates of "
                "pgmri.epochs %u: raise those, or the file is damaged",
                updates, *log_bytes, (unsigned long long)pgmri->wanted, pgmri->options->pgmri.epochs);
  pgmri->updates = (uint64_t)updates;
  return run_same_scene(pgmri->options, scene, may_differ, error) && compare_data(pgmri, store, error) &&
         checkpoint_read_parameters(store, "param", pgmri->policy.graph, error) &&
         checkpoint_read_optimiser(store, &pgmri->optimiser, error);
}

static bool go_on(struct pgmri *pgmri, const char *path, double *log_bytes, struct error *error) {
  struct store *store;
  if (!store_open(&store, path, error)) return fail_in(error, "cannot go on");
  bool good = read_state(pgmri, store, log_bytes, error);
  if (good) run_compare_device(store, path, pgmri->device->facts.name);
  store_close(store);
  if (!good) return fail_in(error, "cannot go on from %s", path);
  policy_changed(&pgmri->policy);
  log_info("going on from %s after %llu updates", path, (unsigned long long)pgmri->updates);
  return true;
}

bool pgmri_open_files(struct pgmri *pgmri, bool resume, struct error *error) {
  static const char *const others[] = {NULL};
  const char *last = path_of(pgmri, "last.h5"), *log = path_of(pgmri, "log.jsonl");
  double log_bytes = 0;
  if (!run_open_log(&pgmri->log, pgmri->folder, log, error) ||
      !run_folder_takes(pgmri->folder, others, resume, error))
    return false;
  if (file_is_there(last) && !go_on(pgmri, last, &log_bytes, error)) return false;
  run_remove_leftovers(pgmri->folder, others);
  return run_shorten(pgmri->log, log, log_bytes, error);
}
