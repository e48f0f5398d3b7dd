/* Everything that a scene runs, as lists of systems, without a device: for `l2sr describe schedule`. They are built by
 * what builds them for a run, of the same plans. What only data or a device tell is read from the data, where that is
 * needed, or assumed; a note says so. */
#ifndef L2SR_SYSTEMS_LISTS_H
#define L2SR_SYSTEMS_LISTS_H

#include "components/options.h"
#include "engine/ecs/schedule.h"
#include "systems/scan/simulation.h"

enum { LISTS_MOST = 64, NOTES_MOST = 32 };

struct list {
  const char *stage; /* of the training, or "evaluate" */
  const char *when;
  const struct schedule *schedule; /* which has the name */
};

struct note {
  const char *stage, *text;
};

struct lists {
  struct list list[LISTS_MOST];
  int count;
  struct note note[NOTES_MOST]; /* what the lists follow from */
  int notes;
};

/* Adds one that has systems, and is not there yet under its name. */
void lists_put(struct lists *lists, const char *stage, const char *when, const struct schedule *schedule);
struct list *lists_find(struct lists *lists, const char *stage, const char *name); /* NULL: it is not there */
void lists_note(struct lists *lists, const char *stage, const char *text);

/* Adds what loads the simulation's slices, in the arena. */
bool lists_put_data(struct lists *lists, const char *stage, const struct simulation *simulation, struct arena *arena,
                    struct error *error);

/* Notes what its scans are composed of, */
void lists_note_scans(struct lists *lists, const char *stage, const struct simulation *simulation, struct arena *arena);
/* and puts what the host writes before them, where they are set (simulation_set). */
void lists_put_set(struct lists *lists, const char *stage, const struct simulation *simulation, struct arena *arena);

/* How many slices of options->data.split there are, where data.window makes lists depend on that and data.path can be
 * opened; else as many as may be. */
size_t lists_slices(const struct options *options);

#endif
