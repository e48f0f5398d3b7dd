/* Running the networks of tau steps (PROTOCOL 3.3): all steps at once, to scan by them, or part by part, to
 * train them. */
#ifndef L2SR_SYSTEMS_SEQUENCE_H
#define L2SR_SYSTEMS_SEQUENCE_H

#include "engine/ecs/schedule.h"
#include "systems/networks/tau.h"

/* Shows them slices `row`, `row` + 1 ... of `slices`, U32, whose draws are keyed by `first`, `first` + 1 ...
 * The system reads SLICE.unit, and SLICE.image or, of complex images, k-space. */
void tau_encode(struct tau *tau, struct world *world, struct arg slices, size_t row, uint32_t first,
                size_t images);
component_set tau_encode_reads(const struct options *options);

/* Enqueues all steps, with passes of the reconstructor between. The masks after each are net.mask of the graph. */
void tau_run(struct tau *tau, size_t images);

/* To train: the systems of an update. Part 0 of the graph is before the first step, part t after step t, and every part has
 * a pass of the reconstructor of that number, which is selected: of the last part it is the one that the loss is of. Backward
 * goes from the input's gradient of that pass into the gradients of the sampler and, where it sees reconstructions, of the
 * pass before. This is their context; the reconstructor is the tau's. */
struct tau_steps {
  struct tau *tau;
  uint32_t step;   /* the running one */
  uint32_t sample; /* number of the first image, which keys its draws */
};
extern const struct system system_encode_slices, system_repeat_tau, system_forward_sampler, system_forward_reconstruction,
    system_forward_last, system_repeat_back, system_backward_sampler, system_backward_reconstruction;

#endif
