#include "tools/search/suggest.h"

#include "components/streams.h"
#include "engine/base/random.h"
#include "tools/search/gaussian.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  ANYWHERE = 400,
  NEAR = 600,
  CLOSER = 3 /* times that the best candidate is looked around */,
  AROUND = 60
};

/* The processes of one suggestion. */
struct model {
  const struct space *space;
  struct arena *arena;
  const struct observation *seen;
  size_t count;
  struct gaussian score, cost; /* cost: the logarithm of seconds */
  double *level; /* [count] what the process of the score thinks of them; NaN of those without one */
  double best;   /* the highest of these */
  double longest, shortest, target; /* logarithms of seconds */
  bool quick;                       /* better than what takes as long, near the target */
  struct random random;
};

/* ---- what was tried ------------------------------------------------------------------------------------ */

void suggest_front(const struct observation *seen, size_t count, bool *front) {
  for (size_t i = 0; i < count; i++) {
    front[i] = seen[i].what == OBSERVED_SCORE;
    for (size_t j = 0; front[i] && j < count; j++) {
      bool scored = seen[j].what == OBSERVED_SCORE && j != i, as_quick = seen[j].seconds <= seen[i].seconds;
      bool same = seen[j].seconds == seen[i].seconds && seen[j].score == seen[i].score;
      if (scored && as_quick && seen[j].score >= seen[i].score && (!same || j < i)) front[i] = false;
    }
  }
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Below it scores are all the same to the process: one training that went wrong would take all its attention.
 */
static double floor_of(const struct observation *seen, size_t count, struct arena *arena) {
  double *score = ARENA_NEW(arena, double, count + 1);
  size_t scored = 0;
  for (size_t i = 0; i < count; i++)
    if (seen[i].what == OBSERVED_SCORE || seen[i].what == OBSERVED_PART) score[scored++] = seen[i].score;
  if (!scored) return 0;
  qsort(score, scored, sizeof *score, compare);
  double median = score[scored / 2], best = score[scored - 1];
  return fmax(score[0], median - 3 * (best - median));
}

static bool is_of(const struct observation *seen, bool cost) {
  return seen->what == OBSERVED_SCORE || (!cost && seen->what != OBSERVED_NOTHING);
}

/* The process of one of both; false: nothing was observed. */
static bool fit(struct model *model, bool cost, struct gaussian *process) {
  size_t features = model->space->features, used = 0;
  double *x = ARENA_NEW(model->arena, double, model->count *features + 1),
         *y = ARENA_NEW(model->arena, double, model->count + 1),
         lowest = floor_of(model->seen, model->count, model->arena);
  for (size_t i = 0; i < model->count; i++) {
    const struct observation *seen = &model->seen[i];
    if (!is_of(seen, cost)) continue;
    space_see(model->space, seen->dial, x + used * features);
    y[used++] = cost                             ? log(seen->seconds)
                : seen->what == OBSERVED_FAILURE ? lowest
                                                 : fmax(seen->score, lowest);
  }
  if (used) *process = gaussian_fit(model->arena, x, y, used, features);
  if (!used || cost) return used;
  size_t known = used; /* what runs has the mean that is expected of it */
  for (size_t i = 0; i < model->count; i++) {
    double deviation;
    if (model->seen[i].what != OBSERVED_NOTHING) continue;
    space_see(model->space, model->seen[i].dial, x + used * features);
    gaussian_tell(process, x + used * features, &y[used], &deviation);
    used++;
  }
  if (used > known) *process = gaussian_given(process, x, y, used);
  return true;
}

/* Levels and the range of seconds of what was tried. */
static void look_back(struct model *model) {
  double *feature = ARENA_NEW(model->arena, double, model->space->features), deviation;
  model->level = ARENA_NEW(model->arena, double, model->count);
  model->best = -INFINITY;
  model->shortest = INFINITY, model->longest = -INFINITY;
  for (size_t i = 0; i < model->count; i++) {
    model->level[i] = NAN;
    if (model->seen[i].what != OBSERVED_SCORE) continue;
    space_see(model->space, model->seen[i].dial, feature);
    gaussian_tell(&model->score, feature, &model->level[i], &deviation);
    model->best = fmax(model->best, model->level[i]);
    model->shortest = fmin(model->shortest, log(model->seen[i].seconds));
    model->longest = fmax(model->longest, log(model->seen[i].seconds));
  }
}

/* ---- candidates ---------------------------------------------------------------------------------------- */

/* The highest level that took no longer; below the quickest the lowest one. */
static double level_within(const struct model *model, double cost) {
  double within = -INFINITY, lowest = INFINITY;
  for (size_t i = 0; i < model->count; i++) {
    if (isnan(model->level[i])) continue;
    if (log(model->seen[i].seconds) <= cost) within = fmax(within, model->level[i]);
    lowest = fmin(lowest, model->level[i]);
  }
  return isfinite(within) ? within : lowest;
}

/* Expected improvement over a level (Jones, Schonlau and Welch 1998, equation 15). */
static double improvement(double mean, double deviation, double level) {
  double z = (mean - level) / deviation;
  return (mean - level) * erfc(-z / sqrt(2)) / 2 + deviation * exp(-z * z / 2) / sqrt(2 * acos(-1));
}

static double worth(const struct model *model, const double *dial, double *feature) {
  double mean, deviation, cost, ignored;
  space_see(model->space, dial, feature);
  gaussian_tell(&model->score, feature, &mean, &deviation);
  if (!model->quick) return improvement(mean, deviation, model->best);
  gaussian_tell(&model->cost, feature, &cost, &ignored);
  double apart = fabs(cost - model->target) / fmax(model->longest - model->shortest, 1e-3);
  return improvement(mean, deviation, level_within(model, cost)) * fmax(1 - apart, 0);
}

/* A point of the front, or one of any score, each of whose dials is moved with a chance of a half. */
static void move(struct model *model, const double *from, double width, double *dial) {
  for (size_t r = 0; r < model->space->ranges; r++) {
    double start = isnan(from[r]) ? 0.5 : from[r], moved = random_normal(&model->random),
           kept = random_uniform(&model->random);
    bool draws = model->space->range[r].kind == RANGE_CHOICE;
    dial[r] = kept < 0.5 ? start : draws ? random_uniform(&model->random) : start + width * moved;
    dial[r] = fmin(fmax(dial[r], 0), 1);
  }
}

static const double *any_of_front(struct model *model, const bool *front) {
  size_t among = 0;
  for (size_t i = 0; i < model->count; i++) among += front[i];
  size_t chosen = (size_t)(random_uniform(&model->random) * (double)among);
  for (size_t i = 0; i < model->count; i++)
    if (front[i] && !chosen--) return model->seen[i].dial;
  return model->seen[0].dial;
}

static void keep_better(struct model *model, const double *tried, double *dial, double *best,
                        double *feature) {
  double now = worth(model, tried, feature);
  if (now <= *best) return;
  *best = now;
  memcpy(dial, tried, model->space->ranges * sizeof *dial);
}

static void choose(struct model *model, double *dial) {
  size_t ranges = model->space->ranges;
  double *tried = ARENA_NEW(model->arena, double, ranges), *from = ARENA_NEW(model->arena, double, ranges),
         *feature = ARENA_NEW(model->arena, double, model->space->features), best = -INFINITY;
  bool *front = ARENA_NEW(model->arena, bool, model->count);
  suggest_front(model->seen, model->count, front);
  for (size_t i = 0; i < ANYWHERE + NEAR; i++) {
    if (i < ANYWHERE)
      for (size_t r = 0; r < ranges; r++) tried[r] = random_uniform(&model->random);
    else
      move(model, any_of_front(model, front), 0.02 + 0.2 * random_uniform(&model->random), tried);
    keep_better(model, tried, dial, &best, feature);
  }
  for (size_t i = 0; i < CLOSER * AROUND; i++) {
    memcpy(from, dial, ranges * sizeof *from);
    move(model, from, 0.1 / (double)(1 + 3 * (i / AROUND)), tried);
    keep_better(model, tried, dial, &best, feature);
  }
}

/* ---- all ----------------------------------------------------------------------------------------------- */

/* The point of that number of a sequence that fills a cube evenly: multiples of powers of 1/g, where
 * g^(ranges + 1) = g + 1 (Roberts 2018, The unreasonable effectiveness of quasirandom sequences), from a
 * start by the seed. */
static void fill_evenly(size_t ranges, struct random *random, uint32_t number, double *dial) {
  double g = 2, power = 1;
  for (int i = 0; i < 60; i++) g = pow(1 + g, 1 / (double)(ranges + 1));
  for (size_t r = 0; r < ranges; r++) {
    double point = random_uniform(random) + number * (power /= g);
    dial[r] = point - floor(point);
  }
}

void suggest(const struct space *space, const struct observation *seen, size_t count, uint32_t seed,
             uint32_t number, uint32_t even, double *dial) {
  struct model model = {.space = space, .arena = arena_open(), .seen = seen, .count = count};
  random_start(&model.random, seed, STREAM_SEARCH, 0);
  fill_evenly(space->ranges, &model.random, number, dial);
  if (number >= even && fit(&model, true, &model.cost) && fit(&model, false, &model.score)) {
    random_start(&model.random, seed, STREAM_SEARCH, number + 1);
    look_back(&model);
    model.quick = number % 2;
    model.target = model.shortest + random_uniform(&model.random) * (model.longest - model.shortest);
    choose(&model, dial);
  }
  arena_close(model.arena);
}
