/* The program's allocator (l2sr_allocate_with): all of the library's own host memory is from it and comes
 * back, and memory that cannot be had is an error. */
#include <l2sr.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "public.h"

enum { N = 32, SLICES = 1000, ENVS = 4, BUDGET = 6 };
/* Larger pieces have a size that comes from data: no structure of the library's has so many bytes. */
enum { LARGE = 3 << 17 }; /* more than the text of a program of kernels, 282 KB */

static float images[SLICES][N][N];
static const struct l2sr_slices slices = {
    .bytes = sizeof slices, .values = &images[0][0][0], .count = SLICES, .height = N, .width = N};

static struct l2sr_config config_of(void) {
  static const char *const overrides[] = {"data.size=32",
                                          "acquisition.initial_lines=2",
                                          "acquisition.budget=6",
                                          "data.slices=all",
                                          "evaluate.samplers=[random,lowest_index]",
                                          "evaluate.images=true"};
  return (struct l2sr_config){.bytes = sizeof(struct l2sr_config),
                              .overrides = overrides,
                              .override_count = sizeof overrides / sizeof *overrides,
                              .slices = &slices,
                              .envs = ENVS};
}

/* ---- an allocator that counts and refuses -------------------------------------------------------------- */

struct piece {
  struct counter *owner;
  size_t bytes;
  _Alignas(max_align_t) unsigned char data[];
};

struct counter {
  atomic_long live, taken, large; /* pieces; large ones of those that were asked for */
  long fails, fails_large;        /* the piece, and the large one, that is refused; -1: none */
};

#define COUNTER                                                                                              \
  { .fails = -1, .fails_large = -1 }

/* What it gives is full of rubbish. */
static void *count_allocate(size_t bytes, void *context) {
  struct counter *counter = context;
  long number = atomic_fetch_add(&counter->taken, 1);
  if (number == counter->fails) return NULL;
  if (bytes > LARGE && atomic_fetch_add(&counter->large, 1) == counter->fails_large) return NULL;
  struct piece *piece = malloc(sizeof *piece + bytes);
  if (!piece) return NULL;
  *piece = (struct piece){.owner = counter, .bytes = bytes};
  memset(piece->data, 0xa5, bytes);
  atomic_fetch_add(&counter->live, 1);
  return piece->data;
}

static void count_release(void *memory, void *context) {
  struct piece *piece = (struct piece *)((unsigned char *)memory - offsetof(struct piece, data));
  struct counter *counter = context;
  assert_ptr_equal(piece->owner, counter);
  piece->owner = NULL; /* a second release is noticed */
  atomic_fetch_sub(&counter->live, 1);
  free(piece);
}

static void use(struct counter *counter) {
  struct l2sr_allocator allocator = {
      .bytes = sizeof allocator, .allocate = count_allocate, .release = count_release, .context = counter};
  GOOD(l2sr_allocate_with(&allocator));
}

static void use_none(void) {
  GOOD(l2sr_allocate_with(NULL));
}

static l2sr_env *open_env(void) {
  struct l2sr_config config = config_of();
  l2sr_env *env;
  GOOD(l2sr_env_open(&config, &env));
  return env;
}

static void play_scans(l2sr_env *env, uint32_t steps) {
  GOOD(l2sr_env_reset(env, NULL, NULL));
  for (uint32_t t = 0; t < steps; t++) {
    GOOD(l2sr_env_decide(env, "random"));
    GOOD(l2sr_env_step(env, NULL));
  }
}

/* ---- tests --------------------------------------------------------------------------------------------- */

static void all_memory_comes_back(void **state) {
  static struct counter counter = COUNTER;
  struct l2sr_config config = config_of();
  l2sr_table *table;
  (void)state;
  use(&counter);
  l2sr_env *env = open_env();
  assert_true(counter.live > 0);
  play_scans(env, BUDGET);
  GOOD(l2sr_evaluate(&config, &table));
  GOOD(l2sr_table_close(table));
  GOOD(l2sr_env_close(env));
  use_none();
  assert_int_equal(counter.live, 0);
}

/* Verdicts on files last until the child that found them is sent away. */
static void all_memory_of_files_comes_back(void **state) {
  static struct counter counter = COUNTER;
  char folder[] = "/tmp/l2sr_memory_XXXXXX", line[512];
  struct l2sr_config config = config_of();
  l2sr_table *table;
  (void)state;
  assert_non_null(mkdtemp(folder));
  snprintf(line, sizeof line, "%s phantom %s --size 32 --train 0 --val 0 --test 2 --slices 2 >/dev/null",
           getenv("L2SR_PROGRAM"), folder);
  assert_int_equal(system(line), 0);
  config.slices = NULL;
  config.data = folder;
  use(&counter);
  l2sr_look_with(getenv("L2SR_PROGRAM"));
  GOOD(l2sr_evaluate(&config, &table));
  GOOD(l2sr_table_close(table));
  l2sr_look_with(NULL);
  use_none();
  assert_true(counter.taken > 0);
  assert_int_equal(counter.live, 0);
  snprintf(line, sizeof line, "rm -r %s", folder);
  assert_int_equal(system(line), 0);
}

