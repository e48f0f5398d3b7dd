#include "components/streams.h"
#include "engine/base/random.h"
#include "tests/support.h"

#include <math.h>
#include <string.h>

static void expect_philox(struct philox counter, uint32_t key0, uint32_t key1, struct philox want) {
  struct philox got = philox_draw(counter, key0, key1);
  assert_memory_equal(&got, &want, sizeof got);
}

/* tests/kat_vectors of Random123, philox4x32 10. */
static void philox_gives_the_published_answers(void **state) {
  const uint32_t ones = UINT32_MAX;
  (void)state;
  expect_philox((struct philox){{0, 0, 0, 0}}, 0, 0,
                (struct philox){{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}});
  expect_philox((struct philox){{ones, ones, ones, ones}}, ones, ones,
                (struct philox){{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}});
  expect_philox((struct philox){{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, 0xa4093822, 0x299f31d0,
                (struct philox){{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}});
}

static void words_are_keyed_by_seed_stream_scan_and_step(void **state) {
  struct philox got = random_words(7, STREAM_ACTION, 11, 13);
  struct philox want = philox_draw((struct philox){{11, 13, 0, 0}}, 7, 3);
  (void)state;
  assert_memory_equal(&got, &want, sizeof got);
  assert_int_equal(STREAM_ORDER, 1);
  assert_int_equal(STREAM_MASK, 2);
  assert_int_equal(STREAM_START, 4);
  assert_int_equal(STREAM_PHANTOM, 5);
}

static void a_sequence_walks_the_steps(void **state) {
  struct random random;
  (void)state;
  random_start(&random, 42, STREAM_PHANTOM, 9);
  for (uint32_t step = 0; step < 100; step++) {
    struct philox words = random_words(42, STREAM_PHANTOM, 9, step);
    for (int i = 0; i < 4; i++) assert_true(random_u32(&random) == words.word[i]);
  }
}

static void uniform_numbers_are_uniform(void **state) {
  enum { DRAWS = 400000, BINS = 100 };
  double sum = 0, squares = 0, lag = 0, before = 0, chi = 0;
  size_t bins[BINS] = {0};
  struct random random;
  (void)state;
  random_start(&random, 1, STREAM_ACTION, 0);
  for (int i = 0; i < DRAWS; i++) {
    double x = random_uniform(&random);
    assert_true(x >= 0 && x < 1);
    bins[(size_t)(x * BINS)]++;
    sum += x, squares += x * x, lag += (x - 0.5) * (before - 0.5), before = x;
  }
  for (int i = 0; i < BINS; i++) chi += pow((double)bins[i] - DRAWS / BINS, 2) / (DRAWS / BINS);
  assert_true(fabs(sum / DRAWS - 0.5) < 5 * sqrt(1.0 / 12 / DRAWS));
  assert_true(fabs(squares / DRAWS - 1.0 / 3) < 5 * sqrt(4.0 / 45 / DRAWS));
  assert_true(fabs(lag / DRAWS) < 5 * (1.0 / 12) / sqrt(DRAWS));
  assert_true(chi > 45 && chi < 175); /* 99 degrees of freedom: five deviations */
}

static void normal_numbers_are_normal(void **state) {
  enum { DRAWS = 400000 };
  double moment[5] = {0}, inside = 0;
  struct random random;
  (void)state;
  random_start(&random, 2, STREAM_START, 5);
  for (int i = 0; i < DRAWS; i++) {
    double x = random_normal(&random);
    assert_true(isfinite(x) && fabs(x) < 7);
    for (int power = 1; power < 5; power++) moment[power] += pow(x, power) / DRAWS;
    inside += fabs(x) < 1;
  }
  assert_true(fabs(moment[1]) < 5 / sqrt(DRAWS));
  assert_true(fabs(moment[2] - 1) < 5 * sqrt(2.0 / DRAWS));
  assert_true(fabs(moment[3]) < 5 * sqrt(15.0 / DRAWS));
  assert_true(fabs(moment[4] - 3) < 5 * sqrt(96.0 / DRAWS));
  assert_true(fabs(inside / DRAWS - 0.6826894921) < 5 * 0.4655 / sqrt(DRAWS));
}

static void scans_and_streams_are_independent(void **state) {
  enum { DRAWS = 100000 };
  double across_scans = 0, across_streams = 0;
  (void)state;
  for (uint32_t i = 0; i < DRAWS; i++) {
    double a = random_words(3, STREAM_ACTION, i, 0).word[0] * 0x1p-32 - 0.5;
    double b = random_words(3, STREAM_ACTION, i + 1, 0).word[0] * 0x1p-32 - 0.5;
    double c = random_words(3, STREAM_MASK, i, 0).word[0] * 0x1p-32 - 0.5;
    across_scans += a * b, across_streams += a * c;
  }
  assert_true(fabs(across_scans / DRAWS) < 5 * (1.0 / 12) / sqrt(DRAWS));
  assert_true(fabs(across_streams / DRAWS) < 5 * (1.0 / 12) / sqrt(DRAWS));
}

/* mt19937ar.out and the standard's 10000th number of std::mt19937. */
static void mersenne_gives_the_published_answers(void **state) {
  static const uint32_t key[] = {0x123, 0x234, 0x345, 0x456}, want[] = {1067595299, 955945823, 477289528};
  struct mersenne mersenne;
  (void)state;
  mersenne_start(&mersenne, 5489);
  assert_true(mersenne_u32(&mersenne) == 3499211612u);
  for (int i = 2; i < 10000; i++) mersenne_u32(&mersenne);
  assert_true(mersenne_u32(&mersenne) == 4123659995u);
  mersenne_start_array(&mersenne, key, 4);
  for (int i = 0; i < 3; i++) assert_true(mersenne_u32(&mersenne) == want[i]);
}

/* numpy's random_sample: 53 bits of two draws. */
static double draw_double(struct mersenne *mersenne) {
  uint32_t a = mersenne_u32(mersenne) >> 5, b = mersenne_u32(mersenne) >> 6;
  return (a * 67108864.0 + b) / 9007199254740992.0;
}

static void numpy_doubles_agree(void **state) {
  struct mersenne mersenne;
  (void)state;
  mersenne_start(&mersenne, 42);
  assert_true(draw_double(&mersenne) == 0.3745401188473625);
}

static void numpy_permutations_agree(void **state) {
  static const uint32_t of_42[] = {8, 1, 5, 0, 7, 2, 9, 4, 3, 6}, of_0[] = {2, 8, 4, 9, 1, 6, 7, 3, 0, 5};
  uint32_t items[10];
  (void)state;
  permutation_numpy(items, 10, 42);
  assert_memory_equal(items, of_42, sizeof items);
  permutation_numpy(items, 10, 0);
  assert_memory_equal(items, of_0, sizeof items);
}

static void python_shuffle_agrees(void **state) {
  static const uint32_t want[] = {7, 8, 1, 5, 3, 4, 2, 0, 9, 6};
  uint32_t items[10];
  (void)state;
  for (uint32_t i = 0; i < 10; i++) items[i] = i;
  shuffle_python(items, 10, 0);
  assert_memory_equal(items, want, sizeof items);
}

/* Both are permutations at every small size, none and one included. */
static void shuffles_keep_every_item(void **state) {
  uint32_t items[300];
  (void)state;
  for (size_t count = 0; count <= 300; count++)
    for (int numpy = 0; numpy < 2; numpy++) {
      bool seen[300] = {false};
      for (uint32_t i = 0; i < count; i++) items[i] = i;
      if (numpy)
        permutation_numpy(items, count, (uint32_t)count);
      else
        shuffle_python(items, count, (uint32_t)count);
      for (size_t i = 0; i < count; i++) {
        assert_true(items[i] < count && !seen[items[i]]);
        seen[items[i]] = true;
      }
    }
}

/* A file's name as the seed of its mask, PROTOCOL 1.10. */
static void start_by_name(struct mersenne *mersenne, const char *name) {
  uint32_t codes[64];
  size_t count = strlen(name);
  for (size_t i = 0; i < count; i++) codes[i] = (unsigned char)name[i];
  mersenne_start_array(mersenne, codes, count);
}

static void draw_mask(struct mersenne *mersenne, double acceleration, double centre, bool mask[128]) {
  int low = (int)nearbyint(128 * centre), start = (128 - low + 1) / 2;
  double probability = (128 / acceleration - low) / (128 - low);
  for (int i = 0; i < 128; i++) mask[i] = draw_double(mersenne) < probability;
  for (int i = start; i < start + low; i++) mask[i] = true;
}

static void expect_mask(const bool mask[128], const int *columns, size_t count) {
  size_t found = 0;
  for (int i = 0; i < 128; i++)
    if (mask[i]) {
      assert_true(found < count);
      assert_int_equal(i, columns[found++]);
    }
  assert_int_equal(found, count);
}

static void the_pretraining_mask_is_reproduced(void **state) {
  static const int columns[] = {2,  8,  10, 15, 23, 29, 39, 41, 45, 53, 54, 56, 57, 58,  59,  60,  61,
                                62, 63, 64, 65, 66, 67, 68, 69, 70, 71, 72, 79, 89, 109, 114, 120, 127};
  struct mersenne mersenne;
  bool mask[128];
  (void)state;
  start_by_name(&mersenne, "file1000007.h5");
  draw_mask(&mersenne, 4, 0.125, mask);
  expect_mask(mask, columns, sizeof columns / sizeof *columns);
}

static void the_pretraining_mixture_is_reproduced(void **state) {
  static const double accelerations[] = {4, 4, 4, 6, 6, 8}, centres[] = {.25, .167, .125, .167, .125, .125};
  static const int columns[] = {14, 40, 56, 57, 58, 59, 60, 61, 62, 63,  64,
                                65, 66, 67, 68, 69, 70, 71, 78, 88, 108, 113};
  struct mersenne mersenne;
  bool mask[128];
  uint32_t place;
  (void)state;
  start_by_name(&mersenne, "file1000007.h5");
  do place = mersenne_u32(&mersenne) & 7;
  while (place > 5);
  assert_int_equal(place, 4);
  draw_mask(&mersenne, accelerations[place], centres[place], mask);
  expect_mask(mask, columns, sizeof columns / sizeof *columns);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(philox_gives_the_published_answers),
      cmocka_unit_test(words_are_keyed_by_seed_stream_scan_and_step),
      cmocka_unit_test(a_sequence_walks_the_steps),
      cmocka_unit_test(uniform_numbers_are_uniform),
      cmocka_unit_test(normal_numbers_are_normal),
      cmocka_unit_test(scans_and_streams_are_independent),
      cmocka_unit_test(mersenne_gives_the_published_answers),
      cmocka_unit_test(numpy_doubles_agree),
      cmocka_unit_test(numpy_permutations_agree),
      cmocka_unit_test(python_shuffle_agrees),
      cmocka_unit_test(shuffles_keep_every_item),
      cmocka_unit_test(the_pretraining_mask_is_reproduced),
      cmocka_unit_test(the_pretraining_mixture_is_reproduced),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
