/* A training: what every stage of every method has alike. What is its own stands in a row, `struct task`:
 * which options it reads, its networks, its lists of systems, what its log tells. One opener opens any row,
 * one loop runs it unit by unit, tells and validates it, keeps the best and the last, and goes on from there.
 *
 * In the folder: last.h5 and, where a task selects, best.h5, with parameters, optimiser, scene and the values
 * of the log; log.jsonl, and the same for TensorBoard in events.out.tfevents.l2sr. All but the times in the
 * last two are pure functions of the scene, the data and the device: a training that goes on from last.h5
 * ends in the same files as one never stopped. */
#ifndef L2SR_SYSTEMS_TRAINING_H
#define L2SR_SYSTEMS_TRAINING_H

#include "engine/files/events.h"
#include "engine/graph/optimise.h"
#include "systems/networks/policy.h"
#include "systems/networks/reconstructor.h"
#include "systems/training/lists.h"
#include "systems/training/run_files.h"
#include "systems/training/split.h"
#include "systems/training/training_config.h"

enum { TRAINING_VALUES = 16, TRAINING_NAME = 48, TASK_LISTS = 14, TASK_NETWORKS = 3 };

struct training;

/* ---- rows ---------------------------------------------------------------------------------------------- */

/* A value of the log: its name in log.jsonl and checkpoints; TensorBoard's, in which %s is the scene's
 * metric, or NULL where it is not told; what it is. */
struct log_value {
  const char *name, *tag, *doc;
};

/* Values of a list X(name, tag, doc). */
#define LOG_VALUE(name, tag, doc) {#name, tag, doc},
#define LOG_VALUES(list) ((const struct log_value[]){list(LOG_VALUE){NULL, NULL, NULL}})

/* Lists of a row, ended as its members want them. */
#define VALUES(...) ((const struct log_value[]){__VA_ARGS__, {NULL, NULL, NULL}})
#define CURVES(...) ((const struct log_curve[]){__VA_ARGS__, {.up = NULL}})
#define SYSTEMS(...) ((const struct system *const[]){__VA_ARGS__, NULL})
#define KEYS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* A kind of line of the log; its values end with a NULL name. */
struct log_record {
  const char *kind;
  const struct log_value *values;
  unsigned finite;  /* a bit a value: training stops where it is not finite */
  unsigned unknown; /* a bit a value: it may be NaN where it is not known */
};

/* A curve of the training's picture, which is a value of the log. Curves that follow each other and have one
 * `up` share a panel. */
struct log_curve {
  const char *up;   /* the panel's axis: what stands there, with its unit; "%s" is the scene's metric */
  const char *name; /* beside the curve */
  bool logged;      /* of the record `train`; else of `validation` */
  bool validation;  /* it tells of validation data; else of training data */
  bool minus;       /* the value is drawn with its other sign */
  size_t value;     /* its place in the record */
  bool (*shown)(const struct options *options); /* NULL: always */
};

enum task_select { SELECT_NOTHING, SELECT_LOWEST, SELECT_HIGHEST };

/* A network of a task. The first of a task is opened with room for those after it. */
struct task_network {
  /* What it will take; not asked of the first. NULL: nothing. */
  bool (*measure)(struct training *training, struct network_need *need, struct error *error);
  bool (*open)(struct training *training, struct error *error);
  void (*close)(struct training *training); /* also where it is not open */
  /* That which owns its parameters. */
  struct graph *(*graph)(const struct training *training);
  /* Of the training's optimiser, for the one network that it steps; NULL: another is, or none. */
  struct optimiser_setup (*optimiser)(const struct options *options);
  /* Takes what the training begins with, once the optimiser is open; NULL: it has, when it was opened. */
  bool (*begin)(struct training *training, struct error *error);
  /* The name, in checkpoints, of the parameters that it began with; "": they were new. NULL: always so. */
  const char *(*origin)(const struct training *training);
  /* What checkpoints hold of it; NULL: nothing, for it does not change. Reading is after the optimiser's
   * parameters. */
  bool (*write)(const struct training *training, struct store *store, struct error *error);
  bool (*read)(struct training *training, struct store *store, struct error *error);
};

/* A list of systems; without a name there is none. */
struct task_list {
  const char *name, *when; /* "update", "for every minibatch" */
  bool unit;               /* a unit runs it: what it carries to the next is kept in checkpoints */
  bool validates;          /* it runs over the world of the validation data */
  bool host;               /* of what the host does between lists: rows without `run` (training_host) */
  const struct system *const *rows; /* that it begins with, ended by NULL; their context is the training. NULL: none */
  void (*fill)(struct training *training, struct schedule *schedule); /* adds others; NULL: none */
  /* Where another opens and runs it: the offset of that list in struct training, or in its own state; else training->list
   * has it. */
  size_t in_training, in_own;
};

