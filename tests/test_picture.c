#include "tests/support.h"
#include "tools/draw/picture.h"

#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEIGHT = 20, WIDTH = 24 };

static struct folder folder;

static int open_folder(void **state) {
  (void)state;
  support_open_folder(&folder);
  return 0;
}

static int close_folder(void **state) {
  (void)state;
  support_close_folder(&folder);
  return 0;
}

struct scene {
  float truth[HEIGHT * WIDTH], image[HEIGHT * WIDTH];
  unsigned char mask[WIDTH], initial[WIDTH];
  const char *captions[2];
  struct picture_column column[2];
  struct picture_sheet sheet;
};

/* A black truth with a white corner; the first image misses the corner. */
static void fill_scene(struct scene *scene) {
  *scene = (struct scene){.mask = {[3] = 1, [12] = 1}, .initial = {[12] = 1}};
  scene->truth[0] = 2;
  scene->captions[0] = "SSIM 0.8123";
  scene->captions[1] = "PSNR 28.1 dB";
  scene->column[0] =
      (struct picture_column){"random", scene->image, scene->mask, scene->initial, scene->captions, NULL};
  scene->column[1] =
      (struct picture_column){"a title that is too long for its column", scene->truth, NULL, NULL, NULL, NULL};
  scene->sheet = (struct picture_sheet){.title = {"a sheet", "of two lines, of which this one is too long"},
                                        .truth = scene->truth,
                                        .height = HEIGHT,
                                        .width = WIDTH,
                                        .white = 2,
                                        .error_white = 2,
                                        .columns = scene->column,
                                        .column_count = 2,
                                        .lines = 2};
}

static struct decoded write_and_decode(const struct picture_sheet *sheet, const char *name) {
  const char *path = support_path(&folder, name);
  struct error error;
  assert_good(figure_save(path, FIGURE_PNG, 1, picture_draw, sheet, &error), &error);
  return support_read_png(folder.arena, path);
}

static void assert_colour(const struct decoded *decoded, size_t x, size_t y, unsigned expected) {
  unsigned found = decoded->pixel[y * decoded->width + x] & 0xffffff;
  if (found != expected) fail_msg("pixel %zu, %zu is %06x, not %06x", x, y, found, expected);
}

/* The middle of an image pixel, in a panel of the picture. */
static size_t middle(const struct picture_layout *layout, size_t start, size_t pixel) {
  return start + layout->scale * pixel + layout->scale / 2;
}

static void test_size_is_as_laid_out(void **state) {
  (void)state;
  struct scene scene;
  struct picture_layout layout;
  fill_scene(&scene);
  picture_layout(&scene.sheet, &layout);
  struct decoded decoded = write_and_decode(&scene.sheet, "size.png");
  assert_int_equal(decoded.width, layout.width);
  assert_int_equal(decoded.height, layout.height);
  assert_int_equal(layout.scale, 8);
  assert_int_equal(layout.panel_width, 192);
  assert_true(layout.left + 2 * layout.step + layout.panel_width < layout.width);
  scene.sheet.width = 400;
  picture_layout(&scene.sheet, &layout);
  assert_int_equal(layout.scale, 1);
}

static void test_known_pixels(void **state) {
  (void)state;
  struct scene scene;
  struct picture_layout layout;
  fill_scene(&scene);
  picture_layout(&scene.sheet, &layout);
  struct decoded decoded = write_and_decode(&scene.sheet, "pixels.png");
  size_t first = layout.left + layout.step, second = first + layout.step;
  assert_colour(&decoded, 0, 0, 0xffffff);
  assert_colour(&decoded, middle(&layout, layout.left, 0), middle(&layout, layout.image, 0), 0xffffff);
  assert_colour(&decoded, middle(&layout, layout.left, 2), middle(&layout, layout.image, 2), 0x000000);
  assert_colour(&decoded, middle(&layout, first, 0), middle(&layout, layout.image, 0), 0x000000);
  assert_colour(&decoded, middle(&layout, first, 0), middle(&layout, layout.error, 0), 0xfcffa4);
  assert_colour(&decoded, middle(&layout, first, 5), middle(&layout, layout.error, 5), 0x000004);
  assert_colour(&decoded, middle(&layout, second, 0), middle(&layout, layout.error, 0), 0x000004);
  /* the box of the detail, just outside of the region */
  assert_colour(&decoded, layout.left + layout.scale * layout.detail_left - 1,
                middle(&layout, layout.image, HEIGHT / 2), 0xffd200);
}

