#include "tools/draw/curves.h"

#include "engine/base/log.h"
#include "tools/draw/chart.h"
#include "tools/report/score_text.h"

enum { PIXELS = 2 /* a unit */, TRAINING = 0, VALIDATION = 1 /* styles */ };

/* Over what is counted from 1. */
static struct chart_line count_line(struct arena *arena, const char *name, size_t style, const double *value,
                                    size_t points) {
  double *at = ARENA_NEW(arena, double, points);
  for (size_t i = 0; i < points; i++) at[i] = (double)i + 1;
  return (struct chart_line){name, at, value, points, style};
}

static struct chart panel_of(const char *across, const char *up, const struct chart_line *lines,
                             size_t line_count, size_t last) {
  return (struct chart){
      .across = across, .up = up, .lines = lines, .line_count = line_count, .from = 1, .to = (double)last};
}

static bool save(const char *title, const struct chart *panels, size_t count, const char *path,
                 struct error *error) {
  struct chart_panels all = {title, panels, count};
  return figure_save(path, FIGURE_PNG, PIXELS, chart_draw_panels, &all, error);
}

/* Minus the loss where that is the SSIM, and validation's, which is always that of tables; returns how many.
 */
static size_t ssim_lines(const struct training *training, struct chart_line lines[2]) {
  double *const *value = training->epoch_value;
  bool uniform = training->loss.kind == LOSS_SSIM_UNIFORM;
  size_t epochs = training->epoch, count = 0;
  if (loss_is_ssim(training->loss.kind)) {
    double *ssim = ARENA_NEW(training->arena, double, epochs);
    for (size_t i = 0; i < epochs; i++) ssim[i] = -value[EPOCH_LOSS][i];
    lines[count++] = count_line(training->arena, uniform ? "uniform window, training" : "training", TRAINING,
                                ssim, epochs);
  }
  lines[count++] = count_line(training->arena, uniform ? "Gaussian window, validation" : "validation",
                              VALIDATION, value[EPOCH_VAL_SSIM], epochs);
  return count;
}

bool curves_draw(const struct training *training, struct error *error) {
  struct arena *arena = training->arena;
  size_t epochs = training->epoch;
  if (!epochs) return true;
  struct chart_line ssim[2],
      loss[] = {count_line(arena, "training", TRAINING, training->epoch_value[EPOCH_LOSS], epochs),
                count_line(arena, "validation", VALIDATION, training->epoch_value[EPOCH_VAL_LOSS], epochs)};
  struct chart panels[] = {panel_of("epoch", "loss", loss, 2, epochs),
                           panel_of("epoch", "SSIM", ssim, ssim_lines(training, ssim), epochs)};
  const char *title =
      arena_text(arena, "%s: %zu slice%s, best epoch %u", training->options->train.output,
                 training->train.slices, plural(training->train.slices), training->best_epoch);
  return save(title, panels, 2, training_path(training, "curves.png"), error);
}

bool curves_draw_policy(const struct learning *learning, struct error *error) {
  struct arena *arena = learning->arena;
  size_t looks = learning->looks, last = learning->rollouts;
  const double *at = learning->look_at;
  if (!last) return true;
  const char *axis =
      arena_text(arena, "roll-outs of %zu step%s", learning->rollout.rows, plural(learning->rollout.rows));
  struct chart_line reward = {"training", at, learning->look[LEARN_reward], looks, TRAINING},
                    entropy = {"training", at, learning->look[LEARN_entropy], looks, TRAINING},
                    score = {"validation", learning->score_at, learning->score, learning->validations,
                             VALIDATION};
  struct chart panels[] = {
      panel_of(axis, "reward of a scan", &reward, 1, last),
      panel_of(axis, score_name(arena, learning->options->reward.metric), &score, 1, last),
      panel_of(axis, "entropy of a choice", &entropy, 1, last)};
  const char *title = arena_text(arena, "%s: %zu slice%s, best after %llu roll-out%s", learning->run.folder,
                                 learning->train.report.slices, plural(learning->train.report.slices),
                                 (unsigned long long)learning->best_at, plural(learning->best_at));
  return save(title, panels, 3, learn_path(learning, "curves.png"), error);
}
