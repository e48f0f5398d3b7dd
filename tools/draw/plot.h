/* Lines over what is counted from 1 (epochs, roll-outs) as PNG: panels below each other, each with axes,
 * numbers and a legend. The same numbers give the same bytes. */
#ifndef L2SR_TOOLS_PLOT_H
#define L2SR_TOOLS_PLOT_H

#include "engine/base/error.h"

#include <stddef.h>

enum { PLOT_LINES = 2, PLOT_PANELS = 3 /* at most */ };

struct plot_line {
  const char *name;
  const double *value; /* [points]; NULL: no such line. What is no finite number is left out */
  size_t points;
  const double *at; /* [points], rising, within 1 to the plot's last; NULL: 1, 2, 3 ... */
};

struct plot_panel {
  const char *title; /* NULL: no such panel; none follows */
  struct plot_line line[PLOT_LINES];
};

struct plot {
  const char *title, *axis; /* axis: below the panels */
  size_t last;              /* where the axis ends; 1 or more */
  struct plot_panel panel[PLOT_PANELS];
};

/* Where the lines of a panel are drawn, in pixels, and what its axes end at. */
struct plot_frame {
  size_t left, top, width, height;
  double low, high, step; /* of the numbers at the left */
};

/* The next of 1, 2 and 5 times a power of ten. */
double plot_round(double step);
struct plot_frame plot_frame(const struct plot *plot, size_t panel);
bool plot_write(const char *path, const struct plot *plot, struct error *error);

#endif