static void steps_allocate_nothing(void **state) {
  static struct counter counter = COUNTER;
  (void)state;
  use(&counter);
  l2sr_env *env = open_env();
  play_scans(env, BUDGET); /* the sampler's lists are made at its first use */
  long before = counter.taken;
  play_scans(env, BUDGET);
  assert_int_equal(counter.taken, before);
  GOOD(l2sr_env_close(env));
  use_none();
}

/* What was opened before keeps its allocator, whatever is set meanwhile. */
static void a_handle_stays_with_its_allocator(void **state) {
  static struct counter first = COUNTER, second = COUNTER;
  (void)state;
  use(&first);
  l2sr_env *env = open_env();
  use(&second);
  l2sr_env *other = open_env();
  use_none();
  play_scans(env, 1);
  play_scans(other, 1);
  assert_true(first.live > 0 && second.live > 0);
  GOOD(l2sr_env_close(env));
  assert_int_equal(first.live, 0);
  assert_true(second.live > 0);
  GOOD(l2sr_env_close(other));
  assert_int_equal(second.live, 0);
}

static enum l2sr_code open_and_close(void) {
  struct l2sr_config config = config_of();
  l2sr_env *env;
  enum l2sr_code code = l2sr_env_open(&config, &env);
  if (code == L2SR_GOOD) GOOD(l2sr_env_close(env));
  return code;
}

static enum l2sr_code evaluate_and_close(void) {
  struct l2sr_config config = config_of();
  l2sr_table *table;
  enum l2sr_code code = l2sr_evaluate(&config, &table);
  if (code == L2SR_GOOD) GOOD(l2sr_table_close(table));
  return code;
}

/* What has a size that comes from data is asked for and refused in order: nothing is lost. */
static void large_pieces_are_refused(void **state) {
  static const struct {
    enum l2sr_code (*call)(void);
    long pieces; /* large ones, at least */
  } cases[] = {{open_and_close, 1}, {evaluate_and_close, 3}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    enum l2sr_code code = L2SR_NO_MEMORY;
    long refused = 0;
    for (; code == L2SR_NO_MEMORY; refused++) {
      struct counter counter = {.fails = -1, .fails_large = refused};
      use(&counter);
      code = cases[i].call();
      use_none();
      assert_int_equal(counter.live, 0);
      if (code == L2SR_NO_MEMORY) assert_non_null(strstr(l2sr_last_error(), "memory"));
    }
    assert_int_equal(code, L2SR_GOOD);
    assert_true(refused > cases[i].pieces);
  }
}

/* Any piece may be missing, also one that no work goes on without: such a call is broken off, and what it had
 * is lost. The next call works. */
static void any_piece_may_be_missing(void **state) {
  struct l2sr_config config = config_of();
  static struct counter all = COUNTER;
  (void)state;
  use(&all);
  GOOD(l2sr_env_close(open_env()));
  long pieces = all.taken, stride = pieces / 23 + 1;
  assert_true(pieces > 23);
  for (long fails = 0; fails < pieces; fails += stride) {
    static struct counter counters[32]; /* what is lost stays with them */
    struct counter *counter = &counters[fails / stride];
    l2sr_env *env;
    counter->fails = fails;
    use(counter);
    enum l2sr_code code = l2sr_env_open(&config, &env);
    if (code != L2SR_GOOD && code != L2SR_NO_MEMORY)
      fail_msg("piece %ld: %d, %s", fails, (int)code, l2sr_last_error());
    if (code == L2SR_GOOD) {
      play_scans(env, BUDGET);
      GOOD(l2sr_env_close(env));
      assert_int_equal(counter->live, 0);
    } else {
      assert_null(env);
    }
  }
  use_none();
  l2sr_env *env = open_env();
  play_scans(env, BUDGET);
  GOOD(l2sr_env_close(env));
}

static void allocators_are_checked(void **state) {
  struct l2sr_allocator allocator = {.bytes = sizeof allocator, .allocate = count_allocate};
  (void)state;
  assert_int_equal(l2sr_allocate_with(&allocator), L2SR_WRONG_USAGE);
  assert_non_null(strstr(l2sr_last_error(), "release NULL"));
  allocator = (struct l2sr_allocator){.bytes = sizeof allocator, .release = count_release};
  assert_int_equal(l2sr_allocate_with(&allocator), L2SR_WRONG_USAGE);
  assert_non_null(strstr(l2sr_last_error(), "allocate NULL"));
  allocator.bytes = 0;
  assert_int_equal(l2sr_allocate_with(&allocator), L2SR_WRONG_CALL);
  assert_non_null(strstr(l2sr_last_error(), "sizeof(struct l2sr_allocator)"));
}

int main(void) {
  for (size_t i = 0; i < sizeof images / sizeof(float); i++) (&images[0][0][0])[i] = (float)(1 + i * 7 % 13);
  const char *pattern = getenv("L2SR_TEST");
  if (pattern && *pattern) cmocka_set_test_filter(pattern);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_memory_comes_back),    cmocka_unit_test(all_memory_of_files_comes_back),
      cmocka_unit_test(steps_allocate_nothing),   cmocka_unit_test(a_handle_stays_with_its_allocator),
      cmocka_unit_test(large_pieces_are_refused), cmocka_unit_test(any_piece_may_be_missing),
      cmocka_unit_test(allocators_are_checked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
