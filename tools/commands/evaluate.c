/* Every sampler over all slices at every setting: table, curves, per-slice numbers, masks and images. */
#include "systems/coils/maps.h"
#include "systems/methods/evaluate.h"
#include "engine/base/log.h"
#include "engine/base/text.h"
#include "engine/files/scene.h"
#include "systems/methods/evaluate.h"
#include "systems/sampling/geometry.h"
#include "tools/commands/command.h"
#include "tools/ranks/devices.h"
#include "tools/report/cross_table.h"
#include "tools/report/paired_text.h"
#include "tools/report/paper_table.h"
#include "tools/report/results.h"

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
         setting->horizon, setting->initial_lines, setting->budget, scan_shape_choices(&setting->shape), geometry->one,
         evaluation->slices, plural(evaluation->slices));
  if (!geometry->columns && !geometry->points)
    printf(
        "  acceleration %.4g by %ss (all / %u), %.4g by cells where they are evenly spaced (all / cells)\n",
        (double)setting->shape.actions / total, geometry->one, total,
        geometry_acceleration(geometry, &setting->shape, total));
  printf("  %-26s", "sampler");
  for (size_t m = 0; m < METRICS; m++)
    if (is_shown(options, m)) printf(" %19s", metric_list[m].name);
  if (!geometry->columns) printf(" %10s", "all/cells");
  printf(" %10s\n", "scans/s");
}

static void print_result(const struct options *options, const struct evaluate_run *run) {
  printf("  %-26s", run->sampler->name);
  for (size_t m = 0; m < METRICS; m++) {
    double mean, std;
    if (!is_shown(options, m)) continue;
    evaluate_mean(run, m, acquisition_steps(&run->acquisition), &mean, &std);
    if (m == METRIC_AUC) { /* of all slices: there is no deviation */
      printf(" %9.5f %9s", mean, "");
      continue;
    }
    printf(strstr(metric_list[m].name, "psnr")  ? " %9.3f +- %6.3f"
           : strcmp(metric_list[m].name, "mse") ? " %9.5f +- %6.4f"
                                                : " %9.3e +- %6.0e", /* errors are as small as the images */
           mean, std);
  }
  double pixels = (double)scan_shape_pixels(&run->acquisition.shape);
  if (!geometry_of(&run->acquisition)->columns) printf(" %10.3f", pixels / evaluate_cells(run));
  printf(" %10.1f\n", (double)run->scans / run->seconds);
}

/* Runs of one setting stand behind each other. */
static size_t count_runs(const struct evaluation *evaluation, size_t first) {
  const struct evaluate_run *run = &evaluation->runs[first];
  size_t count = 1;
  while (first + count < evaluation->run_count &&
         !memcmp(&run->acquisition, &run[count].acquisition, sizeof run->acquisition))
    count++;
  return count;
}

/* What means are over, and whose scores they are. */
static void print_over(const struct evaluation *evaluation, const struct options *options) {
  static const char *const ranges[] = {
      [RANGE_VOLUME] = "volume", [RANGE_SLICE] = "slice", [RANGE_ATTRIBUTE] = "attribute max"};
  const struct scoring *scoring = evaluation->scoring;
  struct arena *arena = evaluation->arena;
  const char *coils = maps_text(options, arena);
  if (!scoring) {
    printf("\nmean +- population standard deviation over scans; data range by %s; %s%s%s\n",
           ranges[options->data.range], text_shown(arena, evaluation->reconstructor), *coils ? "; " : "", coils);
    return;
  }
  const char *over = scoring_over(scoring, options->evaluate.metrics, arena);
  printf("\nmean +- population standard deviation over %s; data range by %s; %s%s%s\n", over,
         ranges[scoring_range(scoring, options)], text_shown(arena, evaluation->reconstructor), *coils ? "; " : "", coils);
  printf("scores of %s (evaluate.profile %s)%s%s\n", scoring->code, scoring->name,
         strstr(over, "volumes") ? ", volumes: " : "",
         strstr(over, "volumes")
             ? text_shown(arena, scoring_text(&evaluation->scores, &evaluation->dataset, arena))
             : "");
}

