#include "tools/draw/chart.h"

#include "tools/draw/marks.h"

#include <math.h>
#include <string.h>

enum {
  WIDTH = 720,
  HEIGHT = 250, /* the height of a frame of lines */
  TEXT = 11,
  TITLE = 12,
  PAD = 8,
  LEFT = 44, /* least */
  RIGHT = 14,
  HEAD = 30, /* room for a title */
  TOP = 14,  /* where there is none */
  BELOW = 40,
  NUMBERS = 15, /* more where bands have numbers and names */
  LINE = 18,
  DASH = 28,       /* the length of a line beside its name */
  NAME_MOST = 200, /* room for the names of rows */
  ROW = 46,
  INTERVAL = 26,
  TICKS = 6,
  TICKS_ACROSS = 10, /* at most */
  MARKS_MOST = 12,   /* markers of a line, about */
  BINS = 32          /* about */
};
static const double step_more = 1.5; /* rounded up it is the next of 1, 2, 5 */
static const struct colour band_shade = {241, 241, 241};

/* ---- numbers ------------------------------------------------------------------------------------------- */

struct range {
  double low, high;
};

/* Differences of larger ones may be none. */
static bool is_number(double value) {
  return fabs(value) < 1e100;
}

static struct range widen(struct range range, const double *value, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (is_number(value[i])) {
      range.low = fmin(range.low, value[i]);
      range.high = fmax(range.high, value[i]);
    }
  return range;
}

/* The next of 1, 2 and 5 times a power of ten. */
static double round_up(double step) {
  double power = pow(10, floor(log10(step))), digit = step / power * (1 - 1e-9); /* 1 up to rounding is 1 */
  return (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10) * power;
}

/* Ends at round numbers; never of no width. */
static struct range round_range(struct range range, double *step) {
  if (range.low > range.high) range = (struct range){0, 1};
  double least = fmax(fabs(range.low), fabs(range.high)) * 1e-6;
  if (range.high - range.low <= least) range.high = range.low + (least > 0 ? 1e3 * least : 1);
  *step = round_up((range.high - range.low) / TICKS);
  return (struct range){floor(range.low / *step + 1e-9) * *step, ceil(range.high / *step - 1e-9) * *step};
}

struct number {
  char text[32];
};

/* Shows a number with as many digits as tell it from the next one. */
static struct number number_of(double value, double step) {
  struct number number;
  double size = fabs(value) < step / 2 ? 0 : fabs(value);
  const char *sign = value < 0 && size > 0 ? "\u2212" : "";
  int behind = step < 1 ? (int)ceil(-log10(step) - 1e-9) : 0;
  int all = (int)fmin(fmax(3, ceil(log10(size / step)) + 1), 17);
  if (size > 0 && (behind > 6 || size >= 1e7))
    snprintf(number.text, sizeof number.text, "%s%.*g", sign, all, size);
  else
    snprintf(number.text, sizeof number.text, "%s%.*f", sign, behind > 6 ? 0 : behind, size);
  return number;
}

/* ---- axes ---------------------------------------------------------------------------------------------- */

static double place_x(const struct chart_frame *frame, double x) {
  return frame->left + frame->width * (x - frame->x_low) / (frame->x_high - frame->x_low);
}

static double place_y(const struct chart_frame *frame, double y) {
  return frame->top + frame->height * (1 - (y - frame->y_low) / (frame->y_high - frame->y_low));
}

/* Numbers that stand at an axis: multiples of the step. */
struct ticks {
  double first, step;
  size_t count;
};

static struct ticks ticks_of(struct range range, double step) {
  double first = ceil(range.low / step - 1e-9) * step;
  return (struct ticks){first, step, (size_t)fmax(floor((range.high - first) / step + 1e-9) + 1, 0)};
}

static double widest_number(struct figure *figure, const struct ticks *ticks) {
  double widest = 0;
  for (size_t i = 0; i < ticks->count; i++)
    widest =
        fmax(widest,
             figure_text_width(figure, number_of(ticks->first + (double)i * ticks->step, ticks->step).text));
  return widest;
}

/* Numbers below stand apart, and the last one does not leave the picture. */
static void find_x_step(struct figure *figure, struct chart_frame *frame, double right) {
  struct range range = {frame->x_low, frame->x_high};
  for (;; frame->x_step = round_up(frame->x_step * step_more)) {
    struct ticks ticks = ticks_of(range, frame->x_step);
    double widest = widest_number(figure, &ticks);
    frame->width = WIDTH - frame->left - fmax(right, widest / 2 + 2);
    if (ticks.count < 2 || widest + PAD <= frame->width * frame->x_step / (range.high - range.low)) return;
  }
}

