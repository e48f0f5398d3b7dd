/* Every sampler over all slices at every setting: table, curves, per-slice numbers, masks and images. */
#include "engine/log.h"
#include "engine/scene.h"
#include "engine/store.h"
#include "engine/text.h"
#include "systems/evaluate.h"
#include "systems/geometry.h"
#include "tools/command.h"
#include "tools/csv.h"
#include "tools/paper_table.h"

#include <stdlib.h>
#include <string.h>

static bool is_shown(const struct options *options, size_t metric) {
  const char *words = options->evaluate.metrics;
  char word[64];
  while ((words = option_next(words, word, sizeof word)))
    if (!strcmp(word, metric_list[metric].name)) return true;
  return false;
}

/* ---- the table ----------------------------------------------------------------------------------------- */

static void print_setting(const struct evaluation *evaluation, const struct options *options,
                          const struct acquisition *setting) {
  const struct geometry *geometry = geometry_of(setting);
  uint32_t total = setting->initial_lines + setting->budget;
  printf("\nx%u %s: %u initial + %u acquired of %u %ss, %zu slice%s\n", setting->acceleration,
         setting->horizon, setting->initial_lines, setting->budget, setting->lines, geometry->one,
         evaluation->slices, plural(evaluation->slices));
  if (!geometry->columns && !geometry->points)
    printf("  acceleration %.4g by %ss (N / %u), %.4g by cells where they are evenly spaced (N^2 / cells)\n",
           (double)setting->lines / total, geometry->one, total,
           geometry_acceleration(geometry, setting->lines, total));
  printf("  %-26s", "sampler");
  for (size_t m = 0; m < METRICS; m++)
    if (is_shown(options, m)) printf(" %19s", metric_list[m].name);
  if (!geometry->columns) printf(" %10s", "N^2/cells");
  printf(" %10s\n", "scans/s");
}

static void print_run(const struct options *options, const struct evaluate_run *run) {
  printf("  %-26s", run->sampler->name);
  for (size_t m = 0; m < METRICS; m++) {
    double mean, std;
    if (!is_shown(options, m)) continue;
    evaluate_mean(run, m, acquisition_steps(&run->acquisition), &mean, &std);
    printf(strstr(metric_list[m].name, "psnr")  ? " %9.3f +- %6.3f"
           : strcmp(metric_list[m].name, "mse") ? " %9.5f +- %6.4f"
                                                : " %9.3e +- %6.0e", /* as small as the images */
           mean, std);
  }
  double n = run->acquisition.size;
  if (!geometry_of(&run->acquisition)->columns) printf(" %10.3f", n * n / evaluate_cells(run));
  printf(" %10.1f\n", (double)run->scans / run->seconds);
}

static void print_table(const struct evaluation *evaluation, const struct options *options) {
  for (size_t r = 0; r < evaluation->run_count; r++) {
    const struct evaluate_run *run = &evaluation->runs[r];
    if (r == 0 || memcmp(&run->acquisition, &run[-1].acquisition, sizeof run->acquisition))
      print_setting(evaluation, options, &run->acquisition);
    print_run(options, run);
  }
  printf("\nmean +- population standard deviation over scans; data range by %s; %s\n",
         options->data.range == RANGE_VOLUME  ? "volume"
         : options->data.range == RANGE_SLICE ? "slice"
                                              : "attribute max",
         evaluation->reconstructor);
}

/* ---- JSON lines ---------------------------------------------------------------------------------------- */

static void print_json_metric(const struct evaluation *evaluation, const struct evaluate_run *run,
                              size_t metric) {
  double mean, std;
  evaluate_mean(run, metric, acquisition_steps(&run->acquisition), &mean, &std);
  printf("\"%s\":{\"mean\":", metric_list[metric].name);
  json_number(stdout, mean);
  printf(",\"std\":");
  json_number(stdout, std);
  if (evaluation->curves) printf(",\"curve\":[");
  for (size_t t = 0; evaluation->curves && t <= acquisition_steps(&run->acquisition); t++) {
    evaluate_mean(run, metric, t, &mean, &std);
    if (t) putchar(',');
    json_number(stdout, mean);
  }
  printf(evaluation->curves ? "]}" : "}");
}

