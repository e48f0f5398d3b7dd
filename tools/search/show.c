#include "tools/search/show.h"

#include "engine/base/log.h"
#include "engine/base/text.h"
#include "engine/files/part.h"
#include "tools/draw/chart.h"
#include "tools/report/csv.h"
#include "tools/report/statistics.h"
#include "tools/report/tabular.h"

#include <math.h>
#include <stdlib.h>

enum { PIXELS = 2 /* a unit */ };

/* ---- the front ----------------------------------------------------------------------------------------- */

struct front {
  const struct trial **trial; /* by seconds */
  size_t count;
};

static int compare_seconds(const void *a, const void *b) {
  const struct trial *x = *(const struct trial *const *)a, *y = *(const struct trial *const *)b;
  return (x->seconds > y->seconds) - (x->seconds < y->seconds);
}

static struct front front_of(const struct trials *trials, struct arena *arena) {
  struct observation *seen = ARENA_NEW(arena, struct observation, trials->count + 1);
  struct front front = {.trial = ARENA_NEW(arena, const struct trial *, trials->count + 1)};
  size_t count = trials_observed(trials, seen), place = 0;
  bool *on = ARENA_NEW(arena, bool, count + 1);
  suggest_front(seen, count, on);
  for (size_t i = 0; i < trials->count; i++)
    if (!trials->trial[i].again && on[place++]) front.trial[front.count++] = &trials->trial[i];
  qsort(front.trial, front.count, sizeof *front.trial, compare_seconds);
  return front;
}

static bool is_on(const struct front *front, const struct trial *trial) {
  for (size_t i = 0; i < front->count; i++)
    if (front->trial[i] == trial) return true;
  return false;
}

static struct tabular front_table(const struct trials *trials, const struct front *front,
                                  struct arena *arena) {
  size_t ranges = trials->space->ranges;
  struct tabular table = tabular_make(arena, front->count, 3 + ranges);
  table.file = "front";
  table.title = "Best scores over seconds (Pareto front)";
  table.head[0] = "trial", table.head[1] = "score", table.head[2] = "seconds";
  for (size_t r = 0; r < ranges; r++) table.head[3 + r] = trials->space->range[r].key;
  for (size_t i = 0; i < front->count; i++) {
    const struct trial *trial = front->trial[i];
    tabular_number(&table, i, 0, (double)trial->number, 0);
    tabular_number(&table, i, 1, trial_score(trial), 5);
    tabular_number(&table, i, 2, trial->seconds, 1);
    for (size_t r = 0; r < ranges; r++) tabular_text(&table, i, 3 + r, trial->value[r]);
  }
  return table;
}

/* ---- files --------------------------------------------------------------------------------------------- */

static void write_trial(FILE *file, const struct trials *trials, const struct trial *trial, bool on) {
  fprintf(file, "%zu,%s,", trial->number, trial_states[trial->state]);
  fprintf(file, isfinite(trial_score(trial)) ? "%.9g," : ",", trial_score(trial));
  fprintf(file, "%.3f,%d,%zu,%zu,", trial->seconds, on, trial->again, trial->seed);
  for (size_t r = 0; r < trials->space->ranges; r++) {
    csv_text(file, trial->value[r]);
    putc(',', file);
  }
  csv_text(file, trial->why ? trial->why : "");
  putc('\n', file);
}

static bool write_trials(const struct trials *trials, const struct front *front, const char *path,
                         struct error *error) {
  struct text_file file;
  if (!file_create(&file, path, error)) return false;
  fprintf(file.file, "trial,state,score,seconds,front,again,seed_more,");
  for (size_t r = 0; r < trials->space->ranges; r++) fprintf(file.file, "%s,", trials->space->range[r].key);
  fprintf(file.file, "failure\n");
  for (size_t i = 0; i < trials->count; i++)
    write_trial(file.file, trials, &trials->trial[i], is_on(front, &trials->trial[i]));
  return file_commit(&file, error);
}

static bool write_front(const struct tabular *table, const char *path, struct error *error) {
  struct text_file file;
  if (!file_create(&file, path, error)) return false;
  tabular_csv(table, file.file);
  return file_commit(&file, error);
}

/* Trials stand alone, each between two points that are none; the front goes on at its score until the next
 * one. */
static bool draw_front(const struct trials *trials, const struct front *front, const char *folder,
                       const char *up, struct arena *arena, struct error *error) {
  double *x = ARENA_NEW(arena, double, 2 * trials->count), *y = ARENA_NEW(arena, double, 2 * trials->count),
         last = 0, *across = ARENA_NEW(arena, double, 2 * front->count),
         *high = ARENA_NEW(arena, double, 2 * front->count);
  size_t points = 0, ends = 0;
  for (size_t i = 0; i < trials->count; i++, points += 2) {
    const struct trial *trial = &trials->trial[i];
    x[points] = x[points + 1] = trial->seconds;
    y[points] = trial->again ? NAN : trial_score(trial);
    y[points + 1] = NAN;
    if (isfinite(y[points])) last = fmax(last, trial->seconds);
  }
  for (size_t i = 0; i < front->count; i++, ends += 2) {
    across[ends] = front->trial[i]->seconds,
    across[ends + 1] = i + 1 < front->count ? front->trial[i + 1]->seconds : last;
    high[ends] = high[ends + 1] = trial_score(front->trial[i]);
  }
  const struct chart_line lines[] = {{"trials", x, y, points, 0}, {"Pareto front", across, high, ends, 1}};
  const struct chart chart = {
      .across = "seconds", .up = up, .lines = lines, .line_count = 2, .to = 1.05 * last};
  return figure_save(arena_text(arena, "%s/front.svg", folder), FIGURE_SVG, 1, chart_draw, &chart, error) &&
         figure_save(arena_text(arena, "%s/front.png", folder), FIGURE_PNG, PIXELS, chart_draw, &chart,
                     error);
}

