#include "tools/draw/shares.h"

#include <math.h>
#include <stdio.h>

enum {
  WIDTH = 720,
  TEXT = 11,
  TITLE = 12,
  PAD = 8,
  LEFT = 44,
  TOP = 30,
  HIGH = 260, /* of the picture, at most */
  ROW = 14,   /* of a step, at most */
  BELOW = 44,
  TICKS = 8,   /* numbers at an axis, at most */
  SCALE = 120, /* the width of the scale of colours */
  SHADES = 60
};

/* The root of the share: what few scans chose is seen too. */
static struct colour shade(double share) {
  return colour_heat((float)sqrt(share));
}

static void draw_picture(struct figure *figure, const struct shares *shares, double wide, double high) {
  size_t count = shares->steps * shares->actions;
  struct colour *pixel = ARENA_NEW(figure->arena, struct colour, count);
  for (size_t i = 0; i < count; i++) pixel[i] = shade(shares->share[i]);
  figure_image(figure, LEFT, TOP, wide, high, pixel, shares->actions, shares->steps);
}

/* A round number of columns or rows from one number to the next. */
static size_t tick_of(size_t count) {
  static const size_t rounds[] = {1, 2, 4, 5, 8, 10, 16, 20, 32, 50, 64, 100, 128};
  size_t i = 0;
  while (i + 1 < sizeof rounds / sizeof *rounds && count > TICKS * rounds[i]) i++;
  return rounds[i];
}

static void draw_axes(struct figure *figure, const struct shares *shares, double wide, double high) {
  double column = wide / (double)shares->actions, row = high / (double)shares->steps;
  for (size_t i = 0; i < shares->actions; i += tick_of(shares->actions))
    figure_text(figure, LEFT + column * ((double)i + 0.5), TOP + high + 15, FIGURE_MIDDLE,
                arena_text(figure->arena, "%zu", i));
  for (size_t t = 0; t < shares->steps; t += tick_of(shares->steps))
    figure_text(figure, LEFT - PAD, TOP + row * ((double)t + 0.5) + 4, FIGURE_END,
                arena_text(figure->arena, "%zu", t + 1));
  figure_text_up(figure, TEXT, TOP + high / 2, "step");
  figure_text(figure, LEFT, TOP + high + 34, FIGURE_START,
              figure_cut(figure, shares->across, wide - SCALE - 100));
}

static void draw_scale(struct figure *figure, double right, double top) {
  struct colour pixel[SHADES];
  for (size_t i = 0; i < SHADES; i++) pixel[i] = shade((double)i / (SHADES - 1));
  double room = figure_text_width(figure, "100 %") + PAD;
  figure_image(figure, right - room - SCALE, top, SCALE, 10, pixel, SHADES, 1);
  figure_text(figure, right - room - SCALE - PAD, top + 9, FIGURE_END, "no scan");
  figure_text(figure, right, top + 9, FIGURE_END, "100 %");
}

void shares_draw(struct figure *figure, const void *what) {
  const struct shares *shares = what;
  double wide = WIDTH - LEFT - PAD, high = fmin(HIGH, ROW * (double)shares->steps);
  figure_font(figure, TITLE, true);
  figure_text(figure, LEFT, 16, FIGURE_START, figure_cut(figure, shares->title, wide));
  figure_font(figure, TEXT, false);
  draw_picture(figure, shares, wide, high);
  draw_axes(figure, shares, wide, high);
  draw_scale(figure, LEFT + wide, TOP + high + 25);
  figure->width = WIDTH;
  figure->height = TOP + high + BELOW;
}
