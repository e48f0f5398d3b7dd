/* Trains a reconstructor (PROTOCOL 1.10): epochs of shuffled batches, validation, checkpoints, logs.
 *
 * In the output folder: last.h5 after every epoch and best.h5 (lowest validation loss), log.h5 (every update
 * and epoch), log.jsonl and the epochs for TensorBoard in events.out.tfevents.l2sr. All but the times in the
 * last two are pure functions of the scene, the data and the device: a training that goes on from last.h5
 * shortens those two to where they were and appends, and so writes what one that was never stopped does.
 *
 * With train.method loupe the masks are learned too (systems/networks/loupe.h), with tau_step what draws them
 * (systems/networks/tau.h): one loss, two optimisers of one kind.
 */
#ifndef L2SR_SYSTEMS_TRAIN_H
#define L2SR_SYSTEMS_TRAIN_H

#include "engine/graph/optimise.h"
#include "systems/methods/feed.h"
#include "systems/methods/run_files.h"
#include "systems/networks/loss.h"
#include "systems/networks/loupe.h"
#include "systems/networks/policy.h"
#include "systems/networks/reconstructor.h"
#include "systems/networks/tau.h"

/* What is kept of an epoch. */
enum epoch_value { EPOCH_LOSS, EPOCH_RATE, EPOCH_VAL_LOSS, EPOCH_VAL_SSIM, EPOCH_VAL_PSNR, EPOCH_VALUES };
extern const char *const epoch_value_names[EPOCH_VALUES];

struct training {
  struct arena *arena;
  struct device *device;
  const struct options *options;
  struct feed train, validation;
  struct reconstructor reconstructor;
  struct policy policy; /* open where one makes the masks */
  struct loupe loupe;   /* open where they are learned */
  struct tau tau;       /* open where what draws them is */
  struct loss loss;
  struct schedule update, validate;
  struct schedule draw;      /* masks of validation samples, where they are learned */
  uint32_t step;             /* of tau_step, the running one */
  size_t first, count, done; /* samples of the running update; how many of them went before the running part */
  struct optimiser optimiser;
  uint32_t milestone[MILESTONES_MOST];
  size_t milestones;
  size_t updates; /* of an epoch */
  /* Losses stay on the device until every train.log_every updates. */
  cl_mem parts;
  float *part;    /* room to read them into */
  size_t pending; /* updates whose losses have not been read */
  /* Where it stands: */
  uint32_t epoch;                    /* done */
  uint32_t best_epoch;               /* counted from 1; 0: none */
  double best;                       /* its validation loss */
  double images_per_second;          /* of the last epoch's updates */
  double *update_loss;               /* [updates done]: mean of the batch */
  double *epoch_value[EPOCH_VALUES]; /* [epochs done] */
  struct run_files run;              /* its folder, where it has one */
};

struct training_wish {
  bool resume;
  const char *start;  /* checkpoint whose parameters it starts from; NULL: new ones */
  const char *policy; /* checkpoint of the policy that makes the masks; NULL: the scene's heuristics */
  bool drawn;         /* it draws its lines; else it takes the most probable */
  void (*see)(const struct training *training, void *context); /* after every epoch; NULL allowed */
  void *context;
  const char *kernel_folder;
  /* Benchmarks: slices of both splits (systems/methods/feed.h); NULL: the scene's data. */
  bool (*fill)(struct world *world, size_t slices, uint32_t seed, struct error *error);
  size_t slices;
};

/* Loads the data and makes the network with its initial parameters, or those of train.output/last.h5. Without
 * an output folder nothing is written. */
bool training_open(struct training *training, struct device *device, const struct options *options,
                   const struct training_wish *wish, struct error *error);
void training_close(struct training *training);

/* All epochs that are left. A loss that is no finite number stops it, with the step and the slices. */
bool training_run(struct training *training, const struct training_wish *wish, struct error *error);

/* All epochs are done, or it has stopped early. */
bool training_done(const struct training *training);

/* The lists of systems of what the scene trains, without a device; they point into the training. by_policy: its
 * masks are a policy's. */
bool training_describe(struct training *training, const struct options *options, bool by_policy,
                       struct error *error);

/* One update on `count` samples of the running epoch (feed_epoch) from `first` on; only enqueues. */
void training_step(struct training *training, size_t first, size_t count);
/* Learning rate of an epoch, from 0. */
double training_rate(const struct training *training, uint32_t epoch);

/* ---- lists (train_systems.c) --------------------------------------------------------------------------- */

bool training_build(struct training *training, struct error *error);
bool training_learns_masks(const struct training *training);
/* Learning rate of what starts at `rate`, in the running epoch. */
double training_scheduled_rate(const struct training *training, double rate);
/* Systems of methods that learn masks, in files of their own. */
void loupe_add_observe(struct training *training, struct schedule *schedule);
void loupe_add_backward(struct training *training, struct schedule *schedule);
void loupe_add_optimise(struct training *training, struct schedule *schedule);
void loupe_add_draw(struct training *training, struct schedule *schedule);
void tau_add_forward(struct training *training, struct schedule *schedule);
void tau_add_backward(struct training *training, struct schedule *schedule);
void tau_add_optimise(struct training *training, struct schedule *schedule);
void tau_add_draw(struct training *training, struct schedule *schedule);
/* The number of the running part's first sample, and of the update, over all epochs, below 2^31. */
uint32_t training_sample(const struct training *training);
uint32_t training_update(const struct training *training);

extern const struct system *const train_systems[], *const loupe_systems[], *const tau_systems[];

/* ---- files (train_files.c) ----------------------------------------------------------------------------- */

const char *training_path(const struct training *training, const char *name); /* in the output folder */
/* Opens the folder and the log: refuses a folder in which another process trains or that holds a training
 * unless it goes on, and a checkpoint of another scene or other data, naming the difference. */
bool training_open_files(struct training *training, const struct training_wish *wish, struct error *error);
/* best.h5 if the last epoch is it, log.h5, then last.h5: whatever is cut off is written again by going on. */
bool training_save(struct training *training, struct error *error);
void training_log_update(const struct training *training, double loss, double gradient_norm,
                         double images_per_second);
void training_log_epoch(const struct training *training, FILE *file);
void training_log_event(const struct training *training); /* the epoch for TensorBoard */

#endif
