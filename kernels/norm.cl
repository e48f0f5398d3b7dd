/* Instance normalisation without affine: every plane (one channel of one image) to mean 0 and variance 1, of
 * `pixels` less so many degrees of freedom. A work-group takes a plane; its items take strips of eight pixels. Below,
 * the same of whole images as reconstructors see them. */

#define GROUP 64
#define STRIP 8

/* The pixels after the last whole strip: at most seven, one an item. */
INLINE uint find_rest(uint pixels, uint item) {
  return pixels / STRIP * STRIP + item;
}

/* Two passes: the mean, then the squared deviations from it, which does not cancel. `statistics` keeps mean
 * and 1/sqrt(variance + eps) of every plane. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
norm_forward(__global const float *restrict input, __global float *restrict output,
             __global float2 *restrict statistics, uint pixels, uint less, float epsilon, uint rows) {
  __local float scratch[GROUP];
  uint row = (uint)get_group_id(0), item = (uint)get_local_id(0), rest = find_rest(pixels, item);
  if (row >= rows) return;
  __global const float *plane = input + row * pixels;
  __global float *to = output + row * pixels;
  float8 sum = (float8)0.0f, square = (float8)0.0f;
  for (uint i = item * STRIP; i + STRIP <= pixels; i += GROUP * STRIP) sum += vload8(0, plane + i);
  float mean = group_sum(strip_sum(sum) + (rest < pixels ? plane[rest] : 0.0f), scratch) / (float)pixels;
  for (uint i = item * STRIP; i + STRIP <= pixels; i += GROUP * STRIP) {
    float8 gap = vload8(0, plane + i) - mean;
    square += gap * gap;
  }
  float last = rest < pixels ? plane[rest] - mean : 0.0f;
  float variance = group_sum(strip_sum(square) + last * last, scratch) / (float)(pixels - less) + epsilon;
  float scale = variance > 0.0f ? 1.0f / sqrt(variance) : 0.0f;
  for (uint i = item * STRIP; i + STRIP <= pixels; i += GROUP * STRIP)
    vstore8((vload8(0, plane + i) - mean) * scale, 0, to + i);
  if (rest < pixels) to[rest] = last * scale;
  if (item == 0u) statistics[row] = (float2)(mean, scale);
}

/* dx = scale * (dy - mean(dy) - y * sum(dy * y) / (pixels - less)), y the normalised output. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
norm_backward(__global const float *restrict output, __global const float *restrict output_gradient,
              __global const float2 *restrict statistics, __global float *restrict input_gradient,
              uint pixels, uint less, uint add, uint rows) {
  __local float scratch[GROUP];
  uint row = (uint)get_group_id(0), item = (uint)get_local_id(0), rest = find_rest(pixels, item);
  if (row >= rows) return;
  __global const float *y = output + row * pixels, *dy = output_gradient + row * pixels;
  __global float *dx = input_gradient + row * pixels;
  float8 sum = (float8)0.0f, product = (float8)0.0f;
  for (uint i = item * STRIP; i + STRIP <= pixels; i += GROUP * STRIP) {
    float8 slope = vload8(0, dy + i);
    sum += slope;
    product += slope * vload8(0, y + i);
  }
  float last = rest < pixels ? dy[rest] : 0.0f, last_output = rest < pixels ? y[rest] : 0.0f;
  float mean = group_sum(strip_sum(sum) + last, scratch) / (float)pixels;
  float share = group_sum(strip_sum(product) + last * last_output, scratch) / (float)(pixels - less);
  float scale = statistics[row].y;
  for (uint i = item * STRIP; i + STRIP <= pixels; i += GROUP * STRIP) {
    float8 slope = scale * (vload8(0, dy + i) - mean - vload8(0, y + i) * share);
    vstore8(add ? vload8(0, dx + i) + slope : slope, 0, dx + i);
  }
  if (rest < pixels) dx[rest] = (add ? dx[rest] : 0.0f) + scale * (last - mean - last_output * share);
}

/* ---- images as the networks' inputs (PROTOCOL 1.5) ----------------------------------------------------- */

#define IMAGE_GROUP 256
#define LIMIT 6.0f

/* (x - mean) / (deviation + 1e-11) with the sample deviation, clamped. The mean is taken from the first pixel
 * on: gaps from it do not cancel, and a constant image has no deviation, not one of rounding. `statistics`
 * keeps mean - first pixel and deviation. */
