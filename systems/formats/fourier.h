/* Fourier transforms on the host, for files that are converted: centred and orthonormal (PROTOCOL 1.1), of
 * any length. */
#ifndef L2SR_SYSTEMS_FOURIER_H
#define L2SR_SYSTEMS_FOURIER_H

#include "engine/base/error.h"

#include <stddef.h>

struct arena;

/* A transform of lines of `count` numbers; memory is the arena's. */
struct fourier {
  size_t count;
  double _Complex *root;        /* [count]: exp(-2 pi i k / count) */
  double _Complex *line;        /* [count]: of the caller */
  double _Complex *from, *work; /* [count] */
};
/* False: no memory. */
bool fourier_open(struct fourier *fourier, size_t count, struct arena *arena);
/* The line in fourier->line in place; index count / 2 is the middle of both sides. */
void fourier_line(struct fourier *fourier, bool inverse);
/* A plane [height][width] of float pairs in place. */
bool fourier_plane(float *pairs, size_t height, size_t width, bool inverse, struct error *error);

#endif
