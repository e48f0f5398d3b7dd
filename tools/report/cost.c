/* Reads what `l2sr bench inference --json` printed. */
#include "tools/report/json_line.h"
#include "tools/report/report.h"

#include <math.h>
#include <string.h>

struct costs {
  struct report *report;
  const char *path;
};

static bool see_line(const json_t *line, void *context, struct error *error) {
  const struct costs *costs = context;
  struct report *report = costs->report;
  const char *bench = json_text_of(line, "bench", report->arena), *horizon;
  struct report_cost cost = {.method = json_text_of(line, "method", report->arena),
                             .device = json_text_of(line, "device", report->arena)};
  double size, acceleration;
  if (!bench || strcmp(bench, "inference"))
    return fail(error,
                "%s is %s%s; report takes results.h5, folders of evaluate and train, and what `l2sr bench "
                "inference --json` prints",
                costs->path, bench ? "of bench " : "of another kind", bench ? bench : "");
  if (!cost.method || !cost.device || !(horizon = json_text_of(line, "horizon", report->arena)) ||
      !json_number_of(line, "size", &size) || !json_number_of(line, "acceleration", &acceleration) ||
      !json_number_of(line, "flops", &cost.flops) || !json_number_of(line, "seconds", &cost.seconds) ||
      !json_number_of(line, "best_seconds", &cost.best_seconds) ||
      !json_number_of(line, "best_batch", &cost.best_batch))
    return fail(error,
                "%s lacks one of method, device, size, acceleration, horizon, flops, seconds, best_seconds "
                "and best_batch; measure again with this version",
                costs->path);
  if (report->costs == REPORT_RUNS)
    return fail(error, "there are more than %d costs; write several reports", REPORT_RUNS);
  cost.setting = arena_text(report->arena, "N=%.0f \u00d7%.0f %s", size, acceleration, horizon);
  report->cost[report->costs++] = cost;
  return true;
}

bool report_read_costs(struct report *report, const char *path, struct error *error) {
  struct costs costs = {report, arena_text(report->arena, "%s", path)};
  size_t before = report->costs;
  if (!json_lines(path, false, see_line, &costs, error)) return false;
  for (size_t i = before; i < report->costs; i++)
    for (size_t j = 0; j < i; j++) {
      const struct report_cost *a = &report->cost[j], *b = &report->cost[i];
      if (!strcmp(a->method, b->method) && !strcmp(a->setting, b->setting) && !strcmp(a->device, b->device))
        return fail(error, "%s gives %s at %s on %s a second time; name one measurement of it", path,
                    b->method, b->setting, b->device);
    }
  return report->costs > before
             ? true
             : fail(error, "%s is empty; write it by l2sr bench inference --json >%s", path, path);
}
