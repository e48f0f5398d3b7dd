/* Rewards against those of the same slice: what a scan got less the mean of the scans that share its slice. A
 * scan's own draws do not change what the others got, so the estimate of the gradient stays unbiased (leave-one-out
 * baseline of REINFORCE, Kool et al. 2019). L2S has it as learn.baseline, PG-MRI as its estimator (Bakker et al.
 * 2020). */
#ifndef L2SR_SYSTEMS_BASELINE_H
#define L2SR_SYSTEMS_BASELINE_H

#include "components/options.h"
#include "engine/base/error.h"
#include "engine/ecs/schedule.h"

/* Scans that share a slice: `members` of them, `stride` scans apart; a step has `scans` rows of ROLLOUT. */
struct scan_group {
  size_t steps, scans, members, stride;
  float scale; /* of the difference; leave_one_out, or 1 where it is brought in later */
};

/* K / (K - 1), which makes of the distance to the mean of all K the distance to that of the others. */
float leave_one_out(size_t members);

/* Refuses groups that a rollout of learn.scans does not have, as wrong usage. */
bool baseline_check(const struct options *options, struct error *error);
/* For methods with a baseline of their own: refuses learn.group and learn.baseline, which they would not look at. */
bool baseline_refuse(const struct options *options, const char *own, struct error *error);

/* Context: struct scan_group. */
extern const struct system system_centre_rewards;

#endif
