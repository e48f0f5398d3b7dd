/* Means, Student's t, comparisons in pairs and histograms, against known values. */
#include "tests/support.h"
#include "tools/draw/chart.h"
#include "tools/report/clusters.h"
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
               {0.995, 5, 4.0321429836},  {0.9995, 1, 636.6192488},  {0.975, 1e5, 1.9599877},
               {0.975, 2.5, 3.5746548420},   {0.025, 4, -2.7764451052}};
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
  statistics_cut(&pairs, 0);
  assert_near(pairs.high, 3 + 1.9632432, 1e-6);
  statistics_cut(&pairs, 1.5);
  assert_near(pairs.low, 3 - 1.9632432, 1e-6);
  assert_near(pairs.high, 1.5, 0);
  pairs = statistics_paired((const double[]){-0.5, 0.5}, 2);
  statistics_cut(&pairs, 1);
  assert_near(pairs.low, -1, 0);
  assert_near(pairs.high, 1, 0);
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

/* A slice without a score is neither a win nor a tie, and of no pair. */
static void what_has_no_score_is_left_out(void **state) {
  const double difference[] = {1, NAN, 3, -2, INFINITY, 0}, none[] = {NAN, NAN};
  static const unsigned group[] = {0, 0, 1, 1, 2, 3};
  double room[8], mean, std;
  (void)state;
  struct statistics_pairs pairs = statistics_paired(difference, 6);
  assert_int_equal(pairs.count, 4);
  assert_int_equal(pairs.missing, 2);
  assert_near(pairs.mean, 0.5, 1e-12);
  assert_near(pairs.better, 2.5 / 4, 1e-12);
  pairs = statistics_grouped(difference, group, 6, 4, room); /* means 1, 0.5, none, 0 */
  assert_int_equal(pairs.count, 3);
  assert_int_equal(pairs.missing, 2);
  assert_near(pairs.mean, 0.5, 1e-12);
  assert_int_equal(statistics_mean(difference, 6, &mean, &std), 4);
  assert_near(mean, 0.5, 1e-12);
  pairs = statistics_paired(none, 2);
  assert_int_equal(pairs.count, 0);
  assert_true(isnan(pairs.mean) && isnan(pairs.low) && isnan(pairs.better));
}

/* ---- patients and trainings ---------------------------------------------------------------------------- */

static void files_of_one_patient_are_one(void **state) {
  static const uint32_t file[] = {0, 0, 1, 2, 4, 4};
  static const unsigned of[] = {0, 0, 1, 0, 2, 2};
  static const struct {
    const char *patients, *text, *noun;
    size_t count;
  } known[] = {{"p\nq\np\np\nr", "3 patients of 4 files", "patients", 3},
               {NULL, "4 files (no patient_id)", "files", 4},
               {"a.h5\nb.h5\nc.h5\nd.h5\ne.h5", "4 files (no patient_id)", "files", 4},
               {"p\n\np\n\ne.h5", "3 patients of 4 files (2 files without patient_id count as one each)",
                "patients", 3},
               {"p\nq\nr\ns\nt", "4 patients", "patients", 4}};
  struct arena *arena = arena_open();
  (void)state;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    struct clusters clusters =
        clusters_read(arena, "a.h5\nb.h5\nc.h5\nd.h5\ne.h5", known[i].patients, file, 6);
    assert_int_equal(clusters.count, known[i].count);
    assert_string_equal(clusters_text(arena, &clusters), known[i].text);
    assert_string_equal(clusters_noun(&clusters), known[i].noun);
    for (size_t s = 0; s < 6 && known[i].count == 3; s++) assert_int_equal(clusters.of[s], of[s]);
  }
  arena_close(arena);
}

/* Normal numbers by the polar method of Box and Muller, the same in every run. */
static double normal(uint64_t *state) {
  double u[2];
  for (int i = 0; i < 2; i++) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    u[i] = ((double)(*state >> 11) + 0.5) / 9007199254740992.0;
  }
  return sqrt(-2 * log(u[0])) * cos(2 * M_PI * u[1]);
}

/* fastMRI's knees: a patient's two files share most of what makes a difference large. The true mean is 0. */
static void intervals_over_patients_hold_where_those_over_files_do_not(void **state) {
  enum { RUNS = 4000, PATIENTS = 14, FILES = 2 * PATIENTS };
  unsigned file[FILES], patient[FILES];
  double difference[FILES], room[2 * FILES], held[2] = {0};
  uint64_t random = 1;
  (void)state;
  for (unsigned f = 0; f < FILES; f++) file[f] = f, patient[f] = f / 2;
  for (int run = 0; run < RUNS; run++) {
    for (int p = 0; p < PATIENTS; p++) {
      double own = normal(&random);
      for (int f = 0; f < 2; f++) difference[2 * p + f] = own + 0.5 * normal(&random);
    }
    struct statistics_pairs files = statistics_grouped(difference, file, FILES, FILES, room),
                            patients = statistics_grouped(difference, patient, FILES, PATIENTS, room);
    held[0] += (files.low <= 0 && files.high >= 0) / (double)RUNS;
    held[1] += (patients.low <= 0 && patients.high >= 0) / (double)RUNS;
  }
  assert_true(held[0] > 0.80 && held[0] < 0.90);
  assert_near(held[1], 0.95, 0.012);
}

