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
/* Adds the lists that train a reconstructor, with masks where they are learned too; by_policy: a policy makes
 * its masks. */
bool lists_add_training(struct lists *lists, const struct options *options, const char *stage, bool by_policy,
                        struct arena *arena, struct error *error);
/* The scan that evaluates the scene's first sampler. */
bool lists_add_evaluation(struct lists *lists, const struct options *options, struct arena *arena,
                          struct error *error);
/* Columns of the scan that evaluates the scene, with those that are loaded. */
bool lists_columns(const struct options *options, struct arena *arena, component_set *columns,
                   struct error *error);

#endif
