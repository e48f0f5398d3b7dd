#include "engine/base/round.h"
#include "kernels/divisor.h"
#include "kernels/kernels.h"

#include <complex.h>
#include <math.h>

typedef double complex pair;

/* A pixel of a complex image of two planes. */
static pair get(const float *planes, size_t image, size_t pixel, size_t pixels) {
  const float *from = planes + 2 * image * pixels + pixel;
  return from[0] + I * from[pixels];
}

static void put(float *planes, size_t image, size_t pixel, size_t pixels, pair value, bool add) {
  float *to = planes + 2 * image * pixels + pixel;
  to[0] = (float)((add ? to[0] : 0) + creal(value));
  to[pixels] = (float)((add ? to[pixels] : 0) + cimag(value));
}

/* Rows are strips of eight. */
static size_t count_lines(const struct host_args *args, size_t width) {
  return args->rows / divide_up(width, 8);
}

void coils_spread_reference(const struct host_args *args) {
  size_t coils = args->value[3].u, pixels = args->value[4].u;
  for (size_t coil = 0; coil < count_lines(args, pixels); coil++)
    for (size_t i = 0; i < pixels; i++) {
      pair image = get(args->in[1], coil / coils, i, pixels);
      put(args->out[2], coil, i, pixels,
          args->value[6].f * get(args->in[0], coil, i, pixels) * (args->value[5].u ? conj(image) : image),
          args->value[7].u);
    }
}

void coils_gather_reference(const struct host_args *args) {
  size_t coils = args->value[3].u, pixels = args->value[4].u;
  for (size_t image = 0; image < count_lines(args, pixels); image++)
    for (size_t i = 0; i < pixels; i++) {
      pair sum = 0;
      for (size_t coil = image * coils; coil < (image + 1) * coils; coil++)
        sum += conj(get(args->in[0], coil, i, pixels)) * get(args->in[1], coil, i, pixels);
      put(args->out[2], image, i, pixels, args->value[5].f * sum, args->value[6].u);
    }
}

/* Root of the sum of squares over the planes of an image, at a pixel. */
static double root_at(const float *planes, size_t count, size_t pixels) {
  double sum = 0;
  for (size_t plane = 0; plane < count; plane++)
    sum += (double)planes[plane * pixels] * planes[plane * pixels];
  return sqrt(sum);
}

void planes_root_reference(const struct host_args *args) {
  size_t planes = args->value[2].u, pixels = args->value[3].u;
  const float *x = args->in[0];
  for (size_t image = 0; image < count_lines(args, pixels); image++)
    for (size_t i = 0; i < pixels; i++)
      ((float *)args->out[1])[image * pixels + i] =
          (float)root_at(x + image * planes * pixels + i, planes, pixels);
}

void planes_root_backward_reference(const struct host_args *args) {
  size_t planes = args->value[3].u, pixels = args->value[4].u;
  const float *x = args->in[0], *dy = args->in[1];
  float *dx = args->out[2];
  for (size_t image = 0; image < count_lines(args, pixels); image++)
    for (size_t i = 0; i < pixels; i++) {
      double root = root_at(x + image * planes * pixels + i, planes, pixels);
      for (size_t plane = 0; plane < planes; plane++) {
        size_t place = (image * planes + plane) * pixels + i;
        double slope = root > 0 ? dy[image * pixels + i] * x[place] / root : 0;
        dx[place] = (float)((args->value[5].u ? dx[place] : 0) + slope);
      }
    }
}

void planes_unit_reference(const struct host_args *args) {
  size_t planes = args->value[2].u, pixels = args->value[3].u;
  const float *x = args->in[0];
  for (size_t image = 0; image < count_lines(args, pixels); image++)
    for (size_t i = 0; i < planes * pixels; i++) {
      double root = root_at(x + image * planes * pixels + i % pixels, planes, pixels);
      size_t place = image * planes * pixels + i;
      ((float *)args->out[1])[place] = (float)(root > 0 ? x[place] / root : 0);
    }
}

/* By the matrix of derivatives, (1 where both are one, less y_p y_q) / root. */
void planes_unit_backward_reference(const struct host_args *args) {
  size_t planes = args->value[3].u, pixels = args->value[4].u;
  for (size_t line = 0; line < count_lines(args, pixels) * pixels; line++) {
    size_t first = line / pixels * planes * pixels + line % pixels;
    const float *x = (const float *)args->in[0] + first, *dy = (const float *)args->in[1] + first;
    float *dx = (float *)args->out[2] + first;
    double root = root_at(x, planes, pixels);
    for (size_t p = 0; p < planes; p++) {
      double slope = 0;
      for (size_t q = 0; root > 0 && q < planes; q++)
        slope += dy[q * pixels] * ((p == q) - x[p * pixels] / root * (x[q * pixels] / root)) / root;
      dx[p * pixels] = (float)((args->value[5].u ? dx[p * pixels] : 0) + slope);
    }
  }
}

