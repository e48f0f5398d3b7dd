/* Several calls of this program side by side: as many at once on each device as wanted, each with a log of its own. */
#ifndef L2SR_TOOLS_QUEUE_H
#define L2SR_TOOLS_QUEUE_H

#include "engine/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct queue_job {
  const char *name;
  const char *const *words; /* after the program's name, ended by NULL; --device comes behind them */
  const char *log;          /* what it prints is appended to it; its folder is there */
  bool failed;
};

/* Runs all in their order and waits for them; says which ended. One that fails leaves the others. A process that ends early
 * ends those that run. devices: places in the list of devices; each: jobs at once on one. */
bool queue_run(struct queue_job *job, size_t count, const size_t *devices, size_t device_count, uint32_t each,
               struct error *error);

#endif
