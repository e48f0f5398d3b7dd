/* The zero-filled magnitude image of a mask, its mean and its sample deviation, in one pass.
 *
 * Cartesian masks act on whole phase-encode lines, so the inverse transform along the readout never changes:
 * `hybrid` holds, per slice, [frequency][row] = the image's rows transformed once at load. What is left is a
 * one-dimensional inverse transform along the lines, of the acquired ones only. Frequency n belongs to line
 * (n + WIDTH/2) mod WIDTH, and entry k of the transform to pixel (k + WIDTH/2) mod WIDTH. Nothing complex is
 * stored per environment. `phase` holds exp(2 pi i k / WIDTH).
 *
 * observe_direct sums the acquired lines and takes any size. observe_fft is a two-factor transform in
 * registers with one exchange through local memory, for 32, 64, 128 and 256 lines.
 *
 * observe_cells_direct and observe_cells_fft are the same for masks of single cells of k-space, as unions of
 * spokes: `kspace` holds, per slice, [row frequency][line frequency], both from the centre on as above, and
 * `cells` the ACTION_CELLS cells (row * WIDTH + line, NO_CELL past its last one) of every action. The columns of the
 * masked k-space are transformed first, by `column_phase`, exp(2 pi i k / HEIGHT), into hybrid data of the scan's own; what
 * follows is as above. What is acquired is a bit a cell in local memory, of a band of columns at a time where those of the
 * whole plane would not fit. A work-group takes one scan after the other, so that `work` needs an image a work-group and stays in
 * cache. observe_cells_fft wants HEIGHT and WIDTH equal, for its factors are those of one length.
 *
 * observe_coils_direct and observe_coils_fft do that for every coil of a slice, [slice][coil][row][line], and give the
 * root of the sum of their squared magnitudes; `work` needs as many images as `most`, the room for a slice's coils.
 *
 * observe_maps_direct and observe_maps_fft give the magnitude of the sum of conj(map) times coil image, over the sum of the
 * maps' squared magnitudes, and 0 where that is 0; `maps` has the image's pixels, [slice][coil][row][column]. The first takes
 * several sets of maps too, [slice][set][coil][row][column], and gives the root of the sum of squares.
 *
 * observe_back_direct and observe_back_fft go the other way, for learned masks: from the gradient of the network's
 * input (kernels/image.cl) to that of every line of the mask, acquired or not. */

#define DIRECT_ROWS 8

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

/* Sums the *count acquired lines at every pixel of the image. */
INLINE moments direct_rows(__global const float2 *lines, __local const ushort *acquired, __local const uint *count,
                           __global const float2 *phase, __global real *image) {
  float scale = 1.0f / sqrt((float)WIDTH);
  moments seen = {0.0f, 0.0f, 0.0f};
  for (uint x = (uint)get_local_id(0); x < WIDTH; x += DIRECT_GROUP) {
    uint k = (x + WIDTH - WIDTH / 2u) % WIDTH;
    for (uint y = 0u; y < HEIGHT; y += DIRECT_ROWS) {
      uint left = min((uint)DIRECT_ROWS, HEIGHT - y);
      float2 sum[DIRECT_ROWS];
      float value[DIRECT_ROWS];
      for (uint r = 0u; r < DIRECT_ROWS; r++) sum[r] = (float2)(0.0f, 0.0f);
      for (uint i = 0u; i < *count; i++) {
        uint n = acquired[i];
        float2 turn = phase[n * k % WIDTH];
        for (uint r = 0u; r < left; r++) sum[r] += times(lines[n * HEIGHT + y + r], turn);
      }
      for (uint r = 0u; r < left; r++) {
        value[r] = magnitude_of(sum[r], scale);
        REAL_STORE(image, (y + r) * WIDTH + x, value[r]);
      }
      seen = moments_add(seen, value, left);
    }
  }
  return seen;
}

__kernel __attribute__((reqd_work_group_size(DIRECT_GROUP, 1, 1))) void
observe_direct(__global const uint *restrict slice, __global const uchar *restrict mask,
               __global const float2 *restrict hybrid, __global const float2 *restrict phase,
               __global real *restrict magnitude, __global float *restrict magnitude_mean,
               __global float *restrict magnitude_std, uint rows) {
  __local moments scratch[DIRECT_GROUP];
  __local ushort acquired[WIDTH];
  __local uint count;
  uint row = (uint)get_group_id(0), item = (uint)get_local_id(0);
  if (row >= rows) return;
  if (item == 0u) {
    uint found = 0u;
    for (uint n = 0u; n < WIDTH; n++)
      if (mask[(size_t)row * WIDTH + (n + WIDTH / 2u) % WIDTH]) acquired[found++] = (ushort)n;
    count = found;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  moments seen = direct_rows(hybrid + (size_t)slice[row] * PIXELS, acquired, &count, phase,
                             magnitude + (size_t)row * PIXELS);
  store_moments(seen, scratch, magnitude_mean, magnitude_std, row);
}

/* ---- masks of single cells ------------------------------------------------------------------------------- */

#define NO_CELL 0xffffffffu
/* Pairs of lines are half as many as lines, and one more: line 0, or the centre, has none beside it. */
#define ACTION_CELLS (ACTIONS == WIDTH / 2 + 1 ? 2 * HEIGHT : PIXELS / ACTIONS)
#define CELL_BITS 262144 /* 32 KiB of them: local memory has 48 KiB */
#define CELL_BAND (PIXELS <= CELL_BITS ? WIDTH : CELL_BITS / HEIGHT) /* columns that have theirs at a time */
#define CELL_WORDS ((HEIGHT * CELL_BAND + 31) / 32)

/* `left`: the first column of the band. */
INLINE void mark_cell(uint cell, uint left, __local uint *taken, __local uchar *acquired) {
  if (cell == NO_CELL) return;
  uint column = cell % WIDTH, bit = cell / WIDTH * CELL_BAND + column - left;
  if (CELL_BAND == WIDTH || column - left < CELL_BAND) atomic_or(&taken[bit / 32u], 1u << bit % 32u);
  acquired[column] = 1;
}

/* One bit for every cell of the union of the chosen actions in the columns from `left` on, and whether a line, of
 * all, has any cell. Every item of the group must call it. */
INLINE void mark_cells(__global const uchar *mask, __global const uint *cells, uint left, __local uint *taken,
                       __local uchar *acquired, __local ushort *chosen, __local uint *count) {
  uint item = (uint)get_local_id(0), items = (uint)get_local_size(0);
  if (item == 0u) *count = 0u; /* actions, of those that are no single cells */
  for (uint i = item; i < CELL_WORDS; i += items) taken[i] = 0u;
  for (uint n = item; n < WIDTH; n += items) acquired[n] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
#if ACTIONS == PIXELS
  for (uint point = item; point < PIXELS; point += items)
    if (mask[point]) mark_cell(cells[point], left, taken, acquired);
#else
  for (uint action = item; action < ACTIONS; action += items)
    if (mask[action]) chosen[atomic_inc(count)] = (ushort)action;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = item; i < *count * ACTION_CELLS; i += items)
    mark_cell(cells[chosen[i / ACTION_CELLS] * ACTION_CELLS + i % ACTION_CELLS], left, taken, acquired);
#endif
  barrier(CLK_LOCAL_MEM_FENCE);
}

