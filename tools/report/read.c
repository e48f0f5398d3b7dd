/* Results of `l2sr evaluate`: which slices, which settings, which methods, and what they scored. */
#include "components/options.h"
#include "engine/base/log.h"
#include "engine/base/option.h"
#include "engine/files/scene.h"
#include "engine/files/store.h"
#include "kernels/kernels.h"
#include "systems/sampling/samplers.h"
#include "tools/report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SCENE_MOST = 1 << 16, NAMES_MOST = 1 << 20 };

struct reading {
  struct report *report;
  struct store *store;
  const char *path, *scene;
  size_t set;
  const char *groups[REPORT_RUNS]; /* "x4_base/random" */
  size_t group_count;
  bool full, set_known;
};

/* ---- what the file says of itself ---------------------------------------------------------------------- */

/* Unquotes a scalar of a scene. */
static const char *unquote(const char *text, struct arena *arena) {
  char *plain = arena_new(arena, strlen(text) + 1), *to = plain;
  if (*text != '"') return text;
  for (text++; *text && *text != '"'; text++) {
    if (*text == '\\' && text[1] == 'x' && text[2] && text[3]) {
      *to++ = (char)strtoul(arena_text(arena, "%.2s", text + 2), NULL, 16);
      text += 3;
      continue;
    }
    if (*text == '\\' && text[1]) text++;
    *to++ = *text;
  }
  return plain;
}

static const char *scene_word(const struct reading *reading, const char *name) {
  const char *value = scene_value(reading->scene, "evaluate", name, reading->report->arena);
  return value ? unquote(value, reading->report->arena) : "";
}

/* Values of the keys that say what was tested; results of before there was a key have its default. */
static const char **test_keys(const char *scene, struct arena *arena) {
  const char **value = ARENA_NEW(arena, const char *, option_table.count);
  for (size_t i = 0; i < option_table.count; i++) {
    const struct option *row = &option_table.rows[i];
    if (row->concerns != CONCERNS_TEST && row->concerns != CONCERNS_SLICES) continue;
    const char *text = scene_value(scene, row->section, row->name, arena);
    value[i] = text ? unquote(text, arena) : row->standard;
  }
  return value;
}

/* Whose the files are; NULL: results of before do not say. */
static bool read_patients(const struct reading *reading, struct report_set *set, struct error *error) {
  char *patients = arena_new(reading->report->arena, NAMES_MOST);
  size_t lines[2] = {1, 1};
  set->patients = NULL;
  if (!store_text(reading->store, "patient", patients, NAMES_MOST)) return true;
  for (const char *c = set->names; *c; c++) lines[0] += *c == '\n';
  for (const char *c = patients; *c; c++) lines[1] += *c == '\n';
  bool cut = strlen(set->names) + 1 >= NAMES_MOST || strlen(patients) + 1 >= NAMES_MOST;
  if (!cut && lines[0] != lines[1])
    return fail(error, "%s is damaged: patient has %zu lines, volume_names %zu; evaluate again",
                reading->path, lines[1], lines[0]);
  set->patients = cut ? NULL : patients;
  return true;
}

static bool check_version(struct reading *reading, struct error *error) {
  struct report *report = reading->report;
  char *version = arena_new(report->arena, 64), *scene = arena_new(report->arena, SCENE_MOST);
  if (!store_text(reading->store, "version", version, 64) ||
      !store_text(reading->store, "scene", scene, SCENE_MOST) || !store_has(reading->store, "slice/volume"))
    return fail(error,
                "%s holds no results of l2sr evaluate (version, scene or slice/volume is missing); name "
                "results.h5, the folder of a training or the JSON of bench inference",
                reading->path);
  reading->scene = scene;
  if (!report->version) {
    report->version = version;
    report->version_path = reading->path;
  }
  if (!strcmp(report->version, version)) return true;
  return fail(
      error,
      "%s is of version %s and %s of version %s; their numbers do not go into one table: evaluate both "
      "with one version, or write two reports",
      report->version_path, report->version, reading->path, version);
}

