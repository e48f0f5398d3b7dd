/* The output folder of a policy's training: checkpoints, log, and going on from them. */
#include "engine/log.h"
#include "systems/checkpoint.h"
#include "systems/learn.h"
#include "systems/run_files.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const value_names[LEARN_VALUE_COUNT] = {
#define X(name, ...) #name,
    LEARN_VALUES(X)
#undef X
};

static const char *path_of(const struct learning *learning, const char *name) {
  return arena_text(learning->arena, "%s/%s", learning->folder, name);
}

/* ---- writing ------------------------------------------------------------------------------------------- */

static bool write_log(const struct learning *learning, struct store *store, struct error *error) {
  size_t looks = learning->looks, validations = learning->validations;
  char name[64];
  bool good =
      store_write(store, "log/look/rollouts", STORE_F64, 1, &looks, learning->look_at, false, error) &&
      store_write(store, "log/validation/rollouts", STORE_F64, 1, &validations, learning->score_at, false,
                  error) &&
      store_write(store, "log/validation/score", STORE_F64, 1, &validations, learning->score, false, error);
  for (int v = 0; good && v < LEARN_VALUE_COUNT; v++) {
    snprintf(name, sizeof name, "log/look/%s", value_names[v]);
    good = store_write(store, name, STORE_F64, 1, &looks, learning->look[v], false, error);
  }
  return good;
}

static bool write_facts(const struct learning *learning, struct store *store, struct error *error) {
  const struct device_facts *facts = &learning->device->facts;
  char *scene = run_scene_text(learning->options);
  long bytes = learning->log ? ftell(learning->log) : 0;
  bool good = scene && store_put_text(store, "scene", scene, error) &&
              store_put_text(store, "version", L2SR_VERSION, error) &&
              store_put_text(store, "device", facts->name, error) &&
              store_put_text(store, "driver", facts->driver, error) &&
              store_put_text(store, "training_selection", learning->train.dataset.hash, error) &&
              store_put_text(store, "validation_selection", learning->validation.dataset.hash, error) &&
              store_put_number(store, "seed", learning->options->world.seed, error) &&
              store_put_number(store, "first_scan", learning->first_scan, error) &&
              store_put_number(store, "rollouts", (double)learning->rollouts, error) &&
              store_put_number(store, "best", learning->best, error) &&
              store_put_number(store, "best_at", (double)learning->best_at, error) &&
              store_put_number(store, "log_bytes", (double)bytes, error);
  free(scene);
  return good;
}

bool learn_save(const struct learning *learning, const char *name, struct error *error) {
  struct store *store;
  if (!run_flush(learning->log, path_of(learning, "log.jsonl"), error) ||
      !store_create(&store, path_of(learning, name), error))
    return false;
  if (policy_write(&learning->policy, store, error) &&
      checkpoint_write_optimiser(store, &learning->optimiser, error) && write_facts(learning, store, error) &&
      write_log(learning, store, error))
    return store_commit(store, error);
  store_close(store);
  return false;
}

/* ---- log.jsonl ----------------------------------------------------------------------------------------- */

static void log_start(const struct learning *learning, FILE *file, const char *kind) {
  fprintf(file, "{\"kind\":\"%s\",\"rollouts\":%llu,\"steps\":%llu", kind,
          (unsigned long long)learning->rollouts,
          (unsigned long long)(learning->rollouts * learning->rollout.rows));
}

void learn_log_look(const struct learning *learning, FILE *file) {
  if (!file) return;
  log_start(learning, file, "look");
  for (int v = 0; v < LEARN_VALUE_COUNT; v++) {
    fprintf(file, ",\"%s\":", value_names[v]);
    json_number(file, learning->look[v][learning->looks - 1]);
  }
  fprintf(file, ",\"steps_per_second\":%.5g}\n", learning->steps_per_second);
  fflush(file);
}

void learn_log_validation(const struct learning *learning, FILE *file) {
  if (!file) return;
  log_start(learning, file, "validation");
  fprintf(file, ",\"metric\":\"%s\",\"score\":", metric_list[learning->options->reward.metric].name);
  json_number(file, learning->score[learning->validations - 1]);
  fprintf(file, ",\"best_rollouts\":%llu}\n", (unsigned long long)learning->best_at);
  fflush(file);
}

/* ---- going on ------------------------------------------------------------------------------------------ */

/* They say where and what is printed; or are of other work. */
static const char *const may_differ[] = {
    "evaluate.",  "phantom.",         "train.",     "alternate.",          "data.path", "pgmri.",
    "data.split", "learn.save_every", "world.envs", "learn.reconstructor", NULL};

