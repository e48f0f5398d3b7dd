/* Trains a reconstructor (PROTOCOL 1.10): epochs of shuffled minibatches, each followed by a validation, of which
 * the lowest loss is the best. Where masks are learned too (systems/methods/masks.h), one loss has two optimisers of
 * one kind. */
#ifndef L2SR_SYSTEMS_TRAIN_H
#define L2SR_SYSTEMS_TRAIN_H

#include "systems/methods/feed.h"
#include "systems/methods/masks.h"
#include "systems/networks/loss.h"
#include "systems/networks/loupe.h"
#include "systems/networks/policy.h"
#include "systems/networks/reconstructor.h"
#include "systems/networks/tau.h"
#include "systems/training/lists.h"
#include "systems/training/trainer.h"

/* Values of a validation, which ends an epoch. */
enum epoch_value { EPOCH_LOSS, EPOCH_RATE, EPOCH_VAL_LOSS, EPOCH_VAL_SSIM, EPOCH_VAL_PSNR, EPOCH_VALUES };
/* One more where a policy makes the masks: the scene's metric of the same scans as the policy's validation. */
enum { EPOCH_VAL_SCORE = EPOCH_VALUES };

struct training {
  struct trainer trainer; /* first: tasks know it by this */
  struct feed train, validation;
  struct reconstructor reconstructor;
  const struct masks *masks; /* NULL: not learned */
  struct learner {           /* where they are: what learns them, of the network that is open below */
    struct graph *graph;     /* owns the parameters */
    struct optimiser *optimiser;
  } learner;
  struct policy policy;      /* open where one makes the masks */
  struct loupe loupe;        /* open where the method is LOUPE */
  struct tau tau;            /* open where it is tau_step */
  struct loss loss;
  struct schedule update, validate;
  struct schedule draw;      /* masks of validation samples, where they are learned */
  uint32_t step;             /* of tau_step, the running one */
  size_t first, count, done; /* samples of the running update; how many of them went before the running part */
  uint32_t milestone[MILESTONES_MOST];
  size_t milestones;
  /* Losses stay on the device until they are looked at. */
  cl_mem parts;
  float *part;      /* room to read them into */
  size_t pending;   /* updates whose losses have not been read */
  double epoch_sum; /* losses of the running epoch, times images */
};

/* Loads the data and makes the network with its initial parameters, or those of the folder's last.h5. */
bool training_open(struct training *training, struct device *device, const struct options *options,
                   const struct trainer_config *config, struct error *error);
void training_close(struct training *training);

/* One update on `count` samples of the running epoch (feed_epoch) from `first` on; only enqueues. */
void training_step(struct training *training, size_t first, size_t count);
/* Learning rate of what starts at `rate`, in an epoch from 0. */
double training_rate(const struct training *training, double rate, uint64_t epoch);
uint64_t training_epoch(const struct training *training); /* the running one */

/* The lists of systems of what the scene trains, without a device; they point into the training. by_policy: its
 * masks are a policy's. */
bool training_describe(struct training *training, const struct options *options, bool by_policy,
                       struct arena *arena, struct error *error);

/* Adds the lists that train a reconstructor, with masks where they are learned too; by_policy: a policy makes
 * its masks. */
bool training_list(struct lists *lists, const struct options *options, const char *stage, bool by_policy,
                   struct arena *arena, struct error *error);

/* ---- lists (train_systems.c) --------------------------------------------------------------------------- */

bool training_build(struct training *training, struct error *error);
void training_add_update(struct training *training, struct schedule *schedule);
/* The number of the running part's first sample, and of the update, over all epochs, below 2^31. */
uint32_t training_sample(const struct training *training);
uint32_t training_update(const struct training *training);

extern const struct task task_reconstructor, task_round; /* on masks of heuristics or its own; of a policy */
extern const struct system *const train_systems[];

#endif
