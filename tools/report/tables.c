/* The tables of scores: method by setting, by initial lines, by discount; comparisons in pairs. */
#include "engine/base/log.h"
#include "tools/draw/chart.h"
#include "tools/report/report.h"
#include "tools/report/score_text.h"
#include "tools/report/statistics.h"

#include <math.h>
#include <string.h>

/* ---- rows and columns ---------------------------------------------------------------------------------- */

/* The settings of a data set that have runs with the metric, and methods in the order of the tables. */
struct grid {
  size_t setting[REPORT_SETTINGS], settings, methods;
  const struct report_run *first[REPORT_RUNS]; /* one run of each method, for its name and group */
};

static void make_grid(const struct report *report, size_t set, size_t metric, struct grid *grid) {
  const struct report_run *list[REPORT_RUNS];
  *grid = (struct grid){.settings = 0};
  for (size_t s = 0; s < report->settings; s++)
    if (report->setting[s].set == set && report_select(report, s, metric, list))
      grid->setting[grid->settings++] = s;
  for (int group = 0; group < REPORT_GROUPS; group++)
    for (size_t r = 0; r < report->runs; r++) {
      const struct report_run *run = &report->run[r];
      size_t m = 0;
      while (m < grid->methods && strcmp(grid->first[m]->method, run->method)) m++;
      if (report->setting[run->setting].set == set && run->metric[metric] && (int)run->group == group &&
          m == grid->methods)
        grid->first[grid->methods++] = run;
    }
}

static const struct report_run *find_run(const struct report *report, size_t setting, const char *method,
                                         size_t metric) {
  for (size_t r = 0; r < report->runs; r++)
    if (report->run[r].setting == setting && report->run[r].metric[metric] &&
        !strcmp(report->run[r].method, method))
      return &report->run[r];
  return NULL;
}

static void put_score(const struct report *report, const struct tabular *table, size_t row, size_t column,
                      const struct report_run *run, size_t metric) {
  double *value = ARENA_NEW(report->arena, double, run->scans), mean, std;
  for (size_t i = 0; i < run->scans; i++) value[i] = run->metric[metric][i * run->steps + run->steps - 1];
  size_t scored = statistics_mean(value, run->scans, &mean, &std);
  if (metric == METRIC_AUC) /* of all slices: there is no deviation */
    tabular_number(table, row, column, mean, metric_list[metric].digits);
  else
    tabular_spread(table, row, column, mean, std, metric_list[metric].digits);
  size_t all = report_count_scores(report, run, metric);
  tabular_missing(table, row, column, all - scored, all, all < run->scans ? "volumes" : "scans");
}

/* "ssim", and where there are several data sets "ssim_data2". */
static const char *file_name(const struct report *report, const char *name, size_t set) {
  return report->sets > 1 ? arena_text(report->arena, "%s_data%zu", name, set + 1) : name;
}

/* ---- method by setting --------------------------------------------------------------------------------- */

/* Whose scores these are, where they are not l2sr's own. */
static const char *whose_scores(const struct report *report, size_t set, size_t metric) {
  const struct report_set *of = &report->set[set];
  if (!of->scoring) return "";
  bool partial = of->partial && scoring_unit(of->scoring, metric) == UNIT_VOLUME;
  const char *text = arena_text(report->arena, " Scores as %s has them (evaluate.profile %s), one a %s.",
                                of->scoring->code, of->scoring->name, report_units(report, set, metric)->one);
  return !partial
             ? text
             : arena_text(
                   report->arena,
                   "%s Of %zu volume%s not all slices are in the results, which say which (slice/number).",
                   text, of->partial, plural(of->partial));
}

static bool put_metric(struct report_page *page, size_t set, size_t metric, struct error *error) {
  struct report *report = page->report;
  struct grid *grid = ARENA_NEW(report->arena, struct grid, 1);
  make_grid(report, set, metric, grid);
  if (!grid->methods) return true;
  struct tabular table = tabular_make(report->arena, grid->methods, grid->settings + 1);
  bool *competes = ARENA_NEW(report->arena, bool, grid->methods);
  table.group = ARENA_NEW(report->arena, const char *, grid->methods);
  table.head[0] = "method";
  table.file = file_name(report, metric_list[metric].name, set);
  table.title =
      arena_text(report->arena, metric == METRIC_AUC ? "%s, %s" : "%s, mean \u00b1 standard deviation, %s", score_name(report->arena, metric),
                 report_units_text(report->arena, report_units(report, set, metric)));
  table.note = arena_text(
      report->arena, "%s is better. Marked: best of a column; oracles, which see the truth, take no part.%s",
      metric_list[metric].sign > 0 ? "Larger" : "Smaller", whose_scores(report, set, metric));
  for (size_t m = 0; m < grid->methods; m++) {
    tabular_text(&table, m, 0, grid->first[m]->method);
    table.group[m] = report_group_names[grid->first[m]->group];
    competes[m] = grid->first[m]->group != REPORT_ORACLES;
  }
  for (size_t s = 0; s < grid->settings; s++) {
    table.head[s + 1] = report->setting[grid->setting[s]].label;
    for (size_t m = 0; m < grid->methods; m++) {
      const struct report_run *run = find_run(report, grid->setting[s], grid->first[m]->method, metric);
      if (run) put_score(report, &table, m, s + 1, run, metric);
    }
    tabular_mark_best(&table, s + 1, metric_list[metric].sign, competes, metric_list[metric].digits);
  }
  return report_put_table(page, &table, error);
}

