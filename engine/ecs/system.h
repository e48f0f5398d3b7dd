/* A system: the columns that it reads and writes, and a function that enqueues what it does to all rows. */
#ifndef L2SR_ENGINE_SYSTEM_H
#define L2SR_ENGINE_SYSTEM_H

#include "engine/ecs/schema.h"

enum { SYSTEM_KERNELS_MOST = 6 };

struct schedule;
struct world;

struct system {
  const char *name, *doc;
  component_set reads, writes;
  component_set parts;                             /* written in some rows: the others stay */
  uint32_t covers;                                 /* of a loop: tables of which its turns go over all rows, a bit each */
  bool loads;                                      /* it fills loaded columns (KEEP_SCENE), or reads what was loaded */
  bool calls;                                      /* its run calls a function of the program's, and so waits */
  const char *kernels[SYSTEM_KERNELS_MOST];        /* the kernels that run launches */
  void (*run)(struct world *world, void *context); /* enqueues; never allocates, nor waits, but for `calls` */
  /* Makes the row a loop, in place of run: the systems that follow, up to system_end, are repeated while this
   * prepares a turn, from 0 on. `doc` says over what. */
  bool (*next)(struct world *world, void *context, size_t turn);
  /* Makes the row a list over another world (schedule_add_list): it runs where the row stands, in place of `run`, or once
   * a turn of `next`. What the row reads and writes is what the list has of the world around it. */
  const struct schedule *list;
  struct world *const *over;
  void *context;
};

extern const struct system system_end; /* ends what a loop repeats */

/* Rows that a loop's turn is of. */
struct pass {
  size_t first, images; /* rows from `first` on */
  size_t place;         /* the first one's place among what is kept of all turns */
};
/* Turn number `turn` of passes of at most `most` over `rows`; false: there is none. */
bool pass_take(struct pass *pass, size_t turn, size_t rows, size_t most);

#endif
