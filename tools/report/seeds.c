/* Methods that were trained or evaluated with several seeds: mean and deviation over seeds, and comparisons.
 */
#include "engine/base/log.h"
#include "tools/report/report.h"
#include "tools/report/score_text.h"
#include "tools/report/statistics.h"

#include <math.h>
#include <string.h>

/* The results of a method at a setting, one a seed. */
struct family {
  const char *name;
  enum report_group group;
  const struct report_run *run[REPORT_RUNS];
  size_t count;
  bool same;        /* two have the same seeds: they are no sample of them */
  bool differ;      /* two have not */
  bool trained;     /* something of it was trained */
  bool trainings;   /* two are of different trainings */
  double mean, std; /* of the seeds' means; std: of the sample, NaN of one seed */
  size_t missing;   /* slices that have no score with one of the seeds */
};

static const struct report_units *units_of(const struct report *report, const struct report_run *run,
                                           size_t metric) {
  return report_units(report, report->setting[run->setting].set, metric);
}

static double mean_of(const struct report *report, const struct report_run *run, size_t metric) {
  double mean, std;
  statistics_mean(report_values(report, run, metric, run->steps - 1), units_of(report, run, metric)->count,
                  &mean, &std);
  return mean;
}

static const struct report_set *set_of(const struct report *report, const struct report_run *run) {
  return &report->set[report->setting[run->setting].set];
}

/* Slices that a seed has no score of count once. */
static size_t count_missing(const struct report *report, const struct family *family, size_t metric) {
  size_t missing = 0, slices = family->count ? units_of(report, family->run[0], metric)->count : 0;
  bool *lacks = ARENA_NEW(report->arena, bool, slices + 1);
  for (size_t i = 0; i < family->count; i++) {
    const double *value = report_values(report, family->run[i], metric, family->run[i]->steps - 1);
    for (size_t s = 0; s < slices; s++) lacks[s] |= !isfinite(value[s]);
  }
  for (size_t s = 0; s < slices; s++) missing += lacks[s];
  return missing;
}

/* Takes a result into the family, beside what it has. */
static void count_member(struct family *family, const struct report_run *run) {
  for (size_t i = 0; i < family->count; i++) {
    bool same = !strcmp(family->run[i]->seeds, run->seeds);
    family->same |= same;
    family->differ |= !same;
    family->trainings |= strcmp(family->run[i]->training, run->training) != 0;
  }
  family->trained |= *run->training != 0;
  family->group = run->group;
}

static void find_family(const struct report *report, size_t setting, const char *name, size_t metric,
                        struct family *family) {
  double *mean = ARENA_NEW(report->arena, double, report->runs), std;
  *family = (struct family){.name = name};
  for (size_t r = 0; r < report->runs; r++) {
    const struct report_run *run = &report->run[r];
    if (run->setting != setting || !run->metric[metric] || strcmp(run->base, name)) continue;
    count_member(family, run);
    mean[family->count] = mean_of(report, run, metric);
    family->run[family->count++] = run;
  }
  statistics_mean(mean, family->count, &family->mean, &std);
  double count = (double)family->count;
  family->std = family->count > 1 ? std * sqrt(count / (count - 1)) : NAN;
  family->missing = count_missing(report, family, metric);
}

/* Whether the setting has a method with several seeds. */
static bool has_seeds(const struct report *report, size_t setting, size_t metric) {
  struct family *family = ARENA_NEW(report->arena, struct family, 1);
  for (size_t r = 0; r < report->runs; r++) {
    if (report->run[r].setting != setting) continue;
    find_family(report, setting, report->run[r].base, metric, family);
    if (family->differ) return true;
  }
  return false;
}

size_t report_count_seeds(const struct report *report, size_t setting, const char *method, size_t metric) {
  struct family *family = ARENA_NEW(report->arena, struct family, 1);
  find_family(report, setting, method, metric, family);
  return family->differ && !family->same ? family->count : 1;
}

