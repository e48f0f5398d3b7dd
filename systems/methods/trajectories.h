/* Trajectories of PG-MRI's policy (PROTOCOL 2): q scans of every slice side by side, rewarded in every step
 * by the gain in quality, and the gradient that REINFORCE makes of them.
 *
 *   greedy       in every step q lines are drawn from the slice's one state; the scan goes on from one of the
 *                q successors, the same one of every slice of a minibatch
 *   nongreedy    q lines are drawn from the first state; from there on each trajectory draws its own
 *
 * Scans are [trajectory][slice]. What the policy saw is kept, one image for all draws of one state: a
 * reconstruction costs more than its storage. Shards of an update are of slices, and ranks play the scans of their own. */
#ifndef L2SR_SYSTEMS_TRAJECTORIES_H
#define L2SR_SYSTEMS_TRAJECTORIES_H

#include "systems/methods/baseline.h"
#include "systems/networks/policy.h"
#include "systems/scan/simulation.h"

/* What they are follows from options pgmri.* and the plan of their simulation. */
struct trajectories {
  struct simulation *simulation; /* the caller's, of trajectories_plan; to open them, with policy (and reconstructor) set */
  size_t steps, most;            /* of a scan; slices of an update */
  size_t slices, before, all;    /* of the last play: this rank's; those of earlier ranks; of all */
  struct scan_group group;       /* the draws of a slice, of the last play */
};

/* For updates of at most `most` slices with q draws each, by pgmri.estimator; the caller adds what is its own. */
struct simulation_plan trajectories_plan(const struct options *options, size_t slices, size_t most,
                                         size_t draws, size_t steps);

/* For one trajectory of each of `envs` slices side by side, of which nothing is learnt. */
struct simulation_plan trajectories_validation_plan(const struct options *options, size_t slices,
                                                    size_t envs, size_t steps);
#define TRAJECTORIES_COLUMNS                                                                                 \
  (SET(STATE_observation) | SET(STATE_taken) | SET(STATE_terms) | SET(ROLLOUT_advantage) |       \
   SET(ROLLOUT_centred))

/* After simulation_set: scans are as long as its acquisition says. */
void trajectories_open(struct trajectories *trajectories);

/* Only enqueues. The scans of slices number first, first + 1 ... of SLICE_order, and what each draw was worth, by a
 * list that trajectories_add_play has filled. The last minibatch may be short: its mean is over fewer slices. */
void trajectories_play(struct trajectories *trajectories, const struct schedule *play, uint32_t first, size_t slices);
/* How many of an update's slices a rank plays at most; all, where there is no device. */
size_t trajectories_held(const struct device *device, size_t slices);

/* Images that the policy sees of a slice. */
size_t trajectories_states(const struct trajectories *trajectories);
/* Those that it saw on this rank in the last play. */
size_t trajectories_images(const struct trajectories *trajectories);

/* Systems for lists of the caller's: of a play; and those by which the policy's gradients become those of their loss, in
 * as many passes as that takes. */
void trajectories_add_play(struct trajectories *trajectories, struct schedule *schedule);
void trajectories_add_gradient(struct trajectories *trajectories, struct schedule *schedule);
extern const struct system *const trajectories_systems[];

#endif
