#include "systems/training/training.h"

#include "engine/base/hash.h"
#include "engine/base/log.h"
#include "engine/files/events.h"
#include "systems/networks/checkpoint.h"
#include "systems/scan/simulation.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

double trainer_epochs(const struct training *training) {
  return training->each ? (double)training->done / (double)training->each : 0;
}

static const char *metric_of(const struct training *training) {
  return metric_list[training->options->reward.metric].name;
}

static const struct history *history_of(const struct training *training, const struct log_record *record) {
  return record == &training->task->train ? &training->logged : &training->validations;
}

/* ---- history ------------------------------------------------------------------------------------------- */

static bool make_room(struct training *training, struct history *history, const struct log_record *record,
                      uint64_t room, struct error *error) {
  bool good = (history->at = arena_try_array(training->arena, sizeof(double), room));
  for (size_t v = 0; good && record->values[v].name; v++)
    good = (history->value[v] = arena_try_array(training->arena, sizeof(double), room));
  history->room = room;
  return good || fail_memory(error, "no host memory for the log of %llu %ss; lower %s",
                             (unsigned long long)training->wanted, training->task->unit, training->task->more);
}

bool trainer_open_history(struct training *training, struct error *error) {
  uint64_t validations = training->wanted / training->each + 2;
  uint64_t lines = training->wanted / training->log_every + (training->task->epochs ? validations : 0) + 2;
  return make_room(training, &training->logged, &training->task->train, lines, error) &&
         make_room(training, &training->validations, &training->task->validation, validations, error);
}

static void keep(const struct training *training, struct history *history, const struct log_record *record,
                 const double values[TRAINING_VALUES]) {
  REQUIRE(history->count < history->room, "the log has room for %zu %ss", history->room, record->kind);
  history->at[history->count] = (double)training->done;
  for (size_t v = 0; record->values[v].name; v++) history->value[v][history->count] = values[v];
  history->count++;
}

/* ---- the log ------------------------------------------------------------------------------------------- */

void trainer_print(const struct training *training, const struct log_record *record, FILE *file) {
  const struct task *task = training->task;
  const struct history *history = history_of(training, record);
  bool validation = record == &task->validation;
  fprintf(file, "{\"kind\":\"%s\"", record->kind);
  if (task->epochs) fprintf(file, ",\"epoch\":%.6g", trainer_epochs(training));
  fprintf(file, ",\"%ss\":%llu", task->unit, (unsigned long long)training->done);
  if (!task->epochs) fprintf(file, ",\"%s\":%.0f", task->worked, (double)training->done * training->work);
  if (validation && task->scores) fprintf(file, ",\"metric\":\"%s\"", metric_of(training));
  for (size_t v = 0; record->values[v].name; v++) {
    fprintf(file, ",\"%s\":", record->values[v].name);
    json_number(file, history->value[v][history->count - 1]);
  }
  if (validation && task->select != SELECT_NOTHING)
    fprintf(file, ",\"best_%s\":%llu", task->epochs ? "epoch" : task->unit,
            (unsigned long long)(training->best_at / (task->epochs ? training->each : 1)));
  if (validation && training->digest[0]) fprintf(file, ",\"parameters\":\"%s\"", training->digest);
  fprintf(file, ",\"%s_per_second\":%.5g}\n", task->worked, training->speed);
  fflush(file);
}

/* Half of the SHA-256 of the networks' own hashes, by which a training that is played again is compared. */
static bool make_digest(struct training *training, struct error *error) {
  char hashes[TASK_NETWORKS * 64 + 1] = "", hex[65];
  size_t used = 0;
  for (const struct task_network *const *network = training->task->networks; *network; network++) {
    const struct graph *graph = (*network)->graph ? (*network)->graph(training) : NULL;
    if (!graph) continue;
    if (!checkpoint_hash(graph, hex, error)) return false;
    memcpy(hashes + used, hex, 64);
    used += 64;
  }
  hash_hex(hashes, used, hex);
  snprintf(training->digest, sizeof training->digest, "%.16s", hex);
  return true;
}

static bool tell_digest(struct training *training, struct error *error) {
  if (!make_digest(training, error)) return false;
  fprintf(training->run.log, "{\"kind\":\"digest\",\"%ss\":%llu,\"parameters\":\"%s\"}\n", training->task->unit,
          (unsigned long long)training->done, training->digest);
  return true;
}

static uint64_t event_step(const struct training *training) {
  return training->event_before + training->done * training->event_each / training->event_per;
}