static void draw_title(struct figure *figure, double left, double top, const char *title) {
  figure_font(figure, TITLE, true);
  figure_text(figure, left, top + 16, FIGURE_START, figure_cut(figure, title, WIDTH - left - PAD));
  figure_font(figure, TEXT, false);
}

static void draw_up(struct figure *figure, const struct chart_frame *frame, const char *name) {
  struct ticks ticks = ticks_of((struct range){frame->y_low, frame->y_high}, frame->y_step);
  for (size_t i = 0; i < ticks.count; i++) {
    double value = ticks.first + (double)i * ticks.step, y = place_y(frame, value);
    figure_segment(figure, frame->left, y, frame->left + frame->width, y, 1, figure_grid);
    figure_text(figure, frame->left - PAD, y + 4, FIGURE_END, number_of(value, ticks.step).text);
  }
  figure_text_up(figure, 13, frame->top + frame->height / 2, figure_cut(figure, name, frame->height));
}

static void draw_name_across(struct figure *figure, const struct chart_frame *frame, double below,
                             const char *name) {
  figure_text(figure, frame->left + frame->width / 2, frame->top + frame->height + 33 + below, FIGURE_MIDDLE,
              figure_cut(figure, name, frame->width));
}

static void draw_across(struct figure *figure, const struct chart_frame *frame, const char *name) {
  double bottom = frame->top + frame->height;
  struct ticks ticks = ticks_of((struct range){frame->x_low, frame->x_high}, frame->x_step);
  for (size_t i = 0; i < ticks.count; i++) {
    double value = ticks.first + (double)i * ticks.step, x = place_x(frame, value);
    figure_segment(figure, x, frame->top, x, bottom, 1, figure_grid);
    figure_segment(figure, x, bottom, x, bottom + 5, 1, figure_line);
    figure_text(figure, x, bottom + 17, FIGURE_MIDDLE, number_of(value, ticks.step).text);
  }
  draw_name_across(figure, frame, 0, name);
}

/* ---- bands --------------------------------------------------------------------------------------------- */

static double widest_name(struct figure *figure, const struct chart *chart, size_t form) {
  double widest = 0;
  for (size_t b = 0; b < chart->band_count; b++)
    widest = fmax(widest, figure_text_width(figure, chart->bands[b].name[form]));
  return widest + PAD;
}

/* The height that numbers of bands take below the frame. */
static double numbers_of(const struct chart *chart) {
  for (size_t b = 0; b < chart->band_count; b++)
    if (chart->bands[b].counted > 0) return NUMBERS;
  return 0;
}

/* Whole numbers that stand apart, from the first step on: the zero would stand at the end of the band before.
 */
static struct ticks band_ticks(struct figure *figure, double counted, double room) {
  struct ticks ticks = {.count = 0};
  for (double step = fmax(round_up(counted / TICKS), 1); step <= counted; step = round_up(step * step_more)) {
    ticks = (struct ticks){step, step, (size_t)floor(counted / step + 1e-9)};
    if (widest_number(figure, &ticks) + PAD <= room * step / counted) return ticks;
  }
  return (struct ticks){.count = 0};
}

static void draw_band_numbers(struct figure *figure, const struct chart_frame *frame,
                              const struct chart_band *band) {
  double from = place_x(frame, band->from), room = place_x(frame, band->to) - from,
         bottom = frame->top + frame->height;
  if (band->counted <= 0) return;
  struct ticks ticks = band_ticks(figure, band->counted, room);
  for (size_t i = 0; i < ticks.count; i++) {
    double value = ticks.first + (double)i * ticks.step, x = from + room * value / band->counted;
    struct number number = number_of(value, ticks.step);
    double half = figure_text_width(figure, number.text) / 2;
    figure_segment(figure, x, bottom, x, bottom + 5, 1, figure_line);
    figure_text(figure, fmin(x, from + room - half - 1), bottom + 17, FIGURE_MIDDLE, number.text);
  }
}

