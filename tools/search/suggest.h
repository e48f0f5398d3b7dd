/* What to try next, from what was tried: after the scene's own settings some that fill the space evenly, then
 * by Gaussian processes of the score and of the seconds, as PufferLib's Protein has them
 * (github.com/PufferAI/PufferLib, sweep.py): every other one is to be the best of all, those between are to
 * be better than what takes as long. */
#ifndef L2SR_TOOLS_SUGGEST_H
#define L2SR_TOOLS_SUGGEST_H

#include "tools/search/space.h"

enum observed {
  OBSERVED_SCORE,
  OBSERVED_PART, /* a score, and no seconds: it was stopped for being behind others */
  OBSERVED_FAILURE,
  OBSERVED_NOTHING /* it still runs */
};

struct observation {
  const double *dial; /* [ranges] */
  enum observed what;
  double score, seconds; /* more is better; seconds are above 0 */
};

/* The dials [ranges] of trial `number`, from 0, of which `even` are not from observations. A failure counts
 * as the lowest score; what still runs as what the process thinks of it, so that others are tried beside it.
 * A pure function of all these. */
void suggest(const struct space *space, const struct observation *seen, size_t count, uint32_t seed,
             uint32_t number, uint32_t even, double *dial);

/* Marks observations that have a score above all that took no longer: the Pareto front. */
void suggest_front(const struct observation *seen, size_t count, bool *front);

#endif
