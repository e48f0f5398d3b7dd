#include "tools/draw/plot.h"

#include "tools/draw/canvas.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  WIDTH = 900,
  PANEL = 250, /* height of a frame */
  LEFT = 124,  /* room for the numbers */
  RIGHT = 24,
  TOP = 16,
  GAP = 8,
  TICK = 5,
  TICKS = 5,       /* numbers at the left, about */
  TICKS_BELOW = 8, /* at most */
  DOTS_MOST = 60   /* points that are marked as such */
};

static const struct colour colours[PLOT_LINES] = {{31, 97, 168}, {217, 95, 2}}; /* told apart by any eye */
static const struct colour grid = {225, 225, 225};

/* ---- axes ---------------------------------------------------------------------------------------------- */

double plot_round(double step) {
  double power = pow(10, floor(log10(step))), digit = step / power;
  return (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10) * power;
}

static void find_range(const struct plot *plot, size_t panel, double *low, double *high) {
  *low = INFINITY;
  *high = -INFINITY;
  for (size_t l = 0; l < PLOT_LINES; l++) {
    const struct plot_line *line = &plot->panel[panel].line[l];
    for (size_t i = 0; line->value && i < line->points; i++)
      if (isfinite(line->value[i])) *low = fmin(*low, line->value[i]), *high = fmax(*high, line->value[i]);
  }
  if (*low > *high) *low = 0, *high = 1; /* no number at all */
}

struct plot_frame plot_frame(const struct plot *plot, size_t panel) {
  struct plot_frame frame = {.left = LEFT, .width = WIDTH - LEFT - RIGHT, .height = PANEL};
  double low, high;
  frame.top = TOP + CANVAS_LINE + GAP + panel * (PANEL + 2 * CANVAS_LINE + 2 * GAP) + CANVAS_LINE;
  find_range(plot, panel, &low, &high);
  double least = fmax(fabs(low), fabs(high)) * 1e-3;
  if (high - low < least || high == low) high += least > 0 ? least : 1;
  frame.step = plot_round((high - low) / TICKS);
  frame.low = floor(low / frame.step) * frame.step;
  frame.high = ceil(high / frame.step) * frame.step;
  return frame;
}

static size_t place_x(const struct plot *plot, const struct plot_frame *frame, double at) {
  return plot->last > 1
             ? frame->left + (size_t)((at - 1) * (double)(frame->width - 1) / ((double)plot->last - 1))
             : frame->left + frame->width / 2;
}

static size_t place_y(const struct plot_frame *frame, double value) {
  double share = (value - frame->low) / (frame->high - frame->low);
  return frame->top + (size_t)(0.5 + (1 - share) * (double)(frame->height - 1));
}

static void draw_rows(struct canvas *canvas, const struct plot_frame *frame) {
  long ticks = lround((frame->high - frame->low) / frame->step);
  for (long tick = 0; tick <= ticks; tick++) {
    char number[32];
    double value = frame->low + (double)tick * frame->step;
    size_t y = place_y(frame, value);
    snprintf(number, sizeof number, "%.5g", fabs(value) < frame->step / 2 ? 0 : value);
    canvas_fill(canvas, frame->left, y, frame->width, 1, grid);
    canvas_fill(canvas, frame->left - TICK, y, TICK, 1, canvas_frame);
    canvas_right(canvas, frame->left - TICK - GAP, y - CANVAS_TEXT * FONT_HEIGHT / 2, number);
  }
}

static void draw_columns(struct canvas *canvas, const struct plot *plot, const struct plot_frame *frame) {
  double least = ((double)plot->last - 1) / TICKS_BELOW;
  size_t step = least > 1 ? (size_t)plot_round(least) : 1;
  for (size_t number = 1; number <= plot->last; number += number == 1 && step > 1 ? step - 1 : step) {
    char text[32];
    int length = snprintf(text, sizeof text, "%zu", number);
    size_t x = place_x(plot, frame, (double)number), wide = canvas_text_width((size_t)length);
    canvas_fill(canvas, x, frame->top, 1, frame->height, grid);
    canvas_fill(canvas, x, frame->top + frame->height, 1, TICK, canvas_frame);
    canvas_text(canvas, x - wide / 2, frame->top + frame->height + TICK + 2, text, (size_t)length);
  }
}

