/* A queue of this program's own commands as processes: several at a time, each with a log, in an order that
 * the caller says. A process ends with this one, however that ends. */
#ifndef L2SR_TOOLS_JOBS_H
#define L2SR_TOOLS_JOBS_H

#include "engine/base/arena.h"
#include "engine/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { JOB_WORDS = 1024 }; /* --set of every option, and the rest */

struct job {
  const char *word[JOB_WORDS + 1]; /* the command's, without the program; ended by NULL */
  size_t words;
  const char *log; /* standard output and error are appended to it */
  pid_t process;   /* 0: it does not run */
  double began, seconds;
  double asked; /* when it was asked to end; 0: never */
  int status; /* once it has ended: 0, the exit status, or 128 and the signal */
};

void job_add(struct job *job, const char *word);
bool job_start(struct job *job, struct error *error);
/* Whether it has ended; does not wait. */
bool job_ended(struct job *job);
/* Asks it to end, and does not wait; called again 3 seconds later, or after that, kills it. */
void job_stop(struct job *job);
/* The last line of its log that says something; "": there is none. */
const char *job_last_line(const struct job *job, struct arena *arena);

#endif
