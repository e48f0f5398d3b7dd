/* Every kernel row against its scalar reference: row counts around the work-group size, odd and non-square
 * sizes, both storages of observations, guard words around every buffer.
 *
 *   test_kernels [ROW...]        all rows, or those
 *   test_kernels sizes [ROW...]  at every size, where one row alone would show what two sizes do not
 *   test_kernels time [ROW...]   the time of a launch and the bytes of its arguments over it, on the device of
 *                                L2SR_DEVICE, at 128x128 pixels; nothing is compared */
#include "components/components.h"
#include "engine/device/fft.h"
#include "engine/device/kernel_check.h"
#include "kernels/kernels.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct device device;

static int open_device(void **state) {
  struct error error;
  (void)state;
  if (device_open(&device, "", &error)) return 0;
  fprintf(stderr, "%s\n", error.text);
  return 1;
}

static int close_device(void **state) {
  (void)state;
  device_close(&device);
  return 0;
}

static const struct {
  size_t height, width;
} sizes[] = {{45, 33}, {20, 256}, {32, 32}, {70, 64}, {40, 128}, {9, 44}, {6, 450}};
enum { SIZES = sizeof sizes / sizeof *sizes };
static bool every_size;

/* points: masks have an entry for every point of k-space. */
static void check_row(const struct kernel_desc *row, size_t height, size_t width, size_t rows, bool half,
                      bool points) {
  size_t actions = points ? height * width : width;
  const size_t shape[SHAPE_COUNT] = {1, height, width, actions, height * width, 3 * height * width, [SHAPE_AC] = height * width};
  struct check_sizes check = {.rows = rows,
                              .height = height,
                              .width = width,
                              .shape = shape,
                              .shared_table = TABLE_SHARED,
                              .half = half,
                              .seed = (uint32_t)(rows + height),
                              .macro = points ? "ACTIONS=PIXELS" : NULL,
                              .actions = actions};
  struct check_result result;
  struct error error;
  if (row->fits && !row->fits(height, width)) return;
  if (row->fits == rows_fit && !every_size && (width == 64 || width == 128)) return; /* 32, 256 and 450 have their factors */
  if (!kernel_check(&device, &kernel_table, row, &check, "", &result, &error)) fail_msg("%s", error.text);
  if (result.worst > result.bound)
    fail_msg(
        "%s, %zu rows of %zux%zu, %s, %zu actions: %s[%zu] is %.9g, expected %.9g (error %.3g, bound %.3g)",
        row->name, rows, height, width, half ? "f16" : "f32", actions, result.argument, result.index,
        result.found, result.expected, result.worst, result.bound);
}

static bool uses_real(const struct kernel_desc *row) {
  for (int i = 0; i < ARGS_MOST; i++)
    if (row->args[i].kind != ARG_END && row->args[i].element == ELEMENT_REAL) return true;
  return false;
}

static bool has_mask(const struct kernel_desc *row) {
  for (int i = 0; i < ARGS_MOST; i++)
    if (row->args[i].kind != ARG_END && row->args[i].kind != ARG_VALUE && row->args[i].shape == SHAPE_A)
      return true;
  return false;
}

/* Odd and wide maps show what there is to see, but of kernels that are written for some sizes only. */
static size_t count_sizes(const struct kernel_desc *row) {
  return row->fits || every_size ? SIZES : 2;
}

/* How observations are stored and what masks have an entry for does not depend on the size: the first that
 * the kernel is written for shows it. */
static bool shows_storage(const struct kernel_desc *row, size_t size) {
  for (size_t s = 0; s < size && !every_size; s++)
    if (!row->fits || row->fits(sizes[s].height, sizes[s].width)) return false;
  return true;
}

/* The references are slow on purpose: group kernels take few rows, item kernels up to some hundreds. */
static void test_row(void **state) {
  const struct kernel_desc *row = *state;
  if (!row->group) return; /* runs in a network only: test_network */
  static const size_t item_rows[] = {1, 7, 64, 65, 300}, group_rows[] = {1, 4};
  bool item = row->launch == LAUNCH_ITEM;
  assert_non_null(row->reference);
  for (size_t s = 0; s < count_sizes(row); s++)
    for (size_t r = 0; r < (item ? 5u : 2u); r++)
      for (int half = 0; half <= (uses_real(row) && shows_storage(row, s)); half++)
        for (int points = 0; points <= (has_mask(row) && r < 2 && shows_storage(row, s)); points++)
          check_row(row, sizes[s].height, sizes[s].width, item ? item_rows[r] : group_rows[r], half, points);
}

/* Takes as many rows as keep a large device busy, or a CPU for a while. */
static void time_row(void **state) {
  enum { SIDE = 128, LAUNCHES = 20, CPU_ROWS = 32, GPU_ROWS = 1024 };
  const struct kernel_desc *row = *state;
  static const size_t shape[SHAPE_COUNT] = {1, SIDE, SIDE, SIDE, SIDE * SIDE, 3 * SIDE * SIDE, [SHAPE_AC] = SIDE * SIDE};
  bool gpu = device.facts.kind & CL_DEVICE_TYPE_GPU;
  struct check_sizes check = {.rows = gpu ? GPU_ROWS : CPU_ROWS,
                              .height = SIDE,
                              .width = SIDE,
                              .shape = shape,
                              .shared_table = TABLE_SHARED,
                              .seed = 1,
                              .launches = LAUNCHES};
  struct check_result result;
  struct error error;
  if (!row->group || (row->fits && !row->fits(SIDE, SIDE))) return;
  if (!kernel_check(&device, &kernel_table, row, &check, "", &result, &error)) fail_msg("%s", error.text);
  printf("%-28s %6zu rows %12.3f us %10.3f MB %10.3f GB/s\n", row->name, check.rows, 1e6 * result.seconds,
         1e-6 * result.bytes, 1e-9 * result.bytes / result.seconds);
}

/* Fills `tests` with the named rows, or with all where none is named. 0: there is no such row. */
static size_t choose_rows(struct CMUnitTest *tests, CMUnitTestFunction run, char **names, int count) {
  size_t chosen = 0;
  for (size_t i = 0; i < kernel_table.count; i++) {
    bool wanted = !count;
    for (int n = 0; n < count; n++) wanted |= !strcmp(names[n], kernel_table.rows[i].name);
    if (wanted)
      tests[chosen++] =
          (struct CMUnitTest){kernel_table.rows[i].name, run, NULL, NULL, (void *)&kernel_table.rows[i]};
  }
  for (int n = 0; n < count; n++)
    if (!kernel_row(&kernel_table, names[n])) {
      fprintf(stderr, "there is no kernel '%s'; l2sr describe kernels lists them\n", names[n]);
      return 0;
    }
  return chosen;
}

int main(int argc, char **argv) {
  bool timed = argc > 1 && !strcmp(argv[1], "time");
  every_size = argc > 1 && !strcmp(argv[1], "sizes");
  int first = timed || every_size ? 2 : 1;
  struct CMUnitTest *tests = calloc(kernel_table.count, sizeof *tests);
  size_t count = choose_rows(tests, timed ? time_row : test_row, argv + first, argc - first);
  int failed = count ? _cmocka_run_group_tests("kernels", tests, count, open_device, close_device) : 2;
  free(tests);
  return failed;
}