static void print_table(const struct evaluation *evaluation, const struct options *options) {
  bool shown[METRICS];
  for (size_t m = 0; m < METRICS; m++) shown[m] = is_shown(options, m);
  for (size_t first = 0, count; first < evaluation->run_count; first += count) {
    count = count_runs(evaluation, first);
    print_setting(evaluation, options, &evaluation->runs[first].acquisition);
    for (size_t r = first; r < first + count; r++) print_result(options, &evaluation->runs[r]);
    paired_print(evaluation, first, count, shown, stdout);
  }
  print_over(evaluation, options);
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

static void print_json_profile(const struct evaluation *evaluation) {
  const struct scoring *scoring = evaluation->scoring;
  if (!scoring) return;
  printf(",\"profile\":\"%s\",\"volumes\":%zu,\"partial_volumes\":%zu,\"units\":{", scoring->name,
         evaluation->scores.volumes, evaluation->scores.partial);
  const char *separator = "";
  for (size_t m = 0; m < METRICS; m++) {
    if (!evaluation->runs[0].metric[m]) continue;
    printf("%s\"%s\":\"%s\"", separator, metric_list[m].name,
           scoring->unit[m] == UNIT_VOLUME ? "volume" : "slice");
    separator = ",";
  }
  putchar('}');
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
           run->acquisition.initial_lines, run->acquisition.budget, run->acquisition.shape.actions,
           geometry_of(&run->acquisition)->name, evaluate_cells(run), evaluation->slices, run->scans,
           evaluation->dataset.hash);
    json_text(stdout, device->facts.name);
    printf(",\"name\":");
    json_text(stdout, options->evaluate.name);
    printf(",\"reconstructor\":");
    json_text(stdout, evaluation->reconstructor);
    print_json_profile(evaluation);
    printf(",\"small_files\":%zu,\"written_files\":%zu,\"ambiguous_files\":%zu,\"broken_files\":%zu,\"broken_volumes\":%zu,"
           "\"constant\":%zu,\"excluded\":%zu",
           evaluation->dataset.small, evaluation->dataset.written + evaluation->report.written_volumes,
           evaluation->dataset.ambiguous, evaluation->dataset.broken,
           evaluation->report.broken_volumes, evaluation->report.constant, evaluation->report.excluded);
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

/* ---- the command --------------------------------------------------------------------------------------- */

/* What an evaluation goes into beside its own files. */
struct place {
  struct paper_table *table; /* over several scenes; NULL: there is one */
  struct cross_table *cross; /* of all pairs; NULL: there are no lists of files */
  size_t row, column;        /* in it */
};

/* Pairs have one table at the end; of what data it is stands before the first. */
static void print_all(const struct call *call, const struct evaluation *evaluation,
                      const struct place *place) {
  if (!place->row && !place->column) {
    dataset_print(&evaluation->dataset, stdout);
    load_print(&evaluation->report, stdout);
  }
  if (!place->cross) print_table(evaluation, &call->options);
}

/* The table first: it is not lost with a file that cannot be written. */
static bool report(const struct call *call, const struct evaluation *evaluation, const struct device *device,
                   struct results *results, const struct place *place, struct error *error) {
  const char *folder = call->options.evaluate.output;
  bool json = call_flag(call, "json");
  if (json)
    print_json(evaluation, &call->options, device);
  else
    print_all(call, evaluation, place);
  if (!results_write(results, &call->options, evaluation, device, error)) return false;
  if (*folder && !json && !place->cross)
    printf("written: %s/results.h5, slices.csv, curves.csv\n", text_shown(call->arena, folder));
  return true;
}

static bool add_to_tables(const struct call *call, const struct evaluation *evaluation,
                          const struct place *place, struct error *error) {
  return (!place->table || paper_table_add(place->table, evaluation, &call->options, error)) &&
         (!place->cross || cross_add(place->cross, place->row, place->column, evaluation, error));
}

/* Evaluates one scene, or one pair. */
static bool evaluate(struct call *call, struct device *device, const struct place *place,
                     struct error *error) {
  struct evaluation evaluation;
  struct results results;
  struct evaluate_config config = {.images = call->options.evaluate.images,
                                   .kernel_folder = call_flag(call, "kernels")};
  if (!results_open(&results, call->options.evaluate.output, call_flag(call, "overwrite"), error))
    return false;
  if (place->cross) {
    results.row = place->cross->row[place->row].name;
    results.column = place->cross->reconstructor[place->column].name;
  }
  bool good = evaluate_open(&evaluation, device, &call->options, &config, error);
  if (good) {
    good = report(call, &evaluation, device, &results, place, error) &&
           add_to_tables(call, &evaluation, place, error);
    evaluate_close(&evaluation);
  }
  results_close(&results);
  return good;
}

/* ---- pairs --------------------------------------------------------------------------------------------- */

static bool check_folder(const struct call *call, struct error *error) {
  return results_check(call->options.evaluate.output, call_flag(call, "overwrite"), error);
}

static bool make_folder(struct call *call, struct error *error) {
  const char *folder = call->options.evaluate.output;
  return !*folder || (check_folder(call, error) && folder_make(folder, error));
}

static bool evaluate_pair(struct call *call, struct device *device, struct cross_table *cross, size_t row,
                          size_t column, struct error *error) {
  struct place place = {.cross = cross, .row = row, .column = column};
  cross_choose(cross, row, column, &call->options);
  return (make_folder(call, error) && evaluate(call, device, &place, error)) ||
         fail_in(error, "%s", call->options.evaluate.name);
}

static bool tell_pairs(const struct call *call, struct cross_table *cross, struct error *error) {
  bool json = call_flag(call, "json");
  if (!json) cross_print(cross, stdout);
  if (!cross_write(cross, error)) return false;
  if (*cross->folder && !json)
    printf("written: %s/cross.csv, and a folder of results for every pair\n",
           text_shown(call->arena, cross->folder));
  return true;
}

/* A wrong checkpoint in the last row or column would end the table after hours. */
static bool check_pairs(struct call *call, struct device *device, const struct cross_table *cross, struct error *error) {
  size_t most = cross->rows > cross->columns ? cross->rows : cross->columns;
  bool good = true;
  for (size_t i = 0; good && i < most; i++) {
    cross_choose(cross, i < cross->rows ? i : 0, i < cross->columns ? i : 0, &call->options);
    good = evaluate_check_files(device, &call->options, error);
  }
  return good;
}

static bool evaluate_pairs(struct call *call, struct device *device, struct error *error) {
  struct cross_table *cross = call->own;
  bool good = check_pairs(call, device, cross, error) && cross_open(cross, call_flag(call, "overwrite"), error);
  for (size_t r = 0; good && r < cross->rows; r++)
    for (size_t c = 0; good && c < cross->columns; c++)
      good = evaluate_pair(call, device, cross, r, c, error);
  good = good && tell_pairs(call, cross, error);
  cross_close(cross);
  return good;
}

/* Everything that a file's name or the folder can be refused for is refused before the first pair. */
static bool run_pairs(struct call *call, struct error *error) {
  struct cross_table *cross = ARENA_NEW(call->arena, struct cross_table, 1);
  struct options kept = call->options;
  bool good = cross_plan(cross, call->arena, &call->options, error);
  for (size_t r = 0; good && r < cross->rows; r++)
    for (size_t c = 0; good && c < cross->columns; c++) {
      cross_choose(cross, r, c, &call->options);
      good = check_folder(call, error);
    }
  call->options = kept;
  call->own = cross;
  return good && call_on_device(call, evaluate_pairs, error);
}

/* ---- scenes -------------------------------------------------------------------------------------------- */

/* The name of the scene's file, without `.yaml`. */
static const char *scene_name(struct call *call, const char *scene) {
  const char *slash = strrchr(scene, '/'), *name = slash ? slash + 1 : scene;
  size_t length = strlen(name);
  if (length > 5 && !strcmp(name + length - 5, ".yaml")) length -= 5;
  return arena_text(call->arena, "%.*s", (int)length, name);
}

/* Each of several scenes writes into a folder of its own, of the scene's name. The first rank writes. */
static void name_folder(struct call *call, bool several) {
  if (ranks_number(call->ranks)) call->options.evaluate.output = "";
  const char *folder = call->options.evaluate.output;
  if (*folder && several)
    call->options.evaluate.output = arena_text(call->arena, "%s/%s", folder, scene_name(call, call->scene));
}

static bool evaluate_all(struct call *call, struct device *device, struct error *error) {
  struct place place = {0};
  if (!call->operand_count) return evaluate(call, device, &place, error);
  place.table = ARENA_NEW(call->arena, struct paper_table, 1);
  place.table->arena = call->arena;
  for (int i = -1; i < call->operand_count; i++) {
    if (i >= 0 && !call_scene(call, call->operand[i], error)) return fail_in(error, "%s", call->operand[i]);
    if (i >= 0) name_folder(call, true);
    if ((i >= 0 && !make_folder(call, error)) || !evaluate(call, device, &place, error))
      return fail_in(error, "%s", call->scene);
  }
  if (!call_flag(call, "json")) paper_table_print(place.table, &call->options, stdout);
  return true;
}

static bool check_file(const char *key, const char *path, struct error *error) {
  return !*path || file_is_there(path) ? true
                                       : fail(error, "%s names %s, and there is no such file", key, path);
}

/* Refuses what can be refused of one scene among several before any of them is evaluated. */
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
    name_folder(call, true);
    if (!check_scene(call, metrics, error) || !check_folder(call, error)) return fail_in(error, "%s", scene);
  }
  return call_scene(call, first, error);
}

