/* The one trainer: runs what a task says, looks at how it does, validates, keeps the best and the last, and goes
 * on from there.
 *
 * In the folder: last.h5 and, where a task selects, best.h5, with parameters, optimiser, scene and the values of
 * the log; log.jsonl, and the same for TensorBoard in events.out.tfevents.l2sr. All but the times in the last two
 * are pure functions of the scene, the data and the device: a training that goes on from last.h5 ends in the same
 * files as one never stopped. */
#ifndef L2SR_SYSTEMS_TRAINER_H
#define L2SR_SYSTEMS_TRAINER_H

#include "engine/ecs/schedule.h"
#include "engine/files/events.h"
#include "systems/training/run_files.h"

enum { TRAINER_VALUES = 16, TRAINER_NAME = 48 };

/* A value of the log: its name in log.jsonl and checkpoints; TensorBoard's, in which %s is the scene's metric, or
 * NULL where it is not told; what it is. */
struct trainer_value {
  const char *name, *tag, *doc;
};

/* A kind of line of the log; its values end with a NULL name. */
struct trainer_record {
  const char *kind;
  const struct trainer_value *values;
  unsigned finite;  /* a bit a value: training stops where it is not finite */
  unsigned unknown; /* a bit a value: it may be NaN where it is not known */
};

/* A curve of the training's picture, which is a value of the log. Curves that follow each other and have one `up` share
 * a panel. */
struct trainer_curve {
  const char *up;   /* the panel's axis: what stands there, with its unit; "%s" is the scene's metric */
  const char *name; /* beside the curve */
  bool looks;       /* of the record `train`; else of `validation` */
  bool validation;  /* it tells of validation data; else of training data */
  bool minus;       /* the value is drawn with its other sign */
  size_t value;     /* its place in the record */
  bool (*shown)(const struct options *options); /* NULL: always */
};

enum trainer_select { SELECT_NOTHING, SELECT_LOWEST, SELECT_HIGHEST };

struct trainer;

/* A task trains one network, or grows one mask, by units: updates, rollouts with their updates, or actions. */
struct task {
  const char *network;       /* attribute of its checkpoints */
  const char *unit, *worked; /* "update"; what its speed counts: "images" */
  struct trainer_record train, validation;
  enum trainer_select select;
  size_t selected;    /* which value of a validation selects the best */
  bool epochs;        /* a validation ends an epoch, and train values are counted from its start */
  bool scores;        /* validation tells the scene's metric */
  const char *across; /* what the axis of its curves counts; NULL: epochs, or units where it has none */
  const struct trainer_curve *curves; /* ended by NULL in `up`; NULL: every value of its log */
  const char *more;   /* which keys to raise for more units */
  const char *advice; /* against numbers that are not finite */
  /* All systems of a unit, with those that come before it in an epoch: what they carry is kept in checkpoints. */
  void (*add)(struct trainer *trainer, struct schedule *schedule);
  bool (*begin)(struct trainer *trainer, uint64_t epoch, struct error *error); /* NULL: nothing */
  void (*step)(struct trainer *trainer);                                       /* one unit; only enqueues */
  /* The values of the records; both wait. */
  bool (*look)(struct trainer *trainer, double values[TRAINER_VALUES], struct error *error);
  bool (*validate)(struct trainer *trainer, double values[TRAINER_VALUES], struct error *error);
  /* A picture of the last validation for TensorBoard, in the arena; NULL: there is none. */
  struct event_picture (*picture)(const struct trainer *trainer, struct arena *arena);
  /* Networks and what else is the task's; reads after the optimiser and the trainer's own. */
  bool (*write)(const struct trainer *trainer, struct store *store, struct error *error);
  bool (*read)(struct trainer *trainer, struct store *store, struct error *error);
  /* The name of a checkpoint to keep beside last.h5 after this validation; false: none. NULL: never. */
  bool (*keeps)(const struct trainer *trainer, char name[TRAINER_NAME]);
};

