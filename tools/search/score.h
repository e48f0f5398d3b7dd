/* How good a training is so far, from the log that it writes: of its last stage, where it has several; of
 * rounds of them, where they alternate. These are scores of validation slices. */
#ifndef L2SR_TOOLS_SEARCH_SCORE_H
#define L2SR_TOOLS_SEARCH_SCORE_H

#include "systems/methods/method.h"

/* What one validation says: its place, which only grows, and the score of what best.h5 then has. */
typedef void score_see(double at, double score, void *context);
/* Tells all of the training in `folder`; none where it has written none yet. */
bool score_read(const struct method *method, const char *folder, score_see *see, void *context,
                struct error *error);
/* The file that they stand in. */
const char *score_file(const struct method *method, const char *folder, struct arena *arena);

#endif
