/* Functions of one value, and the bias of linear layers. A row is a strip of eight values; the last may be
 * short. Backward adds to what another consumer of the same input has written when `add` is set. */

#define STRIP 8

/* max(x, slope * x) for slopes below 1: ReLU with slope 0. */
__kernel void relu_forward(__global const float *restrict input, __global float *restrict output, float slope,
                           uint count, uint rows) {
  uint row = (uint)get_global_id(0), start = row * STRIP;
  if (row >= rows) return;
  float8 x = load_eight(input, start, count);
  store_eight(output, start, count, select(x * slope, x, x > 0.0f));
}

__kernel void relu_backward(__global const float *restrict output,
                            __global const float *restrict output_gradient,
                            __global float *restrict input_gradient, float slope, uint count, uint add,
                            uint rows) {
  uint row = (uint)get_global_id(0), start = row * STRIP;
  if (row >= rows) return;
  float8 y = load_eight(output, start, count), dy = load_eight(output_gradient, start, count);
  add_eight(input_gradient, start, count, select(dy * slope, dy, y > 0.0f), add);
}

/* log(1 + exp(x)) without overflow. */
__kernel void softplus_forward(__global const float *restrict input, __global float *restrict output,
                               uint count, uint rows) {
  uint row = (uint)get_global_id(0), start = row * STRIP;
  if (row >= rows) return;
  float8 x = load_eight(input, start, count);
  store_eight(output, start, count, fmax(x, 0.0f) + log1p(exp(-fabs(x))));
}

__kernel void softplus_backward(__global const float *restrict input,
                                __global const float *restrict output_gradient,
                                __global float *restrict input_gradient, uint count, uint add, uint rows) {
  uint row = (uint)get_global_id(0), start = row * STRIP;
  if (row >= rows) return;
  float8 x = load_eight(input, start, count), dy = load_eight(output_gradient, start, count);
  add_eight(input_gradient, start, count, dy / (1.0f + exp(-x)), add);
}

__kernel void sigmoid_forward(__global const float *restrict input, __global float *restrict output,
                              uint count, uint rows) {
  uint row = (uint)get_global_id(0), start = row * STRIP;
  if (row >= rows) return;
  store_eight(output, start, count, 1.0f / (1.0f + exp(-load_eight(input, start, count))));
}

__kernel void sigmoid_backward(__global const float *restrict output,
                               __global const float *restrict output_gradient,
                               __global float *restrict input_gradient, uint count, uint add, uint rows) {
  uint row = (uint)get_global_id(0), start = row * STRIP;
  if (row >= rows) return;
  float8 y = load_eight(output, start, count), dy = load_eight(output_gradient, start, count);
  add_eight(input_gradient, start, count, dy * y * (1.0f - y), add);
}

/* 1 above the threshold, else 0. */
__kernel void straight_through_forward(__global const float *restrict input,
                                       __global const float *restrict threshold,
                                       __global float *restrict output, uint count, uint rows) {
  uint row = (uint)get_global_id(0), start = row * STRIP;
  if (row >= rows) return;
  float8 x = load_eight(input, start, count), limit = load_eight(threshold, start, count);
  store_eight(output, start, count, select((float8)0.0f, (float8)1.0f, x > limit));
}

/* The derivative of sigmoid(slope * (x - threshold)), which is even in its argument; 1 with slope 0. */
__kernel void straight_through_backward(__global const float *restrict input,
                                        __global const float *restrict threshold,
                                        __global const float *restrict output_gradient,
                                        __global float *restrict input_gradient, float slope, uint count,
                                        uint add, uint rows) {
  uint row = (uint)get_global_id(0), start = row * STRIP;
  if (row >= rows) return;
  float8 x = load_eight(input, start, count), limit = load_eight(threshold, start, count);
  float8 dy = load_eight(output_gradient, start, count), far = exp(-slope * fabs(x - limit));
  if (slope > 0.0f) dy *= slope * far / ((1.0f + far) * (1.0f + far));
  add_eight(input_gradient, start, count, dy, add);
}

/* The input times a factor, stored or added. */
__kernel void scale_into(__global const float *restrict input, __global float *restrict output, float factor,
                         uint count, uint add, uint rows) {
  uint row = (uint)get_global_id(0), start = row * STRIP;
  if (row < rows) add_eight(output, start, count, factor * load_eight(input, start, count), add);
}

/* Puts the bias into every image's outputs, to which the product is added. A row is an output of an image. */
__kernel void linear_bias(__global const float *restrict bias, __global float *restrict output, uint outputs,
                          uint rows) {
  uint row = (uint)get_global_id(0);
  if (row < rows) output[row] = bias[row % outputs];
}

/* Adds the sums over the images of a shard, `each` of them, to the bias's gradient, which is `stride` after that of the
 * shard before; the first starts at `at`. A row is an output of a shard. */
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void
linear_bias_backward(__global const float *restrict output_gradient, __global float *restrict gradient, uint images,
                     uint each, uint outputs, uint at, uint stride, uint rows) {
  __local float scratch[64];
  uint row = (uint)get_group_id(0), item = (uint)get_local_id(0);
  if (row >= rows) return;
  uint shard = row / outputs, output = row % outputs, last = min((shard + 1u) * each, images);
  float sum = 0.0f;
  for (uint image = shard * each + item; image < last; image += 64u) sum += output_gradient[image * outputs + output];
  sum = group_sum(sum, scratch);
  if (item == 0u) gradient[at + shard * stride + output] += sum;
}