INLINE bool is_taken(__local const uint *taken, uint line, uint column) {
  uint bit = line * CELL_BAND + column;
  return taken[bit / 32u] >> bit % 32u & 1u;
}

/* The columns that have any cell, and their count. Every item of the group must call it. The first barrier is for
 * PoCL 3.1, which loses what follows a loop that ends in one. */
INLINE void list_columns(__local const uchar *any, __local ushort *acquired, __local uint *count) {
  barrier(CLK_LOCAL_MEM_FENCE);
  if (get_local_id(0) == 0) {
    uint found = 0u;
    for (uint n = 0u; n < WIDTH; n++)
      if (any[n]) acquired[found++] = (ushort)n;
    *count = found;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
}

/* Columns of masked k-space, of the band from `left` on, into hybrid data [frequency][row] of `coils` images. */
INLINE void direct_columns(__global const float2 *data, uint coils, uint left, __local const uint *taken,
                           __local const uchar *any, __global const float2 *column_phase, __global float2 *lines) {
  uint part = min((uint)CELL_BAND, WIDTH - left) * HEIGHT;
  for (uint i = (uint)get_local_id(0); i < coils * part; i += DIRECT_GROUP) {
    uint column = i % part / HEIGHT, n = left + column, y = i % HEIGHT, k = (y + HEIGHT - HEIGHT / 2u) % HEIGHT;
    __global const float2 *own = data + (size_t)(i / part) * PIXELS;
    float2 sum = (float2)(0.0f, 0.0f);
    for (uint m = 0u; any[n] && m < HEIGHT; m++)
      if (is_taken(taken, m, column)) sum += times(own[m * WIDTH + n], column_phase[m * k % HEIGHT]);
    lines[(size_t)(i / part) * PIXELS + n * HEIGHT + y] = sum / sqrt((float)HEIGHT);
  }
}

__kernel __attribute__((reqd_work_group_size(DIRECT_GROUP, 1, 1))) void
observe_cells_direct(__global const uint *restrict slice, __global const uchar *restrict mask,
                     __global const float2 *restrict kspace, __global const uint *restrict cells,
                     __global const float2 *restrict phase, __global const float2 *restrict column_phase,
                     __global float2 *work, __global real *restrict magnitude, __global float *restrict magnitude_mean,
                     __global float *restrict magnitude_std, uint scans, uint rows) {
  __local moments scratch[DIRECT_GROUP];
  __local uint taken[CELL_WORDS];
  __local ushort chosen[WIDTH];
  __local uchar any[WIDTH];
  __local uint count;
  uint slot = (uint)get_group_id(0);
  if (slot >= rows) return;
  __global float2 *lines = work + (size_t)slot * PIXELS;
  for (uint scan = slot; scan < scans; scan += rows) {
    __global const float2 *data = kspace + (size_t)slice[scan] * PIXELS;
    for (uint left = 0u; left < WIDTH; left += CELL_BAND) {
      mark_cells(mask + (size_t)scan * ACTIONS, cells, left, taken, any, chosen, &count);
      direct_columns(data, 1u, left, taken, any, column_phase, lines);
      barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    }
    list_columns(any, chosen, &count);
    moments seen = direct_rows(lines, chosen, &count, phase, magnitude + (size_t)scan * PIXELS);
    store_moments(seen, scratch, magnitude_mean, magnitude_std, scan);
  }
}

/* ---- back to the mask ------------------------------------------------------------------------------------- */

#define INPUT_LIMIT 6.0f

/* The numbers that turn an input's gradient into that of a magnitude: z is the input before its clamp. */
typedef struct {
  float mean, scale;     /* z = (magnitude - mean) * scale */
  float average, share;  /* mean of the gradient; its sum with z over (PIXELS - 1) * deviation */
} input_slope;

INLINE float input_gradient_at(float z, float gradient) { return fabs(z) <= INPUT_LIMIT ? gradient : 0.0f; }

/* Every item of the group must call it. */
INLINE input_slope input_slope_of(__global const real *image, __global const float *gradient, float mean,
                                  float deviation, float unit, __local float *scratch) {
  float scale = deviation > 0.0f ? 1.0f / (deviation + 1e-11f / unit) : 0.0f, sum = 0.0f, product = 0.0f;
  for (uint i = (uint)get_local_id(0); i < PIXELS; i += (uint)get_local_size(0)) {
    float z = (REAL_LOAD(image, i) - mean) * scale, own = input_gradient_at(z, gradient[i]);
    sum += own;
    product += own * z;
  }
  float average = group_sum(sum, scratch) / (float)PIXELS;
  float share = group_sum(product, scratch);
  share = deviation > 0.0f ? share / (float)(PIXELS - 1) / deviation : 0.0f;
  input_slope slope = {mean, scale, average, share};
  return slope;
}

/* The gradient of the unscaled sum of lines at a pixel, conjugate: along the sum, 0 where that is 0. */
INLINE float2 sum_gradient(float2 sum, float magnitude, float gradient, input_slope slope) {
  float z = (magnitude - slope.mean) * slope.scale, size = sqrt(sum.x * sum.x + sum.y * sum.y);
  float own = slope.scale * (input_gradient_at(z, gradient) - slope.average) - z * slope.share;
  float factor = size > 0.0f ? own / (sqrt((float)WIDTH) * size) : 0.0f;
  return (float2)(factor * sum.x, -factor * sum.y);
}

__kernel __attribute__((reqd_work_group_size(DIRECT_GROUP, 1, 1))) void
observe_back_direct(__global const uint *restrict slice, __global const uchar *restrict mask,
                    __global const float2 *restrict hybrid, __global const float2 *restrict phase,
                    __global const real *restrict magnitude, __global const float *restrict magnitude_mean,
                    __global const float *restrict magnitude_std, __global const float *restrict unit,
                    __global const float *restrict input_gradient, __global float *restrict mask_gradient,
                    uint rows) {
  __local float scratch[DIRECT_GROUP], total[WIDTH];
  __local float2 back[WIDTH];
  uint row = (uint)get_group_id(0), item = (uint)get_local_id(0);
  if (row >= rows) return;
  __global const float2 *lines = hybrid + (size_t)slice[row] * PIXELS;
  __global const real *image = magnitude + (size_t)row * PIXELS;
  __global const float *gradient = input_gradient + (size_t)row * PIXELS;
  input_slope slope = input_slope_of(image, gradient, magnitude_mean[row], magnitude_std[row],
                                     unit[slice[row]], scratch);
  for (uint n = item; n < WIDTH; n += DIRECT_GROUP) total[n] = 0.0f;
  for (uint y = 0u; y < HEIGHT; y++) {
    for (uint x = item; x < WIDTH; x += DIRECT_GROUP) {
      uint k = (x + WIDTH - WIDTH / 2u) % WIDTH, place = y * WIDTH + x;
      float2 sum = (float2)(0.0f, 0.0f);
      for (uint n = 0u; n < WIDTH; n++)
        if (mask[(size_t)row * WIDTH + (n + WIDTH / 2u) % WIDTH])
          sum += times(lines[n * HEIGHT + y], phase[n * k % WIDTH]);
      back[k] = sum_gradient(sum, REAL_LOAD(image, place), gradient[place], slope);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint n = item; n < WIDTH; n += DIRECT_GROUP) {
      float2 sum = (float2)(0.0f, 0.0f);
      for (uint k = 0u; k < WIDTH; k++) sum += times(back[k], phase[n * k % WIDTH]);
      total[n] += times(sum, lines[n * HEIGHT + y]).x;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (uint n = item; n < WIDTH; n += DIRECT_GROUP)
    mask_gradient[(size_t)row * WIDTH + (n + WIDTH / 2u) % WIDTH] = total[n];
}

/* The acquired lines of a coil at a pixel of their row, eight a turn: llvmpipe of Mesa 22.3 ends all loops of a kernel
 * after 65,535 turns. */
INLINE float2 direct_sum(__global const float2 *line, __local const ushort *acquired, uint count,
                         __global const float2 *phase, uint k) {
  float2 sum = (float2)(0.0f, 0.0f);
  uint a = 0u;
  for (; a + 8u <= count; a += 8u)
    for (uint i = 0u; i < 8u; i++) sum += times(line[acquired[a + i] * HEIGHT], phase[acquired[a + i] * k % WIDTH]);
  for (; a < count; a++) sum += times(line[acquired[a] * HEIGHT], phase[acquired[a] * k % WIDTH]);
  return sum;
}

/* Does direct_rows over the images of `coils` coils. */
INLINE moments direct_rows_coils(__global const float2 *lines, uint coils, __local const ushort *acquired,
                                 __local const uint *count, __global const float2 *phase, __global real *image) {
  float scale = 1.0f / sqrt((float)WIDTH);
  moments seen = {0.0f, 0.0f, 0.0f};
  for (uint i = (uint)get_local_id(0); i < PIXELS; i += DIRECT_GROUP) {
    uint y = i / WIDTH, k = (i % WIDTH + WIDTH - WIDTH / 2u) % WIDTH;
    float square = 0.0f;
    for (uint coil = 0u; coil < coils; coil++) {
      __global const float2 *own = lines + (size_t)coil * PIXELS;
      float2 sum = direct_sum(own + y, acquired, *count, phase, k);
      square += sum.x * sum.x + sum.y * sum.y;
    }
    float value = scale * sqrt(square);
    REAL_STORE(image, i, value);
    seen = moments_add(seen, &value, 1u);
  }
  return seen;
}

__kernel __attribute__((reqd_work_group_size(DIRECT_GROUP, 1, 1))) void
observe_coils_direct(__global const uint *restrict slice, __global const uchar *restrict mask,
                     __global const uint *restrict coils, __global const float2 *restrict coil_kspace,
                     __global const uint *restrict cells, __global const float2 *restrict phase,
                     __global const float2 *restrict column_phase, __global float2 *work,
                     __global real *restrict magnitude, __global float *restrict magnitude_mean,
                     __global float *restrict magnitude_std, uint most, uint scans, uint rows) {
  __local moments scratch[DIRECT_GROUP];
  __local uint taken[CELL_WORDS];
  __local ushort chosen[WIDTH];
  __local uchar any[WIDTH];
  __local uint count;
  uint slot = (uint)get_group_id(0);
  if (slot >= rows) return;
  __global float2 *lines = work + (size_t)slot * most * PIXELS;
  for (uint scan = slot; scan < scans; scan += rows) {
    uint at = slice[scan], own = min(coils[at], most);
    __global const float2 *data = coil_kspace + (size_t)at * most * PIXELS;
    for (uint left = 0u; left < WIDTH; left += CELL_BAND) {
      mark_cells(mask + (size_t)scan * ACTIONS, cells, left, taken, any, chosen, &count);
      direct_columns(data, own, left, taken, any, column_phase, lines);
      barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    }
    list_columns(any, chosen, &count);
    moments seen = direct_rows_coils(lines, own, chosen, &count, phase, magnitude + (size_t)scan * PIXELS);
    store_moments(seen, scratch, magnitude_mean, magnitude_std, scan);
  }
}

/* BLOCK rows pass through local memory at a time; PITCH keeps banks apart. */
#ifdef FFT_FIRST
#define FFT_GROUP 256
#define BLOCK (WIDTH == 32 ? 64 : WIDTH == 256 ? 16 : 32)
#define PITCH (WIDTH == 256 ? WIDTH + 17 : WIDTH + 1)
/* Rows that 32 neighbouring items touch in the second stage lie STRIDE apart: no bank is asked twice. */
#define TOGETHER (32 / FFT_FIRST)
#define STRIDE (WIDTH == 256 ? 1 : BLOCK / TOGETHER)

/* Transforms over the first factor (where any value is not 0), turns, puts into local memory. */
INLINE void turn_first(float2 *v, bool any, __global const float2 *phase, uint second, __local float *re,
                       __local float *im) {
  if (any) TRANSFORM(FFT_FIRST, v);
  for (uint k = 0u; k < FFT_FIRST; k++) {
    float2 turned = k ? times(v[k], phase[second * k]) : v[0];
    re[second * FFT_FIRST + k] = turned.x;
    im[second * FFT_FIRST + k] = turned.y;
  }
}

/* Frequencies second, second + FFT_SECOND, ... of one row: transform over them, turn, put into local memory. */
INLINE void first_stage(__global const float2 *lines, __local const uchar *acquired,
                        __global const float2 *phase, uint y, uint second, __local float *re,
                        __local float *im) {
  float2 v[FFT_FIRST];
  bool any = false;
  for (uint f = 0u; f < FFT_FIRST; f++) {
    uint n = f * FFT_SECOND + second;
    bool here = acquired[n] && y < HEIGHT;
    v[f] = here ? lines[n * HEIGHT + y] : (float2)(0.0f, 0.0f);
    any = any || here;
  }
  turn_first(v, any, phase, second, re, im);
}

/* Does the first stage for one column of masked k-space. */
INLINE void first_stage_cells(__global const float2 *data, __local const uint *taken,
                              __global const float2 *column_phase, uint n, uint second, __local float *re,
                              __local float *im) {
  float2 v[FFT_FIRST];
  bool any = false;
  for (uint f = 0u; f < FFT_FIRST; f++) {
    uint line = f * FFT_SECOND + second;
    bool here = is_taken(taken, line, n);
    v[f] = here ? data[line * WIDTH + n] : (float2)(0.0f, 0.0f);
    any = any || here;
  }
  turn_first(v, any, column_phase, second, re, im);
}

/* Every item of the group must call it. */
INLINE moments fft_rows(__global const float2 *lines, __local const uchar *acquired,
                        __global const float2 *phase, __global real *image, __local float *re,
                        __local float *im) {
  uint item = (uint)get_local_id(0);
  float scale = 1.0f / sqrt((float)WIDTH);
  moments seen = {0.0f, 0.0f, 0.0f};
  for (uint top = 0u; top < HEIGHT; top += BLOCK) {
    for (uint i = item; i < BLOCK * FFT_SECOND; i += FFT_GROUP) {
      uint y = i % BLOCK, place = y * PITCH;
      first_stage(lines, acquired, phase, top + y, i / BLOCK, re + place, im + place);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = item; i < BLOCK * FFT_FIRST; i += FFT_GROUP) {
      uint k = i % FFT_FIRST, q = i / FFT_FIRST, y = q % TOGETHER * STRIDE + q / TOGETHER;
      if (WIDTH == 256) y = q;
      if (top + y >= HEIGHT) continue;
      float2 v[FFT_SECOND];
      float value[FFT_SECOND];
      for (uint s = 0u; s < FFT_SECOND; s++) {
        uint place = y * PITCH + s * FFT_FIRST + k;
        v[s] = (float2)(re[place], im[place]);
      }
      TRANSFORM(FFT_SECOND, v);
      for (uint s = 0u; s < FFT_SECOND; s++) {
        uint x = k + FFT_FIRST * ((s + FFT_SECOND / 2u) % FFT_SECOND);
        value[s] = magnitude_of(v[s], scale);
        REAL_STORE(image, (top + y) * WIDTH + x, value[s]);
      }
      seen = moments_add(seen, value, FFT_SECOND);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  return seen;
}

#if defined(__x86_64__) || defined(__aarch64__)
/* ---- a CPU: barriers cost it more than transforms, so one work-item takes a scan, sixteen rows of it at a time ---------- */

#define ROWS_WIDE 16u

/* A frequency or pixel of sixteen rows. */
typedef struct {
  float16 re, im;
} wide_complex;

/* One frequency of `left` rows, sixteen at most; zeros after them. */
INLINE wide_complex load_rows(__global const float2 *from, uint left) {
  float part[2u * ROWS_WIDE] = {0.0f};
  float16 low, high;
  if (left >= ROWS_WIDE) {
    low = vload16(0, (__global const float *)from);
    high = vload16(1, (__global const float *)from);
  } else {
    for (uint r = 0u; r < left; r++) vstore2(from[r], r, part);
    low = vload16(0, part);
    high = vload16(1, part);
  }
  return (wide_complex){(float16)(low.even, high.even), (float16)(low.odd, high.odd)};
}

/* A step of Stockham's transform: pairs of values `apart` steps from each other into neighbours `step` from each other. */
INLINE void transform_step(const wide_complex *from, wide_complex *to, __global const float2 *phase, uint step) {
  const uint half_length = WIDTH / 2u / step;
  for (uint p = 0u; p < half_length; p++) {
    float2 turn = phase[p * step];
    for (uint q = 0u; q < step; q++) {
      wide_complex a = from[q + step * p], b = from[q + step * (p + half_length)];
      float16 re = a.re - b.re, im = a.im - b.im;
      to[q + step * 2u * p] = (wide_complex){a.re + b.re, a.im + b.im};
      to[q + step * (2u * p + 1u)] = (wide_complex){re * turn.x - im * turn.y, re * turn.y + im * turn.x};
    }
  }
}

/* The magnitudes of `left` rows, sixteen at most, from those of every frequency. */
INLINE moments magnitude_rows(__global const float2 *lines, __global const uchar *mask, __global const float2 *phase,
                              uint left, __global real *image) {
  const int16 lane = (int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  wide_complex value[2][WIDTH];
  float16 magnitude[WIDTH], sum = (float16)0.0f, square = (float16)0.0f;
  uint at = 0u;
  for (uint n = 0u; n < WIDTH; n++)
    value[0][n] = load_rows(lines + n * HEIGHT, mask[(n + WIDTH / 2u) % WIDTH] ? left : 0u);
  for (uint step = 1u; step < WIDTH; step *= 2u, at ^= 1u) transform_step(value[at], value[at ^ 1u], phase, step);
  for (uint k = 0u; k < WIDTH; k++) {
    wide_complex v = value[at][k];
    magnitude[k] = 1.0f / sqrt((float)WIDTH) * sqrt(v.re * v.re + v.im * v.im);
    sum += magnitude[k];
  }
  float count = (float)(left * WIDTH), mean = strip_sum(sum.lo + sum.hi) / count;
  for (uint k = 0u; k < WIDTH; k++) square += (magnitude[k] - mean) * (magnitude[k] - mean);
  square = select((float16)0.0f, square, lane < (int)left);
  for (uint r = 0u; r < left; r++)
    for (uint x = 0u; x < WIDTH; x++)
      REAL_STORE(image, r * WIDTH + x, ((const float *)magnitude)[(x + WIDTH / 2u) % WIDTH * ROWS_WIDE + r]);
  return (moments){count, mean, strip_sum(square.lo + square.hi)};
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
observe_fft(__global const uint *restrict slice, __global const uchar *restrict mask, __global const float2 *restrict hybrid,
            __global const float2 *restrict phase, __global real *restrict magnitude, __global float *restrict magnitude_mean,
            __global float *restrict magnitude_std, uint rows) {
  uint row = (uint)get_group_id(0);
  if (row >= rows) return;
  moments seen = {0.0f, 0.0f, 0.0f};
  for (uint y = 0u; y < HEIGHT; y += ROWS_WIDE)
    seen = moments_join(seen, magnitude_rows(hybrid + (size_t)slice[row] * PIXELS + y, mask + (size_t)row * WIDTH, phase,
                                             min(ROWS_WIDE, HEIGHT - y), magnitude + (size_t)row * PIXELS + y * WIDTH));
  magnitude_mean[row] = seen.mean;
  magnitude_std[row] = sqrt(seen.square / (float)(PIXELS - 1));
}

#else

__kernel __attribute__((reqd_work_group_size(FFT_GROUP, 1, 1))) void
observe_fft(__global const uint *restrict slice, __global const uchar *restrict mask,
            __global const float2 *restrict hybrid, __global const float2 *restrict phase,
            __global real *restrict magnitude, __global float *restrict magnitude_mean,
            __global float *restrict magnitude_std, uint rows) {
  __local float re[BLOCK * PITCH], im[BLOCK * PITCH];
  __local moments scratch[FFT_GROUP];
  __local uchar acquired[WIDTH];
  uint row = (uint)get_group_id(0), item = (uint)get_local_id(0);
  if (row >= rows) return;
  for (uint n = item; n < WIDTH; n += FFT_GROUP)
    acquired[n] = mask[(size_t)row * WIDTH + (n + WIDTH / 2u) % WIDTH];
  barrier(CLK_LOCAL_MEM_FENCE);
  moments seen = fft_rows(hybrid + (size_t)slice[row] * PIXELS, acquired, phase,
                          magnitude + (size_t)row * PIXELS, re, im);
  store_moments(seen, scratch, magnitude_mean, magnitude_std, row);
}

#endif

/* Columns of masked k-space into hybrid data [frequency][row]. Every item of the group must call it. */
INLINE void fft_columns(__global const float2 *data, __local const uint *taken, __global const float2 *column_phase,
                        __global float2 *lines, __local float *re, __local float *im) {
  uint item = (uint)get_local_id(0);
  float scale = 1.0f / sqrt((float)WIDTH);
  for (uint left = 0u; left < WIDTH; left += BLOCK) {
    for (uint i = item; i < BLOCK * FFT_SECOND; i += FFT_GROUP) {
      uint n = i % BLOCK, place = n * PITCH;
      if (left + n < WIDTH)
        first_stage_cells(data, taken, column_phase, left + n, i / BLOCK, re + place, im + place);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = item; i < BLOCK * FFT_FIRST; i += FFT_GROUP) {
      uint k = i % FFT_FIRST, q = i / FFT_FIRST, n = q % TOGETHER * STRIDE + q / TOGETHER;
      if (WIDTH == 256) n = q;
      if (left + n >= WIDTH) continue;
      float2 v[FFT_SECOND];
      for (uint s = 0u; s < FFT_SECOND; s++) {
        uint place = n * PITCH + s * FFT_FIRST + k;
        v[s] = (float2)(re[place], im[place]);
      }
      TRANSFORM(FFT_SECOND, v);
      for (uint s = 0u; s < FFT_SECOND; s++)
        lines[(left + n) * WIDTH + k + FFT_FIRST * ((s + FFT_SECOND / 2u) % FFT_SECOND)] = scale * v[s];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}

__kernel __attribute__((reqd_work_group_size(FFT_GROUP, 1, 1))) void
observe_cells_fft(__global const uint *restrict slice, __global const uchar *restrict mask,
                  __global const float2 *restrict kspace, __global const uint *restrict cells,
                  __global const float2 *restrict phase, __global const float2 *restrict column_phase,
                  __global float2 *work, __global real *restrict magnitude,
                  __global float *restrict magnitude_mean, __global float *restrict magnitude_std, uint scans,
                  uint rows) {
  __local float re[BLOCK * PITCH], im[BLOCK * PITCH];
  __local moments scratch[FFT_GROUP];
  __local uint taken[CELL_WORDS];
  __local ushort chosen[WIDTH];
  __local uchar acquired[WIDTH];
  __local uint count;
  uint slot = (uint)get_group_id(0);
  if (slot >= rows) return;
  __global float2 *lines = work + (size_t)slot * PIXELS;
  for (uint scan = slot; scan < scans; scan += rows) {
    mark_cells(mask + (size_t)scan * ACTIONS, cells, 0u, taken, acquired, chosen, &count);
    fft_columns(kspace + (size_t)slice[scan] * PIXELS, taken, column_phase, lines, re, im);
    barrier(CLK_GLOBAL_MEM_FENCE);
    moments seen = fft_rows(lines, acquired, phase, magnitude + (size_t)scan * PIXELS, re, im);
    store_moments(seen, scratch, magnitude_mean, magnitude_std, scan);
  }
}

/* Into local memory: the gradient of the sums of BLOCK rows from `top` on, transformed over the second factor of the
 * pixels and turned. An item overwrites only what it has read. */
INLINE void back_second(__global const real *image, __global const float *gradient,
                        __global const float2 *phase, input_slope slope, uint top, __local float *re,
                        __local float *im) {
  for (uint i = (uint)get_local_id(0); i < BLOCK * FFT_FIRST; i += FFT_GROUP) {
    uint k = i % FFT_FIRST, q = i / FFT_FIRST, y = q % TOGETHER * STRIDE + q / TOGETHER;
    if (WIDTH == 256) y = q;
    if (top + y >= HEIGHT) continue;
    float2 v[FFT_SECOND];
    for (uint s = 0u; s < FFT_SECOND; s++) {
      uint place = y * PITCH + s * FFT_FIRST + k;
      v[s] = (float2)(re[place], im[place]);
    }
    TRANSFORM(FFT_SECOND, v);
    for (uint s = 0u; s < FFT_SECOND; s++) {
      uint place = (top + y) * WIDTH + k + FFT_FIRST * ((s + FFT_SECOND / 2u) % FFT_SECOND);
      v[s] = sum_gradient(v[s], REAL_LOAD(image, place), gradient[place], slope);
    }
    TRANSFORM(FFT_SECOND, v);
    for (uint s = 0u; s < FFT_SECOND; s++) {
      float2 turned = times(v[s], phase[s * k]);
      uint place = y * PITCH + s * FFT_FIRST + k;
      re[place] = turned.x;
      im[place] = turned.y;
    }
  }
}

/* The first factor of the pixels, and what every line of row y has to do with it. */
INLINE void back_first(__global const float2 *lines, uint y, uint second, __local const float *re,
                       __local const float *im, float *total) {
  float2 v[FFT_FIRST];
  for (uint k = 0u; k < FFT_FIRST; k++) v[k] = (float2)(re[second * FFT_FIRST + k], im[second * FFT_FIRST + k]);
  TRANSFORM(FFT_FIRST, v);
  for (uint f = 0u; f < FFT_FIRST; f++) total[f] += times(v[f], lines[(f * FFT_SECOND + second) * HEIGHT + y]).x;
}

__kernel __attribute__((reqd_work_group_size(FFT_GROUP, 1, 1))) void
observe_back_fft(__global const uint *restrict slice, __global const uchar *restrict mask,
                 __global const float2 *restrict hybrid, __global const float2 *restrict phase,
                 __global const real *restrict magnitude, __global const float *restrict magnitude_mean,
                 __global const float *restrict magnitude_std, __global const float *restrict unit,
                 __global const float *restrict input_gradient, __global float *restrict mask_gradient,
                 uint rows) {
  __local float re[BLOCK * PITCH], im[BLOCK * PITCH], scratch[FFT_GROUP];
  __local uchar acquired[WIDTH];
  uint row = (uint)get_group_id(0), item = (uint)get_local_id(0), y = item % BLOCK, second = item / BLOCK;
  if (row >= rows) return;
  __global const float2 *lines = hybrid + (size_t)slice[row] * PIXELS;
  __global const real *image = magnitude + (size_t)row * PIXELS;
  __global const float *gradient = input_gradient + (size_t)row * PIXELS;
  for (uint n = item; n < WIDTH; n += FFT_GROUP)
    acquired[n] = mask[(size_t)row * WIDTH + (n + WIDTH / 2u) % WIDTH];
  input_slope slope = input_slope_of(image, gradient, magnitude_mean[row], magnitude_std[row],
                                     unit[slice[row]], scratch);
  float total[FFT_FIRST];
  for (uint f = 0u; f < FFT_FIRST; f++) total[f] = 0.0f;
  for (uint top = 0u; top < HEIGHT; top += BLOCK) {
    first_stage(lines, acquired, phase, top + y, second, re + y * PITCH, im + y * PITCH);
    barrier(CLK_LOCAL_MEM_FENCE);
    back_second(image, gradient, phase, slope, top, re, im);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (top + y < HEIGHT) back_first(lines, top + y, second, re + y * PITCH, im + y * PITCH, total);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (uint f = 0u; f < FFT_FIRST; f++) re[y * PITCH + f * FFT_SECOND + second] = total[f];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint n = item; n < WIDTH; n += FFT_GROUP) {
    float sum = 0.0f;
    for (uint part = 0u; part < BLOCK; part++) sum += re[part * PITCH + n];
    mask_gradient[(size_t)row * WIDTH + (n + WIDTH / 2u) % WIDTH] = sum;
  }
}

/* Values that an item has of BLOCK rows. */
#define OWN_ROWS (BLOCK * FFT_FIRST / FFT_GROUP)

/* Does fft_rows over the images of `coils` coils. Every item of the group must call it. */
INLINE moments fft_rows_coils(__global const float2 *lines, uint coils, __local const uchar *acquired,
                              __global const float2 *phase, __global real *image, __local float *re,
                              __local float *im) {
  uint item = (uint)get_local_id(0);
  float scale = 1.0f / sqrt((float)WIDTH);
  moments seen = {0.0f, 0.0f, 0.0f};
  for (uint top = 0u; top < HEIGHT; top += BLOCK) {
    float square[OWN_ROWS][FFT_SECOND];
    for (uint j = 0u; j < OWN_ROWS; j++)
      for (uint s = 0u; s < FFT_SECOND; s++) square[j][s] = 0.0f;
    for (uint coil = 0u; coil < coils; coil++) {
      for (uint i = item; i < BLOCK * FFT_SECOND; i += FFT_GROUP) {
        uint y = i % BLOCK, place = y * PITCH;
        first_stage(lines + (size_t)coil * PIXELS, acquired, phase, top + y, i / BLOCK, re + place, im + place);
      }
      barrier(CLK_LOCAL_MEM_FENCE);
      for (uint j = 0u; j < OWN_ROWS; j++) {
        uint i = item + j * FFT_GROUP, k = i % FFT_FIRST, q = i / FFT_FIRST;
        uint y = WIDTH == 256 ? q : q % TOGETHER * STRIDE + q / TOGETHER;
        float2 v[FFT_SECOND];
        for (uint s = 0u; s < FFT_SECOND; s++) {
          uint place = y * PITCH + s * FFT_FIRST + k;
          v[s] = (float2)(re[place], im[place]);
        }
        TRANSFORM(FFT_SECOND, v);
        for (uint s = 0u; s < FFT_SECOND; s++) square[j][s] += v[s].x * v[s].x + v[s].y * v[s].y;
      }
      barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (uint j = 0u; j < OWN_ROWS; j++) {
      uint i = item + j * FFT_GROUP, k = i % FFT_FIRST, q = i / FFT_FIRST;
      uint y = WIDTH == 256 ? q : q % TOGETHER * STRIDE + q / TOGETHER;
      float value[FFT_SECOND];
      if (top + y >= HEIGHT) continue;
      for (uint s = 0u; s < FFT_SECOND; s++) {
        value[s] = scale * sqrt(square[j][s]);
        REAL_STORE(image, (top + y) * WIDTH + k + FFT_FIRST * ((s + FFT_SECOND / 2u) % FFT_SECOND), value[s]);
      }
      seen = moments_add(seen, value, FFT_SECOND);
    }
  }
  return seen;
}

__kernel __attribute__((reqd_work_group_size(FFT_GROUP, 1, 1))) void
observe_coils_fft(__global const uint *restrict slice, __global const uchar *restrict mask,
                  __global const uint *restrict coils, __global const float2 *restrict coil_kspace,
                  __global const uint *restrict cells, __global const float2 *restrict phase,
                  __global const float2 *restrict column_phase, __global float2 *work,
                  __global real *restrict magnitude, __global float *restrict magnitude_mean,
                  __global float *restrict magnitude_std, uint most, uint scans, uint rows) {
  __local float re[BLOCK * PITCH], im[BLOCK * PITCH];
  __local moments scratch[FFT_GROUP];
  __local uint taken[CELL_WORDS];
  __local ushort chosen[WIDTH];
  __local uchar acquired[WIDTH];
  __local uint count;
  uint slot = (uint)get_group_id(0);
  if (slot >= rows) return;
  __global float2 *lines = work + (size_t)slot * most * PIXELS;
  for (uint scan = slot; scan < scans; scan += rows) {
    uint at = slice[scan], own = min(coils[at], most);
    mark_cells(mask + (size_t)scan * ACTIONS, cells, 0u, taken, acquired, chosen, &count);
    for (uint coil = 0u; coil < own; coil++)
      fft_columns(coil_kspace + ((size_t)at * most + coil) * PIXELS, taken, column_phase,
                  lines + (size_t)coil * PIXELS, re, im);
    barrier(CLK_GLOBAL_MEM_FENCE);
    moments seen = fft_rows_coils(lines, own, acquired, phase, magnitude + (size_t)scan * PIXELS, re, im);
    store_moments(seen, scratch, magnitude_mean, magnitude_std, scan);
  }
}
#endif

/* ---- coils combined by maps -------------------------------------------------------------------------------- */

/* The part of a coil in a pixel's sum. */
INLINE float2 through_map(float2 map, float2 value) {
  return (float2)(map.x * value.x + map.y * value.y, map.x * value.y - map.y * value.x);
}

/* The magnitude of a pixel's sum over all coils, `scale` times. */
INLINE float combined(float2 sum, __global const float2 *maps, uint coils, uint pixel, float scale) {
  float square = 0.0f;
  for (uint coil = 0u; coil < coils; coil++) {
    float2 map = maps[(size_t)coil * PIXELS + pixel];
    square += map.x * map.x + map.y * map.y;
  }
  return square > 0.0f ? magnitude_of(sum, scale) / square : 0.0f;
}

#ifdef FFT_FIRST
/* Pixel of value s of the transform of row y that the item k has. */
#define FFT_PIXEL(y, k, s) ((y) * WIDTH + (k) + FFT_FIRST * (((s) + FFT_SECOND / 2u) % FFT_SECOND))

/* Adds what a coil sees of BLOCK rows. */
INLINE void add_coil(__local const float *re, __local const float *im, __global const float2 *map, uint top,
                     float2 sum[OWN_ROWS][FFT_SECOND]) {
  for (uint j = 0u; j < OWN_ROWS; j++) {
    uint i = (uint)get_local_id(0) + j * FFT_GROUP, k = i % FFT_FIRST, q = i / FFT_FIRST;
    uint y = WIDTH == 256 ? q : q % TOGETHER * STRIDE + q / TOGETHER;
    float2 v[FFT_SECOND];
    if (top + y >= HEIGHT) continue;
    for (uint s = 0u; s < FFT_SECOND; s++) {
      uint place = y * PITCH + s * FFT_FIRST + k;
      v[s] = (float2)(re[place], im[place]);
    }
    TRANSFORM(FFT_SECOND, v);
    for (uint s = 0u; s < FFT_SECOND; s++) sum[j][s] += through_map(map[FFT_PIXEL(top + y, k, s)], v[s]);
  }
}

/* Does fft_rows over the images of `coils` coils. Every item of the group must call it. */
INLINE moments fft_rows_maps(__global const float2 *lines, __global const float2 *maps, uint coils,
                             __local const uchar *acquired, __global const float2 *phase, __global real *image,
                             __local float *re, __local float *im) {
  uint item = (uint)get_local_id(0);
  moments seen = {0.0f, 0.0f, 0.0f};
  for (uint top = 0u; top < HEIGHT; top += BLOCK) {
    float2 sum[OWN_ROWS][FFT_SECOND];
    for (uint j = 0u; j < OWN_ROWS; j++)
      for (uint s = 0u; s < FFT_SECOND; s++) sum[j][s] = (float2)(0.0f, 0.0f);
    for (uint coil = 0u; coil < coils; coil++) {
      for (uint i = item; i < BLOCK * FFT_SECOND; i += FFT_GROUP) {
        uint y = i % BLOCK, place = y * PITCH;
        first_stage(lines + (size_t)coil * PIXELS, acquired, phase, top + y, i / BLOCK, re + place, im + place);
      }
      barrier(CLK_LOCAL_MEM_FENCE);
      add_coil(re, im, maps + (size_t)coil * PIXELS, top, sum);
      barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (uint j = 0u; j < OWN_ROWS; j++) {
      uint i = item + j * FFT_GROUP, k = i % FFT_FIRST, q = i / FFT_FIRST;
      uint y = WIDTH == 256 ? q : q % TOGETHER * STRIDE + q / TOGETHER;
      float value[FFT_SECOND];
      if (top + y >= HEIGHT) continue;
      for (uint s = 0u; s < FFT_SECOND; s++) {
        uint pixel = FFT_PIXEL(top + y, k, s);
        value[s] = combined(sum[j][s], maps, coils, pixel, 1.0f / sqrt((float)WIDTH));
        REAL_STORE(image, pixel, value[s]);
      }
      seen = moments_add(seen, value, FFT_SECOND);
    }
  }
  return seen;
}

__kernel __attribute__((reqd_work_group_size(FFT_GROUP, 1, 1))) void
observe_maps_fft(__global const uint *restrict slice, __global const uchar *restrict mask,
                 __global const uint *restrict coils, __global const float2 *restrict coil_kspace,
                 __global const float2 *restrict maps, __global const uint *restrict cells,
                 __global const float2 *restrict phase, __global const float2 *restrict column_phase,
                 __global float2 *work, __global real *restrict magnitude,
                 __global float *restrict magnitude_mean, __global float *restrict magnitude_std, uint most,
                 uint scans, uint rows) {
  __local float re[BLOCK * PITCH], im[BLOCK * PITCH];
  __local moments scratch[FFT_GROUP];
  __local uint taken[CELL_WORDS];
  __local ushort chosen[WIDTH];
  __local uchar acquired[WIDTH];
  __local uint count;
  uint slot = (uint)get_group_id(0);
  if (slot >= rows) return;
  __global float2 *lines = work + (size_t)slot * most * PIXELS;
  for (uint scan = slot; scan < scans; scan += rows) {
    uint at = slice[scan], own = min(coils[at], most);
    mark_cells(mask + (size_t)scan * ACTIONS, cells, 0u, taken, acquired, chosen, &count);
    for (uint coil = 0u; coil < own; coil++)
      fft_columns(coil_kspace + ((size_t)at * most + coil) * PIXELS, taken, column_phase,
                  lines + (size_t)coil * PIXELS, re, im);
    barrier(CLK_GLOBAL_MEM_FENCE);
    moments seen = fft_rows_maps(lines, maps + (size_t)at * most * PIXELS, own, acquired, phase,
                                 magnitude + (size_t)scan * PIXELS, re, im);
    store_moments(seen, scratch, magnitude_mean, magnitude_std, scan);
  }
}
#endif

#define SETS_MOST 2u

/* Does direct_rows over the images of `coils` coils, combined by `sets` of maps, of which each has room for `most` coils. */
INLINE moments direct_rows_maps(__global const float2 *lines, __global const float2 *maps, uint coils, uint most, uint sets,
                                __local const ushort *acquired, __local const uint *count,
                                __global const float2 *phase, __global real *image) {
  moments seen = {0.0f, 0.0f, 0.0f};
  for (uint i = (uint)get_local_id(0); i < PIXELS; i += DIRECT_GROUP) {
    uint y = i / WIDTH, k = (i % WIDTH + WIDTH - WIDTH / 2u) % WIDTH;
    float2 all[SETS_MOST] = {(float2)(0.0f, 0.0f), (float2)(0.0f, 0.0f)};
    float value = 0.0f;
    for (uint coil = 0u; coil < coils; coil++) {
      __global const float2 *own = lines + (size_t)coil * PIXELS;
      float2 sum = direct_sum(own + y, acquired, *count, phase, k);
      for (uint set = 0u; set < sets; set++) all[set] += through_map(maps[(size_t)(set * most + coil) * PIXELS + i], sum);
    }
    for (uint set = 0u; set < sets; set++) {
      float one = combined(all[set], maps + (size_t)set * most * PIXELS, coils, i, 1.0f / sqrt((float)WIDTH));
      value = set ? sqrt(value * value + one * one) : one;
    }
    REAL_STORE(image, i, value);
    seen = moments_add(seen, &value, 1u);
  }
  return seen;
}

__kernel __attribute__((reqd_work_group_size(DIRECT_GROUP, 1, 1))) void
observe_maps_direct(__global const uint *restrict slice, __global const uchar *restrict mask,
                    __global const uint *restrict coils, __global const float2 *restrict coil_kspace,
                    __global const float2 *restrict maps, __global const uint *restrict cells,
                    __global const float2 *restrict phase, __global const float2 *restrict column_phase,
                    __global float2 *work, __global real *restrict magnitude, __global float *restrict magnitude_mean,
                    __global float *restrict magnitude_std, uint most, uint scans, uint sets, uint rows) {
  __local moments scratch[DIRECT_GROUP];
  __local uint taken[CELL_WORDS];
  __local ushort chosen[WIDTH];
  __local uchar any[WIDTH];
  __local uint count;
  uint slot = (uint)get_group_id(0);
  if (slot >= rows) return;
  __global float2 *lines = work + (size_t)slot * most * PIXELS;
  for (uint scan = slot; scan < scans; scan += rows) {
    uint at = slice[scan], own = min(coils[at], most);
    __global const float2 *data = coil_kspace + (size_t)at * most * PIXELS;
    for (uint left = 0u; left < WIDTH; left += CELL_BAND) {
      mark_cells(mask + (size_t)scan * ACTIONS, cells, left, taken, any, chosen, &count);
      direct_columns(data, own, left, taken, any, column_phase, lines);
      barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    }
    list_columns(any, chosen, &count);
    moments seen = direct_rows_maps(lines, maps + (size_t)at * sets * most * PIXELS, own, most, sets, chosen, &count, phase,
                                    magnitude + (size_t)scan * PIXELS);
    store_moments(seen, scratch, magnitude_mean, magnitude_std, scan);
  }
}
