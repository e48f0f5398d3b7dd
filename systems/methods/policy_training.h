/* Training a policy, as far as every method does it alike: the slices of two splits with a simulation over
 * each, a reconstructor that does not change, and the policy; opened, listed, validated and kept here. What
 * plays and what learns from it is a row of the method's (struct policy_trainer). */
#ifndef L2SR_SYSTEMS_POLICY_TRAINING_H
#define L2SR_SYSTEMS_POLICY_TRAINING_H

#include "systems/methods/split.h"
#include "systems/networks/policy.h"
#include "systems/networks/reconstructor.h"
#include "systems/training/lists.h"

struct policy_trainer;

struct policy_training {
  struct trainer trainer; /* first: tasks know it by this */
  const struct policy_trainer *row;
  struct split train, validation;
  struct reconstructor reconstructor;
  struct policy policy;
  struct acquisition acquisition;
  struct schedule update;
  size_t rows;            /* images that an update learns from, at most */
  uint32_t *order;        /* of what an update or an epoch takes */
  float *terms, *rewards; /* room to read those columns into */
  uint32_t
      *choices; /* [steps][actions]: validation scans that chose the action at this step; NULL: not counted */
};

/* How a method trains its policy. */
struct policy_trainer {
  const struct task *task;
  const struct network_desc *network; /* the policy's */
  size_t bytes;      /* of the method's own struct, which begins with a struct policy_training */
  bool dense;        /* the policy looks at reconstructions */
  bool best;         /* validation takes the most probable actions; else it draws them */
  const char *section; /* of options, whose key `gamma` is its discount; NULL: it has none */
  const char *lower; /* keys to lower where the rows of an update have no room */
  const char *play, *update, *validate; /* when its lists run, in words */
  /* Refuses options that cannot go together, before anything is loaded or trained. */
  bool (*check)(const struct options *options, uint32_t budget, uint32_t rounds, struct error *error);
  /* What a split's simulation has room for. */
  struct simulation_plan (*plan)(const struct options *options, bool validates, size_t slices, size_t budget);
  size_t (*rows)(const struct options *options, size_t budget);
  /* Opens the policy with other sizes; NULL: as the setup says. */
  bool (*open_policy)(struct policy_training *training, const struct policy_setup *setup,
                      struct error *error);
  /* Says what the lists follow from, without a device. */
  void (*describe)(struct policy_training *training);
  /* Adds lists of its own before play and update; NULL: there are none. */
  bool (*lists)(struct policy_training *training, struct lists *lists, struct error *error);
  /* Opens what plays and the optimiser, and counts the units; data and networks are open. */
  bool (*open)(struct policy_training *training, const struct trainer_config *config, struct error *error);
  void (*add_play)(struct policy_training *training, struct schedule *schedule);
  void (*add_update)(struct policy_training *training, struct schedule *schedule);
};

/* Checks a scene's policy before anything is loaded or trained: its acquisition, sizes, precision, and what
 * the row checks. */
bool policy_training_check(const struct policy_trainer *row, struct device *device,
                           const struct options *options, uint32_t rounds, struct error *error);
/* Of config->trains; the training is of that row's bytes. */
bool policy_training_open(struct policy_training *training, struct device *device,
                          const struct options *options, const struct trainer_config *config,
                          struct error *error);
void policy_training_close(struct policy_training *training);
/* A stage, from opening to closing. */
bool policy_training_run(struct device *device, const struct options *options,
                         const struct trainer_config *config, struct error *error);
/* Adds the lists of systems of what the scene trains, without a device; they are in the arena. */
bool policy_training_describe(const struct policy_trainer *row, struct lists *lists,
                              const struct options *options, struct arena *arena, struct error *error);

/* For rows: room for an order of so many, and for the columns that are looked at. */
bool policy_training_room(struct policy_training *training, size_t ordered, struct error *error);
bool policy_training_count_choices(struct policy_training *training, struct error *error);
void policy_training_add_optimise(struct policy_training *training, struct schedule *schedule);

/* For tasks. */
void policy_training_add(struct trainer *trainer, struct schedule *schedule);
bool policy_training_validate(struct trainer *trainer, double values[TRAINER_VALUES], struct error *error);
bool policy_training_write(const struct trainer *trainer, struct store *store, struct error *error);
bool policy_training_read(struct trainer *trainer, struct store *store, struct error *error);
struct event_picture policy_training_picture(const struct trainer *trainer, struct arena *arena);
extern const struct trainer_value policy_score_values[];

/* The policy's backward pass, of the simulation's pass; its context is the simulation. */
extern const struct system system_zero_policy, system_backward_policy;
extern const struct system *const policy_training_systems[];

#endif
