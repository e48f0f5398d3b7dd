/* Learning curves of a training, OUTPUT/curves.png. */
#ifndef L2SR_TOOLS_CURVES_H
#define L2SR_TOOLS_CURVES_H

#include "systems/train.h"

/* Losses and SSIM over the epochs, from the history that last.h5 keeps: going on draws them all again. */
bool curves_draw(const struct training *training, struct error *error);

#endif