/* ---- slices -------------------------------------------------------------------------------------------- */

/* Files without slices have numbers too. There may be more volumes than slices, but not more than names; very
 * many names are not all read. */
static bool count_volumes(const struct reading *reading, struct report_set *set, struct error *error) {
  size_t names = 1;
  for (const char *c = set->names; *c; c++) names += *c == '\n';
  if (strlen(set->names) + 1 >= NAMES_MOST) names = REPORT_VOLUMES;
  for (size_t i = 0; i < set->slices; i++) {
    if (set->volume[i] >= names)
      return fail(error, "%s is damaged: slice/volume names volume %u at slice %zu; there are names of %zu",
                  reading->path, set->volume[i], i, names);
    if (set->volume[i] >= set->volumes) set->volumes = (size_t)set->volume[i] + 1;
  }
  return true;
}

static bool read_set(struct reading *reading, struct report_set *set, struct error *error) {
  struct arena *arena = reading->report->arena;
  char *selection = arena_new(arena, 80), *names = arena_new(arena, NAMES_MOST);
  const size_t most = REPORT_SLICES;
  size_t numbers = 0, ranges = 0;
  double partial;
  *set = (struct report_set){.path = reading->path, .selection = selection, .names = names};
  if (!store_text(reading->store, "selection", selection, 80) ||
      !store_text(reading->store, "volume_names", names, NAMES_MOST))
    return fail(error, "%s does not say of which files it is (selection, volume_names); evaluate again",
                reading->path);
  if (!store_read_all(reading->store, "slice/volume", STORE_U32, most, arena, (void **)&set->volume,
                      &set->slices, error) ||
      !store_read_all(reading->store, "slice/number", STORE_U32, most, arena, (void **)&set->number, &numbers,
                      error) ||
      !store_read_all(reading->store, "slice/data_range", STORE_F64, most, arena, (void **)&set->range,
                      &ranges, error))
    return false;
  if (!set->slices)
    return fail(error, "%s holds no slices; evaluate a data set that has some", reading->path);
  if (numbers != set->slices || ranges != set->slices)
    return fail(error,
                "%s is damaged: slice/volume has %zu entries, slice/number %zu and slice/data_range %zu",
                reading->path, set->slices, numbers, ranges);
  set->key = test_keys(reading->scene, arena);
  set->scoring = scoring_named(set->key[OPTION_ROW_evaluate_profile]);
  store_text(reading->store, "classifier", set->classifier, sizeof set->classifier);
  if (store_number(reading->store, "partial_volumes", &partial)) set->partial = (size_t)partial;
  return read_patients(reading, set, error) && count_volumes(reading, set, error);
}

/* Volumes are files, in the order of their first slices. */
static void find_units(struct report *report, struct report_set *set) {
  struct report_units slices = {"slice", 0, ARENA_NEW(report->arena, size_t, set->slices), set->clusters.of},
                      volumes = {"volume", 0, ARENA_NEW(report->arena, size_t, set->slices),
                                 ARENA_NEW(report->arena, unsigned, set->slices)};
  bool *seen = ARENA_NEW(report->arena, bool, set->volumes + 1);
  for (size_t i = 0; i < set->slices; i++) {
    slices.row[slices.count++] = i;
    if (seen[set->volume[i]]) continue;
    seen[set->volume[i]] = true;
    volumes.cluster[volumes.count] = set->clusters.of[i];
    volumes.row[volumes.count++] = i;
  }
  set->by_slice = slices;
  set->by_volume = volumes;
}

static void find_clusters(struct report *report, struct report_set *set) {
  set->clusters = clusters_read(report->arena, set->names, set->patients, set->volume, set->slices);
  find_units(report, set);
}

/* Results of before do not say whose their files are; others of the same slices do. */
static void share_patients(struct report *report, struct report_set *set, const struct report_set *other) {
  if (set->patients && other->patients && strcmp(set->patients, other->patients))
    log_warning(
        "%s has other patients than %s has for the same files; intervals are over those of the latter",
        other->path, set->path);
  if (set->patients || !other->patients) return;
  set->patients = other->patients;
  find_clusters(report, set);
}

