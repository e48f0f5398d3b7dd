/* Arrays that CUDA sees too, by stand-ins for the drivers: in one buffer and in several, and what is refused.
 */
#include "driver.h"

#include <CL/cl.h>
#include <l2sr.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "../public.h"

#define CPU "Portable Computing" /* the stand-ins share the host's memory */

enum { N = 32, SLICES = 5, MOST = 300, PAGE = 4096, LIMIT = 255 * PAGE, BUDGET = 6 };

static float images[SLICES][N][N];
static unsigned char found[MOST * N * N * sizeof(float)];

static int make_images(void **state) {
  (void)state;
  for (int s = 0; s < SLICES; s++)
    for (int i = 0; i < N * N; i++) images[s][i / N][i % N] = (float)((i + 5 * s) * 7 % 61) / 61;
  return 0;
}

static l2sr_env *open_with(uint32_t envs, const struct l2sr_callbacks *callbacks) {
  static const struct l2sr_slices slices = {
      .bytes = sizeof slices, .values = &images[0][0][0], .count = SLICES, .height = N, .width = N};
  static const char *const overrides[] = {"data.size=32", "acquisition.acceleration=4",
                                          "acquisition.horizon=long", "acquisition.initial_lines=2",
                                          "network.batch=2", "reconstruct.method=callback"};
  struct l2sr_config config = {.bytes = sizeof config,
                               .overrides = overrides,
                               .override_count = sizeof overrides / sizeof *overrides - !callbacks,
                               .callbacks = callbacks,
                               .slices = &slices,
                               .envs = envs,
                               .device = CPU,
                               .autoreset = L2SR_RESET_SAME_STEP};
  l2sr_env *env;
  GOOD(l2sr_env_open(&config, &env));
  return env;
}

