#include "tools/draw/chart.h"

#include "engine/base/arena.h"
#include "tools/draw/plot.h"
#include "tools/draw/svg.h"

#include <math.h>
#include <string.h>

enum {
  WIDTH = 720,
  HEIGHT = 250, /* of a frame of lines */
  LEFT = 62,
  RIGHT = 14,
  TOP = 30,
  BELOW = 40,
  LINE = 18,
  NAME = 150, /* room for the name of a row */
  LABEL = 120,
  ROW = 46,
  TICKS = 6,
  MARKS_MOST = 12, /* markers of a line, about */
  BINS = 32        /* about */
};
static const double letter = 6.3; /* width, on average and on the safe side */

struct frame {
  double left, top, width, height, x_low, x_high, y_low, y_high, x_step, y_step;
};

/* ---- axes ---------------------------------------------------------------------------------------------- */

struct range {
  double low, high;
};

static struct range widen(struct range range, const double *value, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (isfinite(value[i])) {
      range.low = fmin(range.low, value[i]);
      range.high = fmax(range.high, value[i]);
    }
  return range;
}

/* Ends at round numbers; never of no width. */
static struct range round_range(struct range range, double *step) {
  if (range.low > range.high) range = (struct range){0, 1};
  double least = fmax(fabs(range.low), fabs(range.high)) * 1e-6;
  if (range.high - range.low <= least) range.high = range.low + (least > 0 ? 1e3 * least : 1);
  *step = plot_round((range.high - range.low) / TICKS);
  return (struct range){floor(range.low / *step + 1e-9) * *step, ceil(range.high / *step - 1e-9) * *step};
}

static double place_x(const struct frame *frame, double x) {
  return frame->left + frame->width * (x - frame->x_low) / (frame->x_high - frame->x_low);
}

static double place_y(const struct frame *frame, double y) {
  return frame->top + frame->height * (1 - (y - frame->y_low) / (frame->y_high - frame->y_low));
}

static void number_text(char text[32], double value, double step) {
  int digits = step < 1 ? (int)ceil(-log10(step) - 1e-9) : 0;
  if (fabs(value) < step / 2) value = 0;
  if (digits > 6)
    snprintf(text, 32, "%.3g", value);
  else
    snprintf(text, 32, "%.*f", digits, value);
}

/* In bold, which is wider. */
static void draw_title(FILE *file, struct arena *arena, double left, const char *title) {
  svg_text(file, left, 16, "title", svg_cut(arena, title, (size_t)((WIDTH - left) / (1.2 * letter))));
}

static void draw_up(FILE *file, const struct frame *frame, const char *name) {
  char text[32];
  long ticks = lround((frame->y_high - frame->y_low) / frame->y_step);
  for (long i = 0; i <= ticks; i++) {
    double value = frame->y_low + (double)i * frame->y_step, y = place_y(frame, value);
    number_text(text, value, frame->y_step);
    svg_line(file, frame->left, y, frame->left + frame->width, y, "grid");
    svg_text(file, frame->left - 7, y + 4, "end", text);
  }
  fprintf(file, "<text transform=\"translate(13 %.1f) rotate(-90)\" class=\"middle\">",
          frame->top + frame->height / 2);
  svg_escape(file, name);
  fprintf(file, "</text>\n");
}

static void draw_across(FILE *file, const struct frame *frame, const char *name) {
  char text[32];
  double bottom = frame->top + frame->height;
  for (double value = ceil(frame->x_low / frame->x_step - 1e-9) * frame->x_step;
       value <= frame->x_high + frame->x_step * 1e-6; value += frame->x_step) {
    number_text(text, value, frame->x_step);
    svg_line(file, place_x(frame, value), frame->top, place_x(frame, value), bottom, "grid");
    svg_line(file, place_x(frame, value), bottom, place_x(frame, value), bottom + 5, "axis");
    svg_text(file, place_x(frame, value), bottom + 17, "middle", text);
  }
  svg_text(file, frame->left + frame->width / 2, bottom + 33, "middle", name);
}

size_t chart_band_letters(size_t bands) {
  return (size_t)((WIDTH - LEFT - RIGHT) / letter / (double)bands) - 2;
}

static void draw_bands(FILE *file, const struct frame *frame, const struct chart *chart) {
  for (size_t b = 0; b < chart->band_count; b++) {
    const struct chart_band *band = &chart->bands[b];
    double from = place_x(frame, band->from), to = place_x(frame, band->to);
    if (b % 2) svg_rect(file, from, frame->top, to - from, frame->height, "band");
    svg_text(file, (from + to) / 2, frame->top + frame->height + 17, "middle", band->name);
  }
  svg_text(file, frame->left + frame->width / 2, frame->top + frame->height + 33, "middle", chart->across);
}

/* ---- lines --------------------------------------------------------------------------------------------- */

