/* Whole numbers rounded up; the divisor is not zero. */
#ifndef L2SR_ENGINE_ROUND_H
#define L2SR_ENGINE_ROUND_H

#include <stddef.h>

static inline size_t divide_up(size_t count, size_t by) {
  return (count + by - 1) / by;
}

/* Rounds up to the next multiple of the unit. */
static inline size_t round_up(size_t count, size_t unit) {
  return divide_up(count, unit) * unit;
}

#endif
