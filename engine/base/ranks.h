/* Ranks: processes that train one network together, each on a device of its own. What carries bytes between them is the
 * program's (tools/ranks/mpi.c); nothing here, nor in the library, needs it. All of these wait for the others, and end
 * the process where one of them is gone. */
#ifndef L2SR_ENGINE_RANKS_H
#define L2SR_ENGINE_RANKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How gradients go from rank to rank: auto is by peers where all can (engine/device/peers.h). */
enum ranks_way { RANKS_BY_ANY, RANKS_BY_HOST, RANKS_BY_PEERS };

struct ranks {
  uint32_t rank, count; /* count: a power of two */
  uint32_t place;       /* among those of this host */
  enum ranks_way way;
  bool told;            /* which way was chosen */
  double waited;        /* seconds in which this one stood in what follows */
  void *context;
  /* Gives so many bytes to the partner, and takes as many from it. */
  void (*exchange)(struct ranks *ranks, uint32_t partner, const void *give, void *take, size_t bytes);
  /* Every rank's words together, bit by bit (or), in all of them. */
  void (*unite)(struct ranks *ranks, void *words, size_t bytes);
};

enum { RANKS_MOST = 64 };

uint32_t ranks_count(const struct ranks *ranks); /* NULL: one, whose number is 0 */
uint32_t ranks_number(const struct ranks *ranks);
/* The same of what each has filled in part, and left 0 elsewhere; `bytes` is a multiple of 4. Alone: nothing. */
void ranks_unite(struct ranks *ranks, void *words, size_t bytes);
void ranks_exchange(struct ranks *ranks, uint32_t partner, const void *give, void *take, size_t bytes);
void ranks_meet(struct ranks *ranks); /* none goes on before all are here */

/* Rows that are shared out by themselves: this rank's are [*first, end). */
size_t ranks_rows(const struct ranks *ranks, size_t rows, size_t *first);

#endif
