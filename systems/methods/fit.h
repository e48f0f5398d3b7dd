/* What tasks have alike that fit a reconstructor to images by back-propagation (PROTOCOL 1.10): epochs of
 * shuffled minibatches, each followed by a validation, of which the lowest loss is the best. Rows: the
 * reconstructor alone, on masks of heuristics (reconstructor.c) or of a policy (l2sr.c); with what makes its
 * masks, on one loss with two optimisers of one kind (loupe.c, tau_step.c). */
#ifndef L2SR_SYSTEMS_FIT_H
#define L2SR_SYSTEMS_FIT_H

#include "systems/networks/loss.h"
#include "systems/training/minibatch.h"
#include "systems/training/task_networks.h"

struct planner;
struct planner_desc;

/* Values of a validation, which ends an epoch. */
enum epoch_value { EPOCH_LOSS, EPOCH_RATE, EPOCH_VAL_LOSS, EPOCH_VAL_SSIM, EPOCH_VAL_PSNR, EPOCH_VALUES };
/* One more where a policy makes the masks: the scene's metric of the same scans as the policy's validation.
 */
enum { EPOCH_VAL_SCORE = EPOCH_VALUES };

/* What learns beside the reconstructor, its masks or on its output, while it is open. */
struct fit_sampler {
  struct graph *graph; /* owns its parameters; NULL: there is none */
  struct optimiser *optimiser;
  const struct fact *facts; /* attributes of its checkpoints, */
  struct network_facts is;  /* and what it says there */
  double rate;       /* of the first epoch; 0: the reconstructor's */
  struct path *path; /* that takes its parameters over after a step; NULL: the graph has them */
  uint32_t *sample;  /* told the number of the running part's first sample; NULL: nobody asks */
};

/* Own state of these tasks; those with more begin with it. */
struct fitting {
  struct minibatches train, validation;
  struct loss loss;
  struct fit_sampler sampler;
  struct planner *planner; /* makes the masks of validation samples (systems/planned/planned.h); NULL: none does */
  /* Adds what learns beside the reconstructor on its output, and may add to the gradient there; NULL: nothing does. */
  void (*add_beside)(struct training *training, struct schedule *schedule);
  bool fixed; /* the reconstructor stays as it began: its steps have rate 0 */
  size_t first, count,
      done; /* samples of the running update; how many of them went before the running part */
  /* Losses stay on the device until they are looked at. */
  cl_mem parts;
  float *part;      /* room to read them into */
  size_t pending;   /* updates whose losses have not been read */
  double epoch_sum; /* losses of the running epoch, times images */
};

struct fitting *fitting_of(const struct training *training);

/* One update on `count` samples of the running epoch (minibatch_epoch) from `first` on; only enqueues. */
void fit_step(struct training *training, size_t first, size_t count);
struct rate_schedule fit_rates(const struct options *options);
struct optimiser_setup fit_optimiser(const struct options *options);
uint64_t fit_epoch(const struct training *training); /* the running one */
/* Samples of an update of the epoch; *first is the first one. */
size_t fit_samples(const struct training *training, uint64_t update, size_t *first);
/* The number of the running part's first sample, and of the update, over all epochs, below 2^31. */
uint32_t fit_sample(const struct training *training);
uint32_t fit_update(const struct training *training);

/* ---- for rows ------------------------------------------------------------------------------------------ */

/* Whether a reconstructor that learns alone can start from that checkpoint. */
bool fit_fits(struct device *device, const struct options *options, const char *path, struct error *error);
extern const struct task_network network_learned_reconstructor;

