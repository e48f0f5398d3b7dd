/* Trains a network to say what every action is worth (PROTOCOL 2.1; Pineda et al. 2020): scans side by side
 * take the most valuable action, or a random one with a probability that falls; their steps stay in a replay,
 * of which updates draw. A unit is an action of all scans, and the updates after it.
 *
 * The replay is the table ROLLOUT, [step][column]: a column is a scan, and scans that ran side by side are a
 * block of columns, which the oldest block makes room for. It holds slice, action and reward (and a
 * priority); what follows from them is not stored: the mask before a step is the initial one with the scan's
 * actions until then, the observation is that of slice and mask, and a scan ends with its last step. So a
 * million steps take 64 MB with what updates need, 84 with priorities. */
#ifndef L2SR_SYSTEMS_DDQN_H
#define L2SR_SYSTEMS_DDQN_H

#include "systems/methods/policy_task.h"

/* Values of a unit that is looked at: name, TensorBoard's, meaning. */
#define DDQN_VALUES(X)                                                                                       \
  X(reward, "reward/train", "the mean reward of an action of the scans side by side")                        \
  X(epsilon, "policy/epsilon", "the probability of a random action")                                         \
  X(stored, "replay/steps", "steps in the replay that updates may draw")                                     \
  X(loss, "loss/values", "Huber's loss of the last update, mean over its steps")                             \
  X(error, "values/error", "the absolute error of the last update's values, mean over its steps")            \
  X(value, "values/value", "the value of an action that was taken, mean over the last update's steps")       \
  X(gradient_norm, "gradient_norm", "the norm of the last update's gradient, before clipping")
enum ddqn_value {
#define X(name, ...) DDQN_##name,
  DDQN_VALUES(X)
#undef X
      DDQN_VALUE_COUNT
};

/* A data-set-specific network: the number of actions so far, one of many, through three layers of 32 to a
 * value of each action. */
struct ddqn_network {
  struct graph *graph;
  tensor steps, logits;
  struct watch watch;
};

/* The ring of scans. */
struct replay {
  size_t scans, blocks;  /* side by side; how many such blocks there is room for */
  size_t columns, steps; /* scans * blocks; of a scan */
  size_t rows;           /* columns * steps */
};

/* Own state of the task. */
struct ddqn {
  struct policy_learning policy; /* first */
  struct replay replay;
  struct policy target;                           /* subject-specific, beside training->policy */
  struct ddqn_network online_steps, target_steps; /* data-set-specific */
  cl_mem taken;    /* of the data-set-specific ones: masks, F32 [batch][actions] */
  size_t batch;    /* steps of an update */
  size_t most;     /* of a pass */
  size_t row;      /* the running pass's first */
  uint64_t update; /* number of the running one */
  uint8_t *mask;   /* data-set-specific: the greedy one at the last validation; NULL: there was none */
  uint8_t *room;   /* for it */
};

struct ddqn *ddqn_of(const struct training *training);
bool ddqn_is_specific_to_data(const struct options *options);
bool ddqn_looks_at_reconstructions(const struct options *options);

/* Places of its lists. */
enum ddqn_list {
  DDQN_OPENED,
  DDQN_BEGIN,
  DDQN_GO_ON,
  DDQN_PLAY,
  DDQN_TARGETS,
  DDQN_UPDATE,
  DDQN_COPY,
  DDQN_START,
  DDQN_GREEDY,
  DDQN_LOG,
  DDQN_RANKS
};

/* ---- the replay ---------------------------------------------------------------------------------------- */

/* Where the unit after `done` is in it. */
struct replay_place {
  uint64_t episode;    /* of scans side by side */
  size_t step, column; /* of its scans; the first of their columns */
  size_t row;          /* step * columns + column */
};
struct replay_place replay_place(const struct replay *replay, uint64_t done);
/* What updates may draw after so many units: `whole` columns all steps, but for those of the block from
 * `running` on, of which the first `steps`; a step may be drawn once the `ahead` rewards after it are there.
 */
struct replay_valid {
  size_t whole, running, steps, count;
};
struct replay_valid replay_valid(const struct replay *replay, uint64_t done, size_t ahead);
double ddqn_epsilon(const struct options *options, uint64_t done);

/* ---- networks (ddqn_networks.c) ------------------------------------------------------------------------ */

extern const struct task_network ddqn_learns, ddqn_target;
struct policy_setup ddqn_setup(struct device *device, struct kernels *kernels, const struct options *options);
/* The data-set-specific network, appended to an empty graph. */
void ddqn_append_steps(struct graph *graph, int actions, tensor *steps, tensor *logits);
/* Their ports become the columns of BATCH. */
void ddqn_bind(struct training *training, bool target);

/* ---- lists (ddqn_systems.c) ---------------------------------------------------------------------------- */

void ddqn_fill_begin(struct training *training, struct schedule *schedule);
void ddqn_fill_go_on(struct training *training, struct schedule *schedule);
void ddqn_fill_play(struct training *training, struct schedule *schedule);
void ddqn_fill_targets(struct training *training, struct schedule *schedule);
void ddqn_fill_update(struct training *training, struct schedule *schedule);
void ddqn_fill_copy(struct training *training, struct schedule *schedule);
void ddqn_fill_start(struct training *training, struct schedule *schedule);
void ddqn_fill_greedy(struct training *training, struct schedule *schedule);
/* Every row of the replay, and that none of it may be drawn yet; at the opening. */
void ddqn_clear_replay(struct training *training);
extern const struct system *const ddqn_systems[], *const ddqn_opened_rows[];

extern const struct task task_ddqn;

#endif
