/* LBCS's task, for those that show its values. */
#ifndef L2SR_SYSTEMS_LBCS_H
#define L2SR_SYSTEMS_LBCS_H

#include "systems/training/training.h"

/* Values of a step that is looked at: name, TensorBoard's, meaning. */
#define LBCS_VALUES(X)                                                                                       \
  X(score, "%s/train", "the mean of the scene's metric over the step's slices with the action that it took") \
  X(action, NULL, "that action")
enum lbcs_value {
#define X(name, ...) LBCS_##name,
  LBCS_VALUES(X)
#undef X
      LBCS_VALUE_COUNT
};

extern const struct task task_lbcs;

#endif