/* For what makes masks: as many images a pass as the reconstructor takes, once that is open. */
struct masks_setup fit_masks_setup(const struct training *training);
bool fit_measure_masks(struct training *training, struct network_need *need, struct error *error);
struct graph *fit_masks_graph(const struct training *training);
/* Attributes, parameters in the group `sampler`, its optimiser's moments in `sampler_optimiser`. */
bool fit_write_masks(const struct training *training, struct store *store, struct error *error);
bool fit_read_masks(struct training *training, struct store *store, struct error *error);
/* Of its row; .open and .close are the method's. */
#define FIT_MASKS_NETWORK                                                                                    \
  .measure = fit_measure_masks, .graph = fit_masks_graph, .write = fit_write_masks, .read = fit_read_masks
/* Masks are learned through the transform of an image, of lines or points. */
bool fit_check_masks(const struct task_check *check, struct error *error);

/* Facts of a task whose masks are learned. */
struct fit_way {
  /* Systems from slices to the reconstructor's input, and back from its gradient. */
  void (*there)(struct training *training, struct schedule *schedule);
  void (*back)(struct training *training, struct schedule *schedule);
  /* What the network that makes them takes. */
  bool (*measure)(const struct masks_setup *setup, struct network_need *need, struct error *error);
  /* Passes of the reconstructor that training keeps, which complex images go through; NULL: one, whose output is an
   * absolute value of these. */
  size_t (*passes)(const struct options *options);
};
void fit_fill_update(struct training *training, struct schedule *schedule);
void fit_fill_masks(struct training *training, struct schedule *schedule);
void fit_fill_validate(struct training *training, struct schedule *schedule);
void fit_fill_scores(struct training *training, struct schedule *schedule);

/* Options of the reconstructor's part of a round, from 1: those of alternate.*. */
void fit_set_round(struct options *options, uint32_t round);
/* Passes over the validation samples, whose masks what follows makes. */
extern const struct system fit_repeat_draws;
/* Adds masks of all validation samples by the planner, whose desc it is. */
void fit_add_plan(struct training *training, const struct planner_desc *desc, struct schedule *schedule);

bool fit_describe(struct training *training, struct error *error);
bool fit_check(const struct task_check *check, struct error *error);
struct simulation_plan fit_plan(const struct training *training, const struct split *split, size_t slices);
void fit_note(struct training *training, struct lists *lists, const char *stage, struct arena *arena);
bool fit_load(struct training *training, struct split *split, struct error *error);
bool fit_open(struct training *training, struct error *error);
/* Of it what needs no reconstructor that learns: counts the updates, draws the validation's epoch, makes room for losses. */
bool fit_open_epochs(struct training *training, struct error *error);
/* Those that have not been read, of all ranks, into fitting->part; and of how many updates they are. */
bool fit_read_losses(struct training *training, size_t *updates, struct error *error);
size_t fit_images_batch(const struct options *options); /* samples at a time of what looks at images */
void fit_close(struct training *training);
bool fit_begin(struct training *training, uint64_t epoch, struct error *error);
void training_step(struct training *training); /* the next update of the running epoch */
bool fit_log(struct training *training, double values[TRAINING_VALUES], struct error *error);
bool fit_validate(struct training *training, double values[TRAINING_VALUES], struct error *error);
bool fit_read(struct training *training, struct store *store, struct error *error);

#define FIT_EPOCH_ROWS                                                                                       \
  [EPOCH_LOSS] = {"loss", "loss/train", "the mean loss of the epoch's images"},                              \
  [EPOCH_RATE] = {"rate", "rate", "the learning rate"},                                                      \
  [EPOCH_VAL_LOSS] = {"val_loss", "loss/validation", "the validation loss"},                                 \
  [EPOCH_VAL_SSIM] = {"val_ssim", "ssim/validation", "the SSIM of the validation images"},                   \
  [EPOCH_VAL_PSNR] = {"val_psnr", "psnr/validation", "the PSNR of the validation images"}
extern const struct log_value fit_update_values[], fit_epoch_values[], fit_round_values[];
extern const struct log_curve fit_curves[];

/* Keys that every fit reads. */
#define FIT_READS                                                                                            \
  "data.", "import.", "data.augment", "world.", "network.", "reconstruct.method", "varnet.", "train.batch", "train.loss", "train.optimiser",             \
      "train.rate", "train.schedule", "train.rate_factor", "train.rate_every", "train.milestones",           \
      "train.clip", "train.weight_decay", "train.reduce"
