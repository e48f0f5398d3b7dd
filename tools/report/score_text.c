#include "tools/report/score_text.h"

#include "systems/scan/simulation.h"
#include "tools/report/tabular.h"

#include <math.h>
#include <string.h>

const char *score_name(struct arena *arena, size_t metric) {
  const struct metric *row = &metric_list[metric];
  return *row->unit ? arena_text(arena, "%s (%s)", row->title, row->unit) : row->title;
}

const char *score_caption(struct arena *arena, size_t metric, double value) {
  const struct metric *row = &metric_list[metric];
  if (isnan(value)) return arena_text(arena, "%s: no score", row->title);
  const char *number = tabular_digits(arena, value, row->digits);
  return arena_text(arena, "%s %s%s%s", row->title, number, *row->unit ? " " : "", row->unit);
}

const char *score_of(struct arena *arena, const char *name) {
  for (size_t m = 0; m < METRICS; m++)
    if (!strcmp(metric_list[m].name, name)) return score_name(arena, m);
  return name;
}
