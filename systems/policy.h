/* The network that chooses lines and its critic, behind one interface for training and evaluation: the
 * encoder and heads of systems/net_policy.h on the portable graph. */
#ifndef L2SR_SYSTEMS_POLICY_H
#define L2SR_SYSTEMS_POLICY_H

#include "engine/block.h"
#include "engine/store.h"
#include "systems/net_policy.h"

struct policy_setup {
  struct device *device;
  struct kernels *kernels;
  size_t size; /* N */
  uint32_t channels, pools, hidden;
  enum block_precision precision;
  size_t batch; /* images a pass at most */
  bool train;
};

struct policy {
  struct policy_setup setup;
  size_t batch;        /* images a pass: the setup's, or what fits the device */
  struct graph *graph; /* owns the parameters, and their gradients to train */
  tensor observation, lines, maps;
  struct net_policy_heads heads;
  cl_mem input;                           /* [batch][1][N][N], standardised; written by the caller */
  cl_mem mask;                            /* [batch][N], 1 where a line is acquired; written by the caller */
  cl_mem logits, value;                   /* [batch][N], [batch]; read by the caller */
  cl_mem logits_gradient, value_gradient; /* the same, to train; written by the caller */
};

/* Refuses sizes that the network does not take, and a precision other than f32. The parameters are not set:
 * graph_start or a checkpoint follows, then policy_changed. */
bool policy_open(struct policy *policy, const struct policy_setup *setup, struct error *error);
void policy_close(struct policy *policy);

/* All enqueue. */
void policy_forward(struct policy *policy, size_t images);
/* From the gradients of the images of the last forward; adds into the gradients of the parameters. */
void policy_backward(struct policy *policy, size_t images);
void policy_changed(struct policy *policy); /* after the parameters changed */

/* Sizes as attributes and parameters in group "param" of a checkpoint. */
bool policy_write(const struct policy *policy, struct store *store, struct error *error);

/* Opens the network of a checkpoint: channels, pools and hidden come from its attributes. Refused when it was
 * trained for another N. */
bool policy_load(struct policy *policy, const char *path, const struct policy_setup *setup,
                 struct error *error);

#endif
