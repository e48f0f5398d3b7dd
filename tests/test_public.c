/* The library as another program holds it: by l2sr.h and the shared library alone. */
#include <CL/cl.h>
#include <l2sr.h>

#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "public.h"

enum { N = 32, SLICES = 5, ENVS = 6, INITIAL = 2, BUDGET = 6 }; /* x4: 8 lines, 2 of them given */

/* ---- helpers ------------------------------------------------------------------------------------------- */

static void expect_refused(enum l2sr_code code, enum l2sr_code wanted, const char *part, const char *call,
                           int line) {
  if (code != wanted || !strstr(l2sr_last_error(), part))
    fail_msg("line %d: %s: %d, %s; expected %d and %s", line, call, (int)code, l2sr_last_error(), (int)wanted,
             part);
}
#define REFUSED(code, part, call) expect_refused(call, code, part, #call, __LINE__)

static float images[SLICES][N][N];

/* Discs on a slope, another in every slice. */
static void make_images(void) {
  for (int s = 0; s < SLICES; s++)
    for (int y = 0; y < N; y++)
      for (int x = 0; x < N; x++) {
        double dx = x - 12 - s, dy = y - 15, disc = dx * dx + dy * dy < 40 + 10 * s;
        images[s][y][x] = (float)(0.2 + disc + 0.01 * x + 0.3 * ((x * 7 + y * 3 + s) % 5 == 0));
      }
}

static const struct l2sr_slices slices = {
    .bytes = sizeof slices, .values = &images[0][0][0], .count = SLICES, .height = N, .width = N};
static const char *const overrides[] = {"data.size=32", "acquisition.acceleration=4",
                                        "acquisition.horizon=long", "acquisition.initial_lines=2"};

static struct l2sr_config config_of(void) {
  return (struct l2sr_config){.bytes = sizeof(struct l2sr_config),
                              .overrides = overrides,
                              .override_count = sizeof overrides / sizeof *overrides,
                              .slices = &slices,
                              .envs = ENVS};
}

static l2sr_env *open_by(const struct l2sr_config *config) {
  l2sr_env *env;
  GOOD(l2sr_env_open(config, &env));
  return env;
}

static l2sr_env *open_env(void) {
  struct l2sr_config config = config_of();
  return open_by(&config);
}

static void read_words(l2sr_env *env, enum l2sr_array array, uint32_t words[ENVS]) {
  GOOD(l2sr_env_read(env, array, words, sizeof(uint32_t) * ENVS));
}

static void read_floats(l2sr_env *env, enum l2sr_array array, float values[ENVS]) {
  GOOD(l2sr_env_read(env, array, values, sizeof(float) * ENVS));
}

static void step_by(l2sr_env *env, uint32_t action) {
  uint32_t actions[ENVS];
  for (int i = 0; i < ENVS; i++) actions[i] = action;
  GOOD(l2sr_env_step(env, actions));
}

/* ---- scans --------------------------------------------------------------------------------------------- */

static void facts_are_told(void **state) {
  struct l2sr_facts facts = {.bytes = sizeof facts};
  l2sr_env *env = open_env();
  const char *path;
  size_t number;
  (void)state;
  GOOD(l2sr_env_facts(env, &facts));
  assert_int_equal(facts.envs, ENVS);
  assert_int_equal(facts.actions, N);
  assert_int_equal(facts.size, N);
  assert_int_equal(facts.initial, INITIAL);
  assert_int_equal(facts.budget, BUDGET);
  assert_int_equal(facts.slices, SLICES);
  assert_string_equal(facts.geometry, "lines");
  GOOD(l2sr_env_slice(env, 2, &path, &number));
  assert_string_equal(path, "slices 2 to 2 in memory");
  assert_int_equal(number, 0);
  REFUSED(L2SR_WRONG_USAGE, "no slice 5", l2sr_env_slice(env, SLICES, NULL, NULL));
  GOOD(l2sr_env_close(env));
}

/* The header's numbers, the library's, and the one text that packages have. */
static void the_version_is_told(void **state) {
  char text[32];
  (void)state;
  snprintf(text, sizeof text, "%d.%d.%d", L2SR_VERSION_MAJOR, L2SR_VERSION_MINOR, L2SR_VERSION_PATCH);
  assert_string_equal(l2sr_version(), text);
  assert_int_equal(l2sr_version_number(), L2SR_VERSION_NUMBER);
  assert_int_equal(L2SR_VERSION_NUMBER,
                   (L2SR_VERSION_MAJOR * 100 + L2SR_VERSION_MINOR) * 100 + L2SR_VERSION_PATCH);
}

/* A structure of an older program is shorter, and is not written past. */
static void older_structures_are_shorter(void **state) {
  union {
    struct l2sr_facts facts;
    unsigned char bytes[sizeof(struct l2sr_facts)];
  } room;
  l2sr_env *env = open_env();
  (void)state;
  memset(&room, 0x5a, sizeof room);
  room.facts.bytes = offsetof(struct l2sr_facts, size);
  GOOD(l2sr_env_facts(env, &room.facts));
  assert_int_equal(room.facts.actions, N);
  for (size_t i = offsetof(struct l2sr_facts, size); i < sizeof room; i++)
    assert_int_equal(room.bytes[i], 0x5a);
  GOOD(l2sr_env_close(env));
}

/* Programs of before a member of l2sr_slices and of before its size, and one of after, which asks for what is not known. */
static void slices_have_their_size(void **state) {
  struct {
    struct l2sr_slices slices;
    size_t more;
  } newer = {.slices = slices};
  struct l2sr_slices older = slices, without = slices;
  struct l2sr_config config = config_of();
  l2sr_env *env;
  (void)state;
  without.bytes = 0;
  config.slices = &without;
  GOOD(l2sr_env_close(open_by(&config)));
  older.bytes = offsetof(struct l2sr_slices, volume);
  older.volume = (const uint32_t *)&config; /* is not there */
  config.slices = &older;
  GOOD(l2sr_env_close(open_by(&config)));
  newer.slices.bytes = sizeof newer;
  config.slices = &newer.slices;
  GOOD(l2sr_env_close(open_by(&config)));
  newer.more = 1;
  REFUSED(L2SR_WRONG_CALL, "struct l2sr_slices asks for what version", l2sr_env_open(&config, &env));
  newer.slices.bytes = 3;
  REFUSED(L2SR_WRONG_CALL, "sizeof(struct l2sr_slices)", l2sr_env_open(&config, &env));
}

static void a_scan_goes_from_reset_to_done(void **state) {
  uint8_t mask[ENVS][N], open[ENVS][N];
  uint32_t done[ENVS], step[ENVS], slice[ENVS];
  float reward[ENVS], ssim[ENVS];
  l2sr_env *env = open_env();
  (void)state;
  GOOD(l2sr_env_reset(env, NULL, NULL));
  read_words(env, L2SR_SLICE, slice);
  for (uint32_t i = 0; i < ENVS; i++) assert_int_equal(slice[i], i % SLICES);
  for (uint32_t t = 0; t < BUDGET; t++) {
    step_by(env, t);
    read_words(env, L2SR_DONE, done);
    read_words(env, L2SR_STEP, step);
    read_floats(env, L2SR_REWARD, reward);
    read_floats(env, L2SR_SSIM, ssim);
    for (int i = 0; i < ENVS; i++) {
      assert_int_equal(done[i], t + 1 == BUDGET);
      assert_int_equal(step[i], t + 1);
      assert_true(t + 1 == BUDGET ? reward[i] > 0.1f && reward[i] == ssim[i]
                                  : reward[i] == 0 && isnan(ssim[i]));
    }
  }
  GOOD(l2sr_env_read(env, L2SR_ACQUIRED, mask, sizeof mask));
  GOOD(l2sr_env_read(env, L2SR_FREE, open, sizeof open));
  for (int i = 0; i < ENVS; i++) {
    int count = 0;
    for (int a = 0; a < N; a++) {
      count += mask[i][a];
      assert_int_equal(open[i][a], !mask[i][a]);
    }
    assert_int_equal(count, INITIAL + BUDGET);
  }
  GOOD(l2sr_env_close(env));
}

/* All lines acquired: the image itself. */
static void all_lines_are_the_image(void **state) {
  static float image[ENVS][N][N], target[ENVS][N][N];
  static const char *const all[] = {"data.size=32", "acquisition.initial_lines=2", "acquisition.budget=30"};
  struct l2sr_config config = config_of();
  float ssim[ENVS];
  (void)state;
  config.overrides = all;
  config.override_count = 3;
  l2sr_env *env = open_by(&config);
  GOOD(l2sr_env_reset(env, NULL, NULL));
  for (int t = 0; t < N - INITIAL; t++) {
    GOOD(l2sr_env_decide(env, "random"));
    GOOD(l2sr_env_step(env, NULL));
  }
  GOOD(l2sr_env_read(env, L2SR_RECONSTRUCTION, image, sizeof image));
  GOOD(l2sr_env_read(env, L2SR_TARGET, target, sizeof target));
  for (int i = 0; i < ENVS; i++)
    for (int y = 0; y < N; y++)
      for (int x = 0; x < N; x++) {
        assert_true(fabsf(image[i][y][x] - images[i % SLICES][y][x]) < 1e-4f);
        assert_true(fabsf(target[i][y][x] - images[i % SLICES][y][x]) < 1e-4f);
      }
  read_floats(env, L2SR_SSIM, ssim);
  for (int i = 0; i < ENVS; i++) assert_true(ssim[i] > 0.999f);
  GOOD(l2sr_env_close(env));
}

