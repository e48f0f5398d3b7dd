#include "tools/report/results.h"

#include "engine/base/text.h"
#include "engine/files/scene.h"
#include "systems/data/patients.h"
#include "systems/methods/method.h"
#include "systems/sampling/geometry.h"
#include "systems/sampling/samplers.h"
#include "tools/report/csv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* A volume's score stands with its first slice, and the others' cells are empty. */
static void write_score(FILE *file, const struct evaluate_run *run, size_t metric, size_t scan,
                        size_t steps) {
  if (run->holds[metric] && !run->holds[metric][scan % run->slices])
    fputc(',', file);
  else
    fprintf(file, ",%.9g", run->metric[metric][scan * steps + steps - 1]);
}

/* Ends the row by whose scores they are, where they are not l2sr's own. */
static void write_profile(FILE *file, const struct evaluation *evaluation) {
  if (evaluation->scoring) fprintf(file, ",%s", evaluation->scoring->name);
  fputc('\n', file);
}

static void write_slices(FILE *file, const struct evaluation *evaluation) {
  fprintf(file, "acceleration,horizon,sampler,volume,slice,trajectory,data_range,lines");
  write_metric_names(file, evaluation, "");
  fprintf(file, ",return,patient%s\n", evaluation->scoring ? ",profile" : "");
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
        if (run->metric[m]) write_score(file, run, m, i, steps);
      fprintf(file, ",%.9g,", run->returns[i]);
      csv_text(file, patient_of(&evaluation->dataset.volumes[name->volume]));
      write_profile(file, evaluation);
    }
}

static void write_curves(FILE *file, const struct evaluation *evaluation) {
  fprintf(file, "acceleration,horizon,sampler,lines");
  write_metric_names(file, evaluation, "_mean");
  write_metric_names(file, evaluation, "_std");
  fprintf(file, "%s\n", evaluation->scoring ? ",profile" : "");
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
      write_profile(file, evaluation);
    }
  }
}

/* ---- HDF5 ---------------------------------------------------------------------------------------------- */

/* Stores the actions in the order of the choice; for points the mask given at the start, for all others came
 * at once. */
static bool store_choice(struct store *store, const char *group, const struct evaluate_run *run,
                         struct error *error) {
  const struct acquisition *setting = &run->acquisition;
  size_t action[] = {run->scans, acquisition_steps(setting)}, initial[] = {setting->shape.actions};
  struct arena *arena = arena_open();
  uint8_t *given = ARENA_NEW(arena, uint8_t, setting->shape.actions);
  acquisition_initial(setting, given);
  bool good = geometry_of(setting)->points ? store_write(store, arena_text(arena, "%s/initial", group),
                                                         STORE_U8, 1, initial, given, true, error)
                                           : store_write(store, arena_text(arena, "%s/action", group),
                                                         STORE_U32, 2, action, run->action, true, error);
  arena_close(arena);
  return good;
}

static bool store_result(struct store *store, const struct evaluation *evaluation,
                      const struct evaluate_run *run, struct error *error) {
  struct arena *arena = arena_open();
  const struct acquisition *setting = &run->acquisition;
  const char *group =
      arena_text(arena, "x%u_%s/%s", setting->acceleration, setting->horizon, run->sampler->name);
  size_t scans = run->scans, steps = acquisition_steps(setting);
  size_t curve[] = {scans, steps + 1}, mask[] = {scans, setting->shape.actions},
         image[] = {scans, setting->shape.height, setting->shape.width};
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
         shape[] = {kept ? kept : evaluation->slices, evaluation->shape.height, evaluation->shape.width};
  if (!evaluation->truth) return true;
  return store_write(store, kept ? "kept/image" : "slice/image", STORE_F32, 3, shape, evaluation->truth, true,
                     error) &&
         (!kept || store_write(store, "kept/row", STORE_U32, 1, shape, evaluation->kept, false, error));
}

static const char *name_of(const struct volume *volume) {
  return volume->name;
}

/* Writes a text with a line for every volume, of UTF-8. */
static bool store_lines(struct store *store, const char *name, const struct dataset *dataset,
                        const char *(*of)(const struct volume *volume), struct error *error) {
  struct arena *arena = arena_open();
  size_t used = 0, bytes = 1;
  for (size_t v = 0; v < dataset->volume_count; v++) bytes += 4 * strlen(of(&dataset->volumes[v])) + 1;
  char *lines = arena_new(arena, bytes);
  for (size_t v = 0; v < dataset->volume_count; v++)
    used += (size_t)sprintf(lines + used, "%s%s", v ? "\n" : "", text_shown(arena, of(&dataset->volumes[v])));
  bool good = store_write_text(store, name, lines, error);
  arena_close(arena);
  return good;
}

/* Of results that a classifier has scored. */
static bool store_labels(struct store *store, const struct evaluation *evaluation, struct arena *arena, struct error *error) {
  const size_t shape[] = {evaluation->slices};
  float *label = ARENA_NEW(arena, float, evaluation->slices);
  if (!*evaluation->classifier) return true;
  for (size_t i = 0; i < evaluation->slices; i++) {
    const struct slice_name *name = &evaluation->report.names[i];
    label[i] = evaluation->dataset.volumes[name->volume].label[name->slice];
  }
  return store_put_text(store, "classifier", evaluation->classifier, error) &&
         store_write(store, "slice/label", STORE_F32, 1, shape, label, false, error);
}

