#include "tools/curves.h"

#include "tools/plot.h"

bool curves_draw(const struct training *training, struct error *error) {
  double *const *value = training->epoch_value, *ssim = NULL;
  bool is_ssim = training->loss.kind == LOSS_SSIM; /* then the loss is minus the SSIM */
  if (!training->epoch) return true;
  if (is_ssim) ssim = ARENA_NEW(training->arena, double, training->epoch);
  for (uint32_t i = 0; is_ssim && i < training->epoch; i++) ssim[i] = -value[EPOCH_LOSS][i];
  struct plot plot = {arena_text(training->arena, "%s: %zu slices, best epoch %u",
                                 training->options->train.output, training->train.slices,
                                 training->best_epoch),
                      "epoch",
                      training->epoch,
                      {{"loss", {{"training", value[EPOCH_LOSS]}, {"validation", value[EPOCH_VAL_LOSS]}}},
                       {"SSIM", {{"training", ssim}, {"validation", value[EPOCH_VAL_SSIM]}}}}};
  return plot_write(training_path(training, "curves.png"), &plot, error);
}
