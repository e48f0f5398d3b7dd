/* Trains a policy by reinforcement (PROTOCOL 1.7): rollouts of all scans, generalised advantages, A2C or PPO, with a
 * reconstructor that only scores and does not change. Validation scans take the policy's most probable actions; the
 * highest mean of the scene's metric is the best. */
#ifndef L2SR_SYSTEMS_LEARN_H
#define L2SR_SYSTEMS_LEARN_H

#include "systems/methods/rollout.h"
#include "systems/methods/split.h"
#include "systems/methods/trainer.h"
#include "systems/networks/reconstructor.h"

/* Values of a rollout that is looked at: name, TensorBoard's, meaning. */
#define LEARN_VALUES(X)                                                                                      \
  X(reward, "reward/train", "the mean sum of a scan's rewards")                                              \
  X(policy_loss, "loss/policy", "minus advantage times log-probability, or PPO's surrogate")                 \
  X(value_loss, "loss/value", "the squared error of the critic, mean over steps")                            \
  X(entropy, "policy/entropy", "the entropy of the policy's choice, mean over steps")                        \
  X(ratio, "policy/ratio", "ppo: the mean logarithm of how much more probable the actions became")           \
  X(gradient_norm, "gradient_norm", "the norm of the last update's gradient, before clipping")               \
  X(rate, "rate", "the learning rate")
enum learn_value {
#define X(name, ...) LEARN_##name,
  LEARN_VALUES(X)
#undef X
      LEARN_VALUE_COUNT
};

struct learning {
  struct trainer trainer; /* first: tasks know it by this */
  struct split train, validation;
  struct reconstructor reconstructor;
  struct policy policy;
  struct rollout rollout;
  struct acquisition acquisition;
  struct schedule update;
  uint32_t *order;        /* of a PPO epoch: rows of the rollout */
  float *terms, *rewards; /* room to read those columns into */
  uint32_t first_scan;    /* number of the training's first scan */
};

/* Checks a scene's policy before anything is loaded or trained: its acquisition, sizes and
 * precision, and more scans in all rounds than there are numbers for, which have 32 bits. */
bool learn_check(struct device *device, const struct options *options, uint32_t rounds, struct error *error);
bool learn_open(struct learning *learning, struct device *device, const struct options *options,
                const struct trainer_config *config, struct error *error);
void learn_close(struct learning *learning);

/* One rollout and what is learnt from it; only enqueues. */
void learn_step(struct learning *learning);
/* The systems of an update. */
void learn_add_update(struct learning *learning, struct schedule *schedule);
/* The lists of systems of what the scene trains, without a device: `play` and the learning's update. */
bool learn_describe(struct learning *learning, const struct options *options, struct schedule *play,
                    struct error *error);
bool learn_normalises(const struct options *options);

extern const struct task task_policy;
extern const struct system *const learn_systems[];

#endif