/* Two methods of so many trainings; the second has no part of its own where its number is 0. */
struct trial {
  size_t patients, trainings[2];
  double spread[2], noise; /* between trainings; of a training on a patient; between patients it is 1 */
};

enum { TRIAL_PATIENTS = 14, TRIAL_TRAININGS = 6 };

/* Fills the differences by patient, and the trainings' means, of two methods that are equally good. */
static void draw_trial(const struct trial *trial, uint64_t *random, double *difference,
                       double mean[2][TRIAL_TRAININGS]) {
  for (size_t p = 0; p < trial->patients; p++) difference[p] = normal(random);
  for (size_t m = 0; m < 2; m++)
    for (size_t i = 0; i < trial->trainings[m]; i++) {
      double own = trial->spread[m] * normal(random);
      mean[m][i] = 0;
      for (size_t p = 0; p < trial->patients; p++) {
        double score = own + trial->noise * normal(random);
        mean[m][i] += score / (double)trial->patients;
        difference[p] += (m ? -score : score) / (double)trial->trainings[m];
      }
    }
}

/* Fractions of runs whose intervals hold the truth: over patients, and over patients and trainings. */
static void measure(const struct trial *trial, double held[2]) {
  enum { RUNS = 2000 };
  uint64_t random = 7;
  held[0] = held[1] = 0;
  for (int run = 0; run < RUNS; run++) {
    double difference[TRIAL_PATIENTS], mean[2][TRIAL_TRAININGS] = {{0}};
    draw_trial(trial, &random, difference, mean);
    struct statistics_pairs patients = statistics_paired(difference, trial->patients);
    struct statistics_trainings own = statistics_over_trainings(mean[0], trial->trainings[0]),
                                others = statistics_over_trainings(mean[1], trial->trainings[1]);
    struct statistics_pairs both = statistics_crossed(&patients, &own, &others);
    held[0] += (patients.low <= 0 && patients.high >= 0) / (double)RUNS;
    held[1] += (both.low <= 0 && both.high >= 0) / (double)RUNS;
  }
}

static void intervals_over_trainings_hold(void **state) {
  static const struct trial trials[] = {
      {8, {3, 3}, {0, 0}, 0.3},      {8, {3, 3}, {0.3, 0.3}, 0.3}, {8, {3, 3}, {3, 3}, 0.3},
      {14, {3, 3}, {1, 1}, 0.3},     {14, {3, 3}, {1, 0.1}, 0.3},  {14, {3, 0}, {1, 0}, 0.3},
      {8, {3, 0}, {3, 0}, 0.3},      {14, {6, 6}, {0, 0}, 0.3},    {8, {6, 6}, {1, 1}, 0.3},
      {14, {6, 3}, {0.3, 0.3}, 0.3}, {14, {6, 3}, {0.1, 1}, 0.3},  {14, {6, 0}, {3, 0}, 0.3}};
  (void)state;
  for (size_t i = 0; i < sizeof trials / sizeof *trials; i++) {
    double held[2];
    measure(&trials[i], held);
    if (held[1] < 0.942 || held[1] > 0.99) print_error("trial %zu: %.3f, %.3f\n", i, held[0], held[1]);
    assert_true(held[1] >= 0.942 && held[1] <= 0.99);
    if (trials[i].spread[0] >= 1) assert_true(held[0] < 0.85); /* trainings held fixed: too sure */
  }
}

/* Patients 1..5 (mean 3, variance of the mean .5), trainings of means 3 -+ 1 (variance of the mean 1): the
 * root of 1.5 times (t_4 .5 + t_1 1) / 1.5. One training adds nothing, none leaves no second interval. */
static void the_second_interval_is_that_of_the_formula(void **state) {
  static const double difference[] = {1, 2, 3, 4, 5}, mean[] = {2, 4};
  (void)state;
  struct statistics_pairs patients = statistics_paired(difference, 5);
  struct statistics_trainings two = statistics_over_trainings(mean, 2),
                              one = statistics_over_trainings(mean, 1);
  assert_near(two.variance, 1, 1e-12);
  assert_true(isnan(one.variance));
  struct statistics_pairs both = statistics_crossed(&patients, &two, &one);
  assert_near(both.high - 3, (2.7764451052 * 0.5 + 12.7062047362) / sqrt(1.5), 1e-5);
  assert_near(3 - both.low, both.high - 3, 1e-9);
  both = statistics_crossed(&patients, &two, &two); /* 2 degrees */
  assert_near(both.high - 3, (2.7764451052 * 0.5 + 4.3026527297 * 2) / sqrt(2.5), 1e-5);
  both = statistics_crossed(&patients, &one, &one);
  assert_true(isnan(both.low) && isnan(both.high));
  assert_string_equal(statistics_verdict(0.1, 2), "ahead");
  assert_string_equal(statistics_verdict(-2, -0.1), "behind");
  assert_string_equal(statistics_verdict(-1, 1), "open");
  assert_string_equal(statistics_verdict(NAN, NAN), "");
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
      cmocka_unit_test(what_has_no_score_is_left_out),
      cmocka_unit_test(files_of_one_patient_are_one),
      cmocka_unit_test(intervals_over_patients_hold_where_those_over_files_do_not),
      cmocka_unit_test(intervals_over_trainings_hold),
      cmocka_unit_test(the_second_interval_is_that_of_the_formula),
      cmocka_unit_test(deviation_is_of_the_population),
      cmocka_unit_test(fractions_sum_to_one),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
