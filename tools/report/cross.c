/* Cross tables of `l2sr evaluate`: what chose the actions by what reconstructed, all pairs. */
#include "engine/base/log.h"
#include "tools/draw/matrix.h"
#include "tools/report/report.h"
#include "tools/report/score_text.h"
#include "tools/report/statistics.h"

#include <math.h>
#include <string.h>

enum { CROSS_NUMBERS = 2 /* metrics in a cell */ };

/* One setting of one call of evaluate. */
struct cross {
  struct report *report;
  const char *folder;
  size_t setting, rows, columns, metrics;
  const char *row[REPORT_RUNS], *reconstructor[REPORT_RUNS];
  size_t metric[CROSS_NUMBERS]; /* first that of figures */
};

static size_t find_name(const char *const *list, size_t count, const char *name) {
  size_t i = 0;
  while (i < count && strcmp(list[i], name)) i++;
  return i;
}

static bool is_of(const struct cross *cross, const struct report_run *run) {
  return run->cross && run->setting == cross->setting && !strcmp(run->cross, cross->folder);
}

static void collect(struct cross *cross) {
  for (size_t r = 0; r < cross->report->runs; r++) {
    const struct report_run *run = &cross->report->run[r];
    if (!is_of(cross, run)) continue;
    size_t row = find_name(cross->row, cross->rows, run->row);
    size_t column = find_name(cross->reconstructor, cross->columns, run->column);
    cross->row[row] = run->row;
    cross->reconstructor[column] = run->column;
    cross->rows += row == cross->rows;
    cross->columns += column == cross->columns;
  }
}

static void choose_metrics(struct cross *cross, const struct report_config *config) {
  cross->metric[cross->metrics++] = config->metric;
  for (size_t m = 0; m < METRICS && cross->metrics < CROSS_NUMBERS; m++)
    if (m != config->metric && report_shows(cross->report, config, m)) cross->metric[cross->metrics++] = m;
}

static const struct report_run *find_pair(const struct cross *cross, size_t row, size_t column,
                                          size_t metric) {
  for (size_t r = 0; r < cross->report->runs; r++) {
    const struct report_run *run = &cross->report->run[r];
    if (is_of(cross, run) && run->metric[metric] && !strcmp(run->row, cross->row[row]) &&
        !strcmp(run->column, cross->reconstructor[column]))
      return run;
  }
  return NULL;
}

static void put_cell(const struct cross *cross, const struct tabular *table, size_t row, size_t column,
                     struct matrix_cell *cell) {
  struct arena *arena = cross->report->arena;
  *cell = (struct matrix_cell){.value = NAN};
  for (size_t i = 0; i < cross->metrics; i++) {
    size_t metric = cross->metric[i];
    const struct report_run *run = find_pair(cross, row, column, metric);
    if (!run) continue;
    const struct report_units *units =
        report_units(cross->report, cross->report->setting[run->setting].set, metric);
    size_t at = 1 + column * cross->metrics + i;
    double mean, std, *value = report_values(cross->report, run, metric, run->steps - 1);
    size_t scored = statistics_mean(value, units->count, &mean, &std);
    tabular_number(table, row, at, mean, metric_list[metric].digits);
    tabular_missing(table, row, at, units->count - scored, units->count,
                    arena_text(arena, "%ss", units->one));
    const char *text = scored ? tabular_digits(arena, mean, metric_list[metric].digits) : "no score";
    if (i == 0)
      *cell = (struct matrix_cell){mean, text, NULL};
    else
      cell->below = text;
  }
}

static struct tabular make_table(const struct cross *cross, size_t number) {
  struct report *report = cross->report;
  struct tabular table = tabular_make(report->arena, cross->rows, 1 + cross->columns * cross->metrics);
  table.file = arena_text(report->arena, "cross_%zu", number);
  table.title = arena_text(report->arena, "Choosers by reconstructors at %s (%s)",
                           report->setting[cross->setting].label, cross->folder);
  table.note = "Every row chooses the actions, every column reconstructs; means over slices. Marked: best "
               "of a column; oracles, which see the truth, take no part.";
  table.head[0] = "chosen by";
  for (size_t c = 0; c < cross->columns; c++)
    for (size_t i = 0; i < cross->metrics; i++)
      table.head[1 + c * cross->metrics + i] = arena_text(report->arena, "%s: %s", cross->reconstructor[c],
                                                          score_name(report->arena, cross->metric[i]));
  for (size_t r = 0; r < cross->rows; r++) tabular_text(&table, r, 0, cross->row[r]);
  return table;
}

static void mark_best(const struct cross *cross, const struct tabular *table) {
  bool *competes = ARENA_NEW(cross->report->arena, bool, cross->rows);
  for (size_t r = 0; r < cross->report->runs; r++) {
    const struct report_run *run = &cross->report->run[r];
    if (is_of(cross, run))
      competes[find_name(cross->row, cross->rows, run->row)] = run->group != REPORT_ORACLES;
  }
  for (size_t c = 0; c < cross->columns * cross->metrics; c++) {
    const struct metric *metric = &metric_list[cross->metric[c % cross->metrics]];
    tabular_mark_best(table, c + 1, metric->sign, competes, metric->digits);
  }
}

static bool put_cross(struct report_page *page, struct cross *cross, size_t number, struct error *error) {
  struct report *report = page->report;
  struct tabular table = make_table(cross, number);
  struct matrix_cell *cell = ARENA_NEW(report->arena, struct matrix_cell, cross->rows * cross->columns);
  for (size_t r = 0; r < cross->rows; r++)
    for (size_t c = 0; c < cross->columns; c++) put_cell(cross, &table, r, c, &cell[r * cross->columns + c]);
  mark_best(cross, &table);
  const char *first = score_name(report->arena, cross->metric[0]);
  struct matrix matrix = {
      .title = table.title,
      .across = "reconstructed by",
      .row = cross->row,
      .head = cross->reconstructor,
      .cell = cell,
      .rows = cross->rows,
      .columns = cross->columns,
      .sign = metric_list[cross->metric[0]].sign,
  };
  const char *below = cross->metrics > 1 ? arena_text(report->arena, ", below it %s",
                                                      score_name(report->arena, cross->metric[1]))
                                         : "";
  const char *caption =
      arena_text(report->arena, "Mean %s of every pair%s; the darker, the better.", first, below);
  struct report_figure figure = {table.file, table.title, caption, 0, matrix_draw, &matrix};
  return report_put_figure(page, &figure, error) && report_put_table(page, &table, error);
}

static bool is_first(const struct report *report, size_t place) {
  const struct report_run *run = &report->run[place];
  for (size_t r = 0; r < place; r++)
    if (report->run[r].cross && report->run[r].setting == run->setting &&
        !strcmp(report->run[r].cross, run->cross))
      return false;
  return true;
}

bool report_put_crosses(struct report_page *page, size_t set, struct error *error) {
  struct report *report = page->report;
  size_t number = 0;
  for (size_t r = 0; r < report->runs; r++) {
    const struct report_run *run = &report->run[r];
    if (!run->cross || !is_first(report, r)) continue;
    number++;
    if (report->setting[run->setting].set != set) continue;
    struct cross *cross = ARENA_NEW(report->arena, struct cross, 1);
    *cross = (struct cross){.report = report, .folder = run->cross, .setting = run->setting};
    collect(cross);
    choose_metrics(cross, page->config);
    if (!put_cross(page, cross, number, error)) return false;
  }
  return true;
}
