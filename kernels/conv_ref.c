#include "engine/base/round.h"
#include "kernels/divisor.h"
#include "kernels/kernels.h"

struct sizes {
  size_t images, inputs, outputs, height, width, size;
};

/* The value at a place of a plane; zero outside. */
static double at(const float *plane, const struct sizes *s, long y, long x) {
  if (y < 0 || y >= (long)s->height || x < 0 || x >= (long)s->width) return 0;
  return plane[y * (long)s->width + x];
}

/* The images that `rows` tiles of 4 channels, 2 lines and 8 pixels cover. */
static size_t tiled_images(const struct sizes *s, size_t channels, size_t rows) {
  return rows / (divide_up(channels, 4) * divide_up(s->height, 2) * divide_up(s->width, 8));
}

static double forward_at(const float *input, const float *weight, const struct sizes *s, size_t output,
                         long y, long x) {
  long reach = (long)s->size / 2;
  double sum = 0;
  for (size_t i = 0; i < s->inputs; i++)
    for (long dy = -reach; dy <= reach; dy++)
      for (long dx = -reach; dx <= reach; dx++)
        sum += (double)weight[((output * s->inputs + i) * s->size + dy + reach) * s->size + dx + reach] *
               at(input + i * s->height * s->width, s, y + dy, x + dx);
  return sum;
}

void conv_forward_reference(const struct host_args *args) {
  struct sizes s = {
      0, args->value[4].u, args->value[5].u, args->value[6].u, args->value[7].u, args->value[8].u};
  const float *input = args->in[0], *weight = args->in[1], *bias = args->in[2];
  float *output = args->out[3];
  size_t plane = s.height * s.width;
  s.images = tiled_images(&s, s.outputs, args->rows);
  for (size_t n = 0; n < s.images; n++)
    for (size_t o = 0; o < s.outputs; o++)
      for (size_t p = 0; p < plane; p++)
        output[(n * s.outputs + o) * plane + p] =
            (float)((args->value[9].u ? bias[o] : 0) + forward_at(input + n * s.inputs * plane, weight, &s, o, (long)(p / s.width),
                                         (long)(p % s.width)));
}

static double backward_at(const float *gradient, const float *weight, const struct sizes *s, size_t input,
                          long y, long x) {
  long reach = (long)s->size / 2;
  double sum = 0;
  for (size_t o = 0; o < s->outputs; o++)
    for (long dy = -reach; dy <= reach; dy++)
      for (long dx = -reach; dx <= reach; dx++)
        sum += (double)weight[((o * s->inputs + input) * s->size + dy + reach) * s->size + dx + reach] *
               at(gradient + o * s->height * s->width, s, y - dy, x - dx);
  return sum;
}

void conv_backward_reference(const struct host_args *args) {
  struct sizes s = {
      0, args->value[3].u, args->value[4].u, args->value[5].u, args->value[6].u, args->value[7].u};
  const float *gradient = args->in[0], *weight = args->in[1];
  float *to = args->out[2];
  size_t plane = s.height * s.width;
  s.images = tiled_images(&s, s.inputs, args->rows);
  for (size_t n = 0; n < s.images; n++)
    for (size_t i = 0; i < s.inputs; i++)
      for (size_t p = 0; p < plane; p++) {
        float *place = &to[(n * s.inputs + i) * plane + p];
        double before = args->value[8].u ? *place : 0;
        *place = (float)(before + backward_at(gradient + n * s.outputs * plane, weight, &s, i,
                                              (long)(p / s.width), (long)(p % s.width)));
      }
}

/* One weight's gradient over the lines [first, last) of all images. */
static double weight_at(const struct host_args *args, const struct sizes *s, size_t o, size_t i, size_t tap,
                        size_t first, size_t last) {
  long reach = (long)s->size / 2, dy = (long)(tap / s->size) - reach, dx = (long)(tap % s->size) - reach;
  size_t plane = s->height * s->width;
  double sum = 0;
  for (size_t line = first; line < last; line++) {
    size_t image = line / s->height, y = line % s->height;
    const float *input = (const float *)args->in[0] + (image * s->inputs + i) * plane;
    const float *gradient = (const float *)args->in[1] + (image * s->outputs + o) * plane;
    for (size_t x = 0; x < s->width; x++)
      sum += (double)gradient[y * s->width + x] * at(input, s, (long)y + dy, (long)x + dx);
  }
  return sum;
}

void conv_weight_reference(const struct host_args *args) {
  struct sizes s = {
      0, args->value[3].u, args->value[4].u, args->value[5].u, args->value[6].u, args->value[7].u};
  size_t lines = args->value[8].u, each = args->value[9].u, parts = args->value[10].u, taps = s.size * s.size;
  float *partial = args->out[2];
  for (size_t piece = 0; piece < parts * divide_up(lines, each); piece++) {
    size_t start = piece / parts * each, count = lines - start < each ? lines - start : each, p = piece % parts;
    for (size_t o = 0; o < s.outputs; o++)
      for (size_t i = 0; i < s.inputs; i++)
        for (size_t t = 0; t < taps; t++)
          *partial++ =
              (float)weight_at(args, &s, o, i, t, start + p * count / parts, start + (p + 1) * count / parts);
  }
}