/* Where even the shortest names have no room beside each other, only some are shown. */
static void draw_bands(struct figure *figure, const struct chart_frame *frame, const struct chart *chart) {
  double room = frame->width / (double)chart->band_count, below = numbers_of(chart);
  size_t form = 0, last = CHART_FORMS - 1;
  while (form < last && widest_name(figure, chart, form) > room) form++;
  size_t every = (size_t)ceil(widest_name(figure, chart, form) / room);
  for (size_t b = 0; b < chart->band_count; b++) {
    const struct chart_band *band = &chart->bands[b];
    double from = place_x(frame, band->from), to = place_x(frame, band->to);
    if (b % 2) figure_fill(figure, from, frame->top, to - from, frame->height, band_shade);
    draw_band_numbers(figure, frame, band);
    if (b % every == 0)
      figure_text(figure, (from + to) / 2, frame->top + frame->height + 17 + below, FIGURE_MIDDLE,
                  figure_cut(figure, band->name[form], fmin((double)every * room, room + 2 * RIGHT)));
  }
  draw_name_across(figure, frame, below, chart->across);
}

/* ---- lines --------------------------------------------------------------------------------------------- */

/* A single line of stages is named by the title. */
static bool has_names(const struct chart *chart) {
  return chart->line_count > 1 || !chart->band_count;
}

/* The names below, in rows; returns how high they are. */
static double draw_names(struct figure *figure, const struct chart *chart, double left, double top) {
  double x = left, y = top + LINE / 2.0;
  for (size_t l = 0; l < chart->line_count; l++) {
    const struct chart_line *line = &chart->lines[l];
    const char *name = figure_cut(figure, line->name, WIDTH - left - DASH - 2 * PAD);
    double wide = DASH + PAD + figure_text_width(figure, name);
    if (x + wide > WIDTH && x > left) x = left, y += LINE;
    double ends[] = {x, x + DASH}, level[] = {y, y};
    mark_curve(figure, ends, level, 2, line->style);
    mark_point(figure, x + DASH / 2.0, y, line->style);
    figure_text(figure, x + DASH + PAD, y + 4, FIGURE_START, name);
    x += wide + 2 * PAD;
  }
  return y + LINE / 2.0 - top;
}

static bool is_point(const struct chart_frame *frame, const struct chart_line *line, size_t i) {
  return i < line->points && is_number(line->y[i]) && line->x[i] >= frame->x_low &&
         line->x[i] <= frame->x_high;
}

/* No curve goes through it: only a marker shows it. */
static bool stands_alone(const struct chart_frame *frame, const struct chart_line *line, size_t i) {
  return !(i && is_point(frame, line, i - 1)) && !is_point(frame, line, i + 1);
}

static void draw_line(struct figure *figure, const struct chart_frame *frame, const struct chart_line *line,
                      size_t number) {
  double *x = ARENA_NEW(figure->arena, double, line->points + 1),
         *y = ARENA_NEW(figure->arena, double, line->points + 1);
  size_t every = line->points / MARKS_MOST + 1, first = number % every; /* lines mark other points */
  for (size_t i = 0; i < line->points; i++) {
    x[i] = is_point(frame, line, i) ? place_x(frame, line->x[i]) : NAN;
    y[i] = place_y(frame, line->y[i]);
  }
  mark_curve(figure, x, y, line->points, line->style);
  for (size_t i = 0; i < line->points; i++)
    if (is_point(frame, line, i) && (i % every == first || stands_alone(frame, line, i)))
      mark_point(figure, x[i], y[i], line->style);
}

/* The range of counted steps, from `from` or the first point on. */
static struct range axis_of(const struct chart *chart) {
  struct range range = {INFINITY, -INFINITY};
  if (chart->band_count) return (struct range){chart->bands[0].from, chart->bands[chart->band_count - 1].to};
  if (chart->from < chart->to) return (struct range){chart->from, chart->to};
  for (size_t l = 0; l < chart->line_count; l++)
    range = widen(range, chart->lines[l].x, chart->lines[l].points);
  if (range.low > range.high) range = (struct range){0, 1};
  if (range.low >= range.high) range.high = range.low + fmax(1, fabs(range.low) * 1e-6);
  return range;
}

struct chart_frame chart_frame(struct figure *figure, const struct chart *chart, double left, double top) {
  struct range x = axis_of(chart), y = {INFINITY, -INFINITY};
  struct chart_frame frame = {.top = top + (chart->title ? HEAD : TOP), .height = HEIGHT};
  figure_font(figure, TEXT, false);
  for (size_t l = 0; l < chart->line_count; l++) y = widen(y, chart->lines[l].y, chart->lines[l].points);
  y = round_range(y, &frame.y_step);
  frame.x_low = x.low, frame.x_high = x.high, frame.y_low = y.low, frame.y_high = y.high;
  struct ticks ticks = ticks_of(y, frame.y_step);
  frame.left = fmax(left, 13 + 2 * PAD + widest_number(figure, &ticks));
  frame.width = WIDTH - frame.left - RIGHT;
  frame.x_step = fmax(round_up((x.high - x.low) / TICKS_ACROSS), 1); /* steps are counted */
  if (!chart->band_count) find_x_step(figure, &frame, RIGHT);
  return frame;
}

