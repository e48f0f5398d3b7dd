/* Every kernel row against its scalar reference: row counts around the work-group size, odd and non-square
 * sizes, both storages of observations, guard words around every buffer. `test_kernels time` prints bytes
 * over time instead of comparing. */
#include "components/components.h"
#include "engine/fft.h"
#include "engine/kernel_check.h"
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
} sizes[] = {{33, 45}, {32, 32}, {70, 64}, {40, 128}, {20, 256}};

/* points: masks have an entry for every point of k-space. */
static void check_row(const struct kernel_desc *row, size_t height, size_t width, size_t rows, bool half,
                      bool points) {
  size_t actions = points ? height * width : width;
  const size_t shape[SHAPE_COUNT] = {1, width, actions, height * width, 3 * height * width};
  struct check_sizes check = {rows,
                              height,
                              width,
                              shape,
                              TABLE_SHARED,
                              half,
                              (uint32_t)(rows + height),
                              points ? "ACTIONS=PIXELS" : NULL,
                              actions};
  struct check_result result;
  struct error error;
  if (row->fits && !row->fits(height, width)) return;
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

/* A file that names no size is the same program for all of them: two show what there is to see. */
static bool knows_size(const struct kernel_desc *row) {
  static const char *const words[] = {"WIDTH", "HEIGHT", "PIXELS", "ACTIONS"};
  for (const struct source *source = kernel_table.sources; source->name; source++)
    for (size_t w = 0; w < sizeof words / sizeof *words; w++)
      if (!strcmp(source->name, row->file) && strstr(source->text, words[w])) return true;
  return false;
}

/* The references are slow on purpose: group kernels take few rows, item kernels up to some hundreds. */
static void test_row(void **state) {
  const struct kernel_desc *row = *state;
  if (!row->group) return; /* runs in a network only: test_network */
  static const size_t item_rows[] = {1, 7, 64, 65, 300}, group_rows[] = {1, 7};
  bool item = row->launch == LAUNCH_ITEM;
  assert_non_null(row->reference);
  for (size_t s = 0; s < (knows_size(row) ? sizeof sizes / sizeof *sizes : 2); s++)
    for (size_t r = 0; r < (item ? 5u : 2u); r++)
      for (int half = 0; half <= uses_real(row); half++)
        for (int points = 0; points <= (has_mask(row) && s < 3 && r < 2); points++)
          check_row(row, sizes[s].height, sizes[s].width, item ? item_rows[r] : group_rows[r], half, points);
}

int main(void) {
  struct CMUnitTest *tests = calloc(kernel_table.count, sizeof *tests);
  for (size_t i = 0; i < kernel_table.count; i++)
    tests[i] = (struct CMUnitTest){kernel_table.rows[i].name, test_row, NULL, NULL,
                                   (void *)&kernel_table.rows[i]};
  int failed = _cmocka_run_group_tests("kernels", tests, kernel_table.count, open_device, close_device);
  free(tests);
  return failed;
}
