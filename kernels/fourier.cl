/* Complex images as two planes, real and imaginary, [image][2][height][width]: centred transforms, their way into
 * and out of those of a library, magnitude, and masks of columns. */

#define STRIP 8

/* The pixel whose centred place is `row`, among images whose centre lies at the start. */
INLINE uint corner_place(uint row, uint height, uint width) {
  uint x = row % width, line = row / width, y = line % height;
  return (line - y + (y + height - height / 2u) % height) * width + (x + width - width / 2u) % width;
}

/* Planes to pairs, the centre to the start: what an uncentred transform takes. A row is a pixel of TOGETHER of the images,
 * of which the last are fewer: its place is found once. */
#define TOGETHER 4u

__kernel void fourier_pack(__global const float *restrict input, __global float2 *restrict work, uint height,
                           uint width, uint images, uint rows) {
  uint row = (uint)get_global_id(0), pixels = height * width;
  if (row >= rows) return;
  uint first = row / pixels * TOGETHER, own = row % pixels, corner = corner_place(own, height, width);
  for (uint k = 0u; k < TOGETHER; k++)
    if (first + k < images) {
      __global const float *plane = input + 2u * (first + k) * pixels;
      work[(first + k) * pixels + corner] = (float2)(plane[own], plane[pixels + own]);
    }
}

/* Pairs to planes, the start to the centre. Rows are those of fourier_pack. */
__kernel void fourier_unpack(__global const float2 *restrict work, __global float *restrict output,
                             uint height, uint width, uint images, uint add, uint rows) {
  uint row = (uint)get_global_id(0), pixels = height * width;
  if (row >= rows) return;
  uint first = row / pixels * TOGETHER, own = row % pixels, corner = corner_place(own, height, width);
  for (uint k = 0u; k < TOGETHER; k++)
    if (first + k < images) {
      __global float *plane = output + 2u * (first + k) * pixels;
      float2 value = work[(first + k) * pixels + corner];
      plane[own] = add ? plane[own] + value.x : value.x;
      plane[pixels + own] = add ? plane[pixels + own] + value.y : value.y;
    }
}

/* Packs a real image, which is one plane. */
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

/* ---- centred orthonormal transforms of WIDTH values, by two factors in registers --------------------------- */
/* Along the lines first, then along the columns, `work` between: a work-group takes LINES of either, which pass through
 * local memory between the factors. The positive exponent is the inverse transform's; `forward` does it with real and
 * imaginary part swapped, in `work` too. The other part of a real image (`planes` 1) is 0, or is left out. */

#ifdef FFT_FIRST
#define FFT_GROUP 256
#define LINES (WIDTH == 256 ? 16 : 32)
#define GAP (FFT_FIRST + 1) /* keeps banks apart */
#define PITCH (FFT_SECOND * GAP + 1)

/* exp(2 pi i k / WIDTH). Every item of the group must call it. */
INLINE void fill_phase(__local float2 *phase) {
  for (uint k = (uint)get_local_id(0); k < WIDTH; k += FFT_GROUP) {
    float part = 2.0f * (float)k / (float)WIDTH;
    phase[k] = (float2)(cospi(part), sinpi(part));
  }
  barrier(CLK_LOCAL_MEM_FENCE);
}

/* Value f * FFT_SECOND + second of a line lies at this place. */
INLINE uint source_place(uint f, uint second) { return (f * FFT_SECOND + second + WIDTH / 2u) % WIDTH; }

/* Entry k + FFT_FIRST * s of the transform at this one. */
INLINE uint result_place(uint k, uint s) { return k + FFT_FIRST * ((s + FFT_SECOND / 2u) % FFT_SECOND); }

INLINE void first_factor(float2 *v, __local const float2 *phase, uint second, __local float *re, __local float *im) {
  TRANSFORM(FFT_FIRST, v);
  for (uint k = 0u; k < FFT_FIRST; k++) {
    float2 turned = k ? times(v[k], phase[second * k]) : v[0];
    re[second * GAP + k] = turned.x;
    im[second * GAP + k] = turned.y;
  }
}

