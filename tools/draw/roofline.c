#include "tools/draw/roofline.h"

#include "tools/draw/marks.h"

#include <math.h>
#include <string.h>

enum {
  WIDTH = 720,
  TEXT = 11,
  TITLE = 12,
  PAD = 8,
  RIGHT = 24,
  LEFT = 64,
  TOP = 30,
  HIGH = 320,
  BELOW = 46,
  LINE = 18,
  NAMES = 12 /* of a legend; the marks of others stand in the picture alone */
};

struct axis {
  double low, high; /* decimal logarithms, whole */
};

struct frame {
  const struct roofline *roofline;
  struct axis x, y;
  double wide;
};

static void widen(struct axis *axis, double value) {
  axis->low = fmin(axis->low, floor(log10(value)));
  axis->high = fmax(axis->high, ceil(log10(value)));
}

static struct frame frame_of(const struct roofline *roofline) {
  double ridge = roofline->operations / roofline->bytes;
  struct frame frame = {roofline, {INFINITY, -INFINITY}, {INFINITY, -INFINITY}, WIDTH - LEFT - RIGHT};
  widen(&frame.x, ridge);
  widen(&frame.y, roofline->operations);
  for (size_t p = 0; p < roofline->points; p++) {
    widen(&frame.x, roofline->point[p].intensity);
    widen(&frame.y, roofline->point[p].rate);
  }
  frame.x.high = fmax(frame.x.high, ceil(log10(ridge) + 0.5));
  frame.y.low = fmin(frame.y.low, frame.y.high - 1);
  return frame;
}

static double place_x(const struct frame *frame, double value) {
  return LEFT + frame->wide * (log10(value) - frame->x.low) / (frame->x.high - frame->x.low);
}

static double place_y(const struct frame *frame, double value) {
  return TOP + HIGH * (1 - (log10(value) - frame->y.low) / (frame->y.high - frame->y.low));
}

/* 0.01, 10 or 1e12. */
static const char *power(struct figure *figure, double exponent) {
  return arena_text(figure->arena, "%.6g", pow(10, exponent));
}

static void draw_axes(struct figure *figure, const struct frame *frame) {
  for (double e = frame->x.low; e <= frame->x.high; e++) {
    double x = place_x(frame, pow(10, e));
    figure_segment(figure, x, TOP, x, TOP + HIGH, 1, figure_grid);
    figure_text(figure, x, TOP + HIGH + 16, FIGURE_MIDDLE, power(figure, e));
  }
  for (double e = frame->y.low; e <= frame->y.high; e++) {
    double y = place_y(frame, pow(10, e));
    figure_segment(figure, LEFT, y, LEFT + frame->wide, y, 1, figure_grid);
    figure_text(figure, LEFT - PAD, y + 4, FIGURE_END, power(figure, e - 9));
  }
  figure_text(figure, LEFT + frame->wide / 2, TOP + HIGH + 34, FIGURE_MIDDLE, "operations a byte");
  figure_text_up(figure, TEXT, TOP + HIGH / 2.0, "GFLOP/s");
  figure_outline(figure, LEFT, TOP, frame->wide, HIGH, 1, figure_line);
}

/* From where the frame begins, up to the ridge, and on. */
static void draw_roofs(struct figure *figure, const struct frame *frame) {
  const struct roofline *roofline = frame->roofline;
  double ridge = roofline->operations / roofline->bytes;
  double start = fmax(pow(10, frame->x.low), pow(10, frame->y.low) / roofline->bytes);
  double x = place_x(frame, ridge), y = place_y(frame, roofline->operations);
  if (start < ridge)
    figure_segment(figure, place_x(frame, start), place_y(frame, start * roofline->bytes), x, y, 2,
                   figure_ink);
  figure_segment(figure, x, y, LEFT + frame->wide, y, 2, figure_ink);
}

/* Of the points of one name, the first one's place among names. */
static size_t style_of(const struct roofline *roofline, size_t point) {
  size_t style = 0;
  for (size_t p = 0; p < point; p++) {
    size_t before = 0;
    if (!strcmp(roofline->point[p].name, roofline->point[point].name)) return style_of(roofline, p);
    while (strcmp(roofline->point[before].name, roofline->point[p].name)) before++;
    style += before == p;
  }
  return style;
}

static void draw_points(struct figure *figure, const struct frame *frame) {
  const struct roofline *roofline = frame->roofline;
  for (size_t p = 0; p < roofline->points; p++) {
    const struct roofline_point *point = &roofline->point[p];
    mark_point(figure, place_x(frame, point->intensity), place_y(frame, point->rate), style_of(roofline, p));
  }
}

static double share_of(const struct roofline *roofline, const char *name) {
  double share = 0;
  for (size_t p = 0; p < roofline->points; p++)
    if (!strcmp(roofline->point[p].name, name)) share += roofline->point[p].share;
  return share;
}

/* Returns how high the names are. */
static double draw_names(struct figure *figure, const struct frame *frame) {
  const struct roofline *roofline = frame->roofline;
  double x = LEFT, y = TOP + HIGH + BELOW + LINE / 2.0;
  size_t seen = 0;
  for (size_t p = 0; p < roofline->points && seen < NAMES; p++) {
    const char *name = roofline->point[p].name;
    if (style_of(roofline, p) != seen) continue;
    const char *text =
        arena_text(figure->arena, "%s, %.0f %% of the time", name, 100 * share_of(roofline, name));
    double wide = 2 * PAD + figure_text_width(figure, text);
    if (x + wide > WIDTH && x > LEFT) x = LEFT, y += LINE;
    mark_point(figure, x + 4, y, seen++);
    figure_text(figure, x + 2 * PAD, y + 4, FIGURE_START, text);
    x += wide + 2 * PAD;
  }
  return y + LINE - TOP - HIGH - BELOW;
}

void roofline_draw(struct figure *figure, const void *what) {
  const struct frame frame = frame_of(what);
  figure_font(figure, TITLE, true);
  figure_text(figure, LEFT, 16, FIGURE_START, figure_cut(figure, frame.roofline->title, frame.wide));
  figure_font(figure, TEXT, false);
  draw_axes(figure, &frame);
  draw_roofs(figure, &frame);
  draw_points(figure, &frame);
  figure->width = WIDTH;
  figure->height = TOP + HIGH + BELOW + draw_names(figure, &frame);
}
