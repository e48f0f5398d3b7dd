#include "kernels/kernels.h"

#include "components/components.h"

#include <math.h>
#include <string.h>

static double target(double value, double mean, double std) {
  return fmin(fmax((value - mean) / (std + 1e-11), -6), 6) * std + mean;
}

void image_normalise_reference(const struct host_args *args) {
  size_t pixels = args->height * args->width, first = args->value[5].u;
  float *means = args->out[1], *stds = args->out[2], *peaks = args->out[3], *units = args->out[4];
  for (size_t row = first; row < first + args->rows; row++) {
    const float *image = (const float *)args->in[0] + row * pixels;
    double sum = 0, square = 0, peak = -INFINITY;
    for (size_t i = 0; i < pixels; i++) sum += image[i];
    double mean = sum / (double)pixels;
    for (size_t i = 0; i < pixels; i++) square += (image[i] - mean) * (image[i] - mean);
    double std = sqrt(square / (double)(pixels - 1));
    for (size_t i = 0; i < pixels; i++) peak = fmax(peak, target(image[i], mean, std));
    means[row] = (float)mean;
    stds[row] = (float)std;
    peaks[row] = (float)peak;
    units[row] = std > 1e-30 ? (float)exp2(floor(log2(std))) : 1;
  }
}

/* One step of the way of a pixel: a quarter turn against the clock of a square, half a turn of anything else. */
static void turn_pixel(size_t height, size_t width, size_t *y, size_t *x) {
  size_t row = *y, column = *x;
  *y = height == width ? width - 1 - column : height - 1 - row;
  *x = height == width ? row : width - 1 - column;
}

static size_t shifted(size_t from, uint32_t word, size_t shift, size_t size) {
  size_t by = (size_t)((uint64_t)word * (2 * shift + 1) >> 32);
  return (from + by + size - shift) % size;
}

void image_move_reference(const struct host_args *args) {
  size_t height = args->height, width = args->width, first = args->value[3].u;
  uint32_t kinds = args->value[4].u, down = args->value[5].u, right = args->value[6].u;
  for (size_t row = first; row < first + args->rows; row++) {
    const float *from = (const float *)args->in[0] + row * height * width;
    float *to = (float *)args->out[2] + row * height * width;
    struct philox words =
        random_words(args->value[7].u, STREAM_MOVE, ((const uint32_t *)args->in[1])[row], args->value[8].u);
    uint32_t turns = kinds & 4 ? words.word[0] >> 2 & 3 : 0;
    if (height != width) turns /= 2;
    for (size_t i = 0; i < height * width; i++) {
      size_t y = i / width, x = i % width;
      for (uint32_t turn = 0; turn < turns; turn++) turn_pixel(height, width, &y, &x);
      if (kinds & 1 && words.word[0] & 1) y = height - 1 - y;
      if (kinds & 1 && words.word[0] & 2) x = width - 1 - x;
      if (kinds & 2) y = shifted(y, words.word[1], down, height);
      if (kinds & 2) x = shifted(x, words.word[2], right, width);
      to[y * width + x] = from[i];
    }
  }
}

void image_move_prepare(struct host_args *args, struct random *random) {
  size_t rows = args->table_rows[TABLE_SLICE];
  for (size_t row = 0; row < rows; row++) ((uint32_t *)args->in[1])[row] = random_u32(random);
  args->value[3].u = (uint32_t)(rows - args->rows) / 2;
  args->value[4].u = random_u32(random) % 8;
  args->value[5].u = random_u32(random) % (uint32_t)args->height;
  args->value[6].u = random_u32(random) % (uint32_t)args->width;
  args->value[7].u = random_u32(random);
  args->value[8].u = random_u32(random);
}

void image_pack_reference(const struct host_args *args) {
  size_t height = args->height, width = args->width, first = args->value[3].u;
  const float *image = (const float *)args->in[0] + first * height * width;
  const float *unit = (const float *)args->in[1] + first;
  float *lines = args->out[2];
  for (size_t row = 0; row < args->rows; row++)
    for (size_t y = 0; y < height; y++)
      for (size_t x = 0; x < width; x++, image++) {
        size_t to = (row * height + y) * width + (x + width - width / 2) % width;
        lines[2 * to] = *image / unit[row];
        lines[2 * to + 1] = 0;
      }
}

void image_pack_plane_reference(const struct host_args *args) {
  size_t height = args->height, width = args->width, first = args->value[3].u;
  const float *image = (const float *)args->in[0] + first * height * width;
  const float *unit = (const float *)args->in[1] + first;
  float *plane = args->out[2];
  for (size_t row = 0; row < args->rows; row++)
    for (size_t y = 0; y < height; y++)
      for (size_t x = 0; x < width; x++, image++) {
        size_t line = (y + height - height / 2) % height;
        size_t to = (row * height + line) * width + (x + width - width / 2) % width;
        plane[2 * to] = *image / unit[row];
        plane[2 * to + 1] = 0;
      }
}

