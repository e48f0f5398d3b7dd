/* Rows of a batch as shards: its sums are those of `all` shards, in the order of a binary tree, so that they are the same
 * bytes however many ranks share them out. A shard has as many rows as any other, rounded up: the last ones have fewer, or
 * none. A rank takes whole shards, one after the other. */
#ifndef L2SR_ENGINE_SHARDS_H
#define L2SR_ENGINE_SHARDS_H

#include "engine/base/ranks.h"

#include <stdbool.h>

struct shards {
  uint32_t all;
  const struct ranks *ranks; /* NULL: one rank has them all */
};

uint32_t shards_held(const struct shards *shards); /* by this rank */
/* Rows of the batch that are this rank's: [*first, end). */
size_t shards_rows(const struct shards *shards, size_t rows, size_t *first);

/* Rows that a network takes at once. */
struct shard_pass {
  size_t first, rows;
  size_t shard, each; /* the first one's shard, among those held; rows of a shard */
};
/* Turn number `turn` of passes of at most `most` over this rank's rows; false: there is none. A pass holds whole shards, or
 * where one is too large a part of it, whose sums are added to those of its other parts in their order. */
bool shards_take(const struct shards *shards, struct shard_pass *pass, size_t turn, size_t rows, size_t most);
/* The same of shards of `each` rows. */
bool shards_take_each(const struct shards *shards, struct shard_pass *pass, size_t turn, size_t rows, size_t each, size_t most);

#endif