static void add_event(const struct training *training, const struct log_record *record) {
  const struct history *history = history_of(training, record);
  struct event_scalar scalars[TRAINING_VALUES];
  char tags[TRAINING_VALUES][EVENT_TAG];
  size_t count = 0;
  for (size_t v = 0; record->values[v].name; v++) {
    const char *tag = record->values[v].tag, *metric = tag ? strstr(tag, "%s") : NULL;
    if (!tag || isnan(history->value[v][history->count - 1])) continue;
    snprintf(tags[count], EVENT_TAG, "%s%s", metric ? metric_of(training) : tag, metric ? metric + 2 : "");
    scalars[count] = (struct event_scalar){tags[count], history->value[v][history->count - 1]};
    count++;
  }
  if (count) events_add(training->run.events, (double)time(NULL), event_step(training), scalars, count);
  fflush(training->run.events);
}

static void add_picture(const struct training *training) {
  struct arena *arena = arena_open();
  struct event_picture picture = training->task->picture(training, arena);
  events_add_picture(training->run.events, (double)time(NULL), event_step(training), &picture);
  fflush(training->run.events);
  arena_close(arena);
}

/* Keeps the values and tells them. */
static void record(struct training *training, const struct log_record *kind, const double values[TRAINING_VALUES]) {
  const struct training_config *config = &training->config;
  bool validation = kind == &training->task->validation;
  keep(training, validation ? &training->validations : &training->logged, kind, values);
  if (training->run.log) trainer_print(training, kind, training->run.log);
  if (training->run.events) add_event(training, kind);
  if (training->run.events && validation && training->task->picture) add_picture(training);
  if (config->see) config->see(training, kind, config->context);
}

static void tell(const struct training *training) {
  const struct task *task = training->task;
  const struct history *history = &training->validations;
  char text[400] = "";
  size_t used = 0;
  for (size_t v = 0; task->validation.values[v].name; v++)
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %.5g", v ? ", " : "",
                             task->validation.values[v].name, history->value[v][history->count - 1]);
  uint64_t per = task->epochs ? training->each : 1;
  log_info("%s %llu of %llu: %s%s", task->epochs ? "epoch" : task->unit,
           (unsigned long long)(training->done / per), (unsigned long long)(training->wanted / per), text,
           training->best_at == training->done ? ", best" : "");
}

/* ---- running ------------------------------------------------------------------------------------------- */

bool trainer_refuse(const struct training *training, const char *what, double value, struct error *error) {
  struct arena *arena = arena_open();
  const char *last = training->run.folder ? run_path(&training->run, "last.h5") : "";
  const char *kept = file_is_there(last) ? arena_text(arena, "; the last good checkpoint is %s", last)
                                         : "; no checkpoint was written before";
  const char *steps = training->optimiser.device
                          ? arena_text(arena, " (%llu step%s of the optimiser)", (unsigned long long)training->optimiser.step,
                                       plural(training->optimiser.step))
                          : "";
  fail_as(error, ERROR_DIVERGED, "%s is %g after %llu %s%s%s%s; %s and train anew", what, value,
          (unsigned long long)training->done, training->task->unit, plural(training->done), steps, kept,
          training->task->advice);
  arena_close(arena);
  return false;
}

static bool check_finite(const struct training *training, const struct log_record *kind,
                         const double values[TRAINING_VALUES], struct error *error) {
  for (size_t v = 0; kind->values[v].name; v++)
    if ((kind->finite >> v & 1) && !isfinite(values[v]))
      return trainer_refuse(training, kind->values[v].doc, values[v], error);
  return true;
}

/* Speeds are counted from here; time that is not training's is added to it. */
struct pace {
  uint64_t done;
  double seconds;
};

static bool log_units(struct training *training, struct pace *pace, struct error *error) {
  double values[TRAINING_VALUES] = {0};
  if (!training->task->log(training, values, error) ||
      !check_finite(training, &training->task->train, values, error))
    return false;
  double now = clock_work();
  training->speed = (double)(training->done - pace->done) * training->work / (now - pace->seconds);
  *pace = (struct pace){training->done, now};
  record(training, &training->task->train, values);
  return true;
}

/* Whether it is the best so far, which it is then. */
static bool take_best(struct training *training, double value) {
  enum task_select select = training->task->select;
  bool better = select == SELECT_LOWEST ? value < training->best : value > training->best;
  if (select == SELECT_NOTHING || (training->best_at && !better)) return false;
  training->best = value;
  training->best_at = training->done;
  return true;
}

static bool save_validated(const struct training *training, bool best, struct error *error) {
  char name[TRAINING_NAME];
  if (!training->run.folder) return true;
  if (best && !trainer_save(training, "best.h5", error)) return false;
  return !training->task->keeps || !training->task->keeps(training, name) || trainer_save(training, name, error);
}

