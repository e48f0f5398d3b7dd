/* Order and waves follow from what systems declare.
 *
 * A step is a list of systems. schedule_build walks it once and derives what is refused (a read of a
 * column that nothing has written, a write to a loaded column), the waves (what could run concurrently) and
 * what a checkpoint must hold (columns read before they are written). */
#ifndef L2SR_ENGINE_SCHEDULE_H
#define L2SR_ENGINE_SCHEDULE_H

#include "engine/ecs/world.h"

enum { SYSTEMS_MOST = 32, SYSTEM_KERNELS_MOST = 4 };

struct system {
  const char *name, *doc;
  component_set reads, writes;
  const char *kernels[SYSTEM_KERNELS_MOST]; /* that run launches */
  void (*run)(struct world *world, void *context); /* enqueues; never waits, never allocates */
  void *context;
};

struct schedule {
  const struct schema *schema;
  const struct system *system[SYSTEMS_MOST];
  uint8_t wave[SYSTEMS_MOST];
  int count;
  component_set carried; /* read before written: what a checkpoint holds */
  component_set touched; /* every column in use */
};

/* The list ends with NULL. */
bool schedule_build(struct schedule *schedule, const struct schema *schema, const struct system *const list[],
                    struct error *error);
/* Builds the kernels that the systems launch. */
bool schedule_prepare(const struct schedule *schedule, struct kernels *kernels, struct error *error);
/* Enqueues one step; failures are sticky on the device. */
void schedule_run(const struct schedule *schedule, struct world *world);
void schedule_print(const struct schedule *schedule, FILE *file);
void schedule_print_dot(const struct schedule *schedule, FILE *file);

#endif
