/* Which share of scans chose each action at each step, as a picture: a row a step, a column an action. */
#ifndef L2SR_TOOLS_SHARES_H
#define L2SR_TOOLS_SHARES_H

#include "tools/draw/figure.h"

struct shares {
  const char *title, *across; /* across: what the columns are */
  const double *share;        /* [steps][actions], 0 to 1 */
  size_t steps, actions;
};
void shares_draw(struct figure *figure, const void *shares);

#endif
