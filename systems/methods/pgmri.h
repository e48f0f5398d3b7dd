/* Trains PG-MRI's policy (PROTOCOL 2) by REINFORCE on dense rewards, with a reconstructor that makes what the
 * policy sees and does not change. An update is over pgmri.batch x pgmri.accumulation slices of an epoch's
 * order; minibatches that are left over at the end of an epoch are dropped. Nothing is selected by
 * validation, which draws one trajectory of each slice after every epoch.
 *
 * In the output folder: last.h5 every pgmri.save_every updates and after every epoch, epoch_N.h5 after the
 * epochs of pgmri.keep, log.jsonl and an event file. All but their times are pure functions of the scene, the data and
 * the device: a training that goes on from last.h5 ends in the same files as one never stopped. */
#ifndef L2SR_SYSTEMS_PGMRI_H
#define L2SR_SYSTEMS_PGMRI_H

#include "systems/methods/learn.h"
#include "systems/methods/run_files.h"
#include "systems/methods/trajectories.h"

/* What a log line says of an update. */
#define PGMRI_VALUES(X)                                                                                      \
  X(reward, "reward/train", "mean sum of a trajectory's rewards")                                                            \
  X(loss, "loss/policy", "minus advantage times log-probability, summed over steps, mean over slices")                      \
  X(entropy, "policy/entropy", "of the policy's choice, mean over states")                                                     \
  X(gradient_norm, "gradient_norm", "of the update")                                                                          \
  X(rate, "rate", "learning rate")
enum pgmri_value {
#define X(name, ...) PGMRI_##name,
  PGMRI_VALUES(X)
#undef X
      PGMRI_VALUE_COUNT
};

struct pgmri {
  struct arena *arena;
  struct device *device;
  const struct options *options;
  const char *folder; /* NULL: nothing is written */
  struct learn_split train, validation;
  struct reconstructor reconstructor; /* open where the wish names one; else the zero-filled image */
  struct policy policy;
  struct trajectories trajectories;
  struct optimiser optimiser;
  struct schedule update;
  struct acquisition acquisition;
  uint32_t milestone[MILESTONES_MOST];
  size_t milestones;
  size_t slices, group, each; /* to train on; of an update; updates an epoch */
  uint32_t *order;            /* of the slices in the epoch `ordered` */
  uint64_t ordered;           /* epochs whose order was drawn */
  float *terms, *rewards;     /* room to read those columns into */
  /* Where it stands: */
  uint64_t updates, wanted;       /* done; in all */
  double look[PGMRI_VALUE_COUNT]; /* the last one */
  double score;                   /* of the last validation: mean of the scene's metric */
  double images_per_second;       /* reconstructed, between the last two looks */
  struct run_files run;
};

struct pgmri_wish {
  const char *folder;        /* NULL: writes nothing */
  const char *reconstructor; /* checkpoint; NULL: the zero-filled image */
  bool resume;
  void (*see)(const struct pgmri *pgmri, void *context); /* after every look; NULL allowed */
  void *context;
  const char *kernel_folder;
};

/* Refuses options that cannot go together, as wrong usage, and a precision that the device does not have; before
 * anything is loaded. */
bool pgmri_check(struct device *device, const struct options *options, struct error *error);

bool pgmri_open(struct pgmri *pgmri, struct device *device, const struct options *options,
                const struct pgmri_wish *wish, struct error *error);
void pgmri_close(struct pgmri *pgmri);
/* All updates that are left. A loss that is no finite number stops it. */
bool pgmri_run(struct pgmri *pgmri, const struct pgmri_wish *wish, struct error *error);

/* One update; only enqueues, but for the order of a new epoch. */
void pgmri_step(struct pgmri *pgmri);

/* The lists of systems of what the scene trains, without a device: `play` and the update. */
bool pgmri_describe(struct pgmri *pgmri, const struct options *options, struct schedule *play,
                    struct error *error);
extern const struct system *const pgmri_systems[];

/* ---- files (pgmri_files.c) ----------------------------------------------------------------------------- */

bool pgmri_open_files(struct pgmri *pgmri, bool resume, struct error *error);
bool pgmri_save(const struct pgmri *pgmri, const char *name, struct error *error);
void pgmri_log_look(const struct pgmri *pgmri, FILE *file);
void pgmri_log_validation(const struct pgmri *pgmri, FILE *file);
void pgmri_log_look_event(const struct pgmri *pgmri);
void pgmri_log_validation_event(const struct pgmri *pgmri);

#endif
