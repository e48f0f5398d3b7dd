/* Means, Student's t, comparisons in pairs and histograms, against known values. */
#include "tests/support.h"
#include "tools/draw/chart.h"
#include "tools/report/statistics.h"

#include <math.h>

static void assert_near(double found, double expected, double tolerance) {
  if (fabs(found - expected) <= tolerance) return;
  print_error("%.12g is not %.12g within %g\n", found, expected, tolerance);
  _fail(__FILE__, __LINE__);
}

/* Two-sided 95 % and 99 % points as tables of the distribution print them. */
static void student_is_that_of_the_tables(void **state) {
  static const struct {
    double probability, degrees, value;
  } known[] = {{0.975, 1, 12.7062047362}, {0.975, 2, 4.3026527297},  {0.975, 4, 2.7764451052},
               {0.975, 9, 2.2621571628},  {0.975, 30, 2.0422724563}, {0.975, 1000, 1.9623391},
               {0.995, 5, 4.0321429836},  {0.025, 4, -2.7764451052}};
  (void)state;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    assert_near(statistics_student(known[i].probability, known[i].degrees), known[i].value, 2e-6);
}

/* Differences 1, 2, 3, 4, 5: mean 3, s = sqrt(2.5), half width 2.7764451 * s / sqrt(5) = 1.9632432. */
static void pairs_have_mean_interval_and_fraction(void **state) {
  static const double difference[] = {1, 2, 3, 4, 5}, mixed[] = {-1, 0, 2, 3};
  (void)state;
  struct statistics_pairs pairs = statistics_paired(difference, 5);
  assert_near(pairs.mean, 3, 1e-12);
  assert_near(pairs.low, 3 - 1.9632432, 1e-6);
  assert_near(pairs.high, 3 + 1.9632432, 1e-6);
  assert_near(pairs.better, 1, 1e-12);
  assert_near(statistics_paired(mixed, 4).better, 0.625, 1e-12); /* two, and half of a tie */
  pairs = statistics_paired(difference, 1);
  assert_true(isnan(pairs.low) && isnan(pairs.high));
}

static void groups_count_once(void **state) {
  static const double difference[] = {1, 1, 1, 5, 3};
  static const unsigned group[] = {0, 0, 0, 2, 3};
  double room[10];
  (void)state;
  struct statistics_pairs pairs = statistics_grouped(difference, group, 5, 5, room);
  assert_int_equal(pairs.count, 3);
  assert_near(pairs.mean, 3, 1e-12);
  assert_near(pairs.high - pairs.mean, 4.3026527297 * 2 / sqrt(3), 1e-6);
}

static void deviation_is_of_the_population(void **state) {
  static const double value[] = {2, 4, 4, 4, 5, 5, 7, 9};
  double mean, std;
  (void)state;
  statistics_mean(value, 8, &mean, &std);
  assert_near(mean, 5, 1e-12);
  assert_near(std, 2, 1e-12);
}

static void fractions_sum_to_one(void **state) {
  static const double value[] = {0.1, 0.15, 0.52, 0.9};
  const struct chart_row row = {.value = value, .count = 4};
  double fraction[64], sum = 0;
  (void)state;
  struct chart_bins bins = chart_bins(&row, 1);
  assert_true(bins.count <= 64 && bins.low <= 0.1 && bins.low + bins.width * (double)bins.count >= 0.9);
  chart_fractions(&row, &bins, fraction);
  for (size_t b = 0; b < bins.count; b++) sum += fraction[b];
  assert_near(sum, 1, 1e-12);
  assert_near(fraction[(size_t)((0.52 - bins.low) / bins.width)], 0.25, 1e-12);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(student_is_that_of_the_tables),
      cmocka_unit_test(pairs_have_mean_interval_and_fraction),
      cmocka_unit_test(groups_count_once),
      cmocka_unit_test(deviation_is_of_the_population),
      cmocka_unit_test(fractions_sum_to_one),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
