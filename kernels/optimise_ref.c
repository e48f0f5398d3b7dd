#include "kernels/kernels.h"

#include <math.h>

enum { CHUNK = 4096 };

static double clipped(const struct host_args *args, const float *gradient, const float *scale, double value,
                      int decay, size_t i) {
  return (double)gradient[i] * scale[0] + (double)args->value[decay].f * value;
}

void optimise_adam_reference(const struct host_args *args) {
  float *parameter = args->out[0], *first = args->out[2], *second = args->out[3];
  const union host_value *value = args->value;
  for (size_t i = 0; i < 4 * args->rows; i++) {
    double slope = clipped(args, args->in[1], args->in[4], parameter[i], 12, i);
    double m = (double)value[7].f * first[i] + value[8].f * slope;
    double v = (double)value[9].f * second[i] + value[10].f * slope * slope;
    parameter[i] = (float)(parameter[i] - value[5].f * m / (sqrt(v) * value[6].f + value[11].f));
    first[i] = (float)m;
    second[i] = (float)v;
  }
}

void optimise_rmsprop_reference(const struct host_args *args) {
  float *parameter = args->out[0], *second = args->out[2];
  const union host_value *value = args->value;
  for (size_t i = 0; i < 4 * args->rows; i++) {
    double slope = clipped(args, args->in[1], args->in[3], parameter[i], 8, i);
    double v = (double)value[5].f * second[i] + value[6].f * slope * slope, epsilon = value[7].f;
    parameter[i] -= (float)(value[4].f * slope / (value[9].u ? sqrt(v + epsilon) : sqrt(v) + epsilon));
    second[i] = (float)v;
  }
}

void optimise_sgd_reference(const struct host_args *args) {
  float *parameter = args->out[0], *first = args->out[2];
  const union host_value *value = args->value;
  for (size_t i = 0; i < 4 * args->rows; i++) {
    double m = (double)value[5].f * first[i] + clipped(args, args->in[1], args->in[3], parameter[i], 6, i);
    parameter[i] = (float)(parameter[i] - value[4].f * m);
    first[i] = (float)m;
  }
}

void optimise_square_reference(const struct host_args *args) {
  const float *gradient = args->in[0];
  float *part = args->out[1];
  for (size_t row = 0; row < args->rows; row++) {
    double sum = 0;
    for (size_t i = row * CHUNK; i < (row + 1) * CHUNK && i < args->value[2].u; i++)
      sum += (double)gradient[i] * gradient[i];
    part[row] = (float)sum;
  }
}

void optimise_clip_reference(const struct host_args *args) {
  size_t parts = args->value[2].u;
  float *scale = args->out[1];
  for (size_t row = 0; row < args->rows; row++) {
    double sum = 0;
    for (size_t i = 0; i < parts; i++) sum += ((const float *)args->in[0])[row * parts + i];
    scale[2 * row] = (float)fmin(1, args->value[3].f / (sqrt(sum) + 1e-6));
    scale[2 * row + 1] = (float)sqrt(sum);
  }
}

/* The values in their order are floats of usual size. */
static void set_values(struct host_args *args, int first, const float *values, int count) {
  for (int i = 0; i < count; i++) args->value[first + i].f = values[i];
}

static void centre_gradient(struct host_args *args) {
  float *gradient = (float *)args->in[1];
  for (size_t i = 0; i < 4 * args->rows; i++) gradient[i] -= 0.5f;
}

void optimise_adam_prepare(struct host_args *args, struct random *random) {
  (void)random;
  centre_gradient(args);
  set_values(args, 5, (const float[]){1e-2f, 3, 0.9f, 0.1f, 0.999f, 0.001f, 1e-8f, 0.01f}, 8);
}

void optimise_rmsprop_prepare(struct host_args *args, struct random *random) {
  centre_gradient(args);
  set_values(args, 4, (const float[]){1e-2f, 0.99f, 0.01f, 1e-5f, 0.01f}, 5);
  args->value[9].u = random_u32(random) % 2;
}

void optimise_sgd_prepare(struct host_args *args, struct random *random) {
  (void)random;
  centre_gradient(args);
  set_values(args, 4, (const float[]){1e-2f, 0.9f, 0.01f}, 3);
}

void optimise_square_prepare(struct host_args *args, struct random *random) {
  size_t most = args->rows * args->height * args->width, all = args->rows * CHUNK;
  args->value[2].u = (uint32_t)(most < all ? most : all) - random_u32(random) % 100;
}

void optimise_clip_prepare(struct host_args *args, struct random *random) {
  args->value[2].u = 1 + random_u32(random) % 600;
  args->value[3].f = random_u32(random) % 2 ? 0.5f : 1000;
}

/* ---- gradients of shards ------------------------------------------------------------------------------- */

void gradient_tree_reference(const struct host_args *args) {
  float *gradients = (float *)args->out[0] + args->value[3].u;
  for (size_t i = 0; i < 4 * args->rows; i++) {
    double sum = 0;
    for (size_t s = 0; s < args->value[1].u; s++) sum += gradients[s * args->value[2].u + i];
    gradients[i] = (float)sum;
  }
}

void gradient_add_reference(const struct host_args *args) {
  float *gradients = (float *)args->out[0] + args->value[2].u;
  for (size_t i = 0; i < args->rows; i++) gradients[i] += ((const float *)args->in[1])[i];
}

void gradient_tree_prepare(struct host_args *args, struct random *random) {
  args->value[1].u = 1u << random_u32(random) % 7;
  args->value[2].u = 4 * (uint32_t)args->rows;
  args->value[3].u = 4 * (random_u32(random) % (uint32_t)args->rows);
}

void gradient_add_prepare(struct host_args *args, struct random *random) {
  args->value[2].u = random_u32(random) % (uint32_t)args->rows;
}
