#include "systems/training/trainer.h"

#include "engine/base/log.h"
#include "engine/files/events.h"
#include "systems/networks/checkpoint.h"
#include "systems/scan/simulation.h"

#include <math.h>
#include <string.h>
#include <time.h>

const char *trainer_path(const struct trainer *trainer, const char *name) {
  return run_path(&trainer->run, trainer->arena, name);
}

double trainer_epochs(const struct trainer *trainer) {
  return trainer->each ? (double)trainer->done / (double)trainer->each : 0;
}

static const char *metric_of(const struct trainer *trainer) {
  return metric_list[trainer->options->reward.metric].name;
}

static const struct history *history_of(const struct trainer *trainer, const struct trainer_record *record) {
  return record == &trainer->task->train ? &trainer->looks : &trainer->validations;
}

/* ---- history ------------------------------------------------------------------------------------------- */

static bool make_room(struct trainer *trainer, struct history *history, const struct trainer_record *record,
                      uint64_t room, struct error *error) {
  bool good = (history->at = arena_try_array(trainer->arena, sizeof(double), room));
  for (size_t v = 0; good && record->values[v].name; v++)
    good = (history->value[v] = arena_try_array(trainer->arena, sizeof(double), room));
  history->room = room;
  return good || fail_memory(error, "no host memory for the log of %llu %ss; lower %s",
                             (unsigned long long)trainer->wanted, trainer->task->unit, trainer->task->more);
}

bool trainer_open_history(struct trainer *trainer, struct error *error) {
  uint64_t validations = trainer->wanted / trainer->each + 2;
  uint64_t looks = trainer->wanted / trainer->look_every + (trainer->task->epochs ? validations : 0) + 2;
  return make_room(trainer, &trainer->looks, &trainer->task->train, looks, error) &&
         make_room(trainer, &trainer->validations, &trainer->task->validation, validations, error);
}

static void keep(const struct trainer *trainer, struct history *history, const struct trainer_record *record,
                 const double values[TRAINER_VALUES]) {
  REQUIRE(history->count < history->room, "the log has room for %zu %ss", history->room, record->kind);
  history->at[history->count] = (double)trainer->done;
  for (size_t v = 0; record->values[v].name; v++) history->value[v][history->count] = values[v];
  history->count++;
}

/* ---- the log ------------------------------------------------------------------------------------------- */

void trainer_print(const struct trainer *trainer, const struct trainer_record *record, FILE *file) {
  const struct task *task = trainer->task;
  const struct history *history = history_of(trainer, record);
  bool validation = record == &task->validation;
  fprintf(file, "{\"kind\":\"%s\"", record->kind);
  if (task->epochs) fprintf(file, ",\"epoch\":%.6g", trainer_epochs(trainer));
  fprintf(file, ",\"%ss\":%llu", task->unit, (unsigned long long)trainer->done);
  if (!task->epochs) fprintf(file, ",\"%s\":%.0f", task->worked, (double)trainer->done * trainer->work);
  if (validation && task->scores) fprintf(file, ",\"metric\":\"%s\"", metric_of(trainer));
  for (size_t v = 0; record->values[v].name; v++) {
    fprintf(file, ",\"%s\":", record->values[v].name);
    json_number(file, history->value[v][history->count - 1]);
  }
  if (validation && task->select != SELECT_NOTHING)
    fprintf(file, ",\"best_%s\":%llu", task->epochs ? "epoch" : task->unit,
            (unsigned long long)(trainer->best_at / (task->epochs ? trainer->each : 1)));
  fprintf(file, ",\"%s_per_second\":%.5g}\n", task->worked, trainer->speed);
  fflush(file);
}

static uint64_t event_step(const struct trainer *trainer) {
  return trainer->event_before + trainer->done * trainer->event_each / trainer->event_per;
}

static void add_event(const struct trainer *trainer, const struct trainer_record *record) {
  const struct history *history = history_of(trainer, record);
  struct event_scalar scalars[TRAINER_VALUES];
  char tags[TRAINER_VALUES][EVENT_TAG];
  size_t count = 0;
  for (size_t v = 0; record->values[v].name; v++) {
    const char *tag = record->values[v].tag, *metric = tag ? strstr(tag, "%s") : NULL;
    if (!tag || isnan(history->value[v][history->count - 1])) continue;
    snprintf(tags[count], EVENT_TAG, "%s%s", metric ? metric_of(trainer) : tag, metric ? metric + 2 : "");
    scalars[count] = (struct event_scalar){tags[count], history->value[v][history->count - 1]};
    count++;
  }
  if (count) events_add(trainer->run.events, (double)time(NULL), event_step(trainer), scalars, count);
  fflush(trainer->run.events);
}