static void print_json(const struct evaluation *evaluation, const struct options *options,
                       const struct device *device) {
  for (size_t r = 0; r < evaluation->run_count; r++) {
    const struct evaluate_run *run = &evaluation->runs[r];
    const char *separator = "";
    printf("{\"sampler\":\"%s\",\"acceleration\":%u,\"horizon\":\"%s\",\"initial_lines\":%u,\"budget\":%u,"
           "\"lines\":%u,\"geometry\":\"%s\",\"cells\":%.9g,\"slices\":%zu,\"scans\":%zu,\"selection\":\"%"
           "s\",\"device\":",
           run->sampler->name, run->acquisition.acceleration, run->acquisition.horizon,
           run->acquisition.initial_lines, run->acquisition.budget, run->acquisition.lines,
           geometry_of(&run->acquisition)->name, evaluate_cells(run), evaluation->slices, run->scans,
           evaluation->dataset.hash);
    json_text(stdout, device->facts.name);
    printf(",\"name\":");
    json_text(stdout, options->evaluate.name);
    printf(",\"reconstructor\":");
    json_text(stdout, evaluation->reconstructor);
    printf(",\"broken_files\":%zu,\"broken_volumes\":%zu,\"constant\":%zu,\"excluded\":%zu",
           evaluation->dataset.broken, evaluation->report.broken_volumes, evaluation->report.constant,
           evaluation->report.excluded);
    printf(",\"version\":\"" L2SR_VERSION "\",\"seconds\":%.6g,\"metrics\":{", run->seconds);
    for (size_t m = 0; m < METRICS; m++)
      if (run->metric[m]) {
        printf("%s", separator);
        print_json_metric(evaluation, run, m);
        separator = ",";
      }
    printf("}}\n");
  }
}

/* ---- CSV ----------------------------------------------------------------------------------------------- */

static void write_metric_names(FILE *file, const struct evaluation *evaluation, const char *suffix) {
  for (size_t m = 0; m < METRICS; m++)
    if (evaluation->runs[0].metric[m]) fprintf(file, ",%s%s", metric_list[m].name, suffix);
}

/* The cells that say of what setting and sampler a row is, and the comma behind them. */
static void write_start(FILE *file, const struct evaluate_run *run) {
  fprintf(file, "%u,", run->acquisition.acceleration);
  csv_text(file, run->acquisition.horizon);
  fputc(',', file);
  csv_text(file, run->sampler->name);
  fputc(',', file);
}

static void write_slices(FILE *file, const struct evaluation *evaluation) {
  fprintf(file, "acceleration,horizon,sampler,volume,slice,trajectory,data_range,lines");
  write_metric_names(file, evaluation, "");
  fprintf(file, ",return\n");
  for (size_t r = 0; r < evaluation->run_count; r++)
    for (size_t i = 0; i < evaluation->runs[r].scans; i++) {
      const struct evaluate_run *run = &evaluation->runs[r];
      size_t slice = i % evaluation->slices;
      const struct slice_name *name = &evaluation->report.names[slice];
      size_t steps = acquisition_steps(&run->acquisition) + 1;
      write_start(file, run);
      csv_text(file, evaluation->dataset.volumes[name->volume].name);
      fprintf(file, ",%zu,%zu,%.9g,%u", name->slice, i / evaluation->slices,
              evaluation->report.data_range[slice], run->acquisition.initial_lines + run->acquisition.budget);
      for (size_t m = 0; m < METRICS; m++)
        if (run->metric[m]) fprintf(file, ",%.9g", run->metric[m][i * steps + steps - 1]);
      fprintf(file, ",%.9g\n", run->returns[i]);
    }
}

