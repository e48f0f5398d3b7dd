/* Logarithms of probabilities over the actions that are free. A work-group takes an image; `taken` is not 0
 * where an action is not free. */

#define GROUP 128

/* x - max - log(sum(exp(x - max))), both over the free actions; `barred` where an action is taken. Where
 * nothing is free neither is used. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
log_softmax_forward(__global const float *restrict input, __global const float *restrict taken,
                    __global float *restrict output, uint actions, float barred, uint rows) {
  __local float scratch[GROUP];
  uint row = (uint)get_group_id(0), item = (uint)get_local_id(0);
  if (row >= rows) return;
  __global const float *x = input + row * actions, *mask = taken + row * actions;
  float top = -INFINITY, sum = 0.0f;
  for (uint i = item; i < actions; i += GROUP)
    if (mask[i] == 0.0f) top = fmax(top, x[i]);
  top = group_max(top, scratch);
  for (uint i = item; i < actions; i += GROUP)
    if (mask[i] == 0.0f) sum += exp(x[i] - top);
  float log_sum = log(group_sum(sum, scratch));
  for (uint i = item; i < actions; i += GROUP)
    output[row * actions + i] = mask[i] == 0.0f ? x[i] - top - log_sum : barred;
}

/* dx = dy - exp(y) * sum(dy) over the free actions, 0 where an action is taken. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
log_softmax_backward(__global const float *restrict output, __global const float *restrict taken,
                     __global const float *restrict output_gradient, __global float *restrict input_gradient,
                     uint actions, uint add, uint rows) {
  __local float scratch[GROUP];
  uint row = (uint)get_group_id(0), item = (uint)get_local_id(0);
  if (row >= rows) return;
  __global const float *y = output + row * actions, *mask = taken + row * actions;
  __global const float *dy = output_gradient + row * actions;
  float sum = 0.0f;
  for (uint i = item; i < actions; i += GROUP)
    if (mask[i] == 0.0f) sum += dy[i];
  sum = group_sum(sum, scratch);
  for (uint i = item; i < actions; i += GROUP) {
    uint place = row * actions + i;
    float slope = mask[i] == 0.0f ? dy[i] - exp(y[i]) * sum : 0.0f;
    input_gradient[place] = add ? input_gradient[place] + slope : slope;
  }
}
