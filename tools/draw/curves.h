/* Learning curves of a training, curves.png in its folder: from the history that last.h5 keeps, so that going
 * on draws them all again. What is drawn says the task (struct log_curve). */
#ifndef L2SR_TOOLS_CURVES_H
#define L2SR_TOOLS_CURVES_H

#include "systems/training/training.h"
#include "tools/draw/chart.h"

/* Nothing where the training has no folder, or its log no values yet. */
bool curves_draw(const struct training *training, struct error *error);
/* The panels, in the trainer's arena. */
struct chart_panels curves_panels(const struct training *training);

#endif