static void a_mask_resets_some(void **state) {
  static const uint8_t some[ENVS] = {0, 1, 0, 0, 1, 0};
  uint32_t scan[ENVS], step[ENVS];
  l2sr_env *env = open_env();
  (void)state;
  REFUSED(L2SR_WRONG_CALL, "no scan has begun", l2sr_env_reset(env, some, NULL));
  GOOD(l2sr_env_reset(env, NULL, NULL));
  step_by(env, 0);
  GOOD(l2sr_env_reset(env, some, NULL));
  read_words(env, L2SR_SCAN, scan);
  read_words(env, L2SR_STEP, step);
  for (uint32_t i = 0; i < ENVS; i++) {
    assert_int_equal(scan[i], some[i] ? i + ENVS : i);
    assert_int_equal(step[i], !some[i]);
  }
  GOOD(l2sr_env_close(env));
}

static void play(l2sr_env *env, uint32_t seed, uint32_t actions[BUDGET][ENVS]) {
  GOOD(l2sr_env_reset(env, NULL, &seed));
  for (int t = 0; t < BUDGET; t++) {
    GOOD(l2sr_env_decide(env, "random"));
    GOOD(l2sr_env_step(env, NULL));
    read_words(env, L2SR_ACTION, actions[t]);
  }
}

static void a_seed_gives_the_same_scans(void **state) {
  uint32_t first[BUDGET][ENVS], second[BUDGET][ENVS], third[BUDGET][ENVS];
  struct l2sr_facts facts = {.bytes = sizeof facts};
  l2sr_env *env = open_env();
  (void)state;
  play(env, 7, first);
  play(env, 8, second);
  play(env, 7, third);
  assert_memory_equal(first, third, sizeof first);
  assert_memory_not_equal(first, second, sizeof first);
  GOOD(l2sr_env_facts(env, &facts));
  assert_int_equal(facts.seed, 7);
  GOOD(l2sr_env_close(env));
}

/* ---- ends of scans ------------------------------------------------------------------------------------- */

static void ended_scans_wait_for_the_program(void **state) {
  l2sr_env *env = open_env();
  (void)state;
  GOOD(l2sr_env_reset(env, NULL, NULL));
  for (uint32_t t = 0; t < BUDGET; t++) step_by(env, t);
  GOOD(l2sr_env_decide(env, "random"));
  REFUSED(L2SR_WRONG_CALL, "environment 0 has ended", l2sr_env_step(env, NULL));
  GOOD(l2sr_env_close(env));
}

/* In the same step: what is left is of the ended scans, what is observed of the next ones. */
static void ended_scans_begin_in_the_same_step(void **state) {
  static float last[ENVS][N][N], start[ENVS][N][N], now[ENVS][N][N];
  struct l2sr_config config = config_of();
  uint32_t scan[ENVS], step[ENVS], done[ENVS];
  uint8_t open[ENVS][N];
  float ssim[ENVS], reward[ENVS];
  (void)state;
  l2sr_env *plain = open_by(&config);
  config.autoreset = L2SR_RESET_SAME_STEP;
  l2sr_env *env = open_by(&config);
  GOOD(l2sr_env_reset(env, NULL, NULL));
  GOOD(l2sr_env_reset(plain, NULL, NULL));
  GOOD(l2sr_env_read(env, L2SR_FINAL_OBSERVATION, now, sizeof now)); /* it exists from here on */
  GOOD(l2sr_env_read(env, L2SR_FINAL_FREE, open, sizeof open));
  for (uint32_t t = 0; t < BUDGET; t++) {
    step_by(env, t);
    step_by(plain, t);
  }
  GOOD(l2sr_env_read(plain, L2SR_OBSERVATION, last, sizeof last));
  GOOD(l2sr_env_read(env, L2SR_FINAL_OBSERVATION, now, sizeof now));
  assert_memory_equal(last, now, sizeof now);
  GOOD(l2sr_env_read(env, L2SR_FINAL_FREE, open, sizeof open));
  for (int a = 0; a < BUDGET; a++) assert_int_equal(open[0][a], 0);
  read_words(env, L2SR_SCAN, scan);
  read_words(env, L2SR_STEP, step);
  read_words(env, L2SR_DONE, done);
  read_floats(env, L2SR_SSIM, ssim);
  read_floats(env, L2SR_REWARD, reward);
  for (uint32_t i = 0; i < ENVS; i++) {
    assert_int_equal(scan[i], i + ENVS);
    assert_int_equal(step[i], 0);
    assert_int_equal(done[i], 1);
    assert_true(ssim[i] == reward[i] && reward[i] > 0);
  }
  GOOD(l2sr_env_reset(plain, NULL, NULL));
  GOOD(l2sr_env_read(plain, L2SR_OBSERVATION, start, sizeof start));
  GOOD(l2sr_env_read(env, L2SR_OBSERVATION, now, sizeof now));
  assert_memory_equal(start, now, sizeof now);
  step_by(env, 0);
  read_words(env, L2SR_DONE, done);
  for (int i = 0; i < ENVS; i++) assert_int_equal(done[i], 0);
  GOOD(l2sr_env_close(env));
  GOOD(l2sr_env_close(plain));
}

static void ended_scans_begin_in_the_next_step(void **state) {
  static const uint8_t some[ENVS] = {1, 0, 0, 1, 0, 0};
  struct l2sr_config config = config_of();
  uint32_t scan[ENVS], step[ENVS], done[ENVS];
  float reward[ENVS];
  (void)state;
  config.autoreset = L2SR_RESET_NEXT_STEP;
  l2sr_env *env = open_by(&config);
  GOOD(l2sr_env_reset(env, NULL, NULL));
  step_by(env, 0);
  GOOD(l2sr_env_reset(env, some, NULL)); /* these are a step behind */
  for (uint32_t t = 1; t < BUDGET; t++) step_by(env, t);
  step_by(env, BUDGET);
  read_words(env, L2SR_SCAN, scan);
  read_words(env, L2SR_STEP, step);
  read_words(env, L2SR_DONE, done);
  read_floats(env, L2SR_REWARD, reward);
  for (uint32_t i = 0; i < ENVS; i++) {
    assert_int_equal(scan[i], i + ENVS);
    assert_int_equal(step[i], some[i] ? BUDGET : 0);
    assert_int_equal(done[i], some[i]);
    assert_true(some[i] ? reward[i] > 0 : reward[i] == 0);
  }
  GOOD(l2sr_env_close(env));
}

/* ---- rewards ------------------------------------------------------------------------------------------- */

/* Dense rewards sum up to the gain over the initial image, whatever resets the scan. */
static void sum_rewards(const char *form, enum l2sr_autoreset autoreset, float sums[ENVS]) {
  const char *all[8];
  struct l2sr_config config = config_of();
  float reward[ENVS];
  memcpy(all, overrides, sizeof overrides);
  all[config.override_count++] = form;
  config.overrides = all;
  config.autoreset = autoreset;
  l2sr_env *env = open_by(&config);
  GOOD(l2sr_env_reset(env, NULL, NULL));
  for (int scan = 0; scan < 2; scan++) {
    memset(sums, 0, sizeof(float) * ENVS);
    for (uint32_t t = 0; t < BUDGET; t++) {
      step_by(env, t);
      read_floats(env, L2SR_REWARD, reward);
      for (int i = 0; i < ENVS; i++) sums[i] += reward[i];
    }
    if (autoreset == L2SR_RESET_DISABLED) GOOD(l2sr_env_reset(env, NULL, NULL));
    if (autoreset == L2SR_RESET_NEXT_STEP) step_by(env, 0);
  }
  GOOD(l2sr_env_close(env));
}

static void rewards_are_of_their_form(void **state) {
  float sparse[ENVS], dense[ENVS], compat[ENVS];
  (void)state;
  for (int autoreset = L2SR_RESET_DISABLED; autoreset <= L2SR_RESET_NEXT_STEP; autoreset++) {
    sum_rewards("reward.form=sparse", (enum l2sr_autoreset)autoreset, sparse);
    sum_rewards("reward.form=dense", (enum l2sr_autoreset)autoreset, dense);
    sum_rewards("reward.form=compat", (enum l2sr_autoreset)autoreset, compat);
    for (int i = 0; i < ENVS; i++) {
      assert_true(fabsf(dense[i] - compat[i]) < 1e-5f);
      assert_true(sparse[i] > dense[i] + 0.05f);
    }
  }
}

static void every_step_is_scored_where_asked(void **state) {
  struct l2sr_config config = config_of();
  float ssim[ENVS], psnr[ENVS], nmse[ENVS];
  (void)state;
  config.scoring = L2SR_SCORE_EVERY_STEP;
  config.metrics = "psnr";
  l2sr_env *env = open_by(&config);
  GOOD(l2sr_env_reset(env, NULL, NULL));
  step_by(env, 0);
  read_floats(env, L2SR_SSIM, ssim);
  read_floats(env, L2SR_PSNR, psnr);
  for (int i = 0; i < ENVS; i++) assert_true(ssim[i] > 0 && psnr[i] > 1);
  REFUSED(L2SR_WRONG_USAGE, "no array ssim_uniform",
          l2sr_env_read(env, L2SR_SSIM_UNIFORM, nmse, sizeof nmse));
  GOOD(l2sr_env_close(env));
}

static void nothing_is_scored_where_asked(void **state) {
  static float image[ENVS][N][N];
  struct l2sr_config config = config_of();
  float reward[ENVS];
  (void)state;
  config.scoring = L2SR_SCORE_NEVER;
  config.autoreset = L2SR_RESET_SAME_STEP;
  l2sr_env *env = open_by(&config);
  GOOD(l2sr_env_reset(env, NULL, NULL));
  for (uint32_t t = 0; t < BUDGET; t++) step_by(env, t);
  read_floats(env, L2SR_REWARD, reward);
  for (int i = 0; i < ENVS; i++) assert_true(reward[i] == 0);
  REFUSED(L2SR_WRONG_USAGE, "scoring is never", l2sr_env_read(env, L2SR_SSIM, reward, sizeof reward));
  REFUSED(L2SR_WRONG_USAGE, "scoring is never", l2sr_env_score(env));
  GOOD(l2sr_env_reconstruct(env));
  GOOD(l2sr_env_read(env, L2SR_RECONSTRUCTION, image, sizeof image));
  assert_true(image[0][16][16] > 0.1f);
  GOOD(l2sr_env_close(env));
}

