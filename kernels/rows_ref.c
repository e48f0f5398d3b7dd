#include "kernels/complex_ref.h"
#include "kernels/divisor.h"
#include "kernels/kernels.h"

#include <math.h>

enum { ROWS_MOST = 1024 };

/* The centred orthonormal transform of `n` values. */
static void transform(const value *from, value *to, size_t n, bool forward) {
  value turn[ROWS_MOST];
  for (size_t t = 0; t < n; t++)
    turn[t] = cexp((forward ? -2 : 2) * M_PI * I * (double)t / (double)n) / sqrt((double)n);
  for (size_t k = 0; k < n; k++) {
    to[k] = 0;
    for (size_t i = 0; i < n; i++) to[k] += from[i] * turn[(i + n - n / 2) * (k + n - n / 2) % n];
  }
}

/* A line of a coil in planes [coil][2][height][n], and where it starts. */
static size_t start_of(size_t line, size_t height, size_t n) {
  return (line / height * 2 * height + line % height) * n;
}

static value at(const float *planes, size_t place, size_t plane) {
  return planes[place] + I * planes[place + plane];
}

static void frequencies_of(const float *planes, const float *less, size_t start, size_t plane, size_t n, value *to) {
  value line[ROWS_MOST];
  for (size_t i = 0; i < n; i++) line[i] = at(planes, start + i, plane) - (less ? at(less, start + i, plane) : 0);
  transform(line, to, n, true);
}

void rows_consistency_reference(const struct host_args *args) {
  size_t n = args->width, coils = args->value[7].u, height = args->value[8].u, plane = height * n;
  uint32_t form = args->value[10].u;
  const float *x = args->in[0], *step = args->in[3];
  float *out = args->out[6];
  for (size_t line = 0; line < args->value[9].u; line++) {
    size_t scan = line / height / coils, start = start_of(line, height, n),
           pixel = start_of(scan * height + line % height, height, n);
    value entries[ROWS_MOST], kept[ROWS_MOST];
    frequencies_of(x, form ? NULL : args->in[1], start, plane, n, entries);
    for (size_t k = 0; k < n; k++) entries[k] *= (double)step[0] * ((const float *)args->in[2])[scan * n + k];
    transform(entries, kept, n, false);
    for (size_t i = 0; i < n; i++) {
      value result = form == 2 ? kept[i] : at(x, start + i, plane) - kept[i];
      if (!form) result -= at(args->in[4], start + i, plane) * at(args->in[5], pixel + i, plane);
      float *to = out + start + i;
      to[0] = (float)((args->value[11].u ? to[0] : 0) + creal(result));
      to[plane] = (float)((args->value[11].u ? to[plane] : 0) + cimag(result));
    }
  }
}

void rows_products_reference(const struct host_args *args) {
  size_t n = args->width, height = args->value[4].u, lines = args->value[5].u, parts = args->value[6].u,
         together = rows_lines(n);
  for (size_t row = 0; row < args->rows; row++) {
    double sum[ROWS_MOST] = {0};
    value gap[ROWS_MOST], gradient[ROWS_MOST];
    for (size_t line = 0; line < lines; line++) {
      size_t start = start_of(row / parts * lines + line, height, n);
      if (line / together % parts != row % parts) continue;
      frequencies_of(args->in[0], args->in[1], start, height * n, n, gap);
      frequencies_of(args->in[2], NULL, start, height * n, n, gradient);
      for (size_t k = 0; k < n; k++) sum[k] += creal(gap[k] * conj(gradient[k]));
    }
    for (size_t k = 0; k < n; k++) ((float *)args->out[3])[args->value[7].u + row * n + k] = (float)sum[k];
  }
}

void rows_step_reference(const struct host_args *args) {
  size_t images = args->value[2].u, n = args->value[3].u, parts = args->value[4].u;
  float *part = args->out[1];
  for (size_t row = 0; row < args->rows; row++) {
    double sum = 0;
    for (size_t i = 0; row < images && i < parts * n; i++)
      sum -= (double)((const float *)args->in[0])[row * n + i % n] * part[args->value[5].u + row * parts * n + i];
    part[row] = (float)sum;
  }
}

void rows_mask_reference(const struct host_args *args) {
  size_t n = args->value[3].u, parts = args->value[4].u;
  const float *part = (const float *)args->in[0] + args->value[5].u, *step = args->in[1];
  float *gradient = args->out[2];
  for (size_t row = 0; row < args->rows; row++) {
    double sum = 0;
    for (size_t k = 0; k < parts; k++) sum += part[(row / n * parts + k) * n + row % n];
    gradient[row] = (float)((args->value[6].u ? gradient[row] : 0) - step[0] * sum);
  }
}

/* ---- sizes that the arrays hold ------------------------------------------------------------------------ */

static uint32_t below(struct random *random, size_t limit) {
  return random_u32(random) % (uint32_t)limit;
}

/* Whole images; the last group has few lines. */
void rows_consistency_prepare(struct host_args *args, struct random *random) {
  size_t together = rows_lines(args->width), lines = args->rows * together - below(random, together);
  args->value[9].u = (uint32_t)lines;
  args->value[8].u = some_divisor(lines, random);
  args->value[7].u = some_divisor(lines / args->value[8].u, random);
  args->value[10].u = below(random, 3);
  args->value[11].u = below(random, 2);
}

void rows_products_prepare(struct host_args *args, struct random *random) {
  uint32_t parts = some_divisor(args->rows, random);
  size_t most = args->height * 3 * (args->rows + 3) / (2 * args->rows / parts);
  args->value[6].u = parts;
  args->value[5].u = 1 + below(random, most < 90 ? most : 90);
  args->value[4].u = some_divisor(args->value[5].u, random);
  args->value[7].u = below(random, args->width);
}

/* Their number lies before the products. */
void rows_step_prepare(struct host_args *args, struct random *random) {
  args->value[2].u = 1 + below(random, args->rows);
  args->value[3].u = 1 + below(random, args->width);
  args->value[4].u = 1 + below(random, args->height);
  args->value[5].u = (uint32_t)args->rows + below(random, args->width);
}

void rows_mask_prepare(struct host_args *args, struct random *random) {
  args->value[3].u = 1 + below(random, args->width);
  args->value[4].u = 1 + below(random, args->height);
  args->value[5].u = below(random, args->width);
  args->value[6].u = below(random, 2);
}
