/* What runs, in order: systems, and loops over systems.
 *
 * Rows are added one after the other. schedule_close walks them once, refuses a read of a column that nothing
 * has written and a write to a loaded one, and derives which columns are carried from one run to the next:
 * those that are read before they are wholly written. A loop counts as one turn of it; what its turns write in parts is
 * whole after it, in the tables that it covers. A row may be a list over another world: it is closed before, and what it
 * takes from and gives to the world around it is declared by its row.
 *
 * A row without `run` is what the host does between lists (world_enter): a list of such rows is described, not run.
 *
 * A list has a name, by which those who describe it without running it call it too. Where the guard is strict and
 * L2SR_TRACE names a file, what ran is appended to it: a line of schedule_print_json for every system of every run, and
 * for what the host did and loaded, with the columns that were asked for. */
#ifndef L2SR_ENGINE_SCHEDULE_H
#define L2SR_ENGINE_SCHEDULE_H

#include "engine/ecs/system.h"
#include "engine/ecs/world.h"

enum { SYSTEMS_MOST = 64 };

enum { SCHEDULE_NAME = 48 };

struct schedule {
  char name[SCHEDULE_NAME];
  const struct schema *schema;
  struct system system[SYSTEMS_MOST]; /* copies of the rows, each with its context */
  uint8_t depth[SYSTEMS_MOST];        /* loops around it */
  uint8_t end[SYSTEMS_MOST];          /* where a loop ends */
  int count;
  component_set carried; /* read before wholly written */
  component_set written; /* wholly, in the end */
  component_set touched; /* every column in use */
  component_set takes;   /* read before wholly written, loaded ones and those of networks too */
  component_set gives;   /* written, wholly or in part */
};

void schedule_open(struct schedule *schedule, const struct schema *schema);
/* Appends a copy of the row with this context; what it reads and writes may be changed until the close. */
struct system *schedule_add(struct schedule *schedule, const struct system *row, void *context);
/* Appends a list over the world that is in *world when it runs, which is closed and stays where it is. `outside` says which
 * columns of the world around it columns of its world are. */
struct system *schedule_add_list(struct schedule *schedule, const struct system *row, void *context,
                                 const struct schedule *list, struct world *const *world,
                                 component_set (*outside)(component_set inside));
void schedule_name(struct schedule *schedule, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool schedule_close(struct schedule *schedule, struct error *error);
/* Builds the kernels that the systems launch. */
bool schedule_prepare(const struct schedule *schedule, struct kernels *kernels, struct error *error);
/* Enqueues it once; failures are sticky on the device. */
void schedule_run(const struct schedule *schedule, struct world *world);
/* Systems with the columns that they read and write, those of a loop moved in; at last what is carried. */
void schedule_print(const struct schedule *schedule, FILE *file);
void schedule_print_dot(const struct schedule *schedule, FILE *file);
/* A JSON object a system; `stage`: of what the list is a part. */
void schedule_print_json(const struct schedule *schedule, const char *stage, FILE *file);

#endif
