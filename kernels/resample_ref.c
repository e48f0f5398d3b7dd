#include "engine/base/round.h"
#include "kernels/kernels.h"

#include <math.h>

void pool_forward_reference(const struct host_args *args) {
  size_t height = args->value[2].u, width = args->value[3].u, high = height / 2, wide = width / 2;
  size_t planes = args->rows / (high * divide_up(wide, 4));
  float *to = args->out[1];
  for (size_t p = 0; p < planes; p++)
    for (size_t y = 0; y < high; y++)
      for (size_t x = 0; x < wide; x++) {
        const float *corner = (const float *)args->in[0] + (p * height + 2 * y) * width + 2 * x;
        *to++ = fmaxf(fmaxf(corner[0], corner[1]), fmaxf(corner[width], corner[width + 1]));
      }
}

/* Place of the first largest of the 2x2 pixels. */
static size_t first_largest(const float *plane, size_t width, size_t y, size_t x) {
  size_t best = 2 * y * width + 2 * x;
  for (size_t k = 1; k < 4; k++) {
    size_t place = (2 * y + k / 2) * width + 2 * x + k % 2;
    if (plane[place] > plane[best]) best = place;
  }
  return best;
}

void pool_backward_reference(const struct host_args *args) {
  size_t height = args->value[3].u, width = args->value[4].u, pixels = height * width;
  size_t planes = args->rows / (divide_up(height, 2) * divide_up(divide_up(width, 2), 4));
  const float *slope = args->in[1];
  float *to = args->out[2];
  for (size_t i = 0; !args->value[5].u && i < planes * pixels; i++) to[i] = 0;
  for (size_t p = 0; p < planes; p++)
    for (size_t y = 0; y < height / 2; y++)
      for (size_t x = 0; x < width / 2; x++)
        to[p * pixels + first_largest((const float *)args->in[0] + p * pixels, width, y, x)] += *slope++;
}

void average_forward_reference(const struct host_args *args) {
  size_t height = args->value[2].u, width = args->value[3].u, high = height / 2, wide = width / 2;
  size_t planes = args->rows / (high * divide_up(wide, 4));
  float *to = args->out[1];
  for (size_t p = 0; p < planes; p++)
    for (size_t y = 0; y < high; y++)
      for (size_t x = 0; x < wide; x++) {
        const float *corner = (const float *)args->in[0] + (p * height + 2 * y) * width + 2 * x;
        *to++ = (float)(((double)corner[0] + corner[1] + corner[width] + corner[width + 1]) / 4);
      }
}

void average_backward_reference(const struct host_args *args) {
  size_t height = args->value[2].u, width = args->value[3].u, high = height / 2, wide = width / 2;
  size_t planes = args->rows / (height * divide_up(width, 8));
  float *to = args->out[1];
  for (size_t p = 0; p < planes; p++)
    for (size_t y = 0; y < height; y++)
      for (size_t x = 0; x < width; x++, to++) {
        bool seen = y / 2 < high && x / 2 < wide;
        float slope = seen ? ((const float *)args->in[0])[(p * high + y / 2) * wide + x / 2] / 4 : 0;
        *to = (args->value[4].u ? *to : 0) + slope;
      }
}

/* Weight of input `coarse` in output `fine`, from the definition: the centre of output f lies at (f + 1/2) /
 * 2
 * - 1/2 in the input, which is clamped to the edge. */
static double take(size_t fine, size_t coarse, size_t size) {
  double place = fmin(fmax(((double)fine + 0.5) / 2 - 0.5, 0), (double)size - 1);
  return fmax(1 - fabs(place - (double)coarse), 0);
}

void up_sample_forward_reference(const struct host_args *args) {
  size_t height = args->value[2].u, width = args->value[3].u;
  size_t planes = args->rows / (height * divide_up(width, 4));
  float *to = args->out[1];
  for (size_t p = 0; p < planes; p++)
    for (size_t y = 0; y < 2 * height; y++)
      for (size_t x = 0; x < 2 * width; x++) {
        const float *plane = (const float *)args->in[0] + p * height * width;
        double sum = 0;
        for (size_t cy = y / 2 ? y / 2 - 1 : 0; cy < height && cy <= y / 2 + 1; cy++)
          for (size_t cx = x / 2 ? x / 2 - 1 : 0; cx < width && cx <= x / 2 + 1; cx++)
            sum += take(y, cy, height) * take(x, cx, width) * plane[cy * width + cx];
        *to++ = (float)sum;
      }
}

void up_sample_backward_reference(const struct host_args *args) {
  size_t height = args->value[2].u, width = args->value[3].u;
  size_t planes = args->rows / (height * divide_up(width, 4));
  float *to = args->out[1];
  for (size_t p = 0; p < planes; p++)
    for (size_t y = 0; y < height; y++)
      for (size_t x = 0; x < width; x++, to++) {
        const float *plane = (const float *)args->in[0] + 4 * p * height * width;
        double sum = args->value[4].u ? *to : 0;
        for (size_t fy = y ? 2 * y - 1 : 0; fy < 2 * height && fy <= 2 * y + 2; fy++)
          for (size_t fx = x ? 2 * x - 1 : 0; fx < 2 * width && fx <= 2 * x + 2; fx++)
            sum += take(fy, y, height) * take(fx, x, width) * plane[fy * 2 * width + fx];
        *to = (float)sum;
      }
}

