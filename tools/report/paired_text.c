#include "tools/report/paired_text.h"

#include "engine/base/log.h"
#include "tools/report/clusters.h"
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

static struct clusters clusters_of(struct arena *arena, const struct evaluation *evaluation) {
  size_t files = evaluation->dataset.volume_count, slices = evaluation->slices;
  const char **id = ARENA_NEW(arena, const char *, files + 1);
  uint32_t *file = ARENA_NEW(arena, uint32_t, slices + 1);
  for (size_t v = 0; v < files; v++) id[v] = evaluation->dataset.volumes[v].patient;
  for (size_t i = 0; i < slices; i++) file[i] = (uint32_t)evaluation->report.names[i].volume;
  return clusters_make(arena, id, files, file, slices);
}

static struct statistics_pairs compare(const struct evaluation *evaluation, const struct evaluate_run *run,
                                       const struct evaluate_run *baseline, size_t metric,
                                       const struct clusters *clusters) {
  struct arena *arena = arena_open();
  size_t slices = evaluation->slices;
  double *difference = ARENA_NEW(arena, double, slices),
         *room = ARENA_NEW(arena, double, 2 * clusters->count);
  add_slices(evaluation, run, metric, metric_list[metric].sign, difference);
  add_slices(evaluation, baseline, metric, -metric_list[metric].sign, difference);
  struct statistics_pairs pairs = statistics_grouped(difference, clusters->of, slices, clusters->count, room);
  for (size_t i = 0; run->holds[metric] && i < slices; i++) pairs.missing -= !run->holds[metric][i];
  statistics_cut(&pairs, metric_list[metric].most);
  arena_close(arena);
  return pairs;
}

static const char *interval_text(struct arena *arena, const struct statistics_pairs *pairs, size_t metric,
                                 const char *one) {
  int digits = metric_list[metric].digits;
  if (!pairs->count) return arena_text(arena, "no %s has two scores", one);
  const char *text =
      arena_text(arena, "%s [%s, %s]", tabular_digits(arena, pairs->mean, digits),
                 tabular_digits(arena, pairs->low, digits), tabular_digits(arena, pairs->high, digits));
  return pairs->missing ? arena_text(arena, "%s (%zu %s%s without a score)", text, pairs->missing, one,
                                     plural(pairs->missing))
                        : text;
}

static void print_pair(struct arena *arena, const struct evaluation *evaluation,
                       const struct evaluate_run *run, const struct evaluate_run *baseline,
                       const struct clusters *clusters, const bool shown[METRICS], FILE *file) {
  fprintf(file, "  %-26s", run->sampler->name);
  for (size_t m = 0; m < METRICS; m++) {
    if (!shown[m] || !run->metric[m]) continue;
    struct statistics_pairs pairs = compare(evaluation, run, baseline, m, clusters);
    fprintf(file, "  %s %s", metric_list[m].name,
            interval_text(arena, &pairs, m, run->holds[m] ? "volume" : "slice"));
  }
  fputc('\n', file);
}

void paired_print(const struct evaluation *evaluation, size_t first, size_t count, const bool shown[METRICS],
                  FILE *file) {
  const struct evaluate_run *run = &evaluation->runs[first];
  struct arena *arena = arena_open();
  struct clusters clusters = clusters_of(arena, evaluation);
  if (count > 1 && clusters.count > 1)
    fprintf(file, "  better than %s by, on the same slices [95 %% interval over the means of %s]\n",
            run->sampler->name, clusters_text(arena, &clusters));
  for (size_t r = 1; r < count && clusters.count > 1; r++)
    print_pair(arena, evaluation, &run[r], run, &clusters, shown, file);
  arena_close(arena);
}
