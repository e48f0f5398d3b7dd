/* Columns of measured k-space that were added as zeros: found, and no actions. */
#include "engine/files/part.h"
#include "engine/files/store.h"
#include "systems/data/layout.h"
#include "systems/data/padding.h"
#include "systems/sampling/samplers.h"
#include "tests/support.h"

#include <string.h>

enum { HEIGHT = 48, WIDTH = 44, COILS = 2, SLICES = 3, FLOATS = 2 * SLICES * COILS * HEIGHT * WIDTH };

static struct options scene(struct arena *arena, uint32_t height, uint32_t width) {
  struct options options;
  option_defaults(&option_table, &options, arena);
  options.data.size = (struct option_sides){height, width};
  options.data.source = SOURCE_KSPACE;
  options.data.kspace = KSPACE_MEASURED;
  return options;
}

static void expect_padded(const struct options *options, uint32_t left, uint32_t right) {
  assert_int_equal(options->acquisition.padded_left, left);
  assert_int_equal(options->acquisition.padded_right, right);
}

/* ---- what headers say ---------------------------------------------------------------------------------- */

/* fastMRI: floor(matrix / 2) - centre columns before, then maximum + 1 that were encoded. */
static void headers_say_what_was_encoded(void **state) {
  static const struct {
    size_t encoded, width, centre, last;
    bool told;
    size_t left, right;
  } rows[] = {{368, 368, 166, 333, true, 18, 16}, {372, 372, 186, 371, true, 0, 0},
              {45, 45, 20, 40, true, 2, 2},       {368, 320, 166, 333, false, 0, 0},
              {368, 368, 190, 367, false, 0, 0},  {368, 368, 100, 300, false, 0, 0}};
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    size_t left = 0, right = 0;
    struct layout_header header = {
        .encoded_y = rows[i].encoded, .limits = true, .centre = rows[i].centre, .last = rows[i].last};
    assert_int_equal(layout_padding(&header, rows[i].width, &left, &right), rows[i].told);
    assert_true(left == rows[i].left && right == rows[i].right);
    header.limits = false;
    assert_false(layout_padding(&header, rows[i].width, &left, &right));
  }
}

/* ---- what is found ------------------------------------------------------------------------------------- */

static float *make_kspace(struct arena *arena, size_t left, size_t right) {
  float *kspace = ARENA_NEW(arena, float, FLOATS);
  for (size_t i = 0; i < FLOATS; i++) {
    size_t column = i / 2 % WIDTH;
    kspace[i] = column < left || column >= WIDTH - right ? 0 : (float)(1 + i % 13);
  }
  return kspace;
}

/* A file with a header of the encoded steps, or with none where `header` is NULL. */
static void write_volume(struct folder *folder, const char *name, const float *kspace, const char *header) {
  size_t sides[] = {SLICES, COILS, HEIGHT, WIDTH};
  struct store *store;
  struct error error;
  assert_good(folder_make(support_path(folder, "test"), &error), &error);
  assert_good(store_create(&store, support_path(folder, name), &error), &error);
  assert_good(store_write(store, "kspace", STORE_C64, 4, sides, kspace, false, &error), &error);
  if (header) assert_good(store_write_text(store, "ismrmrd_header", header, &error), &error);
  assert_good(store_commit(store, &error), &error);
}

static const char *header_of(struct arena *arena, int centre, int last) {
  return arena_text(
      arena,
      "<ismrmrdHeader><encoding><encodedSpace><matrixSize><x>%d</x><y>%d</y></matrixSize></encodedSpace>"
      "<reconSpace><matrixSize><x>%d</x><y>%d</y></matrixSize></reconSpace><encodingLimits>"
      "<kspace_encoding_step_0><maximum>1</maximum><center>1</center></kspace_encoding_step_0>"
      "<kspace_encoding_step_1><minimum>0</minimum><maximum>%d</maximum><center>%d</center>"
      "</kspace_encoding_step_1></encodingLimits></encoding></ismrmrdHeader>",
      HEIGHT, WIDTH, HEIGHT, WIDTH, last, centre);
}

/* Columns are the scene's where images keep their width, or the k-space itself is cut. */
static void zeros_are_found_by_looking(void **state) {
  struct arena *arena = arena_open();
  struct slices_in_memory slices = {make_kspace(arena, 5, 4), SLICES, COILS, HEIGHT, WIDTH, NULL, NULL};
  struct options options = scene(arena, WIDTH, WIDTH);
  (void)state;
  padding_find(&options, &slices);
  expect_padded(&options, 5, 4);
  options.data.size = (struct option_sides){36, 40};
  padding_find(&options, &slices);
  expect_padded(&options, 0, 0);
  options.data.crop = CROP_KSPACE;
  padding_find(&options, &slices);
  expect_padded(&options, 3, 2);
  options.acquisition.geometry = GEOMETRY_POINTS;
  padding_find(&options, &slices);
  expect_padded(&options, 0, 0);
  options.acquisition.geometry = GEOMETRY_LINES;
  options.given[OPTION_ROW_acquisition_padded_right] = true;
  options.acquisition.padded_right = 1;
  padding_find(&options, &slices);
  expect_padded(&options, 0, 1);
  options = scene(arena, WIDTH, WIDTH);
  options.data.kspace = KSPACE_IMAGE;
  padding_find(&options, &slices);
  expect_padded(&options, 0, 0);
  arena_close(arena);
}