/* ---- actions that cannot be taken ---------------------------------------------------------------------- */

static l2sr_env *open_invalid(enum l2sr_invalid invalid, enum l2sr_autoreset autoreset) {
  struct l2sr_config config = config_of();
  config.invalid = invalid;
  config.autoreset = autoreset;
  l2sr_env *env = open_by(&config);
  GOOD(l2sr_env_reset(env, NULL, NULL));
  return env;
}

enum { ARRAY_BYTES = ENVS * N * N * sizeof(float) };

/* Every array that the handle has. */
static void read_all(l2sr_env *env, unsigned char (*arrays)[ARRAY_BYTES]) {
  for (int a = 0; a < L2SR_ARRAYS; a++) {
    struct l2sr_shape shape = {.bytes = sizeof shape};
    if (l2sr_env_shape(env, (enum l2sr_array)a, &shape) == L2SR_GOOD)
      GOOD(l2sr_env_read(env, (enum l2sr_array)a, arrays[a], shape.total));
  }
}

/* But what l2sr_env_send was given, and the reconstruction, which is made anew before a score is dropped. */
static void expect_no_change(l2sr_env *env, unsigned char (*before)[ARRAY_BYTES]) {
  static unsigned char after[L2SR_ARRAYS][ARRAY_BYTES];
  uint32_t actions[ENVS];
  for (int i = 0; i < ENVS; i++) actions[i] = i == 2 ? N : BUDGET + 1;
  read_all(env, before);
  REFUSED(L2SR_WRONG_USAGE, "environment 2 cannot take action 32", l2sr_env_step(env, actions));
  read_all(env, after);
  for (int a = 0; a < L2SR_ARRAYS; a++)
    if (a != L2SR_ACTION && a != L2SR_RECONSTRUCTION && memcmp(before[a], after[a], ARRAY_BYTES)) fail_msg("array %d has changed", a);
}

/* In the first step of a scan, after scores and final observations, and in the last. */
static void a_refused_step_changes_nothing(void **state) {
  static unsigned char before[L2SR_ARRAYS][ARRAY_BYTES];
  struct l2sr_config config = config_of();
  (void)state;
  for (int autoreset = L2SR_RESET_DISABLED; autoreset <= L2SR_RESET_NEXT_STEP; autoreset++)
    for (int scoring = L2SR_SCORE_END; scoring <= L2SR_SCORE_NEVER; scoring++) {
      config.autoreset = (enum l2sr_autoreset)autoreset;
      config.scoring = (enum l2sr_scoring)scoring;
      l2sr_env *env = open_by(&config);
      GOOD(l2sr_env_reset(env, NULL, NULL));
      read_all(env, before); /* arrays are made where they are asked for */
      for (uint32_t t = 0; autoreset != L2SR_RESET_DISABLED && t < BUDGET; t++) step_by(env, t);
      if (autoreset == L2SR_RESET_NEXT_STEP) step_by(env, 0);
      expect_no_change(env, before);
      for (uint32_t t = 0; t < BUDGET - 1; t++) step_by(env, t);
      expect_no_change(env, before);
      step_by(env, BUDGET);
      GOOD(l2sr_env_close(env));
    }
}

static void an_invalid_action_is_named(void **state) {
  uint32_t actions[ENVS] = {0, 1, 2, 3, 4, N}, step[ENVS];
  uint8_t before[ENVS][N], after[ENVS][N];
  (void)state;
  for (int autoreset = L2SR_RESET_DISABLED; autoreset <= L2SR_RESET_NEXT_STEP; autoreset++) {
    l2sr_env *env = open_invalid(L2SR_INVALID_ERROR, (enum l2sr_autoreset)autoreset);
    for (uint32_t t = 0; t < BUDGET - 1; t++) step_by(env, t);
    GOOD(l2sr_env_read(env, L2SR_ACQUIRED, before, sizeof before));
    for (int i = 0; i < ENVS; i++) actions[i] = BUDGET + 1;
    actions[3] = N;
    REFUSED(L2SR_WRONG_USAGE, "environment 3 cannot take action 32: it is none", l2sr_env_step(env, actions));
    actions[3] = 0;
    REFUSED(L2SR_WRONG_USAGE,
            "environment 3 cannot take action 0: it is acquired already; L2SR_FREE has those that are free, and "
            "L2SR_INVALID_MASK lets steps",
            l2sr_env_step(env, actions));
    GOOD(l2sr_env_read(env, L2SR_ACQUIRED, after, sizeof after));
    assert_memory_equal(before, after, sizeof after);
    read_words(env, L2SR_STEP, step);
    for (int i = 0; i < ENVS; i++) assert_int_equal(step[i], BUDGET - 1);
    step_by(env, BUDGET);
    if (autoreset == L2SR_RESET_NEXT_STEP) step_by(env, 0);
    GOOD(l2sr_env_close(env));
  }
}

static void an_invalid_action_is_ignored(void **state) {
  uint8_t mask[ENVS][N];
  uint32_t step[ENVS];
  l2sr_env *env = open_invalid(L2SR_INVALID_IGNORE, L2SR_RESET_DISABLED);
  (void)state;
  for (int t = 0; t < BUDGET; t++) step_by(env, N / 2); /* a given one */
  GOOD(l2sr_env_read(env, L2SR_ACQUIRED, mask, sizeof mask));
  read_words(env, L2SR_STEP, step);
  for (int i = 0; i < ENVS; i++) {
    int count = 0;
    for (int a = 0; a < N; a++) count += mask[i][a];
    assert_int_equal(count, INITIAL);
    assert_int_equal(step[i], BUDGET);
  }
  GOOD(l2sr_env_close(env));
}

/* Whatever is done with those that are acquired. */
static void an_action_out_of_range_is_refused(void **state) {
  uint32_t actions[ENVS] = {0}, step[ENVS];
  (void)state;
  for (int invalid = L2SR_INVALID_ERROR; invalid <= L2SR_INVALID_MASK; invalid++)
    for (int autoreset = L2SR_RESET_DISABLED; autoreset <= L2SR_RESET_NEXT_STEP; autoreset++) {
      l2sr_env *env = open_invalid((enum l2sr_invalid)invalid, (enum l2sr_autoreset)autoreset);
      actions[ENVS - 1] = N;
      REFUSED(L2SR_WRONG_USAGE, "cannot take action 32: it is none", l2sr_env_step(env, actions));
      actions[ENVS - 1] = UINT32_MAX;
      REFUSED(L2SR_WRONG_USAGE, "cannot take action 4294967295: it is none", l2sr_env_step(env, actions));
      read_words(env, L2SR_STEP, step);
      for (int i = 0; i < ENVS; i++) assert_int_equal(step[i], 0);
      for (uint32_t t = 0; t < BUDGET; t++) step_by(env, t);
      if (autoreset == L2SR_RESET_NEXT_STEP) step_by(env, N); /* it takes none: scans begin */
      GOOD(l2sr_env_close(env));
    }
}

/* tests/cuda/test_cuda.c shares arrays by stand-ins for the drivers, tests/python/cuda.py on a card. */
static void cuda_is_of_nvidia(void **state) {
  uint64_t address;
  int device;
  struct l2sr_facts facts = {.bytes = sizeof facts};
  l2sr_env *env = open_env();
  (void)state;
  REFUSED(L2SR_WRONG_CALL, "the address: NULL", l2sr_env_cuda(env, L2SR_REWARD, NULL, &device));
  REFUSED(L2SR_WRONG_CALL, "the device: NULL", l2sr_env_cuda(env, L2SR_REWARD, &address, NULL));
  REFUSED(L2SR_WRONG_USAGE, "no array 99", l2sr_env_cuda(env, (enum l2sr_array)99, &address, &device));
  GOOD(l2sr_env_facts(env, &facts));
  if (!strstr(facts.device, "NVIDIA"))
    REFUSED(L2SR_NO_DEVICE, "no device of NVIDIA's", l2sr_env_cuda(env, L2SR_REWARD, &address, &device));
  GOOD(l2sr_env_reset(env, NULL, NULL));
  GOOD(l2sr_env_close(env));
}

static void an_invalid_action_is_replaced(void **state) {
  uint32_t action[ENVS];
  l2sr_env *env = open_invalid(L2SR_INVALID_MASK, L2SR_RESET_DISABLED);
  (void)state;
  step_by(env, N - 1);
  step_by(env, N - 1);
  read_words(env, L2SR_ACTION, action);
  for (int i = 0; i < ENVS; i++) assert_int_equal(action[i], N - 2);
  GOOD(l2sr_env_close(env));
}

/* ---- arrays -------------------------------------------------------------------------------------------- */

static void shapes_are_told(void **state) {
  struct l2sr_shape shape = {.bytes = sizeof shape};
  l2sr_env *env = open_env();
  (void)state;
  for (int a = 0; a < L2SR_FINAL_OBSERVATION; a++) {
    if (a == L2SR_SSIM_UNIFORM || a == L2SR_PSNR_UNCLAMPED || a == L2SR_MSE) continue;
    GOOD(l2sr_env_shape(env, (enum l2sr_array)a, &shape));
    size_t elements = 1, size = shape.element == L2SR_U8 ? 1 : shape.element == L2SR_F16 ? 2 : 4;
    for (size_t i = 0; i < shape.rank; i++) elements *= shape.extent[i];
    assert_int_equal(shape.extent[0], ENVS);
    assert_int_equal(shape.total, elements * size);
  }
  GOOD(l2sr_env_shape(env, L2SR_OBSERVATION, &shape));
  assert_string_equal(shape.name, "observation");
  assert_int_equal(shape.rank, 3);
  REFUSED(L2SR_WRONG_USAGE, "L2SR_RESET_SAME_STEP", l2sr_env_shape(env, L2SR_FINAL_FREE, &shape));
  REFUSED(L2SR_WRONG_USAGE, "no array", l2sr_env_shape(env, L2SR_ARRAYS, &shape));
  REFUSED(L2SR_WRONG_USAGE, "no array", l2sr_env_shape(env, (enum l2sr_array) - 1, &shape));
  GOOD(l2sr_env_close(env));
}

