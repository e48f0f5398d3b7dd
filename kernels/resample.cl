/* Pooling, up-sampling, joining, padding and cutting of planes. A row is a strip of a line, strips fastest, then lines, then
 * planes. Backward gathers: an item owns the pixels it writes, and adds to what another consumer of the
 * same input has written when `add` is set. */

/* Maximum of 2x2; an odd last line or column is left out. A row is four pixels of the output. */
__kernel void pool_forward(__global const float *restrict input, __global float *restrict output, uint height,
                           uint width, uint rows) {
  uint row = (uint)get_global_id(0), out_width = width / 2u, out_height = height / 2u;
  if (row >= rows) return;
  uint strips = (out_width + 3u) / 4u, x = row % strips * 4u, line = row / strips;
  uint y = line % out_height, plane = line / out_height;
  __global const float *from = input + (plane * height + 2u * y) * width;
  __global float *to = output + line * out_width;
  if (x + 4u <= out_width) {
    float8 above = vload8(0, from + 2u * x), below = vload8(0, from + width + 2u * x);
    float8 larger = fmax(above, below);
    vstore4(fmax(larger.even, larger.odd), 0, to + x);
    return;
  }
  for (; x < out_width; x++) {
    __global const float *corner = from + 2u * x;
    to[x] = fmax(fmax(corner[0], corner[1]), fmax(corner[width], corner[width + 1u]));
  }
}

/* One 2x2 corner: the gradient goes to the first of the largest in reading order. At an odd edge, less than
 * 2x2 pixels, which no output saw. */
INLINE void pool_corner(__global const float *input, __global const float *slope, __global float *to, uint x,
                        uint y, uint height, uint width, uint add) {
  bool whole = 2u * x + 1u < width && 2u * y + 1u < height;
  uint corner = 2u * y * width + 2u * x, best = corner;
  if (whole) {
    if (input[corner + 1u] > input[best]) best = corner + 1u;
    if (input[corner + width] > input[best]) best = corner + width;
    if (input[corner + width + 1u] > input[best]) best = corner + width + 1u;
  }
  float gradient = whole ? slope[y * (width / 2u) + x] : 0.0f;
  for (uint dy = 0u; dy < 2u && 2u * y + dy < height; dy++)
    for (uint dx = 0u; dx < 2u && 2u * x + dx < width; dx++) {
      uint place = corner + dy * width + dx;
      float own = place == best ? gradient : 0.0f;
      to[place] = add ? to[place] + own : own;
    }
}

INLINE void store_upsampled(__global float *to, float4 even, float4 odd, uint add) {
  float8 pairs = (float8)(even.x, odd.x, even.y, odd.y, even.z, odd.z, even.w, odd.w);
  vstore8(add ? vload8(0, to) + pairs : pairs, 0, to);
}

/* The output's gradient goes to the first of the largest of 2x2, in reading order; zero elsewhere. A row is
 * four such corners, those at an odd edge included. */
__kernel void pool_backward(__global const float *restrict input,
                            __global const float *restrict output_gradient,
                            __global float *restrict input_gradient, uint height, uint width, uint add,
                            uint rows) {
  uint row = (uint)get_global_id(0), wide = (width + 1u) / 2u, high = (height + 1u) / 2u;
  if (row >= rows) return;
  uint strips = (wide + 3u) / 4u, x = row % strips * 4u, y = row / strips % high, plane = row / strips / high;
  __global const float *from = input + plane * height * width;
  __global const float *slopes = output_gradient + plane * (height / 2u) * (width / 2u);
  __global float *to = input_gradient + plane * height * width;
  if (2u * x + 8u > width || 2u * y + 1u >= height) {
    for (uint end = min(x + 4u, wide); x < end; x++) pool_corner(from, slopes, to, x, y, height, width, add);
    return;
  }
  uint corner = 2u * y * width + 2u * x;
  float8 above = vload8(0, from + corner), below = vload8(0, from + corner + width);
  float4 slope = vload4(0, slopes + y * (width / 2u) + x), none = (float4)0.0f;
  float4 largest = fmax(fmax(above.even, above.odd), fmax(below.even, below.odd));
  int4 first = above.even == largest, second = ~first & (above.odd == largest);
  int4 third = ~(first | second) & (below.even == largest), fourth = ~(first | second | third);
  store_upsampled(to + corner, select(none, slope, first), select(none, slope, second), add);
  store_upsampled(to + corner + width, select(none, slope, third), select(none, slope, fourth), add);
}