static void add_picture(const struct trainer *trainer) {
  struct arena *arena = arena_open();
  struct event_picture picture = trainer->task->picture(trainer, arena);
  events_add_picture(trainer->run.events, (double)time(NULL), event_step(trainer), &picture);
  fflush(trainer->run.events);
  arena_close(arena);
}

/* Keeps the values and tells them. */
static void record(struct trainer *trainer, const struct trainer_config *config,
                   const struct trainer_record *kind, const double values[TRAINER_VALUES]) {
  bool validation = kind == &trainer->task->validation;
  keep(trainer, validation ? &trainer->validations : &trainer->looks, kind, values);
  if (trainer->run.log) trainer_print(trainer, kind, trainer->run.log);
  if (trainer->run.events) add_event(trainer, kind);
  if (trainer->run.events && validation && trainer->task->picture) add_picture(trainer);
  if (config->see) config->see(trainer, kind, config->context);
}

static void tell(const struct trainer *trainer) {
  const struct task *task = trainer->task;
  const struct history *history = &trainer->validations;
  char text[400] = "";
  size_t used = 0;
  for (size_t v = 0; task->validation.values[v].name; v++)
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %.5g", v ? ", " : "",
                             task->validation.values[v].name, history->value[v][history->count - 1]);
  uint64_t per = task->epochs ? trainer->each : 1;
  log_info("%s %llu of %llu: %s%s", task->epochs ? "epoch" : task->unit,
           (unsigned long long)(trainer->done / per), (unsigned long long)(trainer->wanted / per), text,
           trainer->best_at == trainer->done ? ", best" : "");
}

/* ---- running ------------------------------------------------------------------------------------------- */

bool trainer_refuse(const struct trainer *trainer, const char *what, double value, struct error *error) {
  struct arena *arena = arena_open();
  const char *last = trainer->run.folder ? run_path(&trainer->run, arena, "last.h5") : "";
  const char *kept = file_is_there(last) ? arena_text(arena, "; the last good checkpoint is %s", last)
                                         : "; no checkpoint was written before";
  const char *steps = trainer->optimiser.device
                          ? arena_text(arena, " (%llu step%s of the optimiser)", (unsigned long long)trainer->optimiser.step,
                                       plural(trainer->optimiser.step))
                          : "";
  fail_as(error, ERROR_DIVERGED, "%s is %g after %llu %s%s%s%s; %s and train anew", what, value,
          (unsigned long long)trainer->done, trainer->task->unit, plural(trainer->done), steps, kept,
          trainer->task->advice);
  arena_close(arena);
  return false;
}

static bool check_finite(const struct trainer *trainer, const struct trainer_record *kind,
                         const double values[TRAINER_VALUES], struct error *error) {
  for (size_t v = 0; kind->values[v].name; v++)
    if ((kind->finite >> v & 1) && !isfinite(values[v]))
      return trainer_refuse(trainer, kind->values[v].doc, values[v], error);
  return true;
}

/* Speeds are counted from here; time that is not training's is added to it. */
struct pace {
  uint64_t done;
  double seconds;
};

static bool look(struct trainer *trainer, const struct trainer_config *config, struct pace *pace,
                 struct error *error) {
  double values[TRAINER_VALUES] = {0};
  if (!trainer->task->look(trainer, values, error) ||
      !check_finite(trainer, &trainer->task->train, values, error))
    return false;
  double now = clock_work();
  trainer->speed = (double)(trainer->done - pace->done) * trainer->work / (now - pace->seconds);
  *pace = (struct pace){trainer->done, now};
  record(trainer, config, &trainer->task->train, values);
  return true;
}

static bool is_better(const struct trainer *trainer, double value) {
  enum trainer_select select = trainer->task->select;
  if (select == SELECT_NOTHING) return false;
  return !trainer->best_at || (select == SELECT_LOWEST ? value < trainer->best : value > trainer->best);
}

static bool keep_file(const struct trainer *trainer, struct error *error) {
  char name[TRAINER_NAME];
  if (!trainer->task->keeps || !trainer->task->keeps(trainer, name)) return true;
  return trainer_save(trainer, name, error);
}