bool report_put_scores(struct report_page *page, size_t set, struct error *error) {
  for (size_t m = 0; m < METRICS; m++)
    if (report_shows(page->report, page->config, m) && !put_metric(page, set, m, error)) return false;
  return true;
}

/* ---- ablations ----------------------------------------------------------------------------------------- */

static uint32_t lines_of(const struct report *report, size_t setting) {
  return report->setting[setting].initial_lines + report->setting[setting].budget;
}

/* Whether they differ in their lines only. */
static bool is_like(const struct report_setting *a, const struct report_setting *b) {
  return a->acceleration == b->acceleration && a->geometry == b->geometry;
}

/* Settings like one and of one number of lines that differ in their initial lines, by their number. */
static size_t find_lines(const struct report *report, const struct grid *grid,
                         const struct report_setting *like, size_t *list) {
  size_t count = 0;
  for (size_t s = 0; s < grid->settings; s++) {
    const struct report_setting *setting = &report->setting[grid->setting[s]];
    size_t place = 0, at = count;
    while (place < count && report->setting[list[place]].initial_lines != setting->initial_lines) place++;
    if (!is_like(setting, like) || place < count ||
        (count && lines_of(report, list[0]) != lines_of(report, grid->setting[s])))
      continue;
    for (; at && report->setting[list[at - 1]].initial_lines > setting->initial_lines; at--)
      list[at] = list[at - 1];
    list[at] = grid->setting[s];
    count++;
  }
  return count;
}

static bool has_any(const struct report *report, const size_t *setting, size_t count, const char *method,
                    size_t metric) {
  for (size_t s = 0; s < count; s++)
    if (find_run(report, setting[s], method, metric)) return true;
  return false;
}

static bool put_lines(struct report_page *page, size_t set, const struct grid *grid,
                      const struct report_setting *like, struct error *error) {
  struct report *report = page->report;
  size_t list[REPORT_SETTINGS], count = find_lines(report, grid, like, list), metric = page->config->metric,
                                row = 0;
  if (count < 2) return true;
  struct tabular table = tabular_make(report->arena, grid->methods, count + 1);
  table.head[0] = "method";
  table.file = file_name(
      report, arena_text(report->arena, "initial_%ss_x%u", like->geometry->one, like->acceleration), set);
  table.title = arena_text(report->arena, "%s by the number of initial %ss at \u00d7%u",
                           score_name(report->arena, metric), like->geometry->one, like->acceleration);
  table.note = arena_text(
      report->arena, "Every scan ends with the same number of %ss; what is not given at the start is chosen.",
      like->geometry->one);
  for (size_t c = 0; c < count; c++)
    table.head[c + 1] = arena_text(report->arena, "%u initial", report->setting[list[c]].initial_lines);
  for (size_t m = 0; m < grid->methods; m++) {
    const char *method = grid->first[m]->method;
    if (!has_any(report, list, count, method, metric)) continue;
    tabular_text(&table, row, 0, method);
    for (size_t c = 0; c < count; c++) {
      const struct report_run *run = find_run(report, list[c], method, metric);
      if (run) put_score(report, &table, row, c + 1, run, metric);
    }
    row++;
  }
  table.rows = row;
  return report_put_table(page, &table, error);
}