/* Where the names below stand; returns how many rows of them there are. */
static size_t place_names(const struct chart *chart, double *x, size_t *row) {
  double right = LEFT;
  size_t rows = 0;
  for (size_t l = 0; l < chart->line_count; l++) {
    double width = 34 + letter * (double)svg_length(chart->lines[l].name) + 16;
    if (right + width > WIDTH && right > LEFT) right = LEFT, rows++;
    x[l] = right;
    row[l] = rows;
    right += width;
  }
  return chart->line_count > 1 ? rows + 1 : 0;
}

static void draw_names(FILE *file, const struct chart *chart, const double *x, const size_t *row,
                       double top) {
  for (size_t l = 0; l < chart->line_count; l++) {
    double y = top + LINE * (double)row[l], ends[] = {x[l], x[l] + 28}, level[] = {y, y};
    svg_path(file, ends, level, 2, chart->lines[l].style);
    svg_marker(file, x[l] + 14, y, chart->lines[l].style);
    svg_text(file, x[l] + 34, y + 4, "start", chart->lines[l].name);
  }
}

static bool is_point(const struct chart_line *line, size_t i) {
  return i < line->points && isfinite(line->x[i]) && isfinite(line->y[i]);
}

/* No curve goes through it: only a marker shows it. */
static bool stands_alone(const struct chart_line *line, size_t i) {
  return !(i && is_point(line, i - 1)) && !is_point(line, i + 1);
}

static void draw_line(FILE *file, const struct frame *frame, const struct chart_line *line, size_t number) {
  struct arena *arena = arena_open();
  double *x = ARENA_NEW(arena, double, line->points + 1), *y = ARENA_NEW(arena, double, line->points + 1);
  size_t every = line->points / MARKS_MOST + 1, first = number % every; /* lines mark other points */
  for (size_t i = 0; i < line->points; i++) {
    x[i] = place_x(frame, line->x[i]);
    y[i] = place_y(frame, line->y[i]);
  }
  svg_path(file, x, y, line->points, line->style);
  for (size_t i = 0; i < line->points; i++)
    if (is_point(line, i) && (i % every == first || stands_alone(line, i)))
      svg_marker(file, x[i], y[i], line->style);
  arena_close(arena);
}

/* At the left, for the longest number beside the name of the axis. */
static void make_room(struct frame *frame, struct range y) {
  long ticks = lround((y.high - y.low) / frame->y_step);
  for (long i = 0; i <= ticks; i++) {
    char text[32];
    number_text(text, y.low + (double)i * frame->y_step, frame->y_step);
    frame->left = fmax(frame->left, 26 + letter * (double)strlen(text));
  }
  frame->width = WIDTH - RIGHT - frame->left;
}

static struct frame frame_of(const struct chart *chart) {
  struct range x = {INFINITY, -INFINITY}, y = x;
  struct frame frame = {.left = LEFT, .top = TOP, .height = HEIGHT, .x_step = 1};
  for (size_t l = 0; l < chart->line_count; l++) {
    x = widen(x, chart->lines[l].x, chart->lines[l].points);
    y = widen(y, chart->lines[l].y, chart->lines[l].points);
  }
  y = round_range(y, &frame.y_step);
  make_room(&frame, y);
  if (x.low > x.high) x = (struct range){0, 1};
  if (x.low == x.high) x.high = x.low + 1;
  if (chart->band_count) x = (struct range){chart->bands[0].from, chart->bands[chart->band_count - 1].to};
  frame.x_step = fmax(plot_round((x.high - x.low) / 10), 1); /* what is counted */
  frame.x_low = x.low, frame.x_high = x.high, frame.y_low = y.low, frame.y_high = y.high;
  return frame;
}

void chart_draw(FILE *file, const struct chart *chart) {
  struct arena *arena = arena_open();
  double *x = ARENA_NEW(arena, double, chart->line_count + 1);
  size_t *row = ARENA_NEW(arena, size_t, chart->line_count + 1), rows = place_names(chart, x, row);
  struct frame frame = frame_of(chart);
  double below = frame.top + frame.height + BELOW;
  svg_open(file, WIDTH, below + LINE * (double)rows + 4, chart->title);
  draw_title(file, arena, frame.left, chart->title);
  if (chart->band_count)
    draw_bands(file, &frame, chart);
  else
    draw_across(file, &frame, chart->across);
  draw_up(file, &frame, chart->up);
  svg_rect(file, frame.left, frame.top, frame.width, frame.height, "frame");
  for (size_t l = 0; l < chart->line_count; l++) draw_line(file, &frame, &chart->lines[l], l);
  if (rows) draw_names(file, chart, x, row, below + LINE / 2.0);
  svg_close(file);
  arena_close(arena);
}

/* ---- rows below each other ----------------------------------------------------------------------------- */

static struct frame rows_frame(struct range range, double step, size_t rows, double height) {
  return (struct frame){NAME, TOP, WIDTH - NAME - LABEL, height * (double)rows, range.low, range.high, 0, 1,
                        step, 1};
}

