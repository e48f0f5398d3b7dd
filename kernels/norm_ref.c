#include "kernels/kernels.h"

#include <math.h>

void norm_forward_reference(const struct host_args *args) {
  size_t pixels = args->value[3].u;
  for (size_t row = 0; row < args->rows; row++) {
    const float *x = (const float *)args->in[0] + row * pixels;
    float *y = (float *)args->out[1] + row * pixels, *statistics = (float *)args->out[2] + 2 * row;
    double mean = 0, variance = 0;
    for (size_t i = 0; i < pixels; i++) mean += x[i];
    mean /= (double)pixels;
    for (size_t i = 0; i < pixels; i++) variance += (x[i] - mean) * (x[i] - mean);
    double scale = 1 / sqrt(variance / (double)pixels + 1e-5);
    for (size_t i = 0; i < pixels; i++) y[i] = (float)((x[i] - mean) * scale);
    statistics[0] = (float)mean;
    statistics[1] = (float)scale;
  }
}

void norm_backward_reference(const struct host_args *args) {
  size_t pixels = args->value[4].u;
  for (size_t row = 0; row < args->rows; row++) {
    const float *y = (const float *)args->in[0] + row * pixels,
                *dy = (const float *)args->in[1] + row * pixels;
    const float *statistics = (const float *)args->in[2] + 2 * row;
    float *dx = (float *)args->out[3] + row * pixels;
    double mean = 0, share = 0;
    for (size_t i = 0; i < pixels; i++) {
      mean += dy[i];
      share += (double)dy[i] * y[i];
    }
    mean /= (double)pixels;
    share /= (double)pixels;
    for (size_t i = 0; i < pixels; i++)
      dx[i] = (float)((args->value[5].u ? dx[i] : 0) + statistics[1] * (dy[i] - mean - y[i] * share));
  }
}

static uint32_t some_pixels(struct host_args *args, struct random *random) {
  return (uint32_t)(args->height * args->width) - random_u32(random) % 16;
}

void norm_forward_prepare(struct host_args *args, struct random *random) {
  args->value[3].u = some_pixels(args, random);
}

void norm_backward_prepare(struct host_args *args, struct random *random) {
  args->value[4].u = some_pixels(args, random);
  args->value[5].u = random_u32(random) % 2;
}
