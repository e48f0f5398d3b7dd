/* A roofline (Williams et al. 2009): points of operations a second over operations a byte, below what
 * bandwidth and arithmetic allow; both axes are logarithmic. */
#ifndef L2SR_TOOLS_ROOFLINE_H
#define L2SR_TOOLS_ROOFLINE_H

#include "tools/draw/figure.h"

struct roofline_point {
  const char *name;       /* points of one name have one mark, and stand once in the legend */
  double intensity, rate; /* operations a byte, and a second; both above 0 */
  double share;           /* of the time: from 0 to 1 */
};

struct roofline {
  const char *title;
  double bytes, operations; /* a second, at most */
  const struct roofline_point *point;
  size_t points;
};
void roofline_draw(struct figure *figure, const void *roofline);

#endif
