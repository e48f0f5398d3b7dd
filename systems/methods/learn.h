/* Trains a policy by reinforcement (PROTOCOL 1.7): rollouts of all scans, generalised advantages, A2C or PPO, with a
 * reconstructor that only scores and does not change. Validation scans take the policy's most probable actions; the
 * highest mean of the scene's metric is the best. */
#ifndef L2SR_SYSTEMS_LEARN_H
#define L2SR_SYSTEMS_LEARN_H

#include "systems/methods/clone.h"
#include "systems/methods/policy_training.h"
#include "systems/methods/rollout_facts.h"

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

struct learning {
  struct policy_training base; /* first: its row's functions know it by this */
  struct rollout rollout;
  struct rollout_copy copy;
  struct clone clone;
  uint32_t first_scan; /* number of the training's first scan */
};

/* One rollout and what is learnt from it; only enqueues. */
void learn_step(struct learning *learning);
void learn_add_update(struct policy_training *training, struct schedule *schedule);
void learn_add_passes(struct learning *learning, struct schedule *schedule); /* of advantages as they are */
/* The rate of a first update: learn.rate scaled to learn.scans; 16 are those of the published code. */
double learn_scaled_rate(const struct options *options);
bool learn_normalises(const struct options *options);

extern const struct policy_trainer policy_trainer_l2s;
extern const struct task task_policy;
extern const struct system *const learn_systems[];

#endif
