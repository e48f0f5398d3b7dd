/* Trains a policy by reinforcement (PROTOCOL 1.7): roll-outs of all scans, generalised advantages, A2C or
 * PPO, with a reconstructor that only scores and does not change. Validation scans take the policy's most
 * probable lines.
 *
 * In the output folder: last.h5 every learn.save_every roll-outs and best.h5 (highest validation score) with
 * parameters, optimiser, scene and log; log.jsonl, and the same for TensorBoard in events.out.tfevents.l2sr.
 * All but the times in the last two are pure functions of the scene, the data and the device: a training that
 * goes on from last.h5 ends in the same files as one never stopped.
 */
#ifndef L2SR_SYSTEMS_LEARN_H
#define L2SR_SYSTEMS_LEARN_H

#include "engine/graph/optimise.h"
#include "systems/data/dataset.h"
#include "systems/methods/rollout.h"
#include "systems/methods/run_files.h"
#include "systems/networks/reconstructor.h"
#include "systems/scan/load.h"

/* What is kept of a look at the training, every learn.log_every roll-outs: name, TensorBoard's, meaning. */
#define LEARN_VALUES(X)                                                                                      \
  X(reward, "reward/train", "mean sum of a scan's rewards")                                                  \
  X(policy_loss, "loss/policy", "minus advantage times log-probability, or PPO's surrogate")                 \
  X(value_loss, "loss/value", "squared error of the critic, mean over steps")                                \
  X(entropy, "policy/entropy", "of its choice, mean over steps")                                             \
  X(ratio, "policy/ratio", "ppo: mean logarithm of how much more probable the actions became")               \
  X(gradient_norm, "gradient_norm", "of the last update, before clipping")                                   \
  X(rate, "rate", "learning rate")
enum learn_value {
#define X(name, ...) LEARN_##name,
  LEARN_VALUES(X)
#undef X
      LEARN_VALUE_COUNT
};

struct learn_split {
  struct options options; /* the scene's, with the split */
  struct dataset dataset;
  struct load_report report;
  struct simulation simulation;
};

struct learning {
  struct arena *arena;
  struct device *device;
  const struct options *options;
  struct learn_split train, validation;
  struct reconstructor reconstructor;
  struct policy policy;
  struct rollout rollout;
  struct optimiser optimiser;
  struct acquisition acquisition;
  struct schedule update;
  uint32_t *order;        /* of a PPO epoch: rows of the roll-out */
  float *terms, *rewards; /* room to read those columns into */
  /* Where it stands: */
  uint32_t first_scan;             /* number of the training's first scan */
  uint64_t rollouts, wanted;       /* done; in all */
  size_t looks, validations;       /* done */
  double *look[LEARN_VALUE_COUNT]; /* [looks] */
  double *look_at;                 /* [looks]: roll-outs done */
  double *score, *score_at;        /* [validations]: mean of the scene's metric; roll-outs done */
  double best;                     /* the highest score */
  uint64_t best_at;                /* roll-outs done then; 0: none */
  double steps_per_second;         /* between the last two looks */
  struct run_files run;            /* its folder, where it has one */
};

struct learn_wish {
  const char *folder;        /* NULL: writes nothing */
  const char *reconstructor; /* checkpoint that scores; NULL: one of new parameters, for benches */
  const char *policy; /* checkpoint to start from, its optimiser's state too; NULL: from new parameters */
  uint64_t steps;     /* environment-steps */
  uint32_t round;     /* of an alternation: its scans are numbered after those of the rounds before */
  bool resume;
  void (*see)(const struct learning *learning,
              void *context); /* after every look and validation; NULL allowed */
  void *context;
  const char *kernel_folder;
  /* For benches: so many images of its own, of both splits, in place of the data. NULL: the data. */
  bool (*fill)(struct world *world, size_t slices, uint32_t seed, struct error *error);
  size_t slices;
};

/* What a scene's policy is refused for before anything is loaded or trained: its acquisition, sizes and
 * precision, and more scans in all rounds than there are numbers for, which have 32 bits. */
bool learn_check(struct device *device, const struct options *options, uint32_t rounds, struct error *error);
bool learn_open(struct learning *learning, struct device *device, const struct options *options,
                const struct learn_wish *wish, struct error *error);
void learn_close(struct learning *learning);
/* All roll-outs that are left. A loss that is no finite number stops it. */
bool learn_run(struct learning *learning, const struct learn_wish *wish, struct error *error);

/* One roll-out and what is learnt from it; only enqueues. */
void learn_step(struct learning *learning);
/* The systems of an update. */
void learn_add_update(struct learning *learning, struct schedule *schedule);
/* The lists of systems of what the scene trains, without a device: `play` and the learning's update. */
bool learn_describe(struct learning *learning, const struct options *options, struct schedule *play,
                    struct error *error);
bool learn_normalises(const struct options *options);
extern const struct system *const learn_systems[];
/* For PG-MRI's training too (systems/methods/pgmri.h): */
/* Mean of the scene's metric over the split's slices, one scan of each by its policy. */
bool learn_score_split(struct learn_split *split, double *score, struct error *error);
void learn_close_split(struct learn_split *split); /* also where it is not open */
struct run_data learn_split_data(const struct learn_split *split);
/* What a rate is counted from: how many were done then, and seconds; what does not belong to it is added to
 * those. Taking it starts the next. */
struct learn_pace {
  uint64_t done;
  double seconds;
};
double learn_pace_take(struct learn_pace *pace, uint64_t done); /* a second */
bool learn_due(uint64_t done, uint64_t every, uint64_t wanted); /* every so many, and at the end */

/* ---- files (learn_files.c) ----------------------------------------------------------------------------- */

const char *learn_path(const struct learning *learning, const char *name); /* in the output folder */
bool learn_open_files(struct learning *learning, const struct learn_wish *wish, struct error *error);
bool learn_save(const struct learning *learning, const char *name, struct error *error);
void learn_log_look(const struct learning *learning, FILE *file);
void learn_log_validation(const struct learning *learning, FILE *file);
void learn_log_look_event(const struct learning *learning); /* the same for TensorBoard */
void learn_log_validation_event(const struct learning *learning);

#endif
