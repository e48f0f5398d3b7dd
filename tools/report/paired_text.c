#include "tools/report/paired_text.h"

#include "tools/report/statistics.h"
#include "tools/report/tabular.h"

/* Adds the ends of a slice's scans, as means, times the factor. */
static void add_slices(const struct evaluation *evaluation, const struct evaluate_run *run, size_t metric,
                       double factor, double *sum) {
  size_t steps = acquisition_steps(&run->acquisition), slices = evaluation->slices;
  double share = factor * (double)slices / (double)run->scans;
  for (size_t i = 0; i < run->scans; i++)
    sum[i % slices] += share * (double)run->metric[metric][i * (steps + 1) + steps];
}

static struct statistics_pairs compare(const struct evaluation *evaluation, const struct evaluate_run *run,
                                       const struct evaluate_run *baseline, size_t metric) {
  struct arena *arena = arena_open();
  size_t slices = evaluation->slices, volumes = evaluation->dataset.volume_count;
  double *difference = ARENA_NEW(arena, double, slices), *room = ARENA_NEW(arena, double, 2 * volumes);
  unsigned *volume = ARENA_NEW(arena, unsigned, slices);
  add_slices(evaluation, run, metric, metric_list[metric].sign, difference);
  add_slices(evaluation, baseline, metric, -metric_list[metric].sign, difference);
  for (size_t i = 0; i < slices; i++) volume[i] = (unsigned)evaluation->report.names[i].volume;
  struct statistics_pairs pairs = statistics_grouped(difference, volume, slices, volumes, room);
  arena_close(arena);
  return pairs;
}

static const char *interval_text(struct arena *arena, const struct statistics_pairs *pairs, size_t metric) {
  int digits = metric_list[metric].digits;
  return arena_text(arena, "%s [%s, %s]", tabular_digits(arena, pairs->mean, digits),
                    tabular_digits(arena, pairs->low, digits), tabular_digits(arena, pairs->high, digits));
}

static void print_pair(struct arena *arena, const struct evaluation *evaluation,
                       const struct evaluate_run *run, const struct evaluate_run *baseline,
                       const bool shown[METRICS], FILE *file) {
  fprintf(file, "  %-26s", run->sampler->name);
  for (size_t m = 0; m < METRICS; m++) {
    if (!shown[m] || !run->metric[m]) continue;
    struct statistics_pairs pairs = compare(evaluation, run, baseline, m);
    fprintf(file, "  %s %s", metric_list[m].name, interval_text(arena, &pairs, m));
  }
  fputc('\n', file);
}

void paired_print(const struct evaluation *evaluation, size_t first, size_t count, const bool shown[METRICS],
                  FILE *file) {
  const struct evaluate_run *run = &evaluation->runs[first];
  size_t volumes = evaluation->dataset.volume_count;
  struct arena *arena = arena_open();
  if (count > 1 && volumes > 1)
    fprintf(file, "  better than %s by, on the same slices [95 %% interval over the means of %zu volumes]\n",
            run->sampler->name, volumes);
  for (size_t r = 1; r < count && volumes > 1; r++) print_pair(arena, evaluation, &run[r], run, shown, file);
  arena_close(arena);
}