static void a_pinned_copy_is_renewed(void **state) {
  static float image[ENVS][N][N];
  const void *pinned, *again;
  l2sr_env *env = open_env();
  (void)state;
  GOOD(l2sr_env_pin(env, L2SR_STANDARDISED, &pinned));
  GOOD(l2sr_env_reset(env, NULL, NULL));
  for (uint32_t t = 0; t < 3; t++) {
    GOOD(l2sr_env_read(env, L2SR_STANDARDISED, image, sizeof image));
    assert_memory_equal(pinned, image, sizeof image);
    assert_true(image[0][16][16] >= -6 && image[0][16][16] <= 6 && image[0][3][3] != image[0][16][16]);
    step_by(env, t);
    assert_memory_not_equal(pinned, image, sizeof image);
  }
  GOOD(l2sr_env_pin(env, L2SR_STANDARDISED, &again));
  assert_ptr_equal(pinned, again);
  GOOD(l2sr_env_unpin(env, L2SR_STANDARDISED));
  GOOD(l2sr_env_unpin(env, L2SR_STANDARDISED));
  GOOD(l2sr_env_close(env));
}

static void observations_may_be_halves(void **state) {
  const char *all[8];
  struct l2sr_config config = config_of();
  struct l2sr_shape shape = {.bytes = sizeof shape};
  (void)state;
  memcpy(all, overrides, sizeof overrides);
  all[config.override_count++] = "world.observation=f16";
  config.overrides = all;
  config.autoreset = L2SR_RESET_SAME_STEP;
  l2sr_env *env = open_by(&config);
  GOOD(l2sr_env_shape(env, L2SR_OBSERVATION, &shape));
  assert_int_equal(shape.element, L2SR_F16);
  GOOD(l2sr_env_shape(env, L2SR_FINAL_OBSERVATION, &shape));
  assert_int_equal(shape.total, 2 * ENVS * N * N);
  GOOD(l2sr_env_reset(env, NULL, NULL));
  for (uint32_t t = 0; t < BUDGET; t++) step_by(env, t);
  GOOD(l2sr_env_close(env));
}

/* ---- memory of the program's --------------------------------------------------------------------------- */

static void the_program_gives_context_and_actions(void **state) {
  struct l2sr_config config = config_of();
  cl_context context, its;
  cl_command_queue queue, its_queue;
  cl_platform_id platform;
  cl_device_id device;
  cl_mem observation;
  uint32_t actions[ENVS + 1] = {0, 3, 4, 5, 6, 7, 8}, taken[ENVS];
  static float first[N][N], second[ENVS][N][N];
  (void)state;
  assert_int_equal(clGetPlatformIDs(1, &platform, NULL), CL_SUCCESS);
  assert_int_equal(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), CL_SUCCESS);
  context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
  queue = clCreateCommandQueue(context, device, 0, NULL);
  config.context = context;
  config.queue = queue;
  l2sr_env *env = open_by(&config);
  GOOD(l2sr_env_queue(env, &its, &its_queue));
  assert_true(its == context && its_queue == queue);
  cl_mem memory = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof actions, actions, NULL);
  GOOD(l2sr_env_reset(env, NULL, NULL));
  GOOD(l2sr_env_send_memory(env, memory, sizeof(uint32_t)));
  GOOD(l2sr_env_wait(env));
  read_words(env, L2SR_ACTION, taken);
  assert_memory_equal(taken, actions + 1, sizeof taken);
  GOOD(l2sr_env_memory(env, L2SR_OBSERVATION, &observation));
  assert_int_equal(clEnqueueReadBuffer(queue, observation, CL_TRUE, 0, sizeof first, first, 0, NULL, NULL),
                   CL_SUCCESS);
  GOOD(l2sr_env_read(env, L2SR_OBSERVATION, second, sizeof second));
  assert_memory_equal(first, second[0], sizeof first);
  REFUSED(L2SR_WRONG_CALL, "28 bytes", l2sr_env_send_memory(env, memory, 2 * sizeof(uint32_t)));
  REFUSED(L2SR_WRONG_CALL, "NULL", l2sr_env_send_memory(env, NULL, 0));
  cl_mem own;
  GOOD(l2sr_env_memory(env, L2SR_ACTION, &own));
  GOOD(l2sr_env_decide(env, "random"));
  read_words(env, L2SR_ACTION, actions);
  GOOD(l2sr_env_send_memory(env, own, 0));
  GOOD(l2sr_env_wait(env));
  read_words(env, L2SR_ACTION, taken);
  assert_memory_equal(taken, actions, sizeof taken);
  GOOD(l2sr_env_close(env));
  config.queue = NULL;
  env = open_by(&config);
  GOOD(l2sr_env_close(env));
  clReleaseMemObject(memory);
  clReleaseCommandQueue(queue);
  clReleaseContext(context);
}

/* Arrays that live in the program's buffers hold the same. */
static void arrays_move_into_the_programs_memory(void **state) {
  static const enum l2sr_array arrays[] = {L2SR_OBSERVATION, L2SR_FREE, L2SR_SSIM, L2SR_RECONSTRUCTION,
                                           L2SR_ACQUIRED};
  static unsigned char own[ENVS * N * N * 4], plain[ENVS * N * N * 4];
  struct l2sr_shape shape = {.bytes = sizeof shape};
  struct _cl_context *context;
  cl_mem memory;
  l2sr_env *env = open_env(), *other = open_env();
  (void)state;
  GOOD(l2sr_env_queue(env, &context, NULL));
  GOOD(l2sr_env_reset(env, NULL, NULL));
  GOOD(l2sr_env_reset(other, NULL, NULL));
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
    for (int turn = 0; turn < 2; turn++) {
      GOOD(l2sr_env_shape(env, arrays[i], &shape));
      cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, shape.total + 64, NULL, NULL);
      GOOD(l2sr_env_place(env, arrays[i], buffer));
      GOOD(l2sr_env_memory(env, arrays[i], &memory));
      assert_ptr_equal(memory, buffer);
      clReleaseMemObject(buffer);
    }
  for (uint32_t t = 0; t < BUDGET; t++) {
    step_by(env, t);
    step_by(other, t);
  }
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
    GOOD(l2sr_env_shape(env, arrays[i], &shape));
    GOOD(l2sr_env_read(env, arrays[i], own, shape.total));
    GOOD(l2sr_env_read(other, arrays[i], plain, shape.total));
    assert_memory_equal(own, plain, shape.total);
  }
  REFUSED(L2SR_WRONG_CALL, "is NULL", l2sr_env_place(env, L2SR_STEP, NULL));
  GOOD(l2sr_env_memory(other, L2SR_STEP, &memory));
  REFUSED(L2SR_WRONG_CALL, "another context", l2sr_env_place(env, L2SR_STEP, memory));
  cl_mem small = clCreateBuffer(context, CL_MEM_READ_WRITE, 4, NULL, NULL),
         only = clCreateBuffer(context, CL_MEM_READ_ONLY, 64, NULL, NULL);
  REFUSED(L2SR_WRONG_CALL, "4 bytes", l2sr_env_place(env, L2SR_STEP, small));
  REFUSED(L2SR_WRONG_CALL, "READ_ONLY", l2sr_env_place(env, L2SR_STEP, only));
  GOOD(l2sr_env_memory(env, L2SR_SLICE, &memory));
  REFUSED(L2SR_WRONG_CALL, "is of array slice", l2sr_env_place(env, L2SR_STEP, memory));
  GOOD(l2sr_env_place(env, L2SR_SLICE, memory)); /* it is there already */
  cl_buffer_region region = {0, sizeof(uint32_t) * ENVS};
  GOOD(l2sr_env_memory(env, L2SR_ACTION, &memory));
  cl_mem part = clCreateSubBuffer(memory, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, NULL);
  REFUSED(L2SR_WRONG_CALL, "is of array action", l2sr_env_place(env, L2SR_REWARD, part));
  GOOD(l2sr_env_reset(env, NULL, NULL));
  REFUSED(L2SR_WRONG_CALL, "a part of array action", l2sr_env_send_memory(env, part, 0));
  clReleaseMemObject(part);
  clReleaseMemObject(small);
  clReleaseMemObject(only);
  GOOD(l2sr_env_close(env));
  GOOD(l2sr_env_close(other));
}

/* ---- what steps leave as it is ------------------------------------------------------------------------- */

struct copies {
  l2sr_env *env, *fresh; /* fresh: it makes every array anew from a state */
  const void *pinned[L2SR_ARRAYS];
  size_t total[L2SR_ARRAYS];
};

static void open_copies(struct copies *copies, const struct l2sr_config *config) {
  *copies = (struct copies){.env = open_by(config), .fresh = open_by(config)};
  for (int a = 0; a < L2SR_ARRAYS; a++) {
    struct l2sr_shape shape = {.bytes = sizeof shape};
    if (l2sr_env_shape(copies->env, (enum l2sr_array)a, &shape) != L2SR_GOOD) continue;
    GOOD(l2sr_env_pin(copies->env, (enum l2sr_array)a, &copies->pinned[a]));
    copies->total[a] = shape.total;
  }
}