static bool validate(struct training *training, struct pace *pace, struct error *error) {
  double values[TRAINING_VALUES] = {0};
  if (!device_finish(training->device, error) || !simulation_check(&training->train.simulation, error)) return false;
  double start = clock_work();
  if (!training->task->validate(training, values, error) ||
      !check_finite(training, &training->task->validation, values, error))
    return false;
  bool best = take_best(training, values[training->task->selected]);
  if (training->run.log && !make_digest(training, error)) return false;
  record(training, &training->task->validation, values);
  tell(training);
  bool good = save_validated(training, best, error);
  pace->seconds += clock_work() - start;
  return good;
}

/* Every so many units, of an epoch where there are epochs, and at the end. */
static bool is_due(const struct training *training, uint64_t every) {
  uint64_t counted = training->task->epochs ? training->done % training->each : training->done;
  return !counted || counted % every == 0 || training->done == training->wanted;
}

/* Says what follows a unit. */
static bool follow_up(struct training *training, struct pace *pace, struct error *error) {
  bool ended = training->done % training->each == 0 || training->done == training->wanted;
  if (is_due(training, training->log_every) && !log_units(training, pace, error)) return false;
  if (ended && !validate(training, pace, error)) return false;
  return !training->run.folder || !is_due(training, training->save_every) ||
         trainer_save(training, "last.h5", error);
}

bool trainer_done(const struct training *training) {
  return training->done >= training->wanted ||
         (training->patience && training->done - training->best_at >= training->patience * training->each);
}

static bool run_unit(struct training *training, struct pace *pace, struct error *error) {
  const struct task *task = training->task;
  uint32_t every = training->options->train.digest_every;
  if (task->begin && training->done % training->each == 0 &&
      !task->begin(training, training->done / training->each, error))
    return false;
  task->step(training);
  training->done++;
  bool told = every && training->run.log && training->done % every == 0;
  return (!told || tell_digest(training, error)) && follow_up(training, pace, error);
}

/* An epoch goes on from its start alone: what was saved there stays. */
static bool refuse_stop(struct training *training, struct error *error) {
  if (training->run.folder && !training->task->epochs && !trainer_save(training, "last.h5", error)) return false;
  return fail_as(error, ERROR_STOPPED, "stopped by the program after %llu of %llu %ss", (unsigned long long)training->done,
                 (unsigned long long)training->wanted, training->task->unit);
}

bool trainer_run(struct training *training, struct error *error) {
  const struct training_config *config = &training->config;
  struct progress progress;
  uint64_t start = training->done;
  struct pace pace = {start, clock_work()};
  bool good = true;
  progress_open(&progress, "training", training->task->worked,
                (size_t)((double)(training->wanted - start) * training->work));
  while (good && !trainer_done(training)) {
    good = run_unit(training, &pace, error);
    progress_move(&progress, (size_t)((double)(training->done - start) * training->work));
    if (good && config->stop && !trainer_done(training) && config->stop(config->context))
      good = refuse_stop(training, error);
  }
  progress_close(&progress);
  if (good && training->done < training->wanted)
    log_info("stopped early: no better validation for %u epoch%s", training->patience,
             plural(training->patience));
  return good;
}

/* ---- files --------------------------------------------------------------------------------------------- */

static bool write_history(const struct training *training, const struct log_record *record,
                          struct store *store, struct error *error) {
  const struct history *history = history_of(training, record);
  char name[64];
  snprintf(name, sizeof name, "log/%s/%ss", record->kind, training->task->unit);
  bool good = store_write(store, name, STORE_F64, 1, &history->count, history->at, false, error);
  for (size_t v = 0; good && record->values[v].name; v++) {
    snprintf(name, sizeof name, "log/%s/%s", record->kind, record->values[v].name);
    good = store_write(store, name, STORE_F64, 1, &history->count, history->value[v], false, error);
  }
  return good;
}

/* ---- what is carried ----------------------------------------------------------------------------------- */

struct system trainer_carried(component_set columns) {
  return (struct system){.name = "save_carried", .doc = "what a unit leaves to the next", .reads = columns};
}