static bool same_keys(const struct report_set *a, const struct report_set *b) {
  for (size_t i = 0; i < option_table.count; i++)
    if (option_table.rows[i].concerns == CONCERNS_TEST && strcmp(a->key[i], b->key[i])) return false;
  return true;
}

/* Results that no classifier has scored have no scores by one. */
static bool same_classifier(const struct report_set *a, const struct report_set *b) {
  return !*a->classifier || !*b->classifier || !strcmp(a->classifier, b->classifier);
}

static bool same_set(const struct report_set *a, const struct report_set *b) {
  return same_classifier(a, b) && scan_shape_same_sides(&a->shape, &b->shape) && a->slices == b->slices &&
         !strcmp(a->selection, b->selection) && !strcmp(a->names, b->names) && same_keys(a, b) &&
         !memcmp(a->volume, b->volume, a->slices * sizeof *a->volume) &&
         !memcmp(a->number, b->number, a->slices * sizeof *a->number) &&
         !memcmp(a->range, b->range, a->slices * sizeof *a->range);
}

/* The sides of masks tell of their actions, for a scene has one geometry. */
static bool find_set(struct reading *reading, const struct scan_shape *shape, struct error *error) {
  struct report *report = reading->report;
  struct report_set set;
  if (reading->set_known)
    return scan_shape_same_sides(shape, &report->set[reading->set].shape)
               ? true
               : fail(error, "%s is damaged: masks of %u and of %u actions", reading->path, shape->actions,
                      report->set[reading->set].shape.actions);
  if (!read_set(reading, &set, error)) return false;
  set.shape = *shape;
  reading->set_known = true;
  for (reading->set = 0; reading->set < report->sets; reading->set++)
    if (same_set(&report->set[reading->set], &set)) {
      share_patients(report, &report->set[reading->set], &set);
      if (*set.classifier) strcpy(report->set[reading->set].classifier, set.classifier);
      return true;
    }
  if (report->sets == REPORT_SETS)
    return fail(error, "the results are of more than %d data sets; write several reports", REPORT_SETS);
  find_clusters(report, &set);
  report->set[report->sets++] = set;
  return true;
}

/* ---- settings ------------------------------------------------------------------------------------------ */

static const char *label_of(struct arena *arena, const struct report_setting *setting) {
  const char *horizon = !strcmp(setting->horizon, "base")   ? "Base"
                        : !strcmp(setting->horizon, "long") ? "Long"
                                                            : NULL;
  const struct geometry *geometry = setting->geometry;
  if (horizon && geometry == geometry_list)
    return arena_text(arena, "\u00d7%u %s", setting->acceleration, horizon);
  if (horizon) return arena_text(arena, "\u00d7%u %s, %s", setting->acceleration, horizon, geometry->name);
  return arena_text(arena, "\u00d7%u, %u + %u %ss", setting->acceleration, setting->initial_lines,
                    setting->budget, geometry->one);
}

/* Initial lines that were given as a number may be those of a horizon. */
static bool same_horizon(const char *a, const char *b) {
  return !strcmp(a, b) || !strcmp(a, "custom") || !strcmp(b, "custom");
}

static bool find_setting(struct report *report, struct report_setting *wanted, size_t *place,
                         struct error *error) {
  for (*place = 0; *place < report->settings; ++*place) {
    const struct report_setting *setting = &report->setting[*place];
    if (setting->set == wanted->set && setting->geometry == wanted->geometry &&
        setting->acceleration == wanted->acceleration && setting->initial_lines == wanted->initial_lines &&
        setting->budget == wanted->budget && same_horizon(setting->horizon, wanted->horizon))
      return true;
  }
  if (report->settings == REPORT_SETTINGS)
    return fail(error, "the results have more than %d settings; write several reports", REPORT_SETTINGS);
  wanted->label = label_of(report->arena, wanted);
  report->setting[report->settings++] = *wanted;
  return true;
}

