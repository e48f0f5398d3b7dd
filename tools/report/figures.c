/* Figures of results: histograms of slices, and scores after every action. Their numbers are tables beside.
 */
#include "engine/base/log.h"
#include "tools/draw/chart.h"
#include "tools/report/report.h"
#include "tools/report/score_text.h"
#include "tools/report/statistics.h"

#include <math.h>
#include <string.h>

static const char *mean_label(struct arena *arena, double mean, size_t missing, size_t slices,
                              size_t metric) {
  const char *number = missing == slices ? "\u2013" : tabular_digits(arena, mean, metric_list[metric].digits);
  return missing ? arena_text(arena, "mean %s, %zu without", number, missing)
                 : arena_text(arena, "mean %s", number);
}

static struct chart_row *make_rows(struct report *report, size_t setting, size_t metric, size_t *count) {
  const struct report_run *list[REPORT_RUNS];
  const struct report_units *units = report_units(report, report->setting[setting].set, metric);
  *count = report_select(report, setting, metric, list);
  struct chart_row *rows = ARENA_NEW(report->arena, struct chart_row, *count + 1);
  for (size_t i = 0; i < *count; i++) {
    double std;
    size_t scored;
    rows[i] = (struct chart_row){.name = list[i]->method,
                                 .value = report_values(report, list[i], metric, list[i]->steps - 1),
                                 .count = units->count,
                                 .style = report_style(report, list[i]->method)};
    scored = statistics_mean(rows[i].value, rows[i].count, &rows[i].mean, &std);
    rows[i].label = mean_label(report->arena, rows[i].mean, units->count - scored, units->count, metric);
  }
  return rows;
}

static bool any_missing(const struct chart_row *rows, size_t count) {
  for (size_t r = 0; r < count; r++)
    for (size_t i = 0; i < rows[r].count; i++)
      if (!isfinite(rows[r].value[i])) return true;
  return false;
}

bool report_put_histograms(struct report_page *page, size_t setting, struct error *error) {
  struct report *report = page->report;
  size_t count, metric = page->config->metric;
  struct chart_row *rows = make_rows(report, setting, metric, &count);
  const char *name = score_name(report->arena, metric), *label = report->setting[setting].label,
             *one = report_units(report, report->setting[setting].set, metric)->one;
  if (!count) return true;
  struct chart_bins bins = chart_bins(rows, count);
  struct tabular table = tabular_make(report->arena, bins.count, count + 1);
  double *fraction = ARENA_NEW(report->arena, double, bins.count);
  table.file = arena_text(report->arena, "histogram_%zu", setting + 1);
  table.title =
      arena_text(report->arena, "%s of the %ss at %s, %% of them from each value on", name, one, label);
  table.numbers = true;
  table.head[0] = name;
  for (size_t r = 0; r < count; r++) {
    table.head[r + 1] = rows[r].name;
    chart_fractions(&rows[r], &bins, fraction);
    for (size_t b = 0; b < bins.count; b++) {
      double from = bins.low + bins.width * (double)b;
      *tabular_cell(&table, b, 0) = (struct tabular_cell){
          .text = arena_text(report->arena, "%.6g", from), .value = from, .spread = NAN};
      tabular_number(&table, b, r + 1, 100 * fraction[b], 1);
    }
  }
  const char *caption = arena_text(
      report->arena, "%zu %s%s; bars are fractions of them on one scale, the dark line is the mean%s.",
      rows[0].count, one, plural(rows[0].count),
      any_missing(rows, count)
          ? arena_text(report->arena, "; %ss without a score are counted at the right, and left out", one)
          : "");
  struct chart_histograms chart = {arena_text(report->arena, "%s of the %ss at %s", name, one, label), name,
                                   rows, count};
  struct report_figure figure = {table.file, chart.title, caption, 0, chart_draw_histograms, &chart};
  return report_put_figure(page, &figure, error) && report_put_table(page, &table, error);
}

/* ---- after every line ---------------------------------------------------------------------------------- */

static struct chart_line make_line(struct report *report, const struct report_run *run, size_t metric) {
  struct arena *arena = report->arena;
  const struct report_setting *setting = &report->setting[run->setting];
  double *x = ARENA_NEW(arena, double, run->steps), *y = ARENA_NEW(arena, double, run->steps),
         *score = ARENA_NEW(arena, double, run->scans), std;
  for (size_t t = 0; t < run->steps; t++) {
    x[t] = setting->initial_lines + (double)t * (setting->geometry->points ? setting->budget : 1);
    for (size_t i = 0; i < run->scans; i++) score[i] = run->metric[metric][i * run->steps + t];
    statistics_mean(score, run->scans, &y[t], &std);
  }
  return (struct chart_line){run->method, x, y, run->steps, report_style(report, run->method)};
}

bool report_put_curves(struct report_page *page, size_t setting, struct error *error) {
  struct report *report = page->report;
  const struct report_run *list[REPORT_RUNS];
  size_t metric = page->config->metric, count = report_select(report, setting, metric, list), used = 0;
  struct chart_line *lines = ARENA_NEW(report->arena, struct chart_line, count + 1);
  const char *name = score_name(report->arena, metric), *label = report->setting[setting].label;
  const char *one = report->setting[setting].geometry->one;
  for (size_t i = 0; i < count; i++)
    if (list[i]->curve) lines[used++] = make_line(report, list[i], metric);
  if (!used) return true;
  struct tabular table = tabular_make(report->arena, lines[0].points, used + 1);
  table.file = arena_text(report->arena, "curve_%zu", setting + 1);
  table.title = report->setting[setting].geometry->points
                    ? arena_text(report->arena, "mean %s at the start and at the end at %s", name, label)
                    : arena_text(report->arena, "mean %s after every %s at %s", name, one, label);
  table.numbers = true;
  table.head[0] = arena_text(report->arena, "%ss", one);
  for (size_t l = 0; l < used; l++) {
    table.head[l + 1] = lines[l].name;
    for (size_t t = 0; t < lines[l].points; t++) {
      tabular_number(&table, t, 0, lines[l].x[t], 0);
      tabular_number(&table, t, l + 1, lines[l].y[t], metric_list[metric].digits);
    }
  }
  struct chart chart = {.title = table.title,
                        .across = arena_text(report->arena, "acquired %ss, initial ones included", one),
                        .up = name,
                        .lines = lines,
                        .line_count = used};
  const char *caption =
      arena_text(report->arena, "Means over all scans%s.",
                 used < count ? "; methods that were scored at the end only are left out" : "");
  struct report_figure figure = {table.file, chart.title, caption, 0, chart_draw, &chart};
  return report_put_figure(page, &figure, error) && report_put_table(page, &table, error);
}
