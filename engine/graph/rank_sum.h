/* The sum of a network's gradients over all ranks, on every rank: where the tree over the shards that each holds
 * (graph_gather) goes on. Neighbours exchange halves, quarters ... of the gradient, and each adds
 * what it keeps (reduce-scatter); then the sums go the same way back (gather). Sums are a kernel's: MPI's own reductions
 * choose their order. Between NVIDIA cards of one host the parts go from device to device (engine/device/peers.h), else through
 * host memory; the bytes are the same. */
#ifndef L2SR_ENGINE_RANK_SUM_H
#define L2SR_ENGINE_RANK_SUM_H

#include "engine/device/host_memory.h"
#include "engine/device/kernel.h"
#include "engine/device/peers.h"

struct rank_sum {
  struct device *device; /* NULL: not open */
  struct kernels *kernels;
  cl_mem gradients;
  size_t elements;
  struct peers *peers; /* NULL: through host memory, by what follows */
  cl_mem others;       /* half of a gradient */
  struct host_memory pinned;
  float *gradient, *taken; /* one behind the other in it */
  cl_command_queue aside, main; /* a second queue, once it was wanted; the first one, while the second takes its place */
};

/* Of a buffer of so many floats, a multiple of the number of ranks. Alone it takes nothing. Chooses the way as the ranks' `way`
 * says (engine/base/ranks.h), the same on all; the first time says which and why. */
bool rank_sum_open(struct rank_sum *sum, struct device *device, struct kernels *kernels, cl_mem gradients, size_t elements,
                   struct error *error);
void rank_sum_close(struct rank_sum *sum); /* also where it is not open */
/* So many gradients from `first` on, both multiples of the number of ranks, become the sum over all ranks, the same on every
 * rank. With others it waits for the device and for them. */
void rank_sum_run(struct rank_sum *sum, size_t first, size_t count);
/* Between the two, what is enqueued runs beside what was enqueued before, once `ready` is (NULL: all of that). The second
 * waits for it. Where launches are timed, one queue has them all. */
void rank_sum_aside(struct rank_sum *sum, cl_event ready);
void rank_sum_back(struct rank_sum *sum);

#endif
