/* Trains a classifier of reconstructions (PROTOCOL 4.4). */
#ifndef L2SR_SYSTEMS_CLASSIFIER_H
#define L2SR_SYSTEMS_CLASSIFIER_H

#include "systems/classifier/net_classifier.h"
#include "systems/training/minibatch.h"
#include "systems/training/training.h"

/* Its own state is struct fitting (systems/methods/fit.h); the network is training->policy, a loss the log-likelihood of a
 * sample. */
extern const struct task task_classifier;

#endif
