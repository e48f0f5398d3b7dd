/* The settings that a search chooses among: a range a key. A setting is a dial a range, a number from 0 to 1,
 * of which a choice has as many parts as words. */
#ifndef L2SR_TOOLS_SPACE_H
#define L2SR_TOOLS_SPACE_H

#include "components/options.h"

enum { RANGES_MOST = 24, RANGE_WORDS = 32 };

enum range_kind { RANGE_LINEAR, RANGE_LOG, RANGE_INTEGER, RANGE_CHOICE, RANGE_KINDS };

struct range {
  const char *key;
  enum range_kind kind;
  bool whole;                    /* its numbers are whole ones */
  double low, high;              /* of numbers */
  const char *word[RANGE_WORDS]; /* of a choice */
  size_t words;
};

struct space {
  struct arena *arena;
  struct range range[RANGES_MOST];
  size_t ranges;
  size_t features; /* numbers that a Gaussian process sees of a setting: one a range of numbers, one a word of
                      a choice */
};

/* Reads search.linear, log, integer and choice. Refuses, as wrong usage, unknown keys, those that say what is
 * scored or where files are, empty ranges, logarithms of 0 and values that the option does not take. */
bool space_read(struct space *space, const struct options *options, struct arena *arena, struct error *error);

/* The value of a dial, as --set takes it. */
const char *space_text(const struct space *space, size_t range, double dial);
/* The dial of a value; NaN where no word of the choice is it. A number outside of the range is outside of 0
 * to 1. */
double space_dial(const struct space *space, size_t range, const char *text);
/* The dials [ranges] of a scene's own values. */
void space_own(const struct space *space, const struct options *options, double *dial);
/* What a Gaussian process sees of the values of dials [ranges]: [features]. */
void space_see(const struct space *space, const double *dial, double *feature);

#endif