/* Returns where it ends. */
static double draw_chart(struct figure *figure, const struct chart *chart, double left, double top) {
  struct chart_frame frame = chart_frame(figure, chart, left, top);
  double bottom = frame.top + frame.height + BELOW + numbers_of(chart);
  if (chart->title) draw_title(figure, frame.left, top, chart->title);
  if (chart->band_count)
    draw_bands(figure, &frame, chart);
  else
    draw_across(figure, &frame, chart->across);
  draw_up(figure, &frame, chart->up);
  figure_outline(figure, frame.left, frame.top, frame.width, frame.height, 1, figure_line);
  for (size_t l = 0; l < chart->line_count; l++) draw_line(figure, &frame, &chart->lines[l], l);
  return has_names(chart) ? bottom + draw_names(figure, chart, frame.left, bottom) : bottom;
}

void chart_draw(struct figure *figure, const void *what) {
  const struct chart *chart = what;
  figure->width = WIDTH;
  figure->height = draw_chart(figure, chart, LEFT, 0) + 4;
}

void chart_draw_panels(struct figure *figure, const void *what) {
  const struct chart_panels *panels = what;
  double top = HEAD, left = LEFT;
  for (size_t p = 0; p < panels->count; p++) left = chart_frame(figure, &panels->chart[p], left, top).left;
  draw_title(figure, left, 0, panels->title);
  for (size_t p = 0; p < panels->count; p++) top = draw_chart(figure, &panels->chart[p], left, top);
  figure->width = WIDTH;
  figure->height = top + 4;
}

/* ---- rows below each other ----------------------------------------------------------------------------- */

static struct chart_frame rows_frame(struct figure *figure, struct range range, size_t rows, double height,
                                     double names, double labels) {
  struct chart_frame frame = {.left = fmin(names, NAME_MOST) + 2 * PAD,
                              .top = HEAD,
                              .height = height * (double)rows,
                              .x_low = range.low,
                              .x_high = range.high,
                              .x_step = round_up((range.high - range.low) / TICKS_ACROSS)};
  find_x_step(figure, &frame, labels + 2 * PAD);
  return frame;
}

static void draw_name(struct figure *figure, const struct chart_frame *frame, double y, const char *name) {
  figure_text(figure, frame->left - PAD, y, FIGURE_END, figure_cut(figure, name, NAME_MOST));
}

struct chart_bins chart_bins(const struct chart_row *rows, size_t count) {
  struct range range = {INFINITY, -INFINITY};
  double step;
  for (size_t r = 0; r < count; r++) range = widen(range, rows[r].value, rows[r].count);
  range = round_range(range, &step);
  double width = round_up((range.high - range.low) / BINS);
  return (struct chart_bins){range.low, width, (size_t)ceil((range.high - range.low) / width - 1e-9)};
}

void chart_fractions(const struct chart_row *row, const struct chart_bins *bins, double *fraction) {
  memset(fraction, 0, bins->count * sizeof *fraction);
  for (size_t i = 0; i < row->count; i++) {
    double place = floor((row->value[i] - bins->low) / bins->width);
    if (!is_number(row->value[i])) continue;
    size_t bin = place < 0 ? 0 : (size_t)place;
    fraction[bin < bins->count ? bin : bins->count - 1] += 1 / (double)row->count;
  }
}

static void draw_bins(struct figure *figure, const struct chart_frame *frame, const struct chart_bins *bins,
                      const double *fraction, double most, double bottom, struct colour colour) {
  for (size_t b = 0; b < bins->count; b++) {
    double x = place_x(frame, bins->low + bins->width * (double)b),
           wide = place_x(frame, bins->low + bins->width * (double)(b + 1)) - x,
           high = (ROW - PAD) * fraction[b] / most;
    if (fraction[b] > 0) figure_fill(figure, x + 0.25, bottom - high, wide - 0.5, high, colour);
  }
}

/* Lighter, so that the line of the mean is seen. */
static struct colour lighter(struct colour colour) {
  return (struct colour){(unsigned char)(255 - (255 - colour.red) * 3 / 4),
                         (unsigned char)(255 - (255 - colour.green) * 3 / 4),
                         (unsigned char)(255 - (255 - colour.blue) * 3 / 4)};
}

