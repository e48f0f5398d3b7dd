/* Trains an evaluator beside its reconstructor (PROTOCOL 4.3; Zhang et al. 2019): of a reconstruction it says
 * how near every column of k-space is to the truth, of a true image that all are, and the reconstructor is
 * drawn to what it takes for true. */
#ifndef L2SR_SYSTEMS_EVALUATOR_H
#define L2SR_SYSTEMS_EVALUATOR_H

#include "systems/methods/fit.h"

/* Own state of the task; the network is training->policy. */
struct evaluator {
  struct fitting fitting; /* first */
  struct optimiser optimiser;
  size_t rows;   /* room for losses: the validation samples, or a pass */
  cl_mem truth;  /* F32 [batch][height][width]: true images of the running pass, normalised */
  cl_mem target; /* F32 [batch][width]: what their reconstructions' columns are worth */
  cl_mem loss;   /* F32 [rows]: of every image */
  float *room;   /* [rows] */
};

struct evaluator *evaluator_of(const struct training *training);

extern const struct task task_evaluator;

#endif
