#include "systems/formats/fourier.h"

#include "engine/base/arena.h"

#include <complex.h>
#include <math.h>

bool fourier_open(struct fourier *fourier, size_t count, struct arena *arena) {
  double complex *all = arena_try_array(arena, 4 * sizeof *all, count);
  if (!all) return false;
  *fourier = (struct fourier){count, all, all + count, all + 2 * count, all + 3 * count};
  for (size_t k = 0; k < count; k++) {
    double angle = -2 * M_PI * (double)k / (double)count;
    fourier->root[k] = CMPLX(cos(angle), sin(angle));
  }
  return true;
}

static size_t least_factor(size_t count) {
  for (size_t p = 2; p * p <= count; p++)
    if (count % p == 0) return p;
  return count;
}

/* from[0], from[stride], ... to to[0..count): sums of the parts of a decimation in time, by the least factor.
 */
static void transform(const struct fourier *fourier, const double complex *from, size_t stride,
                      double complex *to, double complex *work, size_t count) {
  if (count == 1) {
    to[0] = from[0];
    return;
  }
  size_t p = least_factor(count), part = count / p, scale = fourier->count / count;
  for (size_t r = 0; r < p; r++)
    transform(fourier, from + r * stride, stride * p, work + r * part, to + r * part, part);
  for (size_t k = 0; k < count; k++) {
    double complex sum = 0;
    for (size_t r = 0; r < p; r++)
      sum += work[r * part + k % part] * fourier->root[r * k * scale % fourier->count];
    to[k] = sum;
  }
}

static double complex turned(double complex value, bool inverse) {
  return inverse ? conj(value) : value;
}

/* The inverse is the conjugate of the conjugate's transform. */
void fourier_line(struct fourier *fourier, bool inverse) {
  size_t count = fourier->count, middle = count / 2;
  double complex *line = fourier->line, *from = fourier->from;
  double scale = 1 / sqrt((double)count);
  for (size_t i = 0; i < count; i++) from[i] = turned(line[(i + middle) % count], inverse);
  transform(fourier, from, 1, line, fourier->work, count);
  for (size_t i = 0; i < count; i++) from[i] = line[i];
  for (size_t i = 0; i < count; i++) line[(i + middle) % count] = scale * turned(from[i], inverse);
}

/* `lines` lines of the transform's length, from whose numbers one is `step` pairs from the next. */
static void along(struct fourier *fourier, float *pairs, size_t lines, size_t apart, size_t step,
                  bool inverse) {
  for (size_t l = 0; l < lines; l++) {
    float *first = pairs + 2 * l * apart;
    for (size_t i = 0; i < fourier->count; i++)
      fourier->line[i] = CMPLX((double)first[2 * i * step], (double)first[2 * i * step + 1]);
    fourier_line(fourier, inverse);
    for (size_t i = 0; i < fourier->count; i++) {
      first[2 * i * step] = (float)creal(fourier->line[i]);
      first[2 * i * step + 1] = (float)cimag(fourier->line[i]);
    }
  }
}

bool fourier_plane(float *pairs, size_t height, size_t width, bool inverse, struct error *error) {
  struct arena *arena = arena_open();
  struct fourier rows, columns;
  bool good = fourier_open(&rows, width, arena) && fourier_open(&columns, height, arena);
  if (good) along(&rows, pairs, height, width, 1, inverse);
  if (good) along(&columns, pairs, width, 1, width, inverse);
  arena_close(arena);
  return good || fail_memory(error, "no host memory for a transform of %zu x %zu", height, width);
}
