/* Trainings and costs: validation along the stages, a table of all, and what a slice costs. */
#include "engine/base/text.h"
#include "tools/draw/chart.h"
#include "tools/report/report.h"
#include "tools/report/score_text.h"

#include <math.h>
#include <string.h>

/* ---- along the stages ---------------------------------------------------------------------------------- */

/* What its log counted to: epochs, rollouts or updates. */
static double last_of(const struct report_stage *stage) {
  double last = 1;
  if (stage->reward.count) last = fmax(last, stage->reward.x[stage->reward.count - 1]);
  if (stage->validation.count) last = fmax(last, stage->validation.x[stage->validation.count - 1]);
  return last;
}

/* Stages stand side by side and are as wide as each other, whatever their x counts. Validations of the
 * metric, or rewards (NULL). */
static struct chart_line stretch(struct arena *arena, const struct report_training *training,
                                 const char *metric, const char *name, size_t style) {
  size_t count = 0;
  for (size_t s = 0; s < training->stages; s++)
    count += 1 + training->stage[s].reward.count + training->stage[s].validation.count;
  double *x = ARENA_NEW(arena, double, count), *y = ARENA_NEW(arena, double, count);
  struct chart_line line = {name, x, y, 0, style};
  for (size_t s = 0; s < training->stages; s++) {
    const struct report_stage *stage = &training->stage[s];
    const struct report_points *points = metric ? &stage->validation : &stage->reward;
    double last = last_of(stage);
    bool other = metric && strcmp(metric, stage->metric);
    for (size_t i = 0; i < points->count && !other; i++, line.points++) {
      x[line.points] = (double)s + points->x[i] / last;
      y[line.points] = points->y[i];
    }
    x[line.points] = y[line.points] = NAN; /* a stage is not joined to the next */
    line.points++;
  }
  return line;
}

static const char *stage_label(struct arena *arena, const struct report_stage *stage) {
  const struct report_points *points = stage->validation.count ? &stage->validation : &stage->reward;
  if (!points->count) return stage->name;
  double last = points->x[points->count - 1];
  size_t letters = strlen(stage->unit); /* "epochs" */
  return arena_text(arena, "%s: %.0f %.*s", stage->name, last, (int)(letters - (last == 1)), stage->unit);
}

/* "policy_1: 4 rollouts", "policy_1" and "P1". The caption has it all. */
static struct chart_band band_of(struct arena *arena, const struct report_stage *stage, size_t place) {
  const char *round = strchr(stage->name, '_'),
             *letter = arena_text(arena, "%c%s", *stage->name - 'a' + 'A', round ? round + 1 : "");
  return (struct chart_band){
      (double)place, (double)place + 1, {stage_label(arena, stage), stage->name, letter}, last_of(stage)};
}

/* The end of a long path tells more than its start. */
static const char *short_path(struct arena *arena, const char *path) {
  enum { LETTERS = 48 };
  if (text_length(path) <= LETTERS) return path;
  for (path++; text_length(path) >= LETTERS || ((unsigned char)*path & 0xc0) == 0x80;) path++;
  return arena_text(arena, "\u2026%s", path);
}

/* "epochs", or "stages, each as wide as the others, with their epochs and rollouts". */
static const char *across_of(struct arena *arena, const struct report_training *training) {
  const char *units = "";
  for (size_t s = 0; s < training->stages; s++) {
    const char *unit = training->stage[s].unit;
    if (*unit && !strstr(units, unit))
      units = arena_text(arena, "%s%s%s", units, *units ? " and " : "", unit);
  }
  return training->stages > 1 ? arena_text(arena, "stages, each as wide as the others, with their %s", units)
                              : units;
}

