/* Complex images as two planes, real and imaginary, [image][2][height][width]: their way into and out of
 * centred transforms, magnitude, and masks of columns. */

#define STRIP 8

/* The pixel whose centred place is `row`, among images whose centre lies at the start. */
INLINE uint corner_place(uint row, uint height, uint width) {
  uint x = row % width, line = row / width, y = line % height;
  return (line - y + (y + height - height / 2u) % height) * width + (x + width - width / 2u) % width;
}

/* Planes to pairs, the centre to the start: what an uncentred transform takes. A row is a pixel. */
__kernel void fourier_pack(__global const float *restrict input, __global float2 *restrict work, uint height,
                           uint width, uint rows) {
  uint row = (uint)get_global_id(0), pixels = height * width;
  if (row >= rows) return;
  uint real_part = row + row / pixels * pixels;
  work[corner_place(row, height, width)] = (float2)(input[real_part], input[real_part + pixels]);
}

/* Pairs to planes, the start to the centre. A row is a pixel. */
__kernel void fourier_unpack(__global const float2 *restrict work, __global float *restrict output,
                             uint height, uint width, uint add, uint rows) {
  uint row = (uint)get_global_id(0), pixels = height * width;
  if (row >= rows) return;
  uint real_part = row + row / pixels * pixels, imaginary = real_part + pixels;
  float2 value = work[corner_place(row, height, width)];
  output[real_part] = add ? output[real_part] + value.x : value.x;
  output[imaginary] = add ? output[imaginary] + value.y : value.y;
}

/* The same of a real image, which is one plane. */
__kernel void fourier_pack_real(__global const float *restrict input, __global float2 *restrict work, uint height,
                                uint width, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row < rows) work[corner_place(row, height, width)] = (float2)(input[row], 0.0f);
}

/* The real parts. */
__kernel void fourier_unpack_real(__global const float2 *restrict work, __global float *restrict output,
                                  uint height, uint width, uint add, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  float value = work[corner_place(row, height, width)].x;
  output[row] = add ? output[row] + value : value;
}

/* sqrt(re^2 + im^2) without underflow of the squares. A row is a strip of eight pixels of an image, of which
 * the last may be short. */
__kernel void magnitude_forward(__global const float *restrict input, __global float *restrict output,
                                uint pixels, uint rows) {
  uint row = (uint)get_global_id(0), strips = (pixels + STRIP - 1u) / STRIP;
  if (row >= rows) return;
  uint image = row / strips, start = row % strips * STRIP;
  __global const float *plane = input + 2u * image * pixels;
  store_eight(output + image * pixels, start, pixels,
              hypot(load_eight(plane, start, pixels), load_eight(plane + pixels, start, pixels)));
}

/* The gradient along the value; 0 where the magnitude is 0. */
__kernel void magnitude_backward(__global const float *restrict input,
                                 __global const float *restrict output_gradient,
                                 __global float *restrict input_gradient, uint pixels, uint add, uint rows) {
  uint row = (uint)get_global_id(0), strips = (pixels + STRIP - 1u) / STRIP;
  if (row >= rows) return;
  uint image = row / strips, start = row % strips * STRIP, plane = 2u * image * pixels;
  float8 dy = load_eight(output_gradient + image * pixels, start, pixels);
  float8 re = load_eight(input + plane, start, pixels);
  float8 im = load_eight(input + plane + pixels, start, pixels);
  float8 size = hypot(re, im);
  re = select((float8)0.0f, re / size * dy, size > 0.0f);
  im = select((float8)0.0f, im / size * dy, size > 0.0f);
  add_eight(input_gradient + plane, start, pixels, re, add);
  add_eight(input_gradient + plane + pixels, start, pixels, im, add);
}

/* Every line times the mask of its image: forward of the values and, of gradients, backward. A row is a strip
 * of eight columns of a line, of which the last may be short; an image has `lines` lines, those of all
 * channels. */
__kernel void columns_multiply(__global const float *restrict input, __global const float *restrict mask,
                               __global float *restrict output, uint lines, uint width, uint add, uint rows) {
  uint row = (uint)get_global_id(0), strips = (width + STRIP - 1u) / STRIP;
  if (row >= rows) return;
  uint line = row / strips, start = row % strips * STRIP;
  float8 value = load_eight(input + line * width, start, width);
  value *= load_eight(mask + line / lines * width, start, width);
  add_eight(output + line * width, start, width, value, add);
}

/* The mask's gradient: the sum of input * gradient over the lines of an image, in a fixed order. A work-group
 * takes COLUMNS columns of an image, its items every PARTS-th line of one. */
#define COLUMNS 32
#define PARTS 8

__kernel __attribute__((reqd_work_group_size(COLUMNS * PARTS, 1, 1))) void
columns_sum(__global const float *restrict input, __global const float *restrict output_gradient,
            __global float *restrict mask_gradient, uint lines, uint width, uint add, uint rows) {
  __local float part[PARTS][COLUMNS];
  uint row = (uint)get_group_id(0), item = (uint)get_local_id(0), blocks = (width + COLUMNS - 1u) / COLUMNS;
  if (row >= rows) return;
  uint image = row / blocks, own = item % COLUMNS, column = row % blocks * COLUMNS + own;
  float sum = 0.0f;
  for (uint line = item / COLUMNS; line < lines && column < width; line += PARTS) {
    uint place = (image * lines + line) * width + column;
    sum += input[place] * output_gradient[place];
  }
  part[item / COLUMNS][own] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (item >= COLUMNS || column >= width) return;
  for (uint k = 1u; k < PARTS; k++) sum += part[k][own];
  uint to = image * width + column;
  mask_gradient[to] = add ? mask_gradient[to] + sum : sum;
}