/* Copies are what the device has, and what is derived is as if it were made now. */
static void compare_copies(const struct copies *copies) {
  static const enum l2sr_array derived[] = {L2SR_STANDARDISED, L2SR_FREE, L2SR_TARGET};
  static unsigned char values[sizeof(float) * ENVS * N * N], state[1 << 16];
  size_t count;
  for (int a = 0; a < L2SR_ARRAYS; a++) {
    if (!copies->pinned[a]) continue;
    GOOD(l2sr_env_read(copies->env, (enum l2sr_array)a, values, copies->total[a]));
    if (memcmp(values, copies->pinned[a], copies->total[a]))
      fail_msg("the copy of array %d is an older one", a);
  }
  GOOD(l2sr_env_save(copies->env, state, sizeof state, &count));
  GOOD(l2sr_env_restore(copies->fresh, state, count));
  for (size_t i = 0; i < sizeof derived / sizeof *derived; i++) {
    GOOD(l2sr_env_read(copies->fresh, derived[i], values, copies->total[derived[i]]));
    if (memcmp(values, copies->pinned[derived[i]], copies->total[derived[i]]))
      fail_msg("array %d is an older one", (int)derived[i]);
  }
}

static void refuse_one(const struct copies *copies) {
  uint32_t actions[ENVS] = {N, N, N, N, N, N};
  REFUSED(L2SR_WRONG_USAGE, "cannot take action 32", l2sr_env_step(copies->env, actions));
  compare_copies(copies);
}

/* Scans that have ended begin anew, and once one that has not. */
static void reset_some(const struct copies *copies, enum l2sr_autoreset autoreset, bool another) {
  uint32_t done[ENVS];
  uint8_t mask[ENVS] = {0};
  bool any = another;
  read_words(copies->env, L2SR_DONE, done);
  for (int i = 0; i < ENVS && autoreset == L2SR_RESET_DISABLED; i++) any |= mask[i] = done[i] != 0;
  mask[2] |= another;
  if (any) GOOD(l2sr_env_reset(copies->env, mask, NULL));
  compare_copies(copies);
}

static void walk(const struct l2sr_config *config) {
  static const char *const samplers[] = {"random", "low_bias", "lowest_index", "poisson_disc"};
  struct copies copies;
  open_copies(&copies, config);
  GOOD(l2sr_env_reset(copies.env, NULL, NULL));
  compare_copies(&copies);
  for (uint32_t t = 0; t < 3 * BUDGET + 2; t++) {
    if (t % 4 == 1) refuse_one(&copies);
    GOOD(l2sr_env_decide(copies.env, samplers[t % 4]));
    GOOD(l2sr_env_step(copies.env, NULL));
    compare_copies(&copies);
    if (t % 7 == 3 && config->scoring != L2SR_SCORE_NEVER) GOOD(l2sr_env_score(copies.env));
    if (t % 5 == 2) GOOD(l2sr_env_reconstruct(copies.env));
    reset_some(&copies, config->autoreset, t == 1 || t == 9);
  }
  GOOD(l2sr_env_close(copies.env));
  GOOD(l2sr_env_close(copies.fresh));
}

static void no_array_is_older_than_the_step(void **state) {
  const char *all[8];
  struct l2sr_config config = config_of();
  (void)state;
  memcpy(all, overrides, sizeof overrides);
  config.overrides = all;
  for (int autoreset = L2SR_RESET_DISABLED; autoreset <= L2SR_RESET_NEXT_STEP; autoreset++)
    for (int scoring = L2SR_SCORE_END; scoring <= L2SR_SCORE_NEVER; scoring++) {
      all[sizeof overrides / sizeof *overrides] = scoring ? "reward.form=sparse" : "reward.form=compat";
      config.override_count = sizeof overrides / sizeof *overrides + 1;
      config.autoreset = (enum l2sr_autoreset)autoreset;
      config.scoring = (enum l2sr_scoring)scoring;
      walk(&config);
    }
}

/* ---- steps without waiting ----------------------------------------------------------------------------- */

static void compare_all(l2sr_env *env, l2sr_env *other) {
  static unsigned char values[2][sizeof(float) * ENVS * N * N];
  for (int a = 0; a < L2SR_FINAL_OBSERVATION; a++) {
    struct l2sr_shape shape = {.bytes = sizeof shape};
    if (l2sr_env_shape(env, (enum l2sr_array)a, &shape) != L2SR_GOOD) continue;
    GOOD(l2sr_env_read(env, (enum l2sr_array)a, values[0], shape.total));
    GOOD(l2sr_env_read(other, (enum l2sr_array)a, values[1], shape.total));
    if (memcmp(values[0], values[1], shape.total))
      fail_msg("%s is another where steps are played", shape.name);
  }
}

static void play_both(l2sr_env *env, l2sr_env *other, const char *sampler, uint32_t steps) {
  GOOD(l2sr_env_play(env, sampler, steps));
  REFUSED(L2SR_WRONG_CALL, "under way", l2sr_env_play(env, sampler, steps));
  GOOD(l2sr_env_wait(env));
  for (uint32_t t = 0; t < steps; t++) {
    GOOD(l2sr_env_decide(other, sampler));
    GOOD(l2sr_env_step(other, NULL));
  }
  compare_all(env, other);
}

static void steps_are_played_without_waiting(void **state) {
  static const uint8_t some[ENVS] = {0, 1, 0, 0, 1, 0};
  struct l2sr_config config = config_of();
  (void)state;
  for (int autoreset = L2SR_RESET_DISABLED; autoreset <= L2SR_RESET_NEXT_STEP; autoreset++) {
    config.autoreset = (enum l2sr_autoreset)autoreset;
    l2sr_env *env = open_by(&config), *other = open_by(&config);
    REFUSED(L2SR_WRONG_CALL, "no scan has begun", l2sr_env_play(env, "random", 1));
    GOOD(l2sr_env_reset(env, NULL, NULL));
    GOOD(l2sr_env_reset(other, NULL, NULL));
    REFUSED(L2SR_WRONG_USAGE, "0 steps", l2sr_env_play(env, "random", 0));
    REFUSED(L2SR_WRONG_CALL, "sampler is NULL", l2sr_env_play(env, NULL, 1));
    play_both(env, other, "random", 2);
    GOOD(l2sr_env_reset(env, some, NULL));
    GOOD(l2sr_env_reset(other, some, NULL));
    if (autoreset == L2SR_RESET_DISABLED)
      REFUSED(L2SR_WRONG_CALL, "environment 0 ends after 4 more", l2sr_env_play(env, "random", 5));
    play_both(env, other, "lowest_index", BUDGET - 2);
    if (autoreset == L2SR_RESET_DISABLED)
      REFUSED(L2SR_WRONG_CALL, "environment 0 has ended", l2sr_env_play(env, "random", UINT32_MAX));
    else
      play_both(env, other, "variable_density", 2 * BUDGET + 3);
    GOOD(l2sr_env_close(env));
    GOOD(l2sr_env_close(other));
  }
}

/* What is under way takes memory: many steps are not all of it at once. */
static void many_steps_wait_for_those_before(void **state) {
  struct l2sr_config config = config_of();
  struct timespec time[3];
  (void)state;
  config.autoreset = L2SR_RESET_SAME_STEP;
  l2sr_env *env = open_by(&config);
  GOOD(l2sr_env_reset(env, NULL, NULL));
  clock_gettime(CLOCK_MONOTONIC, &time[0]);
  GOOD(l2sr_env_play(env, "random", 4096));
  clock_gettime(CLOCK_MONOTONIC, &time[1]);
  GOOD(l2sr_env_wait(env));
  clock_gettime(CLOCK_MONOTONIC, &time[2]);
  double seconds[2];
  for (int i = 0; i < 2; i++)
    seconds[i] = (double)(time[i + 1].tv_sec - time[i].tv_sec) +
                 1e-9 * (double)(time[i + 1].tv_nsec - time[i].tv_nsec);
  if (seconds[0] < seconds[1])
    fail_msg("4096 steps were under way: %g s to start them, %g s to wait", seconds[0], seconds[1]);
  GOOD(l2sr_env_close(env));
}

/* ---- state --------------------------------------------------------------------------------------------- */

static void scans_go_on_from_a_state(void **state) {
  uint32_t first[BUDGET][ENVS], second[BUDGET][ENVS];
  static float image[2][ENVS][N][N];
  struct l2sr_config config = config_of();
  unsigned char *bytes;
  size_t count, again;
  (void)state;
  config.autoreset = L2SR_RESET_SAME_STEP;
  l2sr_env *env = open_by(&config), *other = open_by(&config);
  uint32_t seed = 11;
  GOOD(l2sr_env_reset(env, NULL, &seed));
  for (int t = 0; t < 4; t++) {
    GOOD(l2sr_env_decide(env, "random"));
    GOOD(l2sr_env_step(env, NULL));
  }
  GOOD(l2sr_env_save(env, NULL, 0, &count));
  bytes = malloc(count + 1);
  REFUSED(L2SR_WRONG_CALL, "bytes", l2sr_env_save(env, bytes, count - 1, &again));
  GOOD(l2sr_env_save(env, bytes + 1, count, &again));
  assert_int_equal(count, again);
  GOOD(l2sr_env_restore(other, bytes + 1, count));
  for (int e = 0; e < 2; e++)
    for (int t = 0; t < BUDGET; t++) {
      GOOD(l2sr_env_decide(e ? other : env, "random"));
      GOOD(l2sr_env_step(e ? other : env, NULL));
      read_words(e ? other : env, L2SR_ACTION, e ? second[t] : first[t]);
    }
  assert_memory_equal(first, second, sizeof first);
  GOOD(l2sr_env_read(env, L2SR_OBSERVATION, image[0], sizeof image[0]));
  GOOD(l2sr_env_read(other, L2SR_OBSERVATION, image[1], sizeof image[1]));
  assert_memory_equal(image[0], image[1], sizeof image[0]);
  bytes[count / 2] ^= 4;
  REFUSED(L2SR_BAD_FILE, "damaged", l2sr_env_restore(other, bytes + 1, count));
  REFUSED(L2SR_BAD_FILE, "damaged", l2sr_env_restore(other, bytes + 1, count - 1));
  REFUSED(L2SR_BAD_FILE, "damaged", l2sr_env_restore(other, bytes + 1, SIZE_MAX));
  REFUSED(L2SR_BAD_FILE, "no state", l2sr_env_restore(other, bytes + 1, 3));
  bytes[1] ^= 4;
  REFUSED(L2SR_BAD_FILE, "no state", l2sr_env_restore(other, bytes + 1, count));
  free(bytes);
  GOOD(l2sr_env_close(env));
  GOOD(l2sr_env_close(other));
}

