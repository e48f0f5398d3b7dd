/* A classifier of images (PROTOCOL 4.4): the encoder of PG-MRI's policy, the largest value of each of its maps, two hidden
 * layers and a logit for each class. It is opened as a policy (systems/networks/policy.h), whose actions are classes. */
#ifndef L2SR_SYSTEMS_NET_CLASSIFIER_H
#define L2SR_SYSTEMS_NET_CLASSIFIER_H

#include "systems/networks/networks.h"

/* Maps of net_pgmri_maps (systems/networks/net_pgmri.h), from an image by its own mean and deviation, to logits [classes][1][1]. */
tensor net_classifier_logits(struct graph *graph, tensor maps, int hidden, int classes);

extern const struct network_desc network_classifier;

#endif
