/* The zero-filled magnitude image of a mask, its mean and its sample deviation, in one pass.
 *
 * Cartesian masks act on whole phase-encode lines, so the inverse transform along the readout never changes:
 * `hybrid` holds, per slice, [frequency][row] = the image's rows transformed once at load. What is left is a
 * one-dimensional inverse transform along the lines, of the acquired ones only. Frequency n belongs to line
 * (n + WIDTH/2) mod WIDTH, and entry k of the transform to pixel (k + WIDTH/2) mod WIDTH. Nothing complex is
 * stored per environment. `phase` holds exp(2 pi i k / WIDTH).
 *
 * observe_direct sums the acquired lines and takes any size. observe_fft is a two-factor transform in
 * registers with one exchange through local memory, for 32, 64, 128 and 256 lines. */

#define DIRECT_ROWS 8

INLINE float2 times(float2 a, float2 b) { return (float2)(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }

INLINE float magnitude_of(float2 value, float scale) {
  return scale * sqrt(value.x * value.x + value.y * value.y);
}

/* Joins `count` values to what the work-item has seen. */
INLINE moments moments_add(moments seen, const float *values, uint count) {
  float sum = 0.0f, square = 0.0f;
  for (uint i = 0u; i < count; i++) sum += values[i];
  float mean = sum / (float)count;
  for (uint i = 0u; i < count; i++) square += (values[i] - mean) * (values[i] - mean);
  moments more = {(float)count, mean, square};
  return moments_join(seen, more);
}

/* Every item of the group must call it. */
INLINE void store_moments(moments mine, __local moments *scratch, __global float *magnitude_mean,
                          __global float *magnitude_std, uint row) {
  moments all = group_moments(mine, scratch);
  if (get_local_id(0) == 0) {
    magnitude_mean[row] = all.mean;
    magnitude_std[row] = sqrt(all.square / (float)(PIXELS - 1));
  }
}

#define DIRECT_GROUP 64

__kernel __attribute__((reqd_work_group_size(DIRECT_GROUP, 1, 1))) void
observe_direct(__global const uint *restrict slice, __global const uchar *restrict mask,
               __global const float2 *restrict hybrid, __global const float2 *restrict phase,
               __global real *restrict magnitude, __global float *restrict magnitude_mean,
               __global float *restrict magnitude_std, uint rows) {
  __local moments scratch[DIRECT_GROUP];
  __local uint acquired[WIDTH];
  __local uint count;
  uint row = (uint)get_group_id(0), item = (uint)get_local_id(0);
  if (row >= rows) return;
  __global const float2 *lines = hybrid + (size_t)slice[row] * PIXELS;
  size_t base = (size_t)row * PIXELS;
  if (item == 0u) {
    uint found = 0u;
    for (uint n = 0u; n < WIDTH; n++)
      if (mask[(size_t)row * WIDTH + (n + WIDTH / 2u) % WIDTH]) acquired[found++] = n;
    count = found;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  float scale = 1.0f / sqrt((float)WIDTH);
  moments seen = {0.0f, 0.0f, 0.0f};
  for (uint x = item; x < WIDTH; x += DIRECT_GROUP) {
    uint k = (x + WIDTH - WIDTH / 2u) % WIDTH;
    for (uint y = 0u; y < HEIGHT; y += DIRECT_ROWS) {
      uint left = min((uint)DIRECT_ROWS, HEIGHT - y);
      float2 sum[DIRECT_ROWS];
      float value[DIRECT_ROWS];
      for (uint r = 0u; r < DIRECT_ROWS; r++) sum[r] = (float2)(0.0f, 0.0f);
      for (uint i = 0u; i < count; i++) {
        uint n = acquired[i];
        float2 turn = phase[n * k % WIDTH];
        for (uint r = 0u; r < left; r++) sum[r] += times(lines[n * HEIGHT + y + r], turn);
      }
      for (uint r = 0u; r < left; r++) {
        value[r] = magnitude_of(sum[r], scale);
        REAL_STORE(magnitude, base + (y + r) * WIDTH + x, value[r]);
      }
      seen = moments_add(seen, value, left);
    }
  }
  store_moments(seen, scratch, magnitude_mean, magnitude_std, row);
}

/* WIDTH = FIRST * SECOND; BLOCK rows pass through local memory at a time; PITCH keeps banks apart. */
#if WIDTH == 32
#define FIRST 8
#define SECOND 4
#define BLOCK 64
#elif WIDTH == 64
#define FIRST 8
#define SECOND 8
#define BLOCK 32
#elif WIDTH == 128
#define FIRST 16
#define SECOND 8
#define BLOCK 32
#elif WIDTH == 256
#define FIRST 16
#define SECOND 16
#define BLOCK 16
#endif

#ifdef FIRST
#define FFT_GROUP 256
#define PITCH (WIDTH == 256 ? WIDTH + 17 : WIDTH + 1)
/* Rows that 32 neighbouring items touch in the second stage lie STRIDE apart: no bank is asked twice. */
#define TOGETHER (32 / FIRST)
#define STRIDE (WIDTH == 256 ? 1 : BLOCK / TOGETHER)

INLINE float2 quarter_turn(float2 a) { return (float2)(-a.y, a.x); }

/* Inverse transforms (positive exponent) of 4, 8 and 16 values, in place and in order. */
INLINE void transform4(float2 *v) {
  float2 s = v[0] + v[2], d = v[0] - v[2], t = v[1] + v[3], u = quarter_turn(v[1] - v[3]);
  v[0] = s + t;
  v[1] = d + u;
  v[2] = s - t;
  v[3] = d - u;
}

INLINE void transform8(float2 *v) {
  const float c = 0.70710678118654752f;
  float2 a[4] = {v[0], v[2], v[4], v[6]}, b[4] = {v[1], v[3], v[5], v[7]};
  transform4(a);
  transform4(b);
  b[1] = c * (float2)(b[1].x - b[1].y, b[1].x + b[1].y);
  b[2] = quarter_turn(b[2]);
  b[3] = c * (float2)(-b[3].x - b[3].y, b[3].x - b[3].y);
  for (int k = 0; k < 4; k++) {
    v[k] = a[k] + b[k];
    v[k + 4] = a[k] - b[k];
  }
}

INLINE void transform16(float2 *v) {
  const float c1 = 0.92387953251128676f, s1 = 0.38268343236508977f, c2 = 0.70710678118654752f;
  float2 a[8] = {v[0], v[2], v[4], v[6], v[8], v[10], v[12], v[14]};
  float2 b[8] = {v[1], v[3], v[5], v[7], v[9], v[11], v[13], v[15]};
  transform8(a);
  transform8(b);
  b[1] = times(b[1], (float2)(c1, s1));
  b[2] = c2 * (float2)(b[2].x - b[2].y, b[2].x + b[2].y);
  b[3] = times(b[3], (float2)(s1, c1));
  b[4] = quarter_turn(b[4]);
  b[5] = times(b[5], (float2)(-s1, c1));
  b[6] = c2 * (float2)(-b[6].x - b[6].y, b[6].x - b[6].y);
  b[7] = times(b[7], (float2)(-c1, s1));
  for (int k = 0; k < 8; k++) {
    v[k] = a[k] + b[k];
    v[k + 8] = a[k] - b[k];
  }
}

#define TRANSFORM_(n, v) transform##n(v)
#define TRANSFORM(n, v) TRANSFORM_(n, v)

/* Frequencies second, second + SECOND, ... of one row: transform over them, turn, put into local memory. */
INLINE void first_stage(__global const float2 *lines, __local const uchar *acquired,
                        __global const float2 *phase, uint y, uint second, __local float *re,
                        __local float *im) {
  float2 v[FIRST];
  bool any = false;
  for (uint f = 0u; f < FIRST; f++) {
    uint n = f * SECOND + second;
    bool here = acquired[n] && y < HEIGHT;
    v[f] = here ? lines[n * HEIGHT + y] : (float2)(0.0f, 0.0f);
    any = any || here;
  }
  if (any) TRANSFORM(FIRST, v);
  for (uint k = 0u; k < FIRST; k++) {
    float2 turned = k ? times(v[k], phase[second * k]) : v[0];
    re[second * FIRST + k] = turned.x;
    im[second * FIRST + k] = turned.y;
  }
}

__kernel void observe_fft(__global const uint *restrict slice, __global const uchar *restrict mask,
                          __global const float2 *restrict hybrid, __global const float2 *restrict phase,
                          __global real *restrict magnitude, __global float *restrict magnitude_mean,
                          __global float *restrict magnitude_std, uint rows) {
  __local float re[BLOCK * PITCH], im[BLOCK * PITCH];
  __local moments scratch[FFT_GROUP];
  __local uchar acquired[WIDTH];
  uint row = (uint)get_group_id(0), item = (uint)get_local_id(0);
  if (row >= rows) return;
  __global const float2 *lines = hybrid + (size_t)slice[row] * PIXELS;
  __global real *image = magnitude + (size_t)row * PIXELS;
  for (uint n = item; n < WIDTH; n += FFT_GROUP)
    acquired[n] = mask[(size_t)row * WIDTH + (n + WIDTH / 2u) % WIDTH];
  barrier(CLK_LOCAL_MEM_FENCE);
  float scale = 1.0f / sqrt((float)WIDTH);
  moments seen = {0.0f, 0.0f, 0.0f};
  for (uint top = 0u; top < HEIGHT; top += BLOCK) {
    for (uint i = item; i < BLOCK * SECOND; i += FFT_GROUP) {
      uint y = i % BLOCK, place = y * PITCH;
      first_stage(lines, acquired, phase, top + y, i / BLOCK, re + place, im + place);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = item; i < BLOCK * FIRST; i += FFT_GROUP) {
      uint k = i % FIRST, q = i / FIRST, y = q % TOGETHER * STRIDE + q / TOGETHER;
      if (WIDTH == 256) y = q;
      if (top + y >= HEIGHT) continue;
      float2 v[SECOND];
      float value[SECOND];
      for (uint s = 0u; s < SECOND; s++) {
        uint place = y * PITCH + s * FIRST + k;
        v[s] = (float2)(re[place], im[place]);
      }
      TRANSFORM(SECOND, v);
      for (uint s = 0u; s < SECOND; s++) {
        uint x = k + FIRST * ((s + SECOND / 2u) % SECOND);
        value[s] = magnitude_of(v[s], scale);
        REAL_STORE(image, (top + y) * WIDTH + x, value[s]);
      }
      seen = moments_add(seen, value, SECOND);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  store_moments(seen, scratch, magnitude_mean, magnitude_std, row);
}
#endif
