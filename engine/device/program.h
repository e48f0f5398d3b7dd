/* OpenCL programs: built from source, kept on disk as binaries.
 *
 * The cache folder is L2SR_CACHE, else XDG_CACHE_HOME/l2sr, else ~/.cache/l2sr; "off" switches it off. Where
 * the driver keeps what it compiled by itself (PoCL), only a folder that L2SR_CACHE names is used: handing
 * binaries out makes PoCL compile every kernel for all work-groups, and then again for the one that is
 * launched. An entry's name is the SHA-256 of source, options, device and driver, so a changed driver finds
 * none. Entries are written beside and renamed: concurrent processes see whole files only. A damaged entry is
 * rebuilt. */
#ifndef L2SR_ENGINE_PROGRAM_H
#define L2SR_ENGINE_PROGRAM_H

#include "engine/base/arena.h"
#include "engine/device/device.h"

struct source {
  const char *name; /* "mask.cl" */
  const char *text;
};

/* Builds prelude + source; the caller releases it. The build log is logged with the file's own line numbers,
 * and its first line that tells of an error is in the error. Where the driver keeps what it compiled, equal
 * sources and options give the same program until the device is closed, for PoCL takes long even to find it;
 * elsewhere the binary on disk is found at once. */
bool program_build(cl_program *program, struct device *device, const struct source *prelude,
                   const struct source *source, const char *options, struct error *error);

/* The cache folder of the device, made or not; NULL where the cache is off or the driver's own is used. */
char *program_cache(struct arena *arena, const struct device_facts *facts);

/* Lower-case hexadecimal SHA-256 of `bytes` bytes. */
void hash_hex(const void *data, size_t bytes, char hex[65]);

#endif
