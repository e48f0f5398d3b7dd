/* Charts as SVG: lines over a common axis, and histograms below each other. */
#ifndef L2SR_TOOLS_CHART_H
#define L2SR_TOOLS_CHART_H

#include <stddef.h>
#include <stdio.h>

struct chart_line {
  const char *name;
  const double *x, *y; /* [points]; what is no finite number is left out */
  size_t points, style;
};

/* A part of the axis that is named; every other one is shaded. */
struct chart_band {
  double from, to;
  const char *name;
};

size_t chart_band_letters(size_t bands); /* that have room below each of so many */

struct chart {
  const char *title, *across, *up; /* across, up: what the axes are of */
  const struct chart_line *lines;
  size_t line_count;
  const struct chart_band *bands; /* they take the place of the numbers below */
  size_t band_count;
};
void chart_draw(FILE *file, const struct chart *chart);

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
/* Shares of the row's values in the bins. */
void chart_shares(const struct chart_row *row, const struct chart_bins *bins, double *share);
void chart_histograms(FILE *file, const char *title, const char *across, const struct chart_row *rows,
                      size_t count);

/* Means and their intervals, a row each, beside the line at zero. */
struct chart_interval {
  const char *name;
  double mean, low, high; /* low, high: NaN where there is none */
  size_t style;
};
void chart_intervals(FILE *file, const char *title, const char *across, const struct chart_interval *rows,
                     size_t count);

#endif
