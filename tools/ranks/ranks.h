/* This process as one of those that a launcher (mpirun, srun) has started to train together. MPI is asked for only where
 * one has: started alone, a program does without it. */
#ifndef L2SR_TOOLS_RANKS_H
#define L2SR_TOOLS_RANKS_H

#include "engine/base/error.h"
#include "engine/base/ranks.h"

/* *ranks is NULL where this process is alone, or `known`, filled. Refuses a launcher whose ranks do not find each other, with
 * the line that works, a number of them that is no power of two, and a launcher where the program has no MPI. From here on
 * a process that ends without ranks_leave ends them all. */
bool ranks_join(struct ranks *known, struct ranks **ranks, struct error *error);
void ranks_leave(struct ranks *ranks); /* NULL allowed; waits for all */
/* Before a refusal is printed: one that other ranks find as well is printed by the first, which ends them. */
void ranks_let_first_tell(void);
/* For a handler of signals: where the launcher ends this rank since another one of this host is gone, says which. False: this
 * process is alone; a rank is ended by its launcher, whose reason is told elsewhere. */
bool ranks_tell_ended(void);
/* For a handler of signals: hands it to the ranks that this process has started (ranks_start), which ends when they have, by 128
 * and the signal. False: it has started none. */
bool ranks_pass_signal(int signal);
/* Puts rank, host and device in front of what is refused; returns false. */
bool ranks_name(const struct ranks *ranks, const char *device, struct error *error);

/* Starts `count` ranks of this program with those words on this host, by the mpirun on PATH, and ends with them, by their status;
 * where what they print cannot be written, by 1. Returns where they cannot be started. */
bool ranks_start(uint32_t count, char *const *words, struct error *error);

/* Only for ranks.c: mpi.c, or where there is no MPI none.c. */
bool mpi_join(struct ranks *known, struct error *error);
void mpi_leave(void);
extern const bool mpi_is_open; /* Open MPI, whose mpirun has words of its own */
extern const bool mpi_is_there;

#endif
