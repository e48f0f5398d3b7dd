/* Everything that a scene runs, as lists of systems, without a device: for `l2sr describe schedule`. */
#ifndef L2SR_SYSTEMS_LISTS_H
#define L2SR_SYSTEMS_LISTS_H

#include "components/options.h"
#include "engine/ecs/schedule.h"

enum { LISTS_MOST = 16 };

struct list {
  const char *stage; /* of the training, or "evaluate" */
  const char *name, *when;
  const struct schedule *schedule;
};

struct lists {
  struct list list[LISTS_MOST];
  int count;
};

/* All lists of training by the scene's method and of evaluating its first sampler; they are in the arena. */
bool lists_make(struct lists *lists, const struct options *options, struct arena *arena, struct error *error);
/* Columns of the scan that evaluates the scene, with those that are loaded. */
bool lists_columns(const struct options *options, struct arena *arena, component_set *columns,
                   struct error *error);

/* Every system of every list that there can be; groups of them, each ended by NULL, and NULL after the last. */
extern const struct system *const *const system_groups[];

#endif
