/* Optimisers over the flat buffers of all parameters, whose length is a multiple of 128: a row is four
 * values. `scale` holds the factor of gradient clipping and the gradient's norm. Factors such as 1 - beta are
 * given, because a float beta has lost their digits. */

#define GROUP 256
#define CHUNK 4096
#define LEVELS 7 /* of 64 shards at most */

INLINE float4 clipped(__global const float *gradient, __global const float *scale, float4 value, float decay,
                      uint row) {
  return vload4(row, gradient) * scale[0] + decay * value;
}

/* Kingma and Ba 2015. root: 1 / sqrt(1 - beta2^step); rate: learning rate / (1 - beta1^step). */
__kernel void optimise_adam(__global float *restrict parameter, __global const float *restrict gradient,
                            __global float *restrict first, __global float *restrict second,
                            __global const float *restrict scale, float rate, float root, float keep_first,
                            float fresh_first, float keep_second, float fresh_second, float epsilon,
                            float decay, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  float4 value = vload4(row, parameter), slope = clipped(gradient, scale, value, decay, row);
  float4 m = keep_first * vload4(row, first) + fresh_first * slope;
  float4 v = keep_second * vload4(row, second) + fresh_second * slope * slope;
  vstore4(m, row, first);
  vstore4(v, row, second);
  vstore4(value - rate * m / (sqrt(v) * root + epsilon), row, parameter);
}

/* epsilon outside of the root as in PyTorch, or inside as in TensorFlow. */
__kernel void optimise_rmsprop(__global float *restrict parameter, __global const float *restrict gradient,
                               __global float *restrict second, __global const float *restrict scale,
                               float rate, float keep, float fresh, float epsilon, float decay, uint inside,
                               uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  float4 value = vload4(row, parameter), slope = clipped(gradient, scale, value, decay, row);
  float4 v = keep * vload4(row, second) + fresh * slope * slope;
  vstore4(v, row, second);
  float4 size = inside ? sqrt(v + epsilon) : sqrt(v) + epsilon;
  vstore4(value - rate * slope / size, row, parameter);
}

__kernel void optimise_sgd(__global float *restrict parameter, __global const float *restrict gradient,
                           __global float *restrict first, __global const float *restrict scale, float rate,
                           float momentum, float decay, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  float4 value = vload4(row, parameter), slope = clipped(gradient, scale, value, decay, row);
  float4 m = momentum * vload4(row, first) + slope;
  vstore4(m, row, first);
  vstore4(value - rate * m, row, parameter);
}

/* Sum of squares of a chunk of the gradient. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
optimise_square(__global const float *restrict gradient, __global float *restrict part, uint count,
                uint rows) {
  __local float scratch[GROUP];
  uint row = (uint)get_group_id(0);
  if (row >= rows) return;
  float sum = 0.0f;
  for (uint i = row * CHUNK + (uint)get_local_id(0); i < min((row + 1u) * CHUNK, count); i += GROUP)
    sum += gradient[i] * gradient[i];
  sum = group_sum(sum, scratch);
  if (get_local_id(0) == 0) part[row] = sum;
}

/* Computes the norm and the factor min(1, limit / (norm + 1e-6)) from the chunks' sums. A row is a set of
 * chunks. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
optimise_clip(__global const float *restrict part, __global float *restrict scale, uint parts, float limit,
              uint rows) {
  __local float scratch[GROUP];
  uint row = (uint)get_group_id(0);
  if (row >= rows) return;
  float sum = 0.0f;
  for (uint i = (uint)get_local_id(0); i < parts; i += GROUP) sum += part[row * parts + i];
  sum = group_sum(sum, scratch);
  if (get_local_id(0)) return;
  float norm = sqrt(sum);
  scale[2u * row] = fmin(1.0f, limit / (norm + 1e-6f));
  scale[2u * row + 1u] = norm;
}

/* Gradients of shards, `stride` apart, into that of the first: neighbours two by two, then their sums, so that ranks which
 * hold some of them and go on with such sums end with the same bytes. `shards` is a power of two. A row is four values;
 * the first row starts at `at`. */
__kernel void gradient_tree(__global float *restrict gradients, uint shards, uint stride, uint at, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  gradients += at;
  float4 left[LEVELS], sum = (float4)0.0f; /* left[l]: a sum of 2^l shards that waits for its neighbour */
  for (uint s = 0u; s < shards; s++) {
    bool carries = true;
    sum = vload4(row, gradients + (size_t)s * stride);
#pragma unroll
    for (uint l = 0u; l < LEVELS; l++) {
      bool waits = (s >> l & 1u) == 0u;
      if (carries && waits) left[l] = sum;
      if (carries && !waits) sum = left[l] + sum;
      carries = carries && !waits;
    }
  }
  vstore4(sum, row, gradients);
}

/* Another rank's sum of a part of the gradient added to the own, which starts at `at`. */
__kernel void gradient_add(__global float *restrict gradients, __global const float *restrict others, uint at, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row < rows) gradients[at + row] += others[row];
}