static bool validate(struct trainer *trainer, const struct trainer_config *config, struct pace *pace,
                     struct error *error) {
  double values[TRAINER_VALUES] = {0};
  if (!device_finish(trainer->device, error)) return false;
  double start = clock_work();
  if (!trainer->task->validate(trainer, values, error) ||
      !check_finite(trainer, &trainer->task->validation, values, error))
    return false;
  bool best = is_better(trainer, values[trainer->task->selected]);
  if (best) {
    trainer->best = values[trainer->task->selected];
    trainer->best_at = trainer->done;
  }
  record(trainer, config, &trainer->task->validation, values);
  tell(trainer);
  bool good = !trainer->run.folder || ((!best || trainer_save(trainer, "best.h5", error)) && keep_file(trainer, error));
  pace->seconds += clock_work() - start;
  return good;
}

/* Every so many units, of an epoch where there are epochs, and at the end. */
static bool is_due(const struct trainer *trainer, uint64_t every) {
  uint64_t counted = trainer->task->epochs ? trainer->done % trainer->each : trainer->done;
  return !counted || counted % every == 0 || trainer->done == trainer->wanted;
}

/* Says what follows a unit. */
static bool follow_up(struct trainer *trainer, const struct trainer_config *config, struct pace *pace,
                      struct error *error) {
  bool ended = trainer->done % trainer->each == 0 || trainer->done == trainer->wanted;
  if (is_due(trainer, trainer->look_every) && !look(trainer, config, pace, error)) return false;
  if (ended && !validate(trainer, config, pace, error)) return false;
  return !trainer->run.folder || !is_due(trainer, trainer->save_every) ||
         trainer_save(trainer, "last.h5", error);
}

bool trainer_done(const struct trainer *trainer) {
  return trainer->done >= trainer->wanted ||
         (trainer->patience && trainer->done - trainer->best_at >= trainer->patience * trainer->each);
}

static bool run_unit(struct trainer *trainer, const struct trainer_config *config, struct pace *pace,
                     struct error *error) {
  const struct task *task = trainer->task;
  if (task->begin && trainer->done % trainer->each == 0 &&
      !task->begin(trainer, trainer->done / trainer->each, error))
    return false;
  task->step(trainer);
  trainer->done++;
  return follow_up(trainer, config, pace, error);
}

/* An epoch goes on from its start alone: what was saved there stays. */
static bool refuse_stop(struct trainer *trainer, struct error *error) {
  if (trainer->run.folder && !trainer->task->epochs && !trainer_save(trainer, "last.h5", error)) return false;
  return fail_as(error, ERROR_STOPPED, "stopped by the program after %llu of %llu %ss", (unsigned long long)trainer->done,
                 (unsigned long long)trainer->wanted, trainer->task->unit);
}

bool trainer_run(struct trainer *trainer, const struct trainer_config *config, struct error *error) {
  struct progress progress;
  uint64_t start = trainer->done;
  struct pace pace = {start, clock_work()};
  bool good = true;
  progress_open(&progress, "training", trainer->task->worked,
                (size_t)((double)(trainer->wanted - start) * trainer->work));
  while (good && !trainer_done(trainer)) {
    good = run_unit(trainer, config, &pace, error);
    progress_move(&progress, (size_t)((double)(trainer->done - start) * trainer->work));
    if (good && config->stop && !trainer_done(trainer) && config->stop(config->context))
      good = refuse_stop(trainer, error);
  }
  progress_close(&progress);
  if (good && trainer->done < trainer->wanted)
    log_info("stopped early: no better validation for %u epoch%s", trainer->patience,
             plural(trainer->patience));
  return good;
}

bool trainer_run_stage(struct trainer *trainer, const struct trainer_config *config, struct error *error) {
  return (!config->opened || config->opened(trainer, config->stage, error)) &&
         trainer_run(trainer, config, error) &&
         (!config->ended || config->ended(trainer, config->stage, error));
}

void trainer_close(struct trainer *trainer) {
  run_close(&trainer->run);
  if (trainer->optimiser.device) optimise_close(&trainer->optimiser);
}

/* ---- files --------------------------------------------------------------------------------------------- */

static bool write_history(const struct trainer *trainer, const struct trainer_record *record,
                          struct store *store, struct error *error) {
  const struct history *history = history_of(trainer, record);
  char name[64];
  snprintf(name, sizeof name, "log/%s/%ss", record->kind, trainer->task->unit);
  bool good = store_write(store, name, STORE_F64, 1, &history->count, history->at, false, error);
  for (size_t v = 0; good && record->values[v].name; v++) {
    snprintf(name, sizeof name, "log/%s/%s", record->kind, record->values[v].name);
    good = store_write(store, name, STORE_F64, 1, &history->count, history->value[v], false, error);
  }
  return good;
}