static double largest_fraction(const struct chart_histograms *chart, const struct chart_bins *bins,
                               double *fraction) {
  double most = 0;
  for (size_t r = 0; r < chart->count; r++) {
    chart_fractions(&chart->rows[r], bins, fraction + r * bins->count);
    for (size_t b = 0; b < bins->count; b++) most = fmax(most, fraction[r * bins->count + b]);
  }
  return most;
}

static void draw_row(struct figure *figure, const struct chart_frame *frame, const struct chart_row *row,
                     double bottom) {
  double right = frame->left + frame->width;
  figure_segment(figure, frame->left, bottom, right, bottom, 1, figure_line);
  if (is_number(row->mean)) {
    double x = place_x(frame, row->mean);
    figure_segment(figure, x, bottom - ROW + 4, x, bottom, 1.6, figure_ink);
  }
  draw_name(figure, frame, bottom - PAD, row->name);
  figure_text(figure, right + PAD, bottom - PAD, FIGURE_START, row->label);
}

void chart_draw_histograms(struct figure *figure, const void *what) {
  const struct chart_histograms *chart = what;
  struct chart_bins bins = chart_bins(chart->rows, chart->count);
  struct range range = {bins.low, bins.low + bins.width * (double)bins.count};
  double *fraction = ARENA_NEW(figure->arena, double, bins.count * chart->count), names = 0, labels = 0,
         most = largest_fraction(chart, &bins, fraction);
  figure_font(figure, TEXT, false);
  for (size_t r = 0; r < chart->count; r++) {
    names = fmax(names, figure_text_width(figure, chart->rows[r].name));
    labels = fmax(labels, figure_text_width(figure, chart->rows[r].label));
  }
  struct chart_frame frame = rows_frame(figure, range, chart->count, ROW, names, labels);
  draw_title(figure, frame.left, 0, chart->title);
  draw_across(figure, &frame, chart->across);
  for (size_t r = 0; r < chart->count; r++) {
    double bottom = frame.top + ROW * (double)(r + 1);
    draw_bins(figure, &frame, &bins, fraction + r * bins.count, most, bottom,
              lighter(mark_colour(chart->rows[r].style)));
    draw_row(figure, &frame, &chart->rows[r], bottom);
  }
  figure->width = WIDTH;
  figure->height = frame.top + frame.height + BELOW;
}

static void draw_interval(struct figure *figure, const struct chart_frame *frame,
                          const struct chart_interval *row, double y) {
  if (is_number(row->low) && is_number(row->high)) {
    double low = place_x(frame, row->low), high = place_x(frame, row->high);
    figure_segment(figure, low, y, high, y, 1.4, figure_ink);
    figure_segment(figure, low, y - 5, low, y + 5, 1.4, figure_ink);
    figure_segment(figure, high, y - 5, high, y + 5, 1.4, figure_ink);
  }
  if (is_number(row->mean)) mark_point(figure, place_x(frame, row->mean), y, row->style);
  draw_name(figure, frame, y + 4, row->name);
}

static void draw_zero(struct figure *figure, const struct chart_frame *frame) {
  static const double dashes[] = {3, 3};
  double x = place_x(frame, 0);
  cairo_set_dash(figure->cairo, dashes, 2, 0);
  figure_segment(figure, x, frame->top, x, frame->top + frame->height, 1.2, figure_ink);
  cairo_set_dash(figure->cairo, NULL, 0, 0);
}

void chart_draw_intervals(struct figure *figure, const void *what) {
  const struct chart_intervals *chart = what;
  struct range range = {0, 0};
  double step, names = 0;
  figure_font(figure, TEXT, false);
  for (size_t r = 0; r < chart->count; r++) {
    const double values[] = {chart->rows[r].mean, chart->rows[r].low, chart->rows[r].high};
    range = widen(range, values, 3);
    names = fmax(names, figure_text_width(figure, chart->rows[r].name));
  }
  struct chart_frame frame = rows_frame(figure, round_range(range, &step), chart->count, INTERVAL, names, 0);
  draw_title(figure, frame.left, 0, chart->title);
  draw_across(figure, &frame, chart->across);
  figure_outline(figure, frame.left, frame.top, frame.width, frame.height, 1, figure_line);
  draw_zero(figure, &frame);
  for (size_t r = 0; r < chart->count; r++)
    draw_interval(figure, &frame, &chart->rows[r], frame.top + INTERVAL * ((double)r + 0.5));
  figure->width = WIDTH;
  figure->height = frame.top + frame.height + BELOW;
}
