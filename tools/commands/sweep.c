/* Every combination of the values of --set, each trained in a folder of its own, and one table of them all.
 */
#include "engine/base/log.h"
#include "engine/files/scene.h"
#include "engine/files/store.h"
#include "systems/data/padding.h"
#include "systems/methods/evaluate.h"
#include "systems/methods/methods.h"
#include "systems/methods/fit.h"
#include "systems/methods/start.h"
#include "tools/commands/command.h"
#include "tools/commands/queue.h"
#include "tools/draw/curves.h"
#include "tools/ranks/devices.h"
#include "tools/report/csv.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

enum { VALUES_MOST = 256, COMBINATIONS_MOST = 1000, NAME_MOST = 200 };

/* The key and values that one --set gives. */
struct axis {
  const char *key;
  const char *value[VALUES_MOST];
  size_t count;
};

/* What is told of a validation; a task has those values that its log has under these names. */
enum value { VAL_LOSS, VAL_SSIM, VAL_PSNR, SCORE, VALUES };
static const struct {
  const char *name, *format;
  int width;
} columns[VALUES] = {[VAL_LOSS] = {"val_loss", "%-12.6g ", 12},
                     [VAL_SSIM] = {"val_ssim", "%-10.5f ", 10},
                     [VAL_PSNR] = {"val_psnr", "%-12.3f ", 12},
                     [SCORE] = {"score", "%-12.6g ", 12}}; /* of tasks that have none of the others */

/* One combination and what came of it. */
struct row {
  const char *name, *folder, *failure; /* failure: NULL when it was trained */
  struct options options;
  uint32_t epochs, best_epoch;
  double value[VALUES];       /* of the best epoch */
};

struct sweep {
  struct axis axis[GIVEN_MOST];
  size_t axes;
  struct row *rows;
  size_t count;
};

/* ---- the grid ------------------------------------------------------------------------------------------ */

/* Length of a value: up to a comma outside of brackets. */
static size_t value_length(const char *text) {
  size_t length = 0;
  for (int depth = 0; text[length] && (text[length] != ',' || depth > 0); length++)
    depth += (text[length] == '[') - (text[length] == ']');
  return length;
}

static bool add_value(struct axis *axis, const char *value, struct error *error) {
  for (size_t i = 0; i < axis->count; i++)
    if (!strcmp(axis->value[i], value))
      return fail_usage(error, "--set gives %s the value '%s' twice; write each value once", axis->key,
                        value);
  if (axis->count == VALUES_MOST)
    return fail_usage(error, "--set gives %s more than %d values; sweep in parts", axis->key, VALUES_MOST);
  axis->value[axis->count++] = value;
  return true;
}

static bool read_axis(struct call *call, struct sweep *sweep, const char *text, struct error *error) {
  const char *equals = strchr(text, '=');
  if (!equals) return fail_usage(error, "--set '%s' has no '='; write section.key=value,value", text);
  struct axis *axis = &sweep->axis[sweep->axes++];
  axis->key = arena_text(call->arena, "%.*s", (int)(equals - text), text);
  if (!strcmp(axis->key, "train.output"))
    return fail_usage(error, "--set gives train.output, in which sweep makes the folders; use --output DIR");
  for (size_t i = 0; i + 1 < sweep->axes; i++)
    if (!strcmp(sweep->axis[i].key, axis->key))
      return fail_usage(error, "--set gives %s twice; join the values: --set %s=a,b", axis->key, axis->key);
  for (const char *value = equals + 1;; value++) {
    size_t length = value_length(value);
    if (!add_value(axis, arena_text(call->arena, "%.*s", (int)length, value), error)) return false;
    value += length;
    if (!*value) return true;
  }
}

static bool read_axes(struct call *call, struct sweep *sweep, struct error *error) {
  sweep->count = 1;
  for (int i = 0; i < call->given_count; i++) {
    if (strcmp(call->given[i].flag->name, "set")) continue;
    if (!read_axis(call, sweep, call->given[i].value, error)) return false;
    sweep->count *= sweep->axis[sweep->axes - 1].count;
    if (sweep->count > COMBINATIONS_MOST)
      return fail_usage(error, "--set makes more than %d combinations; sweep in parts", COMBINATIONS_MOST);
  }
  return sweep->count > 1
             ? true
             : fail_usage(error, "no --set has more than one value; write --set section.key=value,value");
}

/* The last axis runs fastest. */
static const char *value_of(const struct sweep *sweep, size_t row, size_t axis) {
  for (size_t i = sweep->axes - 1; i > axis; i--) row /= sweep->axis[i].count;
  return sweep->axis[axis].value[row % sweep->axis[axis].count];
}

