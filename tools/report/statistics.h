/* Means, Student's t and paired comparisons. */
#ifndef L2SR_TOOLS_STATISTICS_H
#define L2SR_TOOLS_STATISTICS_H

#include <stddef.h>

/* Mean and population deviation; NaN of no values. */
void statistics_mean(const double *value, size_t count, double *mean, double *std);

/* The value below which Student's t of so many degrees of freedom stays with the probability, 0 < p < 1. */
double statistics_student(double probability, double degrees);

/* Differences of pairs: their mean, its 95 % confidence interval mean -+ t s / sqrt(n) with the sample
 * deviation s and Student's t of n - 1 degrees (NaN of one pair), and the fraction above zero; zeros count
 * half. */
struct statistics_pairs {
  size_t count;
  double mean, low, high, better;
};
struct statistics_pairs statistics_paired(const double *difference, size_t count);

/* Compares over groups: the pairs are the means of differences of equal group[i], below `groups`. `room`
 * takes 2 * groups numbers. */
struct statistics_pairs statistics_grouped(const double *difference, const unsigned *group, size_t count,
                                           size_t groups, double *room);

#endif
