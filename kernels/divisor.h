/* For what prepares a kernel's test: counts that divide its rows, and gradients of shards. */
#ifndef L2SR_KERNELS_DIVISOR_H
#define L2SR_KERNELS_DIVISOR_H

#include "engine/device/kernel.h"

/* A divisor of count, which is at least 1. */
static inline uint32_t some_divisor(size_t count, struct random *random) {
  uint32_t divisor = 1 + random_u32(random) % (uint32_t)count;
  while (count % divisor) divisor--;
  return divisor;
}

/* How many shards the rows of a kernel that adds to the gradients of some are of: each has as many. */
static inline uint32_t shards_of(size_t rows, struct random *random) {
  static const uint32_t some[] = {1, 2, 8};
  uint32_t shards = some[random_u32(random) % 3];
  return rows % shards ? 1 : shards;
}

/* Where the first shard's gradient starts, and how far it is to the next, as the values `at` and at + 1: of `count` each,
 * within a column of two for every row at least. */
static inline void place_shards(struct host_args *args, int at, uint32_t count, struct random *random) {
  args->value[at].u = random_u32(random) % ((uint32_t)args->rows + 1);
  args->value[at + 1].u = count;
}

#endif
