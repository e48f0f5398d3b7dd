/* A Gaussian process over points of [places] numbers, each some way across its range: Matern's kernel 5/2
 * with a length for every place, and noise (Rasmussen and Williams 2006, 4.2 and 5.4). Lengths and noise are
 * those of the largest posterior density, the values' scale follows from them. */
#ifndef L2SR_TOOLS_GAUSSIAN_H
#define L2SR_TOOLS_GAUSSIAN_H

#include "engine/base/arena.h"

#include <stddef.h>

struct gaussian {
  struct arena *arena; /* the caller's: owns what follows */
  size_t count, places;
  const double *x;                  /* [count][places]; stays the caller's */
  double *length;                   /* [places] */
  double noise;                     /* variance, as a part of the values' */
  double mean, deviation, variance; /* of the values; of the process, in their deviations squared */
  double *weight, *factor;          /* [count]; [count][count], lower triangle */
};

/* Of at least one point; values [count] are finite. */
struct gaussian gaussian_fit(struct arena *arena, const double *x, const double *y, size_t count,
                             size_t places);
/* The same lengths, noise and scale with other points. */
struct gaussian gaussian_given(const struct gaussian *fitted, const double *x, const double *y, size_t count);
/* Mean and deviation of the value without its noise at a point [places]. */
void gaussian_tell(const struct gaussian *process, const double *point, double *mean, double *deviation);

#endif
