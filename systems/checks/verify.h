/* Checks a device and its driver against stored results: reference-vector files, the golden numbers of
 * PROTOCOL section 9, and every kernel against its scalar reference. */
#ifndef L2SR_SYSTEMS_VERIFY_H
#define L2SR_SYSTEMS_VERIFY_H

#include "systems/checks/verify_setup.h"

/* A file as reference/README.md describes: what it holds is known by its datasets. False
 * when it cannot be read or run; errors beyond a bound are the caller's to judge. */
bool verify_file(const struct verify *verify, const char *path, struct error *error);
bool verify_golden(const struct verify *verify, struct error *error);
bool verify_kernels(const struct verify *verify, struct error *error);

#endif