/* ---- what is carried ----------------------------------------------------------------------------------- */

/* A unit carries a column that it reads before it writes it: an earlier unit has left it. */
static bool find_carried(struct trainer *trainer, struct error *error) {
  struct arena *arena = arena_open();
  struct schedule *schedule = ARENA_NEW(arena, struct schedule, 1);
  schedule_open(schedule, world_schema(trainer->world));
  trainer->task->add(trainer, schedule);
  bool good = schedule_close(schedule, error);
  trainer->carried = schedule->carried;
  arena_close(arena);
  return good;
}

/* Calls for every column that is carried: its dataset, rows, and room for it. */
static bool each_carried(const struct trainer *trainer, struct store *store,
                         bool (*call)(const struct trainer *trainer, struct store *store, unsigned component,
                                      const char *name, size_t shape[2], void *data, struct error *error),
                         struct error *error) {
  const struct schema *schema = world_schema(trainer->world);
  bool good = true;
  for (unsigned c = 0; good && c < schema->component_count; c++) {
    const struct component_desc *row = &schema->components[c];
    if (!(trainer->carried & SET(c))) continue;
    struct arena *arena = arena_open();
    size_t shape[] = {world_capacity(trainer->world, row->table), world_column_bytes(trainer->world, c)};
    const char *name = arena_text(arena, "carried/%s.%s", schema->table_names[row->table], row->name);
    void *data = arena_try_array(arena, shape[0], shape[1]);
    good = data ? call(trainer, store, c, name, shape, data, error)
                : fail_memory(error, "no host memory for %s", name);
    arena_close(arena);
  }
  return good;
}

static bool write_column(const struct trainer *trainer, struct store *store, unsigned component,
                         const char *name, size_t shape[2], void *data, struct error *error) {
  const struct system save = {.name = "save", .doc = "a column that a unit leaves to the next", .reads = SET(component)};
  world_get(trainer->world, &save, component, 0, shape[0], data);
  return device_finish(trainer->device, error) &&
         store_write(store, name, STORE_U8, 2, shape, data, false, error);
}

static bool read_carried_column(const struct trainer *trainer, struct store *store, unsigned component,
                                const char *name, size_t shape[2], void *data, struct error *error) {
  if (!store_read_known(store, name, STORE_U8, shape[0] * shape[1], data, error)) return false;
  const struct system load = {.name = "load", .doc = "a column that a unit has left", .writes = SET(component)};
  world_put(trainer->world, &load, component, 0, shape[0], data);
  return true;
}

/* ---- what a checkpoint holds --------------------------------------------------------------------------- */

static bool write_state(const struct trainer *trainer, struct store *store, struct error *error) {
  char key[32];
  snprintf(key, sizeof key, "%ss", trainer->task->unit);
  return store_put_number(store, key, (double)trainer->done, error) &&
         (trainer->task->select == SELECT_NOTHING ||
          (store_put_number(store, "best", trainer->best, error) &&
           store_put_number(store, "best_at", (double)trainer->best_at, error))) &&
         write_history(trainer, &trainer->task->train, store, error) &&
         write_history(trainer, &trainer->task->validation, store, error) &&
         each_carried(trainer, store, write_column, error);
}

bool trainer_save(const struct trainer *trainer, const char *name, struct error *error) {
  struct store *store;
  if (!run_flush(&trainer->run, error) || !store_create(&store, trainer_path(trainer, name), error))
    return false;
  if (trainer->task->write(trainer, store, error) && run_write(&trainer->run, store, error) &&
      write_state(trainer, store, error))
    return store_commit(store, error);
  store_close(store);
  return false;
}

static bool read_column(struct store *store, const char *name, size_t count, double *to, bool finite,
                        struct error *error) {
  if (!store_read_known(store, name, STORE_F64, count, to, error)) return false;
  for (size_t i = 0; i < count; i++)
    if (finite && !isfinite(to[i]))
      return fail_file(error, "%s holds %g at entry %zu; it must be finite: the file is damaged", name, to[i],
                       i);
  return true;
}

static bool has_values(const struct trainer_record *record, struct store *store, struct error *error) {
  char name[64];
  for (size_t v = 0; record->values[v].name; v++) {
    snprintf(name, sizeof name, "log/%s/%s", record->kind, record->values[v].name);
    if (!store_has(store, name))
      return fail_file(error,
                       "it has no %s: it is damaged, or a program of an older version wrote it; train anew in "
                       "another train.output (evaluate still takes its networks)",
                       name);
  }
  return true;
}