bool report_has_seeds(const struct report *report, const char *method) {
  struct family *family = ARENA_NEW(report->arena, struct family, 1);
  for (size_t r = 0; r < report->runs; r++)
    for (size_t m = 0; m < METRICS; m++) {
      if (strcmp(report->run[r].base, method)) continue;
      find_family(report, report->run[r].setting, method, m, family);
      if (family->differ) return true;
    }
  return false;
}

/* Names of methods of a data set, in the order of the tables. */
static size_t list_names(const struct report *report, size_t set, const char **name) {
  size_t count = 0;
  for (int group = 0; group < REPORT_GROUPS; group++)
    for (size_t r = 0; r < report->runs; r++) {
      const struct report_run *run = &report->run[r];
      size_t i = 0;
      while (i < count && strcmp(name[i], run->base)) i++;
      if (i == count && report->setting[run->setting].set == set && (int)run->group == group)
        name[count++] = run->base;
    }
  return count;
}

/* ---- mean and deviation -------------------------------------------------------------------------------- */

static void put_family(struct report *report, const struct tabular *table, size_t row, size_t column,
                       const struct family *family, size_t metric) {
  int digits = metric_list[metric].digits;
  struct tabular_cell *cell = tabular_cell(table, row, column);
  if (!family->count) return;
  if (family->same)
    *cell = (struct tabular_cell){.text = "same seeds", .value = NAN, .spread = NAN};
  else if (family->count == 1)
    tabular_number(table, row, column, family->mean, digits);
  else
    tabular_spread(table, row, column, family->mean, family->std, digits);
  if (cell->text) cell->text = arena_text(report->arena, "%s (%zu)", cell->text, family->count);
  const struct report_units *units = units_of(report, family->run[0], metric);
  tabular_missing(table, row, column, family->missing, units->count,
                  arena_text(report->arena, "%ss", units->one));
}

static bool put_metric(struct report_page *page, size_t set, const size_t *setting, size_t settings,
                       size_t metric, struct error *error) {
  struct report *report = page->report;
  const char *name[REPORT_RUNS];
  size_t count = list_names(report, set, name);
  struct family *family = ARENA_NEW(report->arena, struct family, 1);
  struct tabular table = tabular_make(report->arena, count, settings + 1);
  table.group = ARENA_NEW(report->arena, const char *, count);
  table.file = arena_text(report->arena, report->sets > 1 ? "seeds_%s_data%zu" : "seeds_%s",
                          metric_list[metric].name, set + 1);
  table.title = arena_text(report->arena, "%s over seeds, mean \u00b1 standard deviation",
                           score_name(report->arena, metric));
  table.note =
      "The deviation is that of a sample, between the means of results with different seeds (of evaluate, "
      "or of the training of a policy, mask or reconstructor); how many there are stands behind it.";
  table.head[0] = "method";
  for (size_t s = 0; s < settings; s++) table.head[s + 1] = report->setting[setting[s]].label;
  for (size_t m = 0; m < count; m++) {
    tabular_text(&table, m, 0, name[m]);
    for (size_t s = 0; s < settings; s++) {
      find_family(report, setting[s], name[m], metric, family);
      if (family->count) table.group[m] = report_group_names[family->group];
      put_family(report, &table, m, s + 1, family, metric);
    }
  }
  return report_put_table(page, &table, error);
}

/* ---- comparisons --------------------------------------------------------------------------------------- */

/* A slice's score is the mean over seeds. */
static double *slices_of(const struct report *report, const struct family *family, size_t metric) {
  const struct report_units *units = units_of(report, family->run[0], metric);
  double *mean = ARENA_NEW(report->arena, double, units->count);
  for (size_t i = 0; i < family->count; i++) {
    const double *value = report_values(report, family->run[i], metric, family->run[i]->steps - 1);
    for (size_t s = 0; s < units->count; s++) mean[s] += value[s] / (double)family->count;
  }
  return mean;
}

