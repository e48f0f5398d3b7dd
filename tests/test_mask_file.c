/* Masks from files: what numpy writes, digits, and what is neither. */
#include "engine/files/store.h"
#include "systems/sampling/mask_file.h"
#include "tests/support.h"

#include <string.h>
#include <sys/stat.h>

static struct folder folder;
static struct acquisition acquisition;
enum { N = 6 };

static int open_folder(void **state) {
  (void)state;
  support_open_folder(&folder);
  acquisition = (struct acquisition){.shape = {N, N, N}, .geometry = GEOMETRY_LINES};
  return 0;
}

static int close_folder(void **state) {
  (void)state;
  support_close_folder(&folder);
  return 0;
}

static void expect_file(const char *name, const char *want) {
  uint8_t mask[N * N + 1] = {0};
  struct error error;
  assert_good(mask_file_read(support_path(&folder, name), &acquisition, mask, &error), &error);
  for (size_t i = 0; i < acquisition.shape.actions; i++) mask[i] = mask[i] ? '1' : '0';
  assert_string_equal((const char *)mask, want);
}

static void expect_text(const char *text, const char *want) {
  support_write_text(support_path(&folder, "mask.txt"), text);
  expect_file("mask.txt", want);
}

static void expect_refusal(const char *text, const char *part) {
  uint8_t mask[N * N];
  struct error error;
  const char *path = support_path(&folder, "mask.txt");
  if (text) support_write_text(path, text);
  assert_false(mask_file_read(path, &acquisition, mask, &error));
  assert_int_equal(error.code, ERROR_FILE);
  assert_holds(error.text, part);
}

#define ONE "1.000000000000000000e+00"
#define ZERO "0.000000000000000000e+00"

static void what_numpy_writes_is_taken(void **state) {
  (void)state;
  expect_text(ZERO "\n" ONE "\n" ONE "\n" ZERO "\n" ONE "\n" ZERO "\n", "011010"); /* savetxt(f, mask) */
  expect_text(ZERO " " ONE " " ONE " " ZERO " " ONE " " ZERO "\n", "011010"); /* savetxt(f, mask[None]) */
  expect_text("0,1,1,0,1,0\n", "011010");
  expect_text("# a mask of 6 lines, 11\n0.0;1.0;1.;0.;1;0\r\n", "011010");
  expect_text("0 1 1 # 1\n0 1 0", "011010");
  expect_text("False\nTrue\nTrue\nFalse\nTrue\nFalse\n", "011010");
  expect_text("+1 -0 1e0 0E+5 1 0", "101010");
  expect_text("\xef\xbb\xbf" "0 1 1 0 1 0", "011010"); /* as editors mark UTF-8 */
}

static void digits_are_taken(void **state) {
  (void)state;
  expect_text("011010\n", "011010");
  expect_text("011 010", "011010");
  expect_text("01\n10\n10\n", "011010");
  expect_text("011010#", "011010");
}

static const char *rows_of(const char *row, size_t count) {
  const char *text = "";
  for (size_t i = 0; i < count; i++) text = arena_text(folder.arena, "%s%s\n", text, row);
  return text;
}

/* All samples of one mask of columns; no other samples, which are whole columns no more. */
static void equal_rows_are_one_mask(void **state) {
  (void)state;
  expect_text(rows_of(ZERO " " ONE " " ONE " " ZERO " " ONE " " ZERO, N), "011010");
  expect_refusal(
      arena_text(folder.arena, "%s1 1 1 1 1 1", rows_of("0 1 1 0 1 0", N - 1)),
      "holds 6 x 6 values, and its rows differ; whole columns are acquired: give one row of 6 values");
  expect_refusal(rows_of("0 1 1 0 1 0", 2), "mask.txt holds 12 values; 6 are expected at data.size 6");
  acquisition.geometry = GEOMETRY_POINTS;
  acquisition.shape.actions = N * N;
  expect_text(rows_of("0 1 1 0 1 0", N), "011010011010011010011010011010011010");
}

static void other_texts_are_refused(void **state) {
  (void)state;
  expect_refusal("0101010101010101010101010101010101010101010101010101010101010101010101012", "holds '2'");
  expect_refusal("011020\n", "mask.txt holds '2'; it must hold 6 values 0 or 1");
  expect_refusal("0 1 0.5 0 0 0", "holds '0.5'; it must hold 6 values 0 or 1");
  expect_refusal("0 1 nan 0 0 0", "holds 'nan'");
  expect_refusal("0 1 1.0x 0 0 0", "holds '1.0x'");
  expect_refusal("[0 1 0 0 1 0]", "holds '[0'");
  expect_refusal("3 5", "holds '3'");
  expect_refusal("", "holds 0 values; 6 are expected");
  expect_refusal("0101011", "holds 7 values; 6 are expected");
  expect_refusal("\223NUMPY",
                 "mask.txt is a numpy array; write its 6 values 0 or 1 as text, as numpy.savetxt(");
  expect_refusal(rows_of("0000000000000000000000000000000000000000000000000000000000000000000000001.0", 1),
                 "it must hold 6 values 0 or 1");
  remove(support_path(&folder, "mask.txt"));
  expect_refusal(NULL, "mask.txt: No such file");
  assert_int_equal(mkfifo(support_path(&folder, "mask.txt"), 0600), 0);
  expect_refusal(NULL, "mask.txt: it is a pipe, not a file");
}

static void stored_masks_are_taken(void **state) {
  static const float values[N] = {0, 1, 1, 0, 1, 0};
  float rows[N][N];
  struct store *store;
  struct error error;
  (void)state;
  for (size_t i = 0; i < N; i++) memcpy(rows[i], values, sizeof values);
  for (int rank = 1; rank < 3; rank++) {
    assert_good(store_create(&store, support_path(&folder, "mask.h5"), &error), &error);
    assert_good(store_write(store, "mask", STORE_F32, rank, (size_t[]){N, N}, rows, false, &error), &error);
    assert_good(store_commit(store, &error), &error);
    expect_file("mask.h5", "011010");
  }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_folder, close_folder)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(what_numpy_writes_is_taken), TEST(digits_are_taken),       TEST(equal_rows_are_one_mask),
      TEST(other_texts_are_refused),    TEST(stored_masks_are_taken),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
