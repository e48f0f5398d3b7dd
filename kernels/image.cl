/* The numbers of a slice that are computed once, at load (PROTOCOL 1.2). `first` is the first row of SLICE
 * that is meant. */

#define NORMALISE_GROUP 256
#if defined(__x86_64__) || defined(__aarch64__)
#define GROUP 1 /* one item goes along an image in vectors; many go across it */
#else
#define GROUP 256
#endif

/* Mean, sample deviation (divisor n-1), the largest pixel of the clamped un-normalised image, and the unit of
 * the hybrid data: a power of two near the deviation. With TARGET_PLAIN nothing is normalised: 0 and 1 stand
 * for mean and deviation. */
__kernel __attribute__((reqd_work_group_size(NORMALISE_GROUP, 1, 1))) void
image_normalise(__global const float *restrict image, __global float *restrict mean,
                __global float *restrict std, __global float *restrict peak, __global float *restrict unit,
                uint first, uint rows) {
  __local float scratch[NORMALISE_GROUP];
  uint row = (uint)get_group_id(0) + first, item = (uint)get_local_id(0);
  if (row >= first + rows) return;
  __global const float *pixels = image + (size_t)row * PIXELS;
  float sum = 0.0f, square = 0.0f, top = -INFINITY, low = INFINITY;
  for (uint i = item; i < PIXELS; i += NORMALISE_GROUP) {
    sum += pixels[i];
    top = fmax(top, pixels[i]);
    low = fmin(low, pixels[i]);
  }
  top = group_max(top, scratch);
  low = -group_max(-low, scratch);
  float average = group_sum(sum, scratch) / (float)PIXELS;
  if (top == low) average = low; /* a constant image has no deviation, not one of rounding */
  for (uint i = item; i < PIXELS; i += NORMALISE_GROUP) square += (pixels[i] - average) * (pixels[i] - average);
  float deviation = sqrt(group_sum(square, scratch) / (float)(PIXELS - 1));
  float power = deviation > 1e-30f ? ldexp(1.0f, ilogb(deviation)) : 1.0f;
#ifdef TARGET_PLAIN
  average = 0.0f;
  deviation = 1.0f;
#endif
  top = -INFINITY;
  for (uint i = item; i < PIXELS; i += NORMALISE_GROUP) top = fmax(top, target_pixel(pixels[i], average, deviation));
  top = group_max(top, scratch);
  if (item) return;
  mean[row] = average;
  std[row] = deviation;
  peak[row] = top;
  unit[row] = power;
}

/* Kinds of moves, as in systems/scan/augment.h. */
#define FLIPS 1u
#define SHIFTS 2u
#define TURNS 4u