static void draw_name(FILE *file, struct arena *arena, double y, const char *name) {
  svg_text(file, NAME - 8, y, "end", svg_cut(arena, name, (size_t)((NAME - 8) / letter)));
}

struct chart_bins chart_bins(const struct chart_row *rows, size_t count) {
  struct range range = {INFINITY, -INFINITY};
  double step;
  for (size_t r = 0; r < count; r++) range = widen(range, rows[r].value, rows[r].count);
  range = round_range(range, &step);
  double width = plot_round((range.high - range.low) / BINS);
  return (struct chart_bins){range.low, width, (size_t)ceil((range.high - range.low) / width - 1e-9)};
}

void chart_shares(const struct chart_row *row, const struct chart_bins *bins, double *share) {
  memset(share, 0, bins->count * sizeof *share);
  for (size_t i = 0; i < row->count; i++) {
    double place = floor((row->value[i] - bins->low) / bins->width);
    if (!isfinite(place)) continue;
    size_t bin = place < 0 ? 0 : (size_t)place;
    share[bin < bins->count ? bin : bins->count - 1] += 1 / (double)row->count;
  }
}

static void draw_shares(FILE *file, const struct frame *frame, const struct chart_bins *bins,
                        const double *share, double most, double bottom, size_t style) {
  for (size_t b = 0; b < bins->count; b++) {
    double x = place_x(frame, bins->low + bins->width * (double)b),
           wide = place_x(frame, bins->low + bins->width * (double)(b + 1)) - x,
           high = (ROW - 8) * share[b] / most;
    if (share[b] > 0)
      fprintf(file,
              "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"%s\" class=\"bin\"/>\n", x,
              bottom - high, wide, high, svg_colour(style));
  }
}

void chart_histograms(FILE *file, const char *title, const char *across, const struct chart_row *rows,
                      size_t count) {
  struct arena *arena = arena_open();
  struct chart_bins bins = chart_bins(rows, count);
  struct range range = {bins.low, bins.low + bins.width * (double)bins.count};
  struct frame frame = rows_frame(range, plot_round((range.high - range.low) / 10), count, ROW);
  double *share = ARENA_NEW(arena, double, bins.count *count), most = 0;
  for (size_t r = 0; r < count; r++) {
    chart_shares(&rows[r], &bins, share + r * bins.count);
    for (size_t b = 0; b < bins.count; b++) most = fmax(most, share[r * bins.count + b]);
  }
  svg_open(file, WIDTH, frame.top + frame.height + BELOW, title);
  draw_title(file, arena, NAME, title);
  draw_across(file, &frame, across);
  for (size_t r = 0; r < count; r++) {
    double bottom = frame.top + ROW * (double)(r + 1), x = place_x(&frame, rows[r].mean);
    draw_shares(file, &frame, &bins, share + r * bins.count, most, bottom, rows[r].style);
    svg_line(file, frame.left, bottom, frame.left + frame.width, bottom, "axis");
    if (isfinite(x)) svg_line(file, x, bottom - ROW + 4, x, bottom, "mean");
    draw_name(file, arena, bottom - 8, rows[r].name);
    svg_text(file, frame.left + frame.width + 8, bottom - 8, "start", rows[r].label);
  }
  svg_close(file);
  arena_close(arena);
}

void chart_intervals(FILE *file, const char *title, const char *across, const struct chart_interval *rows,
                     size_t count) {
  enum { HIGH = 26 };
  struct arena *arena = arena_open();
  struct range range = {0, 0};
  double step;
  for (size_t r = 0; r < count; r++) {
    const double values[] = {rows[r].mean, rows[r].low, rows[r].high};
    range = widen(range, values, 3);
  }
  range = round_range(range, &step);
  struct frame frame = rows_frame(range, step, count, HIGH);
  svg_open(file, WIDTH, frame.top + frame.height + BELOW, title);
  draw_title(file, arena, NAME, title);
  draw_across(file, &frame, across);
  svg_rect(file, frame.left, frame.top, frame.width, frame.height, "frame");
  svg_line(file, place_x(&frame, 0), frame.top, place_x(&frame, 0), frame.top + frame.height, "zero");
  for (size_t r = 0; r < count; r++) {
    double y = frame.top + HIGH * ((double)r + 0.5);
    if (isfinite(rows[r].low)) {
      double low = place_x(&frame, rows[r].low), high = place_x(&frame, rows[r].high);
      svg_line(file, low, y, high, y, "whisker");
      svg_line(file, low, y - 5, low, y + 5, "whisker");
      svg_line(file, high, y - 5, high, y + 5, "whisker");
    }
    if (isfinite(rows[r].mean)) svg_marker(file, place_x(&frame, rows[r].mean), y, rows[r].style);
    draw_name(file, arena, y + 4, rows[r].name);
  }
  svg_close(file);
  arena_close(arena);
}