/* "train.rate=0.01_network.channels=8": what stands in no file name becomes '-'. */
static bool name_row(struct call *call, const struct sweep *sweep, size_t row, struct error *error) {
  char *name = arena_text(call->arena, "%s", "");
  for (size_t i = 0; i < sweep->axes; i++)
    if (sweep->axis[i].count > 1)
      name = arena_text(call->arena, "%s%s%s=%s", name, *name ? "_" : "", sweep->axis[i].key,
                        value_of(sweep, row, i));
  for (char *c = name; *c; c++)
    if (!isalnum((unsigned char)*c) && !strchr("._+-=", *c)) *c = '-';
  sweep->rows[row].name = name;
  if (strlen(name) > NAME_MOST)
    return fail_usage(error, "the folder's name %s is longer than %d; sweep fewer keys", name, NAME_MOST);
  for (size_t other = 0; other < row; other++)
    if (!strcmp(sweep->rows[other].name, name))
      return fail_usage(error, "two combinations would have the folder %s; sweep them apart", name);
  return true;
}

/* Whether rows may have other padded columns than the scene, of which all files are read. */
static bool changes_data(const struct sweep *sweep) {
  bool changes = false;
  for (size_t i = 0; i < sweep->axes; i++)
    changes |= !strncmp(sweep->axis[i].key, "data.", 5) || !strncmp(sweep->axis[i].key, "acquisition.", 12);
  return changes;
}

static bool make_row(struct call *call, const struct sweep *sweep, size_t place, struct error *error) {
  struct row *row = &sweep->rows[place];
  if (!name_row(call, sweep, place, error)) return false;
  row->options = call->options;
  for (size_t i = 0; i < sweep->axes; i++) {
    const char *assignment = arena_text(call->arena, "%s=%s", sweep->axis[i].key, value_of(sweep, place, i));
    if (!scene_assign(&option_table, &row->options, call->arena, assignment, "--set", error)) return false;
  }
  if (!call_models(call, &row->options, error)) return false;
  if (changes_data(sweep)) padding_find(&row->options, NULL);
  row->folder = arena_text(call->arena, "%s/%s", call->options.train.output, row->name);
  row->options.train.output = row->folder;
  return method_check_networks(&row->options, error) || fail_in(error, "%s", row->name);
}

static bool make_rows(struct call *call, struct sweep *sweep, struct error *error) {
  sweep->rows = ARENA_NEW(call->arena, struct row, sweep->count);
  for (size_t i = 0; i < sweep->count; i++)
    if (!make_row(call, sweep, i, error)) return false;
  return true;
}

/* ---- training ------------------------------------------------------------------------------------------ */

/* A value of a record by its name; NaN where it has none. */
static double value_at(const struct task *task, const struct history *history, const char *name, size_t place) {
  const struct log_value *values = task->validation.values;
  for (size_t v = 0; values[v].name; v++)
    if (!strcmp(values[v].name, name)) return history->value[v][place];
  return NAN;
}

/* The last stage stays: of a policy its scans' SSIM where that is the reward, of a reconstructor its best. */
static bool end_stage(struct training *training, const struct stage *stage, void *context, struct error *error) {
  struct row *row = context;
  const struct history *history = &training->validations;
  size_t best = 0;
  while (best + 1 < history->count && history->at[best] != (double)training->best_at) best++;
  bool told = false;
  for (int v = 0; v < SCORE; v++) {
    row->value[v] = *stage->name ? NAN : value_at(stage->task, history, columns[v].name, best);
    told = told || !isnan(row->value[v]);
  }
  row->value[SCORE] = *stage->name || told ? NAN : stage->score;
  if (!*stage->name) {
    row->epochs = (uint32_t)trainer_epochs(training);
    row->best_epoch = (uint32_t)(training->best_at / training->each);
  } else if (stage->task->reconstructs || (row->options.reward.metric == 0 && training->task->scores)) {
    row->value[VAL_SSIM] = !stage->task->reconstructs ? stage->score : value_at(stage->task, history, "val_ssim", best);
  }
  return curves_draw(training, error);
}

/* Of an alternation the best round stays: the last one may be past it. */
static void keep_best(const struct best_round *best, void *context) {
  struct row *row = context;
  if (row->options.reward.metric == 0) row->value[VAL_SSIM] = best->score;
}

/* The first of the runs of evaluate is told. */
static double mean_of(const struct evaluation *evaluation, const char *metric) {
  const struct evaluate_run *run = evaluation->runs;
  double mean, deviation;
  size_t m = 0;
  while (strcmp(metric_list[m].name, metric)) m++;
  evaluate_mean(run, m, acquisition_steps(&run->acquisition), &mean, &deviation);
  return mean;
}

