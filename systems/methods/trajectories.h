/* Trajectories of PG-MRI's policy (PROTOCOL 2): q scans of every slice side by side, rewarded in every step
 * by the gain in quality, and the gradient that REINFORCE makes of them.
 *
 *   greedy       in every step q lines are drawn from the slice's one state; the scan goes on from one of the
 *                q successors, the same one of every slice of a minibatch
 *   nongreedy    q lines are drawn from the first state; from there on each trajectory draws its own
 *
 * Scans are [trajectory][slice]. What the policy saw is kept, one image for all draws of one state: a
 * reconstruction costs more than its storage. */
#ifndef L2SR_SYSTEMS_TRAJECTORIES_H
#define L2SR_SYSTEMS_TRAJECTORIES_H

#include "systems/networks/policy.h"
#include "systems/scan/simulation.h"

struct trajectories_setup {
  struct simulation *simulation; /* opened by trajectories_plan, with policy (and reconstructor) set */
  size_t batch, minibatches;     /* slices of a minibatch; minibatches of an update */
  size_t draws;                  /* q */
  bool greedy;
  bool baseline; /* subtract the mean over a slice's draws; false: greedy only */
  double gamma;  /* discount, nongreedy */
};

struct trajectories {
  struct trajectories_setup setup;
  size_t steps, most;          /* of a scan; slices of an update */
  size_t slices;               /* of the last play */
  struct policy_draws columns; /* where the draws stand */
};

/* For updates of at most `most` slices with q draws each; the caller adds what is its own. */
struct simulation_plan trajectories_plan(const struct options *options, size_t slices, size_t most,
                                         size_t draws, size_t steps);

/* After simulation_set: scans are as long as its acquisition says. */
bool trajectories_open(struct trajectories *trajectories, const struct trajectories_setup *setup,
                       struct error *error);
void trajectories_close(struct trajectories *trajectories);

/* Both enqueue. The scans of slices number first, first + 1 ... of SLICE_order; what each draw was worth. The
 * last minibatch may be short: its mean is over fewer slices. */
void trajectories_play(struct trajectories *trajectories, uint32_t first, size_t slices);
/* Adds the gradient of their loss to those of the policy, in as many passes as that takes. */
void trajectories_gradient(struct trajectories *trajectories);

size_t
trajectories_images(const struct trajectories *trajectories); /* that the policy saw in the last play */

#endif
