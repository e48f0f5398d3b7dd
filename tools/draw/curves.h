/* Learning curves of a training, curves.png in its folder: from the history that last.h5 keeps, so that going
 * on draws them all again. */
#ifndef L2SR_TOOLS_CURVES_H
#define L2SR_TOOLS_CURVES_H

#include "systems/methods/learn.h"
#include "systems/methods/train.h"

/* Losses and SSIM over the epochs. */
bool curves_draw(const struct training *training, struct error *error);
/* Reward, validation score and entropy over the roll-outs. */
bool curves_draw_policy(const struct learning *learning, struct error *error);

#endif
