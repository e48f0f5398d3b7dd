/* The trials of a search, and the journal that keeps them: a line for each that begins, for each point of its
 * learning curve, and for its end. A search that goes on reads it, and has the trials as they were. */
#ifndef L2SR_TOOLS_TRIALS_H
#define L2SR_TOOLS_TRIALS_H

#include "tools/search/suggest.h"

#include <stdio.h>

enum trial_state { TRIAL_RUNS, TRIAL_DONE, TRIAL_STOPPED, TRIAL_LATE, TRIAL_FAILED, TRIAL_STATES };
extern const char *const trial_states[TRIAL_STATES];

/* The score of the best validation until then, after so many seconds; at: the place in the training, which
 * only grows. */
struct trial_point {
  double seconds, at, score;
};

struct trial {
  size_t number;      /* from 1 */
  size_t again, seed; /* the trial whose values it trains by a seed so much higher; 0: it is none of these */
  double dial[RANGES_MOST];
  const char *value[RANGES_MOST];
  enum trial_state state;
  struct trial_point *point;
  size_t points, room;
  double seconds;  /* of its processes, at its last point or at its end */
  const char *why; /* it failed; NULL: it did not */
};

struct trials {
  struct arena *arena;
  const struct space *space;
  struct trial *trial; /* [room] */
  size_t count, room;
  FILE *journal;
};

/* Reads the journal, or makes one, whose first line has the sum of what trials follow from. Refuses one of
 * another sum. */
bool trials_open(struct trials *trials, const struct space *space, const char *path, uint32_t sum,
                 size_t room, struct arena *arena, struct error *error);
/* Refuses where not all was written. */
bool trials_close(struct trials *trials, const char *path, struct error *error);

/* Begins the next one, which has these values [ranges]. */
struct trial *trials_begin(struct trials *trials, const char *const *value, size_t again, size_t seed);
void trials_point(struct trials *trials, struct trial *trial, const struct trial_point *point);
/* It runs no more, is not at its end, and goes on when the search does. */
void trials_cut(struct trials *trials, struct trial *trial, double seconds);
void trials_end(struct trials *trials, struct trial *trial, enum trial_state state, double seconds,
                const char *why);

double trial_score(const struct trial *trial); /* NaN: it has none, or failed */
/* Whether its score is below the quantile of those that others had after as many seconds, where `least`
 * others have ended. */
bool trials_behind(const struct trials *trials, const struct trial *trial, double quantile, size_t least);
/* [count] of those that repeat nothing; returns how many. */
size_t trials_observed(const struct trials *trials, struct observation *seen);
/* The trial of the best score that repeats nothing; NULL: none has one. */
const struct trial *trials_best(const struct trials *trials);

#endif