/* Places of its lists. */
enum fit_list {
  FIT_OPENED,
  FIT_VALIDATION_ORDER,
  FIT_VALIDATION_MASKS,
  FIT_ORDER,
  FIT_MASKS,
  FIT_UPDATE,
  FIT_DRAW,
  FIT_VALIDATE,
  FIT_SCORES
};
#define FIT_LISTS FIT_LISTS_WITH(fit_fill_validate)
#define FIT_LISTS_WITH(validates_by) FIT_EPOCH_LISTS, [FIT_UPDATE] = {FIT_UPDATES, .fill = fit_fill_update},  \
  [FIT_VALIDATE] = {FIT_VALIDATES, .fill = validates_by}, [FIT_SCORES] = {FIT_SCORED, .fill = fit_fill_scores}
#define FIT_UPDATES "update", "for every minibatch", .unit = true
#define FIT_VALIDATES "validate", "for every part of the validation data", .validates = true
#define FIT_SCORED "scores", "after every part of the validation data", .validates = true, .host = true
#define FIT_EPOCH_LISTS                                                                                      \
  [FIT_OPENED] = {"opened", "when the training is opened", .host = true, .rows = fit_opened_rows},           \
  [FIT_VALIDATION_ORDER] = {"validation order", "before the first epoch",                                    \
                            .in_own = offsetof(struct fitting, validation.ordering)},                        \
  [FIT_VALIDATION_MASKS] = {"validation masks", "before the first epoch",                                    \
                            .in_own = offsetof(struct fitting, validation.masks)},                           \
  [FIT_ORDER] = {"order", "before every epoch", .in_own = offsetof(struct fitting, train.ordering)},         \
  [FIT_MASKS] = {"masks", "before every epoch", .unit = true, .fill = fit_fill_masks,                        \
                 .in_own = offsetof(struct fitting, train.masks)}
/* A row tells its lists, keys, state, networks, and what a validation tells, which mostly is this: */
#define FIT_EPOCHS .validation = {"epoch", fit_epoch_values, 1 << EPOCH_VAL_LOSS}, .score = EPOCH_VAL_SSIM
#define FIT_TASK FIT_TASK_OF(fit_begin, fit_note)
#define FIT_TASK_OF(begins, notes) FIT_TASK_BY(begins, notes, fit_describe, fit_validate, fit_curves)
#define FIT_TASK_BY(begins, notes, described_by, validates_by, drawn)                                        \
  .name = "reconstructor", .network = "unet", .unit = "update", .worked = "images", .advice = "lower train.rate or set train.clip",   \
  .train = {"update", fit_update_values, 1}, .reconstructs = true, .select = SELECT_LOWEST,                  \
  .selected = EPOCH_VAL_LOSS, .epochs = true, .curves = drawn, .describe = described_by, .plan = fit_plan,   \
  .load = fit_load, .open = fit_open, .note = notes,                                                         \
  .close = fit_close, .begin = begins, .step = training_step, .log = fit_log, .validate = validates_by,      \
  .read = fit_read
/* Of masks that are learned beside it. */
#define FIT_MASKS_TASK FIT_TASK, FIT_EPOCHS, .more = "train.epochs", .one_setting = true

extern const struct task task_reconstructor, task_round; /* on masks of heuristics; on a policy's */
extern const struct task task_loupe, task_tau_step;
struct loupe *training_loupe(const struct training *training); /* what they train beside it */
struct tau *training_tau(const struct training *training);
extern const struct task task_straight_through, task_suno, task_suno_round;
struct through *training_through(const struct training *training);
extern const struct system fit_loss, fit_validation_loss; /* fit_loss.c; context: the training */
extern const struct system *const fit_systems[], *const fit_opened_rows[];

#endif
