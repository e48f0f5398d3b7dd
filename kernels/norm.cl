/* Instance normalisation without affine: every plane (one channel of one image) to mean 0 and variance 1, of
 * `pixels` less so many degrees of freedom. A work-group takes a plane; its items take strips of eight pixels. Below,
 * the same of whole images as reconstructors see them. */

#define LIMIT 6.0f

#if defined(__x86_64__) || defined(__aarch64__)
/* ---- a CPU: barriers cost it more than sums, so one work-item takes a plane ------------------------------------------ */

#define LANES_WIDE 16u
#define STRETCH 4096u /* pixels summed by themselves, so that sums of large images do not lose digits */

/* Pixels as they are summed: (value - first - mean) * scale. */
typedef struct {
  __global const float *value;
  float first, mean, scale;
  uint pixels;
} plane_view;

/* Sixteen pixels from i on; zeros from the last on. */
INLINE float16 load_sixteen(__global const float *from, uint i, uint pixels) {
  if (i + LANES_WIDE <= pixels) return vload16(0, from + i);
  float part[LANES_WIDE] = {0.0f};
  for (uint k = 0u; i + k < pixels; k++) part[k] = from[i + k];
  return vload16(0, part);
}

INLINE void store_sixteen(__global float *to, uint i, uint pixels, float16 value) {
  if (i + LANES_WIDE <= pixels) {
    vstore16(value, 0, to + i);
    return;
  }
  float part[LANES_WIDE];
  vstore16(value, 0, part);
  for (uint k = 0u; i + k < pixels; k++) to[i + k] = part[k];
}

INLINE float16 view_sixteen(plane_view view, uint i) {
  const int16 lane = (int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  float16 value = (load_sixteen(view.value, i, view.pixels) - view.first - view.mean) * view.scale;
  return i + LANES_WIDE <= view.pixels ? value : select((float16)0.0f, value, lane < (int)(view.pixels - i));
}

INLINE float sum_sixteen(float16 v) { return strip_sum(v.lo + v.hi); }

/* The sum of the pixels, or of their squares. */
INLINE float view_sum(plane_view view, bool squares) {
  float total = 0.0f;
  for (uint from = 0u; from < view.pixels; from += STRETCH) {
    float16 sum = (float16)0.0f;
    for (uint i = from; i < min(from + STRETCH, view.pixels); i += LANES_WIDE) {
      float16 gap = view_sixteen(view, i);
      sum += squares ? gap * gap : gap;
    }
    total += sum_sixteen(sum);
  }
  return total;
}

/* The gradients of sixteen pixels; 0 where the output is clamped. */
INLINE float16 view_slope(plane_view view, __global const float *slope, uint i, float16 value, bool clamps) {
  float16 plain = load_sixteen(slope, i, view.pixels);
  return clamps ? select((float16)0.0f, plain, fabs(value) <= LIMIT) : plain;
}

/* The sum of the gradients, and that of their products with the pixels. */
INLINE float2 view_slope_sums(plane_view view, __global const float *slope, bool clamps) {
  float2 total = (float2)0.0f;
  for (uint from = 0u; from < view.pixels; from += STRETCH) {
    float16 sum = (float16)0.0f, product = (float16)0.0f;
    for (uint i = from; i < min(from + STRETCH, view.pixels); i += LANES_WIDE) {
      float16 value = view_sixteen(view, i), change = view_slope(view, slope, i, value, clamps);
      sum += change;
      product += change * value;
    }
    total += (float2)(sum_sixteen(sum), sum_sixteen(product));
  }
  return total;
}

/* scale * (gradient - average) - pixel * share. */
INLINE void store_slopes(plane_view view, __global const float *slope, __global float *to, float scale, float average,
                         float share, uint add, bool clamps) {
  for (uint i = 0u; i < view.pixels; i += LANES_WIDE) {
    float16 value = view_sixteen(view, i);
    float16 change = scale * (view_slope(view, slope, i, value, clamps) - average) - value * share;
    store_sixteen(to, i, view.pixels, add ? load_sixteen(to, i, view.pixels) + change : change);
  }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
norm_forward(__global const float *restrict input, __global float *restrict output,
             __global float2 *restrict statistics, uint pixels, uint less, float epsilon, uint rows) {
  uint row = (uint)get_group_id(0);
  if (row >= rows) return;
  plane_view view = {input + row * pixels, 0.0f, 0.0f, 1.0f, pixels};
  view.mean = view_sum(view, false) / (float)pixels;
  float variance = view_sum(view, true) / (float)(pixels - less) + epsilon;
  view.scale = variance > 0.0f ? 1.0f / sqrt(variance) : 0.0f;
  for (uint i = 0u; i < pixels; i += LANES_WIDE)
    store_sixteen(output + row * pixels, i, pixels, view_sixteen(view, i));
  statistics[row] = (float2)(view.mean, view.scale);
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
norm_backward(__global const float *restrict output, __global const float *restrict output_gradient,
              __global const float2 *restrict statistics, __global float *restrict input_gradient,
              uint pixels, uint less, uint add, uint rows) {
  uint row = (uint)get_group_id(0);
  if (row >= rows) return;
  __global const float *slope = output_gradient + row * pixels;
  plane_view view = {output + row * pixels, 0.0f, 0.0f, 1.0f, pixels};
  float2 sums = view_slope_sums(view, slope, false);
  float scale = statistics[row].y, share = scale * sums.y / (float)(pixels - less);
  store_slopes(view, slope, input_gradient + row * pixels, scale, sums.x / (float)pixels, share, add, false);
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
standardise_forward(__global const float *restrict input, __global float *restrict output,
                    __global float2 *restrict statistics, uint pixels, uint rows) {
  uint row = (uint)get_group_id(0);
  if (row >= rows) return;
  plane_view view = {input + row * pixels, input[row * pixels], 0.0f, 1.0f, pixels};
  view.mean = view_sum(view, false) / (float)pixels;
  float deviation = sqrt(view_sum(view, true) / (float)(pixels - 1u));
  view.scale = 1.0f / (deviation + 1e-11f);
  for (uint i = 0u; i < pixels; i += LANES_WIDE)
    store_sixteen(output + row * pixels, i, pixels, clamp(view_sixteen(view, i), -LIMIT, LIMIT));
  statistics[row] = (float2)(view.mean, deviation);
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
standardise_backward(__global const float *restrict input, __global const float *restrict output_gradient,
                     __global const float2 *restrict statistics, __global float *restrict input_gradient,
                     uint pixels, uint add, uint rows) {
  uint row = (uint)get_group_id(0);
  if (row >= rows) return;
  __global const float *slope = output_gradient + row * pixels;
  float mean = statistics[row].x, deviation = statistics[row].y;
  plane_view view = {input + row * pixels, input[row * pixels], mean, 0.0f, pixels};
  view.scale = deviation > 0.0f ? 1.0f / (deviation + 1e-11f) : 0.0f;
  float2 sums = view_slope_sums(view, slope, true);
  float share = deviation > 0.0f ? sums.y / (float)(pixels - 1u) / deviation : 0.0f;
  store_slopes(view, slope, input_gradient + row * pixels, view.scale, sums.x / (float)pixels, share, add, true);
}

#else
/* ---- a GPU ----------------------------------------------------------------------------------------------------------- */

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
#endif
