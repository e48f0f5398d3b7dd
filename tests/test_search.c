/* The Gaussian process against numbers in double by the formula, spaces, and searches of a known function. */
#include "components/options.h"
#include "engine/base/random.h"
#include "tests/support.h"
#include "tools/search/gaussian.h"
#include "tools/search/suggest.h"
#include "tools/search/trials.h"

#include <math.h>
#include <string.h>

enum { TRIALS = 40, SEEDS = 5 };

static void assert_near(double found, double expected, double tolerance) {
  if (fabs(found - expected) <= tolerance) return;
  print_error("%.12g is not %.12g within %g\n", found, expected, tolerance);
  _fail(__FILE__, __LINE__);
}

/* ---- the process --------------------------------------------------------------------------------------- */

static double matern(double distance, double length) {
  double r = sqrt(5) * fabs(distance) / length;
  return (1 + r + r * r / 3) * exp(-r);
}

/* Two points: mean and variance by the inverse of two rows (Rasmussen and Williams 2006, equations 2.25
 * and 2.26). */
static void two_points_are_as_by_hand(void **state) {
  static const double x[] = {0.2, 0.6}, y[] = {1, 3}, at = 0.3;
  struct arena *arena = arena_open();
  (void)state;
  struct gaussian process = gaussian_fit(arena, x, y, 2, 1);
  double length = process.length[0], own = 1 + process.noise, other = matern(0.4, length),
         determinant = own * own - other * other;
  double first = matern(0.1, length), second = matern(0.3, length), mean,
         deviation; /* the values are -1 and 1 once standardised */
  double left = (own * first - other * second) / determinant,
         right = (own * second - other * first) / determinant;
  gaussian_tell(&process, &at, &mean, &deviation);
  assert_near(process.mean, 2, 1e-12);
  assert_near(mean, 2 + (right - left), 1e-9);
  assert_near(deviation, sqrt(process.variance * (1 - left * first - right * second)), 1e-9);
  arena_close(arena);
}

static void a_smooth_function_is_learned(void **state) {
  enum { COUNT = 25 };
  double x[COUNT][2], y[COUNT], mean, deviation, worst = 0, away;
  struct arena *arena = arena_open();
  struct random random;
  (void)state;
  random_start(&random, 3, 0, 0);
  for (size_t i = 0; i < COUNT; i++) {
    x[i][0] = random_uniform(&random), x[i][1] = random_uniform(&random);
    y[i] = sin(5 * x[i][0]);
  }
  struct gaussian process = gaussian_fit(arena, x[0], y, COUNT, 2);
  for (double at = 0.2; at < 0.85; at += 0.1) {
    gaussian_tell(&process, (double[]){at, 0.5}, &mean, &deviation);
    worst = fmax(worst, fabs(mean - sin(5 * at)));
  }
  gaussian_tell(&process, (double[]){5, 0.5}, &mean, &away);
  assert_true(worst < 0.05);
  assert_true(process.length[1] > 2 * process.length[0]); /* it found which number does not matter */
  assert_true(away > 5 * deviation);                      /* and knows what it has not seen */
  arena_close(arena);
}

/* ---- spaces -------------------------------------------------------------------------------------------- */

static struct options *new_options(struct arena *arena) {
  struct options *options = ARENA_NEW(arena, struct options, 1);
  option_defaults(&option_table, options, arena);
  return options;
}

static void dials_are_values_and_back(void **state) {
  struct arena *arena = arena_open();
  struct options *options = new_options(arena);
  struct space space;
  struct error error;
  (void)state;
  options->search.linear = "learn.gamma 0.5 1";
  options->search.log = "learn.rate 1e-4 1e-2,learn.scans 4 64";
  options->search.integer = "learn.validations 3 5";
  options->search.choice = "learn.baseline critic group,train.batch 8 16 32";
  assert_good(space_read(&space, options, arena, &error), &error);
  assert_int_equal(space.ranges, 6);
  assert_int_equal(space.features, 4 + 2 + 3);
  static const char *const middle[] = {"0.75", "0.001", "16", "4", "group", "16"};
  for (size_t r = 0; r < space.ranges; r++) {
    assert_string_equal(space_text(&space, r, 0.5), middle[r]);
    assert_string_equal(space_text(&space, r, space_dial(&space, r, middle[r])), middle[r]);
  }
  assert_near(space_dial(&space, 1, "0.1"), 1.5, 1e-12); /* outside of the range */
  double own[6], feature[9];
  space_own(&space, options, own); /* rate 0.0003, baseline critic, batch 16 */
  assert_near(own[1], log10(3) / 2, 1e-12);
  space_see(&space, own, feature);
  assert_true(feature[4] > 0 && feature[5] == 0 && feature[6] == 0 && feature[7] > 0);
  arena_close(arena);
}

