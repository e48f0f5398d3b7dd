#include "engine/base/shards.h"

#include "engine/base/round.h"

uint32_t shards_held(const struct shards *shards) {
  return shards->all / ranks_count(shards->ranks);
}

static size_t at_most(size_t count, size_t most) {
  return count < most ? count : most;
}

static size_t rows_of(const struct shards *shards, size_t rows, size_t each, size_t *first) {
  size_t own = each * shards_held(shards), rank = ranks_number(shards->ranks);
  *first = at_most(rank * own, rows);
  return at_most((rank + 1) * own, rows);
}

size_t shards_rows(const struct shards *shards, size_t rows, size_t *first) {
  return rows_of(shards, rows, divide_up(rows, shards->all), first);
}

bool shards_take(const struct shards *shards, struct shard_pass *pass, size_t turn, size_t rows, size_t most) {
  return shards_take_each(shards, pass, turn, rows, divide_up(rows, shards->all), most);
}

bool shards_take_each(const struct shards *shards, struct shard_pass *pass, size_t turn, size_t rows, size_t each, size_t most) {
  size_t start, end = rows_of(shards, rows, each, &start);
  if (most >= each) { /* whole shards */
    size_t step = most / each * each, first = start + turn * step;
    *pass = (struct shard_pass){first, at_most(step, end - at_most(first, end)), turn * (step / each), each};
  } else {
    size_t passes = divide_up(each, most), shard = turn / passes, first = start + shard * each + turn % passes * most;
    size_t last = at_most(start + (shard + 1) * each, end), count = at_most(most, last - at_most(first, last));
    *pass = (struct shard_pass){first, count, shard, count};
  }
  return pass->rows;
}