void conv_weight_sum_reference(const struct host_args *args) {
  const float *partial = args->in[0];
  float *gradient = args->out[1];
  size_t parts = args->value[2].u, count = args->value[3].u;
  for (size_t row = 0; row < args->rows; row++) {
    size_t shard = row / count, weight = row % count, at = args->value[4].u + shard * args->value[5].u + weight;
    double sum = gradient[at];
    for (size_t p = shard * parts; p < (shard + 1) * parts; p++) sum += partial[p * count + weight];
    gradient[at] = (float)sum;
  }
}

void conv_bias_reference(const struct host_args *args) {
  const float *from = args->in[0];
  float *gradient = args->out[1];
  size_t images = args->value[2].u, each = args->value[3].u, channels = args->value[4].u, pixels = args->value[5].u;
  for (size_t row = 0; row < args->rows; row++) {
    size_t shard = row / channels, c = row % channels, at = args->value[6].u + shard * args->value[7].u + c;
    double sum = gradient[at];
    for (size_t n = shard * each; n < images && n < (shard + 1) * each; n++)
      for (size_t i = 0; i < pixels; i++) sum += from[(n * channels + c) * pixels + i];
    gradient[at] = (float)sum;
  }
}

/* Splits the rows into four factors at random. */
static void factor(size_t rows, uint32_t factors[4], struct random *random) {
  for (int i = 0; i < 4; i++) factors[i] = 1;
  for (uint32_t prime = 2; rows > 1; prime++)
    while (rows % prime == 0) {
      factors[random_u32(random) % 4] *= prime;
      rows /= prime;
    }
}

static uint32_t below(struct random *random, uint32_t limit) {
  return random_u32(random) % limit;
}

static void centre_values(const float *values, size_t count) {
  float *writable = (float *)values;
  for (size_t i = 0; i < count; i++) writable[i] = 2 * writable[i] - 1;
}

static void prepare_tiles(struct host_args *args, struct random *random, int first, bool backward) {
  uint32_t factors[4];
  factor(args->rows, factors, random);
  uint32_t tiled = 4 * factors[1] - below(random, 4), other = 1 + below(random, 5);
  union host_value *value = args->value + first;
  value[0].u = backward ? tiled : other;
  value[1].u = backward ? other : tiled;
  value[2].u = 2 * factors[2] - below(random, 2);
  value[3].u = 8 * factors[3] - below(random, 8);
  value[4].u = 1 + 2 * below(random, 2);
  centre_values(args->in[0], (args->rows + 3) * args->height * args->width);
}

void conv_forward_prepare(struct host_args *args, struct random *random) {
  prepare_tiles(args, random, 4, false);
  args->value[9].u = below(random, 2);
}

void conv_backward_prepare(struct host_args *args, struct random *random) {
  prepare_tiles(args, random, 3, true);
  args->value[8].u = below(random, 2);
}

/* Every row covers at least one line; images and lines stay within the buffers. */
void conv_weight_prepare(struct host_args *args, struct random *random) {
  uint32_t factors[4];
  factor(args->rows, factors, random);
  uint32_t outputs = 2 * factors[1] - below(random, 2), parts = factors[2] * factors[3];
  uint32_t shards = factors[3];
  uint32_t images = parts > 64 ? parts / 16 : 1 + below(random, 2);
  args->value[3].u = factors[0];
  args->value[4].u = outputs;
  args->value[5].u = (uint32_t)divide_up(parts, images) + below(random, 4);
  args->value[6].u = 1 + below(random, 16);
  args->value[7].u = 1 + 2 * below(random, 2);
  args->value[8].u = images * args->value[5].u;
  args->value[9].u = (uint32_t)divide_up(args->value[8].u, shards);
  while (divide_up(args->value[8].u, args->value[9].u) < shards) shards = 1, args->value[9].u = args->value[8].u;
  args->value[10].u = parts / shards;
  centre_values(args->in[0], (args->rows + 3) * args->height * args->width);
  centre_values(args->in[1], (args->rows + 3) * args->height * args->width);
}

void conv_weight_sum_prepare(struct host_args *args, struct random *random) {
  uint32_t shards = shards_of(args->rows, random), count = (uint32_t)args->rows / shards;
  args->value[2].u = below(random, 9);
  args->value[3].u = count;
  place_shards(args, 4, count, random);
}

void conv_bias_prepare(struct host_args *args, struct random *random) {
  uint32_t shards = shards_of(args->rows, random), each = 1 + below(random, 3);
  uint32_t images = shards * each - below(random, each), channels = (uint32_t)args->rows / shards;
  args->value[2].u = images;
  args->value[3].u = each;
  args->value[4].u = channels;
  args->value[5].u = (uint32_t)(args->height * args->width) / each;
  place_shards(args, 6, channels, random);
}
