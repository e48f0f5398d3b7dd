#include "engine/base/ranks.h"

#include "engine/base/log.h"

uint32_t ranks_count(const struct ranks *ranks) {
  return ranks ? ranks->count : 1;
}

uint32_t ranks_number(const struct ranks *ranks) {
  return ranks ? ranks->rank : 0;
}

void ranks_unite(struct ranks *ranks, void *words, size_t bytes) {
  if (ranks_count(ranks) == 1) return;
  double start = clock_work();
  ranks->unite(ranks, words, bytes);
  ranks->waited += clock_work() - start;
}

void ranks_exchange(struct ranks *ranks, uint32_t partner, const void *give, void *take, size_t bytes) {
  double start = clock_work();
  ranks->exchange(ranks, partner, give, take, bytes);
  ranks->waited += clock_work() - start;
}

void ranks_meet(struct ranks *ranks) {
  uint32_t nothing = 0;
  ranks_unite(ranks, &nothing, sizeof nothing);
}

size_t ranks_rows(const struct ranks *ranks, size_t rows, size_t *first) {
  size_t count = ranks_count(ranks), number = ranks_number(ranks);
  *first = rows * number / count;
  return rows * (number + 1) / count;
}