/* Puts a figure of one metric, or of the reward (NULL). */
static bool put_stages_figure(struct report_page *page, const struct report_training *training, size_t number,
                              const char *metric, struct error *error) {
  struct arena *arena = page->report->arena;
  size_t stages = training->stages;
  struct chart_band *bands = ARENA_NEW(arena, struct chart_band, stages);
  const char *name = metric ? arena_text(arena, "validation %s", score_of(arena, metric))
                            : "mean reward of a scan",
             *caption = "";
  struct chart_line line = stretch(arena, training, metric, name, metric ? 0 : 1);
  bool any = false;
  for (size_t i = 0; i < line.points; i++) any |= isfinite(line.y[i]);
  if (!any) return true;
  for (size_t s = 0; s < stages; s++) {
    bands[s] = band_of(arena, &training->stage[s], s);
    caption = arena_text(arena, "%s%s%s", caption, s ? "; " : "", bands[s].name[0]);
  }
  struct chart chart = {.title = arena_text(arena, "%s: %s", short_path(arena, training->path), name),
                        .across = across_of(arena, training),
                        .up = name,
                        .lines = &line,
                        .line_count = 1,
                        .bands = bands,
                        .band_count = stages};
  struct report_figure figure = {.file =
                                     arena_text(arena, "training_%zu_%s", number, metric ? metric : "reward"),
                                 .title = chart.title,
                                 .caption = arena_text(arena, "%s.", caption),
                                 .draw = chart_draw,
                                 .what = &chart};
  return report_put_figure(page, &figure, error);
}

/* A figure for every metric: a policy may be scored by another one than the reconstructor. */
static bool put_validations(struct report_page *page, const struct report_training *training, size_t number,
                            struct error *error) {
  for (size_t s = 0; s < training->stages; s++) {
    size_t before = 0;
    while (before < s && strcmp(training->stage[before].metric, training->stage[s].metric)) before++;
    if (before == s && !put_stages_figure(page, training, number, training->stage[s].metric, error))
      return false;
  }
  return true;
}

/* ---- tables -------------------------------------------------------------------------------------------- */

static bool put_points(struct report_page *page, const struct report_training *training, size_t number,
                       struct error *error) {
  struct arena *arena = page->report->arena;
  size_t rows = 0, row = 0;
  for (size_t s = 0; s < training->stages; s++)
    rows += training->stage[s].validation.count + training->stage[s].reward.count;
  struct tabular table = tabular_make(arena, rows, 6);
  static const char *const heads[] = {"stage", "after", "of", "metric", "validation", "reward"};
  memcpy(table.head, heads, sizeof heads);
  table.file = arena_text(arena, "training_%zu", number);
  table.title = arena_text(arena, "validation and reward of %s", training->path);
  table.numbers = true;
  for (size_t s = 0; s < training->stages; s++)
    for (int reward = 0; reward < 2; reward++) {
      const struct report_stage *stage = &training->stage[s];
      const struct report_points *points = reward ? &stage->reward : &stage->validation;
      for (size_t i = 0; i < points->count; i++, row++) {
        tabular_text(&table, row, 0, stage->name);
        tabular_number(&table, row, 1, points->x[i], 0);
        tabular_text(&table, row, 2, stage->unit);
        if (!reward) tabular_text(&table, row, 3, score_of(arena, stage->metric));
        tabular_number(&table, row, reward ? 5 : 4, points->y[i], 5);
      }
    }
  return report_put_table(page, &table, error);
}

/* The last validation and the best, of every stage. */
static bool put_stages(struct report_page *page, struct error *error) {
  struct report *report = page->report;
  size_t rows = 0, row = 0;
  for (size_t t = 0; t < report->trainings; t++) rows += report->training[t].stages;
  struct tabular table = tabular_make(report->arena, rows, 6);
  static const char *const heads[] = {"stage", "metric", "validations", "last", "best", "\u03b3"};
  memcpy(table.head, heads, sizeof heads);
  table.group = ARENA_NEW(report->arena, const char *, rows);
  table.file = "stages";
  table.title = "Validation after every stage of the trainings";
  table.note = "Validation is the mean score of the slices in val, which training does not see: of reconstructors on their "
      "own validation scans, of policies of their scans. Last: at the end of a stage; best: the best of all.";
  for (size_t t = 0; t < report->trainings; t++)
    for (size_t s = 0; s < report->training[t].stages; s++, row++) {
      const struct report_training *training = &report->training[t];
      const struct report_points *points = &training->stage[s].validation;
      table.group[row] = training->path;
      if (*training->method)
        table.group[row] = arena_text(report->arena, "%s (train.method %s)", training->path, training->method);
      tabular_text(&table, row, 0, training->stage[s].name);
      tabular_text(&table, row, 1, score_of(report->arena, training->stage[s].metric));
      tabular_number(&table, row, 2, (double)points->count, 0);
      tabular_number(&table, row, 3, points->count ? points->y[points->count - 1] : NAN, 5);
      tabular_number(&table, row, 4, report_stage_best(&training->stage[s]), 5);
      if (!isnan(training->stage[s].gamma)) tabular_number(&table, row, 5, training->stage[s].gamma, 2);
    }
  return report_put_table(page, &table, error);
}