static void write_curves(FILE *file, const struct evaluation *evaluation) {
  fprintf(file, "acceleration,horizon,sampler,lines");
  write_metric_names(file, evaluation, "_mean");
  write_metric_names(file, evaluation, "_std");
  fputc('\n', file);
  for (size_t r = 0; r < evaluation->run_count; r++) {
    const struct evaluate_run *run = &evaluation->runs[r];
    for (size_t t = evaluation->curves ? 0 : acquisition_steps(&run->acquisition);
         t <= acquisition_steps(&run->acquisition); t++) {
      double mean[METRICS], std[METRICS];
      write_start(file, run);
      fprintf(file, "%u", acquisition_after(&run->acquisition, t));
      for (size_t m = 0; m < METRICS; m++)
        if (run->metric[m]) {
          evaluate_mean(run, m, t, &mean[m], &std[m]);
          fprintf(file, ",%.9g", mean[m]);
        }
      for (size_t m = 0; m < METRICS; m++)
        if (run->metric[m]) fprintf(file, ",%.9g", std[m]);
      fputc('\n', file);
    }
  }
}

static bool write_csv(const char *folder, const char *name, const struct evaluation *evaluation,
                      void (*write)(FILE *, const struct evaluation *), struct error *error) {
  struct text_file file;
  struct arena *arena = arena_open();
  bool good = file_create(&file, arena_text(arena, "%s/%s", folder, name), error);
  arena_close(arena);
  if (!good) return false;
  write(file.file, evaluation);
  return file_commit(&file, error);
}

/* ---- HDF5 ---------------------------------------------------------------------------------------------- */

/* Which lines were chosen, one after the other; of points, which were given: all others came at once. */
static bool store_choice(struct store *store, const char *group, const struct evaluate_run *run,
                         struct error *error) {
  const struct acquisition *setting = &run->acquisition;
  size_t action[] = {run->scans, acquisition_steps(setting)}, initial[] = {setting->lines};
  struct arena *arena = arena_open();
  uint8_t *given = ARENA_NEW(arena, uint8_t, setting->lines);
  acquisition_initial(setting, given);
  bool good = geometry_of(setting)->points ? store_write(store, arena_text(arena, "%s/initial", group),
                                                         STORE_U8, 1, initial, given, true, error)
                                           : store_write(store, arena_text(arena, "%s/action", group),
                                                         STORE_U32, 2, action, run->action, true, error);
  arena_close(arena);
  return good;
}

static bool store_run(struct store *store, const struct evaluation *evaluation,
                      const struct evaluate_run *run, struct error *error) {
  struct arena *arena = arena_open();
  const struct acquisition *setting = &run->acquisition;
  const char *group =
      arena_text(arena, "x%u_%s/%s", setting->acceleration, setting->horizon, run->sampler->name);
  size_t scans = run->scans, n = evaluation->size, steps = acquisition_steps(setting);
  size_t curve[] = {scans, steps + 1}, mask[] = {scans, setting->lines}, image[] = {scans, n, n};
  bool good =
      store_write(store, arena_text(arena, "%s/mask", group), STORE_U8, 2, mask, run->mask, true, error) &&
      store_choice(store, group, run, error) &&
      store_write(store, arena_text(arena, "%s/return", group), STORE_F32, 1, curve, run->returns, false,
                  error);
  for (size_t m = 0; good && m < METRICS; m++)
    if (run->metric[m])
      good = store_write(store, arena_text(arena, "%s/%s", group, metric_list[m].name), STORE_F32, 2, curve,
                         run->metric[m], true, error);
  if (evaluation->kept_count) image[0] = evaluation->kept_count;
  const char *name = evaluation->kept_count ? "kept" : "reconstruction";
  if (good && run->images)
    good = store_write(store, arena_text(arena, "%s/%s", group, name), STORE_F32, 3, image, run->images, true,
                       error);
  arena_close(arena);
  return good;
}

