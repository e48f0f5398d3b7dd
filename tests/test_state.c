/* Saved states of environments: what was damaged, and what is of another handle, is refused and changes
 * nothing. */
#include "engine/base/hash.h"
#include "systems/public/l2sr.h"
#include "tests/support.h"

#include "tests/public.h"

#include <string.h>

enum { N = 32, SLICES = 3, ENVS = 3, BUDGET = 3, INITIAL = 2 };
enum { CHECK = 8, VERSION = 72 }; /* where they stand in a state */

static float images[SLICES + 1][N][N];

static void make_images(void) {
  for (int s = 0; s <= SLICES; s++)
    for (int i = 0; i < N * N; i++) images[s][i / N][i % N] = (float)(1 + s + (i * 7 + s * i % 11) % 13);
}

struct wanted {
  const char *scene; /* one override more */
  enum l2sr_autoreset autoreset;
  uint32_t envs;
  size_t slices;
};

static l2sr_env *open_wanted(struct wanted wanted) {
  const char *overrides[] = {"data.size=32", "acquisition.initial_lines=2", "acquisition.budget=3",
                             "data.order=permuted", wanted.scene};
  struct l2sr_slices slices = {
      .bytes = sizeof slices, .values = &images[0][0][0], .count = wanted.slices, .height = N, .width = N};
  struct l2sr_config config = {.bytes = sizeof config,
                               .overrides = overrides,
                               .override_count = wanted.scene ? 5 : 4,
                               .slices = &slices,
                               .envs = wanted.envs,
                               .invalid = L2SR_INVALID_MASK,
                               .autoreset = wanted.autoreset};
  l2sr_env *env;
  GOOD(l2sr_env_open(&config, &env));
  return env;
}

static const struct wanted plain = {.autoreset = L2SR_RESET_SAME_STEP, .envs = ENVS, .slices = SLICES};

struct saved {
  uint8_t bytes[1 << 12];
  size_t count;
};

static void play(l2sr_env *env, uint32_t steps) {
  GOOD(l2sr_env_play(env, "random", steps));
  GOOD(l2sr_env_wait(env));
}

/* In the midst of scans that other ones came before. */
static l2sr_env *open_saved(struct wanted wanted, struct saved *saved) {
  const uint32_t seed = 7;
  l2sr_env *env = open_wanted(wanted);
  GOOD(l2sr_env_reset(env, NULL, &seed));
  play(env, 5);
  GOOD(l2sr_env_save(env, saved->bytes, sizeof saved->bytes, &saved->count));
  return env;
}

static void refused(l2sr_env *env, const struct saved *saved, enum l2sr_code code, const char *part) {
  enum l2sr_code found = l2sr_env_restore(env, saved->bytes, saved->count);
  if (found != code || !strstr(l2sr_last_error(), part))
    fail_msg("%d, %s; expected %d and %s", (int)found, l2sr_last_error(), (int)code, part);
}

/* The check that such bytes would have had. */
static void sign(struct saved *saved) {
  char hex[65];
  hash_hex(saved->bytes + VERSION, saved->count - VERSION, hex);
  memcpy(saved->bytes + CHECK, hex, VERSION - CHECK);
}

static void read_scans(l2sr_env *env, uint32_t words[3][ENVS]) {
  static const enum l2sr_array arrays[] = {L2SR_SCAN, L2SR_STEP, L2SR_ACTION};
  for (int i = 0; i < 3; i++) GOOD(l2sr_env_read(env, arrays[i], words[i], sizeof words[i]));
}

static void no_bit_may_change(void **state) {
  struct saved saved;
  uint32_t before[3][ENVS], after[3][ENVS];
  l2sr_env *env = open_saved(plain, &saved);
  (void)state;
  play(env, 1);
  read_scans(env, before);
  for (size_t bit = 0; bit < 8 * saved.count; bit++) {
    saved.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    if (l2sr_env_restore(env, saved.bytes, saved.count) != L2SR_BAD_FILE)
      fail_msg("bit %zu of byte %zu of %zu: %s", bit % 8, bit / 8, saved.count, l2sr_last_error());
    saved.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
  }
  for (size_t count = 0; count < saved.count; count++)
    assert_int_equal(l2sr_env_restore(env, saved.bytes, count), L2SR_BAD_FILE);
  read_scans(env, after);
  assert_memory_equal(before, after, sizeof before);
  GOOD(l2sr_env_restore(env, saved.bytes, saved.count));
  play(env, 1);
  read_scans(env, after);
  assert_memory_equal(before, after, sizeof before);
  GOOD(l2sr_env_close(env));
}

static void try_other(const struct saved *saved, struct wanted wanted, const char *part) {
  l2sr_env *env = open_wanted(wanted);
  refused(env, saved, L2SR_WRONG_USAGE, part);
  GOOD(l2sr_env_close(env));
}

