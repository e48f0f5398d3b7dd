/* What a policy in training has chosen at its last validation. */
#include "tools/draw/shares.h"
#include "tools/report/report.h"

#include <math.h>

/* The most chosen action of a step, and how many were chosen. */
static void put_step(const struct tabular *table, const struct report_stage *stage, size_t step) {
  const uint32_t *chosen = stage->choices + step * stage->actions;
  size_t most = 0, distinct = 0;
  double scans = 0;
  for (size_t i = 0; i < stage->actions; i++) {
    scans += chosen[i];
    distinct += chosen[i] > 0;
    if (chosen[i] > chosen[most]) most = i;
  }
  tabular_number(table, step, 0, (double)step + 1, 0);
  tabular_number(table, step, 1, (double)most, 0);
  tabular_number(table, step, 2, scans > 0 ? 100 * chosen[most] / scans : NAN, 1);
  tabular_number(table, step, 3, (double)distinct, 0);
}

static bool put_table(struct report_page *page, const struct report_stage *stage, const char *file,
                      const char *title, struct error *error) {
  struct tabular table = tabular_make(page->report->arena, stage->steps, 4);
  table.file = file;
  table.title = title;
  table.numbers = true;
  table.head[0] = "step";
  table.head[1] = "most chosen action";
  table.head[2] = "by scans, %";
  table.head[3] = "distinct actions";
  for (size_t t = 0; t < stage->steps; t++) put_step(&table, stage, t);
  return report_put_table(page, &table, error);
}

static bool put_stage(struct report_page *page, const struct report_stage *stage, const char *path,
                      size_t number, struct error *error) {
  struct arena *arena = page->report->arena;
  size_t count = stage->steps * stage->actions;
  double *share = ARENA_NEW(arena, double, count), scans = 0;
  for (size_t i = 0; i < count; i++) scans += stage->choices[i] / (double)stage->steps;
  if (scans <= 0) return true;
  for (size_t i = 0; i < count; i++) share[i] = fmin(1, stage->choices[i] / scans);
  struct shares shares = {.title = arena_text(arena, "%s/%s: what the policy chose", path, stage->name),
                          .across = "action, in the order of the mask",
                          .share = share,
                          .steps = stage->steps,
                          .actions = stage->actions};
  const char *file = arena_text(arena, "training_%zu_choices_%s", number, stage->name);
  const char *caption =
      arena_text(arena,
                 "Share of the %.0f validation scans that chose each action at each step of a scan, at the "
                 "last validation. Equal rows of few bright actions: the policy takes the same mask for "
                 "every slice.",
                 scans);
  struct report_figure figure = {file, shares.title, caption, 0, shares_draw, &shares};
  return report_put_figure(page, &figure, error) && put_table(page, stage, file, shares.title, error);
}

bool report_put_choices(struct report_page *page, const struct report_training *training, size_t number,
                        struct error *error) {
  for (size_t s = 0; s < training->stages; s++)
    if (training->stage[s].choices && !put_stage(page, &training->stage[s], training->path, number, error))
      return false;
  return true;
}
