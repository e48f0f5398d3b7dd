/* Plots: what the axes end at, and that lines, dots and frames are where they belong. */
#include "tests/support.h"
#include "tools/draw/plot.h"

#include <math.h>
#include <png.h>
#include <string.h>

static const double loss[] = {-0.2, -0.6, NAN, -0.8}, flat[] = {3, 3, 3, 3}, none[] = {NAN, NAN, NAN, NAN};

static struct plot plot_of(const double *above, const double *below, size_t points) {
  return (struct plot){
      "a training",
      "epoch",
      points,
      {{"loss", {{"training", above, points, NULL}}}, {"SSIM", {{"validation", below, points, NULL}}}}};
}

static void axes_end_at_round_numbers(void **state) {
  struct plot plot = plot_of(loss, flat, 4);
  struct plot_frame frame = plot_frame(&plot, 0);
  (void)state;
  assert_true(fabs(frame.low + 0.8) < 1e-12 && fabs(frame.high + 0.2) < 1e-12 &&
              fabs(frame.step - 0.2) < 1e-12);
  frame = plot_frame(&plot, 1);
  assert_true(frame.low <= 3 && frame.high > frame.low && frame.high < 3.1);
  plot = plot_of(none, none, 4);
  frame = plot_frame(&plot, 0);
  assert_true(frame.low == 0 && fabs(frame.high - 1) < 1e-12);
}

static unsigned pixel(const unsigned char *data, size_t width, size_t x, size_t y) {
  const unsigned char *p = data + 3 * (y * width + x);
  return (unsigned)p[0] << 16 | (unsigned)p[1] << 8 | p[2];
}

static unsigned char *read_image(struct folder *folder, const char *path, png_image *image) {
  assert_true(png_image_begin_read_from_file(image, path));
  image->format = PNG_FORMAT_RGB;
  unsigned char *data = arena_new(folder->arena, PNG_IMAGE_SIZE(*image));
  assert_true(png_image_finish_read(image, NULL, data, 0, NULL));
  return data;
}

static void lines_are_drawn(void **state) {
  struct folder folder;
  struct error error;
  (void)state;
  support_open_folder(&folder);
  struct plot plot = plot_of(loss, flat, 4);
  struct plot_frame frame = plot_frame(&plot, 0);
  const char *path = support_path(&folder, "curves.png");
  assert_good(plot_write(path, &plot, &error), &error);
  png_image image = {.version = PNG_IMAGE_VERSION};
  unsigned char *data = read_image(&folder, path, &image);
  size_t third = (frame.width - 1) / 3, lowest = frame.top + frame.height - 1, w = image.width;
  assert_int_equal(pixel(data, w, 0, 0), 0xffffff);
  assert_int_equal(pixel(data, w, frame.left, frame.top), 0x1f61a8);          /* the first point */
  assert_int_equal(pixel(data, w, frame.left + 3 * third, lowest), 0x1f61a8); /* the last */
  assert_int_equal(pixel(data, w, frame.left + third / 2, frame.top + frame.height / 3), 0x1f61a8);
  assert_int_equal(pixel(data, w, frame.left + 5 * third / 2, lowest - frame.height / 6),
                   0xffffff); /* the gap */
  size_t bytes, again;
  const unsigned char *first = support_read(folder.arena, path, &bytes);
  plot_write(path, &plot, &error);
  assert_memory_equal(first, support_read(folder.arena, path, &again), bytes);
  for (size_t points = 1; points < 3000; points += 999) { /* any number of them */
    double *value = ARENA_NEW(folder.arena, double, points);
    for (size_t i = 0; i < points; i++) value[i] = sin((double)i) * 1e-9;
    plot = plot_of(value, value, points);
    assert_good(plot_write(path, &plot, &error), &error);
  }
  support_close_folder(&folder);
}

/* Points may lie anywhere on the axis; a plot may have three panels. */
static void points_lie_where_they_are_said_to(void **state) {
  static const double value[] = {0, 1}, at[] = {26, 101};
  struct folder folder;
  struct error error;
  (void)state;
  support_open_folder(&folder);
  struct plot plot = {"a policy", "roll-outs", 101, {{.title = "a"}, {.title = "b"}, {.title = "c"}}};
  plot.panel[2].line[0] = (struct plot_line){"training", value, 2, at};
  const char *path = support_path(&folder, "curves.png");
  assert_good(plot_write(path, &plot, &error), &error);
  struct plot_frame frame = plot_frame(&plot, 2);
  png_image image = {.version = PNG_IMAGE_VERSION};
  unsigned char *data = read_image(&folder, path, &image);
  size_t lowest = frame.top + frame.height - 1, first = frame.left + (frame.width - 1) / 4;
  assert_true(image.height > lowest);
  assert_int_equal(pixel(data, image.width, first, lowest), 0x1f61a8);
  assert_int_equal(pixel(data, image.width, frame.left + frame.width - 1, frame.top), 0x1f61a8);
  assert_int_equal(pixel(data, image.width, first - 20, lowest - 3), 0xffffff); /* nothing before the first */
  support_close_folder(&folder);
}

static void places_that_cannot_be_written_are_refused(void **state) {
  struct plot plot = plot_of(loss, flat, 4);
  struct error error;
  (void)state;
  assert_false(plot_write("/nowhere/curves.png", &plot, &error));
  assert_holds(error.text, "cannot write /nowhere/curves.png");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(axes_end_at_round_numbers),
      cmocka_unit_test(lines_are_drawn),
      cmocka_unit_test(points_lie_where_they_are_said_to),
      cmocka_unit_test(places_that_cannot_be_written_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