static void a_state_is_of_its_handle(void **state) {
  struct saved saved;
  GOOD(l2sr_env_close(open_saved(plain, &saved)));
  (void)state;
  struct wanted other = plain;
  other.envs = ENVS + 1;
  try_other(&saved, other, "environments 3, and the handle 4");
  other = plain, other.slices = SLICES + 1;
  try_other(&saved, other, "slices 3, and the handle 4");
  other = plain, other.scene = "acquisition.budget=4";
  try_other(&saved, other, "steps a scan 3, and the handle 4");
  other = plain, other.scene = "acquisition.geometry=spokes";
  try_other(&saved, other, "another scene: acquisition.geometry was not spokes");
  other = plain, other.scene = "reward.metric=psnr";
  try_other(&saved, other, "another scene: reward.metric was not psnr");
  other = plain, other.autoreset = L2SR_RESET_DISABLED;
  try_other(&saved, other, "autoreset L2SR_RESET_SAME_STEP, and this has L2SR_RESET_DISABLED");
  images[1][3][4] += 0.5f;
  try_other(&saved, plain, "of other slices than the handle's");
  images[1][3][4] -= 0.5f;
}

/* Where data lie, and with which seed a handle began, is no part of them. */
static void other_handles_take_it(void **state) {
  static const char *const same[] = {"world.seed=9", "data.window=2",
                                     "evaluate.samplers=equispaced_one_sided", "evaluate.curves=false"};
  struct saved saved;
  uint32_t wanted[3][ENVS], found[3][ENVS];
  l2sr_env *env = open_saved(plain, &saved);
  (void)state;
  play(env, 2);
  read_scans(env, wanted);
  GOOD(l2sr_env_close(env));
  for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
    struct wanted other = plain;
    other.scene = same[i];
    env = open_wanted(other);
    GOOD(l2sr_env_restore(env, saved.bytes, saved.count));
    play(env, 2);
    read_scans(env, found);
    assert_memory_equal(wanted, found, sizeof wanted);
    GOOD(l2sr_env_close(env));
  }
}

static void other_versions_are_refused(void **state) {
  struct saved saved;
  l2sr_env *env = open_saved(plain, &saved);
  (void)state;
  memcpy(saved.bytes + VERSION, "0.0.9", 6);
  sign(&saved);
  refused(env, &saved, L2SR_BAD_FILE, "the state is of l2sr 0.0.9, and this is l2sr " L2SR_VERSION);
  memcpy(saved.bytes, "l2sr_s1", 8);
  refused(env, &saved, L2SR_BAD_FILE, "or one of an older version");
  GOOD(l2sr_env_close(env));
}

/* Bytes that were signed anew are refused where no scan has them. Words of environments end with the state's
 * masks. */
static void no_scan_can_be_so(void **state) {
  static const struct {
    enum l2sr_autoreset autoreset;
    int column; /* of the words that a state has: number, slice, step, done; 7: the mask's */
    uint32_t value;
  } forged[] = {{L2SR_RESET_SAME_STEP, 0, UINT32_MAX}, {L2SR_RESET_SAME_STEP, 0, 4},
                {L2SR_RESET_SAME_STEP, 1, SLICES},     {L2SR_RESET_SAME_STEP, 1, 0x7fffffff},
                {L2SR_RESET_SAME_STEP, 2, BUDGET},     {L2SR_RESET_NEXT_STEP, 2, BUDGET},
                {L2SR_RESET_DISABLED, 2, BUDGET + 1},  {L2SR_RESET_DISABLED, 3, 1},
                {L2SR_RESET_SAME_STEP, 3, 2},          {L2SR_RESET_SAME_STEP, 7, 0x01010101},
                {L2SR_RESET_DISABLED, 7, 0x00000002}};
  (void)state;
  for (size_t i = 0; i < sizeof forged / sizeof *forged; i++) {
    struct wanted wanted = plain;
    struct saved saved;
    wanted.autoreset = forged[i].autoreset;
    l2sr_env *env = open_wanted(wanted);
    GOOD(l2sr_env_reset(env, NULL, NULL));
    play(env, 1);
    GOOD(l2sr_env_save(env, saved.bytes, sizeof saved.bytes, &saved.count));
    size_t words = saved.count - ENVS * (7 * sizeof(uint32_t) + N);
    memcpy(saved.bytes + words + sizeof(uint32_t) * (size_t)forged[i].column * ENVS, &forged[i].value,
           sizeof(uint32_t));
    sign(&saved);
    refused(env, &saved, L2SR_BAD_FILE, "environment 0 has no scan that can be");
    GOOD(l2sr_env_close(env));
  }
}

/* Before the first reset a state tells that nothing has begun. */
static void nothing_has_begun(void **state) {
  struct saved saved;
  l2sr_env *env = open_wanted(plain);
  (void)state;
  GOOD(l2sr_env_save(env, saved.bytes, sizeof saved.bytes, &saved.count));
  GOOD(l2sr_env_reset(env, NULL, NULL));
  GOOD(l2sr_env_restore(env, saved.bytes, saved.count));
  assert_int_equal(l2sr_env_play(env, "random", 1), L2SR_WRONG_CALL);
  GOOD(l2sr_env_reset(env, NULL, NULL));
  play(env, 1);
  GOOD(l2sr_env_close(env));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_bit_may_change),     cmocka_unit_test(a_state_is_of_its_handle),
      cmocka_unit_test(other_handles_take_it), cmocka_unit_test(other_versions_are_refused),
      cmocka_unit_test(no_scan_can_be_so),     cmocka_unit_test(nothing_has_begun),
  };
  make_images();
  return cmocka_run_group_tests_name("state", tests, NULL, NULL);
}
