/* Optimisers: one step from the gradients of a graph's parameters to their new values, all on the device.
 * Moments lie in the layout of the parameters. Schedules are pure functions of the epoch. */
#ifndef L2SR_ENGINE_OPTIMISE_H
#define L2SR_ENGINE_OPTIMISE_H

#include "engine/graph/graph.h"
#include "engine/graph/rank_sum.h"

enum optimiser_kind {
  OPTIMISER_ADAM,
  OPTIMISER_RMSPROP,    /* PyTorch: epsilon outside of the root, squares start at 0 */
  OPTIMISER_RMSPROP_TF, /* TensorFlow: epsilon inside of the root, squares start at 1 */
  OPTIMISER_SGD
};

struct optimiser_setup {
  enum optimiser_kind kind;
  double rate;         /* learning rate */
  double beta1, beta2; /* Adam; beta2 is also RMSprop's alpha, beta1 SGD's momentum */
  double epsilon, decay /* the weight decay, added to the gradient */;
  double clip; /* largest norm of the whole gradient; 0: no limit */
};

struct optimiser {
  struct device *device;
  struct kernels *kernels;
  const struct graph *graph;
  struct optimiser_setup setup;
  uint64_t step; /* steps taken */
  double rate;   /* the rate of the next step: set it from a schedule */
  cl_mem first, second, part, scale;
  struct rank_sum sum;
};

/* PyTorch's defaults: Adam .9 .999 1e-8, RMSprop .99 1e-8, SGD without momentum; no decay, no clipping. */
struct optimiser_setup optimise_defaults(enum optimiser_kind kind, double rate);

/* The graph must be planned to train and own its parameters. */
bool optimise_open(struct optimiser *optimiser, const struct graph *graph,
                   const struct optimiser_setup *setup, struct error *error);
void optimise_close(struct optimiser *optimiser);
/* Takes the gradients of all shards together first, over all ranks; alone it only enqueues. */
void optimise_step(struct optimiser *optimiser);
/* Waits; the norm of the last step's gradient before clipping. Without a clip it is computed only now, from the
 * gradients, which must still be those of the step. */
bool optimise_norm(struct optimiser *optimiser, double *norm, struct error *error);

/* How a learning rate falls with whole epochs, from 0: times factor^(epoch / every); where `every` is 0, times factor for
 * every milestone that the epoch has reached. */
struct rate_schedule {
  double factor;
  uint32_t every;
  const char *milestones; /* epochs, separated by commas */
};
double rate_at(const struct rate_schedule *schedule, double rate, uint64_t epoch);
/* Refuses milestones that are no epochs; `key` is their option. */
bool rate_check(const struct rate_schedule *schedule, const char *key, struct error *error);

#endif