void concat_copy_reference(const struct host_args *args) {
  const union host_value *value = args->value;
  size_t count = value[2].u, images = args->rows / divide_up(count, 8);
  for (size_t n = 0; n < images; n++)
    for (size_t i = 0; i < count; i++) {
      float from = ((const float *)args->in[0])[n * value[3].u + value[4].u + i];
      float *to = (float *)args->out[1] + n * value[5].u + value[6].u + i;
      *to = value[7].u ? *to + from : from;
    }
}

void window_copy_reference(const struct host_args *args) {
  const union host_value *value = args->value;
  long height = value[2].u, width = value[3].u, high = value[4].u, wide = value[5].u;
  long top = (int32_t)value[6].u, left = (int32_t)value[7].u;
  long planes = (long)args->rows / (high * (long)divide_up((size_t)wide, 4));
  float *to = args->out[1];
  for (long p = 0; p < planes; p++)
    for (long y = -top; y < high - top; y++)
      for (long x = -left; x < wide - left; x++, to++) {
        bool inside = y >= 0 && y < height && x >= 0 && x < width;
        float from = inside ? ((const float *)args->in[0])[(p * height + y) * width + x] : 0;
        *to = value[8].u ? *to + from : from;
      }
}

/* Splits the rows into two random factors. */
static void split(size_t rows, uint32_t factors[2], struct random *random) {
  factors[0] = factors[1] = 1;
  for (uint32_t prime = 2; rows > 1; prime++)
    while (rows % prime == 0) {
      factors[random_u32(random) % 2] *= prime;
      rows /= prime;
    }
}

static uint32_t below(struct random *random, uint32_t limit) {
  return random_u32(random) % limit;
}

void pool_forward_prepare(struct host_args *args, struct random *random) {
  uint32_t factors[2];
  split(args->rows, factors, random);
  args->value[2].u = 2 * factors[0] + below(random, 2);
  args->value[3].u = 2 * (4 * factors[1] - below(random, 4)) + below(random, 2);
}

void average_forward_prepare(struct host_args *args, struct random *random) {
  pool_forward_prepare(args, random);
}

void average_backward_prepare(struct host_args *args, struct random *random) {
  uint32_t factors[2];
  split(args->rows, factors, random);
  args->value[2].u = factors[0] > 1 ? factors[0] : (uint32_t)args->rows;
  args->value[3].u = 8 * (uint32_t)(args->rows / args->value[2].u) - below(random, 7);
  args->value[4].u = below(random, 2);
}

/* Few different values: ties. */
void pool_backward_prepare(struct host_args *args, struct random *random) {
  uint32_t factors[2];
  float *input = (float *)args->in[0];
  split(args->rows, factors, random);
  for (size_t i = 0; i < (args->rows + 3) * args->height * args->width; i++) input[i] = floorf(4 * input[i]);
  args->value[3].u = 2 * factors[0] - below(random, 2);
  args->value[4].u = 2 * (4 * factors[1] - below(random, 4)) - below(random, 2);
  args->value[5].u = below(random, 2);
}

void up_sample_forward_prepare(struct host_args *args, struct random *random) {
  uint32_t factors[2];
  split(args->rows, factors, random);
  args->value[2].u = factors[0];
  args->value[3].u = 4 * factors[1] - below(random, 4);
}

void up_sample_backward_prepare(struct host_args *args, struct random *random) {
  uint32_t factors[2];
  split(args->rows, factors, random);
  args->value[2].u = factors[0];
  args->value[3].u = 4 * factors[1] - below(random, 4);
  args->value[4].u = below(random, 2);
}

void concat_copy_prepare(struct host_args *args, struct random *random) {
  uint32_t factors[2];
  split(args->rows, factors, random);
  args->value[2].u = 8 * factors[0] - below(random, 8);
  args->value[4].u = below(random, 5);
  args->value[3].u = args->value[2].u + args->value[4].u + below(random, 5);
  args->value[6].u = below(random, 5);
  args->value[5].u = args->value[2].u + args->value[6].u + below(random, 5);
  args->value[7].u = below(random, 2);
}

/* A window that lies outside on any side, or within. */
void window_copy_prepare(struct host_args *args, struct random *random) {
  uint32_t lines[2], planes[2];
  split(args->rows, lines, random);
  split(lines[0], planes, random);
  args->value[4].u = planes[1];
  args->value[5].u = 4 * lines[1] - below(random, 4);
  args->value[2].u = 1 + below(random, args->value[4].u + 3);
  args->value[3].u = 1 + below(random, args->value[5].u + 3);
  args->value[6].u = below(random, 5) - 2;
  args->value[7].u = below(random, 5) - 2;
  args->value[8].u = below(random, 2);
}
