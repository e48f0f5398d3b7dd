#include "kernels/kernels.h"

#include "components/components.h"

#include <math.h>
#include <string.h>

void coil_centre_reference(const struct host_args *args) {
  size_t height = args->value[2].u, width = args->value[3].u;
  const float *kspace = args->in[0];
  float *work = args->out[1];
  for (size_t i = 0; i < args->rows; i++) {
    size_t x = i % width, y = i / width % height, coil = i / (width * height);
    size_t to_x = (x + width - width / 2) % width, to_y = (y + height - height / 2) % height;
    memcpy(work + 2 * ((coil * height + to_y) * width + to_x), kspace + 2 * i, 2 * sizeof(float));
  }
}

void coil_combine_reference(const struct host_args *args) {
  size_t coils = args->value[2].u, height = args->value[3].u, width = args->value[4].u;
  size_t out_height = args->value[5].u, out_width = args->value[6].u;
  const float *work = args->in[0];
  float *pixels = args->out[1];
  for (size_t i = 0; i < args->rows; i++) {
    size_t x = i % out_width + (width - out_width) / 2, y = i / out_width + (height - out_height) / 2;
    size_t from = (y + height - height / 2) % height * width + (x + width - width / 2) % width;
    double sum = 0;
    for (size_t coil = 0; coil < coils; coil++) {
      const float *value = work + 2 * (coil * height * width + from);
      sum += (double)value[0] * value[0] + (double)value[1] * value[1];
    }
    pixels[i] = (float)sqrt(sum);
  }
}

/* Sizes that fit the buffers: the rows are the samples (centre) or the pixels of the crop (combine). */
void coil_prepare(struct host_args *args, struct random *random) {
  uint32_t rows = (uint32_t)args->rows, width = 1;
  for (uint32_t divisor = 2; divisor <= 25; divisor++)
    if (rows % divisor == 0) width = divisor;
  bool combine = args->value[5].u || args->value[6].u || args->value[4].u;
  if (!combine) {
    args->value[2].u = rows / width;
    args->value[3].u = width;
    return;
  }
  uint32_t coils = 1 + random_u32(random) % 3;
  args->value[2].u = coils;
  args->value[3].u = rows / width + 2; /* crop by one line above and two columns left */
  args->value[4].u = width + 5;
  args->value[5].u = rows / width;
  args->value[6].u = width;
}

void coil_crop_reference(const struct host_args *args) {
  size_t height = args->value[4].u, width = args->value[5].u, rows = args->value[6].u,
         columns = args->value[7].u;
  const float *work = args->in[0];
  const uint32_t *row_from = args->in[1], *column_from = args->in[2];
  float *planes = args->out[3];
  for (size_t i = 0; i < args->rows; i++) {
    size_t x = i % columns, y = i / columns % rows, coil = i / columns / rows;
    size_t to_x = (x + columns - columns / 2) % columns, to_y = (y + rows - rows / 2) % rows;
    float *to = planes + 2 * ((coil * rows + to_y) * columns + to_x);
    bool inside = row_from[y] != NO_CELL && column_from[x] != NO_CELL;
    const float *from = inside ? work + 2 * ((coil * height + row_from[y]) * width + column_from[x]) : NULL;
    to[0] = from ? from[0] : 0;
    to[1] = from ? from[1] : 0;
  }
}

void coil_crop_prepare(struct host_args *args, struct random *random) {
  uint32_t height = 1, width = 1, pixels = (uint32_t)args->rows;
  for (uint32_t side = 2; side <= 10; side++)
    if (pixels % side == 0) height = side;
  for (uint32_t side = 2; side < height; side++)
    if (pixels % (side * height) == 0) width = side;
  args->value[4].u = 6;
  args->value[5].u = 5;
  args->value[6].u = height;
  args->value[7].u = width;
  for (uint32_t i = 0; i < height; i++)
    ((uint32_t *)args->in[1])[i] = random_u32(random) % 4 ? random_u32(random) % 6 : NO_CELL;
  for (uint32_t i = 0; i < width; i++)
    ((uint32_t *)args->in[2])[i] = random_u32(random) % 4 ? random_u32(random) % 5 : NO_CELL;
}