/* ---- searches ------------------------------------------------------------------------------------------ */

/* Seconds grow with the second number; the best score is at a rate of 1e-3 by the word `group`, with long
 * trainings. */
static void measure(const struct space *space, struct observation *seen) {
  double rate = log10(strtod(space_text(space, 0, seen->dial[0]), NULL)),
         steps = strtod(space_text(space, 1, seen->dial[1]), NULL);
  bool group = !strcmp(space_text(space, 2, seen->dial[2]), "group");
  double gamma = strtod(space_text(space, 3, seen->dial[3]), NULL);
  seen->seconds = steps / 1e5;
  seen->what = rate > -2.3 ? OBSERVED_FAILURE : OBSERVED_SCORE; /* it diverges */
  seen->score =
      0.8 + 0.02 * group - 0.02 * pow(rate + 3, 2) - 0.1 * pow(gamma - 0.9, 2) - 0.05 * exp(-steps / 5e5);
}

/* How many trials there were before one within 0.002 of the best; TRIALS: none was. */
static size_t search_known(const struct space *space, uint32_t seed, bool drawn, struct observation *seen,
                           double *dials) {
  struct random random;
  size_t needed = TRIALS;
  random_start(&random, seed, 0, 0);
  for (size_t n = 0; n < TRIALS; n++) {
    double *dial = dials + n * space->ranges;
    for (size_t r = 0; r < space->ranges; r++) dial[r] = random_uniform(&random);
    if (!drawn) suggest(space, seen, n, seed, (uint32_t)n, 8, dial);
    seen[n].dial = dial;
    measure(space, &seen[n]);
    if (needed == TRIALS && seen[n].what == OBSERVED_SCORE && seen[n].score > 0.818) needed = n;
  }
  return needed;
}

static struct space known_space(struct arena *arena) {
  struct options *options = new_options(arena);
  struct space space;
  struct error error;
  options->search.log = "learn.rate 1e-5 1e-1,learn.steps 100000 10000000";
  options->search.choice = "learn.baseline critic group group_critic";
  options->search.linear = "learn.gamma 0.5 1";
  assert_good(space_read(&space, options, arena, &error), &error);
  /* log is read before choice, and linear before both: as the function has them */
  struct range gamma = space.range[0];
  memmove(space.range, space.range + 1, 3 * sizeof gamma);
  space.range[3] = gamma;
  return space;
}

static void a_known_function_takes_fewer_trials_than_draws(void **state) {
  struct arena *arena = arena_open();
  struct space space = known_space(arena);
  struct observation seen[TRIALS];
  double *dials = ARENA_NEW(arena, double, TRIALS *RANGES_MOST);
  size_t searched = 0, drawn = 0, quick = 0;
  bool front[TRIALS];
  (void)state;
  for (uint32_t seed = 1; seed <= SEEDS; seed++) {
    drawn += search_known(&space, seed, true, seen, dials);
    size_t needed = search_known(&space, seed, false, seen, dials);
    assert_true(needed < TRIALS);
    searched += needed;
    suggest_front(seen, TRIALS, front);
    for (size_t i = 0; i < TRIALS; i++) quick += front[i] && seen[i].seconds < 10; /* of 1 to 100 s */
  }
  print_message("%zu trials of %d searches until the best is found, %zu of random draws\n", searched, SEEDS,
                drawn);
  assert_true(2 * searched < drawn);
  assert_true(quick >= 2 * SEEDS);
  arena_close(arena);
}