/* With room for all that may follow: it may have been logged more often than it is now. */
static bool read_history(struct trainer *trainer, struct history *history,
                         const struct trainer_record *record, struct store *store, struct error *error) {
  struct store_shape shape;
  char name[64];
  snprintf(name, sizeof name, "log/%s/%ss", record->kind, trainer->task->unit);
  if (!store_shape(store, name, &shape, error)) return false;
  if (!has_values(record, store, error)) return false;
  if (shape.rank != 1 || shape.size[0] > trainer->done)
    return fail_file(error, "%s is longer than its training: the file is damaged", name);
  if (!make_room(trainer, history, record, shape.size[0] + history->room, error)) return false;
  history->count = shape.size[0];
  bool good = read_column(store, name, history->count, history->at, true, error);
  for (size_t v = 0; good && record->values[v].name; v++) {
    snprintf(name, sizeof name, "log/%s/%s", record->kind, record->values[v].name);
    good = read_column(store, name, history->count, history->value[v], !(record->unknown >> v & 1), error);
  }
  return good;
}

/* A best value that no validation had would keep best.h5 from ever being replaced. */
static bool check_best(const struct trainer *trainer, struct error *error) {
  const struct history *history = &trainer->validations;
  for (size_t i = 0; i < history->count; i++)
    if (history->at[i] == (double)trainer->best_at &&
        history->value[trainer->task->selected][i] == trainer->best)
      return true;
  if (!trainer->best_at && !history->count) return true;
  return fail_file(error,
                   "it has best %g at best_at %llu, which is none of the validations in its log: the file is "
                   "damaged, start anew in another train.output",
                   trainer->best, (unsigned long long)trainer->best_at);
}

static bool read_best(struct trainer *trainer, struct store *store, struct error *error) {
  double best_at;
  if (trainer->task->select == SELECT_NOTHING) return true;
  if (!checkpoint_whole(store, "best_at", (double)trainer->done, &best_at, error) ||
      !checkpoint_number(store, "best", -1e15, 1e15, &trainer->best, error))
    return false;
  trainer->best_at = (uint64_t)best_at;
  return check_best(trainer, error) &&
         run_has_best(&trainer->run, !trainer->best_at || trainer->best_at == trainer->done, error);
}

static bool read_done(struct trainer *trainer, struct store *store, struct error *error) {
  const struct task *task = trainer->task;
  double done;
  char key[32];
  snprintf(key, sizeof key, "%ss", task->unit);
  if (!store_has_value(store, key))
    return fail_file(error,
                     "it does not tell how many %s it has: it is damaged, or a program of another version wrote it; "
                     "train anew in another train.output (evaluate still takes its networks)",
                     key);
  if (!checkpoint_whole(store, key, 1e15, &done, error)) return false;
  trainer->done = (uint64_t)done;
  if (trainer->done <= trainer->wanted) return true;
  return fail_file(error, "it has %.0f %s%s, and %llu are wanted; raise %s", done, task->unit,
                   plural(trainer->done), (unsigned long long)trainer->wanted, task->more);
}

static bool read_state(struct store *store, void *context, struct error *error) {
  struct trainer *trainer = context;
  const struct task *task = trainer->task;
  if (!read_done(trainer, store, error) ||
      !read_history(trainer, &trainer->looks, &task->train, store, error) ||
      !read_history(trainer, &trainer->validations, &task->validation, store, error) ||
      !read_best(trainer, store, error) || !each_carried(trainer, store, read_carried_column, error) ||
      !task->read(trainer, store, error))
    return false;
  log_info("going on from %s after %llu %s%s", trainer_path(trainer, "last.h5"),
           (unsigned long long)trainer->done, task->unit, plural(trainer->done));
  return true;
}

static bool write_best(void *context, struct error *error) {
  return trainer_save(context, "best.h5", error);
}

bool trainer_open_files(struct trainer *trainer, const struct trainer_config *config, struct error *error) {
  bool selects = trainer->task->select != SELECT_NOTHING;
  trainer->run.folder = config->folder;
  trainer->run.options = trainer->options;
  trainer->run.device = trainer->device;
  trainer->run.optimiser = trainer->optimiser.device ? &trainer->optimiser : NULL;
  trainer->run.network = trainer->task->network;
  trainer->run.selects = selects;
  if (!config->folder) return true;
  return find_carried(trainer, error) && run_open(&trainer->run, config->resume, read_state, trainer, error) &&
         (!selects || run_mend_best(&trainer->run, trainer->best_at && trainer->best_at == trainer->done,
                                    write_best, trainer, error));
}