bool show_write(const struct trials *trials, const char *folder, const char *up, struct error *error) {
  struct arena *arena = arena_open();
  struct front front = front_of(trials, arena);
  struct tabular table = front_table(trials, &front, arena);
  bool good = write_trials(trials, &front, arena_text(arena, "%s/search.csv", folder), error) &&
              write_front(&table, arena_text(arena, "%s/front.csv", folder), error) &&
              (!front.count || draw_front(trials, &front, folder, up, arena, error));
  arena_close(arena);
  return good;
}

/* ---- text ---------------------------------------------------------------------------------------------- */

static void print_trial(const struct trials *trials, const struct trial *trial, bool on) {
  printf("{\"trial\":%zu,\"state\":\"%s\",\"score\":", trial->number, trial_states[trial->state]);
  json_number(stdout, trial_score(trial));
  printf(",\"seconds\":%.3f,\"front\":%s,\"again\":%zu,\"seed_more\":%zu,\"set\":{", trial->seconds,
         on ? "true" : "false", trial->again, trial->seed);
  for (size_t r = 0; r < trials->space->ranges; r++) {
    printf("%s\"%s\":", r ? "," : "", trials->space->range[r].key);
    json_text(stdout, trial->value[r]);
  }
  printf("},\"failure\":");
  if (trial->why)
    json_text(stdout, trial->why);
  else
    printf("null");
  printf("}\n");
}

/* Scores of the trial's values by other seeds, one a seed; NaN where it has none. */
static void scores_again(const struct trials *trials, size_t number, double *score, size_t seeds) {
  for (size_t s = 0; s < seeds; s++) score[s] = NAN;
  for (size_t i = 0; i < trials->count; i++) {
    const struct trial *trial = &trials->trial[i];
    if (trial->again == number && trial->seed <= seeds) score[trial->seed - 1] = trial_score(trial);
  }
}

/* Whether the best is better than the scene's own values by seeds that no trial has seen. */
static void print_again(const struct trials *trials, const struct trial *best, struct arena *arena) {
  size_t seeds = 0;
  double own_mean, own_spread, mean, spread;
  for (size_t i = 0; i < trials->count; i++)
    if (trials->trial[i].again == best->number && trials->trial[i].seed > seeds)
      seeds = trials->trial[i].seed;
  if (!seeds || best->number == 1) return;
  double *own = ARENA_NEW(arena, double, seeds), *found = ARENA_NEW(arena, double, seeds),
         *more = ARENA_NEW(arena, double, seeds);
  scores_again(trials, 1, own, seeds);
  scores_again(trials, best->number, found, seeds);
  for (size_t s = 0; s < seeds; s++) more[s] = found[s] - own[s];
  statistics_mean(own, seeds, &own_mean, &own_spread);
  statistics_mean(found, seeds, &mean, &spread);
  struct statistics_pairs pairs = statistics_paired(more, seeds);
  printf("by %zu other seed%s: the scene's own %.5f, deviation %.5f; trial %zu %.5f, deviation %.5f; "
         "difference %.5f",
         seeds, plural(seeds), own_mean, own_spread, best->number, mean, spread, pairs.mean);
  if (pairs.count > 1)
    printf(", 95 %% from %.5f to %.5f: %s the seeds' spread", pairs.low, pairs.high,
           pairs.low > 0 || pairs.high < 0 ? "beyond" : "within");
  printf("\n");
}

static void print_best(const struct trials *trials, struct arena *arena) {
  const struct trial *best = trials_best(trials), *own = &trials->trial[0];
  printf("the scene's own values: score %.5f in %.1f s\n", trial_score(own), own->seconds);
  printf("best: trial %zu, score %.5f in %.1f s:", best->number, trial_score(best), best->seconds);
  for (size_t r = 0; r < trials->space->ranges; r++)
    printf(" --set %s=%s", trials->space->range[r].key, text_shown(arena, best->value[r]));
  printf("\n");
  print_again(trials, best, arena);
}

void show_print(const struct trials *trials, bool json) {
  struct arena *arena = arena_open();
  struct front front = front_of(trials, arena);
  for (size_t i = 0; json && i < trials->count; i++)
    print_trial(trials, &trials->trial[i], is_on(&front, &trials->trial[i]));
  if (!json && front.count) {
    struct tabular table = front_table(trials, &front, arena);
    tabular_plain(&table, stdout);
    print_best(trials, arena);
  }
  arena_close(arena);
}
