/* What a training starts with. The reconstructor that a policy starts with: learn.reconstructor; where that
 * is empty, what alternate.start says. The parameters of what is trained: new, or those of train.start and
 * learn.start. */
#ifndef L2SR_SYSTEMS_START_H
#define L2SR_SYSTEMS_START_H

#include "components/options.h"
#include "systems/methods/method.h"

/* Its checkpoint; NULL: it is trained first. */
const char *start_checkpoint(const struct options *options);
/* Refuses an alternate.start that is neither a word nor a file. */
bool start_check(const struct options *options, struct error *error);
/* Whether the scene's method trains anything: one that only trains a reconstructor does not where reconstruct.method has no
 * network. */
bool start_trains(const struct options *options);
/* Refuses a reconstruct.method without a network for what trains one or names one to start with. */
bool start_check_method(const struct method *method, const struct options *options, struct error *error);
/* Refuses a train.start or learn.start that starts nothing, or whose network is not what would be trained;
 * before anything is. */
bool start_parameters_check(const struct method *method, const struct options *options, struct device *device,
                            struct error *error);
/* What the scene names for a stage to start with; NULL: nothing. */
const char *start_parameters(const struct task *task, const struct options *options);
/* Sets train.* and data.augment of one that is trained first; the texts are in the arena. */
bool start_set(struct options *options, struct arena *arena, struct error *error);

#endif