/* ---- lines --------------------------------------------------------------------------------------------- */

static void draw_segment(struct canvas *canvas, size_t x0, size_t y0, size_t x1, size_t y1,
                         struct colour colour) {
  long across = (long)x1 - (long)x0, down = (long)y1 - (long)y0;
  long steps = labs(across) > labs(down) ? labs(across) : labs(down);
  for (long i = 0; i <= steps; i++) {
    long x = (long)x0 + (steps ? i * across / steps : 0), y = (long)y0 + (steps ? i * down / steps : 0);
    canvas_fill(canvas, (size_t)x, (size_t)y, 2, 2, colour);
  }
}

static size_t point_x(const struct plot *plot, const struct plot_frame *frame, const struct plot_line *line,
                      size_t point) {
  return place_x(plot, frame, line->at ? line->at[point] : (double)point + 1);
}

static void draw_line(struct canvas *canvas, const struct plot *plot, const struct plot_frame *frame,
                      const struct plot_line *line, struct colour colour) {
  const double *value = line->value;
  for (size_t i = 0; i < line->points; i++) {
    if (!isfinite(value[i])) continue;
    size_t x = point_x(plot, frame, line, i), y = place_y(frame, value[i]);
    if (i && isfinite(value[i - 1]))
      draw_segment(canvas, point_x(plot, frame, line, i - 1), place_y(frame, value[i - 1]), x, y, colour);
    bool alone = !(i && isfinite(value[i - 1])) && !(i + 1 < line->points && isfinite(value[i + 1]));
    if (line->points <= DOTS_MOST || alone) canvas_fill(canvas, x - 2, y - 2, 6, 6, colour);
  }
}

static void draw_legend(struct canvas *canvas, const struct plot_panel *panel,
                        const struct plot_frame *frame) {
  size_t right = frame->left + frame->width;
  for (size_t l = PLOT_LINES; l-- > 0;) {
    if (!panel->line[l].value) continue;
    canvas_right(canvas, right, frame->top - CANVAS_LINE, panel->line[l].name);
    right -= canvas_text_width(strlen(panel->line[l].name)) + 30;
    canvas_fill(canvas, right, frame->top - CANVAS_LINE / 2 - 4, 22, 4, colours[l]);
    right -= 3 * GAP;
  }
}

static void draw_panel(struct canvas *canvas, const struct plot *plot, size_t number) {
  const struct plot_panel *panel = &plot->panel[number];
  struct plot_frame frame = plot_frame(plot, number);
  canvas_text(canvas, frame.left, frame.top - CANVAS_LINE, panel->title, strlen(panel->title));
  draw_rows(canvas, &frame);
  draw_columns(canvas, plot, &frame);
  canvas_outline(canvas, frame.left, frame.top, frame.width, frame.height, 1, canvas_frame);
  for (size_t l = 0; l < PLOT_LINES; l++)
    if (panel->line[l].value) draw_line(canvas, plot, &frame, &panel->line[l], colours[l]);
  draw_legend(canvas, panel, &frame);
}

static size_t count_panels(const struct plot *plot) {
  size_t panels = 0;
  while (panels < PLOT_PANELS && plot->panel[panels].title) panels++;
  return panels;
}

bool plot_write(const char *path, const struct plot *plot, struct error *error) {
  struct canvas canvas;
  size_t panels = count_panels(plot);
  REQUIRE(plot->last && panels, "a plot up to %zu of %zu panels", plot->last, panels);
  struct plot_frame last = plot_frame(plot, panels - 1);
  size_t below = last.top + last.height + CANVAS_LINE + GAP;
  if (!canvas_open(&canvas, WIDTH, below + CANVAS_LINE + TOP, error)) return false;
  canvas_centred(&canvas, 0, TOP, WIDTH, plot->title, strlen(plot->title));
  for (size_t panel = 0; panel < panels; panel++) draw_panel(&canvas, plot, panel);
  canvas_centred(&canvas, last.left, below, last.width, plot->axis, strlen(plot->axis));
  bool good = canvas_write(path, &canvas, error);
  canvas_close(&canvas);
  return good;
}