/* The entry of the mask that a value is of. */
static size_t entry_of(size_t place, size_t lines, size_t width) {
  return place / width / lines * width + place % width;
}

void consistency_forward_reference(const struct host_args *args) {
  size_t lines = args->value[5].u, width = args->value[6].u;
  const float *x = args->in[0], *y = args->in[1], *mask = args->in[2], *step = args->in[3];
  for (size_t i = 0; i < count_lines(args, width) * width; i++)
    ((float *)args->out[4])[i] =
        (float)(x[i] - (double)step[0] * mask[entry_of(i, lines, width)] * ((double)x[i] - y[i]));
}

void consistency_backward_reference(const struct host_args *args) {
  size_t lines = args->value[4].u, width = args->value[5].u;
  const float *mask = args->in[0], *step = args->in[1], *dy = args->in[2];
  float *dx = args->out[3];
  for (size_t i = 0; i < count_lines(args, width) * width; i++) {
    double share = (double)step[0] * mask[entry_of(i, lines, width)];
    dx[i] = (float)((args->value[7].u ? dx[i] : 0) + (args->value[6].u ? share : 1 - share) * dy[i]);
  }
}

void consistency_step_reference(const struct host_args *args) {
  size_t lines = args->value[5].u, width = args->value[6].u, all = args->value[7].u, each = args->value[8].u;
  const float *x = args->in[0], *y = args->in[1], *mask = args->in[2], *dy = args->in[3];
  for (size_t row = 0, parts = args->value[9].u; row < args->rows; row++) {
    double sum = 0;
    for (size_t i = 0; i < all * width; i++)
      if (i / width / each == row / parts && i / width % each % parts == row % parts)
        sum -= mask[entry_of(i, lines, width)] * ((double)x[i] - y[i]) * dy[i];
    ((float *)args->out[4])[row] = (float)sum;
  }
}

void consistency_mask_reference(const struct host_args *args) {
  size_t lines = args->value[5].u, width = args->value[6].u;
  const float *x = args->in[0], *y = args->in[1], *step = args->in[2], *dy = args->in[3];
  float *gradient = args->out[4];
  for (size_t entry = 0; entry < args->rows; entry++) {
    double sum = 0;
    for (size_t line = 0; line < lines; line++) {
      size_t i = (entry / width * lines + line) * width + entry % width;
      sum += ((double)x[i] - y[i]) * dy[i];
    }
    gradient[entry] = (float)((args->value[7].u ? gradient[entry] : 0) - step[0] * sum);
  }
}

static double scale_of(const float *units) {
  return units[1] > 0 ? 1 / (double)units[1] : 0;
}

void units_forward_reference(const struct host_args *args) {
  size_t pixels = args->value[3].u;
  const float *x = args->in[0], *units = args->in[1];
  for (size_t i = 0; i < count_lines(args, pixels) * pixels; i++) {
    const float *own = units + 2 * (i / pixels);
    ((float *)args->out[2])[i] = (float)(((double)x[i] - own[0]) * scale_of(own));
  }
}

void units_backward_reference(const struct host_args *args) {
  size_t pixels = args->value[3].u;
  const float *units = args->in[0], *dy = args->in[1];
  float *dx = args->out[2];
  for (size_t i = 0; i < count_lines(args, pixels) * pixels; i++)
    dx[i] = (float)((args->value[4].u ? dx[i] : 0) + dy[i] * scale_of(units + 2 * (i / pixels)));
}

void mask_middle_reference(const struct host_args *args) {
  long width = args->value[2].u;
  for (size_t row = 0; row < args->rows; row++) {
    const float *mask = (const float *)args->in[0] + row * (size_t)width;
    long middle = width / 2, reach = 0;
    while (reach < middle && middle + reach < width && mask[middle - 1 - reach] > 0 &&
           mask[middle + reach] > 0)
      reach++;
    long count = reach ? 2 * reach : 1, first = (width - count + 1) / 2;
    for (long x = 0; x < width; x++)
      ((float *)args->out[1])[row * (size_t)width + (size_t)x] = x >= first && x < first + count;
  }
}

/* ---- sizes of which the rows are whole lines or images ------------------------------------------------- */

static uint32_t below(struct random *random, uint32_t limit) {
  return random_u32(random) % limit;
}