/* The header decides where it says; what not all volumes have is none. */
static void volumes_share_what_is_padded(void **state) {
  struct folder folder;
  (void)state;
  support_open_folder(&folder);
  struct options options = scene(folder.arena, HEIGHT, WIDTH);
  options.data.path = folder.path;
  options.data.crop = CROP_KSPACE;
  write_volume(&folder, "test/a.h5", make_kspace(folder.arena, 6, 7), header_of(folder.arena, 16, 32));
  padding_find(&options, NULL);
  expect_padded(&options, 6, 5);
  write_volume(&folder, "test/b.h5", make_kspace(folder.arena, 4, 8), NULL);
  padding_find(&options, NULL);
  expect_padded(&options, 4, 5);
  support_write_text(support_path(&folder, "test/c.h5"), "no volume");
  padding_find(&options, NULL);
  expect_padded(&options, 4, 5);
  support_close_folder(&folder);
}

/* ---- scans --------------------------------------------------------------------------------------------- */

static void check_table(const char *sampler, const struct options *options, const struct acquisition *scan) {
  uint32_t table[368];
  struct error error;
  const struct sampler *row = sampler_find(sampler, &error);
  assert_good(row && sampler_fill(row, options, scan, table, &error), &error);
  size_t ranked = 0;
  for (size_t i = 0; i < 368; i++) {
    assert_true(table[i] == UINT32_MAX || !acquisition_is_initial(scan, i));
    ranked += table[i] != UINT32_MAX;
  }
  assert_int_equal(ranked, scan->budget);
}

/* 334 of 368 lines: a quarter are 83, an eighth, even, 40. */
static void budgets_leave_them_out(void **state) {
  struct arena *arena = arena_open();
  struct options options = scene(arena, 640, 368);
  struct acquisition scan;
  struct error error;
  uint8_t mask[368];
  size_t taken = 0;
  (void)state;
  options.acquisition.padded_left = 18;
  options.acquisition.padded_right = 16;
  assert_good(acquisition_plan(&scan, &options, 4, "base", &error), &error);
  assert_int_equal(scan_shape_choices(&scan.shape), 334);
  assert_int_equal(scan.initial_lines, 40);
  assert_int_equal(scan.budget, 43);
  acquisition_initial(&scan, mask);
  for (size_t i = 0; i < 368; i++) {
    assert_int_equal(mask[i], i < 18 || i >= 352 || (i >= 164 && i < 204));
    taken += mask[i];
  }
  assert_int_equal(taken, 18 + 16 + 40);
  check_table("equispaced_one_sided", &options, &scan);
  check_table("equispaced_two_sided", &options, &scan);
  options.acquisition.budget = 295;
  assert_false(acquisition_plan(&scan, &options, 4, "base", &error));
  assert_holds(error.text, "acquisition.budget is 295; only 294 of 334 lines are free after 40 initial ones");
  arena_close(arena);
}

static void refuse(struct options *options, const char *part) {
  struct acquisition scan;
  struct error error;
  assert_false(acquisition_plan(&scan, options, 4, "base", &error));
  assert_holds(error.text, part);
}

static void what_cannot_be_padding_is_refused(void **state) {
  struct arena *arena = arena_open();
  struct options options = scene(arena, 64, 64);
  (void)state;
  options.acquisition.padded_left = 32;
  refuse(&options,
         "acquisition.padded_left is 32 and .padded_right 0 of 64 columns, and leave nothing of the centre");
  options.acquisition.padded_left = 3;
  options.acquisition.geometry = GEOMETRY_POINTS;
  refuse(&options, "which are of lines of measured k-space; set both to 0");
  options.acquisition.geometry = GEOMETRY_LINES;
  options.data.kspace = KSPACE_IMAGE;
  refuse(&options, "which are of lines of measured k-space; set both to 0");
  arena_close(arena);
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(headers_say_what_was_encoded), cmocka_unit_test(zeros_are_found_by_looking),
      cmocka_unit_test(volumes_share_what_is_padded), cmocka_unit_test(budgets_leave_them_out),
      cmocka_unit_test(what_cannot_be_padding_is_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
