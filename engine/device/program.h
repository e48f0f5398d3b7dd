/* OpenCL programs: built from source, kept on disk as binaries (program_cache.h). An entry's name is the
 * SHA-256 of source, options, device and driver, so a changed driver finds none. */
#ifndef L2SR_ENGINE_PROGRAM_H
#define L2SR_ENGINE_PROGRAM_H

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

#endif