static bool store_slices(struct store *store, const struct evaluation *evaluation, struct error *error) {
  struct arena *arena = arena_open();
  const struct dataset *dataset = &evaluation->dataset;
  size_t count = evaluation->slices, shape[] = {count};
  uint32_t *volume = ARENA_NEW(arena, uint32_t, count), *slice = ARENA_NEW(arena, uint32_t, count);
  for (size_t i = 0; i < count; i++) {
    volume[i] = (uint32_t)evaluation->report.names[i].volume;
    slice[i] = (uint32_t)evaluation->report.names[i].slice;
  }
  bool good = store_write(store, "slice/volume", STORE_U32, 1, shape, volume, false, error) && store_labels(store, evaluation, arena, error) &&
              store_write(store, "slice/number", STORE_U32, 1, shape, slice, false, error) &&
              store_write(store, "slice/data_range", STORE_F64, 1, shape, evaluation->report.data_range,
                          false, error) &&
              store_lines(store, "volume_names", dataset, name_of, error) &&
              store_lines(store, "patient", dataset, patient_of, error) &&
              store_truth(store, evaluation, error);
  arena_close(arena);
  return good;
}

/* The scene that a checkpoint was trained with; "": it has none. */
static bool read_scene(const char *path, struct arena *arena, const char **scene, struct error *error) {
  enum { SCENE_MOST = 1 << 16 };
  char *text = arena_new(arena, SCENE_MOST);
  struct store *store;
  if (!store_open(&store, path, error)) return false;
  *scene = store_text(store, "scene", text, SCENE_MOST) ? text : "";
  store_close(store);
  return true;
}

/* Stores the discount that the policy was trained with, from its checkpoint. */
static bool store_gamma(struct store *store, const char *path, struct error *error) {
  struct arena *arena = arena_open();
  const char *scene;
  bool good = read_scene(path, arena, &scene, error);
  double gamma = good ? method_gamma(scene) : NAN;
  if (good && !isnan(gamma)) good = store_put_number(store, "gamma", gamma, error);
  arena_close(arena);
  return good;
}

/* Stores the seed that the checkpoint was trained with; path "": there is none. */
static bool store_seed(struct store *store, const char *name, const char *path, struct error *error) {
  struct arena *arena = arena_open();
  const char *scene, *seed = NULL;
  bool good = !*path || read_scene(path, arena, &scene, error);
  if (good && *path) seed = scene_value(scene, "world", "seed", arena);
  if (seed) good = store_put_number(store, name, strtod(seed, NULL), error);
  arena_close(arena);
  return good;
}

static bool is_stored(const char *path) {
  size_t length = strlen(path);
  return length > 3 && !strcmp(path + length - 3, ".h5");
}

/* What was trained with which seed, so that a report tells spread between seeds from that between slices. */
static bool store_seeds(struct store *store, const struct options *options, struct error *error) {
  const char *samplers = options->evaluate.samplers, *mask = options->sampler.mask;
  bool masked = false;
  for (const struct sampler *sampler = sampler_list; sampler->name; sampler++)
    masked |= is_stored(mask) && sampler_takes_mask(sampler->name) && option_has(samplers, sampler->name);
  bool steps = option_has(samplers, "tau_step") || option_has(samplers, "tau_step_best");
  return store_seed(store, "seed_policy", options->evaluate.policy, error) &&
         store_seed(store, "seed_mask", masked ? mask : "", error) &&
         store_seed(store, "seed_tau_step", steps ? options->sampler.tau_step : "", error) &&
         store_seed(store, "seed_reconstructor", options->evaluate.reconstructor, error);
}

/* Names the group of a method: a reconstructor that was trained on a policy's scans, or with what draws its
 * masks, was trained jointly with it. */
static bool store_group(struct store *store, const struct options *options, struct error *error) {
  static const char *const groups[] = {
      [GROUP_AUTO] = "fixed" /* where nothing is found */, [GROUP_FIXED] = "fixed", [GROUP_JOINT] = "joint"};
  const char *name = groups[options->evaluate.group], *path = options->evaluate.reconstructor;
  char with[80];
  if (options->evaluate.group == GROUP_AUTO && *path) {
    struct store *reconstructor;
    if (!store_open(&reconstructor, path, error)) return false;
    if (store_text(reconstructor, "origin_policy", with, sizeof with) ||
        store_text(reconstructor, "origin_masks", with, sizeof with) ||
        store_text(reconstructor, "sampler", with, sizeof with))
      name = groups[GROUP_JOINT];
    store_close(reconstructor);
  }
  const char *of = options->evaluate.policy;
  return store_put_text(store, "group", name, error) && (!*of || store_gamma(store, of, error));
}

