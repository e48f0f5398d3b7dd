#include "engine/base/orthogonal.h"

#include "engine/base/arena.h"

#include <math.h>
#include <stdbool.h>

/* Eight sums side by side: the compiler may not reorder one. */
static double dot(const double *a, const double *b, size_t length) {
  double sum[8] = {0}, rest = 0;
  size_t i = 0;
  for (; i + 8 <= length; i += 8)
    for (size_t k = 0; k < 8; k++) sum[k] += a[i + k] * b[i + k];
  for (; i < length; i++) rest += a[i] * b[i];
  for (size_t k = 0; k < 8; k++) rest += sum[k];
  return rest;
}

/* Takes from a vector its parts along the unit vectors before it; returns the length that is left. */
static double remove_parts(const double *unit, size_t count, double *vector, size_t length) {
  for (size_t k = 0; k < count; k++, unit += length) {
    double part = dot(unit, vector, length);
    for (size_t i = 0; i < length; i++) vector[i] -= part * unit[i];
  }
  return sqrt(dot(vector, vector, length));
}

/* Modified Gram-Schmidt. What loses most of its length loses as many digits and is taken once more: twice is
 * enough (Parlett 1980). */
static void orthonormalise(double *vectors, size_t count, size_t length) {
  for (size_t k = 0; k < count; k++) {
    double *vector = vectors + k * length;
    double before = sqrt(dot(vector, vector, length));
    double left = remove_parts(vectors, k, vector, length);
    if (left < 0.7 * before) left = remove_parts(vectors, k, vector, length);
    for (size_t i = 0; i < length; i++) vector[i] /= left;
  }
}

void orthogonal_fill(struct random *random, size_t rows, size_t columns, double gain, float *to) {
  struct arena *arena = arena_open();
  bool wide = rows <= columns;
  size_t count = wide ? rows : columns, length = wide ? columns : rows;
  double *vectors = ARENA_NEW(arena, double, count *length);
  for (size_t i = 0; i < count * length; i++) vectors[i] = random_normal(random);
  orthonormalise(vectors, count, length);
  for (size_t i = 0; i < rows * columns; i++) {
    size_t row = i / columns, column = i % columns;
    to[i] = (float)(gain * vectors[wide ? i : column * length + row]);
  }
  arena_close(arena);
}