/* ---- runs ---------------------------------------------------------------------------------------------- */

static void see_dataset(const char *name, void *context) {
  struct reading *reading = context;
  size_t length = strlen(name), end = strlen("/mask");
  if (*name != 'x' || length <= end || strcmp(name + length - end, "/mask")) return;
  reading->full = reading->group_count == REPORT_RUNS;
  if (!reading->full)
    reading->groups[reading->group_count++] =
        arena_text(reading->report->arena, "%.*s", (int)(length - end), name);
}

/* Results of before have zeros where others have NaN. */
static bool is_scored(float score) {
  return !isnan(score) && score != 0;
}

static bool read_metric(struct reading *reading, struct report_run *run, size_t metric, struct error *error) {
  const char *name = arena_text(reading->report->arena, "%s/%s", run->folder, metric_list[metric].name);
  size_t total, first = 0;
  if (!store_has(reading->store, name)) return true;
  if (!store_read_all(reading->store, name, STORE_F32, run->scans * run->steps, reading->report->arena,
                      (void **)&run->metric[metric], &total, error))
    return false;
  if (total != run->scans * run->steps)
    return fail(error, "%s: %s has %zu values, expected %zu scans of %zu; the file is damaged", reading->path,
                name, total, run->scans, run->steps);
  while (first < run->scans && !is_scored(run->metric[metric][first * run->steps])) first++;
  run->curve |= metric == 0 && run->steps > 1 && first < run->scans;
  return true;
}

/* The lines that a scan was given are those of its mask that it did not choose; points are named. */
static bool read_initial(struct reading *reading, struct report_run *run, size_t size,
                         const struct geometry *geometry, struct error *error) {
  struct arena *arena = reading->report->arena;
  uint32_t *action;
  size_t total;
  if (geometry->points)
    return store_read_all(reading->store, arena_text(arena, "%s/initial", run->folder), STORE_U8, size, arena,
                          (void **)&run->initial, &total, error) &&
           (total == size || fail(error, "%s: %s/initial has %zu points, expected %zu; the file is damaged",
                                  reading->path, run->folder, total, size));
  if (!store_read_all(reading->store, arena_text(arena, "%s/action", run->folder), STORE_U32,
                      run->scans * (run->steps - 1), arena, (void **)&action, &total, error))
    return false;
  for (size_t i = 0; i < total; i++)
    if (action[i] >= size && action[i] != NO_LINE)
      return fail(error, "%s: %s/action names %s %u of %zu; the file is damaged", reading->path, run->folder,
                  geometry->one, action[i], size);
  run->initial = arena_new(arena, size);
  memcpy(run->initial, run->mask, size);
  for (size_t t = 0; t + 1 < run->steps; t++)
    if (action[t] < size) run->initial[action[t]] = 0;
  return true;
}

/* Reads the mask, and how many actions a scan was given and chose. */
static bool read_mask(struct reading *reading, struct report_run *run, size_t size,
                      struct report_setting *setting, struct error *error) {
  size_t total;
  if (!store_read_all(reading->store, arena_text(reading->report->arena, "%s/mask", run->folder), STORE_U8,
                      run->scans * size, reading->report->arena, (void **)&run->mask, &total, error) ||
      !read_initial(reading, run, size, setting->geometry, error))
    return false;
  for (size_t x = 0; x < size; x++) {
    setting->initial_lines += run->initial[x] != 0;
    setting->budget += run->mask[x] && !run->initial[x];
  }
  return true;
}

static const char *method_of(const struct reading *reading, const char *sampler) {
  const char *name = scene_word(reading, "name"), *policy = scene_word(reading, "policy");
  const char *samplers = scene_value(reading->scene, "evaluate", "samplers", reading->report->arena);
  bool only = !*policy && samplers && !strchr(samplers, ',');
  return *name && (only || !strcmp(sampler, sampler_policy.name)) ? name : sampler;
}

