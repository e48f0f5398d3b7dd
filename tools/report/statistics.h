/* Means, Student's t and paired comparisons. */
#ifndef L2SR_TOOLS_STATISTICS_H
#define L2SR_TOOLS_STATISTICS_H

#include <stddef.h>

/* Mean and population deviation of the finite values, and how many they are; NaN of none. What is not finite
 * is no score. */
size_t statistics_mean(const double *value, size_t count, double *mean, double *std);

/* The value below which Student's t of so many degrees of freedom stays with the probability, 0 < p < 1. */
double statistics_student(double probability, double degrees);

/* Differences of pairs: their mean, its 95 % confidence interval mean -+ t s / sqrt(n) with the sample
 * deviation s and Student's t of n - 1 degrees (NaN of one pair), and the fraction above zero; zeros count
 * half. A difference that is not finite is of no pair: such ones are counted, and left out. */
struct statistics_pairs {
  size_t count, missing;
  double mean, low, high, better;
  double variance; /* of the mean: s^2 / n */
};
struct statistics_pairs statistics_paired(const double *difference, size_t count);

/* Cuts the interval to -most ... most, beyond which no difference is; most 0: there is none such. */
void statistics_cut(struct statistics_pairs *pairs, double most);

/* Compares over groups: the pairs are the means of differences of equal group[i], below `groups`; `missing`
 * counts differences. `room` takes 2 * groups numbers. */
struct statistics_pairs statistics_grouped(const double *difference, const unsigned *group, size_t count,
                                           size_t groups, double *room);

/* What several trainings of a method found, as one mean each. */
struct statistics_trainings {
  size_t count;
  double variance; /* of their mean: the sample variance / count; NaN of one */
};
struct statistics_trainings statistics_over_trainings(const double *mean, size_t count);

/* The pairs with an interval that also holds for other trainings of both methods (scenes/PROTOCOL.md 1.13):
 * NaN where neither has several. */
struct statistics_pairs statistics_crossed(const struct statistics_pairs *patients,
                                           const struct statistics_trainings *method,
                                           const struct statistics_trainings *baseline);

/* Whether an interval leaves out zero: "ahead", "behind", "open" where it does not; "": there is none. */
const char *statistics_verdict(double low, double high);

#endif
