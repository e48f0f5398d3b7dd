/* Trains a policy by reinforcement (PROTOCOL 1.7): rollouts of all scans, generalised advantages, A2C or PPO,
 * with a reconstructor that only scores and does not change. Validation scans take the policy's most probable
 * actions; the highest mean of the scene's metric is the best. */
#ifndef L2SR_SYSTEMS_LEARN_H
#define L2SR_SYSTEMS_LEARN_H

#include "systems/methods/policy_task.h"
#include "systems/methods/rollout.h"

/* Values of a rollout that is looked at: name, TensorBoard's, meaning. */
#define LEARN_VALUES(X)                                                                                      \
  X(reward, "reward/train", "the mean sum of a scan's rewards")                                              \
  X(policy_loss, "loss/policy", "minus advantage times log-probability, or PPO's surrogate")                 \
  X(value_loss, "loss/value", "the squared error of the critic, mean over steps")                            \
  X(entropy, "policy/entropy", "the entropy of the policy's choice, mean over steps")                        \
  X(ratio, "policy/ratio", "ppo: the mean logarithm of how much more probable the actions became")           \
  X(gradient_norm, "gradient_norm", "the norm of the last update's gradient, before clipping")               \
  X(rate, "rate", "the learning rate")                                                                       \
  X(entropy_weight, "policy/entropy_weight", "the weight of the entropy in the loss")                        \
  X(explained, "critic/explained", "the fraction of the returns' variance that the critic explains")         \
  X(between, "reward/between", "the fraction of the returns' variance that lies between slices")             \
  X(signal, "policy/signal", "mean square of the advantage between actions of a step, over that within")     \
  X(distinct, "policy/distinct", "distinct masks of a slice at the end, over its scans")
enum learn_value {
#define X(name, ...) LEARN_##name,
  LEARN_VALUES(X)
#undef X
      LEARN_VALUE_COUNT
};

/* Own state of the task. */
struct learning {
  struct policy_learning policy; /* first */
  struct rollout rollout;
  struct rollout_copy copy;
  uint64_t taught;     /* rollouts of a teacher, before those of the policy */
  uint32_t first_scan; /* number of the training's first scan */
  uint32_t epoch;      /* of PPO's, the running one */
};

struct learning *learning_of(const struct training *training);

/* Places of its lists. */
enum learn_list { LEARN_OPENED, LEARN_CLONE, LEARN_IMITATE, LEARN_PLAY, LEARN_UPDATE, LEARN_LOG };

/* One rollout and what is learnt from it; only enqueues. */
void learn_step(struct training *training); /* l2s.c */
uint32_t learn_next_scan(const struct training *training); /* number of its first scan */
bool learn_is_ppo(const struct options *options);
/* The loss of an update, and how many scans share a slice, as the scene says; a teacher changes both while it decides. */
void learn_set_loss(struct training *training);
/* PPO goes over the minibatches of several epochs; A2C makes one update of all rows. normalised: of advantages that are
 * normalised where the scene says so; else of them as they are. */
void learn_fill_passes(struct training *training, struct schedule *schedule, bool normalised);
void learn_fill_update(struct training *training, struct schedule *schedule); /* with the rates that are scheduled */
extern const struct system *const learn_log_rows[]; /* what the host does for it */
bool learn_log(struct training *training, double values[TRAINING_VALUES], struct error *error);
/* The rate of a first update: learn.rate scaled to learn.scans; 16 are those of the published code. */
double learn_scaled_rate(const struct options *options);

extern const struct task task_policy;
extern const struct system *const learn_systems[];

/* ---- imitating a teacher (learn_clone.c) ---------------------------------------------------------------
 *
 * A policy imitates a teacher before it learns from rewards (learn.clone, PROTOCOL 1.7). The first rollouts
 * of its first stage are the teacher's: the policy sees the states that the teacher visits, the teacher
 * decides, and an update lowers the cross-entropy of its choices. They stand in ROLLOUT as any; a choice of
 * the teacher has advantage 1, so that the policy's loss is the cross-entropy. Where the critic alone is
 * measured against, it learns the returns of these scans, with its weight; else it does not learn. */

/* Refuses a mask without an order that the scene's scans can follow. */
bool clone_check(const struct task_check *check, struct error *error);
/* Rollouts of the teacher in the first round, of `rows` steps each. */
uint64_t clone_rollouts(const struct options *options, uint64_t rows);
/* What its simulation has room for beside the policy's. */
void clone_plan(const struct options *options, struct simulation_plan *plan);
/* Its lists; of no systems where there is no teacher. */
void clone_fill_play(struct training *training, struct schedule *schedule);
void clone_fill_update(struct training *training, struct schedule *schedule);
/* The teacher's order, and how long it teaches; the rollout is open. */
bool clone_open(struct training *training, struct error *error);
void clone_fill_opened(struct training *training, struct schedule *schedule); /* what it writes then */

extern const struct system *const clone_systems[];

#endif