/* A column that is carried into its dataset, or out of it. */
static bool move_column(struct world *world, struct store *store, unsigned component, bool write, struct error *error) {
  const struct component_desc *row = &world_schema(world)->components[component];
  const struct system load = {.name = "load_carried", .doc = "what a unit has left", .writes = SET(component), .loads = true};
  struct arena *arena = arena_open();
  size_t shape[] = {world_capacity(world, row->table), world_column_bytes(world, component)};
  const char *name = arena_text(arena, "carried/%s.%s", world_schema(world)->table_names[row->table], row->name);
  void *data = arena_try_array(arena, shape[0], shape[1]);
  bool good = data || fail_memory(error, "no host memory for %s", name);
  if (good && write) {
    world_read(world, component, 0, shape[0], data);
    good = device_finish(world_device(world), error) && store_write(store, name, STORE_U8, 2, shape, data, false, error);
  } else if (good) {
    good = store_read_known(store, name, STORE_U8, shape[0] * shape[1], data, error);
    if (good) world_put(world, &load, component, 0, shape[0], data);
  }
  arena_close(arena);
  return good;
}

static bool move_carried(const struct training *training, struct store *store, bool write, struct error *error) {
  struct world *world = training_world(training);
  bool good = true;
  for (unsigned c = 0; good && c < world_schema(world)->component_count; c++)
    if (training->carried & SET(c)) good = move_column(world, store, c, write, error);
  return good;
}

static bool write_carried(const struct training *training, struct store *store, struct error *error) {
  struct world *world = training_world(training);
  const struct system save = trainer_carried(training->carried);
  struct world_use before = world_enter(world, &save);
  bool good = move_carried(training, store, true, error);
  if (!good) world_idle(world);
  world_leave(world, before);
  return good;
}

/* ---- what a checkpoint holds --------------------------------------------------------------------------- */

static bool write_state(const struct training *training, struct store *store, struct error *error) {
  char key[32];
  snprintf(key, sizeof key, "%ss", training->task->unit);
  return store_put_number(store, key, (double)training->done, error) &&
         (training->task->select == SELECT_NOTHING ||
          (store_put_number(store, "best", training->best, error) &&
           store_put_number(store, "best_at", (double)training->best_at, error))) &&
         write_history(training, &training->task->train, store, error) &&
         write_history(training, &training->task->validation, store, error) &&
         (!training->carried || write_carried(training, store, error));
}

static bool write_task(const struct training *training, struct store *store, struct error *error) {
  for (const struct task_network *const *network = training->task->networks; *network; network++)
    if ((*network)->write && !(*network)->write(training, store, error)) return false;
  return !training->task->write || training->task->write(training, store, error);
}

static bool read_task(struct training *training, struct store *store, struct error *error) {
  for (const struct task_network *const *network = training->task->networks; *network; network++)
    if ((*network)->read && !(*network)->read(training, store, error)) return false;
  return !training->task->read || training->task->read(training, store, error);
}

bool trainer_save(const struct training *training, const char *name, struct error *error) {
  struct store *store;
  if (!run_flush(&training->run, error) || !store_create(&store, run_path(&training->run, name), error))
    return false;
  store_keep_sums(store);
  if (write_task(training, store, error) && run_write(&training->run, store, error) &&
      write_state(training, store, error))
    return store_commit(store, error);
  store_close(store);
  return false;
}

static bool read_column(struct store *store, const char *kind, const char *value, size_t count, double *to,
                        bool finite, struct error *error) {
  char name[64];
  snprintf(name, sizeof name, "log/%s/%s", kind, value);
  if (!store_has(store, name))
    return fail_file(error,
                     "it has no %s: it is damaged, or a program of an older version wrote it; train anew in "
                     "another train.output (evaluate still takes its networks)",
                     name);
  if (!store_read_known(store, name, STORE_F64, count, to, error)) return false;
  for (size_t i = 0; i < count; i++)
    if (finite && !isfinite(to[i]))
      return fail_file(error, "%s holds %g at entry %zu; it must be finite: the file is damaged", name, to[i],
                       i);
  return true;
}

/* The history gets room for all that may follow: it may have been logged more often than it is now. */
static bool read_history(struct training *training, struct history *history,
                         const struct log_record *record, struct store *store, struct error *error) {
  struct store_shape shape;
  char name[64], units[32];
  snprintf(units, sizeof units, "%ss", training->task->unit);
  snprintf(name, sizeof name, "log/%s/%s", record->kind, units);
  if (!store_shape(store, name, &shape, error)) return false;
  if (shape.rank != 1 || shape.size[0] > training->done)
    return fail_file(error, "%s is longer than its training: the file is damaged", name);
  if (shape.size[0] && !store_check_held(store, name, error)) return false;
  if (!make_room(training, history, record, shape.size[0] + history->room, error)) return false;
  history->count = shape.size[0];
  bool good = read_column(store, record->kind, units, history->count, history->at, true, error);
  for (size_t v = 0; good && record->values[v].name; v++)
    good = read_column(store, record->kind, record->values[v].name, history->count, history->value[v],
                       !(record->unknown >> v & 1), error);
  return good;
}

