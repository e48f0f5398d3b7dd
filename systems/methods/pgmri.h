/* Trains PG-MRI's policy (PROTOCOL 2; Bakker et al. 2020) by REINFORCE on dense rewards, with a reconstructor that
 * makes what the policy sees and does not change. An update is over pgmri.batch x pgmri.accumulation slices of an
 * epoch's order; minibatches that are left over at the end of an epoch are dropped. Nothing is selected by
 * validation, which draws one trajectory of each slice after every epoch; epochs of pgmri.keep stay as
 * epoch_N.h5. */
#ifndef L2SR_SYSTEMS_PGMRI_H
#define L2SR_SYSTEMS_PGMRI_H

#include "systems/methods/split.h"
#include "systems/methods/trainer.h"
#include "systems/methods/trajectories.h"
#include "systems/networks/reconstructor.h"

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

struct pgmri {
  struct trainer trainer; /* first: tasks know it by this */
  struct split train, validation;
  bool reconstructs;                  /* by a network; else it makes the zero-filled image */
  struct reconstructor reconstructor; /* open where it does */
  struct policy policy;
  struct trajectories trajectories;
  struct acquisition acquisition;
  struct schedule update;
  uint32_t milestone[MILESTONES_MOST];
  size_t milestones;
  size_t slices, group;   /* to train on; of an update */
  uint32_t *order;        /* of the slices in the epoch `ordered` - 1 */
  uint64_t ordered;       /* epochs whose order was drawn last; 0: none */
  float *terms, *rewards; /* room to read those columns into */
};

/* Refuses options that cannot go together, as wrong usage, and a precision that the device does not have; before
 * anything is loaded. */
bool pgmri_check(struct device *device, const struct options *options, struct error *error);

bool pgmri_open(struct pgmri *pgmri, struct device *device, const struct options *options,
                const struct trainer_config *config, struct error *error);
void pgmri_close(struct pgmri *pgmri);

/* The lists of systems of what the scene trains, without a device: `play` and the update. */
bool pgmri_describe(struct pgmri *pgmri, const struct options *options, struct schedule *play,
                    struct error *error);

extern const struct task task_pgmri;

#endif