static l2sr_env *open_env(uint32_t envs) {
  return open_with(envs, NULL);
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

/* Whole scans and the beginning of the next: what CUDA reads is what OpenCL reads, and another than before.
 */
static void check_scans(uint32_t envs) {
  enum { ARRAYS = 8, CHANGING = 3 };
  static const enum l2sr_array arrays[ARRAYS] = {L2SR_OBSERVATION,       L2SR_STANDARDISED, L2SR_FREE,
                                                 L2SR_FINAL_OBSERVATION, L2SR_REWARD,       L2SR_TARGET,
                                                 L2SR_RECONSTRUCTION,    L2SR_FINAL_FREE};
  static unsigned char before[CHANGING + 1][sizeof found];
  struct seen seen[ARRAYS];
  l2sr_env *env = open_env(envs);
  for (int a = 0; a < ARRAYS; a++) seen[a] = share(env, arrays[a]);
  GOOD(l2sr_env_reset(env, NULL, NULL));
  for (int step = 0; step <= BUDGET; step++) {
    long waits = driver_state()->waits;
    for (int a = 0; a < ARRAYS; a++) expect_same(env, &seen[a]);
    for (int a = 0; a <= CHANGING; a++) memcpy(before[a], seen[a].values, seen[a].bytes);
    GOOD(l2sr_env_decide(env, "random"));
    GOOD(l2sr_env_send(env, NULL));
    assert_true(driver_state()->waits > waits); /* for what CUDA reads */
    GOOD(l2sr_env_wait(env));
    bool ends = step == BUDGET - 1;
    for (int a = 0; a < CHANGING; a++) assert_memory_not_equal(before[a], seen[a].values, seen[a].bytes);
    assert_int_equal(ends, memcmp(before[CHANGING], seen[CHANGING].values, seen[CHANGING].bytes) != 0);
  }
  for (int a = 0; a < ARRAYS; a++) expect_same(env, &seen[a]);
  GOOD(l2sr_env_close(env));
}

/* PoCL's threads let the memory of a command go after they have said that it is done. */
static void wait_for_imports(long wanted) {
  static const struct timespec pause = {.tv_nsec = 1000000};
  for (int turn = 0; turn < 10000 && driver_state()->imports > wanted; turn++) nanosleep(&pause, NULL);
  assert_int_equal(driver_state()->imports, wanted);
}

/* After every close: a context of CUDA's that stays, and a grain of its memory. */
static void expect_little_is_held(void) {
  const struct driver_state *held = driver_state();
  assert_int_equal(held->retained, 1);
  assert_int_equal(held->current, 0);
  assert_int_equal(held->handles, 1);
  assert_int_equal(held->ranges, 1);
  assert_int_equal(held->maps, 1);
  wait_for_imports(1);
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

/* Half of what is observed, by CUDA's addresses. */
static int halve(const struct l2sr_batch *batch, void *context) {
  *(size_t *)context += batch->scans;
  if (batch->place != L2SR_PLACE_CUDA || batch->device != 1 || batch->scans > 2) return 1;
  for (size_t i = 0; i < batch->scans * N * N; i++) ((float *)batch->result)[i] = ((const float *)batch->observation)[i] / 2;
  return 0;
}

/* What it has started on CUDA's device is waited for. */
static void a_callback_sees_cudas_memory(void **state) {
  size_t scans = 0;
  const struct l2sr_callbacks callbacks = {
      .bytes = sizeof callbacks, .place = L2SR_PLACE_CUDA, .reconstruct = halve, .context = &scans};
  static float whole[3][N * N], made[3][N * N];
  l2sr_env *env = open_env(3);
  (void)state;
  GOOD(l2sr_env_reset(env, NULL, NULL));
  GOOD(l2sr_env_reconstruct(env));
  GOOD(l2sr_env_read(env, L2SR_RECONSTRUCTION, whole, sizeof whole));
  GOOD(l2sr_env_close(env));
  env = open_with(3, &callbacks);
  GOOD(l2sr_env_reset(env, NULL, NULL));
  long waits = driver_state()->waits;
  GOOD(l2sr_env_reconstruct(env));
  assert_int_equal(driver_state()->waits, waits + 2);
  assert_int_equal(scans, 3);
  GOOD(l2sr_env_read(env, L2SR_RECONSTRUCTION, made, sizeof made));
  for (int i = 0; i < 3 * N * N; i++) assert_true(made[i / (N * N)][i % (N * N)] == whole[i / (N * N)][i % (N * N)] / 2);
  GOOD(l2sr_env_close(env));
  expect_little_is_held();
}

/* Memory that opencl.c imports is the host's; the library's own is not. */
static bool is_imported(uint32_t envs) {
  struct _cl_mem *memory;
  cl_mem_flags flags = 0;
  l2sr_env *env = open_env(envs);
  long acquired = driver_state()->acquired;
  share(env, L2SR_STANDARDISED);
  assert_true(driver_state()->acquired > acquired);
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

/* What has been placed elsewhere since is still renewed where CUDA reads. */
static void a_placed_array_is_copied(void **state) {
  static const uint32_t counts[] = {3, MOST};
  (void)state;
  for (int i = 0; i < 2; i++) {
    cl_int code;
    struct _cl_context *context;
    l2sr_env *env = open_env(counts[i]);
    struct seen seen = share(env, L2SR_OBSERVATION);
    GOOD(l2sr_env_queue(env, &context, NULL));
    cl_mem other = clCreateBuffer(context, CL_MEM_READ_WRITE, seen.bytes, NULL, &code);
    assert_int_equal(code, CL_SUCCESS);
    GOOD(l2sr_env_place(env, L2SR_OBSERVATION, other));
    GOOD(l2sr_env_place(env, L2SR_OBSERVATION, other)); /* it is there */
    GOOD(l2sr_env_reset(env, NULL, NULL));
    expect_same(env, &seen);
    assert_true(share(env, L2SR_OBSERVATION).values == seen.values);
    struct seen action = share(env, L2SR_ACTION);
    cl_mem words = clCreateBuffer(context, CL_MEM_READ_WRITE, action.bytes, NULL, &code);
    GOOD(l2sr_env_place(env, L2SR_ACTION, words));
    for (int turn = 0; turn < 3; turn++) {
      GOOD(l2sr_env_decide(env, "random"));
      expect_same(env, &action);
      GOOD(l2sr_env_step(env, NULL));
      expect_same(env, &seen);
    }
    GOOD(l2sr_env_close(env));
    clReleaseMemObject(other);
    clReleaseMemObject(words);
  }
  expect_little_is_held();
}

/* Over the bus goes what has changed. */
static void final_arrays_are_copied_once(void **state) {
  struct l2sr_shape shape = {.bytes = sizeof shape};
  const void *values;
  l2sr_env *env = open_env(4);
  (void)state;
  GOOD(l2sr_env_shape(env, L2SR_FINAL_OBSERVATION, &shape));
  GOOD(l2sr_env_pin(env, L2SR_FINAL_OBSERVATION, &values));
  GOOD(l2sr_env_reset(env, NULL, NULL));
  for (int step = 1; step <= 2 * BUDGET; step++) {
    size_t before = driver_state()->read;
    GOOD(l2sr_env_decide(env, "random"));
    GOOD(l2sr_env_step(env, NULL));
    assert_int_equal((driver_state()->read - before) / shape.total, step % BUDGET == 0);
  }
  GOOD(l2sr_env_close(env));
}

/* ---- what drivers refuse ------------------------------------------------------------------------------- */

/* The handle goes on without, and everything that was made is given back. */
static void check_refused(const char *call, long passes, uint32_t envs, enum l2sr_code wanted,
                          const char *text) {
  uint64_t address = 0;
  int device;
  l2sr_env *env = open_env(envs);
  driver_state()->refused = call;
  driver_state()->passes = passes;
  enum l2sr_code code = l2sr_env_cuda(env, L2SR_STANDARDISED, &address, &device);
  driver_state()->refused = NULL;
  if (code != wanted || !strstr(l2sr_last_error(), text))
    fail_msg("%s: %d, %s", call, (int)code, l2sr_last_error());
  GOOD(l2sr_env_reset(env, NULL, NULL));
  struct seen seen = share(env, L2SR_STANDARDISED);
  expect_same(env, &seen);
  GOOD(l2sr_env_close(env));
  expect_little_is_held();
}

/* The first call, and that for the second piece. */
static void what_drivers_refuse_is_told(void **state) {
  static const char *const once[] = {"cuInit",
                                     "cuDeviceGetCount",
                                     "cuDevicePrimaryCtxRetain",
                                     "cuMemGetAllocationGranularity",
                                     "cuMemAddressReserve",
                                     "cuCtxPushCurrent_v2"},
                           *const twice[] = {"cuMemCreate", "cuMemMap", "cuMemSetAccess",
                                             "cuMemExportToShareableHandle"};
  static const char out[] = "OUT_OF_MEMORY", invalid[] = "CL_INVALID_VALUE";
  static const char import[] = "clCreateBufferWithProperties";
  (void)state;
  for (size_t i = 0; i < sizeof once / sizeof *once; i++)
    check_refused(once[i], 0, MOST, L2SR_NO_MEMORY, out);
  for (size_t i = 0; i < sizeof twice / sizeof *twice; i++) {
    check_refused(twice[i], 0, 2, L2SR_NO_MEMORY, out);
    check_refused(twice[i], 1, MOST, L2SR_NO_MEMORY, out);
  }
  check_refused(import, 0, 2, L2SR_DEVICE_FAILED, invalid);
  check_refused(import, 1, MOST, L2SR_DEVICE_FAILED, invalid);
}

static bool has_cpu(void) {
  static const struct l2sr_slices slices = {
      .bytes = sizeof slices, .values = &images[0][0][0], .count = 1, .height = N, .width = N};
  struct l2sr_config config = {.bytes = sizeof config, .slices = &slices, .envs = 1, .device = CPU};
  l2sr_env *env;
  enum l2sr_code code = l2sr_env_open(&config, &env);
  if (code == L2SR_GOOD) l2sr_env_close(env);
  return code != L2SR_NO_DEVICE;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(arrays_are_the_memory_itself), cmocka_unit_test(large_arrays_are_in_several_buffers), cmocka_unit_test(a_callback_sees_cudas_memory),
      cmocka_unit_test(only_large_arrays_are_copied), cmocka_unit_test(a_placed_array_is_copied),
      cmocka_unit_test(final_arrays_are_copied_once), cmocka_unit_test(contexts_are_taken_again),
      cmocka_unit_test(what_drivers_refuse_is_told)};
  enum { SKIPPED = 77 };
  if (!has_cpu()) {
    puts("did not run: what is shared with CUDA (no PoCL, whose memory the stand-ins share)");
    return SKIPPED;
  }
  return cmocka_run_group_tests(tests, make_images, NULL);
}