/* A best value that no validation had would keep best.h5 from ever being replaced. */
static bool check_best(const struct training *training, struct error *error) {
  const struct history *history = &training->validations;
  for (size_t i = 0; i < history->count; i++)
    if (history->at[i] == (double)training->best_at &&
        history->value[training->task->selected][i] == training->best)
      return true;
  if (!training->best_at && !history->count) return true;
  return fail_file(error,
                   "it has best %g at best_at %llu, which is none of the validations in its log: the file is "
                   "damaged, start anew in another train.output",
                   training->best, (unsigned long long)training->best_at);
}

static bool read_best(struct training *training, struct store *store, struct error *error) {
  double best_at;
  if (training->task->select == SELECT_NOTHING) return true;
  if (!checkpoint_whole(store, "best_at", (double)training->done, &best_at, error) ||
      !checkpoint_number(store, "best", -1e15, 1e15, &training->best, error))
    return false;
  training->best_at = (uint64_t)best_at;
  const char *best = run_path(&training->run, "best.h5");
  if (!check_best(training, error)) return false;
  return !training->best_at || training->best_at == training->done || file_is_there(best) ||
         fail_file(error, "%s, the best so far, is not there: bring it back, or start anew in another train.output", best);
}

static bool read_done(struct training *training, struct store *store, struct error *error) {
  const struct task *task = training->task;
  double done;
  char key[32];
  snprintf(key, sizeof key, "%ss", task->unit);
  if (!store_has_value(store, key))
    return fail_file(error,
                     "it does not tell how many %s it has: it is damaged, or a program of another version wrote it; "
                     "train anew in another train.output (evaluate still takes its networks)",
                     key);
  if (!checkpoint_whole(store, key, 1e15, &done, error)) return false;
  training->done = (uint64_t)done;
  if (training->done <= training->wanted) return true;
  return fail_file(error, "it has %.0f %s%s, and %llu are wanted; raise %s", done, task->unit,
                   plural(training->done), (unsigned long long)training->wanted, task->more);
}

static bool read_state(struct store *store, void *context, struct error *error) {
  struct training *training = context;
  const struct task *task = training->task;
  if (!read_done(training, store, error) ||
      !read_history(training, &training->logged, &task->train, store, error) ||
      !read_history(training, &training->validations, &task->validation, store, error) ||
      !read_best(training, store, error) || !move_carried(training, store, false, error) ||
      !read_task(training, store, error))
    return false;
  log_info("going on from %s after %llu %s%s", run_path(&training->run, "last.h5"),
           (unsigned long long)training->done, task->unit, plural(training->done));
  return true;
}

/* Checkpoints among volumes would count as some of them: `--resume` would find other data. */
static bool check_apart(const char *folder, const struct dataset *dataset, struct error *error) {
  struct stat ours, theirs;
  char place[PART_PLACE], before[PART_PLACE] = ""; /* volumes of a folder follow each other */
  if (stat(folder, &ours)) return true;
  for (size_t v = 0; v < dataset->volume_count; v++) {
    const char *path = dataset->volumes[v].path, *slash = strrchr(path, '/');
    snprintf(place, sizeof place, "%.*s", slash ? (int)(slash + 1 - path) : 1, slash ? path : ".");
    if (!strcmp(place, before)) continue;
    strcpy(before, place);
    if (!stat(place, &theirs) && theirs.st_ino == ours.st_ino && theirs.st_dev == ours.st_dev)
      return fail_usage(error,
                        "train.output is %s, the folder of the training's volumes (%s), among which its checkpoints would count; "
                        "choose another train.output",
                        folder, path);
  }
  return true;
}

bool trainer_open_files(struct training *training, struct error *error) {
  const struct training_config *config = &training->config;
  struct run_files *run = &training->run;
  if (!config->folder) return true;
  if (!check_apart(config->folder, &training->train.dataset, error) ||
      !check_apart(config->folder, &training->validation.dataset, error))
    return false;
  if (ranks_number(training->device->ranks)) return run_follow(run, config->resume, read_state, training, error);
  if (!run_open(run, config->resume, read_state, training, error)) return false;
  const char *best = run_path(run, "best.h5");
  if (!training->best_at || training->best_at != training->done || file_is_there(best)) return true;
  if (!trainer_save(training, "best.h5", error)) return false;
  log_warning("%s was not there; it was written again, for last.h5 is the best so far", best);
  return true;
}