/* The image turned by quarter turns, then flipped, then shifted, as its number and the epoch draw. One that is no square
 * is turned by halves only. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
image_move(__global const float *restrict original, __global const uint *restrict number,
           __global float *restrict image, uint first, uint kinds, uint shift_rows, uint shift_columns,
           uint seed, uint epoch, uint rows) {
  uint row = (uint)get_group_id(0) + first;
  if (row >= first + rows) return;
  uint4 words = random_words(seed, STREAM_MOVE, number[row], epoch);
  uint flips = kinds & FLIPS ? words.x : 0u, turns = kinds & TURNS ? words.x >> 2 : 0u;
  uint down = kinds & SHIFTS ? HEIGHT - shift_rows + mul_hi(words.y, 2u * shift_rows + 1u) : 0u;
  uint right = kinds & SHIFTS ? WIDTH - shift_columns + mul_hi(words.z, 2u * shift_columns + 1u) : 0u;
  if (HEIGHT != WIDTH) turns &= 2u;
  for (uint i = (uint)get_local_id(0); i < PIXELS; i += GROUP) {
    uint y = (i / WIDTH + HEIGHT - down % HEIGHT) % HEIGHT, x = (i % WIDTH + WIDTH - right % WIDTH) % WIDTH;
    if ((flips ^ turns >> 1) & 1u) y = HEIGHT - 1u - y;
    if ((flips >> 1 ^ turns >> 1) & 1u) x = WIDTH - 1u - x;
    uint from = turns & 1u ? x * WIDTH + WIDTH - 1u - y : y * WIDTH + x;
    image[(size_t)row * PIXELS + i] = original[(size_t)row * PIXELS + from];
  }
}

/* The image as complex rows, in units, with the centre moved to the start: ready for the transform. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
image_pack(__global const float *restrict image, __global const float *restrict unit,
           __global float2 *restrict lines, uint first, uint rows) {
  uint row = (uint)get_group_id(0);
  if (row >= rows) return;
  __global const float *pixels = image + (size_t)(row + first) * PIXELS;
  float scale = 1.0f / unit[row + first];
  for (uint i = (uint)get_local_id(0); i < PIXELS; i += GROUP) {
    uint y = i / WIDTH, x = i % WIDTH;
    uint place = y * WIDTH + (x + WIDTH - WIDTH / 2u) % WIDTH;
    lines[(size_t)row * PIXELS + place] = (float2)(pixels[i] * scale, 0.0f);
  }
}

/* Packs with the centre of both axes moved to the start: ready for the two-dimensional transform. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
image_pack_plane(__global const float *restrict image, __global const float *restrict unit,
                 __global float2 *restrict plane, uint first, uint rows) {
  uint row = (uint)get_group_id(0);
  if (row >= rows) return;
  __global const float *pixels = image + (size_t)(row + first) * PIXELS;
  float scale = 1.0f / unit[row + first];
  for (uint i = (uint)get_local_id(0); i < PIXELS; i += GROUP) {
    uint y = (i / WIDTH + HEIGHT - HEIGHT / 2u) % HEIGHT, x = (i % WIDTH + WIDTH - WIDTH / 2u) % WIDTH;
    plane[(size_t)row * PIXELS + y * WIDTH + x] = (float2)(pixels[i] * scale, 0.0f);
  }
}

/* Transformed rows [row][frequency] into hybrid data [frequency][row]. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
image_unpack(__global const float2 *restrict lines, __global float2 *restrict hybrid, uint first, uint rows) {
  uint row = (uint)get_group_id(0);
  if (row >= rows) return;
  for (uint i = (uint)get_local_id(0); i < PIXELS; i += GROUP)
    hybrid[(size_t)(row + first) * PIXELS + i] =
        lines[(size_t)row * PIXELS + (i % HEIGHT) * WIDTH + i / HEIGHT];
}

/* The zero-filled reconstruction: the magnitude in units of the image. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
image_zero_filled(__global const uint *restrict slice, __global const real *restrict magnitude,
                  __global const float *restrict unit, __global float *restrict reconstruction, uint rows) {
  uint row = (uint)get_group_id(0);
  if (row >= rows) return;
  size_t base = (size_t)row * PIXELS;
  float scale = unit[slice[row]];
  for (uint i = (uint)get_local_id(0); i < PIXELS; i += GROUP)
    reconstruction[base + i] = REAL_LOAD(magnitude, base + i) * scale;
}

/* The network's input (PROTOCOL 1.5): the magnitude by its own mean and deviation, in units of the image, where
 * the epsilon of the formula counts; clamped. Rows from `first` on of the scans become rows from `place` on. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
image_standardise(__global const uint *restrict slice, __global const real *restrict magnitude,
                  __global const float *restrict magnitude_mean, __global const float *restrict magnitude_std,
                  __global const float *restrict unit, __global float *restrict input, uint first, uint place,
                  uint rows) {
  uint row = (uint)get_group_id(0), from = row + first, to = row + place;
  if (row >= rows) return;
  float mean = magnitude_mean[from], scale = observed_scale(magnitude_std[from], unit[slice[from]]);
  for (uint i = (uint)get_local_id(0); i < PIXELS; i += GROUP)
    input[(size_t)to * PIXELS + i] = observed_normal(REAL_LOAD(magnitude, (size_t)from * PIXELS + i), mean, scale);
}

/* The network's output, the normalised image, by the slice's mean and deviation. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
image_restore(__global const uint *restrict slice, __global const float *restrict output,
              __global const float *restrict mean, __global const float *restrict std,
              __global float *restrict reconstruction, uint first, uint rows) {
  uint row = (uint)get_group_id(0), to = row + first;
  if (row >= rows) return;
  float average = mean[slice[to]], deviation = std[slice[to]];
  for (uint i = (uint)get_local_id(0); i < PIXELS; i += GROUP)
    reconstruction[(size_t)to * PIXELS + i] = output[(size_t)row * PIXELS + i] * deviation + average;
}
