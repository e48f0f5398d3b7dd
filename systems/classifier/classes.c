#include "systems/classifier/classes.h"

#include "engine/base/arena.h"

#include <math.h>
#include <stdlib.h>

struct entry {
  double odds; /* logarithm, for class 1 */
  size_t place;
  bool positive;
};

static int compare(const void *a, const void *b) {
  double first = ((const struct entry *)a)->odds, second = ((const struct entry *)b)->odds;
  return (first > second) - (first < second);
}

/* -log(p) keeps its digits where p is near 1. */
static double odds_of(double likely, bool positive) {
  double odds = -log(expm1(-likely));
  return positive ? odds : -odds;
}

/* Odds of the two classes come from their own probabilities, which single precision has rounded. */
static bool are_equal(double lower, double upper) {
  return upper == lower || (isfinite(lower) && upper - lower <= 1e-6 * (1 + fabs(lower)));
}

/* Places of entries in order of their odds, of which equal ones share one: the share of the other class that each beats. */
static double place_all(const struct entry *entry, size_t count, const double classes[2], double *beats) {
  double below[2] = {0, 0}, sum = 0;
  for (size_t from = 0, end; from < count; from = end) {
    double same[2] = {0, 0};
    for (end = from; end < count && are_equal(entry[from].odds, entry[end].odds); end++) same[entry[end].positive]++;
    for (size_t i = from; i < end; i++) {
      bool own = entry[i].positive;
      double lower = (below[!own] + same[!own] / 2) / classes[!own];
      beats[entry[i].place] = own ? lower : 1 - lower;
      sum += own ? lower : 0;
    }
    for (int c = 0; c < 2; c++) below[c] += same[c];
  }
  return sum / classes[1];
}

double classes_auc(const float *likely, const float *label, size_t count, size_t stride, float *worth) {
  struct arena *arena = arena_open();
  struct entry *entry = ARENA_NEW(arena, struct entry, count);
  double *beats = ARENA_NEW(arena, double, count), classes[2] = {0, 0}, area = NAN;
  bool two = true, numbers = true;
  for (size_t i = 0; i < count; i++) {
    bool positive = label[i] > 0;
    two &= label[i] == (float)positive;
    classes[positive]++;
    entry[i] = (struct entry){odds_of((double)likely[i * stride], positive), i, positive};
    numbers &= !isnan(entry[i].odds);
  }
  if (two && numbers && classes[0] > 0 && classes[1] > 0) {
    qsort(entry, count, sizeof *entry, compare);
    area = place_all(entry, count, classes, beats);
  }
  for (size_t i = 0; worth && i < count; i++)
    worth[i * stride] = (float)(area + (double)count / classes[label[i] > 0] * (beats[i] - area));
  arena_close(arena);
  return area;
}
