/* Trainings beside each other: their curves over one another, what their options differ in, and what they
 * took. */
#include "engine/base/text.h"
#include "engine/files/scene.h"
#include "tools/draw/chart.h"
#include "tools/report/report.h"
#include "tools/report/score_text.h"

#include <math.h>
#include <string.h>

enum { LINES_MOST = 8 /* in a figure: that many styles can be told apart */ };

/* ---- names --------------------------------------------------------------------------------------------- */

/* So many of the last parts of a path. */
static const char *last_parts(const char *path, size_t parts) {
  const char *at = path + strlen(path);
  while (at > path + 1 && at[-1] == '/') at--;
  while (at > path && (at[-1] != '/' || --parts)) at--;
  return at;
}

/* As few parts of the paths as tell them apart. */
static const char **names_of(const struct report *report) {
  const char **name = ARENA_NEW(report->arena, const char *, report->trainings);
  bool same = true;
  for (size_t parts = 1; same && parts < 8; parts++) {
    same = false;
    for (size_t t = 0; t < report->trainings; t++) name[t] = last_parts(report->training[t].path, parts);
    for (size_t t = 0; t < report->trainings; t++)
      for (size_t other = 0; other < t; other++) same |= !strcmp(name[t], name[other]);
  }
  return name;
}

/* ---- curves -------------------------------------------------------------------------------------------- */

/* A stage's curve of several trainings. */
struct together {
  const char *stage, *metric, *unit; /* metric NULL: the reward */
  const char **name;                 /* of the trainings */
  size_t number;                     /* of the figure */
};

static const struct report_points *points_of(const struct report_stage *stage, const struct together *of) {
  bool fits = !strcmp(stage->name, of->stage) && !strcmp(stage->unit, of->unit) &&
              (!of->metric || !strcmp(stage->metric, of->metric));
  const struct report_points *points = of->metric ? &stage->validation : &stage->reward;
  return fits && points->count ? points : NULL;
}

static const struct report_points *curve_of(const struct report_training *training,
                                            const struct together *of) {
  for (size_t s = 0; s < training->stages; s++) {
    const struct report_points *points = points_of(&training->stage[s], of);
    if (points) return points;
  }
  return NULL;
}

static bool put_numbers(struct report_page *page, const char *file, const char *title,
                        const struct chart *chart, struct error *error) {
  size_t rows = 0, row = 0;
  for (size_t l = 0; l < chart->line_count; l++) rows += chart->lines[l].points;
  struct tabular table = tabular_make(page->report->arena, rows, 3);
  table.head[0] = "training", table.head[1] = chart->across, table.head[2] = chart->up;
  table.file = file;
  table.title = title;
  table.numbers = true;
  for (size_t l = 0; l < chart->line_count; l++)
    for (size_t i = 0; i < chart->lines[l].points; i++, row++) {
      tabular_text(&table, row, 0, chart->lines[l].name);
      tabular_number(&table, row, 1, chart->lines[l].x[i], 0);
      tabular_number(&table, row, 2, chart->lines[l].y[i], 5);
    }
  return report_put_table(page, &table, error);
}

static bool put_curves(struct report_page *page, struct together *of, const struct chart_line *lines,
                       size_t count, struct error *error) {
  struct arena *arena = page->report->arena;
  const char *what = of->metric ? arena_text(arena, "validation %s", score_of(arena, of->metric))
                                : "mean reward of a scan",
             *file = arena_text(arena, "together_%zu", ++of->number);
  struct chart chart = {.title = arena_text(arena, "%s: %s", of->stage, what),
                        .across = of->unit,
                        .up = what,
                        .lines = lines,
                        .line_count = count};
  struct report_figure figure = {.file = file,
                                 .title = chart.title,
                                 .caption = arena_text(arena, "Stage %s of %zu trainings.", of->stage, count),
                                 .draw = chart_draw,
                                 .what = &chart};
  return report_put_figure(page, &figure, error) && put_numbers(page, file, chart.title, &chart, error);
}

/* The curve of all trainings that have it, so many in a figure; of one alone there is a figure already. */
static bool put_all(struct report_page *page, struct together *of, struct error *error) {
  struct report *report = page->report;
  struct chart_line *lines = ARENA_NEW(report->arena, struct chart_line, report->trainings);
  size_t count = 0;
  for (size_t t = 0; t < report->trainings; t++) {
    const struct report_points *points = curve_of(&report->training[t], of);
    if (!points) continue;
    lines[count] = (struct chart_line){text_shown(report->arena, of->name[t]), points->x, points->y,
                                       points->count, count % LINES_MOST};
    count++;
  }
  for (size_t from = 0; count > 1 && from < count; from += LINES_MOST)
    if (!put_curves(page, of, lines + from, count - from < LINES_MOST ? count - from : LINES_MOST, error))
      return false;
  return true;
}

/* Whether an earlier training has a curve of that kind, which was put with it. */
static bool is_put(const struct report *report, size_t training, const struct together *of) {
  for (size_t t = 0; t < training; t++)
    if (curve_of(&report->training[t], of)) return true;
  return false;
}

static bool put_figures(struct report_page *page, const char **name, struct error *error) {
  const struct report *report = page->report;
  size_t number = 0;
  for (size_t t = 0; t < report->trainings; t++)
    for (size_t s = 0; s < report->training[t].stages; s++)
      for (int reward = 0; reward < 2; reward++) {
        const struct report_stage *stage = &report->training[t].stage[s];
        struct together of = {stage->name, reward ? NULL : stage->metric, stage->unit, name, number};
        if (!points_of(stage, &of) || is_put(report, t, &of)) continue;
        if (!put_all(page, &of, error)) return false;
        number = of.number;
      }
  return true;
}

