#include "tools/report/statistics.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

size_t statistics_mean(const double *value, size_t count, double *mean, double *std) {
  double sum = 0, square = 0;
  size_t used = 0;
  for (size_t i = 0; i < count; i++)
    if (isfinite(value[i])) sum += value[i], used++;
  *mean = sum / (double)used;
  for (size_t i = 0; i < count; i++)
    if (isfinite(value[i])) square += (value[i] - *mean) * (value[i] - *mean);
  *std = sqrt(square / (double)used);
  return used;
}

/* ---- Student's t --------------------------------------------------------------------------------------- */

/* Probability between 0 and t = sqrt(degrees) tan(angle): there the density is c cos(angle)^(degrees - 1),
 * which Simpson's rule integrates to rounding. */
static double student_within(double angle, double degrees) {
  enum { INTERVALS = 200 };
  double factor = exp(lgamma((degrees + 1) / 2) - lgamma(degrees / 2)) / sqrt(M_PI), sum = 0;
  for (int i = 0; i <= INTERVALS; i++) {
    double weight = i == 0 || i == INTERVALS ? 1 : i % 2 ? 4 : 2;
    sum += weight * pow(cos(angle * i / INTERVALS), degrees - 1);
  }
  return factor * sum * angle / (3 * INTERVALS);
}

/* Newton's steps from zero stay below the angle, for the density falls. */
double statistics_student(double probability, double degrees) {
  double wanted = fabs(probability - 0.5), angle = 0,
         most = exp(lgamma((degrees + 1) / 2) - lgamma(degrees / 2)) / sqrt(M_PI);
  for (int i = 0; i < 100; i++) {
    double step = (wanted - student_within(angle, degrees)) / (most * pow(cos(angle), degrees - 1));
    angle += step;
    if (fabs(step) < 1e-13) break;
  }
  return copysign(sqrt(degrees) * tan(angle), probability - 0.5);
}

/* ---- pairs --------------------------------------------------------------------------------------------- */

static double better_of(const double *difference, size_t count) {
  double better = 0, used = 0;
  for (size_t i = 0; i < count; i++) {
    if (!isfinite(difference[i])) continue;
    better += difference[i] > 0 ? 1 : difference[i] < 0 ? 0 : 0.5;
    used++;
  }
  return better / used;
}

static void set_interval(struct statistics_pairs *pairs, double half) {
  pairs->low = pairs->mean - half;
  pairs->high = pairs->mean + half;
}

struct statistics_pairs statistics_paired(const double *difference, size_t count) {
  struct statistics_pairs pairs = {.low = NAN, .high = NAN, .variance = NAN};
  double std;
  pairs.count = statistics_mean(difference, count, &pairs.mean, &std);
  pairs.missing = count - pairs.count;
  pairs.better = better_of(difference, count);
  if (pairs.count < 2) return pairs;
  double degrees = (double)pairs.count - 1; /* s^2 / n = population variance / (n - 1) */
  pairs.variance = std * std / degrees;
  set_interval(&pairs, statistics_student(0.975, degrees) * sqrt(pairs.variance));
  return pairs;
}

void statistics_cut(struct statistics_pairs *pairs, double most) {
  if (!(most > 0) || isnan(pairs->low)) return;
  pairs->low = fmax(pairs->low, -most);
  pairs->high = fmin(pairs->high, most);
}

struct statistics_pairs statistics_grouped(const double *difference, const unsigned *group, size_t count,
                                           size_t groups, double *room) {
  double *sum = room, *number = room + groups;
  size_t used = 0, missing = 0;
  memset(room, 0, 2 * groups * sizeof *room);
  for (size_t i = 0; i < count; i++) {
    missing += !isfinite(difference[i]);
    if (!isfinite(difference[i])) continue;
    sum[group[i]] += difference[i];
    number[group[i]]++;
  }
  for (size_t g = 0; g < groups; g++)
    if (number[g] > 0) sum[used++] = sum[g] / number[g];
  struct statistics_pairs pairs = statistics_paired(sum, used);
  pairs.missing = missing;
  return pairs;
}

/* ---- patients and trainings ---------------------------------------------------------------------------- */

struct statistics_trainings statistics_over_trainings(const double *mean, size_t count) {
  double middle, std;
  statistics_mean(mean, count, &middle, &std);
  return (struct statistics_trainings){count, count > 1 ? std * std / ((double)count - 1) : NAN};
}

struct statistics_pairs statistics_crossed(const struct statistics_pairs *patients,
                                           const struct statistics_trainings *method,
                                           const struct statistics_trainings *baseline) {
  struct statistics_pairs pairs = *patients;
  double part[] = {method->variance, baseline->variance}, trainings = 0, squares = 0;
  size_t count[] = {method->count, baseline->count};
  bool any = false;
  for (int m = 0; m < 2; m++) {
    if (isnan(part[m])) continue;
    any = true;
    trainings += part[m];
    squares += part[m] * part[m] / ((double)count[m] - 1);
  }
  pairs.variance = any ? patients->variance + trainings : NAN;
  double half = NAN;
  if (!isnan(pairs.variance)) {
    double own = statistics_student(0.975, (double)patients->count - 1) * patients->variance,
           others =
               trainings > 0 ? statistics_student(0.975, trainings * trainings / squares) * trainings : 0;
    half = pairs.variance > 0 ? (own + others) / sqrt(pairs.variance) : 0;
  }
  set_interval(&pairs, half);
  return pairs;
}

const char *statistics_verdict(double low, double high) {
  if (isnan(low) || isnan(high)) return "";
  return low > 0 ? "ahead" : high < 0 ? "behind" : "open";
}