static void test_mask_lines(void **state) {
  (void)state;
  struct scene scene;
  struct picture_layout layout;
  fill_scene(&scene);
  picture_layout(&scene.sheet, &layout);
  struct decoded decoded = write_and_decode(&scene.sheet, "mask.png");
  size_t left = layout.left + layout.step, y = layout.mask + layout.mask_height / 2;
  assert_colour(&decoded, middle(&layout, left, 2), y, 0x000000);
  assert_colour(&decoded, middle(&layout, left, 3), y, 0xffffff);
  assert_colour(&decoded, middle(&layout, left, 4), y, 0x000000);
  assert_colour(&decoded, middle(&layout, left, 12), y, 0xe69f00);
  assert_colour(&decoded, middle(&layout, left + layout.step, 3), y, 0xffffff); /* no mask: paper */
  scene.column[0].mask = NULL;
  picture_layout(&scene.sheet, &layout);
  assert_int_equal(layout.mask_height, 0);
  assert_int_equal(layout.mask, layout.caption);
  write_and_decode(&scene.sheet, "maskless.png");
}

/* Masks of cells are a panel as high as the image. */
static void test_mask_cells(void **state) {
  (void)state;
  struct scene scene;
  struct picture_layout layout;
  unsigned char mask[HEIGHT * WIDTH] = {[2 * WIDTH + 3] = 1, [5 * WIDTH + 12] = 1};
  unsigned char initial[HEIGHT * WIDTH] = {[5 * WIDTH + 12] = 1};
  fill_scene(&scene);
  scene.sheet.cells = true;
  scene.column[0].mask = mask;
  scene.column[0].initial = initial;
  picture_layout(&scene.sheet, &layout);
  struct decoded decoded = write_and_decode(&scene.sheet, "cells.png");
  size_t left = layout.left + layout.step;
  assert_int_equal(layout.mask_height, layout.panel_height);
  assert_colour(&decoded, middle(&layout, left, 3), middle(&layout, layout.mask, 2), 0xffffff);
  assert_colour(&decoded, middle(&layout, left, 3), middle(&layout, layout.mask, 3), 0x000000);
  assert_colour(&decoded, middle(&layout, left, 12), middle(&layout, layout.mask, 5), 0xe69f00);
  assert_colour(&decoded, middle(&layout, left, 12), middle(&layout, layout.mask, 2), 0x000000);
}

static void test_detail_is_enlarged(void **state) {
  (void)state;
  struct scene scene;
  struct picture_layout layout;
  fill_scene(&scene);
  picture_layout(&scene.sheet, &layout);
  scene.image[layout.detail_top * WIDTH + layout.detail_left] = 1;
  struct decoded decoded = write_and_decode(&scene.sheet, "detail.png");
  size_t left = layout.left + layout.step;
  assert_colour(&decoded, left, layout.detail, 0x808080);
  assert_colour(&decoded, left + layout.panel_width / layout.detail_width - 1, layout.detail, 0x808080);
  assert_colour(&decoded, left + layout.panel_width / layout.detail_width, layout.detail, 0x000000);
}

static void test_no_number_is_magenta(void **state) {
  (void)state;
  struct scene scene;
  struct picture_layout layout;
  fill_scene(&scene);
  picture_layout(&scene.sheet, &layout);
  scene.image[7] = NAN;
  scene.image[8] = INFINITY;
  struct decoded decoded = write_and_decode(&scene.sheet, "nan.png");
  size_t left = layout.left + layout.step;
  assert_colour(&decoded, middle(&layout, left, 7), middle(&layout, layout.image, 0), 0xff00ff);
  assert_colour(&decoded, middle(&layout, left, 7), middle(&layout, layout.error, 0), 0xff00ff);
  assert_colour(&decoded, middle(&layout, left, 8), middle(&layout, layout.image, 0), 0xffffff);
}