static bool read_log(struct learning *learning, struct store *store, struct error *error) {
  struct store_shape looks, validations;
  char name[64];
  if (!store_shape(store, "log/look/rollouts", &looks, error) ||
      !store_shape(store, "log/validation/rollouts", &validations, error))
    return false;
  size_t most = learning->wanted / learning->options->learn.log_every + 1;
  if (looks.rank != 1 || validations.rank != 1 || looks.size[0] > most ||
      validations.size[0] > learning->options->learn.validations + 1)
    return fail(error, "its log is longer than its training: the file is damaged");
  learning->looks = looks.size[0];
  learning->validations = validations.size[0];
  bool good =
      store_read(store, "log/look/rollouts", STORE_F64, NULL, &learning->looks, learning->look_at, error) &&
      store_read(store, "log/validation/rollouts", STORE_F64, NULL, &learning->validations,
                 learning->score_at, error) &&
      store_read(store, "log/validation/score", STORE_F64, NULL, &learning->validations, learning->score,
                 error);
  for (int v = 0; good && v < LEARN_VALUE_COUNT; v++) {
    snprintf(name, sizeof name, "log/look/%s", value_names[v]);
    good = store_read(store, name, STORE_F64, NULL, &learning->looks, learning->look[v], error);
  }
  return good;
}

static bool whole(double value, double most) {
  return value >= 0 && value <= most && value == floor(value);
}

static bool compare_data(const struct learning *learning, struct store *store, struct error *error) {
  char train[80] = "", validation[80] = "";
  if (store_text(store, "training_selection", train, sizeof train) &&
      store_text(store, "validation_selection", validation, sizeof validation) &&
      !strcmp(train, learning->train.dataset.hash) && !strcmp(validation, learning->validation.dataset.hash))
    return true;
  return fail(error,
              "it is of other data: training files %.16s and validation files %.16s, now %.16s and %.16s",
              train, validation, learning->train.dataset.hash, learning->validation.dataset.hash);
}

static bool read_state(struct learning *learning, struct store *store, double *log_bytes,
                       struct error *error) {
  double rollouts, best_at, scan;
  char *scene = arena_try(learning->arena, RUN_SCENE_MOST);
  if (!scene || !store_text(store, "scene", scene, RUN_SCENE_MOST) ||
      !store_number(store, "rollouts", &rollouts) || !store_number(store, "best", &learning->best) ||
      !store_number(store, "best_at", &best_at) || !store_number(store, "first_scan", &scan) ||
      !store_number(store, "log_bytes", log_bytes))
    return fail(error,
                "it is no checkpoint of a policy's training: scene, rollouts, best, best_at, first_scan or "
                "log_bytes is missing");
  if (!whole(rollouts, (double)learning->wanted) || !whole(best_at, rollouts) || !whole(*log_bytes, 1e15) ||
      isnan(learning->best) || scan != learning->first_scan)
    return fail(
        error,
        "it has rollouts %g, best %g, best_at %g, log_bytes %g and first_scan %g; expected whole numbers, at "
        "most %llu roll-outs, and scans from %u on: it is of another training or damaged",
        rollouts, learning->best, best_at, *log_bytes, scan, (unsigned long long)learning->wanted,
        learning->first_scan);
  learning->rollouts = (uint64_t)rollouts;
  learning->best_at = (uint64_t)best_at;
  return run_same_scene(learning->options, scene, may_differ, error) &&
         compare_data(learning, store, error) &&
         checkpoint_read_parameters(store, "param", learning->policy.graph, error) &&
         checkpoint_read_optimiser(store, &learning->optimiser, error) && read_log(learning, store, error);
}

static bool go_on(struct learning *learning, const char *path, double *log_bytes, struct error *error) {
  struct store *store;
  if (!store_open(&store, path, error)) return fail_in(error, "cannot go on");
  bool good = read_state(learning, store, log_bytes, error);
  if (good) run_compare_device(store, path, learning->device->facts.name);
  store_close(store);
  if (!good) return fail_in(error, "cannot go on from %s", path);
  policy_changed(&learning->policy);
  log_info("going on from %s after %llu roll-outs", path, (unsigned long long)learning->rollouts);
  return true;
}

bool learn_open_files(struct learning *learning, bool resume, struct error *error) {
  static const char *const others[] = {"best.h5", NULL};
  const char *last = path_of(learning, "last.h5"), *log = path_of(learning, "log.jsonl");
  double log_bytes = 0;
  if (!run_open_log(&learning->log, learning->folder, log, error) ||
      !run_folder_takes(learning->folder, others, resume, error))
    return false;
  if (file_is_there(last) && !go_on(learning, last, &log_bytes, error)) return false;
  run_remove_leftovers(learning->folder, others);
  return run_shorten(learning->log, log, log_bytes, error);
}