void image_unpack_reference(const struct host_args *args) {
  size_t height = args->height, width = args->width, first = args->value[2].u;
  const float *lines = args->in[0];
  float *hybrid = args->out[1];
  for (size_t row = 0; row < args->rows; row++)
    for (size_t y = 0; y < height; y++)
      for (size_t n = 0; n < width; n++)
        memcpy(hybrid + 2 * (((row + first) * width + n) * height + y),
               lines + 2 * ((row * height + y) * width + n), 2 * sizeof(float));
}

void image_zero_filled_reference(const struct host_args *args) {
  const uint32_t *slice = args->in[0];
  const float *magnitude = args->in[1], *unit = args->in[2];
  float *reconstruction = args->out[3];
  size_t pixels = args->height * args->width;
  for (size_t i = 0; i < args->rows * pixels; i++) reconstruction[i] = magnitude[i] * unit[slice[i / pixels]];
}

void image_standardise_reference(const struct host_args *args) {
  const uint32_t *slice = args->in[0];
  const float *magnitude = args->in[1], *mean = args->in[2], *std = args->in[3], *unit = args->in[4];
  float *input = args->out[5];
  size_t pixels = args->height * args->width, first = args->value[6].u, place = args->value[7].u;
  for (size_t row = 0; row < args->rows; row++)
    for (size_t i = 0; i < pixels; i++) {
      double scale = unit[slice[first + row]], value = magnitude[(first + row) * pixels + i] * scale;
      double normalised = (value - mean[first + row] * scale) / (std[first + row] * scale + 1e-11);
      input[(place + row) * pixels + i] = (float)fmin(fmax(normalised, -6), 6);
    }
}

void image_restore_reference(const struct host_args *args) {
  const uint32_t *slice = args->in[0];
  const float *output = args->in[1], *mean = args->in[2], *std = args->in[3];
  float *reconstruction = args->out[4];
  size_t pixels = args->height * args->width, first = args->value[5].u;
  for (size_t row = 0; row < args->rows; row++)
    for (size_t i = 0; i < pixels; i++)
      reconstruction[(first + row) * pixels + i] =
          (float)((double)output[row * pixels + i] * std[slice[first + row]] + mean[slice[first + row]]);
}

/* Starts at some scan and some row, where the arrays have room for both. */
void image_standardise_prepare(struct host_args *args, struct random *random) {
  image_network_prepare(args, random);
  args->value[7].u = random_u32(random) % 4;
}

/* Slices in range, deviations from none at all to enough, and units so small that the epsilon counts. */
void image_network_prepare(struct host_args *args, struct random *random) {
  uint32_t *slice = (uint32_t *)args->in[0], slices = (uint32_t)args->table_rows[TABLE_SLICE];
  float *std = (float *)args->in[3];
  bool standardise = !args->out[4];
  for (size_t row = 0; row < args->rows + 3; row++) slice[row] = random_u32(random) % slices;
  for (size_t row = 0; row < slices; row++) std[row] = row % 5 == 1 ? 0 : std[row] + 0.05f;
  for (size_t row = 0; standardise && row < slices; row++)
    ((float *)args->in[4])[row] = ldexpf(1, -(int)(random_u32(random) % 40));
  args->value[standardise ? 6 : 5].u = random_u32(random) % 4;
}

/* Images of very different scale and offset, one of them constant; units that are powers of two. */
void image_prepare(struct host_args *args, struct random *random) {
  size_t rows = args->table_rows[TABLE_SLICE], pixels = args->height * args->width;
  if (args->out[4] || args->out[2]) { /* the kernels that take an image */
    float *image = (float *)args->in[0];
    for (size_t row = 0; row < rows; row++) {
      float scale = ldexpf(1, (int)(random_u32(random) % 24) - 16), offset = (float)random_uniform(random);
      for (size_t i = 0; i < pixels; i++) {
        float *value = &image[row * pixels + i];
        *value = row == 1 ? scale : scale * (*value * *value * *value * *value + offset);
      }
    }
  }
  if (args->out[2] && !args->out[4])
    for (size_t row = 0; row < rows; row++)
      ((float *)args->in[1])[row] = ldexpf(1, (int)(random_u32(random) % 24) - 16);
  for (int place = 2; place <= 5; place++)
    if (!args->in[place] && !args->out[place]) args->value[place].u = (uint32_t)(rows - args->rows) / 2;
}