/* What a task is asked to take. */
struct task_check {
  struct device *device;
  const struct options *options;
  struct acquisition acquisition; /* the scene's, where one_setting */
  uint32_t rounds;
  struct arena *arena; /* of this check */
};

/* A task trains one network, or grows one mask, by units: updates, rollouts with their updates, or actions.
 */
struct task {
  const char *name;          /* of its stage: the folder, less its round */
  const char *network;       /* attribute of its checkpoints, */
  const char *(*network_by)(const struct options *options); /* or which one by these options; NULL: always that */
  const char *unit, *worked; /* "update"; what its speed counts: "images" */
  /* Options: */
  const char *const *reads; /* that its numbers follow from (run_files.h), ended by NULL */
  const char *const *(*reads_beside)(const struct options *options); /* what else, for these options; NULL: nothing */
  const char
      *start; /* the key that names a checkpoint whose parameters a new one starts with; NULL: none does */
  const char *onward; /* the key by which a new training takes up its last.h5; NULL: none does */
  const char *gamma;  /* the section whose key `gamma` is its discount; NULL: it has none */
  const char *more;   /* which keys to raise for more units */
  const char *advice; /* against numbers that are not finite */
  bool one_setting;   /* it is for one acquisition, which the scene must name */
  bool unset;         /* simulation_set is not called: scans start from masks of its own */
  bool alone;         /* ranks cannot share it out */
  bool reconstructs; /* its best.h5 is the reconstructor of the stages after it; else its last.h5 their policy
                      */
  const void *facts; /* that functions which tasks of its kind share ask for (struct fit_way); NULL: none */
  /* Data and state: */
  size_t bytes;                         /* of its own state, training->own */
  void (*set)(struct options *options); /* options of its data beside the scene's; NULL: none */
  struct simulation_plan (*plan)(const struct training *training, const struct split *split, size_t slices);
  component_set shares; /* columns of the training's world that the validation's has too */
  const struct task_network *networks[TASK_NETWORKS + 1];
  struct task_list lists[TASK_LISTS]; /* in their order; some places may be empty */
  /* The log: */
  struct log_record train, validation;
  enum task_select select;
  size_t selected;    /* which value of a validation selects the best */
  size_t score;       /* which one tells how good its stage is */
  bool epochs;        /* a validation ends an epoch, and train values are counted from its start */
  bool scores;        /* validation tells the scene's metric */
  const char *across; /* what the axis of its curves counts; NULL: epochs, or units where it has none */
  const struct log_curve *curves; /* ended by NULL in `up`; NULL: every value of its log */

  /* Refuses options that cannot go together, before anything is loaded or trained; NULL: takes all. */
  bool (*check)(const struct task_check *check, struct error *error);
  /* Whether the checkpoint holds such a network as it trains; where it has a key `start`. */
  bool (*fits)(struct device *device, const struct options *options, const char *path, struct error *error);
  /* Without a device: what its lists follow from. The splits' options and the acquisition are set. */
  bool (*describe)(struct training *training, struct error *error);
  /* Notes what its lists follow from; NULL: what scans of both splits are composed of. */
  void (*note)(struct training *training, struct lists *lists, const char *stage, struct arena *arena);
  /* The split's simulation and slices are there; NULL: nothing more. */
  bool (*load)(struct training *training, struct split *split, struct error *error);
  /* Data and networks are open: opens its own state, and counts the units. */
  bool (*open)(struct training *training, struct error *error);
  void (*close)(struct training *training); /* of what `open` has; also where that failed. NULL: nothing */
  bool (*begin)(struct training *training, uint64_t epoch, struct error *error); /* NULL: nothing */
  void (*step)(struct training *training);                                       /* one unit; only enqueues */
  /* The values of the records; both wait. */
  bool (*log)(struct training *training, double values[TRAINING_VALUES], struct error *error);
  bool (*validate)(struct training *training, double values[TRAINING_VALUES], struct error *error);
  /* A picture of the last validation for TensorBoard, in the arena; NULL: there is none. */
  struct event_picture (*picture)(const struct training *training, struct arena *arena);
  /* What checkpoints hold beside its networks; NULL: nothing. */
  bool (*write)(const struct training *training, struct store *store, struct error *error);
  bool (*read)(struct training *training, struct store *store, struct error *error);
  /* The name of a checkpoint to keep beside last.h5 after this validation; false: none. NULL: never. */
  bool (*keeps)(const struct training *training, char name[TRAINING_NAME]);
};

/* ---- a training ---------------------------------------------------------------------------------------- */

/* Values of a record, by count: at[i] units were done. */
struct history {
  size_t count, room;
  double *at, *value[TRAINING_VALUES];
};

