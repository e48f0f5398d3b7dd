/* The network that chooses lines, behind one interface for training and evaluation: the heads of
 * systems/networks/net_policy.h (with its critic) or of systems/networks/net_pgmri.h on the graph, the
 * encoder before them on the fused path (engine/fused/block.h) where the device and the sizes allow, else on
 * the graph too. */
#ifndef L2SR_SYSTEMS_POLICY_H
#define L2SR_SYSTEMS_POLICY_H

#include "engine/ecs/world.h"
#include "systems/networks/network.h"
#include "systems/networks/net_pgmri.h"
#include "systems/networks/net_policy.h"

struct policy_setup {
  struct device *device;
  struct kernels *kernels;
  struct scan_shape shape;
  uint32_t channels, pools, hidden;
  enum block_precision precision;
  size_t batch; /* images a pass at most */
  bool train;
  bool portable; /* the whole on the graph, wherever it runs */
  bool whole;    /* refuses where `batch` images do not fit, instead of taking fewer a pass */
  bool dense;    /* PG-MRI's, which looks at the reconstruction and has no critic */
  bool evaluator; /* systems/evaluator/net_evaluator.h, which is dense, on the graph alone; it may learn what made its input */
  bool classifier; /* net_classifier.h, which is dense; its actions are classes */
  bool planned;  /* it stood beside another, which has told its memory */
  struct network_need beside; /* what is opened after it */
};

/* A setup as the scene has it, with `most` images a pass at most. */
struct policy_setup policy_setup_of(struct device *device, struct kernels *kernels, const struct options *options,
                                    size_t most);

struct policy {
  struct policy_setup setup;
  struct network network;
  size_t batch;        /* images a pass: the setup's, or what fits the device */
  struct graph *graph; /* owns the parameters, and their gradients to train */
  tensor lines;
  struct net_policy_heads heads;
  struct blocks *blocks;                  /* the fused encoder; NULL: the graph computes it */
  uint32_t initial_lines, budget;         /* of the scans that it was trained for; 0: not known */
  char geometry[16];                      /* theirs, as acquisition.geometry; "": not known */
  char reconstructor[65];                 /* the hash of that which it was trained with; "": not known */
  double scale;                           /* of gradients within it: what the loss gave is about 1 / scale */
  cl_mem input;         /* [batch][1][height][width], standardised, or dense: normalised; by the caller */
  cl_mem mask;          /* [batch][actions], 1 where one is acquired; written by the caller */
  cl_mem logits, value; /* [batch][actions], [batch]; read by the caller; dense: no value */
  cl_mem logits_gradient, value_gradient; /* the same, to train; written by the caller */
  struct watch watch;
};

/* Refuses as network_open. The parameters are not set: graph_start or a checkpoint follows, then policy_changed. Must
 * not move while it is open. */
bool policy_check(const struct policy_setup *setup, struct error *error); /* only that; takes no memory */
bool policy_open(struct policy *policy, const struct policy_setup *setup, struct error *error);
/* What it would take: the network of a checkpoint, or path NULL: of the setup. */
bool policy_measure(const struct policy_setup *setup, const char *path, struct network_need *need,
                    struct error *error);
void policy_close(struct policy *policy);

/* Its ports become the columns of BATCH. */
void policy_bind(struct policy *policy, struct world *world);

/* All enqueue. */
/* Runs inputs from image `place` on; the fused encoder's activations stay there, for a backward of all parts.
 * The masks, logits and values are from image 0 on. Part 0 comes first; place and images are even. */
void policy_forward_part(struct policy *policy, size_t place, size_t images);
/* Once more, of the activations that the parts left: what one forward pass of the same inputs would give. */
void policy_forward_kept(struct policy *policy, size_t images);
/* Goes back from the gradients of the images of the last forward; adds into the gradients of the parameters. */
void policy_backward(struct policy *policy, size_t images);
void policy_changed(struct policy *policy); /* after the parameters changed */

/* The policy learns from columns of a rollout; order says which of its rows each row of the update is. */
struct policy_update {
  cl_mem order;                             /* U32 */
  cl_mem action, log_prob;                  /* as the rollout chose */
  cl_mem advantage, target;                 /* target: of the value */
  cl_mem terms;                             /* written, float4 a row of the update; kernels/policy.cl */
  float entropy_weight, value_weight, clip; /* clip 0: A2C; else PPO's */
};
/* After a forward of rows first, first + 1 ... of the update: their terms, and the gradients that backward
 * starts from. share: one over the rows of the whole batch, of which this may be a part. */
void policy_loss(struct policy *policy, const struct policy_update *update, size_t first, size_t images,
                 double share);

/* REINFORCE learns from these (systems/methods/trajectories.h): draws of lines, several of one image where they share a state;
 * images are of slices in parts, [part][step][draw][slice]. */
struct policy_draws {
  cl_mem action, advantage; /* of the draws, [step][draw][slice] */
  cl_mem terms;             /* written, float2 an image: loss, entropy */
  size_t slices, draws;     /* of a step: slices * draws */
  size_t each, steps;       /* slices of a part, of which the last may have fewer; steps of all */
  bool shared;              /* in every step all draws of a slice share its state; else in the first one */
};
/* After a forward of images first, first + 1 ...: the gradients that backward starts from, of the sum over
 * their draws of minus advantage times log-probability. size: about that of an advantage. */
void policy_reinforce(struct policy *policy, const struct policy_draws *draws, size_t first, size_t images,
                      double size);

/* What checkpoints say of it: sizes and scans. */
struct network_facts policy_facts(const struct policy *policy);
/* These as attributes and parameters in group "param" of a checkpoint. */
bool policy_write(const struct policy *policy, struct store *store, struct error *error);

/* Whether the checkpoint's attributes are those of this policy, as they must be where its training goes on.
 */
bool policy_same(const struct policy *policy, struct store *store, struct error *error);

/* Whether the group holds the parameters of such a policy; nothing is opened on the device. */
bool policy_stored(const struct policy_setup *setup, struct store *store, const char *group,
                   struct error *error);

/* Refuses a checkpoint whose policy is not that of the setup: its kind, sizes, parameters, and where it is
 * known the geometry of its scans. Opens nothing on the device. */
bool policy_fits(const struct policy_setup *setup, const char *geometry, const char *path,
                 struct error *error);

/* Whether the checkpoint is of a network that looks at reconstructions. */
bool policy_is_dense(const char *path, bool *dense, struct error *error);

/* Opens the network of a checkpoint: kind, channels, pools and hidden come from its attributes. Refused when
 * it was trained for other sides. */
bool policy_load(struct policy *policy, const char *path, const struct policy_setup *setup,
                 struct error *error);

#endif