/* Text stays inside its column: the gap beside it is paper. */
static void test_long_titles_are_cut(void **state) {
  (void)state;
  struct scene scene;
  struct picture_layout layout;
  fill_scene(&scene);
  picture_layout(&scene.sheet, &layout);
  struct decoded decoded = write_and_decode(&scene.sheet, "titles.png");
  size_t left = layout.left + 2 * layout.step;
  for (size_t y = layout.heading; y < layout.image; y++) {
    assert_colour(&decoded, left - 1, y, 0xffffff);
    for (size_t x = left + layout.panel_width; x < decoded.width; x++)
      assert_colour(&decoded, x, y, 0xffffff);
  }
}

/* Nothing is drawn outside, and what stands in a panel of the truth has room there. */
static void test_all_is_inside(void **state) {
  (void)state;
  for (size_t width = 20; width <= 320; width += 100) {
    struct scene scene;
    float *pixel = ARENA_NEW(folder.arena, float, HEIGHT *width);
    unsigned char *mask = ARENA_NEW(folder.arena, unsigned char, width);
    fill_scene(&scene);
    scene.sheet.width = width;
    scene.sheet.truth = scene.column[0].image = scene.column[1].image = pixel;
    scene.column[0].mask = scene.column[0].initial = mask;
    struct figure_size size = figure_measure(picture_draw, &scene.sheet);
    assert_true(size.left >= 0 && size.top >= 0 && size.right <= size.width && size.bottom <= size.height);
  }
}

static void test_small_and_constant_images(void **state) {
  (void)state;
  const float pixel[1] = {0};
  struct picture_column column = {"one", pixel, NULL, NULL, NULL, NULL};
  struct picture_sheet sheet = {{NULL}, pixel, 1, 1, 0, 0, &column, 1, 0, false, 0}; /* 0 / 0: no number */
  struct picture_layout layout;
  picture_layout(&sheet, &layout);
  struct decoded decoded = write_and_decode(&sheet, "one.png");
  assert_colour(&decoded, layout.left + layout.step, layout.image, 0xff00ff);
}

static bool save(const char *name, const struct picture_sheet *sheet, struct error *error) {
  return figure_save(support_path(&folder, name), FIGURE_PNG, 1, picture_draw, sheet, error);
}

static void test_unwritable_path_leaves_nothing(void **state) {
  (void)state;
  struct scene scene;
  struct error error;
  fill_scene(&scene);
  support_write_text(support_path(&folder, "plain"), "a file");
  assert_false(save("plain/sheet.png", &scene.sheet, &error));
  assert_holds(error.text, "plain/sheet.png: Not a directory");
  assert_false(save("missing/sheet.png", &scene.sheet, &error));
  assert_holds(error.text, "missing/sheet.png: No such file or directory");
  assert_int_equal(access(support_path(&folder, "missing"), F_OK), -1);
  assert_good(mkdir(support_path(&folder, "sheet.png"), 0777) == 0, &error);
  size_t before = support_count(folder.path);
  assert_false(save("sheet.png", &scene.sheet, &error));
  assert_holds(error.text, "it is a folder; name a file");
  assert_int_equal(support_count(folder.path), before);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_size_is_as_laid_out),
      cmocka_unit_test(test_known_pixels),
      cmocka_unit_test(test_mask_lines),
      cmocka_unit_test(test_mask_cells),
      cmocka_unit_test(test_detail_is_enlarged),
      cmocka_unit_test(test_no_number_is_magenta),
      cmocka_unit_test(test_long_titles_are_cut),
      cmocka_unit_test(test_all_is_inside),
      cmocka_unit_test(test_small_and_constant_images),
      cmocka_unit_test(test_unwritable_path_leaves_nothing),
  };
  return cmocka_run_group_tests(tests, open_folder, close_folder);
}