struct training {
  const struct task *task;
  struct training_config config;
  struct arena *arena;
  struct device *device;
  const struct options *options;
  struct split train, validation;
  struct acquisition acquisition;     /* where the task is for one */
  struct reconstructor reconstructor; /* those of the task's networks that are such */
  struct policy policy;
  struct network_need beside[NETWORK_NEEDS + 1]; /* what is opened after the first network */
  void *own;                                     /* of task->bytes */
  struct schedule *list;                         /* by their places in task->lists */
  component_set carried;                         /* from a unit to the next; checkpoints hold it */
  struct optimiser optimiser;                    /* not open where no network is trained */
  uint64_t done, wanted;                         /* units */
  uint64_t each;                                 /* units from a validation to the next */
  uint64_t log_every, save_every;
  uint32_t patience; /* stops after so many validations without a better one; 0: never */
  double work;       /* of a unit, in what its speed counts */
  uint64_t event_before, event_each, event_per; /* TensorBoard's steps: before + done * each / per; 1 unless set */
  struct history logged, validations;
  double best;          /* the best of what selects */
  uint64_t best_at;     /* units done then; 0: none */
  double speed;         /* between the last two log records */
  char digest[17];      /* of all parameters, as told last (validations, train.digest_every); "": none was made */
  struct run_files run; /* its folder, where it has one */
};

/* ---- opening (training.c) ------------------------------------------------------------------------------ */

/* Refuses what the task cannot train, before anything is loaded or trained. */
bool training_check(const struct task *task, struct device *device, const struct options *options,
                    uint32_t rounds, struct error *error);
/* Loads the data, opens the networks with new parameters or those that config names, and goes on from the
 * folder's last.h5. Refuses a folder in which another process trains or that holds a training unless it goes
 * on, and a checkpoint of another scene or other data, naming the difference. Must not move while it is open;
 * options stay as long. */
bool training_open(struct training *training, struct device *device, const struct options *options,
                   const struct training_config *config, struct error *error);
void training_close(struct training *training);
/* Opens, runs and closes: what config says of a stage. */
bool training_stage(struct device *device, const struct options *options,
                    const struct training_config *config, struct error *error);
/* Adds the task's lists of systems as those of the stage, without a device; they are in the arena. */
bool training_describe(const struct task *task, const char *stage, struct lists *lists,
                       const struct options *options, struct arena *arena, struct error *error);

/* Columns of its lists over that split's world, as far as they are built. */
component_set training_columns(const struct training *training, const struct split *split);
/* Describes both splits' simulations by the task's plan, where they decide by that sampler, without a device. */
bool training_describe_splits(struct training *training, const struct sampler *sampler, struct error *error);
/* What scans of both splits are composed of. */
void training_note_scans(struct training *training, struct lists *lists, const char *stage, struct arena *arena);
/* Its own state; wrong where the task is of another. */
void *training_own(const struct training *training, size_t bytes);
#define OWN(type, training) ((struct type *)training_own(training, sizeof(struct type)))
/* The world of the training data. */
static inline struct world *training_world(const struct training *training) {
  return training->train.simulation.world;
}
/* Runs a list by its place. */
void training_run_list(struct training *training, size_t place);
/* A row of a list of what the host does, for world_enter. */
const struct system *training_host(const struct training *training, size_t place, int row);
/* What such a row reads: rows of columns, to where they go. */
struct training_column {
  unsigned component;
  size_t row, count;
  void *to;
};
/* Reads them, for the row 0 of that list, up to one that goes nowhere; waits. */
bool training_look(const struct training *training, size_t place, const struct training_column *columns,
                   struct error *error);
#define COLUMNS(...) ((const struct training_column[]){__VA_ARGS__, {.to = NULL}})
/* Says of what else checkpoints are made: a name, which is not copied, and at most 64 letters. */
void training_made_from(struct training *training, const char *name, const char *value);

/* ---- running (trainer.c) ------------------------------------------------------------------------------- */

/* All units that are left. */
bool trainer_run(struct training *training, struct error *error);
/* All are done, or it has stopped early. */
bool trainer_done(const struct training *training);
/* Epochs of units that are done, where a task has them. */
double trainer_epochs(const struct training *training);

/* Room for the values of `wanted` units. */
bool trainer_open_history(struct training *training, struct error *error);
/* What the host does for a checkpoint with columns that are carried. */
struct system trainer_carried(component_set columns);
/* Opens the folder that config names, and goes on from it. */
bool trainer_open_files(struct training *training, struct error *error);

bool trainer_save(const struct training *training, const char *name, struct error *error);
/* The last values of the record as a line of log.jsonl. */
void trainer_print(const struct training *training, const struct log_record *record, FILE *file);
/* Refuses what is not finite: what it is, what there is to go back to, and what to do. */
bool trainer_refuse(const struct training *training, const char *what, double value, struct error *error);

#endif