static bool run_joined(struct call *call, struct error *error) {
  if (!check_scenes(call, error)) return false;
  name_folder(call, call->operand_count);
  if (!call->operand_count && cross_is_asked(&call->options)) return run_pairs(call, error);
  const char *folder = call->options.evaluate.output;
  size_t there = *folder ? folder_there(folder) : 0;
  bool good = make_folder(call, error) && call_on_device(call, evaluate_all, error);
  if (!good && *folder) folder_unmake(folder, there);
  return good;
}

static bool run_evaluate(struct call *call, struct error *error) {
  struct ranks known;
  return devices_join(call, &known, error) && devices_leave(call, run_joined(call, error), error);
}

static const struct flag flags[] = {
    {"data", "DIR", "data.path", NULL},
    FLAG_TRACE,
    {"samplers", "A,B,...", "evaluate.samplers", NULL},
    {"policy", "FILE", "evaluate.policy", NULL},
    {"reconstructor", "FILE", "evaluate.reconstructor", NULL},
    {"policies", "A,B,...", "evaluate.policies", NULL},
    {"masks", "A,B,...", "evaluate.masks", NULL},
    {"reconstructors", "A,B,...", "evaluate.reconstructors", NULL},
    {"output", "DIR", "evaluate.output", NULL},
    {"overwrite", NULL, NULL, "replaces the results in DIR"},
    {"devices", "LIST", NULL, "scans on several devices of this host at once, as l2sr train does: all, or places as 0,1"},
    {"json", NULL, NULL, "prints one JSON object for every sampler and setting instead of the table"},
    {NULL, NULL, NULL, NULL},
};

const struct command command_evaluate = {
    .name = "evaluate",
    .operands = "SCENE [SCENE...]",
    .doc = "runs samplers over a data set and prints SSIM, PSNR and NMSE",
    .more =
        "Every sampler of evaluate.samplers scans every slice once, at every pair of "
        "acquisition.acceleration and acquisition.horizon. Several scenes, each with its checkpoints "
        "and an evaluate.name, end in one table: a setting a row, a method a column.\n"
        "--policies, --masks and --reconstructors name several files each. Every policy, mask and sampler is "
        "then evaluated with every reconstructor: one table, a chooser a row, a reconstructor a column.\n"
        "Nothing is evaluated if DIR holds results already, unless --overwrite is given.",
    .takes_scene = true,
    .operands_most = 64,
    .flags = flags,
    .run = run_evaluate,
};