/* Mean of 2x2; an odd last line or column is left out. A row is four pixels of the output. */
__kernel void average_forward(__global const float *restrict input, __global float *restrict output, uint height,
                              uint width, uint rows) {
  uint row = (uint)get_global_id(0), out_width = width / 2u, out_height = height / 2u;
  if (row >= rows) return;
  uint strips = (out_width + 3u) / 4u, x = row % strips * 4u, line = row / strips;
  uint y = line % out_height, plane = line / out_height;
  __global const float *from = input + (plane * height + 2u * y) * width;
  __global float *to = output + line * out_width;
  if (x + 4u <= out_width) {
    float8 sum = vload8(0, from + 2u * x) + vload8(0, from + width + 2u * x);
    vstore4(0.25f * (sum.even + sum.odd), 0, to + x);
    return;
  }
  for (; x < out_width; x++) {
    __global const float *corner = from + 2u * x;
    to[x] = 0.25f * ((corner[0] + corner[width]) + (corner[1] + corner[width + 1u]));
  }
}

/* A quarter of the output's gradient to each of its 2x2 pixels; 0 at an odd edge. A row is eight pixels of the input. */
__kernel void average_backward(__global const float *restrict output_gradient, __global float *restrict input_gradient,
                               uint height, uint width, uint add, uint rows) {
  uint row = (uint)get_global_id(0), out_width = width / 2u, out_height = height / 2u;
  if (row >= rows) return;
  uint strips = (width + 7u) / 8u, x = row % strips * 8u, line = row / strips;
  uint y = line % height / 2u, plane = line / height;
  __global const float *from = output_gradient + (plane * out_height + min(y, out_height - 1u)) * out_width;
  float4 slope = (float4)0.0f;
  if (y < out_height) slope = 0.25f * load_eight(from, x / 2u, out_width).lo;
  add_eight(input_gradient + line * width, x, width, slope.xxyyzzww, add);
}

/* One output line: three quarters of the near input line, one of the far one, and the same along x. */
INLINE void up_sample_line(__global const float *near, __global const float *far, __global float *to, uint x,
                           uint width) {
  uint left = x > 0u ? x - 1u : 0u, right = min(x + 4u, width - 1u);
  float before = 0.75f * near[left] + 0.25f * far[left], after = 0.75f * near[right] + 0.25f * far[right];
  if (x + 4u <= width) {
    float4 v = 0.75f * vload4(0, near + x) + 0.25f * vload4(0, far + x);
    float4 low = 0.75f * v + 0.25f * (float4)(before, v.xyz),
           high = 0.75f * v + 0.25f * (float4)(v.yzw, after);
    vstore8((float8)(low.x, high.x, low.y, high.y, low.z, high.z, low.w, high.w), 0, to + 2u * x);
    return;
  }
  for (; x < width; x++) {
    uint next = min(x + 1u, width - 1u);
    float v = 0.75f * near[x] + 0.25f * far[x];
    to[2u * x] = 0.75f * v + 0.25f * before;
    to[2u * x + 1u] = 0.75f * v + 0.25f * (0.75f * near[next] + 0.25f * far[next]);
    before = v;
  }
}

/* Bilinear to twice the size with half-pixel centres: output 2i lies a quarter before input i, output 2i+1 a
 * quarter after it; outside, the edge is repeated. A row is four pixels of the input, 2x8 of the output. */
__kernel void up_sample_forward(__global const float *restrict input, __global float *restrict output,
                                uint height, uint width, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  uint strips = (width + 3u) / 4u, x = row % strips * 4u, line = row / strips, y = line % height;
  __global const float *near = input + line * width;
  __global const float *above = y > 0u ? near - width : near, *below = y + 1u < height ? near + width : near;
  __global float *to = output + line * 4u * width;
  up_sample_line(near, above, to, x, width);
  up_sample_line(near, below, to + 2u * width, x, width);
}

