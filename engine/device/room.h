/* What the system lets a process have. OpenCL's drivers end the program where they get no memory or no
 * threads, so it is looked at before they are asked. Without limits nothing is looked at. */
#ifndef L2SR_ENGINE_ROOM_H
#define L2SR_ENGINE_ROOM_H

#include "engine/base/error.h"

#include <stddef.h>

/* Refuses where a limit of the process (RLIMIT_AS, RLIMIT_DATA) has less than so many bytes left; `what`
 * needs them, in words. The text has what is needed, what limits it and what to do. */
bool room_for(size_t bytes, const char *what, struct error *error);
/* The same for what loading the drivers takes, and for the files that they open; `later`: bytes that will be asked for when
 * they are there, which the advice counts. */
bool room_for_drivers(size_t later, struct error *error);
/* For what compilers of kernels put on the stack; threads have as much as the process may. */
bool room_for_stack(struct error *error);
bool room_for_pocl(struct error *error); /* for what listing its devices starts: a thread for every CPU */
/* What must stay when all buffers are made: kernels are compiled at their first launch. */
size_t room_for_kernels(void);
bool room_for_compiled(struct error *error); /* for the files of PoCL's compiler, each of which has a limit */
bool room_is_limited(void); /* in memory */
/* The limits that may be why a driver fails, as a part of a sentence that begins with "; "; "" where there
 * are none. */
void room_limits(char *text, size_t size);

#endif
