/* The folder of anything that trains: last.h5, what else it writes, log.jsonl and an event file for
 * TensorBoard; what a checkpoint says of how it was made; and going on from it. */
#ifndef L2SR_SYSTEMS_RUN_FILES_H
#define L2SR_SYSTEMS_RUN_FILES_H

#include "components/options.h"
#include "engine/files/store.h"
#include "engine/graph/optimise.h"

#define EVENTS_NAME "events.out.tfevents.l2sr"

struct dataset;
/* The slices that it reads: of which files, how many. */
struct run_data {
  const char *hash;
  size_t slices;
  const struct dataset *dataset; /* what its files hold; without volumes: made up */
};

/* Inputs that it was made from, by name: the hash of another training's parameters, or how they were used. */
enum { RUN_ORIGINS = 4 };
#define RUN_START "start" /* the name of the parameters that it started from, where they were not new */
struct run_origin {
  const char *name; /* NULL: none, and none follows */
  char value[65];
};

struct run_files {
  const char *folder;
  struct arena *arena; /* of its paths */
  const struct options *options;
  struct device *device;
  struct optimiser *optimiser; /* and the parameters, of its graph; NULL: it has none */
  struct run_data train, validation;
  struct run_origin origin[RUN_ORIGINS];
  const char *start;             /* the option that starts a new training from its last.h5; NULL: none does */
  const char *network;           /* attribute of its checkpoints: what kind of network they hold */
  bool selects;                  /* it writes best.h5 too */
  /* Keys of the scene that its numbers follow from, as `section.name`, or as `section.` all of a section but those
   * that only say how a training sees its slices; a training goes on where they are the same. Keys that say where
   * files are, how long it trains and what is printed (CONCERNS_PLACE) never count. */
  const char *const *reads, *const *reads_beside; /* NULL: none */
  FILE *log, *events;            /* log.jsonl, EVENTS_NAME; NULL: none */
};

typedef bool run_reader(struct store *store, void *context, struct error *error);

/* Refuses a last.h5 of another scene or network, if there is one: before data and networks are opened. */
bool run_check_scene(const struct run_files *run, struct error *error);
/* Opens the files, to append; holds the folder against a second training there. Unless it goes on, a folder
 * that holds last.h5 or best.h5 is refused. If last.h5 is there: refuses one of another scene,
 * other data or another origin, naming the difference; reads parameters and optimiser; `read` takes the rest;
 * what was appended after it is appended again. */
bool run_open(struct run_files *run, bool resume, run_reader *read, void *context, struct error *error);
/* The same on a rank that writes nothing, for the first one does: reads last.h5 where it is there and gives up the folder.
 */
bool run_follow(struct run_files *run, bool resume, run_reader *read, void *context, struct error *error);
void run_close(struct run_files *run);
const char *run_path(const struct run_files *run, const char *name); /* in its folder */

/* Syncs the files that a checkpoint counts on: they must reach the disk before it. */
bool run_flush(const struct run_files *run, struct error *error);
/* Optimiser, scene, version, device, data, origin and lengths of the files; the caller writes what is its
 * own. */
bool run_write(const struct run_files *run, struct store *store, struct error *error);

/* Opens the file of the folder, which it makes, to append; holds it against a second training there. */
bool run_hold(FILE **file, const char *folder, const char *path, struct error *error);

#endif
