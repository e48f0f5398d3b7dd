/* For what prepares a kernel's test: counts that divide its rows. */
#ifndef L2SR_KERNELS_DIVISOR_H
#define L2SR_KERNELS_DIVISOR_H

#include "engine/base/random.h"

/* A divisor of count, which is at least 1. */
static inline uint32_t some_divisor(size_t count, struct random *random) {
  uint32_t divisor = 1 + random_u32(random) % (uint32_t)count;
  while (count % divisor) divisor--;
  return divisor;
}

#endif
