#include "tools/draw/curves.h"

#include "engine/base/log.h"
#include "tools/report/score_text.h"

#include <string.h>

enum { PIXELS = 2 /* a unit */, CURVES = 2 * TRAINING_VALUES };

/* ---- which curves -------------------------------------------------------------------------------------- */

/* Where a task says nothing: a panel for every name of a value, with validation's beside training's. */
static size_t all_values(const struct task *task, struct log_curve curves[CURVES]) {
  const struct log_value *looks = task->train.values, *validations = task->validation.values;
  bool beside[TRAINING_VALUES] = {false};
  size_t count = 0;
  for (size_t t = 0; looks[t].name; t++) {
    curves[count++] = (struct log_curve){looks[t].name, "training", .logged = true, .value = t};
    for (size_t v = 0; validations[v].name; v++) {
      if (beside[v] || strcmp(validations[v].name, looks[t].name)) continue;
      curves[count++] =
          (struct log_curve){validations[v].name, "validation", .validation = true, .value = v};
      beside[v] = true;
    }
  }
  for (size_t v = 0; validations[v].name; v++)
    if (!beside[v])
      curves[count++] =
          (struct log_curve){validations[v].name, "validation", .validation = true, .value = v};
  return count;
}

static size_t chosen(const struct training *training, struct log_curve curves[CURVES]) {
  const struct log_curve *said = training->task->curves;
  size_t count = 0;
  if (!said) return all_values(training->task, curves);
  for (; said->up; said++) {
    REQUIRE(count < CURVES, "a task has more than %d curves", CURVES);
    if (!said->shown || said->shown(training->options)) curves[count++] = *said;
  }
  return count;
}

/* ---- what they show ------------------------------------------------------------------------------------ */

static double *scaled(struct arena *arena, const double *value, size_t count, double by) {
  double *to = ARENA_NEW(arena, double, count);
  for (size_t i = 0; i < count; i++) to[i] = by * value[i];
  return to;
}

static struct chart_line line_of(const struct training *training, const struct log_curve *curve) {
  const struct history *history = curve->logged ? &training->logged : &training->validations;
  REQUIRE(history->value[curve->value], "the curve %s, %s is of no value of its log", curve->up, curve->name);
  double per = training->task->epochs ? 1.0 / (double)training->each : 1;
  struct arena *arena = training->arena;
  return (struct chart_line){
      .name = curve->name,
      .x = scaled(arena, history->at, history->count, per),
      .y = scaled(arena, history->value[curve->value], history->count, curve->minus ? -1 : 1),
      .points = history->count,
      .style = curve->validation};
}

static const char *axis_across(const struct training *training) {
  const struct task *task = training->task;
  if (task->across) return task->across;
  if (task->epochs) return "epoch";
  return arena_text(training->arena, "%ss of %.0f %s", task->unit, training->work, task->worked);
}

static const char *axis_up(const struct training *training, const struct log_curve *curve) {
  return strcmp(curve->up, "%s") ? curve->up : score_name(training->arena, training->options->reward.metric);
}

/* Looks of an epoch stand before its end. */
static double first_of(const struct training *training, const struct log_curve *curves, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (training->task->epochs && curves[i].logged) return 0;
  return 1;
}

static const char *title_of(const struct training *training) {
  const struct task *task = training->task;
  uint64_t at = training->best_at / (task->epochs ? training->each : 1);
  const char *best = "";
  if (training->best_at)
    best = task->epochs ? arena_text(training->arena, ", best epoch %llu", (unsigned long long)at)
                        : arena_text(training->arena, ", best after %llu %s%s", (unsigned long long)at,
                                     task->unit, plural(at));
  return arena_text(training->arena, "%s: %zu slice%s%s",
                    training->run.folder ? training->run.folder : "training", training->run.train.slices,
                    plural(training->run.train.slices), best);
}

struct chart_panels curves_panels(const struct training *training) {
  struct log_curve curves[CURVES];
  size_t count = chosen(training, curves), panels = 0;
  struct chart_line *lines = ARENA_NEW(training->arena, struct chart_line, count);
  struct chart *chart = ARENA_NEW(training->arena, struct chart, count);
  for (size_t i = 0; i < count; i++) {
    lines[i] = line_of(training, &curves[i]);
    if (i && !strcmp(curves[i].up, curves[i - 1].up)) {
      chart[panels - 1].line_count++;
      continue;
    }
    chart[panels++] =
        (struct chart){.across = axis_across(training),
                       .up = axis_up(training, &curves[i]),
                       .lines = &lines[i],
                       .line_count = 1,
                       .from = first_of(training, curves, count),
                       .to = training->task->epochs ? trainer_epochs(training) : (double)training->done};
  }
  return (struct chart_panels){title_of(training), chart, panels};
}

bool curves_draw(const struct training *training, struct error *error) {
  if (!training->run.folder || (!training->logged.count && !training->validations.count)) return true;
  struct chart_panels panels = curves_panels(training);
  if (!panels.count) return true;
  return figure_save(run_path(&training->run, "curves.png"), FIGURE_PNG, PIXELS, chart_draw_panels, &panels,
                     error);
}