/* The truth of all slices, or of those that are kept. */
static bool store_truth(struct store *store, const struct evaluation *evaluation, struct error *error) {
  size_t kept = evaluation->kept_count,
         shape[] = {kept ? kept : evaluation->slices, evaluation->size, evaluation->size};
  if (!evaluation->truth) return true;
  return store_write(store, kept ? "kept/image" : "slice/image", STORE_F32, 3, shape, evaluation->truth, true,
                     error) &&
         (!kept || store_write(store, "kept/row", STORE_U32, 1, shape, evaluation->kept, false, error));
}

static bool store_slices(struct store *store, const struct evaluation *evaluation, struct error *error) {
  struct arena *arena = arena_open();
  size_t count = evaluation->slices, shape[] = {count}, used = 0, bytes = 1;
  uint32_t *volume = ARENA_NEW(arena, uint32_t, count), *slice = ARENA_NEW(arena, uint32_t, count);
  for (size_t v = 0; v < evaluation->dataset.volume_count; v++)
    bytes += 4 * strlen(evaluation->dataset.volumes[v].name) + 1;
  char *names = arena_new(arena, bytes);
  for (size_t v = 0; v < evaluation->dataset.volume_count; v++) /* shown: one line each, of UTF-8 */
    used += (size_t)sprintf(names + used, "%s%s", v ? "\n" : "",
                            text_shown(arena, evaluation->dataset.volumes[v].name));
  for (size_t i = 0; i < count; i++) {
    volume[i] = (uint32_t)evaluation->report.names[i].volume;
    slice[i] = (uint32_t)evaluation->report.names[i].slice;
  }
  bool good = store_write(store, "slice/volume", STORE_U32, 1, shape, volume, false, error) &&
              store_write(store, "slice/number", STORE_U32, 1, shape, slice, false, error) &&
              store_write(store, "slice/data_range", STORE_F64, 1, shape, evaluation->report.data_range,
                          false, error) &&
              store_write_text(store, "volume_names", names, error) && store_truth(store, evaluation, error);
  arena_close(arena);
  return good;
}

/* Of the policy's checkpoint: the discount it was trained with. */
static bool store_gamma(struct store *store, const char *path, struct error *error) {
  enum { SCENE_MOST = 1 << 16 };
  struct arena *arena = arena_open();
  char *scene = arena_new(arena, SCENE_MOST);
  struct store *policy;
  bool good = store_open(&policy, path, error);
  const char *method = NULL, *gamma = NULL;
  if (good && store_text(policy, "scene", scene, SCENE_MOST)) {
    method = scene_value(scene, "train", "method", arena);
    gamma = scene_value(scene, method && !strcmp(method, "pgmri") ? "pgmri" : "learn", "gamma", arena);
  }
  if (good) store_close(policy);
  if (good && gamma) good = store_put_number(store, "gamma", strtod(gamma, NULL), error);
  arena_close(arena);
  return good;
}

/* A reconstructor that was trained on the scans of a policy says of which, one that was trained with what
 * draws its masks of what kind that is: the two were trained jointly. */
static bool store_group(struct store *store, const struct options *options, struct error *error) {
  static const char *const names[] = {"fixed", "fixed", "joint"}; /* of evaluate.group: auto as found */
  const char *name = names[options->evaluate.group], *path = options->evaluate.reconstructor;
  char with[80];
  if (options->evaluate.group == GROUP_AUTO && *path) {
    struct store *reconstructor;
    if (!store_open(&reconstructor, path, error)) return false;
    if (store_text(reconstructor, "origin_policy", with, sizeof with) ||
        store_text(reconstructor, "sampler", with, sizeof with))
      name = names[GROUP_JOINT];
    store_close(reconstructor);
  }
  const char *of = options->evaluate.policy;
  return store_put_text(store, "group", name, error) && (!*of || store_gamma(store, of, error));
}