static bool put_gamma(struct report_page *page, size_t set, const struct grid *grid, struct error *error) {
  struct report *report = page->report;
  const struct report_run *list[REPORT_RUNS];
  size_t count = 0, metric = page->config->metric;
  bool differ = false;
  for (size_t m = 0; m < grid->methods; m++) {
    size_t at = count;
    if (isnan(grid->first[m]->gamma)) continue;
    differ |= count && list[0]->gamma != grid->first[m]->gamma;
    for (; at && list[at - 1]->gamma > grid->first[m]->gamma; at--) list[at] = list[at - 1];
    list[at] = grid->first[m];
    count++;
  }
  if (!differ) return true;
  struct tabular table = tabular_make(report->arena, count, grid->settings + 2);
  table.head[0] = "method";
  table.head[1] = "\u03b3";
  table.file = file_name(report, "gamma", set);
  table.title = arena_text(report->arena, "%s by the discount \u03b3 of the policy's training",
                           score_name(report->arena, metric));
  for (size_t r = 0; r < count; r++) {
    tabular_text(&table, r, 0, list[r]->method);
    *tabular_cell(&table, r, 1) = (struct tabular_cell){
        .text = arena_text(report->arena, "%g", list[r]->gamma), .value = list[r]->gamma, .spread = NAN};
    for (size_t s = 0; s < grid->settings; s++) {
      const struct report_run *run = find_run(report, grid->setting[s], list[r]->method, metric);
      table.head[s + 2] = report->setting[grid->setting[s]].label;
      if (run) put_score(report, &table, r, s + 2, run, metric);
    }
  }
  return report_put_table(page, &table, error);
}

bool report_put_ablations(struct report_page *page, size_t set, struct error *error) {
  struct report *report = page->report;
  struct grid *grid = ARENA_NEW(report->arena, struct grid, 1);
  make_grid(report, set, page->config->metric, grid);
  for (size_t s = 0; s < grid->settings; s++) {
    const struct report_setting *setting = &report->setting[grid->setting[s]];
    bool seen = false;
    for (size_t before = 0; before < s; before++)
      seen |= is_like(&report->setting[grid->setting[before]], setting);
    if (!seen && !put_lines(page, set, grid, setting, error)) return false;
  }
  return put_gamma(page, set, grid, error);
}

/* ---- pairs --------------------------------------------------------------------------------------------- */

/* Where there are several trainings of a method, the table over seeds tells. */
static const char *verdict_of(const struct report *report, const struct report_run *run,
                              const struct report_run *baseline, size_t metric,
                              const struct statistics_pairs *patients) {
  if (report_count_seeds(report, run->setting, run->base, metric) > 1 ||
      report_count_seeds(report, run->setting, baseline->base, metric) > 1)
    return "see seeds";
  return statistics_verdict(patients->low, patients->high);
}

static void put_pair(struct report *report, const struct tabular *table, size_t row,
                     const struct report_run *run, const struct report_run *baseline, size_t metric,
                     struct chart_interval *interval) {
  const struct report_set *set = &report->set[report->setting[run->setting].set];
  const struct report_units *units = report_units(report, report->setting[run->setting].set, metric);
  double *value = report_values(report, run, metric, run->steps - 1),
         *other = report_values(report, baseline, metric, baseline->steps - 1),
         *room = ARENA_NEW(report->arena, double, 2 * set->clusters.count);
  for (size_t i = 0; i < units->count; i++) value[i] = metric_list[metric].sign * (value[i] - other[i]);
  struct statistics_pairs slices = statistics_paired(value, units->count);
  struct statistics_pairs patients =
      statistics_grouped(value, units->cluster, units->count, set->clusters.count, room);
  statistics_cut(&slices, metric_list[metric].most);
  statistics_cut(&patients, metric_list[metric].most);
  int shown = metric_list[metric].digits, digits = shown < 0 ? shown - 1 : shown + 1;
  tabular_text(table, row, 0, run->method);
  tabular_number(table, row, 1, slices.mean, digits);
  tabular_number(table, row, 2, slices.low, digits);
  tabular_number(table, row, 3, slices.high, digits);
  tabular_number(table, row, 4, patients.mean, digits);
  tabular_number(table, row, 5, patients.low, digits);
  tabular_number(table, row, 6, patients.high, digits);
  tabular_number(table, row, 7, 100 * slices.better, 1);
  tabular_text(table, row, 8, verdict_of(report, run, baseline, metric, &patients));
  tabular_missing(table, row, 1, slices.missing, units->count,
                  units == &set->by_volume ? "volumes" : "slices");
  *interval = (struct chart_interval){run->method, patients.mean, patients.low, patients.high,
                                      report_style(report, run->method)};
}

static const struct report_run *find_baseline(const struct report_page *page, size_t setting,
                                              const struct report_run **list) {
  const char *name = page->config->baseline;
  return name ? find_run(page->report, setting, name, page->config->metric) : list[0];
}

