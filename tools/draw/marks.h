/* How lines of a chart are told apart: by colour, dashes and markers, so that they are in grey print and by
 * colour-blind eyes too. */
#ifndef L2SR_TOOLS_MARKS_H
#define L2SR_TOOLS_MARKS_H

#include "tools/draw/figure.h"

/* Style number i, of the colours of Okabe and Ito (grey for yellow, which is too light): the ninth has the
 * first colour with other dashes and markers. */
struct colour mark_colour(size_t style);
/* Points joined; where one is no number the line is broken. */
void mark_curve(struct figure *figure, const double *x, const double *y, size_t points, size_t style);
void mark_point(struct figure *figure, double x, double y, size_t style);

#endif