static double square(double value) {
  return isnan(value) ? 0 : value * value;
}

/* Methods with one seed add nothing; two of them leave it unknown. */
static double spread_of(const struct family *family, const struct family *baseline) {
  if (isnan(family->std) && isnan(baseline->std)) return NAN;
  return sqrt(square(family->std) + square(baseline->std));
}

/* The spread between the means of seeds, of slices that `difference` has, weighed as it is. */
static struct statistics_trainings trainings_of(const struct report *report, const struct family *family,
                                                const double *difference, size_t metric, double *room) {
  const struct report_set *set = set_of(report, family->run[0]);
  const struct report_units *units = units_of(report, family->run[0], metric);
  double *mean = ARENA_NEW(report->arena, double, family->count);
  for (size_t i = 0; i < family->count; i++) {
    double *value = report_values(report, family->run[i], metric, family->run[i]->steps - 1);
    for (size_t s = 0; s < units->count; s++)
      if (!isfinite(difference[s])) value[s] = NAN;
    mean[i] = statistics_grouped(value, units->cluster, units->count, set->clusters.count, room).mean;
  }
  return statistics_over_trainings(mean, family->count);
}

static void put_pair(struct report *report, const struct tabular *table, size_t row,
                     const struct family *family, const struct family *baseline, size_t metric) {
  const struct report_set *set = set_of(report, family->run[0]);
  const struct report_units *units = units_of(report, family->run[0], metric);
  double *value = slices_of(report, family, metric), *other = slices_of(report, baseline, metric),
         *room = ARENA_NEW(report->arena, double, 2 * set->clusters.count);
  for (size_t i = 0; i < units->count; i++) value[i] = metric_list[metric].sign * (value[i] - other[i]);
  struct statistics_pairs patients =
      statistics_grouped(value, units->cluster, units->count, set->clusters.count, room);
  struct statistics_trainings own = trainings_of(report, family, value, metric, room),
                              others = trainings_of(report, baseline, value, metric, room);
  struct statistics_pairs both = statistics_crossed(&patients, &own, &others), *tells = &both;
  if (isnan(both.low)) tells = &patients;
  statistics_cut(&patients, metric_list[metric].most);
  statistics_cut(&both, metric_list[metric].most);
  int shown = metric_list[metric].digits, digits = shown < 0 ? shown - 1 : shown + 1;
  tabular_text(table, row, 0, family->name);
  tabular_number(table, row, 1, (double)family->count, 0);
  tabular_number(table, row, 2, patients.mean, digits);
  tabular_number(table, row, 3, patients.low, digits);
  tabular_number(table, row, 4, patients.high, digits);
  tabular_number(table, row, 5, spread_of(family, baseline), digits);
  tabular_number(table, row, 6, both.low, digits);
  tabular_number(table, row, 7, both.high, digits);
  tabular_text(table, row, 8, statistics_verdict(tells->low, tells->high));
  tabular_missing(table, row, 2, patients.missing, units->count,
                  arena_text(report->arena, "%ss", units->one));
}

/* The baseline of the page where it has results here, else the first method. */
static bool find_baseline(const struct report_page *page, size_t setting, const char *const *name,
                          size_t count, struct family *baseline) {
  const char *wanted = page->config->baseline;
  for (size_t m = 0; m < count; m++) {
    if (wanted && strcmp(wanted, name[m])) continue;
    find_family(page->report, setting, name[m], page->config->metric, baseline);
    if (baseline->count && !baseline->same) return true;
  }
  return false;
}

/* Names a method whose one training every interval holds fixed. */
static const char *add_fixed(struct arena *arena, const char *text, const struct family *family) {
  if (!family->count || !family->trained || family->trainings) return text;
  return arena_text(arena, "%s%s%s", text, *text ? ", " : "", family->name);
}

