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
  bool failed, stopped;     /* stopped: by `watch` */
};

/* Where jobs come from, and who hears of them. */
struct queue_feed {
  struct queue_job *(*next)(void *context); /* asked while a place is free; NULL: none for now */
  /* Of each that runs, some 50 times a second, and how long it has run; false: it is stopped now. NULL: none is. */
  bool (*watch)(struct queue_job *job, double seconds, void *context);
  void (*ended)(struct queue_job *job, double seconds, void *context); /* also of what is stopped; NULL: the log is told */
  void *context;
};

/* Runs what `next` gives until nothing runs and there is none. One that fails leaves the others. A
 * process that ends early ends those that run. devices: places in the list of devices; each: jobs at once on one. */
bool queue_serve(const struct queue_feed *feed, const size_t *devices, size_t device_count, uint32_t each, struct error *error);
/* Runs all in their order and waits for them; says which ended. */
bool queue_run(struct queue_job *job, size_t count, const size_t *devices, size_t device_count, uint32_t each,
               struct error *error);

struct call;
/* The flags of this call, and their values, but for those of the names, which end with NULL: for `word`, which has room for
 * 2 * given_count. Returns how many words they are. */
size_t queue_flags(const struct call *call, const char *const *but, const char **word);

#endif
