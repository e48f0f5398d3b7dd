/* The operands of `l2sr report`, and what its parts ask of what was read. */
#include "engine/base/log.h"
#include "engine/base/option.h"
#include "engine/files/part.h"
#include "engine/files/store.h"
#include "tools/report/report.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const char *const report_group_names[REPORT_GROUPS] = {"Zero-filled reconstruction", "Fixed reconstructor",
                                                       "Joint training", "Oracles (they see the truth)"};

struct report *report_make(struct arena *arena) {
  struct report *report = ARENA_NEW(arena, struct report, 1);
  *report = (struct report){.arena = arena};
  report->run = ARENA_NEW(arena, struct report_run, REPORT_RUNS);
  report->training = ARENA_NEW(arena, struct report_training, REPORT_TRAININGS);
  report->cost = ARENA_NEW(arena, struct report_cost, REPORT_RUNS);
  return report;
}

/* ---- operands ------------------------------------------------------------------------------------------ */

static bool is_same_file(const char *a, const char *b) {
  struct stat first, second;
  return !stat(a, &first) && !stat(b, &second) && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

static bool add_results(struct report *report, const char *path, struct error *error) {
  for (size_t r = 0; r < report->runs; r++)
    if (is_same_file(report->run[r].path, path))
      return fail_usage(error, "%s is given twice (%s); name every result once", path, report->run[r].path);
  report->files++;
  return report_read_results(report, path, error);
}

static bool add_training(struct report *report, const char *folder, struct error *error) {
  for (size_t t = 0; t < report->trainings; t++)
    if (is_same_file(report->training[t].path, folder))
      return fail_usage(error, "%s is given twice; name every training once", folder);
  report->files++;
  return report_read_training(report, folder, error);
}

/* Results, a training, or both; *found: whether there was any. */
static bool add_folder(struct report *report, const char *folder, bool *found, struct error *error) {
  const char *results = arena_text(report->arena, "%s/results.h5", folder);
  bool trained = file_is_there(arena_text(report->arena, "%s/stages.jsonl", folder)) ||
                 file_is_there(arena_text(report->arena, "%s/log.jsonl", folder));
  *found |= trained || file_is_there(results);
  return (!file_is_there(results) || add_results(report, results, error)) &&
         (!trained || add_training(report, folder, error));
}

enum { LEVELS = 3 /* of folders in folders */ };

static bool add_folders(struct report *report, const char *path, int levels, bool *found, struct error *error) {
  struct dirent **list;
  int count = scandir(path, &list, NULL, alphasort);
  if (count < 0) return fail(error, "cannot list %s: %s", path, strerror(errno));
  bool good = true;
  for (int i = 0; i < count; i++) {
    const char *folder = arena_text(report->arena, "%s/%s", path, list[i]->d_name);
    bool here = false;
    if (good && list[i]->d_name[0] != '.' && folder_is_there(folder)) {
      good = add_folder(report, folder, &here, error);
      if (good && !here && levels > 1) good = add_folders(report, folder, levels - 1, &here, error);
    }
    *found |= here;
    free(list[i]);
  }
  free(list);
  return good;
}

static bool is_hdf5(const char *path) {
  static const unsigned char signature[] = {0x89, 'H', 'D', 'F'};
  unsigned char start[4] = {0};
  struct error ignored; /* whoever reads it says so */
  FILE *file = file_read(path, &ignored);
  if (!file) return false;
  size_t read = fread(start, 1, sizeof start, file);
  fclose(file);
  return read == sizeof start && !memcmp(start, signature, sizeof start);
}

bool report_add(struct report *report, const char *path, struct error *error) {
  bool found = false;
  if (!file_is_there(path)) return fail(error, "cannot open %s: %s", path, strerror(errno));
  const char *end = strrchr(path, '.');
  if (!folder_is_there(path) && (is_hdf5(path) || (end && !strcmp(end, ".h5"))))
    return add_results(report, path, error);
  if (!folder_is_there(path)) {
    report->files++;
    return report_read_costs(report, path, error);
  }
  if (!add_folder(report, path, &found, error)) return false;
  if (!found && !add_folders(report, path, LEVELS, &found, error)) return false;
  return found ? true
               : fail(error,
                      "neither %s nor a folder in it, or in these, has results.h5, stages.jsonl or log.jsonl; name what "
                      "evaluate or train wrote with --output",
                      path);
}

/* ---- names --------------------------------------------------------------------------------------------- */

/* The name of a file's folder, or of the one so many levels above it, which ends where a slash does; NULL: there is none. */
static const char *folder_above(const char *path, size_t level, size_t *length) {
  const char *end = path + strlen(path);
  for (size_t i = 0; i <= level; i++)
    do
      if (end == path) return NULL;
    while (*--end != '/');
  const char *start = end;
  while (start > path && start[-1] != '/') start--;
  *length = (size_t)(end - start);
  return start;
}

static bool have_other_folders(const struct report_run *a, const struct report_run *b, size_t level) {
  size_t length_a, length_b;
  const char *of_a = folder_above(a->path, level, &length_a), *of_b = folder_above(b->path, level, &length_b);
  return of_a && of_b && (length_a != length_b || memcmp(of_a, of_b, length_a));
}

static bool collide(const struct report_run *a, const struct report_run *b) {
  return a->setting == b->setting && !strcmp(a->base, b->base) && strcmp(a->path, b->path);
}

/* What tells results of one name apart: the name of the nearest folder that differs among all that collide, as `seed_1` of
 * random/seed_1/results; the whole path where there is no such folder. */
static const char *suffix_of(const struct report *report, const struct report_run *run) {
  const char *folder;
  size_t length;
  for (size_t level = 0; (folder = folder_above(run->path, level, &length)); level++) {
    bool differ = true;
    for (size_t i = 0; differ && i < report->runs; i++)
      for (size_t j = 0; differ && j < i && !strcmp(report->run[i].base, run->base); j++)
        differ = !collide(&report->run[i], &report->run[j]) || have_other_folders(&report->run[i], &report->run[j], level);
    if (differ) return arena_text(report->arena, "%.*s", (int)length, folder);
  }
  return run->path;
}

/* A name that collides somewhere is told apart everywhere, so that a method keeps one name. */
static void tell_apart(struct report *report) {
  for (size_t r = 0; r < report->runs; r++) {
    struct report_run *run = &report->run[r];
    bool clash = false;
    for (size_t i = 0; i < report->runs; i++)
      for (size_t j = 0; !clash && j < i && !strcmp(report->run[i].base, run->base); j++)
        clash = collide(&report->run[i], &report->run[j]);
    if (clash) run->method = arena_text(report->arena, "%s (%s)", run->base, suffix_of(report, run));
  }
}

/* ---- order --------------------------------------------------------------------------------------------- */

/* Sorts by data set and acceleration, then many initial lines (Base) before few (Long). */
static bool stands_before(const struct report_setting *a, const struct report_setting *b) {
  if (a->set != b->set) return a->set < b->set;
  if (a->acceleration != b->acceleration) return a->acceleration < b->acceleration;
  return a->initial_lines > b->initial_lines;
}

static void swap_settings(struct report *report, size_t a, size_t b) {
  struct report_setting kept = report->setting[a];
  report->setting[a] = report->setting[b];
  report->setting[b] = kept;
  for (size_t r = 0; r < report->runs; r++) {
    size_t *setting = &report->run[r].setting;
    *setting = *setting == a ? b : *setting == b ? a : *setting;
  }
}

static void sort_settings(struct report *report) {
  for (size_t i = 1; i < report->settings; i++)
    for (size_t j = i; j && stands_before(&report->setting[j], &report->setting[j - 1]); j--)
      swap_settings(report, j, j - 1);
}

bool report_finish(struct report *report, struct error *error) {
  tell_apart(report);
  for (size_t i = 0; i < report->runs; i++)
    for (size_t j = 0; j < i; j++)
      if (report->run[i].setting == report->run[j].setting &&
          !strcmp(report->run[i].method, report->run[j].method))
        return fail(
            error,
            "%s and %s both have a method %s at %s; evaluate one of them with an evaluate.name of its own",
            report->run[j].path, report->run[i].path, report->run[i].method,
            report->setting[report->run[i].setting].label);
  sort_settings(report);
  if (report->runs || report->trainings || report->costs) return true;
  return fail(error, "there is nothing to report");
}

/* ---- what parts ask ------------------------------------------------------------------------------------ */

size_t report_style(const struct report *report, const char *method) {
  size_t style = 0;
  for (size_t r = 0; r < report->runs; r++) {
    bool seen = false;
    for (size_t before = 0; before < r && !seen; before++)
      seen = !strcmp(report->run[before].method, report->run[r].method);
    if (!strcmp(report->run[r].method, method)) return style;
    style += !seen;
  }
  return style;
}

const struct report_units *report_units(const struct report *report, size_t set, size_t metric) {
  const struct report_set *of = &report->set[set];
  return scoring_unit(of->scoring, metric) == UNIT_VOLUME ? &of->by_volume : &of->by_slice;
}

const char *report_units_text(struct arena *arena, const struct report_units *units) {
  return arena_text(arena, "%zu %s%s", units->count, units->one, plural(units->count));
}

size_t report_count_scores(const struct report *report, const struct report_run *run, size_t metric) {
  size_t set = report->setting[run->setting].set;
  return run->scans / report->set[set].slices * report_units(report, set, metric)->count;
}

double *report_values(const struct report *report, const struct report_run *run, size_t metric,
                      size_t lines) {
  size_t set = report->setting[run->setting].set, slices = report->set[set].slices;
  const struct report_units *units = report_units(report, set, metric);
  if (!run->metric[metric]) return NULL;
  double *mean = ARENA_NEW(report->arena, double, units->count);
  for (size_t from = 0; from < run->scans; from += slices)
    for (size_t u = 0; u < units->count; u++)
      mean[u] +=
          run->metric[metric][(from + units->row[u]) * run->steps + lines] / (double)(run->scans / slices);
  return mean;
}

/* Sorts runs by group, within a group as they were read. */
size_t report_select(const struct report *report, size_t setting, size_t metric,
                     const struct report_run **list) {
  size_t count = 0;
  for (int group = 0; group < REPORT_GROUPS; group++)
    for (size_t r = 0; r < report->runs; r++) {
      const struct report_run *run = &report->run[r];
      if (run->setting == setting && run->metric[metric] && (int)run->group == group) list[count++] = run;
    }
  return count;
}

bool report_shows(const struct report *report, const struct report_config *config, size_t metric) {
  return report->shown[metric] || metric == config->metric;
}
