/* The output folder of a policy's training: checkpoints, log, and going on from them. */
#include "engine/base/log.h"
#include "engine/files/events.h"
#include "systems/methods/learn.h"
#include "systems/networks/checkpoint.h"

#include <math.h>
#include <time.h>

static const char *const value_names[LEARN_VALUE_COUNT] = {
#define X(name, ...) #name,
    LEARN_VALUES(X)
#undef X
};

const char *learn_path(const struct learning *learning, const char *name) {
  return run_path(&learning->run, learning->arena, name);
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

static bool write_state(const struct learning *learning, struct store *store, struct error *error) {
  return store_put_number(store, "first_scan", learning->first_scan, error) &&
         store_put_number(store, "rollouts", (double)learning->rollouts, error) &&
         store_put_number(store, "best", learning->best, error) &&
         store_put_number(store, "best_at", (double)learning->best_at, error);
}

bool learn_save(const struct learning *learning, const char *name, struct error *error) {
  struct store *store;
  if (!run_flush(&learning->run, error) || !store_create(&store, learn_path(learning, name), error))
    return false;
  if (policy_write(&learning->policy, store, error) && run_write(&learning->run, store, error) &&
      write_state(learning, store, error) && write_log(learning, store, error))
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

/* ---- TensorBoard --------------------------------------------------------------------------------------- */

/* Over the environment-steps of all rounds. */
static void add_event(const struct learning *learning, const struct event_scalar *scalars, size_t count) {
  uint64_t scans = learning->first_scan + learning->rollouts * learning->rollout.scans;
  if (!learning->run.events) return;
  events_add(learning->run.events, (double)time(NULL), scans * learning->rollout.steps, scalars, count);
  fflush(learning->run.events);
}

void learn_log_look_event(const struct learning *learning) {
  static const char *const tags[LEARN_VALUE_COUNT] = {
#define X(name, tag, doc) tag,
      LEARN_VALUES(X)
#undef X
  };
  struct event_scalar scalars[LEARN_VALUE_COUNT];
  for (int v = 0; v < LEARN_VALUE_COUNT; v++)
    scalars[v] = (struct event_scalar){tags[v], learning->look[v][learning->looks - 1]};
  add_event(learning, scalars, LEARN_VALUE_COUNT);
}

void learn_log_validation_event(const struct learning *learning) {
  char tag[EVENT_TAG];
  snprintf(tag, sizeof tag, "%s/validation", metric_list[learning->options->reward.metric].name);
  add_event(learning, &(struct event_scalar){tag, learning->score[learning->validations - 1]}, 1);
}

/* ---- going on ------------------------------------------------------------------------------------------ */

/* They say where and what is printed; or are of other work, as PPO's keys are of A2C's. */
#define MAY_DIFFER                                                                                           \
  "evaluate.", "phantom.", "train.", "alternate.", "data.path", "pgmri.", "loupe.", "tau.",                  \
      "sampler.candidates", "sampler.tau_step", "data.split", "learn.save_every", "world.envs",              \
      "data.window", "learn.reconstructor"
static const char *const ppo_may_differ[] = {MAY_DIFFER, NULL};
static const char *const a2c_may_differ[] = {MAY_DIFFER, "learn.epochs", "learn.rows", "learn.ratio", NULL};

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
      store_read_known(store, "log/look/rollouts", STORE_F64, learning->looks, learning->look_at, error) &&
      store_read_known(store, "log/validation/rollouts", STORE_F64, learning->validations, learning->score_at,
                       error) &&
      store_read_known(store, "log/validation/score", STORE_F64, learning->validations, learning->score,
                       error);
  for (int v = 0; good && v < LEARN_VALUE_COUNT; v++) {
    snprintf(name, sizeof name, "log/look/%s", value_names[v]);
    good = store_read_known(store, name, STORE_F64, learning->looks, learning->look[v], error);
  }
  return good;
}

/* A best score that no validation had would keep best.h5 from ever being replaced. */
static bool check_best(const struct learning *learning, struct error *error) {
  for (size_t i = 0; i < learning->validations; i++)
    if (learning->score_at[i] == (double)learning->best_at && learning->score[i] == learning->best)
      return true;
  if (!learning->best_at && learning->best == -INFINITY) return true;
  return fail(
      error,
      "it has best %g at best_at %llu, which is none of the validations in its log: the file is damaged, "
      "start anew in another train.output",
      learning->best, (unsigned long long)learning->best_at);
}

static bool read_state(struct store *store, void *context, struct error *error) {
  struct learning *learning = context;
  double rollouts, best_at, scan;
  if (!checkpoint_whole(store, "rollouts", 1e15, &rollouts, error) ||
      !checkpoint_whole(store, "best_at", rollouts, &best_at, error) ||
      !checkpoint_number(store, "best", best_at > 0 ? -1e15 : -INFINITY, 1e15, &learning->best, error) ||
      !checkpoint_whole(store, "first_scan", UINT32_MAX, &scan, error))
    return false;
  if (rollouts > (double)learning->wanted)
    return fail(error,
                "it has %.0f roll-out%s of %zu steps, %llu wanted; set alternate.steps to %.0f or more",
                rollouts, plural((size_t)rollouts), learning->rollout.rows,
                (unsigned long long)learning->wanted, rollouts * (double)learning->rollout.rows);
  if (scan != learning->first_scan)
    return fail(error,
                "it has first_scan %.0f; expected scans from %u on: it is of another training or damaged",
                scan, learning->first_scan);
  learning->rollouts = (uint64_t)rollouts;
  learning->best_at = (uint64_t)best_at;
  bool is_last = learning->best_at == 0 || learning->best_at == learning->rollouts;
  if (!policy_same(&learning->policy, store, error) || !read_log(learning, store, error) ||
      !check_best(learning, error) || !run_has_best(&learning->run, is_last, error))
    return false;
  policy_changed(&learning->policy);
  log_info("going on from %s after %llu roll-out%s", learn_path(learning, "last.h5"),
           (unsigned long long)learning->rollouts, plural(learning->rollouts));
  return true;
}

struct run_data learn_split_data(const struct learn_split *split) {
  return (struct run_data){split->dataset.hash, split->report.slices, &split->dataset};
}

static bool set_origin(struct learning *learning, const struct learn_wish *wish, struct error *error) {
  struct run_origin *origin = learning->run.origin;
  origin[0].name = "reconstructor";
  if (wish->policy) origin[1].name = "policy";
  return checkpoint_hash(learning->reconstructor.graph, origin[0].value, error) &&
         (!wish->policy || checkpoint_hash(learning->policy.graph, origin[1].value, error));
}

static bool write_best(void *context, struct error *error) {
  return learn_save(context, "best.h5", error);
}

static bool mend_best(struct learning *learning, struct error *error) {
  bool is_last = learning->best_at && learning->best_at == learning->rollouts;
  return run_mend_best(&learning->run, is_last, write_best, learning, error);
}

bool learn_open_files(struct learning *learning, const struct learn_wish *wish, struct error *error) {
  static const char *const others[] = {"best.h5", NULL};
  learning->run = (struct run_files){.folder = wish->folder,
                                     .options = learning->options,
                                     .optimiser = &learning->optimiser,
                                     .train = learn_split_data(&learning->train),
                                     .validation = learn_split_data(&learning->validation),
                                     .network = "policy",
                                     .others = others,
                                     .may_differ = learning->options->learn.algorithm == LEARN_PPO
                                                       ? ppo_may_differ
                                                       : a2c_may_differ};
  return set_origin(learning, wish, error) &&
         run_open(&learning->run, wish->resume, read_state, learning, error) && mend_best(learning, error);
}
