#include "kernels/kernels.h"

#include <math.h>

void log_softmax_forward_reference(const struct host_args *args) {
  size_t actions = args->value[3].u;
  for (size_t row = 0; row < args->rows; row++) {
    const float *x = (const float *)args->in[0] + row * actions,
                *taken = (const float *)args->in[1] + row * actions;
    float *y = (float *)args->out[2] + row * actions;
    double top = -INFINITY, sum = 0;
    for (size_t i = 0; i < actions; i++)
      if (!(taken[i] > 0)) top = fmax(top, x[i]);
    for (size_t i = 0; i < actions; i++)
      if (!(taken[i] > 0)) sum += exp(x[i] - top);
    for (size_t i = 0; i < actions; i++)
      y[i] = taken[i] > 0 ? args->value[4].f : (float)(x[i] - top - log(sum));
  }
}

void log_softmax_backward_reference(const struct host_args *args) {
  size_t actions = args->value[4].u;
  for (size_t row = 0; row < args->rows; row++) {
    const float *y = (const float *)args->in[0] + row * actions,
                *taken = (const float *)args->in[1] + row * actions,
                *dy = (const float *)args->in[2] + row * actions;
    float *dx = (float *)args->out[3] + row * actions;
    double sum = 0;
    for (size_t i = 0; i < actions; i++)
      if (!(taken[i] > 0)) sum += dy[i];
    for (size_t i = 0; i < actions; i++)
      dx[i] = (float)((args->value[5].u ? dx[i] : 0) + (taken[i] > 0 ? 0 : dy[i] - exp(y[i]) * sum));
  }
}

/* Every third image has nothing free, every third everything. */
static uint32_t some_actions(struct host_args *args, struct random *random) {
  uint32_t actions = 1 + random_u32(random) % (uint32_t)(args->height * args->width);
  float *taken = (float *)args->in[1];
  for (size_t row = 0; row < args->rows; row++)
    for (size_t i = row * actions; i < (row + 1) * actions; i++)
      taken[i] = row % 3 == 1 || (row % 3 == 0 && taken[i] < 0.3f);
  return actions;
}

void log_softmax_forward_prepare(struct host_args *args, struct random *random) {
  float *x = (float *)args->in[0];
  for (size_t i = 0; i < (args->rows + 3) * args->height * args->width; i++) x[i] = 200 * x[i] - 100;
  args->value[3].u = some_actions(args, random);
  args->value[4].f = -50;
}

/* Outputs are logarithms, not far below 0. */
void log_softmax_backward_prepare(struct host_args *args, struct random *random) {
  float *y = (float *)args->in[0];
  args->value[4].u = some_actions(args, random);
  args->value[5].u = random_u32(random) % 2;
  for (size_t i = 0; i < args->rows * args->value[4].u; i++)
    y[i] = -10 * y[i] - logf((float)args->value[4].u);
}