/* The part of a fine line that four pixels of the input from x on get. */
INLINE float4 gather_line(__global const float *line, uint x, uint width) {
  uint last = 2u * width - 1u, left = x > 0u ? 2u * x - 1u : 0u, right = min(2u * x + 8u, last);
  if (x + 4u <= width) {
    float8 v = vload8(0, line + 2u * x);
    return 0.75f * (v.even + v.odd) + 0.25f * ((float4)(line[left], v.s135) + (float4)(v.s246, line[right]));
  }
  float part[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  for (uint k = 0u; x + k < width; k++) {
    uint fine = 2u * (x + k);
    part[k] = 0.75f * (line[fine] + line[fine + 1u]) +
              0.25f * (line[fine > 0u ? fine - 1u : 0u] + line[min(fine + 2u, last)]);
  }
  return vload4(0, part);
}

/* The transposed map: input i gathers outputs 2i-1 to 2i+2 by 1/4, 3/4, 3/4, 1/4 in both directions; because
 * edges repeat, an output outside is replaced by the one at the edge. A row is four pixels of the input. */
__kernel void up_sample_backward(__global const float *restrict output_gradient,
                                 __global float *restrict input_gradient, uint height, uint width, uint add,
                                 uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  uint strips = (width + 3u) / 4u, x = row % strips * 4u, line = row / strips, y = line % height;
  __global const float *near = output_gradient + line * 4u * width; /* lines 2y and 2y+1 of the plane */
  __global const float *above = y > 0u ? near - 2u * width : near;
  __global const float *below = y + 1u < height ? near + 4u * width : near + 2u * width;
  float4 sum = 0.75f * (gather_line(near, x, width) + gather_line(near + 2u * width, x, width)) +
               0.25f * (gather_line(above, x, width) + gather_line(below, x, width));
  __global float *to = input_gradient + line * width;
  if (x + 4u <= width) {
    vstore4(add ? vload4(x / 4u, to) + sum : sum, x / 4u, to);
    return;
  }
  float part[4];
  vstore4(sum, 0, part);
  for (uint k = 0u; x + k < width; k++) to[x + k] = add ? to[x + k] + part[k] : part[k];
}

/* Copies a block of `count` values of every image from one place in the image to another. A row is eight
 * values of a block. */
__kernel void concat_copy(__global const float *restrict input, __global float *restrict output, uint count,
                          uint from_image, uint from_start, uint to_image, uint to_start, uint add,
                          uint rows) {
  uint row = (uint)get_global_id(0), strips = (count + 7u) / 8u;
  if (row >= rows) return;
  uint image = row / strips, i = row % strips * 8u;
  __global const float *from = input + image * from_image + from_start;
  __global float *to = output + image * to_image + to_start;
  if (i + 8u <= count) {
    float8 value = vload8(0, from + i);
    vstore8(add ? value + vload8(0, to + i) : value, 0, to + i);
    return;
  }
  for (; i < count; i++) to[i] = add ? to[i] + from[i] : from[i];
}

/* Another window of every plane: pixel (y, x) of the output is pixel (y - top, x - left) of the input, 0 where
 * the input has none. `top` and `left` may be below 0, as 2^32 less: both sides then count round. A row is four
 * pixels of the output. */
__kernel void window_copy(__global const float *restrict input, __global float *restrict output, uint height,
                          uint width, uint to_height, uint to_width, uint top, uint left, uint add, uint rows) {
  uint row = (uint)get_global_id(0), strips = (to_width + 3u) / 4u;
  if (row >= rows) return;
  uint line = row / strips, start = row % strips * 4u, plane = line / to_height, y = line % to_height - top;
  __global const float *from = input + ((size_t)plane * height + (y < height ? y : 0u)) * width;
  __global float *to = output + (size_t)line * to_width;
  for (uint at = start; at < min(start + 4u, to_width); at++) {
    uint x = at - left;
    float value = y < height && x < width ? from[x] : 0.0f;
    to[at] = add ? to[at] + value : value;
  }
}