__kernel __attribute__((reqd_work_group_size(IMAGE_GROUP, 1, 1))) void
standardise_forward(__global const float *restrict input, __global float *restrict output,
                    __global float2 *restrict statistics, uint pixels, uint rows) {
  __local float scratch[IMAGE_GROUP];
  uint row = (uint)get_group_id(0), item = (uint)get_local_id(0), rest = find_rest(pixels, item);
  if (row >= rows) return;
  __global const float *image = input + row * pixels;
  __global float *to = output + row * pixels;
  float first = image[0], last = rest < pixels ? image[rest] - first : 0.0f;
  float8 sum = (float8)0.0f, square = (float8)0.0f;
  FOUR_TURNS for (uint i = item * STRIP; i + STRIP <= pixels; i += IMAGE_GROUP * STRIP)
    sum += vload8(0, image + i) - first;
  float mean = group_sum(strip_sum(sum) + last, scratch) / (float)pixels;
  FOUR_TURNS for (uint i = item * STRIP; i + STRIP <= pixels; i += IMAGE_GROUP * STRIP) {
    float8 gap = vload8(0, image + i) - first - mean;
    square += gap * gap;
  }
  if (rest < pixels) last -= mean;
  float deviation = sqrt(group_sum(strip_sum(square) + last * last, scratch) / (float)(pixels - 1u));
  float scale = 1.0f / (deviation + 1e-11f);
  FOUR_TURNS for (uint i = item * STRIP; i + STRIP <= pixels; i += IMAGE_GROUP * STRIP)
    vstore8(clamp((vload8(0, image + i) - first - mean) * scale, -LIMIT, LIMIT), 0, to + i);
  if (rest < pixels) to[rest] = clamp(last * scale, -LIMIT, LIMIT);
  if (item == 0u) statistics[row] = (float2)(mean, deviation);
}

/* With z the value before the clamp and u the output's gradient, 0 where clamped:
 * dx = scale * (u - mean(u)) - z * sum(u * z) / ((pixels - 1) * deviation); 0 for a constant image. */
__kernel __attribute__((reqd_work_group_size(IMAGE_GROUP, 1, 1))) void
standardise_backward(__global const float *restrict input, __global const float *restrict output_gradient,
                     __global const float2 *restrict statistics, __global float *restrict input_gradient,
                     uint pixels, uint add, uint rows) {
  __local float scratch[IMAGE_GROUP];
  uint row = (uint)get_group_id(0), item = (uint)get_local_id(0), rest = find_rest(pixels, item);
  if (row >= rows) return;
  __global const float *image = input + row * pixels, *dy = output_gradient + row * pixels;
  __global float *dx = input_gradient + row * pixels;
  float first = image[0], mean = statistics[row].x, deviation = statistics[row].y;
  float scale = deviation > 0.0f ? 1.0f / (deviation + 1e-11f) : 0.0f;
  float8 sum = (float8)0.0f, product = (float8)0.0f;
  FOUR_TURNS for (uint i = item * STRIP; i + STRIP <= pixels; i += IMAGE_GROUP * STRIP) {
    float8 z = (vload8(0, image + i) - first - mean) * scale;
    float8 slope = select((float8)0.0f, vload8(0, dy + i), fabs(z) <= LIMIT);
    sum += slope;
    product += slope * z;
  }
  float last = rest < pixels ? (image[rest] - first - mean) * scale : 0.0f;
  float last_slope = rest < pixels && fabs(last) <= LIMIT ? dy[rest] : 0.0f;
  float average = group_sum(strip_sum(sum) + last_slope, scratch) / (float)pixels;
  float share = group_sum(strip_sum(product) + last_slope * last, scratch);
  share = deviation > 0.0f ? share / (float)(pixels - 1u) / deviation : 0.0f;
  FOUR_TURNS for (uint i = item * STRIP; i + STRIP <= pixels; i += IMAGE_GROUP * STRIP) {
    float8 z = (vload8(0, image + i) - first - mean) * scale;
    float8 slope = select((float8)0.0f, vload8(0, dy + i), fabs(z) <= LIMIT);
    slope = scale * (slope - average) - z * share;
    vstore8(add ? vload8(0, dx + i) + slope : slope, 0, dx + i);
  }
  if (rest < pixels) dx[rest] = (add ? dx[rest] : 0.0f) + scale * (last_slope - average) - last * share;
}
