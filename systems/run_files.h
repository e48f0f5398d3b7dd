/* The folder of anything that trains: last.h5, what else it writes, log.jsonl; and the scene that a
 * checkpoint was made by. */
#ifndef L2SR_SYSTEMS_RUN_FILES_H
#define L2SR_SYSTEMS_RUN_FILES_H

#include "components/options.h"
#include "engine/error.h"
#include "engine/store.h"

#include <sys/types.h>

enum { RUN_SCENE_MOST = 1 << 16 };

/* The resolved scene, as `l2sr describe scene` prints it; the caller frees it. NULL: no memory. */
char *run_scene_text(const struct options *options);
/* Refuses a scene, as stored in a checkpoint, that differs in anything else than the keys of `may_differ`
 * (whole sections as `section.`), a list ended by NULL; names the difference. */
bool run_same_scene(const struct options *options, const char *stored, const char *const may_differ[],
                    struct error *error);

/* Unless the training goes on, refuses a folder that holds last.h5 or one of `others`, a list ended by NULL.
 */
bool run_folder_takes(const char *folder, const char *const others[], bool resume, struct error *error);
/* A killed training leaves the file that it was writing, NAME.h5.PROCESS.part. */
void run_remove_leftovers(const char *folder, const char *const others[]);
/* Makes the folder and opens its log, to append; holds it against a second training there. */
bool run_open_log(FILE **log, const char *folder, const char *path, struct error *error);
/* What a checkpoint counts on must have reached the disk before it. */
bool run_flush(FILE *file, const char *path, struct error *error);
/* Warns where the checkpoint was written on another device. */
void run_compare_device(struct store *store, const char *path, const char *device);
/* What was appended after the checkpoint is appended again. */
bool run_shorten(FILE *file, const char *path, double bytes, struct error *error);

#endif
