/* What a training is opened with. */
#ifndef L2SR_SYSTEMS_TRAINING_CONFIG_H
#define L2SR_SYSTEMS_TRAINING_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/error.h"

struct log_record;
struct task;
struct training;
struct world;

struct training_config {
  const struct task *task;
  const char *folder; /* NULL: writes nothing */
  bool resume;
  const char *reconstructor; /* of a stage before, or that the scene names; NULL: one of new parameters */
  const char *policy;        /* of a stage before: its optimiser goes on too; NULL: there is none */
  const char *
      start; /* what the network that is trained takes its parameters from, but no optimiser; NULL: nothing */
  bool drawn;     /* such a policy draws its actions; else it takes the most probable ones */
  uint64_t steps; /* environment-steps of a policy */
  uint32_t round; /* of an alternation: its scans, and how slices are moved, are others than in the rounds
                     before */
  /* After every record; NULL allowed. */
  void (*see)(const struct training *training, const struct log_record *record, void *context);
  bool (*stop)(void *context); /* asked after every unit; NULL: never */
  void *context;
  /* A stage (systems/methods/methods.h) is told once it is open, and when it has run; NULL allowed. */
  bool (*opened)(struct training *training, void *stage, struct error *error);
  bool (*ended)(struct training *training, void *stage, struct error *error);
  void *stage;
  const char *kernel_folder;
  /* For benches: so many images of its own, of both splits, in place of the data. NULL: the data. */
  bool (*fill)(struct world *world, size_t slices, uint32_t seed, struct error *error);
  size_t slices;
};

#endif
