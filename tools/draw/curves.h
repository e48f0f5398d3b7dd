/* Learning curves of a training, curves.png in its folder: from the history that last.h5 keeps, so that going
 * on draws them all again. */
#ifndef L2SR_TOOLS_CURVES_H
#define L2SR_TOOLS_CURVES_H

#include "systems/training/trainer.h"

bool curves_draw(const struct trainer *trainer, struct error *error);

#endif