/* What has no network is not trained: its images of validation slices are scored. */
static bool score_row(struct call *call, struct device *device, struct row *row, struct error *error) {
  struct options options = row->options;
  struct evaluation evaluation;
  struct evaluate_config config = {.kernel_folder = call_flag(call, "kernels")};
  options.data.split = SPLIT_VAL;
  options.evaluate.metrics = "ssim,psnr";
  options.evaluate.curves = false;
  if (!evaluate_open(&evaluation, device, &options, &config, error)) return false;
  row->value[VAL_LOSS] = row->value[SCORE] = NAN;
  row->value[VAL_SSIM] = mean_of(&evaluation, "ssim");
  row->value[VAL_PSNR] = mean_of(&evaluation, "psnr");
  evaluate_close(&evaluation);
  return true;
}

static bool train_row(struct call *call, struct device *device, struct row *row, struct error *error) {
  if (!start_trains(&row->options)) return score_row(call, device, row, error);
  struct method_config config = {
      .resume = true, .end = end_stage, .see_best = keep_best, .context = row, .kernel_folder = call_flag(call, "kernels")};
  return method_train(device, &row->options, &config, error);
}

/* ---- side by side ---------------------------------------------------------------------------------------- */

/* `train SCENE ... --output FOLDER --resume` with the values of the row. */
static const char *const *words_of(struct call *call, const struct sweep *sweep, size_t place) {
  static const char *const own[] = {"set", "output", "device", "devices", "jobs", "overwrite", "json", NULL};
  const char **word = ARENA_NEW(call->arena, const char *, 2 * call->given_count + 2 * sweep->axes + 8);
  size_t used = 0;
  word[used++] = "train", word[used++] = call->scene;
  used += queue_flags(call, own, word + used);
  for (size_t a = 0; a < sweep->axes; a++) {
    word[used++] = "--set";
    word[used++] = arena_text(call->arena, "%s=%s", sweep->axis[a].key, value_of(sweep, place, a));
  }
  word[used++] = "--output", word[used++] = sweep->rows[place].folder, word[used++] = "--resume";
  return word;
}

/* What is printed stays in FOLDER.log; the table reads what was trained afterwards. */
static bool train_side_by_side(struct call *call, struct sweep *sweep, const size_t *devices, size_t device_count,
                               uint32_t each, struct error *error) {
  struct queue_job *job = ARENA_NEW(call->arena, struct queue_job, sweep->count);
  size_t count = 0, *place = ARENA_NEW(call->arena, size_t, sweep->count);
  for (size_t i = 0; i < sweep->count; i++) {
    struct row *row = &sweep->rows[i];
    if (!start_trains(&row->options)) continue;
    place[count] = i;
    job[count++] = (struct queue_job){row->name, words_of(call, sweep, i), arena_text(call->arena, "%s.log", row->folder), false, false};
  }
  log_info("training %zu combinations, %u at once on each of %zu device%s", count, each, device_count, plural(device_count));
  if (!queue_run(job, count, devices, device_count, each, error)) return false;
  for (size_t i = 0; i < count; i++)
    if (job[i].failed) sweep->rows[place[i]].failure = arena_text(call->arena, "its training failed; see %s", job[i].log);
  return true;
}

/* --devices, --jobs: as many trainings at once on each device. */
static bool run_queue(struct call *call, struct sweep *sweep, struct error *error) {
  const char *devices = call_flag(call, "devices");
  size_t place[DEVICES_MOST], count;
  uint32_t each = 1;
  if (!devices && !call_flag(call, "jobs")) return true;
  if (devices && call_flag(call, "device"))
    return fail_usage(error, "--devices and --device contradict each other; give one of them");
  if (!call_number(call, "jobs", 1, 64, &each, error)) return false;
  if (!devices && call_flag(call, "device")) return fail_usage(error, "--jobs goes with --devices, not with --device");
  return devices_read(devices, place, &count, error) && folder_make(call->options.train.output, error) &&
         train_side_by_side(call, sweep, place, count, each, error);
}

/* Trains all rows: one that fails leaves the others; a sweep that trained nothing fails itself. */
static bool train_rows(struct call *call, struct device *device, struct sweep *sweep, struct error *error) {
  size_t failed = 0;
  for (size_t i = 0; i < sweep->count; i++) {
    struct row *row = &sweep->rows[i];
    log_info("training %zu of %zu: %s", i + 1, sweep->count, row->name);
    if (row->failure) fail(error, "%s", row->failure);
    else if (train_row(call, device, row, error)) continue;
    row->failure = arena_text(call->arena, "%s", error->text);
    log_warning("%s: %s", row->name, row->failure);
    failed++;
  }
  if (failed) call->status = 1;
  return failed < sweep->count ? true : fail_in(error, "no combination could be trained; the last one");
}