static void a_state_is_of_its_scene(void **state) {
  struct l2sr_config config = config_of();
  static unsigned char bytes[1 << 16];
  size_t count;
  (void)state;
  l2sr_env *env = open_by(&config);
  GOOD(l2sr_env_save(env, bytes, sizeof bytes, &count));
  config.envs = ENVS + 1;
  l2sr_env *other = open_by(&config);
  REFUSED(L2SR_WRONG_USAGE, "environments 6, and the handle 7", l2sr_env_restore(other, bytes, count));
  GOOD(l2sr_env_close(env));
  GOOD(l2sr_env_close(other));
}

static size_t resident_bytes(void) {
  unsigned long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  assert_non_null(file);
  assert_int_equal(fscanf(file, "%*u %lu", &pages), 1);
  fclose(file);
  return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* Of one handle after the other; L2SR_HANDLES says how many. Drivers keep a little of each, and much of the
 * first. */
static void handles_give_their_memory_back(void **state) {
  enum { FIRST = 10, EACH = 64 << 10 };
  const char *wanted = getenv("L2SR_HANDLES");
  long handles = wanted ? atol(wanted) : 30;
  size_t before = 0;
  (void)state;
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
  skip(); /* a sanitizer keeps what is freed, and where it was */
#endif
  for (long k = 0; k < FIRST + handles; k++) {
    if (k == FIRST) before = resident_bytes();
    l2sr_env *env = open_env();
    GOOD(l2sr_env_reset(env, NULL, NULL));
    GOOD(l2sr_env_play(env, "random", BUDGET));
    GOOD(l2sr_env_wait(env));
    GOOD(l2sr_env_close(env));
  }
  size_t after = resident_bytes();
  if (after > before + (size_t)handles * EACH)
    fail_msg("%zu KiB before, %zu KiB after %ld handles", before >> 10, after >> 10, handles);
}

static void pictures_are_drawn(void **state) {
  char path[] = "/tmp/l2sr_public_XXXXXX";
  unsigned char head[24];
  l2sr_env *env = open_env();
  (void)state;
  close(mkstemp(path));
  GOOD(l2sr_env_reset(env, NULL, NULL));
  static const enum l2sr_array arrays[] = {L2SR_OBSERVATION, L2SR_STANDARDISED, L2SR_ACQUIRED, L2SR_TARGET};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
    GOOD(l2sr_env_draw(env, arrays[i], 1, path));
    FILE *file = fopen(path, "rb");
    assert_int_equal(fread(head, 1, sizeof head, file), sizeof head);
    fclose(file);
    assert_memory_equal(head, "\x89PNG\r\n\x1a\n", 8);
    assert_int_equal(head[19], N);
  }
  REFUSED(L2SR_WRONG_USAGE, "one number a row", l2sr_env_draw(env, L2SR_REWARD, 1, path));
  REFUSED(L2SR_WRONG_USAGE, "no environment 6", l2sr_env_draw(env, L2SR_TARGET, ENVS, path));
  REFUSED(L2SR_BAD_FILE, "/nowhere", l2sr_env_draw(env, L2SR_TARGET, 0, "/nowhere/at/all.png"));
  GOOD(l2sr_env_close(env));
  unlink(path);
}

/* ---- slices in memory ---------------------------------------------------------------------------------- */

/* k-space of two coils with half of the image's power each is the image, by root-sum-of-squares. */
static void kspace_of_coils_is_combined(void **state) {
  enum { COILS = 2 };
  static float kspace[1][COILS][N][N][2], target[ENVS][N][N];
  struct l2sr_slices own = {
      .bytes = sizeof own, .values = &kspace[0][0][0][0][0], .count = 1, .coils = COILS, .height = N, .width = N};
  struct l2sr_config config = config_of();
  (void)state;
  for (int v = 0; v < N; v++)
    for (int u = 0; u < N; u++) {
      double re = 0, im = 0;
      for (int y = 0; y < N; y++)
        for (int x = 0; x < N; x++) {
          double turn =
              -2 * M_PI * ((double)(y - N / 2) * (v - N / 2) + (double)(x - N / 2) * (u - N / 2)) / N;
          re += images[0][y][x] * cos(turn) / N;
          im += images[0][y][x] * sin(turn) / N;
        }
      for (int c = 0; c < COILS; c++) {
        kspace[0][c][v][u][0] = (float)(re * M_SQRT1_2);
        kspace[0][c][v][u][1] = (float)(im * M_SQRT1_2);
      }
    }
  config.slices = &own;
  l2sr_env *env = open_by(&config);
  GOOD(l2sr_env_reset(env, NULL, NULL));
  GOOD(l2sr_env_read(env, L2SR_TARGET, target, sizeof target));
  for (int y = 0; y < N; y++)
    for (int x = 0; x < N; x++) assert_true(fabsf(target[0][y][x] - images[0][y][x]) < 1e-3f);
  GOOD(l2sr_env_close(env));
}

static void bad_slices_are_refused(void **state) {
  struct l2sr_config config = config_of();
  struct l2sr_slices own = slices;
  l2sr_env *env;
  (void)state;
  config.slices = &own;
  own.count = 0;
  REFUSED(L2SR_WRONG_USAGE, "0 slices in memory", l2sr_env_open(&config, &env));
  own = slices;
  own.values = NULL;
  REFUSED(L2SR_WRONG_USAGE, "NULL", l2sr_env_open(&config, &env));
  own = slices;
  own.height = N / 2;
  REFUSED(L2SR_BAD_FILE, "smaller than data.size", l2sr_env_open(&config, &env));
  own = slices;
  own.coils = 1 << 20;
  REFUSED(L2SR_WRONG_USAGE, "coils", l2sr_env_open(&config, &env));
  assert_null(env);
}

/* ---- what is refused ----------------------------------------------------------------------------------- */

static void configs_are_checked(void **state) {
  struct l2sr_config config = config_of();
  l2sr_env *env;
  (void)state;
  REFUSED(L2SR_WRONG_CALL, "NULL", l2sr_env_open(NULL, &env));
  REFUSED(L2SR_WRONG_CALL, "NULL", l2sr_env_open(&config, NULL));
  config.bytes = 0;
  REFUSED(L2SR_WRONG_CALL, "sizeof(struct l2sr_config)", l2sr_env_open(&config, &env));
  config = config_of();
  config.scene = "no_such_scene";
  REFUSED(L2SR_BAD_FILE, "no scene no_such_scene", l2sr_env_open(&config, &env));
  config = config_of();
  config.text = "data: {sise: 3}";
  REFUSED(L2SR_WRONG_USAGE, "the scene's text:1", l2sr_env_open(&config, &env));
  config = config_of();
  config.autoreset = (enum l2sr_autoreset)9;
  REFUSED(L2SR_WRONG_USAGE, "autoreset 9", l2sr_env_open(&config, &env));
  config = config_of();
  config.envs = 100000;
  REFUSED(L2SR_WRONG_USAGE, "world.envs", l2sr_env_open(&config, &env));
  config = config_of();
  config.device = "no such device";
  REFUSED(L2SR_NO_DEVICE, "no such device", l2sr_env_open(&config, &env));
  config = config_of();
  config.slices = NULL;
  REFUSED(L2SR_WRONG_USAGE, "no slices", l2sr_env_open(&config, &env));
  config = config_of();
  config.metrics = "ssim,psrn";
  REFUSED(L2SR_WRONG_USAGE, "psnr", l2sr_env_open(&config, &env));
  config = config_of();
  config.reconstructor = "/no/such/file.h5";
  REFUSED(L2SR_BAD_FILE, "/no/such/file.h5", l2sr_env_open(&config, &env));
  config = config_of();
  config.text = "acquisition: {geometry: points}";
  config.override_count = 1;
  REFUSED(L2SR_WRONG_USAGE, "points", l2sr_env_open(&config, &env));
}

static void handles_are_checked(void **state) {
  uint32_t word[ENVS] = {0};
  l2sr_env *env = open_env(), *closed = env;
  (void)state;
  REFUSED(L2SR_WRONG_CALL, "the handle is NULL", l2sr_env_reset(NULL, NULL, NULL));
  REFUSED(L2SR_WRONG_CALL, "no open handle", l2sr_env_reset((l2sr_env *)word, NULL, NULL));
  REFUSED(L2SR_WRONG_CALL, "no scan has begun", l2sr_env_step(env, word));
  REFUSED(L2SR_WRONG_CALL, "no step is under way", l2sr_env_wait(env));
  GOOD(l2sr_env_reset(env, NULL, NULL));
  REFUSED(L2SR_WRONG_CALL, "there are no actions", l2sr_env_step(env, NULL));
  REFUSED(L2SR_WRONG_CALL, "sampler is NULL", l2sr_env_decide(env, NULL));
  REFUSED(L2SR_WRONG_USAGE, "no heuristic", l2sr_env_decide(env, "oracle"));
  REFUSED(L2SR_WRONG_USAGE, "needs a network", l2sr_env_decide(env, "policy"));
  REFUSED(L2SR_WRONG_USAGE, "random", l2sr_env_decide(env, "randon"));
  GOOD(l2sr_env_send(env, word));
  REFUSED(L2SR_WRONG_CALL, "a step is under way", l2sr_env_send(env, word));
  REFUSED(L2SR_WRONG_CALL, "a step is under way", l2sr_env_read(env, L2SR_STEP, word, sizeof word));
  GOOD(l2sr_env_wait(env));
  REFUSED(L2SR_WRONG_CALL, "24 bytes", l2sr_env_read(env, L2SR_STEP, word, sizeof word - 1));
  REFUSED(L2SR_WRONG_CALL, "NULL", l2sr_env_read(env, L2SR_STEP, NULL, sizeof word));
  GOOD(l2sr_env_send(env, (const uint32_t[ENVS]){1, 1, 1, 1, 1, 1}));
  GOOD(l2sr_env_close(env));
  env = open_env();
  assert_ptr_not_equal(env, closed);
  REFUSED(L2SR_WRONG_CALL, "it was closed", l2sr_env_close(closed));
  GOOD(l2sr_env_close(env));
}

