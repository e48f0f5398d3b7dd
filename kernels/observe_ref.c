#include "kernels/kernels.h"

#include "components/components.h"

#include <math.h>

bool observe_fft_fits(size_t height, size_t width) {
  (void)height;
  return width == 32 || width == 64 || width == 128 || width == 256;
}

/* The pixel of a masked slice, straight from the definition of the inverse transform (PROTOCOL 1.2): hybrid
 * frequency n is line c = n + W/2 (mod W), with the centre c = W/2 of k-space at frequency 0. */
static double pixel(const struct host_args *args, const uint8_t *mask, const float *hybrid, size_t y, size_t x) {
  size_t width = args->width, half = width / 2;
  double re = 0, im = 0;
  for (size_t line = 0; line < width; line++) {
    if (!mask[line]) continue;
    size_t n = (line + width - half) % width;
    const float *value = hybrid + 2 * (n * args->height + y);
    double turn = 2 * M_PI * fmod(((double)line - (double)half) * ((double)x - (double)half), (double)width) /
                  (double)width;
    re += value[0] * cos(turn) - value[1] * sin(turn);
    im += value[0] * sin(turn) + value[1] * cos(turn);
  }
  return sqrt((re * re + im * im) / (double)width);
}

void observe_reference(const struct host_args *args) {
  const uint32_t *slice = args->in[0];
  size_t pixels = args->height * args->width;
  float *means = args->out[5], *stds = args->out[6];
  for (size_t row = 0; row < args->rows; row++) {
    const uint8_t *mask = (const uint8_t *)args->in[1] + row * args->width;
    const float *hybrid = (const float *)args->in[2] + 2 * slice[row] * pixels;
    float *magnitude = (float *)args->out[4] + row * pixels;
    double sum = 0, square = 0;
    for (size_t i = 0; i < pixels; i++) {
      double value = pixel(args, mask, hybrid, i / args->width, i % args->width);
      magnitude[i] = (float)value;
      sum += value;
      square += value * value;
    }
    double mean = sum / (double)pixels;
    means[row] = (float)mean;
    stds[row] = (float)sqrt(fmax(square - sum * mean, 0) / (double)(pixels - 1));
  }
}

void observe_prepare(struct host_args *args, struct random *random) {
  uint32_t *slice = (uint32_t *)args->in[0];
  uint8_t *mask = (uint8_t *)args->in[1];
  float *phase = (float *)args->in[3];
  for (size_t row = 0; row < args->rows; row++) {
    slice[row] = random_u32(random) % (uint32_t)args->table_rows[TABLE_SLICE];
    uint32_t density = row % 8; /* the first row acquires nothing */
    for (size_t line = 0; line < args->width; line++)
      mask[row * args->width + line] = random_u32(random) % 8 < density;
  }
  for (size_t k = 0; k < args->width; k++) {
    phase[2 * k] = (float)cos(2 * M_PI * (double)k / (double)args->width);
    phase[2 * k + 1] = (float)sin(2 * M_PI * (double)k / (double)args->width);
  }
}