void coil_scale_reference(const struct host_args *args) {
  size_t count = 2 * args->value[2].u * args->height * args->width;
  float *to = args->out[0];
  for (size_t i = 0; i < args->rows * count; i++)
    to[i] = (float)((double)to[i] * args->value[3].f / ((const float *)args->in[1])[i / count]);
}

void coil_scale_prepare(struct host_args *args, struct random *random) {
  args->value[2].u = 1 + random_u32(random) % 3;
  args->value[3].f = (float)(0.5 + random_uniform(random));
  for (size_t i = 0; i < args->table_rows[TABLE_SLICE]; i++)
    ((float *)args->in[1])[i] = ldexpf(1, (int)(random_u32(random) % 20) - 10);
}

void coil_join_reference(const struct host_args *args) {
  size_t slice = args->value[3].u, most = args->value[4].u, coils = args->value[5].u, height = args->value[6].u,
         width = args->value[7].u;
  const float *planes = args->in[0], *maps = args->in[1];
  size_t sets = args->value[9].u;
  for (size_t i = 0; i < height * width * sets; i++) {
    size_t set = i % sets, pixel = i / sets;
    size_t x = (pixel % width + width - width / 2) % width, y = (pixel / width + height - height / 2) % height;
    float *image = (float *)args->out[2] + slice * height * width + pixel;
    double re = 0, im = 0, square = 0;
    for (size_t coil = 0; coil < coils; coil++) {
      const float *map = maps + 2 * (((slice * sets + set) * most + coil) * height * width + pixel);
      const float *value = planes + 2 * ((coil * height + y) * width + x);
      re += (double)map[0] * (double)value[0] + (double)map[1] * (double)value[1];
      im += (double)map[0] * (double)value[1] - (double)map[1] * (double)value[0];
      square += (double)map[0] * (double)map[0] + (double)map[1] * (double)map[1];
    }
    double one = square > 0 ? (double)args->value[8].f * hypot(re, im) / square : 0;
    *image = (float)(set ? hypot((double)*image, one) : one);
  }
}

void coil_join_prepare(struct host_args *args, struct random *random) {
  uint32_t rows = (uint32_t)args->rows, width = 1;
  float *maps = (float *)args->in[1];
  for (uint32_t divisor = 2; divisor <= 13; divisor++)
    if (rows % divisor == 0) width = divisor;
  args->value[9].u = 1 + random_u32(random) % 2;
  args->value[3].u = random_u32(random) % (4 - args->value[9].u);
  args->value[4].u = 3;
  args->value[5].u = 1 + random_u32(random) % 3;
  args->value[6].u = rows / width;
  args->value[7].u = width;
  args->value[8].f = (float)random_uniform(random);
  for (size_t i = 0; i < 6 * args->table_rows[TABLE_SLICE] * args->height * args->width; i++)
    maps[i] = random_u32(random) % 4 ? (maps[i] < 0 ? -0.2f : 0.2f) + maps[i] : 0;
}

/* ---- simulated coils -------------------------------------------------------------------------------------- */

static double even(uint32_t word) {
  return (double)word * 0x1p-31 - 1;
}

static double phase_at(double u, double v, uint32_t seed, uint32_t number) {
  double a[8];
  for (uint32_t i = 0; i < 8; i++) a[i] = even(random_words(seed, STREAM_COILS, number, i / 4).word[i % 4]);
  return M_PI * (a[0] + (a[1] * u + a[2] * v) / 2 + (a[3] * u * u + a[4] * v * v + a[5] * u * v) / 4);
}

void coil_simulate_reference(const struct host_args *args) {
  const float *image = args->in[0], *unit = args->in[1], *maps = args->in[2];
  uint32_t slice = args->value[4].u;
  size_t height = args->value[7].u, width = args->value[8].u;
  float *planes = args->out[3];
  for (size_t i = 0; i < args->rows; i++) {
    size_t x = i % width, y = i / width % height, coil = i / width / height;
    double phase = phase_at(2 * (double)y / (double)height - 1, 2 * (double)x / (double)width - 1, args->value[5].u,
                            args->value[6].u);
    double value = (double)image[(slice * height + y) * width + x] / (double)unit[slice];
    double re = value * cos(phase), im = value * sin(phase), a = (double)maps[2 * i], b = (double)maps[2 * i + 1];
    size_t to = (coil * height + (y + height - height / 2) % height) * width + (x + width - width / 2) % width;
    planes[2 * to] = (float)(re * a - im * b);
    planes[2 * to + 1] = (float)(re * b + im * a);
  }
}