/* What the intervals of a setting are over, and what they hold fixed. */
static const char *note_of(struct report *report, const struct report_set *set,
                           const struct report_units *units, const struct report_run **list, size_t count) {
  bool trained = false;
  for (size_t i = 0; i < count; i++) trained |= *list[i]->training;
  return arena_text(report->arena,
                    "%s; 95 %% confidence intervals, the second over %s. Ahead, behind: it leaves out 0; "
                    "open: it does not.%s",
                    report_units_text(report->arena, units), clusters_text(report->arena, &set->clusters),
                    trained ? " Each method is of one training here, which the intervals hold fixed: another "
                              "training may differ by more."
                            : "");
}

/* Whether the setting has the baseline, and a method to compare with it. */
static bool has_pairs(const struct report_page *page, size_t set, size_t setting) {
  const struct report_run *list[REPORT_RUNS];
  return page->report->setting[setting].set == set &&
         report_select(page->report, setting, page->config->metric, list) > 1 &&
         find_baseline(page, setting, list);
}

/* The table of a setting's pairs, without its rows. */
static struct tabular pairs_table(struct report *report, size_t setting, const struct report_run *baseline,
                                  const struct report_run **list, size_t count, size_t metric) {
  const struct report_set *set = &report->set[report->setting[setting].set];
  const struct report_units *units = report_units(report, report->setting[setting].set, metric);
  const char *noun = clusters_noun(&set->clusters);
  struct tabular table = tabular_make(report->arena, count - 1, 9);
  const char *heads[] = {"method",
                         "mean difference",
                         "from",
                         "to",
                         arena_text(report->arena, "mean (%s)", noun),
                         arena_text(report->arena, "from (%s)", noun),
                         arena_text(report->arena, "to (%s)", noun),
                         "better, %",
                         "verdict"};
  memcpy(table.head, heads, sizeof heads);
  table.file = arena_text(report->arena, "pairs_%zu", setting + 1);
  table.title = arena_text(report->arena, "%s against %s, %s by %s, at %s", score_name(report->arena, metric),
                           baseline->method, units->one, units->one, report->setting[setting].label);
  table.note = note_of(report, set, units, list, count);
  return table;
}

static bool put_intervals(struct report_page *page, const struct tabular *table, const struct report_set *set,
                          const struct chart_interval *interval, size_t rows, struct error *error) {
  struct report *report = page->report;
  const char *across =
      arena_text(report->arena, "difference in %s", score_name(report->arena, page->config->metric));
  struct chart_intervals chart = {table->title, across, interval, rows};
  struct report_figure figure = {
      table->file,
      table->title,
      arena_text(report->arena,
                 "Mean over %s of their mean differences, with its 95 %% confidence "
                 "interval; right of the line is better.",
                 clusters_text(report->arena, &set->clusters)),
      0,
      chart_draw_intervals,
      &chart};
  return report_put_figure(page, &figure, error);
}

static bool put_setting(struct report_page *page, size_t setting, struct error *error) {
  struct report *report = page->report;
  const struct report_run *list[REPORT_RUNS];
  size_t metric = page->config->metric, count = report_select(report, setting, metric, list), row = 0;
  const struct report_run *baseline = find_baseline(page, setting, list);
  const struct report_set *set = &report->set[report->setting[setting].set];
  struct tabular table = pairs_table(report, setting, baseline, list, count, metric);
  struct chart_interval *interval = ARENA_NEW(report->arena, struct chart_interval, count);
  for (size_t i = 0; i < count; i++)
    if (list[i] != baseline) {
      put_pair(report, &table, row, list[i], baseline, metric, &interval[row]);
      row++;
    }
  return report_put_table(page, &table, error) && put_intervals(page, &table, set, interval, row, error);
}

bool report_put_pairs(struct report_page *page, size_t set, struct error *error) {
  bool any = false;
  for (size_t s = 0; s < page->report->settings; s++) any |= has_pairs(page, set, s);
  if (!any) return true;
  report_heading(page, 3, NULL, "Comparisons");
  report_say(
      page,
      "Differences on the same slices, positive where the method is better; of several scans of a slice the "
      "mean counts. From and to bound the 95 % confidence interval of the mean difference, by Student's t: "
      "over slices, and with their mean over the means of patients, for slices of one patient are not "
      "independent; a file that does not say whose it is stands for a patient. Better is the fraction of "
      "slices "
      "where the method is, ties half. Slices where one of two has no score are of no pair: they are counted "
      "and left out. Where scores are of volumes, volumes stand for slices.");
  for (size_t s = 0; s < page->report->settings; s++)
    if (has_pairs(page, set, s) && !put_setting(page, s, error)) return false;
  return true;
}
