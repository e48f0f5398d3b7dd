#include "kernels/divisor.h"
#include "kernels/kernels.h"

#include <math.h>

void relu_forward_reference(const struct host_args *args) {
  const float *x = args->in[0];
  float *y = args->out[1];
  for (size_t i = 0; i < args->value[3].u; i++) y[i] = x[i] > 0 ? x[i] : x[i] * args->value[2].f;
}

void relu_backward_reference(const struct host_args *args) {
  const float *y = args->in[0], *dy = args->in[1];
  float *dx = args->out[2];
  for (size_t i = 0; i < args->value[4].u; i++)
    dx[i] = (args->value[5].u ? dx[i] : 0) + (y[i] > 0 ? dy[i] : dy[i] * args->value[3].f);
}

void softplus_forward_reference(const struct host_args *args) {
  const float *x = args->in[0];
  float *y = args->out[1];
  for (size_t i = 0; i < args->value[2].u; i++)
    y[i] = (float)(fmax(x[i], 0) + log1p(exp(-fabs((double)x[i]))));
}

void softplus_backward_reference(const struct host_args *args) {
  const float *x = args->in[0], *dy = args->in[1];
  float *dx = args->out[2];
  for (size_t i = 0; i < args->value[3].u; i++)
    dx[i] = (float)((args->value[4].u ? dx[i] : 0) + dy[i] / (1 + exp(-(double)x[i])));
}

void sigmoid_forward_reference(const struct host_args *args) {
  const float *x = args->in[0];
  float *y = args->out[1];
  for (size_t i = 0; i < args->value[2].u; i++) y[i] = (float)(1 / (1 + exp(-(double)x[i])));
}

void sigmoid_backward_reference(const struct host_args *args) {
  const float *y = args->in[0], *dy = args->in[1];
  float *dx = args->out[2];
  for (size_t i = 0; i < args->value[3].u; i++)
    dx[i] = (float)((args->value[4].u ? dx[i] : 0) + (double)dy[i] * y[i] * (1 - (double)y[i]));
}

void straight_through_forward_reference(const struct host_args *args) {
  const float *x = args->in[0], *threshold = args->in[1];
  float *y = args->out[2];
  for (size_t i = 0; i < args->value[3].u; i++) y[i] = x[i] > threshold[i] ? 1 : 0;
}

void straight_through_backward_reference(const struct host_args *args) {
  const float *x = args->in[0], *threshold = args->in[1], *dy = args->in[2];
  float *dx = args->out[3];
  double slope = args->value[4].f;
  for (size_t i = 0; i < args->value[5].u; i++) {
    double share = 1 / (1 + exp(-slope * ((double)x[i] - threshold[i])));
    dx[i] = (float)((args->value[6].u ? dx[i] : 0) + dy[i] * (slope > 0 ? slope * share * (1 - share) : 1));
  }
}

void scale_into_reference(const struct host_args *args) {
  const float *x = args->in[0];
  float *y = args->out[1];
  double factor = args->value[2].f;
  for (size_t i = 0; i < args->value[3].u; i++) y[i] = (float)((args->value[4].u ? y[i] : 0) + factor * x[i]);
}

void linear_bias_reference(const struct host_args *args) {
  const float *bias = args->in[0];
  float *output = args->out[1];
  for (size_t i = 0; i < args->rows; i++) output[i] = bias[i % args->value[2].u];
}

void linear_bias_backward_reference(const struct host_args *args) {
  const float *from = args->in[0];
  float *gradient = args->out[1];
  size_t images = args->value[2].u, each = args->value[3].u, outputs = args->value[4].u;
  for (size_t row = 0; row < args->rows; row++) {
    size_t shard = row / outputs, i = row % outputs, at = args->value[5].u + shard * args->value[6].u + i;
    double sum = gradient[at];
    for (size_t n = shard * each; n < images && n < (shard + 1) * each; n++) sum += from[n * outputs + i];
    gradient[at] = (float)sum;
  }
}

/* The last strip is short as often as not. */
static uint32_t some_count(struct host_args *args, struct random *random) {
  return 8 * (uint32_t)args->rows - random_u32(random) % 8;
}

static void spread(struct host_args *args, int place, float low, float high) {
  float *values = (float *)args->in[place];
  for (size_t i = 0; i < (args->rows + 3) * args->height * args->width; i++)
    values[i] = low + (high - low) * values[i];
}

void relu_forward_prepare(struct host_args *args, struct random *random) {
  spread(args, 0, -1, 1);
  args->value[2].f = random_u32(random) % 2 ? 0.01f : 0;
  args->value[3].u = some_count(args, random);
}

void relu_backward_prepare(struct host_args *args, struct random *random) {
  spread(args, 0, -1, 1);
  args->value[3].f = random_u32(random) % 2 ? 0.01f : 0;
  args->value[4].u = some_count(args, random);
  args->value[5].u = random_u32(random) % 2;
}

void curve_forward_prepare(struct host_args *args, struct random *random) {
  spread(args, 0, -30, 30);
  args->value[2].u = some_count(args, random);
}

void curve_backward_prepare(struct host_args *args, struct random *random) {
  spread(args, 1, -1, 1);
  args->value[3].u = some_count(args, random);
  args->value[4].u = random_u32(random) % 2;
}

/* Some values lie on their thresholds. */
static void make_ties(struct host_args *args) {
  float *x = (float *)args->in[0];
  const float *threshold = args->in[1];
  for (size_t i = 0; i < (args->rows + 3) * args->height * args->width; i += 5) x[i] = threshold[i];
}

void straight_through_forward_prepare(struct host_args *args, struct random *random) {
  make_ties(args);
  args->value[3].u = some_count(args, random);
}

void straight_through_backward_prepare(struct host_args *args, struct random *random) {
  make_ties(args);
  args->value[4].f = random_u32(random) % 3 ? 10 : 0;
  args->value[5].u = some_count(args, random);
  args->value[6].u = random_u32(random) % 2;
}

void scale_into_prepare(struct host_args *args, struct random *random) {
  args->value[2].f = random_u32(random) % 2 ? -2.5f : 1;
  args->value[3].u = some_count(args, random);
  args->value[4].u = random_u32(random) % 2;
}

void linear_bias_prepare(struct host_args *args, struct random *random) {
  args->value[2].u = 1 + random_u32(random) % 20;
}

void linear_bias_backward_prepare(struct host_args *args, struct random *random) {
  uint32_t shards = shards_of(args->rows, random), each = 1 + random_u32(random) % 20;
  args->value[2].u = shards * each - random_u32(random) % each;
  args->value[3].u = each;
  args->value[4].u = (uint32_t)args->rows / shards;
  place_shards(args, 5, args->value[4].u, random);
}