static bool is_oracle(const char *sampler) {
  struct error error;
  const struct sampler *found = sampler_find(sampler, &error);
  return found && sampler_is_oracle(found);
}

/* Points have no actions: all are one step. */
static bool read_shape(struct reading *reading, struct report_run *run, bool points, size_t *size,
                       struct error *error) {
  struct arena *arena = reading->report->arena;
  struct store_shape mask, action = {.rank = 2, .size = {0, 1}};
  if (!store_shape(reading->store, arena_text(arena, "%s/mask", run->folder), &mask, error) ||
      (!points && !store_shape(reading->store, arena_text(arena, "%s/action", run->folder), &action, error)))
    return false;
  if (points) action.size[0] = mask.size[0];
  if (mask.rank != 2 || action.rank != 2 || mask.size[0] != action.size[0] || !mask.size[0] || !mask.size[1])
    return fail(error, "%s: %s holds no scans, or mask and action of other numbers of them; evaluate again",
                reading->path, run->folder);
  if (mask.size[0] > REPORT_SCANS || mask.size[1] > REPORT_STEPS || action.size[1] > REPORT_STEPS)
    return fail(error,
                "%s: %s has %zu scans, masks of %zu and %zu actions; at most %d of %d are read: the file is "
                "damaged",
                reading->path, run->folder, mask.size[0], mask.size[1], action.size[1], REPORT_SCANS,
                REPORT_STEPS);
  if (action.size[1] > mask.size[1])
    return fail(error, "%s: %s has %zu actions a scan and masks of %zu; the file is damaged", reading->path,
                run->folder, action.size[1], mask.size[1]);
  run->scans = mask.size[0];
  run->steps = action.size[1] + 1;
  *size = mask.size[1];
  return true;
}

/* The sides of the images: those of the scene where they differ, else by the actions of a scan: as many, or
 * its square where they are points. */
static bool find_shape(const struct reading *reading, const struct report_run *run,
                       const struct geometry *geometry, size_t size, struct scan_shape *shape,
                       struct error *error) {
  const char *sides = scene_value(reading->scene, "data", "size", reading->report->arena);
  size_t side = geometry->points ? (size_t)sqrt((double)size) : size;
  bool given = sides && scan_shape_read(sides, shape) &&
               (shape->height != shape->width || geometry - geometry_list == GEOMETRY_PAIRS);
  *shape =
      given ? geometry_shape(geometry, shape->height, shape->width) : geometry_shape(geometry, side, side);
  if (shape->height <= REPORT_SIDE && shape->width <= REPORT_SIDE && shape->actions == size) return true;
  return fail(error, "%s: masks of %s are of %zu %ss, which no image of up to %dx%d has; the file is damaged",
              reading->path, run->folder, size, geometry->one, REPORT_SIDE, REPORT_SIDE);
}

/* The keys of the scene that name a sampler's file, and where results say the seed of its training. */
struct chooser {
  const char *sampler, *section, *key, *seed;
};

