#include "tools/draw/marks.h"

#include <math.h>

enum { STYLES = 8, DASHES = 6, CORNERS = 4 };

struct colour mark_colour(size_t style) {
  static const struct colour colours[STYLES] = {{0, 114, 178}, {213, 94, 0}, {0, 158, 115},  {204, 121, 167},
                                                {230, 159, 0}, {0, 0, 0},    {86, 180, 233}, {122, 122, 122}};
  return colours[style % STYLES];
}

static void set_dashes(cairo_t *cairo, size_t style) {
  static const struct {
    int count;
    double length[DASHES];
  } dashes[STYLES] = {{0, {0}},     {2, {7, 3}}, {2, {2, 3}}, {4, {9, 3, 2, 3}},
                      {2, {12, 4}}, {2, {4, 2}}, {2, {1, 2}}, {6, {8, 2, 2, 2, 2, 2}}};
  size_t kind = (style + style / STYLES) % STYLES;
  cairo_set_dash(cairo, dashes[kind].length, dashes[kind].count, 0);
}

void mark_curve(struct figure *figure, const double *x, const double *y, size_t points, size_t style) {
  bool broken = true;
  for (size_t i = 0; i < points; i++) {
    bool there = isfinite(x[i]) && isfinite(y[i]);
    if (there && broken) cairo_move_to(figure->cairo, x[i], y[i]);
    if (there && !broken) cairo_line_to(figure->cairo, x[i], y[i]);
    broken = !there;
  }
  figure_colour(figure, mark_colour(style));
  cairo_set_line_width(figure->cairo, 1.8);
  cairo_set_line_join(figure->cairo, CAIRO_LINE_JOIN_BEVEL); /* a mitre is a peak that no number has */
  set_dashes(figure->cairo, style);
  cairo_stroke(figure->cairo);
  cairo_set_dash(figure->cairo, NULL, 0, 0);
}

/* Circle (no corners), square, triangles, diamond, cross, plus, bar: after the styles' order. Crosses are
 * pairs of corners that are joined. */
void mark_point(struct figure *figure, double x, double y, size_t style) {
  enum { CROSS = 5, PLUS = 6 };
  static const double corners[STYLES][CORNERS][2] = {{{0, 0}},
                                                     {{-3, -3}, {3, -3}, {3, 3}, {-3, 3}},
                                                     {{0, -4}, {4, 3}, {-4, 3}, {0, -4}},
                                                     {{0, -4.5}, {4, 0}, {0, 4.5}, {-4, 0}},
                                                     {{0, 4}, {4, -3}, {-4, -3}, {0, 4}},
                                                     [CROSS] = {{-3, -3}, {3, 3}, {3, -3}, {-3, 3}},
                                                     [PLUS] = {{-3.5, 0}, {3.5, 0}, {0, -3.5}, {0, 3.5}},
                                                     {{-3.5, -1.5}, {3.5, -1.5}, {3.5, 1.5}, {-3.5, 1.5}}};
  size_t shape = (style + 3 * (style / STYLES)) % STYLES;
  bool open = shape == CROSS || shape == PLUS;
  figure_colour(figure, mark_colour(style));
  cairo_set_line_width(figure->cairo, 1.6);
  cairo_new_path(figure->cairo);
  if (!shape) cairo_arc(figure->cairo, x, y, 3.5, 0, 4 * acos(0));
  for (size_t i = 0; shape && i < CORNERS; i++) {
    if (open && i == 2) cairo_new_sub_path(figure->cairo);
    cairo_line_to(figure->cairo, x + corners[shape][i][0], y + corners[shape][i][1]);
  }
  if (open)
    cairo_stroke(figure->cairo);
  else
    cairo_fill(figure->cairo);
}
