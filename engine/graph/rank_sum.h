/* The sum of a network's gradients over all shards, on every rank (engine/base/shards.h): on each the tree over those that
 * it holds, then between ranks the tree goes on. Neighbours exchange halves, quarters ... of the gradient, and each adds
 * what it keeps (reduce-scatter); then the sums go the same way back (gather). Sums are a kernel's: MPI's own reductions
 * choose their order. Between NVIDIA cards of one host the parts go from device to device (engine/device/peers.h), else through
 * host memory; the bytes are the same. */
#ifndef L2SR_ENGINE_RANK_SUM_H
#define L2SR_ENGINE_RANK_SUM_H

#include "engine/device/host_memory.h"
#include "engine/device/peers.h"
#include "engine/graph/graph.h"

struct rank_sum {
  const struct graph *graph;
  struct peers *peers; /* NULL: through host memory, by what follows */
  cl_mem others;       /* half of a gradient */
  struct host_memory pinned;
  float *gradient, *taken; /* one behind the other in it */
};

/* The graph owns its parameters and is planned to train. Alone it takes nothing. Chooses the way as the ranks' `way`
 * says (engine/base/ranks.h), the same on all; the first time says which and why. */
bool rank_sum_open(struct rank_sum *sum, const struct graph *graph, struct error *error);
void rank_sum_close(struct rank_sum *sum); /* also where it is not open */
/* The gradients of shards that are held become one, the same on every rank: the first `elements` of the buffer. With
 * others it waits for the device and for them. */
void rank_sum_run(struct rank_sum *sum);

#endif
