/* Charts: what the axes end at, that points are where they belong, and that nothing leaves a picture. */
#include "tests/support.h"
#include "tools/draw/chart.h"
#include "tools/draw/marks.h"

#include <math.h>
#include <string.h>

enum { POINTS = 4 };
static const double count[] = {1, 2, 3, 4}, loss[] = {-0.2, -0.6, NAN, -0.8}, flat[] = {3, 3, 3, 3},
                    none[] = {NAN, NAN, INFINITY, 1e200};

static struct chart_line line_of(const double *y) {
  return (struct chart_line){"training", count, y, POINTS, 0};
}

/* ---- axes ---------------------------------------------------------------------------------------------- */

struct seen {
  const struct chart *chart;
  struct chart_frame *frame;
};

static void see_frame(struct figure *figure, const void *what) {
  const struct seen *seen = what;
  *seen->frame = chart_frame(figure, seen->chart, 0, 0);
}

static struct chart_frame frame_of(const struct chart *chart) {
  struct chart_frame frame;
  figure_measure(see_frame, &(struct seen){chart, &frame});
  return frame;
}

static struct chart_frame frame_of_line(const double *y) {
  struct chart_line line = line_of(y);
  struct chart chart = {.across = "epoch", .up = "loss", .lines = &line, .line_count = 1};
  return frame_of(&chart);
}

static bool is_near(double a, double b) {
  return fabs(a - b) <= 1e-12 * fmax(1, fabs(b));
}

static void axes_end_at_round_numbers(void **state) {
  (void)state;
  struct chart_frame frame = frame_of_line(loss);
  assert_true(is_near(frame.y_low, -0.8) && is_near(frame.y_high, -0.2) && is_near(frame.y_step, 0.1));
  assert_true(is_near(frame.x_low, 1) && is_near(frame.x_high, 4) && is_near(frame.x_step, 1));
  frame = frame_of_line(flat);
  assert_true(frame.y_low <= 3 && frame.y_high > 3 && frame.y_high < 3.1);
  frame = frame_of_line(none);
  assert_true(is_near(frame.y_low, 0) && is_near(frame.y_high, 1));
}

/* The numbers at an axis, however long, stand beside each other and in the picture. */
static void numbers_have_room(void **state) {
  static const double ends[][2] = {{1, 1e6}, {999999, 1000000}, {0, 1e15}, {1, 1}};
  (void)state;
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
    struct chart_line line = {"a", ends[i], flat, 2, 0};
    struct chart chart = {.title = "t", .across = "x", .up = "y", .lines = &line, .line_count = 1};
    struct chart_frame frame = frame_of(&chart);
    assert_true(frame.x_high > frame.x_low);
    struct figure_size size = figure_measure(chart_draw, &chart);
    assert_true(size.left >= 0 && size.right <= size.width);
    double apart = frame.width * frame.x_step / (frame.x_high - frame.x_low);
    assert_true(apart >= 24);
  }
  static const double small[] = {0.71234, 0.71235, 0.71236, 0.71237}, large[] = {-1e30, 0, 1e30, 5};
  assert_true(frame_of_line(small).left > frame_of_line(loss).left);
  struct chart_line line = line_of(large);
  struct chart chart = {.across = "x", .up = "y", .lines = &line, .line_count = 1};
  assert_true(figure_measure(chart_draw, &chart).left >= 0);
}

/* ---- lines --------------------------------------------------------------------------------------------- */

static bool is_style(const struct decoded *decoded, double x, double y, size_t style) {
  struct colour colour = mark_colour(style);
  uint32_t expected = (uint32_t)colour.red << 16 | (uint32_t)colour.green << 8 | colour.blue;
  return (decoded->pixel[(size_t)y * decoded->width + (size_t)x] & 0xffffff) == expected;
}

static double x_of(const struct chart_frame *frame, double x) {
  return frame->left + frame->width * (x - frame->x_low) / (frame->x_high - frame->x_low);
}

static double y_of(const struct chart_frame *frame, double y) {
  return frame->top + frame->height * (frame->y_high - y) / (frame->y_high - frame->y_low);
}

/* A value that is no number is a gap, and a lone one is a marker; points may lie beyond the axis. */
static void points_lie_where_they_are_said_to(void **state) {
  static const double at[] = {26, 51, 76, 101, 500}, y[] = {0, 0.5, NAN, 1, 2};
  struct folder folder;
  struct error error;
  (void)state;
  support_open_folder(&folder);
  struct chart_line line = {"training", at, y, 5, 1};
  struct chart chart = {.across = "x", .up = "y", .lines = &line, .line_count = 1, .from = 1, .to = 101};
  struct chart_frame frame = frame_of(&chart);
  const char *path = support_path(&folder, "chart.png");
  assert_good(figure_save(path, FIGURE_PNG, 1, chart_draw, &chart, &error), &error);
  struct decoded decoded = support_read_png(folder.arena, path);
  assert_int_equal(decoded.pixel[0] & 0xffffff, 0xffffff);
  assert_true(is_style(&decoded, x_of(&frame, 26), y_of(&frame, 0), 1));
  assert_true(is_style(&decoded, x_of(&frame, 51) - 1, y_of(&frame, 0.5), 1));
  assert_true(is_style(&decoded, x_of(&frame, 101) - 1, y_of(&frame, 1), 1));
  for (double x = x_of(&frame, 55); x < x_of(&frame, 97); x++) /* the gap */
    for (double up = frame.top; up < frame.top + frame.height; up++)
      assert_false(is_style(&decoded, x, up, 1));
  support_close_folder(&folder);
}