void coil_simulate_prepare(struct host_args *args, struct random *random) {
  uint32_t rows = (uint32_t)args->rows, coils = rows % 3 ? 1 : 3, width = 1;
  for (uint32_t divisor = 2; divisor <= 13; divisor++)
    if (rows / coils % divisor == 0) width = divisor;
  args->value[4].u = random_u32(random) % 3;
  args->value[5].u = random_u32(random);
  args->value[6].u = random_u32(random);
  args->value[7].u = rows / coils / width;
  args->value[8].u = width;
  for (size_t i = 0; i < args->table_rows[TABLE_SLICE]; i++) ((float *)args->in[1])[i] = ldexpf(1, (int)(i % 5));
}

void coil_noise_reference(const struct host_args *args) {
  uint32_t slice = args->value[3].u;
  double size = (double)args->value[4].f * (double)((const float *)args->in[1])[slice] /
                (double)((const float *)args->in[2])[slice];
  float *planes = args->out[0];
  for (size_t i = 0; i < args->rows; i++) {
    struct philox words = random_words(args->value[5].u, STREAM_COILS, args->value[6].u, 2 + (uint32_t)i);
    double length = size * sqrt(-2 * log(((double)words.word[0] + 0.5) * 0x1p-32));
    double angle = 2 * M_PI * (double)words.word[1] * 0x1p-32;
    planes[2 * i] = (float)((double)planes[2 * i] + length * cos(angle));
    planes[2 * i + 1] = (float)((double)planes[2 * i + 1] + length * sin(angle));
  }
}

void coil_noise_prepare(struct host_args *args, struct random *random) {
  args->value[3].u = random_u32(random) % 3;
  args->value[4].f = (float)random_uniform(random);
  args->value[5].u = random_u32(random);
  args->value[6].u = random_u32(random);
  for (size_t i = 0; i < args->table_rows[TABLE_SLICE]; i++) ((float *)args->in[2])[i] = ldexpf(1, -(int)(i % 5));
}

/* ---- mixed coils ------------------------------------------------------------------------------------------ */

/* exp(-2 pi i m (H/2) / H) of the row's frequency m. */
void coil_columns_reference(const struct host_args *args) {
  size_t height = args->value[2].u, width = args->value[3].u;
  for (size_t i = 0; i < args->rows; i++) {
    size_t m = i % height, column = i / height;
    const float *from = (const float *)args->in[0] + 2 * ((column / width * height + m) * width + column % width);
    double angle = -2 * M_PI * (double)(m * (height / 2)) / (double)height;
    ((float *)args->out[1])[2 * i] = (float)(from[0] * cos(angle) - from[1] * sin(angle));
    ((float *)args->out[1])[2 * i + 1] = (float)(from[0] * sin(angle) + from[1] * cos(angle));
  }
}

void coil_columns_prepare(struct host_args *args, struct random *random) {
  args->value[2].u = 1 + random_u32(random) % 9;
  args->value[3].u = 1 + random_u32(random) % 9;
}

void coil_mix_reference(const struct host_args *args) {
  size_t coils = args->value[3].u, samples = args->value[4].u;
  const float *kspace = args->in[0], *matrix = args->in[1];
  float *mixed = args->out[2];
  for (size_t i = 0; i < args->rows; i++) {
    double re = 0, im = 0;
    for (size_t coil = 0; coil < coils; coil++) {
      const float *a = matrix + 2 * (i / samples * coils + coil), *b = kspace + 2 * (coil * samples + i % samples);
      re += (double)a[0] * (double)b[0] - (double)a[1] * (double)b[1];
      im += (double)a[0] * (double)b[1] + (double)a[1] * (double)b[0];
    }
    mixed[2 * i] = (float)re;
    mixed[2 * i + 1] = (float)im;
  }
}

void coil_mix_prepare(struct host_args *args, struct random *random) {
  args->value[3].u = 1 + random_u32(random) % 4;
  args->value[4].u = 1 + random_u32(random) % 40;
}
