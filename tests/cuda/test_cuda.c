/* Arrays that CUDA sees too, by stand-ins for the drivers: in one buffer and in several, and what is refused.
 */
#include "driver.h"

#include <CL/cl.h>
#include <l2sr.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N = 32, SLICES = 5, MOST = 300, PAGE = 4096, LIMIT = 255 * PAGE, BUDGET = 6 };

static void expect_good(enum l2sr_code code, const char *call, int line) {
  if (code != L2SR_GOOD) fail_msg("line %d: %s: %d, %s", line, call, (int)code, l2sr_last_error());
}
#define GOOD(call) expect_good(call, #call, __LINE__)

static float images[SLICES][N][N];
static unsigned char found[MOST * N * N * sizeof(float)];

static int make_images(void **state) {
  (void)state;
  for (int s = 0; s < SLICES; s++)
    for (int i = 0; i < N * N; i++) images[s][i / N][i % N] = (float)((i + 5 * s) * 7 % 61) / 61;
  return 0;
}

static l2sr_env *open_env(uint32_t envs) {
  static const struct l2sr_slices slices = {
      .values = &images[0][0][0], .count = SLICES, .height = N, .width = N};
  static const char *const overrides[] = {"data.size=32", "acquisition.acceleration=4",
                                          "acquisition.horizon=long", "acquisition.initial_lines=2"};
  struct l2sr_config config = {.bytes = sizeof config,
                               .overrides = overrides,
                               .override_count = sizeof overrides / sizeof *overrides,
                               .slices = &slices,
                               .envs = envs,
                               .autoreset = L2SR_RESET_SAME_STEP};
  l2sr_env *env;
  GOOD(l2sr_env_open(&config, &env));
  return env;
}

struct seen {
  enum l2sr_array array;
  const void *values; /* CUDA's address, which is the process's own here */
  size_t bytes;
};

static struct seen share(l2sr_env *env, enum l2sr_array array) {
  struct l2sr_shape shape = {.bytes = sizeof shape};
  uint64_t address = 0, again = 0;
  int device = -1;
  GOOD(l2sr_env_shape(env, array, &shape));
  GOOD(l2sr_env_cuda(env, array, &address, &device));
  GOOD(l2sr_env_cuda(env, array, &again, &device));
  assert_true(address == again);
  assert_int_equal(device, 1);
  return (struct seen){array, (const void *)(uintptr_t)address, shape.total};
}

static void expect_same(l2sr_env *env, const struct seen *seen) {
  GOOD(l2sr_env_read(env, seen->array, found, seen->bytes));
  if (memcmp(seen->values, found, seen->bytes)) fail_msg("array %d differs", (int)seen->array);
}

/* Whole scans and the beginning of the next: what CUDA reads is what OpenCL reads. */
static void check_scans(uint32_t envs) {
  enum { ARRAYS = 8 };
  static const enum l2sr_array arrays[ARRAYS] = {L2SR_OBSERVATION, L2SR_STANDARDISED,     L2SR_FREE,
                                                 L2SR_REWARD,      L2SR_TARGET,           L2SR_RECONSTRUCTION,
                                                 L2SR_FINAL_FREE,  L2SR_FINAL_OBSERVATION};
  struct seen seen[ARRAYS];
  l2sr_env *env = open_env(envs);
  for (int a = 0; a < ARRAYS; a++) seen[a] = share(env, arrays[a]);
  GOOD(l2sr_env_reset(env, NULL, NULL));
  for (int step = 0; step <= BUDGET; step++) {
    long waits = driver_state()->waits;
    for (int a = 0; a < ARRAYS; a++) expect_same(env, &seen[a]);
    GOOD(l2sr_env_decide(env, "random"));
    GOOD(l2sr_env_send(env, NULL));
    assert_true(driver_state()->waits > waits); /* for what CUDA reads */
    GOOD(l2sr_env_wait(env));
  }
  for (int a = 0; a < ARRAYS; a++) expect_same(env, &seen[a]);
  GOOD(l2sr_env_close(env));
}