/* ---- options ------------------------------------------------------------------------------------------- */

static const char unknown[] = "not known";

/* Values of all options [option_table.count] of a training's scene. */
static const char **values_of(const struct report *report, const struct report_training *training) {
  const char **value = ARENA_NEW(report->arena, const char *, option_table.count);
  struct options *options = ARENA_NEW(report->arena, struct options, 1);
  struct error ignored; /* of another version */
  option_defaults(&option_table, options, report->arena);
  bool read = training->scene &&
              scene_read_text(&option_table, options, report->arena, training->scene, NULL, &ignored);
  for (size_t i = 0; i < option_table.count; i++)
    value[i] = read ? option_text(&option_table.rows[i], options, report->arena) : unknown;
  return value;
}

/* A row of the table where not all are equal. */
static void add_row(struct tabular *table, size_t *row, const char *key, const char *const *values) {
  bool same = true;
  for (size_t t = 1; t + 1 < table->columns; t++) same &= !strcmp(values[0], values[t]);
  if (same) return;
  tabular_text(table, *row, 0, key);
  for (size_t t = 0; t + 1 < table->columns; t++)
    tabular_text(table, *row, t + 1, *values[t] ? values[t] : "\"\"");
  ++*row;
}

static bool put_options(struct report_page *page, const char **name, struct error *error) {
  struct report *report = page->report;
  struct arena *arena = report->arena;
  size_t count = report->trainings, row = 0;
  const char ***value = ARENA_NEW(arena, const char **, count),
             **values = ARENA_NEW(arena, const char *, count);
  struct tabular table = tabular_make(arena, option_table.count + 2, count + 1);
  table.file = "differences";
  table.title = "What the trainings differ in";
  table.note = "Options that say where files are, and how long and what is printed, are left out.";
  table.head[0] = "option";
  for (size_t t = 0; t < count; t++) {
    value[t] = values_of(report, &report->training[t]);
    table.head[t + 1] = name[t];
  }
  for (size_t i = 0; i < option_table.count; i++) {
    const struct option *option = &option_table.rows[i];
    for (size_t t = 0; t < count; t++) values[t] = value[t][i];
    if (option->concerns != CONCERNS_PLACE && strcmp(option->section, "evaluate") != 0)
      add_row(&table, &row, arena_text(arena, "%s.%s", option->section, option->name), values);
  }
  for (size_t t = 0; t < count; t++)
    values[t] = report->training[t].device ? report->training[t].device : unknown;
  add_row(&table, &row, "device", values);
  for (size_t t = 0; t < count; t++)
    values[t] = report->training[t].version ? report->training[t].version : unknown;
  add_row(&table, &row, "version", values);
  table.rows = row;
  if (row) return report_put_table(page, &table, error);
  report_say(
      page,
      "The trainings have the same options, device and version: they differ in their data, or not at all.");
  return true;
}

/* ---- what they took ------------------------------------------------------------------------------------ */

/* The best validation of stages with the metric of the last one. */
static const struct report_stage *best_stage(const struct report_training *training, double *best) {
  const struct report_stage *found = NULL, *last = &training->stage[training->stages - 1];
  double sign = 1;
  for (size_t m = 0; m < METRICS; m++)
    if (!strcmp(metric_list[m].name, last->metric)) sign = metric_list[m].sign;
  for (size_t s = 0; s < training->stages; s++) {
    const struct report_stage *stage = &training->stage[s];
    double value = report_stage_best(stage);
    if (strcmp(stage->metric, last->metric) || isnan(value) || (found && sign * value <= sign * *best))
      continue;
    found = stage;
    *best = value;
  }
  return found;
}

static bool put_totals(struct report_page *page, const char **name, struct error *error) {
  static const char *const heads[] = {"training",    "method", "stages", "learning, s",
                                      "memory, MiB", "metric", "best",   "at stage"};
  struct report *report = page->report;
  struct tabular table = tabular_make(report->arena, report->trainings, 8);
  memcpy(table.head, heads, sizeof heads);
  table.file = "totals";
  table.title = "Time, memory and best validation of the trainings";
  table.note = "Learning is the time of all updates, by the speeds in the logs, without loading, compiling "
               "and validation. Memory is the "
               "most that a stage has taken of the device. Best is among stages that are validated by the "
               "last one's metric.";
  for (size_t t = 0; t < report->trainings; t++) {
    const struct report_training *training = &report->training[t];
    double best = NAN, seconds = 0, bytes = 0;
    const struct report_stage *at = best_stage(training, &best);
    for (size_t s = 0; s < training->stages; s++) {
      seconds += training->stage[s].seconds;
      bytes = fmax(bytes, training->stage[s].bytes);
    }
    tabular_text(&table, t, 0, name[t]);
    if (*training->method) tabular_text(&table, t, 1, training->method);
    tabular_number(&table, t, 2, (double)training->stages, 0);
    if (seconds > 0) tabular_number(&table, t, 3, seconds, 1);
    if (bytes > 0) tabular_number(&table, t, 4, bytes / 0x1p20, 1);
    tabular_text(&table, t, 5, score_of(report->arena, training->stage[training->stages - 1].metric));
    tabular_number(&table, t, 6, best, 5);
    if (at) tabular_text(&table, t, 7, at->name);
  }
  return report_put_table(page, &table, error);
}

bool report_put_together(struct report_page *page, struct error *error) {
  const char **name = names_of(page->report);
  if (page->report->trainings < 2) return true;
  report_heading(page, 3, NULL, "Trainings beside each other");
  return put_totals(page, name, error) && put_options(page, name, error) && put_figures(page, name, error);
}