static const char *fixed_text(struct arena *arena, const char *fixed) {
  return *fixed ? arena_text(
                      arena,
                      " Of one training, which both intervals hold fixed: %s. Another training may differ "
                      "by more.",
                      fixed)
                : "";
}

static const char *note_of(struct report *report, const struct report_set *set, const char *one,
                           const struct family *baseline, const char *fixed) {
  const char *over = clusters_text(report->arena, &set->clusters), *noun = clusters_noun(&set->clusters);
  return arena_text(
      report->arena,
      "A %s's score is its mean over seeds (%s: %zu seed%s), the difference of a %.*s the mean of its "
      "%ss. 95 %% confidence intervals: the first over %s, for the trainings that there are; the "
      "second over %s and trainings (of what is not trained, its draws), which tells whether a method is "
      "ahead, behind, or the question is open. Where neither method has several, the first tells.%s "
      "The deviation is that of the difference of two seeds: the root of both methods' variances between "
      "seeds, added; that of a method with one seed is not known and left out.",
      one, baseline->name, baseline->count, plural(baseline->count), (int)strlen(noun) - 1, noun, one, over,
      noun, fixed_text(report->arena, fixed));
}

static bool put_setting(struct report_page *page, size_t setting, struct error *error) {
  struct report *report = page->report;
  const char *name[REPORT_RUNS];
  const struct report_set *set = &report->set[report->setting[setting].set];
  const char *noun = clusters_noun(&set->clusters), *fixed = "";
  const char *heads[] = {"method",
                         "seeds",
                         "mean difference",
                         arena_text(report->arena, "from (%s)", noun),
                         arena_text(report->arena, "to (%s)", noun),
                         "deviation over seeds",
                         arena_text(report->arena, "from (%s, trainings)", noun),
                         arena_text(report->arena, "to (%s, trainings)", noun),
                         "verdict"};
  size_t count = list_names(report, report->setting[setting].set, name), metric = page->config->metric,
         row = 0;
  struct family *family = ARENA_NEW(report->arena, struct family, 2), *baseline = family + 1;
  if (!find_baseline(page, setting, name, count, baseline)) return true;
  struct tabular table = tabular_make(report->arena, count, sizeof heads / sizeof *heads);
  memcpy(table.head, heads, sizeof heads);
  table.file = arena_text(report->arena, "seeds_pairs_%zu", setting + 1);
  table.title = arena_text(report->arena, "%s against %s over seeds, %.*s by %.*s, at %s",
                           score_name(report->arena, metric), baseline->name, (int)strlen(noun) - 1, noun,
                           (int)strlen(noun) - 1, noun, report->setting[setting].label);
  for (size_t m = 0; m < count; m++) {
    find_family(report, setting, name[m], metric, family);
    if (family->count && !family->same && strcmp(name[m], baseline->name))
      put_pair(report, &table, row++, family, baseline, metric);
    if (!family->same) fixed = add_fixed(report->arena, fixed, family);
  }
  table.rows = row;
  table.note =
      note_of(report, set, report_units(report, report->setting[setting].set, metric)->one, baseline, fixed);
  return !row || report_put_table(page, &table, error);
}

bool report_put_seeds(struct report_page *page, size_t set, struct error *error) {
  struct report *report = page->report;
  size_t setting[REPORT_SETTINGS], settings = 0;
  for (size_t s = 0; s < report->settings; s++)
    if (report->setting[s].set == set && has_seeds(report, s, page->config->metric)) setting[settings++] = s;
  if (!settings) return true;
  report_heading(page, 3, NULL, "Seeds");
  for (size_t m = 0; m < METRICS; m++)
    if (report_shows(report, page->config, m) && !put_metric(page, set, setting, settings, m, error))
      return false;
  for (size_t s = 0; s < settings; s++)
    if (!put_setting(page, setting[s], error)) return false;
  return true;
}
