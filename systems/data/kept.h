/* The file that was unpacked last, from the look at a volume to the reading of it: what other people's
 * parsers read is written to a file beside (systems/formats/unpacked.h), which takes as long as the file is
 * large. */
#ifndef L2SR_SYSTEMS_KEPT_H
#define L2SR_SYSTEMS_KEPT_H

#include "systems/data/volume.h"

#include <sys/stat.h>

/* Takes it, where the volume's file did not change since; *status: what it was then. It is the caller's. */
bool kept_take(void **file, const struct volume *volume, struct stat *status);
/* Keeps it until it is taken or another takes its place, which closes it. `status`: of the volume's file,
 * before it was opened. */
void kept_give(void *file, const struct volume *volume, const struct stat *status);

#endif
