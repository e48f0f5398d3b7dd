#include "tools/draw/curves.h"

#include "engine/base/log.h"
#include "systems/methods/lbcs.h"
#include "systems/methods/learn.h"
#include "systems/methods/pgmri.h"
#include "systems/methods/train.h"
#include "tools/draw/chart.h"
#include "tools/report/score_text.h"

enum { PIXELS = 2 /* a unit */, TRAINING = 0, VALIDATION = 1 /* styles */ };

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

static struct chart_line line_of(const char *name, size_t style, const struct history *history,
                                 const double *at, size_t value) {
  return (struct chart_line){name, at, history->value[value], history->count, style};
}

/* ---- a reconstructor ----------------------------------------------------------------------------------- */

/* Minus the loss where that is the SSIM, and validation's, which is always that of tables; returns how many.
 */
static size_t ssim_lines(const struct trainer *trainer, const double *epoch, struct chart_line lines[2]) {
  enum loss_kind kind = (enum loss_kind)trainer->options->train.loss;
  const struct history *history = &trainer->validations;
  bool uniform = kind == LOSS_SSIM_UNIFORM;
  size_t epochs = history->count, count = 0;
  if (loss_is_ssim(kind)) {
    double *ssim = ARENA_NEW(trainer->arena, double, epochs);
    for (size_t i = 0; i < epochs; i++) ssim[i] = -history->value[EPOCH_LOSS][i];
    lines[count++] = (struct chart_line){uniform ? "uniform window, training" : "training", epoch, ssim, epochs,
                                         TRAINING};
  }
  lines[count++] = line_of(uniform ? "Gaussian window, validation" : "validation", VALIDATION, history, epoch,
                           EPOCH_VAL_SSIM);
  return count;
}

static bool draw_reconstructor(const struct trainer *trainer, struct error *error) {
  struct arena *arena = trainer->arena;
  const struct history *history = &trainer->validations;
  size_t epochs = history->count;
  double *epoch = ARENA_NEW(arena, double, epochs);
  for (size_t i = 0; i < epochs; i++) epoch[i] = history->at[i] / (double)trainer->each;
  struct chart_line ssim[2], loss[] = {line_of("training", TRAINING, history, epoch, EPOCH_LOSS),
                                       line_of("validation", VALIDATION, history, epoch, EPOCH_VAL_LOSS)};
  struct chart panels[] = {panel_of("epoch", "loss", loss, 2, epochs),
                           panel_of("epoch", "SSIM", ssim, ssim_lines(trainer, epoch, ssim), epochs)};
  const char *title = arena_text(arena, "%s: %zu slice%s, best epoch %llu", trainer->run.folder,
                                 trainer->run.train.slices, plural(trainer->run.train.slices),
                                 (unsigned long long)(trainer->best_at / trainer->each));
  return save(title, panels, 2, trainer_path(trainer, "curves.png"), error);
}

/* ---- a policy ------------------------------------------------------------------------------------------ */

static bool draw_policy(const struct trainer *trainer, size_t reward_value, size_t entropy_value,
                        struct error *error) {
  struct arena *arena = trainer->arena;
  const struct history *looks = &trainer->looks, *scores = &trainer->validations;
  const char *axis =
      arena_text(arena, "%ss of %.0f %s", trainer->task->unit, trainer->work, trainer->task->worked);
  struct chart_line reward = line_of("training", TRAINING, looks, looks->at, reward_value),
                    entropy = line_of("training", TRAINING, looks, looks->at, entropy_value),
                    score = line_of("validation", VALIDATION, scores, scores->at, 0);
  struct chart panels[] = {
      panel_of(axis, "reward of a scan", &reward, 1, trainer->done),
      panel_of(axis, score_name(arena, trainer->options->reward.metric), &score, 1, trainer->done),
      panel_of(axis, "entropy of a choice", &entropy, 1, trainer->done)};
  const char *best =
      trainer->best_at ? arena_text(arena, ", best after %llu %s%s", (unsigned long long)trainer->best_at,
                                    trainer->task->unit, plural(trainer->best_at))
                       : "";
  const char *title = arena_text(arena, "%s: %zu slice%s%s", trainer->run.folder, trainer->run.train.slices,
                                 plural(trainer->run.train.slices), best);
  return save(title, panels, 3, trainer_path(trainer, "curves.png"), error);
}

/* ---- a mask -------------------------------------------------------------------------------------------- */

static bool draw_mask(const struct trainer *trainer, struct error *error) {
  struct arena *arena = trainer->arena;
  const struct history *looks = &trainer->looks, *scores = &trainer->validations;
  struct chart_line lines[] = {line_of("training", TRAINING, looks, looks->at, LBCS_score),
                               line_of("validation", VALIDATION, scores, scores->at, 0)};
  struct chart panel = panel_of("actions beside the initial ones", score_name(arena, trainer->options->reward.metric),
                                lines, 2, trainer->done);
  const char *title = arena_text(arena, "%s: %zu slice%s", trainer->run.folder, trainer->run.train.slices,
                                 plural(trainer->run.train.slices));
  return save(title, &panel, 1, trainer_path(trainer, "curves.png"), error);
}

bool curves_draw(const struct trainer *trainer, struct error *error) {
  if (!trainer->validations.count || !trainer->run.folder) return true;
  if (trainer->task == &task_reconstructor || trainer->task == &task_round)
    return draw_reconstructor(trainer, error);
  if (trainer->task == &task_lbcs) return draw_mask(trainer, error);
  return trainer->task == &task_policy ? draw_policy(trainer, LEARN_reward, LEARN_entropy, error)
                                       : draw_policy(trainer, PGMRI_reward, PGMRI_entropy, error);
}
