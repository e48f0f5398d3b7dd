/* One table a setting of what stands elsewhere by metric: scores at the end and over all lines, ranks, and
 * how adaptive each method is; which lines each takes, as a picture; seconds of trainings and evaluations. */
#include "tools/draw/shares.h"
#include "tools/report/report.h"
#include "tools/report/score_text.h"

#include <math.h>
#include <string.h>

/* Results of one name at a setting: one for each seed. */
struct entry {
  const char *name;
  enum report_group group;
  size_t runs;
  double end, area, adaptive; /* means over the results; NaN: not known */
  double *share;              /* [lines]: of scans that acquired the line, the given ones too */
};

struct entries {
  struct entry *entry;
  size_t count, lines;
};

static double mean_of(const double *value, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; i++) sum += value[i] / (double)count;
  return sum;
}

/* The mean over all numbers of lines, by trapezoids. */
static double area_of(const struct report *report, const struct report_run *run, size_t metric) {
  size_t count = report_units(report, report->setting[run->setting].set, metric)->count,
         last = run->steps - 1;
  double sum = 0;
  if (!run->curve || !last) return NAN;
  for (size_t t = 0; t <= last; t++)
    sum += mean_of(report_values(report, run, metric, t), count) * (t && t < last ? 1 : 0.5) / (double)last;
  return sum;
}

static double entropy_of(const double *share, size_t lines) {
  double all = 0, sum = 0;
  for (size_t k = 0; k < lines; k++) all += share[k];
  for (size_t k = 0; k < lines; k++)
    if (share[k] > 0) sum -= share[k] / all * log(share[k] / all);
  return sum;
}

/* Adds shares of the lines that a slice's scans chose, or of all that they have. */
static void add_shares(const struct report_run *run, size_t slices, size_t slice, size_t lines, bool given,
                       double *share) {
  for (size_t scan = slice; scan < run->scans; scan += slices)
    for (size_t k = 0; k < lines; k++)
      if (run->mask[scan * lines + k] && (given || !run->initial || !run->initial[k]))
        share[k] += (double)slices / (double)run->scans;
}

/* The entropy of the slices' mean frequencies of lines less the mean entropy of a slice's: 0 where all slices
 * get the same lines (Bakker et al. 2022). */
static double adaptivity_of(const struct report *report, const struct report_run *run, size_t lines) {
  size_t slices = report->set[report->setting[run->setting].set].slices;
  double *all = ARENA_NEW(report->arena, double, lines), *own = ARENA_NEW(report->arena, double, lines),
         mean = 0;
  if (!run->mask) return NAN;
  for (size_t s = 0; s < slices; s++) {
    memset(own, 0, sizeof *own * lines);
    add_shares(run, slices, s, lines, false, own);
    mean += entropy_of(own, lines) / (double)slices;
    for (size_t k = 0; k < lines; k++) all[k] += own[k];
  }
  double gap = entropy_of(all, lines) - mean;
  return gap < 1e-12 ? 0 : gap; /* sums round */
}

static struct entry *find_entry(struct entries *entries, const struct report_run *run) {
  for (size_t e = 0; e < entries->count; e++)
    if (!strcmp(entries->entry[e].name, run->base)) return &entries->entry[e];
  struct entry *made = &entries->entry[entries->count++];
  *made = (struct entry){.name = run->base, .group = run->group};
  return made;
}

static void add_result(const struct report *report, struct entries *entries, const struct report_run *run,
                    size_t metric) {
  size_t slices = report->set[report->setting[run->setting].set].slices,
         count = report_units(report, report->setting[run->setting].set, metric)->count;
  struct entry *entry = find_entry(entries, run);
  double *share = ARENA_NEW(report->arena, double, entries->lines), before = (double)entry->runs++,
         now = (double)entry->runs;
  entry->end =
      (entry->end * before + mean_of(report_values(report, run, metric, run->steps - 1), count)) / now;
  entry->area = (entry->area * before + area_of(report, run, metric)) / now;
  entry->adaptive = (entry->adaptive * before + adaptivity_of(report, run, entries->lines)) / now;
  if (!entry->share) entry->share = ARENA_NEW(report->arena, double, entries->lines);
  for (size_t s = 0; run->mask && s < slices; s++) add_shares(run, slices, s, entries->lines, true, share);
  for (size_t k = 0; k < entries->lines; k++)
    entry->share[k] = (entry->share[k] * before + share[k] / (double)slices) / now;
}

/* 1 and how many are better; oracles, which see the truth, have none. */
static double rank_of(const struct entries *entries, size_t place, bool area, double sign) {
  const struct entry *own = &entries->entry[place];
  double rank = 1, value = area ? own->area : own->end;
  if (own->group == REPORT_ORACLES || isnan(value)) return NAN;
  for (size_t e = 0; e < entries->count; e++) {
    const struct entry *other = &entries->entry[e];
    rank += other->group != REPORT_ORACLES && sign * (area ? other->area : other->end) > sign * value;
  }
  return rank;
}

