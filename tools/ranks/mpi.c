/* Ranks by MPI. Its errors end all of them (MPI_ERRORS_ARE_FATAL), as does a rank that leaves early. */
#include "tools/ranks/ranks.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef OPEN_MPI
const bool mpi_is_open = true;
#else
const bool mpi_is_open = false;
#endif
const bool mpi_is_there = true;

enum { PIECE = 1 << 28, LINE_BYTES = 4096 }; /* bytes at once: MPI counts by int; of a line that a pipe takes whole */

static void exchange(struct ranks *ranks, uint32_t partner, const void *give, void *take, size_t bytes) {
  (void)ranks;
  for (size_t at = 0; at < bytes; at += PIECE) {
    int piece = (int)(bytes - at < PIECE ? bytes - at : PIECE);
    MPI_Sendrecv((const char *)give + at, piece, MPI_BYTE, (int)partner, 0, (char *)take + at, piece, MPI_BYTE, (int)partner, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

static void unite(struct ranks *ranks, void *words, size_t bytes) {
  (void)ranks;
  for (size_t at = 0; at < bytes; at += PIECE) {
    size_t piece = bytes - at < PIECE ? bytes - at : PIECE;
    MPI_Allreduce(MPI_IN_PLACE, (char *)words + at, (int)(piece / 4), MPI_UINT32_T, MPI_BOR, MPI_COMM_WORLD);
  }
}

static bool joined;

/* Ends the others too, where this rank ends before mpi_leave. */
static void end_all(void) {
  if (joined) MPI_Abort(MPI_COMM_WORLD, 1);
}

static uint32_t place_on_host(int rank) {
  MPI_Comm host;
  int place;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &host);
  MPI_Comm_rank(host, &place);
  MPI_Comm_free(&host);
  return (uint32_t)place;
}

bool mpi_join(struct ranks *known, struct error *error) {
  int given, rank, count;
  if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &given) != MPI_SUCCESS)
    return fail(error, "MPI does not start; its own messages say why");
  joined = true;
  setvbuf(stderr, NULL, _IOLBF, LINE_BYTES); /* a line goes out whole, before what MPI says of the end */
  atexit(end_all);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &count);
  *known = (struct ranks){
      .rank = (uint32_t)rank, .count = (uint32_t)count, .place = place_on_host(rank), .exchange = exchange, .unite = unite};
  return true;
}

void mpi_leave(void) {
  joined = false;
  MPI_Finalize();
}