/* After every close: a context of CUDA's that stays, and a grain of its memory. */
static void expect_little_is_held(void) {
  const struct driver_state *held = driver_state();
  assert_int_equal(held->retained, 1);
  assert_int_equal(held->current, 0);
  assert_int_equal(held->handles, 1);
  assert_int_equal(held->ranges, 1);
  assert_int_equal(held->maps, 1);
  assert_int_equal(held->imports, 1);
}

static void arrays_are_the_memory_itself(void **state) {
  (void)state;
  driver_state()->largest = 0;
  check_scans(3);
  assert_in_range(driver_state()->largest, 3 * N * N * sizeof(float), 4 * N * N * sizeof(float));
  expect_little_is_held();
}

/* 300 images of 4 KiB are more than 255 grains. */
static void large_arrays_are_in_several_buffers(void **state) {
  (void)state;
  driver_state()->largest = 0;
  check_scans(MOST);
  assert_int_equal(driver_state()->largest, LIMIT);
  expect_little_is_held();
}

/* Memory that opencl.c imports is the host's; the library's own is not. */
static bool is_imported(uint32_t envs) {
  struct _cl_mem *memory;
  cl_mem_flags flags = 0;
  l2sr_env *env = open_env(envs);
  share(env, L2SR_STANDARDISED);
  GOOD(l2sr_env_memory(env, L2SR_STANDARDISED, &memory));
  assert_int_equal(clGetMemObjectInfo(memory, CL_MEM_FLAGS, sizeof flags, &flags, NULL), CL_SUCCESS);
  GOOD(l2sr_env_close(env));
  return flags & CL_MEM_USE_HOST_PTR;
}

static void only_large_arrays_are_copied(void **state) {
  (void)state;
  assert_true(is_imported(LIMIT / (N * N * (int)sizeof(float))));
  assert_false(is_imported(MOST));
  expect_little_is_held();
}

static void contexts_are_taken_again(void **state) {
  long before = driver_state()->contexts;
  (void)state;
  for (int i = 0; i < 4; i++) {
    l2sr_env *env = open_env(2);
    share(env, L2SR_REWARD);
    GOOD(l2sr_env_close(env));
  }
  assert_in_range(driver_state()->contexts - before, 0, 1);
  expect_little_is_held();
}

/* The handle goes on without, and everything that was made is given back. */
static void check_refused(const char *call, uint32_t envs, enum l2sr_code wanted) {
  uint64_t address = 0;
  int device;
  l2sr_env *env = open_env(envs);
  driver_state()->refused = call;
  enum l2sr_code code = l2sr_env_cuda(env, L2SR_STANDARDISED, &address, &device);
  driver_state()->refused = NULL;
  if (code != wanted || !strstr(l2sr_last_error(), call[1] == 'l' ? "CL_INVALID_VALUE" : "OUT_OF_MEMORY"))
    fail_msg("%s: %d, %s", call, (int)code, l2sr_last_error());
  GOOD(l2sr_env_reset(env, NULL, NULL));
  struct seen seen = share(env, L2SR_STANDARDISED);
  expect_same(env, &seen);
  GOOD(l2sr_env_close(env));
  expect_little_is_held();
}

static void what_drivers_refuse_is_told(void **state) {
  static const char *const calls[] = {
      "cuInit",      "cuDeviceGetCount",    "cuDevicePrimaryCtxRetain", "cuMemGetAllocationGranularity",
      "cuMemCreate", "cuMemAddressReserve", "cuCtxPushCurrent_v2",      "cuMemExportToShareableHandle",
      "cuMemMap",    "cuMemSetAccess"};
  (void)state;
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    check_refused(calls[i], 2, L2SR_NO_MEMORY);
    check_refused(calls[i], MOST, L2SR_NO_MEMORY);
  }
  check_refused("clCreateBufferWithProperties", 2, L2SR_DEVICE_FAILED);
  check_refused("clCreateBufferWithProperties", MOST, L2SR_DEVICE_FAILED);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(arrays_are_the_memory_itself), cmocka_unit_test(large_arrays_are_in_several_buffers),
      cmocka_unit_test(only_large_arrays_are_copied), cmocka_unit_test(contexts_are_taken_again),
      cmocka_unit_test(what_drivers_refuse_is_told)};
  return cmocka_run_group_tests(tests, make_images, NULL);
}
