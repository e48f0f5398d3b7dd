/* What a rollout tells of its learning, beside losses: whether choices or slices make the difference, and whether
 * choices are still tried out. Values that a rollout has no answer to are NaN. */
#ifndef L2SR_SYSTEMS_ROLLOUT_FACTS_H
#define L2SR_SYSTEMS_ROLLOUT_FACTS_H

#include "systems/methods/rollout.h"

struct rollout_facts {
  /* Fraction of the variance of the scans' returns that lies between slices; NaN without several scans of a slice. */
  double between;
  /* Advantages of a step by the action taken: mean square between actions over that within them (the F ratio of an
   * analysis of variance, pooled over steps). 1: which action it was did not matter. NaN where none came twice. */
  double signal;
  double explained; /* 1 - variance of (target - estimate) over variance of the target: the critic's */
  double distinct;  /* masks of a slice at the scan's end: distinct ones over all; NaN without several scans of a slice */
};

/* Room on the host to read a rollout into. */
struct rollout_copy {
  float *reward, *value, *target, *advantage;
  uint32_t *action;
  double *sum, *square, *count; /* an entry an action */
  uint64_t *mask;               /* an entry a scan */
};

/* rewards: room for that column, which the caller has. */
bool rollout_copy_open(struct rollout_copy *copy, const struct rollout *rollout, float *rewards,
                       struct arena *arena, struct error *error);
/* What the host does for it. */
extern const struct system system_save_rollout;
/* Reads the last rollout; after device_finish it is there. */
void rollout_copy_read(struct rollout_copy *copy, const struct rollout *rollout);
struct rollout_facts rollout_facts(struct rollout_copy *copy, const struct rollout *rollout);

#endif