static void *call_meanwhile(void *env) {
  size_t *refused = malloc(sizeof *refused);
  *refused = 0;
  for (int i = 0; i < 200; i++) {
    enum l2sr_code code = l2sr_env_reset(env, NULL, NULL);
    if (code != L2SR_GOOD && code != L2SR_WRONG_CALL) fail_msg("%s", l2sr_last_error());
    *refused += code != L2SR_GOOD;
  }
  return refused;
}

static void a_handle_does_one_call_at_a_time(void **state) {
  pthread_t threads[3];
  size_t refused = 0;
  void *some;
  l2sr_env *env = open_env();
  (void)state;
  for (int i = 0; i < 3; i++) assert_int_equal(pthread_create(&threads[i], NULL, call_meanwhile, env), 0);
  for (int i = 0; i < 3; i++) {
    pthread_join(threads[i], &some);
    refused += *(size_t *)some;
    free(some);
  }
  assert_true(refused > 0 && refused < 600);
  GOOD(l2sr_env_reset(env, NULL, NULL));
  GOOD(l2sr_env_close(env));
}

/* A callback may call the library, on another handle than the one at work. */
struct caller {
  l2sr_env *other;
  int lines, good;
};

static void call_back(enum l2sr_level level, const char *text, void *context) {
  struct caller *caller = context;
  struct l2sr_facts facts = {.bytes = sizeof facts};
  (void)level, (void)text;
  caller->lines++;
  caller->good += l2sr_env_facts(caller->other, &facts) == L2SR_GOOD;
}

static void the_log_is_told_and_may_call(void **state) {
  struct l2sr_config config = config_of();
  struct caller caller = {.other = open_env()};
  const char *all[8];
  l2sr_table *table;
  (void)state;
  l2sr_on_log(call_back, NULL, &caller);
  memcpy(all, overrides, sizeof overrides);
  all[config.override_count++] = "evaluate.samplers=[random]";
  config.overrides = all;
  GOOD(l2sr_evaluate(&config, &table));
  l2sr_env *env = open_by(&config); /* it tells the device */
  l2sr_on_log(NULL, NULL, NULL);
  assert_true(caller.lines > 0 && caller.good == caller.lines);
  GOOD(l2sr_table_close(table));
  GOOD(l2sr_env_close(env));
  GOOD(l2sr_env_close(caller.other));
}

/* Numbers have a point, whatever the program's locale writes. */
static void numbers_are_in_the_c_locale(void **state) {
  static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "fr_FR.utf8",
                                      "ru_RU.UTF-8"};
  const char *all[8];
  struct l2sr_config config = config_of();
  bool found = false;
  (void)state;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) found = found || setlocale(LC_NUMERIC, names[i]);
  if (!found) printf("did not run: numbers in another locale (none with a decimal comma is installed)\n");
  memcpy(all, overrides, sizeof overrides);
  all[config.override_count++] = "reward.scale=2.5";
  config.overrides = all;
  l2sr_env *env = open_by(&config);
  GOOD(l2sr_env_close(env));
  setlocale(LC_NUMERIC, "C");
}

/* ---- training and evaluating --------------------------------------------------------------------------- */

static void a_table_tells_what_samplers_reach(void **state) {
  const char *all[8];
  struct l2sr_config config = config_of();
  struct l2sr_run run = {.bytes = sizeof run};
  l2sr_table *table;
  size_t runs, count, number;
  const char *path;
  (void)state;
  memcpy(all, overrides, sizeof overrides);
  all[config.override_count++] = "evaluate.samplers=[random,lowest_index]";
  all[config.override_count++] = "evaluate.images=true";
  config.overrides = all;
  GOOD(l2sr_evaluate(&config, &table));
  GOOD(l2sr_table_size(table, &runs, &count));
  assert_int_equal(runs, 2);
  assert_int_equal(count, SLICES);
  for (size_t r = 0; r < runs; r++) {
    double sum = 0;
    GOOD(l2sr_table_run(table, r, &run));
    assert_int_equal(run.scans, SLICES);
    assert_int_equal(run.steps, BUDGET);
    for (size_t i = 0; i < run.scans; i++) sum += run.scores[0][i * (BUDGET + 1) + BUDGET];
    assert_true(fabs(run.mean[0] - sum / SLICES) < 1e-6);
    assert_int_equal(run.metrics, 11);
    assert_int_equal(run.metric[10], L2SR_AUC);
    for (size_t m = 0; m < 6; m++) assert_int_equal(run.metric[m], L2SR_SSIM + (int)m);
    assert_int_equal(run.metric[6], L2SR_CALLBACK);
    assert_null(run.scores[1]);
    assert_true(isnan(run.mean[1]));
    assert_true(isnan(run.deviation[1]));
    for (size_t i = 0; i < run.scans; i++) {
      int acquired = 0;
      for (int a = 0; a < N; a++) acquired += run.mask[i * N + (size_t)a];
      assert_int_equal(acquired, INITIAL + BUDGET);
    }
    assert_true(run.images[N * N / 2 + N / 2] > 0);
  }
  assert_string_equal(run.sampler, "lowest_index");
  GOOD(l2sr_table_slice(table, 3, &path, &number));
  assert_non_null(strstr(path, "slices 3 to 3 in memory"));
  REFUSED(L2SR_WRONG_USAGE, "no run 2", l2sr_table_run(table, 2, &run));
  REFUSED(L2SR_WRONG_USAGE, "no slice 5", l2sr_table_slice(table, 5, NULL, NULL));
  REFUSED(L2SR_WRONG_CALL, "no open handle", l2sr_env_close((l2sr_env *)table));
  GOOD(l2sr_table_close(table));
  REFUSED(L2SR_WRONG_CALL, "it was closed", l2sr_table_size(table, NULL, NULL));
  REFUSED(L2SR_WRONG_CALL, "NULL", l2sr_evaluate(&config, NULL));
}

static int stop_later(void *context) {
  return --*(int *)context < 0;
}

/* What is not scored is no number; a batch is one scan. */
static void evaluating_stops_and_scores_ends(void **state) {
  const char *all[8];
  struct l2sr_config config = config_of();
  struct l2sr_run run = {.bytes = sizeof run};
  int left = 7;
  l2sr_table *table;
  (void)state;
  memcpy(all, overrides, sizeof overrides);
  all[config.override_count++] = "evaluate.samplers=[random,lowest_index]";
  all[config.override_count++] = "evaluate.curves=false";
  config.overrides = all;
  config.envs = 1;
  config.stop = stop_later;
  config.stop_context = &left;
  REFUSED(L2SR_STOPPED, "stopped by the program after 7 scans", l2sr_evaluate(&config, &table));
  assert_null(table);
  left = 2 * SLICES;
  GOOD(l2sr_evaluate(&config, &table));
  GOOD(l2sr_table_run(table, 1, &run));
  for (size_t i = 0; i < run.scans * (BUDGET + 1); i++)
    assert_int_equal(isnan(run.scores[0][i]), i % (BUDGET + 1) != BUDGET);
  GOOD(l2sr_table_close(table));
}

struct heard {
  int lines, asked, stop_after; /* lines; 0: never stops */
  char last[512];
};

static int hear(const char *json, void *context) {
  struct heard *heard = context;
  if (!json) return heard->asked++, 0;
  snprintf(heard->last, sizeof heard->last, "%s", json);
  return ++heard->lines == heard->stop_after;
}

/* A folder of phantoms made by the program. */
static char folder[] = "/tmp/l2sr_train_XXXXXX";

static const char *in_folder(const char *name) {
  static char paths[16][128];
  static int place;
  char *path = paths[place++ % 16];
  snprintf(path, sizeof paths[0], "%s/%s", folder, name);
  return path;
}

static void run_program(const char *words) {
  char line[512];
  snprintf(line, sizeof line, "%s %s >/dev/null", getenv("L2SR_PROGRAM"), words);
  assert_int_equal(system(line), 0);
}

/* It stops at any rollout, and goes on from there. */
static void a_policy_is_trained_and_chooses(struct l2sr_config config) {
  char learn[160];
  snprintf(learn, sizeof learn, "learn.reconstructor=%s", config.reconstructor);
  const char *const small[] = {"data.size=32",      "train.method=l2s",        learn,
                               "policy.channels=2", "policy.pools=2",          "policy.hidden=8",
                               "learn.steps=224",   "learn.scans=4",           "learn.validations=1",
                               "learn.log_every=1", "acquisition.horizon=long"};
  struct heard heard = {.stop_after = 3};
  uint32_t action[ENVS], done[ENVS];
  config.overrides = small;
  config.override_count = sizeof small / sizeof *small;
  REFUSED(L2SR_STOPPED, "stopped by the program", l2sr_train(&config, in_folder("policy"), 0, hear, &heard));
  assert_int_equal(access(in_folder("policy/policy_1/last.h5"), R_OK), 0);
  heard = (struct heard){0};
  GOOD(l2sr_train(&config, in_folder("policy"), 1, hear, &heard));
  assert_non_null(strstr(heard.last, "\"stage\":\"policy_1\""));
  config.policy = in_folder("policy/policy_1/last.h5");
  l2sr_env *env = open_by(&config);
  GOOD(l2sr_env_reset(env, NULL, NULL));
  for (int t = 0; t < 7; t++) {
    GOOD(l2sr_env_decide(env, "policy"));
    GOOD(l2sr_env_step(env, NULL));
  }
  read_words(env, L2SR_ACTION, action);
  read_words(env, L2SR_DONE, done);
  for (int i = 0; i < ENVS; i++) assert_true(action[i] < N && done[i]);
  GOOD(l2sr_env_close(env));
}

