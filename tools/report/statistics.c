#include "tools/report/statistics.h"

#include <math.h>
#include <string.h>

void statistics_mean(const double *value, size_t count, double *mean, double *std) {
  double sum = 0, square = 0;
  for (size_t i = 0; i < count; i++) sum += value[i];
  *mean = sum / (double)count;
  for (size_t i = 0; i < count; i++) square += (value[i] - *mean) * (value[i] - *mean);
  *std = sqrt(square / (double)count);
}

/* ---- Student's t --------------------------------------------------------------------------------------- */

/* Probability between 0 and t = sqrt(degrees) tan(angle): there the density is c cos(angle)^(degrees - 1),
 * which Simpson's rule integrates to rounding. */
static double student_within(double angle, double degrees) {
  enum { INTERVALS = 400 };
  double factor = exp(lgamma((degrees + 1) / 2) - lgamma(degrees / 2)) / sqrt(M_PI), sum = 0;
  for (int i = 0; i <= INTERVALS; i++) {
    double weight = i == 0 || i == INTERVALS ? 1 : i % 2 ? 4 : 2;
    sum += weight * pow(cos(angle * i / INTERVALS), degrees - 1);
  }
  return factor * sum * angle / (3 * INTERVALS);
}

double statistics_student(double probability, double degrees) {
  double wanted = fabs(probability - 0.5), low = 0, high = M_PI_2;
  for (int i = 0; i < 100; i++) {
    double middle = (low + high) / 2;
    if (student_within(middle, degrees) < wanted)
      low = middle;
    else
      high = middle;
  }
  return copysign(sqrt(degrees) * tan(low), probability - 0.5);
}

/* ---- pairs --------------------------------------------------------------------------------------------- */

struct statistics_pairs statistics_paired(const double *difference, size_t count) {
  struct statistics_pairs pairs = {.count = count, .low = NAN, .high = NAN};
  double std;
  statistics_mean(difference, count, &pairs.mean, &std);
  for (size_t i = 0; i < count; i++)
    pairs.better += (difference[i] > 0 ? 1 : difference[i] < 0 ? 0 : 0.5) / (double)count;
  if (count < 2) return pairs;
  double degrees = (double)count - 1; /* s / sqrt(n) = population deviation / sqrt(n - 1) */
  double half = statistics_student(0.975, degrees) * std / sqrt(degrees);
  pairs.low = pairs.mean - half;
  pairs.high = pairs.mean + half;
  return pairs;
}

struct statistics_pairs statistics_grouped(const double *difference, const unsigned *group, size_t count,
                                           size_t groups, double *room) {
  double *sum = room, *number = room + groups;
  size_t used = 0;
  memset(room, 0, 2 * groups * sizeof *room);
  for (size_t i = 0; i < count; i++) {
    sum[group[i]] += difference[i];
    number[group[i]]++;
  }
  for (size_t g = 0; g < groups; g++)
    if (number[g] > 0) sum[used++] = sum[g] / number[g];
  return statistics_paired(sum, used);
}
