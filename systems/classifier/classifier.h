/* Trains a classifier of reconstructions (PROTOCOL 4.4). */
#ifndef L2SR_SYSTEMS_CLASSIFIER_H
#define L2SR_SYSTEMS_CLASSIFIER_H

#include "systems/classifier/net_classifier.h"
#include "systems/training/minibatch.h"
#include "systems/training/training.h"

/* Own state of the task; the network is training->policy. */
struct classifying {
  struct minibatches train, validation;
  size_t first, count, done; /* samples of the running update; how many of them went before the running part */
  size_t pending;            /* updates whose losses have not been read */
  cl_mem losses;             /* F32 [train.log_every][train.batch]: log-likelihoods of their samples */
  float *room;               /* to read them into */
  double epoch_sum;          /* losses of the running epoch */
};

struct classifying *classifying_of(const struct training *training);

extern const struct task task_classifier;

#endif