/* Values of a record, by count: at[i] units were done. */
struct history {
  size_t count, room;
  double *at, *value[TRAINER_VALUES];
};

struct trainer {
  const struct task *task;
  struct arena *arena;
  struct device *device;
  const struct options *options;
  struct world *world;         /* that the systems run over */
  component_set carried;       /* from a unit to the next; checkpoints hold it */
  struct optimiser optimiser;  /* not open where no network is trained */
  uint64_t done, wanted;       /* units */
  uint64_t each;               /* units from a validation to the next */
  uint64_t look_every, save_every;
  uint32_t patience;           /* stops after so many validations without a better one; 0: never */
  double work;                 /* of a unit, in what its speed counts */
  uint64_t event_before, event_each, event_per; /* TensorBoard's steps: before + done * each / per */
  struct history looks, validations;
  double best;                 /* the best of what selects */
  uint64_t best_at;            /* units done then; 0: none */
  double speed;                /* between the last two looks */
  struct run_files run;        /* its folder, where it has one */
};

struct trainer_config {
  const char *folder; /* NULL: writes nothing */
  bool resume;
  const char *start;         /* a reconstructor to start from; NULL: new parameters */
  const struct policy_trainer *trains; /* the policy that is trained (policy_training.h); NULL: a reconstructor */
  const char *reconstructor; /* what scores policies; NULL: one of new parameters */
  const char *policy;        /* what draws masks, or what a policy starts from; NULL: none */
  const char
      *policy_start; /* what a policy takes its parameters from, but not the optimiser; NULL: nothing */
  bool drawn;                /* it draws its actions; else it takes the most probable ones */
  uint64_t steps;            /* environment-steps of a policy */
  uint32_t round;            /* of an alternation: its scans, and how slices are moved, are others than in the rounds before */
  /* After every record; NULL allowed. */
  void (*see)(const struct trainer *trainer, const struct trainer_record *record, void *context);
  bool (*stop)(void *context); /* asked after every unit; NULL: never */
  void *context;
  /* A stage (systems/methods/methods.h) is told once it is open, and when it has run; NULL allowed. */
  bool (*opened)(struct trainer *trainer, void *stage, struct error *error);
  bool (*ended)(struct trainer *trainer, void *stage, struct error *error);
  void *stage;
  const char *kernel_folder;
  /* For benches: so many images of its own, of both splits, in place of the data. NULL: the data. */
  bool (*fill)(struct world *world, size_t slices, uint32_t seed, struct error *error);
  size_t slices;
};

/* A stage of an open trainer: what config says before and after all units. */
bool trainer_run_stage(struct trainer *trainer, const struct trainer_config *config, struct error *error);
/* All units that are left. */
bool trainer_run(struct trainer *trainer, const struct trainer_config *config, struct error *error);
/* All are done, or it has stopped early. */
bool trainer_done(const struct trainer *trainer);
/* Epochs of units that are done, where a task has them. */
double trainer_epochs(const struct trainer *trainer);

/* For tasks, when they open: room for the values of `wanted` units. */
bool trainer_open_history(struct trainer *trainer, struct error *error);
/* Opens the folder; refuses one in which another process trains or that holds a training unless it goes on, and a
 * checkpoint of another scene or other data, naming the difference. trainer->run says what it is made from. */
bool trainer_open_files(struct trainer *trainer, const struct trainer_config *config, struct error *error);
void trainer_close(struct trainer *trainer);

const char *trainer_path(const struct trainer *trainer, const char *name); /* in the folder */
bool trainer_save(const struct trainer *trainer, const char *name, struct error *error);
/* The last values of the record as a line of log.jsonl. */
void trainer_print(const struct trainer *trainer, const struct trainer_record *record, FILE *file);
/* Refuses what is not finite: what it is, what there is to go back to, and what to do. */
bool trainer_refuse(const struct trainer *trainer, const char *what, double value, struct error *error);

#endif