/* Values from -1 to 1. */
static void centre_values(const struct host_args *args, int place) {
  float *values = (float *)args->in[place];
  for (size_t i = 0; i < (args->rows + 3) * args->height * args->width; i++) values[i] = 2 * values[i] - 1;
}

static uint32_t short_strips(struct host_args *args, struct random *random) {
  return 8 * some_divisor(args->rows, random) - below(random, 8);
}

void coils_spread_prepare(struct host_args *args, struct random *random) {
  uint32_t pixels = short_strips(args, random);
  args->value[3].u = some_divisor(count_lines(args, pixels), random);
  args->value[4].u = pixels;
  args->value[5].u = below(random, 2);
  args->value[6].f = (float)random_uniform(random);
  args->value[7].u = below(random, 2);
  for (int k = 0; k < 2; k++) centre_values(args, k);
}

void coils_gather_prepare(struct host_args *args, struct random *random) {
  args->value[3].u = 1 + below(random, 6);
  args->value[4].u = short_strips(args, random);
  args->value[5].f = (float)random_uniform(random);
  args->value[6].u = below(random, 2);
  for (int k = 0; k < 2; k++) centre_values(args, k);
}

/* Every fifth pixel is 0 in all planes. */
static void prepare_planes(struct host_args *args, struct random *random, int first) {
  uint32_t planes = 2 + below(random, 5), pixels = short_strips(args, random);
  float *values = (float *)args->in[0];
  args->value[first].u = planes;
  args->value[first + 1].u = pixels;
  centre_values(args, 0);
  for (size_t i = 0; i < count_lines(args, pixels) * planes * pixels; i++)
    if (i % pixels % 5 == 2) values[i] = 0;
}

void planes_root_prepare(struct host_args *args, struct random *random) {
  prepare_planes(args, random, 2);
}

/* Values far from 0: one that is nearly 0 among others that are would have a gradient of any size. */
void planes_root_backward_prepare(struct host_args *args, struct random *random) {
  float *values = (float *)args->in[0];
  prepare_planes(args, random, 3);
  for (size_t i = 0; i < (args->rows + 3) * args->height * args->width; i++)
    values[i] += values[i] > 0 ? 0.5f : values[i] < 0 ? -0.5f : 0;
  args->value[5].u = below(random, 2);
}

static void prepare_masks(struct host_args *args, int place, size_t count) {
  float *mask = (float *)args->in[place];
  for (size_t i = 0; i < count; i++) mask[i] = mask[i] > 0.5f;
}

void consistency_forward_prepare(struct host_args *args, struct random *random) {
  args->value[6].u = short_strips(args, random);
  args->value[5].u = some_divisor(count_lines(args, args->value[6].u), random);
  prepare_masks(args, 2, (args->rows + 3) * args->width);
}

void consistency_backward_prepare(struct host_args *args, struct random *random) {
  args->value[5].u = short_strips(args, random);
  args->value[4].u = some_divisor(count_lines(args, args->value[5].u), random);
  args->value[6].u = below(random, 2);
  args->value[7].u = below(random, 2);
  prepare_masks(args, 0, (args->rows + 3) * args->width);
}

void consistency_step_prepare(struct host_args *args, struct random *random) {
  uint32_t images = 1 + below(random, 3), lines = 1 + below(random, 9);
  args->value[5].u = lines;
  args->value[6].u = 1 + below(random, (uint32_t)(args->height * args->width) / (images * lines));
  args->value[7].u = images * lines;
  uint32_t shards = shards_of(args->rows, random);
  args->value[8].u = (uint32_t)divide_up(images * lines, shards);
  args->value[9].u = (uint32_t)args->rows / shards;
  prepare_masks(args, 2, (args->rows + 3) * args->height * args->width);
}

void consistency_mask_prepare(struct host_args *args, struct random *random) {
  args->value[6].u = some_divisor(args->rows, random);
  args->value[5].u = 1 + below(random, 9);
  args->value[7].u = below(random, 2);
}

void units_forward_prepare(struct host_args *args, struct random *random) {
  args->value[3].u = short_strips(args, random);
}

void units_backward_prepare(struct host_args *args, struct random *random) {
  ((float *)args->in[0])[1] = 0;
  args->value[3].u = short_strips(args, random);
  args->value[4].u = below(random, 2);
}

/* Middles of any width, up to all. */
void mask_middle_prepare(struct host_args *args, struct random *random) {
  uint32_t width = 1 + below(random, (uint32_t)args->width);
  float *mask = (float *)args->in[0];
  args->value[2].u = width;
  for (size_t i = 0; i < args->rows * width; i++) mask[i] = mask[i] * (float)args->rows > (float)(i / width);
}