/* Environment 3 has acquired the last line, and a learned mask goes by their order; the others begin anew in
 * the step that is refused. */
static void what_is_played_ends_where_a_step_is_refused(struct l2sr_config config) {
  char mask[160];
  snprintf(mask, sizeof mask, "sampler.mask=%s/loupe/last.h5", folder);
  const char *const small[] = {"data.size=32",
                               "acquisition.acceleration=4",
                               "acquisition.horizon=long",
                               "train.batch=4",
                               "acquisition.initial_lines=2",
                               "network.channels=4",
                               "train.epochs=1",
                               "train.method=loupe",
                               "network.pools=2",
                               mask};
  static const uint8_t third[ENVS] = {0, 0, 0, 1, 0, 0};
  uint32_t actions[ENVS], step[ENVS];
  config.reconstructor = NULL;
  config.overrides = small;
  config.override_count = 9;
  GOOD(l2sr_train(&config, in_folder("loupe"), 0, NULL, NULL));
  config.override_count = 10;
  config.autoreset = L2SR_RESET_NEXT_STEP;
  l2sr_env *env = open_by(&config);
  GOOD(l2sr_env_reset(env, NULL, NULL));
  for (uint32_t t = 0; t < BUDGET; t++) {
    for (int i = 0; i < ENVS; i++) actions[i] = i == 3 && t == BUDGET - 1 ? N - 1 : t;
    if (t == 3) GOOD(l2sr_env_reset(env, third, NULL));
    GOOD(l2sr_env_step(env, actions));
  }
  GOOD(l2sr_env_play(env, "learned_mask", 3));
  REFUSED(L2SR_WRONG_USAGE, "environment 3 cannot take", l2sr_env_wait(env));
  read_words(env, L2SR_STEP, step);
  for (int i = 0; i < ENVS; i++) assert_int_equal(step[i], i == 3 ? 3 : BUDGET);
  GOOD(l2sr_env_play(env, "random", 2));
  GOOD(l2sr_env_wait(env));
  read_words(env, L2SR_STEP, step);
  for (int i = 0; i < ENVS; i++) assert_int_equal(step[i], i == 3 ? 5 : 1);
  GOOD(l2sr_env_close(env));
}

/* Beyond the limit of a file's size the system's signal would end this program: a checkpoint's, or those of a driver's
 * compiler. */
static void a_limit_of_files_is_an_error(struct l2sr_config config) {
  static const char *const large[] = {"data.size=32", "network.channels=16", "network.pools=3", "train.epochs=1",
                                      "train.batch=4"};

  struct rlimit before, limited;
  struct sigaction ends = {.sa_handler = SIG_DFL}, drivers; /* LLVM in PoCL has one that ends the program, too */
  sigset_t mask, pending;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before) | sigaction(SIGXFSZ, &ends, &drivers), 0);
  config.overrides = large;
  config.override_count = sizeof large / sizeof *large;
  limited = (struct rlimit){2 << 20, before.rlim_max};
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &limited), 0);
  REFUSED(L2SR_BAD_FILE, "`ulimit -f` says how large a file may be", l2sr_train(&config, in_folder("large"), 0, NULL, NULL));
  limited.rlim_cur = 8192;
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &limited), 0);
  enum l2sr_code code = l2sr_train(&config, in_folder("larger"), 0, NULL, NULL);
  if (code == L2SR_BAD_FILE) /* the driver needs no files */
    assert_non_null(strstr(l2sr_last_error(), "`ulimit -f` says how large a file may be"));
  else
    REFUSED(L2SR_FAILED, "this process may write 0.007812 MiB (ulimit -f, RLIMIT_FSIZE); set the limit to unlimited", code);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &before) | sigaction(SIGXFSZ, &drivers, NULL), 0);
  assert_int_equal(sigpending(&pending) | pthread_sigmask(SIG_BLOCK, NULL, &mask), 0);
  assert_int_equal(sigismember(&pending, SIGXFSZ) | sigismember(&mask, SIGXFSZ), 0);
  assert_int_equal(access(in_folder("large/last.h5"), F_OK), -1);
}

static void training_tells_and_stops(void **state) {
  static const char *const small[] = {"data.size=32",   "network.channels=4", "network.pools=2",
                                      "train.epochs=3", "train.batch=4",      "train.log_every=1"};
  struct l2sr_config config = {.bytes = sizeof config, .overrides = small, .override_count = 6};
  struct heard heard = {.stop_after = 5};
  char words[256];
  (void)state;
  assert_non_null(mkdtemp(folder));
  snprintf(words, sizeof words,
           "phantom %s --set phantom.train=2 --set phantom.val=1 --set phantom.test=1 "
           "--set phantom.slices=4 --set phantom.size=32 --set phantom.rows=64 --set phantom.columns=40",
           in_folder("data"));
  run_program(words);
  config.data = in_folder("data");
  REFUSED(L2SR_STOPPED, "stopped by the program", l2sr_train(&config, in_folder("run"), 0, hear, &heard));
  assert_int_equal(heard.lines, 5);
  REFUSED(L2SR_FAILED, "resume", l2sr_train(&config, in_folder("run"), 0, NULL, NULL));
  heard = (struct heard){0};
  GOOD(l2sr_train(&config, in_folder("run"), 1, hear, &heard));
  assert_true(heard.lines >= 3 && heard.asked >= 1);
  assert_non_null(strstr(heard.last, "\"kind\":\"epoch\""));
  a_limit_of_files_is_an_error(config);
  config.reconstructor = in_folder("run/best.h5");
  config.envs = ENVS;
  l2sr_env *env = open_by(&config);
  GOOD(l2sr_env_reset(env, NULL, NULL));
  GOOD(l2sr_env_score(env));
  float ssim[ENVS];
  read_floats(env, L2SR_SSIM, ssim);
  assert_true(ssim[0] > 0);
  GOOD(l2sr_env_close(env));
  a_policy_is_trained_and_chooses(config);
  what_is_played_ends_where_a_step_is_refused(config);
  REFUSED(L2SR_WRONG_USAGE, "train.output", l2sr_train(&config, NULL, 0, NULL, NULL));
  config.data = NULL;
  config.slices = &slices;
  REFUSED(L2SR_WRONG_USAGE, "splits train and val", l2sr_train(&config, in_folder("other"), 0, NULL, NULL));
  snprintf(words, sizeof words, "rm -r %s", folder);
  assert_int_equal(system(words), 0);
}

int main(void) {
  make_images();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_version_is_told),
      cmocka_unit_test(facts_are_told),
      cmocka_unit_test(older_structures_are_shorter),
      cmocka_unit_test(slices_have_their_size),
      cmocka_unit_test(a_scan_goes_from_reset_to_done),
      cmocka_unit_test(all_lines_are_the_image),
      cmocka_unit_test(a_mask_resets_some),
      cmocka_unit_test(a_seed_gives_the_same_scans),
      cmocka_unit_test(ended_scans_wait_for_the_program),
      cmocka_unit_test(ended_scans_begin_in_the_same_step),
      cmocka_unit_test(ended_scans_begin_in_the_next_step),
      cmocka_unit_test(rewards_are_of_their_form),
      cmocka_unit_test(every_step_is_scored_where_asked),
      cmocka_unit_test(nothing_is_scored_where_asked),
      cmocka_unit_test(a_refused_step_changes_nothing),
      cmocka_unit_test(an_invalid_action_is_named),
      cmocka_unit_test(an_invalid_action_is_ignored),
      cmocka_unit_test(an_action_out_of_range_is_refused),
      cmocka_unit_test(cuda_is_of_nvidia),
      cmocka_unit_test(an_invalid_action_is_replaced),
      cmocka_unit_test(shapes_are_told),
      cmocka_unit_test(a_pinned_copy_is_renewed),
      cmocka_unit_test(observations_may_be_halves),
      cmocka_unit_test(the_program_gives_context_and_actions),
      cmocka_unit_test(arrays_move_into_the_programs_memory),
      cmocka_unit_test(no_array_is_older_than_the_step),
      cmocka_unit_test(steps_are_played_without_waiting),
      cmocka_unit_test(many_steps_wait_for_those_before),
      cmocka_unit_test(scans_go_on_from_a_state),
      cmocka_unit_test(a_state_is_of_its_scene),
      cmocka_unit_test(handles_give_their_memory_back),
      cmocka_unit_test(pictures_are_drawn),
      cmocka_unit_test(kspace_of_coils_is_combined),
      cmocka_unit_test(bad_slices_are_refused),
      cmocka_unit_test(configs_are_checked),
      cmocka_unit_test(handles_are_checked),
      cmocka_unit_test(a_handle_does_one_call_at_a_time),
      cmocka_unit_test(the_log_is_told_and_may_call),
      cmocka_unit_test(numbers_are_in_the_c_locale),
      cmocka_unit_test(a_table_tells_what_samplers_reach),
      cmocka_unit_test(evaluating_stops_and_scores_ends),
      cmocka_unit_test(training_tells_and_stops),
  };
  const char *only = getenv("L2SR_TEST");
  if (only) cmocka_set_test_filter(only);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