static void the_front_has_what_is_better_than_all_that_is_as_quick(void **state) {
  static const double dial[1];
  const struct observation seen[] = {{dial, OBSERVED_SCORE, 0.5, 2},   {dial, OBSERVED_SCORE, 0.4, 3},
                                     {dial, OBSERVED_SCORE, 0.6, 4},   {dial, OBSERVED_FAILURE, 0.9, 1},
                                     {dial, OBSERVED_NOTHING, 0.9, 1}, {dial, OBSERVED_SCORE, 0.5, 2},
                                     {dial, OBSERVED_PART, 0.9, 1}};
  static const bool expected[] = {true, false, true, false, false, false, false};
  bool front[7];
  (void)state;
  suggest_front(seen, 7, front);
  assert_memory_equal(front, expected, sizeof front);
}

/* ---- the journal --------------------------------------------------------------------------------------- */

/* A killed search leaves a line that is cut: it is none, and the next one begins a line of its own. */
static void a_journal_is_the_trials_again(void **state) {
  struct folder folder;
  support_open_folder(&folder);
  const char *path = support_path(&folder, "search.jsonl"), *value[] = {"0.001", "200000", "group", "0.9"};
  struct space space = known_space(folder.arena);
  struct trials trials;
  struct error error;
  (void)state;
  assert_good(trials_open(&trials, &space, path, 7, 20, folder.arena, &error), &error);
  for (int i = 0; i < 8; i++) {
    struct trial *trial = trials_begin(&trials, value, 0, 0);
    trials_point(&trials, trial, &(struct trial_point){1, 1, 0.5 + 0.01 * i});
    trials_point(&trials, trial, &(struct trial_point){3, 2, 0.6 + 0.01 * i});
    trials_end(&trials, trial, i == 3 ? TRIAL_FAILED : TRIAL_DONE, 3.5, i == 3 ? "it \"diverged\"" : NULL);
  }
  struct trial *last = trials_begin(&trials, value, 0, 0);
  trials_point(&trials, last, &(struct trial_point){2, 1, 0.5});
  assert_true(trials_behind(&trials, last, 0.25, 7)); /* 1 of 7 had no more after 2 s, and none less */
  assert_false(trials_behind(&trials, last, 0.25, 8));
  trials_point(&trials, last, &(struct trial_point){2.5, 2, 0.525});
  assert_false(trials_behind(&trials, last, 0.25, 7));
  fprintf(trials.journal, "{\"kind\":\"end\",\"trial\":9,\"sta");
  assert_good(trials_close(&trials, path, &error), &error);

  assert_good(trials_open(&trials, &space, path, 7, 20, folder.arena, &error), &error);
  assert_int_equal(trials.count, 9);
  assert_int_equal(trials.trial[8].state, TRIAL_RUNS);
  assert_near(trials.trial[8].seconds, 2.5, 1e-9);
  assert_near(trial_score(&trials.trial[7]), 0.67, 1e-12);
  assert_true(isnan(trial_score(&trials.trial[3])));
  assert_string_equal(trials.trial[3].why, "it \"diverged\"");
  assert_int_equal(trials_best(&trials)->number, 8);
  trials_end(&trials, &trials.trial[8], TRIAL_STOPPED, 2.6, NULL);
  assert_good(trials_close(&trials, path, &error), &error);
  assert_good(trials_open(&trials, &space, path, 7, 20, folder.arena, &error), &error);
  assert_int_equal(trials.trial[8].state, TRIAL_STOPPED);
  assert_good(trials_close(&trials, path, &error), &error);
  assert_false(trials_open(&trials, &space, path, 8, 20, folder.arena, &error));
  assert_holds(error.text, "is of a search of other options, data or ranges");
  support_close_folder(&folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(two_points_are_as_by_hand),
      cmocka_unit_test(a_smooth_function_is_learned),
      cmocka_unit_test(dials_are_values_and_back),
      cmocka_unit_test(a_known_function_takes_fewer_trials_than_draws),
      cmocka_unit_test(the_front_has_what_is_better_than_all_that_is_as_quick),
      cmocka_unit_test(a_journal_is_the_trials_again),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
