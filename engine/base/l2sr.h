/* The public face of libl2sr: what a program that holds the library sets once, for the whole process. Every
 * function here may be called by any thread at any time. */
#ifndef L2SR_H
#define L2SR_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The kind of an error. A text beside it says what was found, what was expected and what to do. */
enum l2sr_code {
  L2SR_GOOD,
  L2SR_FAILED,        /* none of the others */
  L2SR_WRONG_USAGE,   /* an unknown word, a value out of its range, or values that contradict each other */
  L2SR_BAD_FILE,      /* a file or folder is missing, damaged, of another kind, or cannot be written */
  L2SR_NO_DEVICE,     /* there is no OpenCL device, or none of that name */
  L2SR_DEVICE_FAILED, /* the device or its driver refused or failed */
  L2SR_NO_MEMORY,     /* the host's or the device's is used up */
  L2SR_DIVERGED,      /* a loss, a reward or a parameter is no finite number any more */
  L2SR_WRONG_CALL     /* the program broke a rule of the library: a mistake in the program */
};

const char *l2sr_version(void); /* "0.1.0" */

/* The library cannot go on: a small piece of host memory could not be had (L2SR_NO_MEMORY), or the program
 * called it wrongly (L2SR_WRONG_CALL). The handler runs in the thread that was at work, which holds no lock
 * of the library by then. It may end the program. It may also leave by longjmp to a place of the same thread:
 * then nobody uses or closes what the interrupted call worked on (its memory is lost until the program ends),
 * and everything else goes on. If it returns, or none is set (NULL), the text is logged and
 * the program is aborted. */
typedef void l2sr_fatal(enum l2sr_code code, const char *text, void *context);
void l2sr_on_fatal(l2sr_fatal *handler, void *context);

/* The library says by callbacks what it does. It writes nothing on standard output or standard error by
 * itself: without a callback nobody reads it. A line has no end of line, and may hold any bytes (names of
 * files). Long work often reports how far it is. `noted` belongs to the program and is 0 at the start: a
 * program may keep there the time at which it last showed something. The callbacks run in the thread that
 * works, so two may run at once. They neither wait for another thread that is in the library nor leave by
 * longjmp. */
enum l2sr_level { L2SR_ERROR, L2SR_WARNING, L2SR_INFO, L2SR_DETAIL };
typedef void l2sr_line(enum l2sr_level level, const char *text, void *context);

struct l2sr_progress {
  const char *what, *unit; /* "training", "images" */
  size_t done, total;
  double seconds; /* since it began */
  int ended;      /* it is over: nothing more is reported of it */
  double noted;
};
typedef void l2sr_advance(struct l2sr_progress *progress, void *context);

void l2sr_on_log(l2sr_line *line, l2sr_advance *advance, void *context); /* NULL: none */

#ifdef __cplusplus
}
#endif
#endif
