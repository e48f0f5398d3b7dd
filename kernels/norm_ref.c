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
    variance = variance / (double)(pixels - args->value[4].u) + args->value[5].f;
    double scale = variance > 0 ? 1 / sqrt(variance) : 0;
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
    share /= (double)(pixels - args->value[5].u);
    for (size_t i = 0; i < pixels; i++)
      dx[i] = (float)((args->value[6].u ? dx[i] : 0) + statistics[1] * (dy[i] - mean - y[i] * share));
  }
}

static void image_statistics(const float *x, size_t pixels, double *mean, double *deviation) {
  double sum = 0, square = 0;
  for (size_t i = 0; i < pixels; i++) sum += x[i];
  *mean = sum / (double)pixels;
  for (size_t i = 0; i < pixels; i++) square += (x[i] - *mean) * (x[i] - *mean);
  *deviation = sqrt(square / (double)(pixels - 1));
}

void standardise_forward_reference(const struct host_args *args) {
  size_t pixels = args->value[3].u;
  for (size_t row = 0; row < args->rows; row++) {
    const float *x = (const float *)args->in[0] + row * pixels;
    float *y = (float *)args->out[1] + row * pixels, *statistics = (float *)args->out[2] + 2 * row;
    double mean, deviation;
    image_statistics(x, pixels, &mean, &deviation);
    for (size_t i = 0; i < pixels; i++) y[i] = (float)fmin(fmax((x[i] - mean) / (deviation + 1e-11), -6), 6);
    statistics[0] = (float)(mean - x[0]);
    statistics[1] = (float)deviation;
  }
}

/* Goes back by the chain rule through value, mean and deviation, one after the other. */
void standardise_backward_reference(const struct host_args *args) {
  size_t pixels = args->value[4].u;
  for (size_t row = 0; row < args->rows; row++) {
    const float *x = (const float *)args->in[0] + row * pixels,
                *dy = (const float *)args->in[1] + row * pixels;
    float *dx = (float *)args->out[3] + row * pixels;
    double mean, deviation, by_mean = 0, by_deviation = 0;
    image_statistics(x, pixels, &mean, &deviation);
    double scale = deviation > 0 ? 1 / (deviation + 1e-11) : 0;
    for (size_t i = 0; i < pixels; i++) {
      if (fabs((x[i] - mean) * scale) > 6) continue;
      by_mean -= dy[i] * scale;
      by_deviation -= dy[i] * (x[i] - mean) * scale * scale;
    }
    for (size_t i = 0; i < pixels; i++) {
      double own = fabs((x[i] - mean) * scale) > 6 ? 0 : dy[i] * scale,
             slope = own + by_mean / (double)pixels;
      if (deviation > 0) slope += by_deviation * (x[i] - mean) / ((double)(pixels - 1) * deviation);
      dx[i] = (float)((args->value[5].u ? dx[i] : 0) + slope);
    }
  }
}

static uint32_t some_pixels(struct host_args *args, struct random *random) {
  return (uint32_t)(args->height * args->width) - random_u32(random) % 16;
}

void norm_forward_prepare(struct host_args *args, struct random *random) {
  args->value[3].u = some_pixels(args, random);
  args->value[4].u = random_u32(random) % 2;
  args->value[5].f = args->value[4].u ? 0 : 1e-5f;
}

void norm_backward_prepare(struct host_args *args, struct random *random) {
  args->value[4].u = some_pixels(args, random);
  args->value[5].u = random_u32(random) % 2;
  args->value[6].u = random_u32(random) % 2;
}

/* Images of different scale and offset, one of them constant, some with pixels that are clamped. Backward
 * keeps statistics of the very same images. */
static void make_images(struct host_args *args, size_t pixels, struct random *random) {
  for (size_t row = 0; row < args->rows; row++) {
    float *x = (float *)args->in[0] + row * pixels, offset = (float)(random_u32(random) % 100);
    for (size_t i = 0; i < pixels; i++) {
      x[i] = row % 4 == 1 ? 0.1f : offset + x[i];
      if (row % 4 != 1 && random_u32(random) % 200 == 0) x[i] += 20;
    }
  }
}

void standardise_forward_prepare(struct host_args *args, struct random *random) {
  args->value[3].u = some_pixels(args, random);
  make_images(args, args->value[3].u, random);
}

void standardise_backward_prepare(struct host_args *args, struct random *random) {
  float *statistics = (float *)args->in[2];
  size_t pixels = args->value[4].u = some_pixels(args, random);
  make_images(args, pixels, random);
  for (size_t row = 0; row < args->rows; row++) {
    const float *x = (const float *)args->in[0] + row * pixels;
    double mean, deviation;
    image_statistics(x, pixels, &mean, &deviation);
    statistics[2 * row] = (float)(mean - x[0]);
    statistics[2 * row + 1] = row % 4 == 1 ? 0 : (float)deviation;
  }
  args->value[5].u = random_u32(random) % 2;
}
