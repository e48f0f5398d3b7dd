#include "tools/draw/curves.h"

#include "engine/base/log.h"
#include "tools/draw/plot.h"
#include "tools/report/score_text.h"

static struct plot_line line_of(const char *name, const double *value, const double *at, size_t points) {
  return (struct plot_line){name, value, points, at};
}

bool curves_draw(const struct training *training, struct error *error) {
  double *const *value = training->epoch_value, *ssim = NULL;
  bool is_ssim = loss_is_ssim(training->loss.kind); /* then the loss is minus the SSIM */
  bool uniform = training->loss.kind == LOSS_SSIM_UNIFORM; /* validation's SSIM is always that of tables */
  size_t epochs = training->epoch;
  if (!epochs) return true;
  if (is_ssim) ssim = ARENA_NEW(training->arena, double, epochs);
  for (uint32_t i = 0; is_ssim && i < epochs; i++) ssim[i] = -value[EPOCH_LOSS][i];
  struct plot plot = {arena_text(training->arena, "%s: %zu slice%s, best epoch %u",
                                 training->options->train.output, training->train.slices,
                                 plural(training->train.slices), training->best_epoch),
                      "epoch",
                      epochs,
                      {{"loss",
                        {line_of("training", value[EPOCH_LOSS], NULL, epochs),
                         line_of("validation", value[EPOCH_VAL_LOSS], NULL, epochs)}},
                       {"SSIM",
                        {line_of(uniform ? "uniform window, training" : "training", ssim, NULL, epochs),
                         line_of(uniform ? "Gaussian window, validation" : "validation",
                                 value[EPOCH_VAL_SSIM], NULL, epochs)}}}};
  return plot_write(training_path(training, "curves.png"), &plot, error);
}

bool curves_draw_policy(const struct learning *learning, struct error *error) {
  const char *metric = score_name(learning->arena, learning->options->reward.metric);
  size_t looks = learning->looks;
  const double *at = learning->look_at;
  if (!learning->rollouts) return true;
  struct plot plot = {
      arena_text(learning->arena, "%s: %zu slice%s, best after %llu roll-out%s", learning->run.folder,
                 learning->train.report.slices, plural(learning->train.report.slices),
                 (unsigned long long)learning->best_at, plural(learning->best_at)),
      arena_text(learning->arena, "roll-outs of %zu step%s", learning->rollout.rows,
                 plural(learning->rollout.rows)),
      learning->rollouts,
      {{"reward of a scan", {line_of("training", learning->look[LEARN_reward], at, looks)}},
       {metric, {line_of("validation", learning->score, learning->score_at, learning->validations)}},
       {"entropy of a choice", {line_of("training", learning->look[LEARN_entropy], at, looks)}}}};
  return plot_write(learn_path(learning, "curves.png"), &plot, error);
}