bool report_put_trainings(struct report_page *page, struct error *error) {
  struct report *report = page->report;
  if (!report->trainings) return true;
  report_heading(page, 2, "trainings", "Trainings");
  if (!put_stages(page, error) || !report_put_together(page, error)) return false;
  for (size_t t = 0; t < report->trainings; t++) {
    const struct report_training *training = &report->training[t];
    if (!put_validations(page, training, t + 1, error) ||
        !put_stages_figure(page, training, t + 1, NULL, error) || !put_points(page, training, t + 1, error) ||
        !report_put_choices(page, training, t + 1, error))
      return false;
  }
  return true;
}

/* ---- costs --------------------------------------------------------------------------------------------- */

static size_t place_of(const char *list[], size_t *count, const char *word) {
  size_t i = 0;
  while (i < *count && strcmp(list[i], word)) i++;
  if (i == *count) list[(*count)++] = word;
  return i;
}

static double cost_of(const struct report_cost *cost, int kind) {
  return kind == 0 ? cost->flops / 1e9 : kind == 1 ? 1e3 * cost->seconds : 1e3 * cost->best_seconds;
}

static bool put_cost(struct report_page *page, const char *device, size_t number, int kind,
                     struct error *error) {
  static const char *const titles[] = {"GFLOP a slice", "Milliseconds a slice, one at a time",
                                       "Milliseconds a slice, best number of slices side by side"};
  static const char *const files[] = {"cost_gflop", "cost_one", "cost_best"};
  struct report *report = page->report;
  const char *method[REPORT_RUNS], *setting[REPORT_RUNS];
  size_t methods = 0, settings = 0;
  for (size_t i = 0; i < report->costs; i++)
    if (!strcmp(report->cost[i].device, device)) {
      place_of(method, &methods, report->cost[i].method);
      place_of(setting, &settings, report->cost[i].setting);
    }
  struct tabular table = tabular_make(report->arena, methods, settings + 1);
  table.head[0] = "method";
  table.file = number ? arena_text(report->arena, "%s_device%zu", files[kind], number + 1) : files[kind];
  table.title = arena_text(report->arena, "%s, on %s", titles[kind], device);
  table.note =
      kind ? NULL : "Multiply-adds count as two; the policy and the reconstructor, from their graphs.";
  for (size_t c = 0; c < settings; c++) table.head[c + 1] = setting[c];
  for (size_t i = 0; i < report->costs; i++) {
    const struct report_cost *cost = &report->cost[i];
    if (strcmp(cost->device, device)) continue;
    size_t row = place_of(method, &methods, cost->method),
           column = place_of(setting, &settings, cost->setting) + 1;
    double value = cost_of(cost, kind);
    tabular_text(&table, row, 0, cost->method);
    *tabular_cell(&table, row, column) = (struct tabular_cell){
        .text = arena_text(report->arena, "%s", text_number(value, 4).text), .value = value, .spread = NAN};
  }
  return report_put_table(page, &table, error);
}

bool report_put_costs(struct report_page *page, struct error *error) {
  struct report *report = page->report;
  const char *device[REPORT_RUNS];
  size_t devices = 0;
  if (!report->costs) return true;
  report_heading(page, 2, "costs", "Cost of inference");
  for (size_t i = 0; i < report->costs; i++) place_of(device, &devices, report->cost[i].device);
  for (size_t d = 0; d < devices; d++)
    for (int kind = 0; kind < 3; kind++)
      if (!put_cost(page, device[d], d, kind, error)) return false;
  return true;
}
