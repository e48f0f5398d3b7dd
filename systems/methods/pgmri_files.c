/* The output folder of PG-MRI's training: checkpoints, log, and going on from them. */
#include "engine/base/log.h"
#include "engine/files/events.h"
#include "systems/methods/pgmri.h"
#include "systems/networks/checkpoint.h"

#include <time.h>

static const char *const value_names[PGMRI_VALUE_COUNT] = {
#define X(name, ...) #name,
    PGMRI_VALUES(X)
#undef X
};

/* ---- writing ------------------------------------------------------------------------------------------- */

bool pgmri_save(const struct pgmri *pgmri, const char *name, struct error *error) {
  struct store *store;
  if (!run_flush(&pgmri->run, error) || !store_create(&store, run_path(&pgmri->run, pgmri->arena, name), error))
    return false;
  if (policy_write(&pgmri->policy, store, error) && run_write(&pgmri->run, store, error) &&
      store_put_number(store, "updates", (double)pgmri->updates, error) &&
      store_put_number(store, "score", pgmri->score, error))
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

/* ---- TensorBoard --------------------------------------------------------------------------------------- */

static void add_event(const struct pgmri *pgmri, const struct event_scalar *scalars, size_t count) {
  if (!pgmri->run.events) return;
  events_add(pgmri->run.events, (double)time(NULL), pgmri->updates, scalars, count);
  fflush(pgmri->run.events);
}

void pgmri_log_look_event(const struct pgmri *pgmri) {
  static const char *const tags[PGMRI_VALUE_COUNT] = {
#define X(name, tag, doc) tag,
      PGMRI_VALUES(X)
#undef X
  };
  struct event_scalar scalars[PGMRI_VALUE_COUNT];
  for (int v = 0; v < PGMRI_VALUE_COUNT; v++) scalars[v] = (struct event_scalar){tags[v], pgmri->look[v]};
  add_event(pgmri, scalars, PGMRI_VALUE_COUNT);
}

void pgmri_log_validation_event(const struct pgmri *pgmri) {
  char tag[EVENT_TAG];
  snprintf(tag, sizeof tag, "%s/validation", metric_list[pgmri->options->reward.metric].name);
  add_event(pgmri, &(struct event_scalar){tag, pgmri->score}, 1);
}

/* ---- going on ------------------------------------------------------------------------------------------ */

/* They say where, how long, and what is printed or kept; or are of other work. */
static const char *const may_differ[] = {
    "evaluate.",    "phantom.",   "train.",           "loupe.",      "tau.",       "alternate.",
    "learn.",       "sampler.",   "data.path",        "data.split",  "world.envs", "data.window",
    "pgmri.epochs", "pgmri.keep", "pgmri.save_every", "reward.form", NULL};

static bool read_state(struct store *store, void *context, struct error *error) {
  struct pgmri *pgmri = context;
  double updates;
  if (!policy_same(&pgmri->policy, store, error) ||
      !checkpoint_whole(store, "updates", 1e15, &updates, error) ||
      !checkpoint_number(store, "score", -1e15, 1e15, &pgmri->score, error))
    return false;
  if (updates > (double)pgmri->wanted)
    return fail(error,
                "it has updates %g; expected at most %llu updates of pgmri.epochs %u: raise "
                "those, or the file is damaged",
                updates, (unsigned long long)pgmri->wanted, pgmri->options->pgmri.epochs);
  pgmri->updates = (uint64_t)updates;
  policy_changed(&pgmri->policy);
  log_info("going on from %s after %llu update%s", run_path(&pgmri->run, pgmri->arena, "last.h5"),
           (unsigned long long)pgmri->updates, plural(pgmri->updates));
  return true;
}

bool pgmri_open_files(struct pgmri *pgmri, bool resume, struct error *error) {
  static const char *const others[] = {NULL};
  pgmri->run = (struct run_files){.folder = pgmri->folder,
                                  .options = pgmri->options,
                                  .optimiser = &pgmri->optimiser,
                                  .train = learn_split_data(&pgmri->train),
                                  .validation = learn_split_data(&pgmri->validation),
                                  .origin = {{.name = "reconstructor"}},
                                  .network = "pgmri",
                                  .others = others,
                                  .may_differ = may_differ};
  if (!pgmri->reconstructor.graph) pgmri->run.origin[0].name = NULL;
  return (!pgmri->reconstructor.graph ||
          checkpoint_hash(pgmri->reconstructor.graph, pgmri->run.origin[0].value, error)) &&
         run_open(&pgmri->run, resume, read_state, pgmri, error);
}
