/* The file that was unpacked last, from the look at a volume to the reading of it: what other people's
 * parsers read is written to a file beside (systems/formats/unpacked.h), which takes as long as the file is
 * large. */
#ifndef L2SR_SYSTEMS_KEPT_H
#define L2SR_SYSTEMS_KEPT_H

#include <stdbool.h>
#include <sys/stat.h>

struct volume_format;

/* What a file was opened as. */
struct kept_name {
  const struct volume_format *format;
  const char *path, *variable; /* import.variable */
};

/* Takes it, where the file did not change since; *status: what it was then. It is the caller's. */
bool kept_take(void **file, const struct kept_name *name, struct stat *status);
/* Keeps it until it is taken or another takes its place, which closes it. `status`: of the file at the path,
 * before it was opened. */
void kept_give(void *file, const struct kept_name *name, const struct stat *status);

#endif