static bool store_facts(struct store *store, const struct call *call, const struct evaluation *evaluation,
                        const struct device *device, struct error *error) {
  char *scene = NULL;
  size_t size = 0;
  FILE *memory = open_memstream(&scene, &size);
  if (!memory) return fail(error, "no host memory for the scene's text");
  option_print(&option_table, &call->options, false, memory);
  fclose(memory);
  bool good = store_put_text(store, "version", L2SR_VERSION, error) &&
              store_put_text(store, "device", device->facts.name, error) &&
              store_put_text(store, "driver", device->facts.driver, error) &&
              store_put_text(store, "selection", evaluation->dataset.hash, error) &&
              store_put_text(store, "scene", scene, error) && store_group(store, &call->options, error) &&
              store_put_number(store, "broken_files", (double)evaluation->dataset.broken, error) &&
              store_put_number(store, "broken_volumes", (double)evaluation->report.broken_volumes, error) &&
              store_put_number(store, "constant_slices", (double)evaluation->report.constant, error) &&
              store_put_number(store, "excluded_slices", (double)evaluation->report.excluded, error);
  free(scene);
  return good;
}

static bool write_results(const struct call *call, const struct evaluation *evaluation,
                          const struct device *device, struct error *error) {
  const char *folder = call->options.evaluate.output;
  struct store *store;
  if (!store_create(&store, arena_text(call->arena, "%s/results.h5", folder), error)) return false;
  bool good = store_facts(store, call, evaluation, device, error) && store_slices(store, evaluation, error);
  for (size_t r = 0; good && r < evaluation->run_count; r++)
    good = store_run(store, evaluation, &evaluation->runs[r], error);
  if (!good) {
    store_close(store);
    return false;
  }
  return store_commit(store, error) && write_csv(folder, "slices.csv", evaluation, write_slices, error) &&
         write_csv(folder, "curves.csv", evaluation, write_curves, error);
}

/* ---- the command --------------------------------------------------------------------------------------- */

static bool report(const struct call *call, const struct evaluation *evaluation, const struct device *device,
                   struct error *error) {
  const char *folder = call->options.evaluate.output;
  if (*folder && !write_results(call, evaluation, device, error)) return false;
  if (call_flag(call, "json")) {
    print_json(evaluation, &call->options, device);
    return true;
  }
  dataset_print(&evaluation->dataset, stdout);
  load_print(&evaluation->report, stdout);
  print_table(evaluation, &call->options);
  if (*folder) printf("written: %s/results.h5, slices.csv, curves.csv\n", folder);
  return true;
}

/* With the table over several scenes; NULL: there is one. */
static bool evaluate(struct call *call, struct device *device, struct paper_table *table,
                     struct error *error) {
  struct evaluation evaluation;
  struct evaluate_wish wish = {call->options.evaluate.images, call_flag(call, "kernels")};
  if (!evaluate_open(&evaluation, device, &call->options, &wish, error)) return false;
  bool good = report(call, &evaluation, device, error) &&
              (!table || paper_table_add(table, &evaluation, &call->options, error));
  evaluate_close(&evaluation);
  return good;
}

/* Its file's name, without `.yaml`. */
static const char *scene_name(struct call *call, const char *scene) {
  const char *slash = strrchr(scene, '/'), *name = slash ? slash + 1 : scene;
  size_t length = strlen(name);
  if (length > 5 && !strcmp(name + length - 5, ".yaml")) length -= 5;
  return arena_text(call->arena, "%.*s", (int)length, name);
}

/* Each of several scenes writes into a folder of its own, of the scene's name. */
static bool make_folder(struct call *call, bool several, struct error *error) {
  const char *folder = call->options.evaluate.output;
  if (!*folder) return true;
  if (several)
    call->options.evaluate.output = folder =
        arena_text(call->arena, "%s/%s", folder, scene_name(call, call->scene));
  return folder_make(folder, error);
}