static const struct chooser *chooser_of(const char *sampler) {
  static const struct chooser rows[] = {{"policy", "evaluate", "policy", "seed_policy"},
                                        {"fixed_mask", "sampler", "mask", "seed_mask"},
                                        {"learned_mask", "sampler", "mask", "seed_mask"},
                                        {"straight_through", "sampler", "mask", "seed_mask"},
                                        {"straight_through_best", "sampler", "mask", "seed_mask"},
                                        {"suno", "sampler", "mask", "seed_mask"},
                                        {"tau_step", "sampler", "tau_step", "seed_tau_step"},
                                        {"tau_step_best", "sampler", "tau_step", "seed_tau_step"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (!strcmp(rows[i].sampler, sampler)) return &rows[i];
  return NULL;
}

/* "sampler 2; reconstructor 3": the seeds of what was trained. */
static const char *training_of(const struct reading *reading, const struct chooser *chooser) {
  struct arena *arena = reading->report->arena;
  const char *trained = "";
  double number;
  if (chooser && store_number(reading->store, chooser->seed, &number))
    trained = arena_text(arena, "sampler %.0f", number);
  if (store_number(reading->store, "seed_reconstructor", &number))
    trained = arena_text(arena, "%s%sreconstructor %.0f", trained, *trained ? "; " : "", number);
  return trained;
}

static bool is_word(const char *value, const char *word) {
  return !strcmp(value, word);
}

/* What made the images where no network did, as "tv: weight 0.01, iterations 200"; "": zeros, or a network. Keys of another
 * value than a scene's own are told too. */
static const char *read_solver(const struct reading *reading) {
  struct arena *arena = reading->report->arena;
  const char *method = scene_value(reading->scene, "reconstruct", "method", arena), *text = "";
  if (!method || is_word(method, "auto") || is_word(method, "zero_filled") || is_word(method, "network")) return "";
  for (size_t i = 0; i < option_table.count; i++) {
    const struct option *row = &option_table.rows[i];
    const char *value = scene_value(reading->scene, row->section, row->name, arena);
    bool always = is_word(row->name, "weight") || is_word(row->name, "iterations");
    if (!is_word(row->section, "reconstruct") || is_word(row->name, "method") || !value) continue;
    if (always || strcmp(value, row->standard))
      text = arena_text(arena, "%s%s %s %s", text, *text ? "," : ":", row->name, value);
  }
  return arena_text(arena, "%s%s", method, text);
}

static void read_origin(const struct reading *reading, const char *sampler, struct report_run *run) {
  struct arena *arena = reading->report->arena;
  const struct chooser *chooser = chooser_of(sampler);
  const char *path = chooser ? scene_value(reading->scene, chooser->section, chooser->key, arena) : NULL;
  char *device = arena_new(arena, 256);
  store_text(reading->store, "device", device, 256);
  run->device = device;
  const char *seed = scene_value(reading->scene, "world", "seed", arena);
  run->training = training_of(reading, chooser);
  run->seeds = arena_text(arena, *run->training ? "%s (%s)" : "%s%s", seed ? seed : "", run->training);
  run->reconstructor = scene_word(reading, "reconstructor");
  if (!*run->training && *run->reconstructor) run->training = "with a seed that its checkpoint does not say";
  run->solver = read_solver(reading);
  if (!*run->reconstructor) run->reconstructor = run->solver;
  run->chooser = path ? unquote(path, arena) : "";
}

/* A sampler whose images another solver made is another method, and no seed of the first. */
static void name_solver(struct arena *arena, struct report_run *run) {
  if (!*run->solver) return;
  run->method = arena_text(arena, "%s (%.*s)", run->method, (int)strcspn(run->solver, ":"), run->solver);
  run->base = arena_text(arena, "%s (%s)", run->base, run->solver);
}

static const char *folder_of(struct arena *arena, const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? arena_text(arena, "%.*s", (int)(slash - path), path) : ".";
}

/* A pair of a cross table lies in a folder of its own, in that of the table. */
static void read_pair(const struct reading *reading, struct report_run *run) {
  enum { NAME_MOST = 4096 };
  struct arena *arena = reading->report->arena;
  char *row = arena_new(arena, NAME_MOST), *column = arena_new(arena, NAME_MOST);
  if (!store_text(reading->store, "cross_row", row, NAME_MOST) ||
      !store_text(reading->store, "cross_column", column, NAME_MOST))
    return;
  run->cross = folder_of(arena, folder_of(arena, reading->path));
  run->row = row;
  run->column = column;
}

static bool check_image(const struct reading *reading, const char *name, const char *beside, size_t rows,
                        const struct scan_shape *scan, struct error *error) {
  struct store_shape shape;
  if (!store_has(reading->store, name))
    return fail(error, "%s is damaged: it has %s and lacks %s; evaluate again", reading->path, beside, name);
  if (!store_shape(reading->store, name, &shape, error)) return false;
  if (shape.rank == 3 && shape.size[0] >= rows && shape.size[1] == scan->height &&
      shape.size[2] == scan->width)
    return true;
  return fail(error, "%s is damaged: %s does not hold %zu images of %ux%u pixels; evaluate again",
              reading->path, name, rows, scan->height, scan->width);
}

/* Images are of rows that there are. */
static bool check_rows(const struct reading *reading, bool kept, size_t rows, struct error *error) {
  size_t slices = reading->report->set[reading->set].slices, count;
  uint32_t *row;
  if (!kept)
    return rows == slices ||
           fail(error, "%s is damaged: slice/image holds %zu images of %zu slices; evaluate again",
                reading->path, rows, slices);
  if (!store_read_all(reading->store, "kept/row", STORE_U32, slices, reading->report->arena, (void **)&row,
                      &count, error))
    return false;
  for (size_t i = 0; i < count; i++)
    if (row[i] >= slices)
      return fail(error, "%s is damaged: kept/row names row %u of %zu slices; evaluate again", reading->path,
                  row[i], slices);
  return true;
}

/* Contact sheets want the truth and the method's own images: of the rows that are kept, or of all. */
static bool check_images(const struct reading *reading, const struct report_run *run,
                         const struct scan_shape *scan, struct error *error) {
  struct arena *arena = reading->report->arena;
  bool kept = store_has(reading->store, "kept/row"), all = store_has(reading->store, "slice/image");
  const char *beside = kept ? "kept/row" : "slice/image", *truth = kept ? "kept/image" : "slice/image";
  struct store_shape rows;
  if (!kept && !all) return true;
  if (!store_shape(reading->store, beside, &rows, error) || !check_rows(reading, kept, rows.size[0], error))
    return false;
  const char *own = arena_text(arena, "%s/%s", run->folder, kept ? "kept" : "reconstruction");
  return check_image(reading, truth, beside, rows.size[0], scan, error) &&
         check_image(reading, own, beside, rows.size[0], scan, error);
}

/* Results of before there were others are of lines. */
static bool find_geometry(const struct reading *reading, struct report_setting *setting,
                          struct error *error) {
  const char *name = scene_value(reading->scene, "acquisition", "geometry", reading->report->arena);
  setting->geometry = geometry_list;
  if (!name) return true;
  while (setting->geometry->name && strcmp(setting->geometry->name, name)) setting->geometry++;
  const char *pairs = scene_value(reading->scene, "acquisition", "pairs", reading->report->arena);
  if (setting->geometry == geometry_list && pairs && !strcmp(pairs, "true"))
    setting->geometry = &geometry_list[GEOMETRY_PAIRS];
  return setting->geometry->name ||
         fail(error, "%s has acquisition.geometry %s, which is none; it is of another program", reading->path,
              name);
}

static bool read_folder(struct reading *reading, const char *folder, struct error *error) {
  struct report *report = reading->report;
  char horizon[32], sampler[128], group[16] = "fixed";
  struct report_run run = {.path = reading->path, .folder = folder, .gamma = NAN};
  struct report_setting setting = {0};
  struct scan_shape shape;
  size_t size = 0;
  if (sscanf(folder, "x%u_%31[^/]/%127[^/]", &setting.acceleration, horizon, sampler) != 3)
    return fail(error, "%s: group %s is no xACCELERATION_HORIZON/SAMPLER; it is of another program",
                reading->path, folder);
  if (!find_geometry(reading, &setting, error) ||
      !read_shape(reading, &run, setting.geometry->points, &size, error) ||
      !find_shape(reading, &run, setting.geometry, size, &shape, error) ||
      !find_set(reading, &shape, error) || !read_mask(reading, &run, size, &setting, error) ||
      !check_images(reading, &run, &shape, error))
    return false;
  for (size_t m = 0; m < METRICS; m++)
    if (!read_metric(reading, &run, m, error)) return false;
  if (run.scans % report->set[reading->set].slices)
    return fail(error, "%s: %s has %zu scans of %zu slices; the file is damaged", reading->path, folder,
                run.scans, report->set[reading->set].slices);
  store_text(reading->store, "group", group, sizeof group);
  const char *name = arena_text(report->arena, "%s", sampler);
  run.method = run.base = method_of(reading, name);
  if (!strcmp(name, sampler_policy.name)) store_number(reading->store, "gamma", &run.gamma);
  read_origin(reading, name, &run);
  name_solver(report->arena, &run);
  read_pair(reading, &run);
  run.group = is_oracle(name)           ? REPORT_ORACLES
              : !strcmp(group, "joint") ? REPORT_JOINT
              : !*run.reconstructor     ? REPORT_ZERO_FILLED
                                        : REPORT_FIXED;
  setting.set = reading->set;
  setting.horizon = arena_text(report->arena, "%s", horizon);
  if (report->runs == REPORT_RUNS)
    return fail(error, "the results have more than %d methods and settings; write several reports",
                REPORT_RUNS);
  if (!find_setting(report, &setting, &run.setting, error)) return false;
  report->run[report->runs++] = run;
  return true;
}

/* Settings by acceleration and horizon, samplers as the scene names them. */
static bool stands_before(const struct reading *reading, const char *a, const char *b) {
  const char *list = scene_value(reading->scene, "evaluate", "samplers", reading->report->arena);
  const char *name_a = strchr(a, '/'), *name_b = strchr(b, '/');
  if (!name_a || !name_b || !list) return false;
  size_t length = (size_t)(name_a - a), other = (size_t)(name_b - b);
  if (strtoul(a + 1, NULL, 10) != strtoul(b + 1, NULL, 10))
    return strtoul(a + 1, NULL, 10) < strtoul(b + 1, NULL, 10);
  if (length != other || memcmp(a, b, length)) return strcmp(a, b) < 0;
  size_t place[2] = {SIZE_MAX, SIZE_MAX}, count = 0; /* names that the list lacks come last */
  const char *words = arena_text(reading->report->arena, "%.*s", (int)strcspn(list + 1, "]"), list + 1);
  char word[128];
  for (; (words = option_next(words, word, sizeof word)); count++) {
    if (!strcmp(word, name_a + 1)) place[0] = count;
    if (!strcmp(word, name_b + 1)) place[1] = count;
  }
  return place[0] < place[1];
}

static void sort_groups(struct reading *reading) {
  for (size_t i = 1; i < reading->group_count; i++)
    for (size_t j = i; j && stands_before(reading, reading->groups[j], reading->groups[j - 1]); j--) {
      const char *kept = reading->groups[j];
      reading->groups[j] = reading->groups[j - 1];
      reading->groups[j - 1] = kept;
    }
}

static bool read_runs(struct reading *reading, struct error *error) {
  if (!check_version(reading, error) || !store_list(reading->store, see_dataset, reading, error))
    return false;
  if (reading->full)
    return fail(error, "%s has more than %d methods and settings", reading->path, REPORT_RUNS);
  if (!reading->group_count)
    return fail(error, "%s holds no scans of any sampler; evaluate again", reading->path);
  sort_groups(reading);
  for (size_t g = 0; g < reading->group_count; g++)
    if (!read_folder(reading, reading->groups[g], error)) return false;
  const char *metrics = scene_value(reading->scene, "evaluate", "metrics", reading->report->arena);
  for (size_t m = 0; metrics && m < METRICS; m++) {
    struct arena *arena = reading->report->arena;
    const char *list = arena_text(arena, "%.*s", (int)strcspn(metrics + 1, "]"), metrics + 1);
    reading->report->shown[m] |= option_has(list, metric_list[m].name);
  }
  return true;
}

bool report_read_results(struct report *report, const char *path, struct error *error) {
  struct reading *reading = ARENA_NEW(report->arena, struct reading, 1);
  *reading = (struct reading){.report = report, .path = arena_text(report->arena, "%s", path)};
  if (!store_open(&reading->store, path, error)) return false;
  bool good = read_runs(reading, error);
  good = store_is_sound(reading->store, error) && good; /* the reason for what is missing */
  store_close(reading->store);
  return good;
}
