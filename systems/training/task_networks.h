/* Networks that tasks have, as rows: a reconstructor or a policy that does not change. Those that learn are
 * rows of the tasks that train them. */
#ifndef L2SR_SYSTEMS_TASK_NETWORKS_H
#define L2SR_SYSTEMS_TASK_NETWORKS_H

#include "systems/training/training.h"

/* training->reconstructor of config.reconstructor; where that is NULL one of new parameters. */
extern const struct task_network network_fixed_reconstructor;
/* training->policy of config.policy. */
extern const struct task_network network_fixed_policy;

/* Scans side by side of either split: a pass takes no more. */
size_t training_scans(const struct training *training);
size_t training_coils(const struct training *training); /* of a slice, at most; 0: there are no files */

/* Rows of networks that learn share these. */
void training_close_reconstructor(struct training *training);
void training_close_policy(struct training *training);
struct graph *training_reconstructor_graph(const struct training *training);
struct graph *training_policy_graph(const struct training *training);
/* Both splits' simulations have it. */
void training_share_reconstructor(struct training *training);
void training_share_policy(struct training *training);

#endif
