/* Charts: lines over a common axis, histograms and intervals in rows below each other. */
#ifndef L2SR_TOOLS_CHART_H
#define L2SR_TOOLS_CHART_H

#include "tools/draw/figure.h"

enum { CHART_FORMS = 3 };

struct chart_line {
  const char *name;
  const double *x, *y; /* [points]; what is no finite number, or not on the axes, is left out */
  size_t points, style;
};

/* A part of the axis that is named; every other one is shaded. The first form of the names is shown that has
 * room in all bands, else the last one. */
struct chart_band {
  double from, to;
  const char *name[CHART_FORMS]; /* names from the longest to the shortest */
  double counted;                /* what it counts from 0 to its end, as epochs: numbers stand below; 0: none do */
};

struct chart {
  const char *title;       /* NULL: none */
  const char *across, *up; /* names of the axes */
  const struct chart_line *lines;
  size_t line_count;
  double from, to; /* ends of the axis; where they are equal, those of the lines */
  const struct chart_band
      *bands; /* they take the place of the numbers below, and their ends that of from, to */
  size_t band_count;
};
void chart_draw(struct figure *figure, const void *chart);

/* Charts below each other. */
struct chart_panels {
  const char *title;
  const struct chart *chart;
  size_t count;
};
void chart_draw_panels(struct figure *figure, const void *panels);

/* Where the lines of a chart are drawn, not left of `left`, and what its axes end at: round numbers above
 * each other. */
struct chart_frame {
  double left, top, width, height, x_low, x_high, y_low, y_high, x_step, y_step;
};
struct chart_frame chart_frame(struct figure *figure, const struct chart *chart, double left, double top);

/* ---- rows ---------------------------------------------------------------------------------------------- */

/* Values of a method; the bins are the same for all rows of a chart. */
struct chart_row {
  const char *name, *label; /* label: at the right, as the mean in words */
  const double *value;
  size_t count, style;
  double mean;
};
struct chart_bins {
  double low, width;
  size_t count;
};
struct chart_bins chart_bins(const struct chart_row *rows, size_t count);
/* Fractions of the row's values in the bins. */
void chart_fractions(const struct chart_row *row, const struct chart_bins *bins, double *fraction);

struct chart_histograms {
  const char *title, *across;
  const struct chart_row *rows;
  size_t count;
};
void chart_draw_histograms(struct figure *figure, const void *histograms);

/* Means and their intervals, a row each, beside the line at zero. */
struct chart_interval {
  const char *name;
  double mean, low, high; /* low, high: NaN where there is none */
  size_t style;
};
struct chart_intervals {
  const char *title, *across;
  const struct chart_interval *rows;
  size_t count;
};
void chart_draw_intervals(struct figure *figure, const void *intervals);

#endif