/* Whose scores they are and of what, where they are not l2sr's own. */
static bool store_profile(struct store *store, const struct evaluation *evaluation, struct error *error) {
  const struct scoring *scoring = evaluation->scoring;
  struct arena *arena = arena_open();
  const char *units = "";
  for (size_t m = 0; scoring && m < METRICS; m++)
    if (evaluation->runs[0].metric[m])
      units = arena_text(arena, "%s%s%s %s", units, *units ? "\n" : "", metric_list[m].name,
                         scoring->unit[m] == UNIT_VOLUME ? "volume" : "slice");
  bool good =
      !scoring || (store_put_text(store, "profile", scoring->name, error) &&
                   store_put_text(store, "units", units, error) &&
                   store_put_number(store, "partial_volumes", (double)evaluation->scores.partial, error));
  arena_close(arena);
  return good;
}

static bool store_facts(struct store *store, const struct options *options,
                        const struct evaluation *evaluation, const struct device *device,
                        struct error *error) {
  char *scene = NULL;
  size_t size = 0;
  FILE *memory = open_memstream(&scene, &size);
  if (!memory) return fail(error, "no host memory for the scene's text");
  option_print(&option_table, options, false, memory);
  fclose(memory);
  bool good =
      store_put_text(store, "version", L2SR_VERSION, error) &&
      store_put_text(store, "device", device->facts.name, error) &&
      store_put_text(store, "driver", device->facts.driver, error) &&
      store_put_text(store, "selection", evaluation->dataset.hash, error) &&
      store_put_text(store, "scene", scene, error) && store_group(store, options, error) &&
      store_profile(store, evaluation, error) && store_seeds(store, options, error) &&
      store_put_number(store, "small_files", (double)evaluation->dataset.small, error) &&
      store_put_number(store, "written_files",
                       (double)(evaluation->dataset.written + evaluation->report.written_volumes), error) &&
      store_put_number(store, "broken_files", (double)evaluation->dataset.broken, error) &&
      store_put_number(store, "broken_volumes", (double)evaluation->report.broken_volumes, error) &&
      store_put_number(store, "constant_slices", (double)evaluation->report.constant, error) &&
      store_put_number(store, "excluded_slices", (double)evaluation->report.excluded, error);
  free(scene);
  return good;
}

/* Where in a cross table these results stand. */
static bool store_pair(const struct results *results, struct error *error) {
  return !results->row || (store_put_text(results->store, "cross_row", results->row, error) &&
                           store_put_text(results->store, "cross_column", results->column, error));
}

/* ---- the files ----------------------------------------------------------------------------------------- */

static const char *const names[] = {"results.h5", "slices.csv", "curves.csv"};

bool results_check(const char *folder, bool overwrite, struct error *error) {
  struct arena *arena = arena_open();
  bool good = true;
  for (size_t i = 0; good && *folder && !overwrite && i < sizeof names / sizeof *names; i++)
    if (file_is_there(arena_text(arena, "%s/%s", folder, names[i])))
      good = fail(error, "%s holds results (%s); replace them with --overwrite, or choose another --output",
                  folder, names[i]);
  arena_close(arena);
  return good;
}

bool results_open(struct results *results, const char *folder, bool overwrite, struct error *error) {
  struct arena *arena = arena_open();
  *results = (struct results){.folder = folder, .overwrite = overwrite, .held = -1};
  bool good =
      !*folder || (folder_hold(folder, &results->held, error) && results_check(folder, overwrite, error) &&
                   store_create(&results->store, arena_text(arena, "%s/%s", folder, names[0]), error) &&
                   file_create(&results->slices, arena_text(arena, "%s/%s", folder, names[1]), error) &&
                   file_create(&results->curves, arena_text(arena, "%s/%s", folder, names[2]), error));
  arena_close(arena);
  if (!good) results_close(results);
  return good;
}

void results_close(struct results *results) {
  store_close(results->store);
  file_abandon(&results->slices);
  file_abandon(&results->curves);
  if (results->held >= 0) close(results->held);
  *results = (struct results){.folder = "", .held = -1};
}

static bool commit_store(struct results *results, struct error *error) {
  struct store *store = results->store;
  results->store = NULL; /* closes it in any case */
  return store_commit(store, error);
}

/* Where the disk is full, none of them takes its place: new numbers beside old ones would pass for one run's.
 */
static bool commit(struct results *results, struct error *error) {
  return file_finish(&results->slices, error) && file_finish(&results->curves, error) &&
         commit_store(results, error) && file_take_place(&results->slices, error) &&
         file_take_place(&results->curves, error);
}

bool results_write(struct results *results, const struct options *options,
                   const struct evaluation *evaluation, const struct device *device, struct error *error) {
  struct store *store = results->store;
  if (!*results->folder) return true;
  write_slices(results->slices.file, evaluation);
  write_curves(results->curves.file, evaluation);
  if (!store_facts(store, options, evaluation, device, error) || !store_pair(results, error) ||
      !store_slices(store, evaluation, error))
    return false;
  for (size_t r = 0; r < evaluation->run_count; r++)
    if (!store_result(store, evaluation, &evaluation->runs[r], error)) return false;
  /* another run may have ended meanwhile */
  return results_check(results->folder, results->overwrite, error) && commit(results, error);
}
