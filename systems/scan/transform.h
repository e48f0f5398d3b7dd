/* The numbers of a slice that every scan needs beside its image, computed on the device when images have been
 * loaded: mean, deviation, peak, unit, and hybrid data or k-space where the world holds them. Where it holds the
 * originals of images that are moved (augment.h), the images are made of these first. */
#ifndef L2SR_SYSTEMS_TRANSFORM_H
#define L2SR_SYSTEMS_TRANSFORM_H

#include "components/components.h"
#include "engine/device/fft.h"
#include "engine/ecs/schedule.h"
#include "systems/scan/augment.h"

extern const struct system system_repeat_chunks, system_move_slices, system_normalise_slices, system_transform_lines, system_transform_planes;

struct row_range {
  size_t first, count;
};

/* For rows of SLICE in chunks of at most `rows`. Must not move once it is open. */
struct transform {
  struct world *world;
  struct fft fft;
  cl_mem work;
  size_t chunk, bytes;
  size_t first, left;  /* rows that are still to do, */
  const struct row_range *more; /* and after them these */
  size_t more_count;
  size_t start, count; /* rows of the running chunk */
  struct augment augment;
  struct schedule schedule;
};

bool transform_open(struct transform *transform, struct world *world, size_t rows, struct error *error);
/* Rows [first, first + count); only enqueues. */
void transform_run(struct transform *transform, size_t first, size_t count);
void transform_close(struct transform *transform); /* one that was never opened is allowed */

/* For schedules of others: the systems, a loop over chunks; what is asked for by transform_take when it begins. `columns`
 * say what is made of the images: hybrid data or k-space, and of originals. */
void transform_add(struct transform *transform, component_set columns, struct schedule *schedule);
void transform_take(struct transform *transform, const struct row_range *ranges, size_t count);

/* Its list, without a device. */
bool transform_describe(struct schedule *schedule, component_set columns, struct error *error);

/* All of it for images already in the column: rows [first, first + count). */
bool transform_rows(struct world *world, size_t first, size_t count, struct error *error);

#endif
