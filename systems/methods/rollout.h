/* Rollouts of a policy: a number of scans, as many side by side as there are environments to a launch, kept
 * as one row a step of a scan ([step][scan], table ROLLOUT) without images; and the rows once more as the
 * policy's inputs, when it learns from them: an observation follows from slice, initial lines and the actions
 * until then. */
#ifndef L2SR_SYSTEMS_ROLLOUT_H
#define L2SR_SYSTEMS_ROLLOUT_H

#include "systems/methods/baseline.h"
#include "systems/networks/policy.h"
#include "systems/scan/simulation.h"

struct rollout {
  /* What the caller sets: */
  struct simulation *simulation; /* opened by rollout_plan; before rollout_open its policy and reconstructor are set */
  size_t scans, launch;          /* of a rollout; at a time */
  double gamma, lambda;          /* discount; of generalised advantages */
  bool keeps;                    /* rollout_can_keep: the policy's activations stay for the update */
  bool normalises;               /* advantages, within every update */
  enum learn_baseline baseline;  /* what advantages are measured against */
  uint32_t *words; /* room for `rows` of them, where ranks share the scans out */
  struct scan_group group;       /* its members: scans in a row that share a slice; 0 or 1: each has its own */
  struct policy_update update;   /* the weights of the loss; columns are filled in a step */
  /* What follows: */
  size_t steps, rows;           /* rows = steps * scans */
  unsigned rewards, advantages; /* columns: what advantages are of; what an update learns from */
  bool kept;                    /* activations of the last rollout are there */
  uint32_t first_scan;          /* of the rollout that is played */
  size_t most;                  /* rows of an update, to normalise */
  size_t first, count, row;     /* rows of the running update, and the running pass's first */
};

/* For rollouts of at most `rows` steps of scans, and passes through the policy or launches of at most
 * `envs`; the caller adds what is its own (kernels, reconstructor). */
struct simulation_plan rollout_plan(const struct options *options, size_t slices, size_t envs, size_t rows);

/* Whether the activations of a rollout may stay: in one launch, of an even number of scans, and on a device
 * that computes the encoder fused; the policy's batch must be all its rows. */
bool rollout_can_keep(const struct device *device, size_t scans, size_t launch);

/* Without a device: what its lists follow from. */
void rollout_describe(struct rollout *rollout);
/* After simulation_set: scans are as long as its acquisition says. */
void rollout_open(struct rollout *rollout);
extern const struct system system_order_rows, system_load_end; /* what it writes then */

/* Only enqueues. The scans with numbers from first_scan on, from begin to reward, and their advantages, by a list that
 * rollout_add_play has filled. */
void rollout_play(struct rollout *rollout, const struct schedule *play, uint32_t first_scan);
/* The systems of a play; teacher: as simulation_add_scan takes it. */
void rollout_add_play(struct rollout *rollout, struct schedule *schedule, const struct sampler *teacher);
/* The systems that bring advantages within every `most` rows of that order, as the updates take them, to mean 0 and
 * deviation 1; none where `normalises` is false. */
void rollout_add_normalise(struct rollout *rollout, struct schedule *schedule);
/* The systems that make the policy's gradients those of the mean loss of rows [first, first + count) of that order, in as
 * many passes as that takes; where activations are kept, of all rows in their own order, once a
 * rollout. */
void rollout_add_gradient(struct rollout *rollout, struct schedule *schedule);
/* Columns of these systems, for the plan. */
#define ROLLOUT_COLUMNS                                                                                      \
  (SET(ROLLOUT_centred) | SET(ROLLOUT_advantage) | SET(ROLLOUT_return) | SET(ROLLOUT_last_value) |           \
   SET(ROLLOUT_order) | SET(ROLLOUT_terms) | SET(ROLLOUT_normalised))

/* What scans leave in a rollout's rows, which ranks share. */
#define ROLLOUT_SHARED                                                                                       \
  (SET(ROLLOUT_slice) | SET(ROLLOUT_action) | SET(ROLLOUT_log_prob) | SET(ROLLOUT_value) |                    \
   SET(ROLLOUT_reward) | SET(ROLLOUT_done))

extern const struct system *const rollout_systems[];

/* ---- its facts (rollout_facts.c) -------------------------------------------------------------------------- */

/* What a rollout tells of its learning, beside losses: whether choices or slices make the difference, and whether
 * choices are still tried out. Values that a rollout has no answer to are NaN. */
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
