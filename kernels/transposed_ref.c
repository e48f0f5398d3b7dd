#include "engine/base/round.h"
#include "kernels/kernels.h"

/* Sizes of a transposed convolution; height and width are the input's. */
struct sizes {
  size_t inputs, outputs, height, width;
};

static struct sizes sizes_of(const union host_value *value) {
  return (struct sizes){value[0].u, value[1].u, value[2].u, value[3].u};
}

/* Images of so many rows of a strip of eight pixels and `block` channels. */
static size_t images_of(size_t rows, const struct sizes *s, size_t channels, size_t block) {
  return rows / (divide_up(s->width, 8) * s->height * divide_up(channels, block));
}

/* Pixel (2y + tap / 2, 2x + tap % 2) of an output plane. */
static size_t fine(const struct sizes *s, size_t pixel, size_t tap) {
  return (2 * (pixel / s->width) + tap / 2) * 2 * s->width + 2 * (pixel % s->width) + tap % 2;
}

void transposed_forward_reference(const struct host_args *args) {
  const struct sizes s = sizes_of(args->value + 3);
  const float *x = args->in[0], *weight = args->in[1];
  float *y = args->out[2];
  size_t pixels = s.height * s.width, images = images_of(args->rows, &s, s.outputs, 2);
  for (size_t n = 0; n < images; n++)
    for (size_t o = 0; o < s.outputs; o++)
      for (size_t p = 0; p < pixels; p++)
        for (size_t tap = 0; tap < 4; tap++) {
          double sum = 0;
          for (size_t i = 0; i < s.inputs; i++)
            sum += (double)weight[(i * s.outputs + o) * 4 + tap] * x[(n * s.inputs + i) * pixels + p];
          y[(n * s.outputs + o) * 4 * pixels + fine(&s, p, tap)] = (float)sum;
        }
}

void transposed_backward_reference(const struct host_args *args) {
  const struct sizes s = sizes_of(args->value + 3);
  const float *dy = args->in[0], *weight = args->in[1];
  float *dx = args->out[2];
  size_t pixels = s.height * s.width, images = images_of(args->rows, &s, s.inputs, 4);
  for (size_t n = 0; n < images; n++)
    for (size_t i = 0; i < s.inputs; i++)
      for (size_t p = 0; p < pixels; p++) {
        float *to = &dx[(n * s.inputs + i) * pixels + p];
        double sum = args->value[7].u ? *to : 0;
        for (size_t o = 0; o < s.outputs; o++)
          for (size_t tap = 0; tap < 4; tap++)
            sum += (double)weight[(i * s.outputs + o) * 4 + tap] *
                   dy[(n * s.outputs + o) * 4 * pixels + fine(&s, p, tap)];
        *to = (float)sum;
      }
}

/* One weight's gradient over the input's lines [first, last) of all images. */
static double weight_at(const struct host_args *args, const struct sizes *s, size_t i, size_t o, size_t tap,
                        size_t first, size_t last) {
  const float *x = args->in[0], *dy = args->in[1];
  size_t pixels = s->height * s->width;
  double sum = 0;
  for (size_t place = first * s->width; place < last * s->width; place++) {
    size_t image = place / pixels, p = place % pixels;
    sum += (double)x[(image * s->inputs + i) * pixels + p] *
           dy[(image * s->outputs + o) * 4 * pixels + fine(s, p, tap)];
  }
  return sum;
}

void transposed_weight_reference(const struct host_args *args) {
  const struct sizes s = sizes_of(args->value + 3);
  size_t lines = args->value[7].u, each = args->value[8].u, parts = args->value[9].u;
  float *partial = args->out[2];
  for (size_t piece = 0; piece < parts * divide_up(lines, each); piece++) {
    size_t start = piece / parts * each, count = lines - start < each ? lines - start : each, p = piece % parts;
    for (size_t i = 0; i < s.inputs; i++)
      for (size_t o = 0; o < s.outputs; o++)
        for (size_t tap = 0; tap < 4; tap++)
          *partial++ =
              (float)weight_at(args, &s, i, o, tap, start + p * count / parts, start + (p + 1) * count / parts);
  }
}

/* ---- sizes that the rows are of ------------------------------------------------------------------------ */

static uint32_t below(struct random *random, uint32_t limit) {
  return random_u32(random) % limit;
}

/* Splits the rows into four factors at random. */
static void factor(size_t rows, uint32_t factors[4], struct random *random) {
  for (int i = 0; i < 4; i++) factors[i] = 1;
  for (uint32_t prime = 2; rows > 1; prime++)
    while (rows % prime == 0) {
      factors[below(random, 4)] *= prime;
      rows /= prime;
    }
}

static void centre_values(const float *values, size_t count) {
  float *writable = (float *)values;
  for (size_t i = 0; i < count; i++) writable[i] = 2 * writable[i] - 1;
}

static void prepare_strips(struct host_args *args, struct random *random, uint32_t block, bool backward) {
  uint32_t factors[4];
  factor(args->rows, factors, random);
  uint32_t blocked = block * factors[1] - below(random, block), other = 1 + below(random, 5);
  args->value[3].u = backward ? blocked : other;
  args->value[4].u = backward ? other : blocked;
  args->value[5].u = factors[2];
  args->value[6].u = 8 * factors[3] - below(random, 8);
  for (int k = 0; k < 2; k++) centre_values(args->in[k], (args->rows + 3) * args->height * args->width);
}

void transposed_forward_prepare(struct host_args *args, struct random *random) {
  prepare_strips(args, random, 2, false);
}

void transposed_backward_prepare(struct host_args *args, struct random *random) {
  prepare_strips(args, random, 4, true);
  args->value[7].u = below(random, 2);
}

/* Every piece has at least one line; images and lines stay within the buffers. */
void transposed_weight_prepare(struct host_args *args, struct random *random) {
  uint32_t factors[4];
  factor(args->rows, factors, random);
  uint32_t parts = factors[2] * factors[3], images = parts > 64 ? parts / 16 : 1 + below(random, 2);
  args->value[3].u = factors[0];
  args->value[4].u = factors[1];
  args->value[5].u = (uint32_t)divide_up(parts, images) + below(random, 4);
  args->value[6].u = 1 + below(random, 12);
  uint32_t shards = factors[3], lines = args->value[7].u = images * args->value[5].u;
  args->value[8].u = (uint32_t)divide_up(lines, shards);
  while (divide_up(lines, args->value[8].u) < shards) shards = 1, args->value[8].u = lines;
  args->value[9].u = parts / shards;
  for (int k = 0; k < 2; k++) centre_values(args->in[k], (args->rows + 3) * args->height * args->width);
}