INLINE void second_factor(float2 *v, uint k, __local const float *re, __local const float *im) {
  for (uint s = 0u; s < FFT_SECOND; s++) v[s] = (float2)(re[s * GAP + k], im[s * GAP + k]);
  TRANSFORM(FFT_SECOND, v);
  for (uint s = 0u; s < FFT_SECOND; s++) v[s] /= sqrt((float)WIDTH);
}

INLINE float2 swapped(float2 value, uint swap) { return swap ? value.yx : value; }

/* All lines, [image][planes][height][WIDTH], to pairs, [image][height][WIDTH]. */
__kernel __attribute__((reqd_work_group_size(FFT_GROUP, 1, 1))) void
fourier_rows(__global const float *restrict input, __global float2 *restrict work, uint planes, uint height, uint lines,
             uint forward, uint rows) {
  __local float re[LINES * PITCH], im[LINES * PITCH];
  __local float2 phase[WIDTH];
  uint row = (uint)get_group_id(0), item = (uint)get_local_id(0);
  if (row >= rows) return;
  fill_phase(phase);
  for (uint i = item; i < LINES * FFT_SECOND; i += FFT_GROUP) {
    uint second = i % FFT_SECOND, y = i / FFT_SECOND, line = row * LINES + y;
    uint from = (line / height * planes * height + line % height) * WIDTH;
    float2 v[FFT_FIRST];
    for (uint f = 0u; f < FFT_FIRST; f++) {
      uint place = from + source_place(f, second);
      float real_part = line < lines ? input[place] : 0.0f;
      float imaginary = line < lines && planes == 2u ? input[place + height * WIDTH] : 0.0f;
      v[f] = swapped((float2)(real_part, imaginary), forward);
    }
    first_factor(v, phase, second, re + y * PITCH, im + y * PITCH);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = item; i < LINES * FFT_FIRST; i += FFT_GROUP) {
    uint k = i % FFT_FIRST, y = i / FFT_FIRST, line = row * LINES + y;
    float2 v[FFT_SECOND];
    if (line >= lines) continue;
    second_factor(v, k, re + y * PITCH, im + y * PITCH);
    for (uint s = 0u; s < FFT_SECOND; s++) work[line * WIDTH + result_place(k, s)] = v[s];
  }
}

/* All columns of pairs, [image][WIDTH][width], to [image][planes][WIDTH][width]; `columns` of all images. */
__kernel __attribute__((reqd_work_group_size(FFT_GROUP, 1, 1))) void
fourier_columns(__global const float2 *restrict work, __global float *restrict output, uint planes, uint width,
                uint columns, uint forward, uint add, uint rows) {
  __local float re[LINES * PITCH], im[LINES * PITCH];
  __local float2 phase[WIDTH];
  uint row = (uint)get_group_id(0), item = (uint)get_local_id(0);
  if (row >= rows) return;
  fill_phase(phase);
  for (uint i = item; i < LINES * FFT_SECOND; i += FFT_GROUP) {
    uint own = i % LINES, second = i / LINES, column = row * LINES + own;
    uint from = column / width * WIDTH * width + column % width;
    float2 v[FFT_FIRST];
    for (uint f = 0u; f < FFT_FIRST; f++)
      v[f] = column < columns ? work[from + source_place(f, second) * width] : (float2)(0.0f, 0.0f);
    first_factor(v, phase, second, re + own * PITCH, im + own * PITCH);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = item; i < LINES * FFT_FIRST; i += FFT_GROUP) {
    uint own = i % LINES, k = i / LINES, column = row * LINES + own;
    uint plane = WIDTH * width, to = column / width * planes * plane + column % width;
    float2 v[FFT_SECOND];
    if (column >= columns) continue;
    second_factor(v, k, re + own * PITCH, im + own * PITCH);
    for (uint s = 0u; s < FFT_SECOND; s++) {
      uint place = to + result_place(k, s) * width;
      float2 value = swapped(v[s], forward);
      output[place] = add ? output[place] + value.x : value.x;
      if (planes == 2u) output[place + plane] = add ? output[place + plane] + value.y : value.y;
    }
  }
}
#endif
