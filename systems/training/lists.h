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

/* Adds one that has systems. */
void lists_put(struct lists *lists, const char *stage, const char *name, const char *when,
               const struct schedule *schedule);

#endif
