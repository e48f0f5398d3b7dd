/* How many files may be open at once (RLIMIT_NOFILE). libhdf5 reads zeros for the files of a virtual dataset that it
 * cannot open, and OpenCL's drivers end the program: it is looked at before. */
#ifndef L2SR_ENGINE_DESCRIPTORS_H
#define L2SR_ENGINE_DESCRIPTORS_H

#include "engine/base/error.h"

#include <stddef.h>

/* Refuses where the process may not open so many files more; `what` needs them, in words. */
bool descriptors_for(size_t count, const char *what, struct error *error);
/* The reason that the system gives, and what helps, as a part of a sentence. */
const char *descriptors_reason(int why);

#endif