static bool put_table(struct report_page *page, const struct entries *entries, size_t setting,
                      struct error *error) {
  enum { NAME, RESULTS, END, RANK, AREA, AREA_RANK, ADAPTIVE, COLUMNS };
  struct report *report = page->report;
  size_t metric = page->config->metric;
  const char *score = score_name(report->arena, metric);
  struct tabular table = tabular_make(report->arena, entries->count, COLUMNS);
  const char *heads[COLUMNS] = {"method", "results", score, "rank", "area", "rank", "adaptivity"};
  memcpy(table.head, heads, sizeof heads);
  table.file = arena_text(report->arena, "summary_%zu", setting + 1);
  table.title = arena_text(report->arena, "All methods at %s", report->setting[setting].label);
  table.note = "Means over the results of a name, one for each seed. area: the mean over all numbers of "
               "lines, where results have "
               "curves. adaptivity: the entropy of the mean of the slices' line frequencies less the mean "
               "entropy of a slice's, in "
               "nats; 0: all slices get the same lines.";
  for (size_t e = 0; e < entries->count; e++) {
    const struct entry *entry = &entries->entry[e];
    tabular_text(&table, e, NAME, entry->name);
    tabular_number(&table, e, RESULTS, (double)entry->runs, 0);
    tabular_number(&table, e, END, entry->end, metric_list[metric].digits);
    if (!isnan(entry->area)) tabular_number(&table, e, AREA, entry->area, metric_list[metric].digits);
    if (!isnan(entry->adaptive)) tabular_number(&table, e, ADAPTIVE, entry->adaptive, 4);
    for (int area = 0; area < 2; area++) {
      double rank = rank_of(entries, e, area, metric_list[metric].sign);
      if (!isnan(rank)) tabular_number(&table, e, area ? AREA_RANK : RANK, rank, 0);
    }
  }
  return report_put_table(page, &table, error);
}

static bool put_lines(struct report_page *page, const struct entries *entries, size_t setting,
                      struct error *error) {
  struct arena *arena = page->report->arena;
  double *share = ARENA_NEW(arena, double, entries->count * entries->lines);
  const char *names = "";
  for (size_t e = 0; e < entries->count; e++) {
    names = arena_text(arena, "%s%s%zu %s", names, e ? ", " : "", e + 1, entries->entry[e].name);
    for (size_t k = 0; k < entries->lines; k++)
      share[e * entries->lines + k] = fmin(1, entries->entry[e].share[k]);
  }
  struct shares shares = {
      .title = arena_text(arena, "Lines of every method at %s", page->report->setting[setting].label),
      .across = "line, in the order of the mask",
      .share = share,
      .steps = entries->count,
      .actions = entries->lines};
  struct report_figure figure = {
      arena_text(arena, "lines_%zu", setting + 1),
      shares.title,
      arena_text(arena, "Share of scans that acquired each line, a row a method: %s.", names),
      0,
      shares_draw,
      &shares};
  return report_put_figure(page, &figure, error);
}

bool report_put_summary(struct report_page *page, size_t setting, struct error *error) {
  struct report *report = page->report;
  const struct report_run *list[REPORT_RUNS];
  size_t metric = page->config->metric, count = report_select(report, setting, metric, list);
  struct entries entries = {.lines = report->set[report->setting[setting].set].shape.actions};
  entries.entry = ARENA_NEW(report->arena, struct entry, count + 1);
  for (size_t r = 0; r < count; r++) add_result(report, &entries, list[r], metric);
  if (!entries.count || report->setting[setting].geometry->points) return true;
  return put_table(page, &entries, setting, error) && put_lines(page, &entries, setting, error);
}

bool report_put_times(struct report_page *page, struct error *error) {
  struct report *report = page->report;
  if (!report->times) return true;
  struct tabular table = tabular_make(report->arena, report->times, 5);
  const char *const heads[] = {"setting", "method", "reconstructor", "training, s", "evaluation, s"};
  memcpy(table.head, heads, sizeof heads);
  table.file = "seconds";
  table.title = "Seconds of every training and evaluation";
  table.note = "Of processes, from start to end; several may have run side by side.";
  for (size_t i = 0; i < report->times; i++) {
    const struct report_time *time = &report->time[i];
    tabular_text(&table, i, 0, time->setting);
    tabular_text(&table, i, 1, time->method);
    tabular_text(&table, i, 2, time->reconstructor);
    tabular_number(&table, i, 3, time->trained, 1);
    tabular_number(&table, i, 4, time->evaluated, 1);
  }
  report_heading(page, 2, "seconds", "Seconds");
  return report_put_table(page, &table, error);
}
