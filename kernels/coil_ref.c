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
