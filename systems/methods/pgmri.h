/* Trains PG-MRI's policy (PROTOCOL 2; Bakker et al. 2020) by REINFORCE on dense rewards, with a reconstructor
 * that makes what the policy sees and does not change. An update is over pgmri.batch x pgmri.accumulation
 * slices of an epoch's order; minibatches that are left over at the end of an epoch are dropped. Nothing is
 * selected by validation, which draws one trajectory of each slice after every epoch; epochs of pgmri.keep
 * stay as epoch_N.h5. */
#ifndef L2SR_SYSTEMS_PGMRI_H
#define L2SR_SYSTEMS_PGMRI_H

#include "systems/methods/policy_task.h"
#include "systems/methods/trajectories.h"
#include "systems/scan/slice_cache.h"

/* Values of an update that is looked at: name, TensorBoard's, meaning. */
#define PGMRI_VALUES(X)                                                                                      \
  X(reward, "reward/train", "the mean sum of a trajectory's rewards")                                        \
  X(loss, "loss/policy", "minus advantage times log-probability, summed over steps, mean over slices")       \
  X(entropy, "policy/entropy", "the entropy of the policy's choice, mean over states")                       \
  X(gradient_norm, "gradient_norm", "the norm of the update's gradient")                                     \
  X(rate, "rate", "the learning rate")
enum pgmri_value {
#define X(name, ...) PGMRI_##name,
  PGMRI_VALUES(X)
#undef X
      PGMRI_VALUE_COUNT
};

/* Own state of the task. */
struct pgmri {
  struct policy_learning policy; /* first */
  struct trajectories trajectories;
  size_t slices, group; /* to train on; of an update */
  struct slice_order order;
  uint64_t ordered; /* epochs whose order was drawn last; 0: none */
};

struct pgmri *pgmri_of(const struct training *training);

/* Places of its lists. */
enum pgmri_list { PGMRI_ORDER, PGMRI_PLAY, PGMRI_UPDATE, PGMRI_LOG };

/* One update of slices number first, first + 1 ... of the order; only enqueues. */
void pgmri_step(struct training *training, uint32_t first, size_t slices);

extern const struct task task_pgmri;

#endif