static void places_that_cannot_be_written_are_refused(void **state) {
  struct chart_line line = line_of(loss);
  struct chart chart = {.across = "x", .up = "y", .lines = &line, .line_count = 1};
  struct error error;
  (void)state;
  for (int kind = 0; kind < FIGURE_KINDS; kind++) {
    assert_false(figure_save("/nowhere/curves", (enum figure_kind)kind, 1, chart_draw, &chart, &error));
    assert_holds(error.text, "cannot write /nowhere/curves");
  }
}

/* ---- room ---------------------------------------------------------------------------------------------- */

static bool is_inside(figure_draw *draw, const void *what) {
  struct figure_size size = figure_measure(draw, what);
  return size.left >= 0 && size.top >= 0 && size.right <= size.width && size.bottom <= size.height;
}

static const char *long_name(struct arena *arena, const char *part, size_t times) {
  char *name = arena_new(arena, times * strlen(part) + 1);
  for (size_t i = 0; i < times; i++) strcat(name, part);
  return name;
}

/* Names of any bytes and any length, of as many lines as there are. */
static void nothing_leaves_a_picture(void **state) {
  enum { LINES = 20 };
  static const char *const parts[] = {"a", "W", "\u03b3\u00d7 ", "\x1b\xff", "<b>&\n", "\u6211"};
  struct arena *arena = arena_open();
  (void)state;
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    for (size_t times = 1; times < 5000; times *= 40) {
      const char *name = long_name(arena, parts[i], times);
      struct chart_line lines[LINES];
      struct chart_band band = {1, 4, {name, name, name}, (double)times * 1e9 + 1};
      struct chart_row rows[] = {{name, "mean 0.5", loss, POINTS, 0, -0.5},
                                 {"b", "mean", flat, POINTS, 1, 3}};
      struct chart_interval intervals[] = {{name, 1, 0.5, 1.5, 0}, {name, -1, NAN, NAN, 9}};
      for (size_t l = 0; l < LINES; l++) lines[l] = (struct chart_line){name, count, loss, POINTS, l};
      struct chart chart = {.title = name, .across = name, .up = name, .lines = lines, .line_count = LINES};
      assert_true(is_inside(chart_draw, &chart));
      assert_true(is_inside(chart_draw_panels, &(struct chart_panels){name, &chart, 1}));
      chart.bands = &band, chart.band_count = 1;
      assert_true(is_inside(chart_draw, &chart));
      assert_true(is_inside(chart_draw_histograms, &(struct chart_histograms){name, name, rows, 2}));
      assert_true(is_inside(chart_draw_intervals, &(struct chart_intervals){name, name, intervals, 2}));
    }
  arena_close(arena);
}

/* Every kind begins as it should, and its size is that of the figure or of a printed page. */
static void kinds_are_what_they_are_called(void **state) {
  static const char *const starts[] = {"%PDF-1.", "<?xml version", "\x89PNG"};
  struct folder folder;
  struct error error;
  size_t bytes;
  (void)state;
  support_open_folder(&folder);
  struct chart_line line = line_of(loss);
  struct chart chart = {.title = "a <b> & \xff", .across = "x", .up = "y", .lines = &line, .line_count = 1};
  struct figure_size size = figure_measure(chart_draw, &chart);
  for (int kind = 0; kind < FIGURE_KINDS; kind++) {
    const char *path = support_path(&folder, figure_kinds[kind]);
    assert_good(figure_save(path, (enum figure_kind)kind, 3, chart_draw, &chart, &error), &error);
    assert_memory_equal(support_read(folder.arena, path, &bytes), starts[kind], strlen(starts[kind]));
  }
  struct decoded decoded = support_read_png(folder.arena, support_path(&folder, "png"));
  assert_int_equal(decoded.width, 3 * lround(size.width));
  const char *svg = (const char *)support_read(folder.arena, support_path(&folder, "svg"), &bytes);
  assert_holds(svg, arena_text(folder.arena, "width=\"%.0fpx\"", size.width));
  support_close_folder(&folder);
}

static void draw_large(struct figure *figure, const void *what) {
  const double *side = what;
  figure->width = figure->height = *side;
}

static void large_pictures_are_refused(void **state) {
  const double side = 40000;
  struct folder folder;
  struct error error;
  (void)state;
  support_open_folder(&folder);
  const char *path = support_path(&folder, "large.png");
  assert_false(figure_save(path, FIGURE_PNG, 3, draw_large, &side, &error));
  assert_holds(error.text, "large.png: a picture of 40000x40000 pixels has more than 32767 a side");
  assert_int_equal(support_count(folder.path), 0);
  support_close_folder(&folder);
}

/* ---- histograms ---------------------------------------------------------------------------------------- */

static void fractions_are_of_all_values(void **state) {
  static const double values[] = {0, 0.1, 0.1, 1};
  struct chart_row row = {"a", "", values, 4, 0, 0.3};
  struct chart_bins bins = chart_bins(&row, 1);
  double fraction[64];
  (void)state;
  assert_true(bins.count <= 64 && is_near(bins.low, 0) &&
              is_near(bins.low + bins.width * (double)bins.count, 1));
  chart_fractions(&row, &bins, fraction);
  assert_true(is_near(fraction[0], 0.25) && is_near(fraction[(size_t)(0.1 / bins.width + 0.5)], 0.5));
  assert_true(is_near(fraction[bins.count - 1], 0.25));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(axes_end_at_round_numbers),
      cmocka_unit_test(numbers_have_room),
      cmocka_unit_test(points_lie_where_they_are_said_to),
      cmocka_unit_test(places_that_cannot_be_written_are_refused),
      cmocka_unit_test(nothing_leaves_a_picture),
      cmocka_unit_test(kinds_are_what_they_are_called),
      cmocka_unit_test(large_pictures_are_refused),
      cmocka_unit_test(fractions_are_of_all_values),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
