#include "kernels/kernels.h"

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