/* ---- the table ----------------------------------------------------------------------------------------- */

/* NULL when no combination has an SSIM that is a number. */
static const struct row *find_best(const struct sweep *sweep) {
  const struct row *best = NULL;
  for (size_t i = 0; i < sweep->count; i++) {
    const struct row *row = &sweep->rows[i];
    if (row->failure || !isfinite(row->value[VAL_SSIM])) continue;
    if (!best || row->value[VAL_SSIM] > best->value[VAL_SSIM]) best = row;
  }
  return best;
}

/* A policy has no loss, and one score. */
static bool is_shown(const struct sweep *sweep, size_t column) {
  for (size_t i = 0; i < sweep->count; i++)
    if (!sweep->rows[i].failure && !isnan(sweep->rows[i].value[column])) return true;
  return false;
}

static void print_cells(const struct sweep *sweep, const struct row *row) {
  const char *instead = "failed"; /* in the first column */
  for (size_t c = 0; c < VALUES; c++) {
    if (!is_shown(sweep, c)) continue;
    double value = row->failure ? NAN : row->value[c];
    if (row->failure || isnan(value))
      printf("%-*s ", columns[c].width, row->failure ? instead : "-");
    else
      printf(columns[c].format, value);
    instead = "-";
  }
}

static void print_text(const struct sweep *sweep) {
  const struct row *best = find_best(sweep);
  for (size_t c = 0; c < VALUES; c++)
    if (is_shown(sweep, c)) printf("%-*s ", columns[c].width, columns[c].name);
  printf("folder\n");
  for (size_t i = 0; i < sweep->count; i++) {
    print_cells(sweep, &sweep->rows[i]);
    printf("%s\n", sweep->rows[i].folder);
  }
  if (best) printf("best by SSIM: %s\n", best->name);
}

static void print_json_set(const struct sweep *sweep, size_t row) {
  printf(",\"set\":{");
  for (size_t a = 0; a < sweep->axes; a++) {
    if (a) putchar(',');
    json_text(stdout, sweep->axis[a].key);
    putchar(':');
    json_text(stdout, value_of(sweep, row, a));
  }
  putchar('}');
}

static void print_json_row(const struct row *row) {
  printf(",\"epochs\":%u,\"best_epoch\":%u", row->epochs, row->best_epoch);
  for (size_t c = 0; c < SCORE; c++) {
    printf(",\"%s\":", columns[c].name);
    json_number(stdout, row->failure ? NAN : row->value[c]);
  }
  if (!isnan(row->value[SCORE])) {
    printf(",\"score\":");
    json_number(stdout, row->value[SCORE]);
  }
  printf(",\"failure\":");
  if (row->failure)
    json_text(stdout, row->failure);
  else
    printf("null");
}

static void print_json(const struct sweep *sweep) {
  for (size_t i = 0; i < sweep->count; i++) {
    printf("{\"folder\":");
    json_text(stdout, sweep->rows[i].folder);
    print_json_set(sweep, i);
    print_json_row(&sweep->rows[i]);
    puts("}");
  }
}

static void write_row(FILE *file, const struct sweep *sweep, size_t place) {
  const struct row *row = &sweep->rows[place];
  for (size_t a = 0; a < sweep->axes; a++) {
    csv_text(file, value_of(sweep, place, a));
    fputc(',', file);
  }
  fprintf(file, row->epochs ? "%u,%u" : ",", row->epochs, row->best_epoch);
  for (size_t c = 0; c < SCORE; c++)
    fprintf(file, row->failure || isnan(row->value[c]) ? "," : ",%.9g", row->value[c]);
  fputc(',', file);
  csv_text(file, row->folder);
  fputc(',', file);
  csv_text(file, row->failure ? row->failure : "");
  fputc('\n', file);
}

static void write_table(FILE *file, const struct sweep *sweep) {
  for (size_t a = 0; a < sweep->axes; a++) {
    csv_text(file, sweep->axis[a].key);
    fputc(',', file);
  }
  fprintf(file, "epochs,best_epoch,val_loss,val_ssim,val_psnr,folder,failure\n");
  for (size_t i = 0; i < sweep->count; i++) write_row(file, sweep, i);
}