static bool evaluate_all(struct call *call, struct device *device, struct error *error) {
  struct paper_table *table = ARENA_NEW(call->arena, struct paper_table, 1);
  table->arena = call->arena;
  if (!call->operand_count) return evaluate(call, device, NULL, error);
  for (int i = -1; i < call->operand_count; i++)
    if ((i >= 0 && (!call_scene(call, call->operand[i], error) || !make_folder(call, true, error))) ||
        !evaluate(call, device, table, error))
      return fail_in(error, "%s", call->scene ? call->scene : call->operand[i]);
  if (!call_flag(call, "json")) paper_table_print(table, &call->options, stdout);
  return true;
}

static bool check_file(const char *key, const char *path, struct error *error) {
  return !*path || file_is_there(path) ? true
                                       : fail(error, "%s names %s, and there is no such file", key, path);
}

/* Of a scene among several: what can be refused before any of them is evaluated. */
static bool check_scene(struct call *call, const char *metrics, struct error *error) {
  const struct options *options = &call->options;
  if (strcmp(options->evaluate.metrics, metrics))
    return fail_usage(error,
                      "evaluate.metrics is %s, that of the first scene is %s; one table takes one list: set "
                      "it for all with --set evaluate.metrics=[...]",
                      options->evaluate.metrics, metrics);
  return evaluate_check(options, error) && check_file("evaluate.policy", options->evaluate.policy, error) &&
         check_file("evaluate.reconstructor", options->evaluate.reconstructor, error);
}

static bool check_names(struct call *call, const char *first, struct error *error) {
  if (!*call->options.evaluate.output) return true;
  for (int i = 0; i < call->operand_count; i++)
    for (int k = -1; k < i; k++) {
      const char *other = k < 0 ? first : call->operand[k], *name = scene_name(call, other);
      if (!strcmp(scene_name(call, call->operand[i]), name))
        return fail_usage(error, "%s and %s would both write into %s/%s; give one another name", other,
                          call->operand[i], call->options.evaluate.output, name);
    }
  return true;
}

/* All scenes are read and checked before the first is evaluated. */
static bool check_scenes(struct call *call, struct error *error) {
  const char *first = call->scene, *metrics = arena_text(call->arena, "%s", call->options.evaluate.metrics);
  if (!call->operand_count) return true;
  if (!check_names(call, first, error)) return false;
  for (int i = 0; i < call->operand_count; i++)
    if (!call_scene(call, call->operand[i], error)) return false;
  for (int i = -1; i < call->operand_count; i++) {
    const char *scene = i < 0 ? first : call->operand[i];
    if (!call_scene(call, scene, error)) return false;
    if (!check_scene(call, metrics, error)) return fail_in(error, "%s", scene);
  }
  return call_scene(call, first, error);
}

static bool run(struct call *call, struct error *error) {
  return check_scenes(call, error) && make_folder(call, call->operand_count, error) &&
         call_on_device(call, evaluate_all, error);
}

static const struct flag flags[] = {
    {"data", "DIR", "data.path", NULL},
    {"samplers", "A,B,...", "evaluate.samplers", NULL},
    {"policy", "FILE", "evaluate.policy", NULL},
    {"reconstructor", "FILE", "evaluate.reconstructor", NULL},
    {"output", "DIR", "evaluate.output", NULL},
    {"json", NULL, NULL, "prints one JSON object a sampler and setting instead of the table"},
    {NULL, NULL, NULL, NULL},
};

const struct command command_evaluate = {
    .name = "evaluate",
    .operands = "SCENE [SCENE...]",
    .doc = "runs samplers over a data set and prints SSIM, PSNR and NMSE",
    .more = "Every sampler of evaluate.samplers scans every slice once at every pair of\n"
            "acquisition.acceleration and acquisition.horizon. Several scenes, each with its checkpoints\n"
            "and an evaluate.name, end in one table: a setting a row, a method a column.",
    .takes_scene = true,
    .operands_most = 64,
    .flags = flags,
    .run = run,
};