static bool has_folder(const struct sweep *sweep, const char *folder) {
  for (size_t i = 0; i < sweep->count; i++)
    if (csv_is(folder, sweep->rows[i].folder)) return true;
  return false;
}

/* Whether every row of the table is one of this sweep: the axes, in their order, and the folders. */
static bool is_own_table(const struct sweep *sweep, struct csv *csv, const char *path) {
  struct error ignored;
  bool end = false, own = csv_open(csv, path, &ignored) && csv->cells > sweep->axes;
  size_t folder = 0;
  for (size_t a = 0; own && a < sweep->axes; a++) own = csv_is(csv->cell[a], sweep->axis[a].key);
  while (own && folder < csv->cells && strcmp(csv->cell[folder], "folder")) folder++;
  while (own && !end)
    own = csv_next(csv, &end, &ignored) &&
          (end || (folder < csv->cells && has_folder(sweep, csv->cell[folder])));
  return own;
}

/* Before the trainings: a sweep that goes on writes its table anew, another one's is not lost. */
static bool open_table(const struct call *call, const struct sweep *sweep, struct text_file *file,
                       struct error *error) {
  const char *folder = call->options.train.output, *path = arena_text(call->arena, "%s/sweep.csv", folder);
  if (file_is_there(path) && !call_flag(call, "overwrite")) {
    struct csv *csv = ARENA_NEW(call->arena, struct csv, 1);
    bool own = is_own_table(sweep, csv, path);
    csv_close(csv);
    if (!own)
      return fail(
          error,
          "%s is of another sweep, of other keys or values; replace it with --overwrite, or choose another "
          "--output",
          path);
  }
  return file_create(file, path, error);
}

/* ---- the command --------------------------------------------------------------------------------------- */

static bool work_there(struct call *call, struct device *device, struct error *error) {
  struct sweep *sweep = call->own;
  struct text_file file;
  if (!open_table(call, sweep, &file, error)) return false;
  if (!train_rows(call, device, sweep, error)) {
    file_abandon(&file);
    return false;
  }
  if (call_flag(call, "json"))
    print_json(sweep);
  else
    print_text(sweep);
  write_table(file.file, sweep);
  return file_commit(&file, error);
}

/* Of two sweeps in a folder each would find trainings of the other's in use, and one table would be lost. */
static bool work(struct call *call, struct device *device, struct error *error) {
  const char *folder = call->options.train.output;
  int held;
  if (!folder_make(folder, error) || !folder_hold(folder, &held, error)) return false;
  bool good = work_there(call, device, error);
  if (held >= 0) close(held);
  return good;
}

static bool run_sweep(struct call *call, struct error *error) {
  struct sweep *sweep = call->own = ARENA_NEW(call->arena, struct sweep, 1);
  if (!*call->options.train.output)
    return fail_usage(error, "train.output is empty; give --output DIR or set it in the scene");
  return read_axes(call, sweep, error) && make_rows(call, sweep, error) && run_queue(call, sweep, error) &&
         call_on_device(call, work, error);
}

static const struct flag flags[] = {
    {"data", "DIR", "data.path", NULL},
    {"output", "DIR", "train.output", "folder for a folder of every combination, and sweep.csv"},
    {"epochs", "N", "train.epochs", NULL},
    {"seed", "N", "world.seed", NULL},
    {"devices", "LIST", NULL,
     "trains on several devices at once: all, or places in the list of `l2sr info`, as 0,1; each combination's log is "
     "DIR/KEY=VALUE_....log"},
    {"jobs", "N", NULL, "trainings at once on each of them (default 1); small ones do not fill a card"},
    {"overwrite", NULL, NULL, "replaces the sweep.csv of another sweep in DIR"},
    {"json", NULL, NULL, "prints one JSON object for every combination instead of the table"},
    {NULL, NULL, NULL, NULL},
};

const struct command command_sweep = {
    .name = "sweep",
    .operands = "SCENE",
    .doc = "trains every combination of values and prints a table of them",
    .more = "--set section.key=a,b,c gives a key several values (lists as [a,b],[c]). Every combination "
            "is trained in DIR/KEY=VALUE_..., as by train --resume: a finished training is kept, a "
            "stopped one goes on.\n"
            "Where reconstruct.method has no network and train.method is reconstructor, nothing is trained: "
            "images of validation slices, by the first of evaluate.samplers, are scored for every weight.\n"
            "For l2s and l2sr the table has the validation score of the last stage only. A combination "
            "that fails does not stop the others; the exit status is then 1.",
    .takes_scene = true,
    .sweeps = true,
    .flags = flags,
    .run = run_sweep,
};
