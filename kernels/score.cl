/* Similarity of a reconstruction with its slice (PROTOCOL 1.9). The target is the clamped un-normalised image
 * everywhere. Images are divided by the data range L first, so that C1 and C2 are 0.01^2 and 0.03^2. */

typedef struct {
  __global const float *reconstruction, *image;
  float mean, deviation, scale;
} pair_of_images;

/* The weight at place d of the window, 0 to its width. */
INLINE float window_weight(bool uniform_window, int d) { return uniform_window ? 1.0f / 7.0f : gaussian[d]; }

INLINE pair_of_images find_pair(uint row, uint at, __global const float *reconstruction,
                                __global const float *image, __global const float *mean,
                                __global const float *std, __global const float *data_range) {
  pair_of_images pair = {reconstruction + (size_t)row * PIXELS, image + (size_t)at * PIXELS, mean[at],
                         std[at], inverse_range(data_range[at])};
  return pair;
}

#if defined(__x86_64__) || defined(__aarch64__)
/* ---- a CPU: barriers cost it more than sums, so one work-item takes a pair of images -------------------------------- */

#define GROUP 1
#define OPEN_TILES
#define OPEN_SCRATCH
#define SUM_MAP score_map
#define ERROR_SUMS error_sums

#define SCORE_STRIP 16
#define SCORE_STRIPS (WIDTH <= 32 ? 2 : 4) /* of a column of the image, whose sums of a window's lines the cache holds */
#define SCORE_WIDE (SCORE_STRIPS * SCORE_STRIP)
#define SCORE_HALO (SCORE_WIDE + SCORE_STRIP) /* with the window's radius on either side */
#define SCORE_WINDOW (2 * GAUSSIAN_RADIUS + 1)
#define SHARED_MOMENTS 4 /* sums of x, y, xx + yy, xy: the map needs xx and yy together only */

/* The terms of a line's moments, [moment][x], x from `radius` before `left` on; outside the image all are zero. */
INLINE void score_terms(pair_of_images pair, int left, int y, int radius, float *terms) {
  int start = max(left - radius, 0), end = min(left + SCORE_WIDE + radius, WIDTH);
  for (int i = 0; i < SHARED_MOMENTS * SCORE_HALO; i++) terms[i] = 0.0f;
  for (int x = start; x < end; x++) {
    int place = y * WIDTH + x, at = x - left + radius;
    float a = pair.reconstruction[place] * pair.scale;
    float b = target_pixel(pair.image[place], pair.mean, pair.deviation) * pair.scale;
    terms[at] = a;
    terms[SCORE_HALO + at] = b;
    terms[2 * SCORE_HALO + at] = a * a + b * b;
    terms[3 * SCORE_HALO + at] = a * b;
  }
}

/* Windowed sums along x: sums[moment][x]. */
INLINE void score_line(const float *terms, int radius, bool uniform_window, float *sums) {
  for (int x = 0; x < SCORE_WIDE; x += SCORE_STRIP) {
    float16 sum[SHARED_MOMENTS] = {(float16)0.0f, (float16)0.0f, (float16)0.0f, (float16)0.0f};
    for (int d = 0; d <= 2 * radius; d++) {
#pragma unroll
      for (int m = 0; m < SHARED_MOMENTS; m++)
        sum[m] += window_weight(uniform_window, d) * vload16(0, terms + m * SCORE_HALO + x + d);
    }
#pragma unroll
    for (int m = 0; m < SHARED_MOMENTS; m++) vstore16(sum[m], 0, sums + m * SCORE_WIDE + x);
  }
}

/* The map's values at a strip of line y, from the sums along x of the lines around it; line l is in place l % SCORE_WINDOW. */
INLINE float16 score_strip(int y, int x, int radius, bool uniform_window, float unbiased, const float *lines) {
  const float c1 = 1e-4f, c2 = 9e-4f;
  float16 m[SHARED_MOMENTS] = {(float16)0.0f, (float16)0.0f, (float16)0.0f, (float16)0.0f};
  for (int line = max(y - radius, 0); line <= min(y + radius, HEIGHT - 1); line++) {
    const float *sums = lines + line % SCORE_WINDOW * SHARED_MOMENTS * SCORE_WIDE + x;
    float w = window_weight(uniform_window, line - y + radius);
#pragma unroll
    for (int k = 0; k < SHARED_MOMENTS; k++) m[k] += w * vload16(0, sums + k * SCORE_WIDE);
  }
  float16 product = m[0] * m[1], squares = m[0] * m[0] + m[1] * m[1];
  return (2.0f * product + c1) * (2.0f * unbiased * (m[3] - product) + c2) /
         ((squares + c1) * (unbiased * (m[2] - squares) + c2));
}

/* Sum of the map over a line's pixels from `left` on that are at least `margin` away from the edge. */
INLINE float16 score_row(int left, int y, int radius, bool uniform_window, float unbiased, int margin, const float *lines) {
  const int16 lane = (int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  float16 total = (float16)0.0f;
  for (int i = 0; i < SCORE_WIDE && left + i < WIDTH; i += SCORE_STRIP) {
    int16 x = lane + (left + i);
    float16 value = score_strip(y, i, radius, uniform_window, unbiased, lines);
    total += select((float16)0.0f, value, x >= margin && x < WIDTH - margin);
  }
  return total;
}

/* Sum of the map over the pixels at least `margin` away from the edge. */
INLINE float score_map(pair_of_images pair, int radius, bool uniform_window, float unbiased, int margin) {
  float lines[SCORE_WINDOW * SHARED_MOMENTS * SCORE_WIDE], terms[SHARED_MOMENTS * SCORE_HALO], total = 0.0f;
  for (int left = 0; left < WIDTH; left += SCORE_WIDE) {
    float16 sum = (float16)0.0f;
    for (int line = 0; line < HEIGHT + radius; line++) {
      int y = line - radius; /* whose window ends with the line */
      if (line < HEIGHT) {
        score_terms(pair, left, line, radius, terms);
        score_line(terms, radius, uniform_window, lines + line % SCORE_WINDOW * SHARED_MOMENTS * SCORE_WIDE);
      }
      if (y >= margin && y < HEIGHT - margin) sum += score_row(left, y, radius, uniform_window, unbiased, margin, lines);
    }
    total += strip_sum(sum.lo + sum.hi);
  }
  return total;
}

/* Sixteen pixels of a line from x on; zeros past its end. */
INLINE float16 score_pixels(__global const float *line, int x) {
  if (x + SCORE_STRIP <= WIDTH) return vload16(0, line + x);
  float part[SCORE_STRIP] = {0.0f};
  for (int k = 0; x + k < WIDTH; k++) part[k] = line[x + k];
  return vload16(0, part);
}

/* target_pixel of sixteen pixels of a line from x on; zeros past its end. */
INLINE float16 score_targets(pair_of_images pair, int y, int x) {
  const int16 lane = (int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  float16 pixel = score_pixels(pair.image + y * WIDTH, x);
#ifndef TARGET_PLAIN
  pixel = clamp((pixel - pair.mean) / (pair.deviation + 1e-11f), -6.0f, 6.0f);
#endif
  pixel = pixel * pair.deviation + pair.mean;
  return x + SCORE_STRIP <= WIDTH ? pixel : select((float16)0.0f, pixel, lane < WIDTH - x);
}

/* Sums over the image: of squared gaps, of those with the reconstruction clamped as in clamped_pixel, of squared targets. */
INLINE float3 error_sums(pair_of_images pair) {
  float3 total = (float3)0.0f;
  for (int y = 0; y < HEIGHT; y++) {
    float16 plain = (float16)0.0f, clamped = (float16)0.0f, power = (float16)0.0f;
    for (int x = 0; x < WIDTH; x += SCORE_STRIP) {
      float16 found = score_pixels(pair.reconstruction + y * WIDTH, x), target = score_targets(pair, y, x);
      float16 bounded = select(select(found, (float16)10.0f, found > 10.0f), (float16)0.0f, found < 0.0f);
      float16 gap = (found - target) * pair.scale, gap_bounded = (bounded - target) * pair.scale;
      plain += gap * gap;
      clamped += gap_bounded * gap_bounded;
      power += target * pair.scale * target * pair.scale;
    }
    total += (float3)(strip_sum(plain.lo + plain.hi), strip_sum(clamped.lo + clamped.hi), strip_sum(power.lo + power.hi));
  }
  return total;
}

#else
/* ---- a GPU ----------------------------------------------------------------------------------------------------------- */

#define GROUP 256
#define TILE_X 32
#define TILE_Y 16
#define RADIUS_MOST GAUSSIAN_RADIUS
#define HALO_X (TILE_X + 2 * RADIUS_MOST)
#define HALO_Y (TILE_Y + 2 * RADIUS_MOST)
#define OPEN_SCRATCH __local float scratch[GROUP];
#define OPEN_TILES OPEN_SCRATCH __local float a[HALO_X * HALO_Y], b[HALO_X * HALO_Y], sums[MOMENTS * TILE_X * HALO_Y];
#define SUM_MAP(pair, radius, uniform, cover, border)                                                                    \
  group_sum(sum_map(pair, radius, uniform, cover, border, a, b, sums), scratch)
#define ERROR_SUMS(pair) error_sums(pair, scratch)

/* Loads one tile with its halo; outside the image both are zero. */
INLINE void load_tile(pair_of_images pair, int left, int top, int radius, __local float *a, __local float *b) {
  int width = TILE_X + 2 * radius, height = TILE_Y + 2 * radius;
  for (int i = (int)get_local_id(0); i < width * height; i += GROUP) {
    int x = left - radius + i % width, y = top - radius + i / width;
    bool inside = x >= 0 && x < WIDTH && y >= 0 && y < HEIGHT;
    int place = y * WIDTH + x;
    a[i] = inside ? pair.reconstruction[place] * pair.scale : 0.0f;
    b[i] = inside ? target_pixel(pair.image[place], pair.mean, pair.deviation) * pair.scale : 0.0f;
  }
}

/* Windowed sums along x: sums[moment][y][x]. */
INLINE void filter_rows(int radius, bool uniform_window, __local const float *a, __local const float *b,
                        __local float *sums) {
  int width = TILE_X + 2 * radius, height = TILE_Y + 2 * radius;
  for (int i = (int)get_local_id(0); i < TILE_X * height; i += GROUP) {
    int start = i / TILE_X * width + i % TILE_X;
    float m[MOMENTS] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
    for (int d = 0; d <= 2 * radius; d++)
      add_products(m, window_weight(uniform_window, d), a[start + d], b[start + d]);
    for (int k = 0; k < MOMENTS; k++) sums[k * TILE_X * HALO_Y + i] = m[k];
  }
}

/* The map's value at one pixel of the tile, from the sums along x. `unbiased` is the factor of variances. */
INLINE float map_value(int x, int y, int radius, bool uniform_window, float unbiased,
                       __local const float *sums) {
  const float c1 = 1e-4f, c2 = 9e-4f;
  float m[MOMENTS] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
  for (int d = 0; d <= 2 * radius; d++) {
    float w = window_weight(uniform_window, d);
    for (int k = 0; k < MOMENTS; k++) m[k] += w * sums[k * TILE_X * HALO_Y + (y + d) * TILE_X + x];
  }
  float xx = unbiased * (m[2] - m[0] * m[0]), yy = unbiased * (m[3] - m[1] * m[1]);
  float xy = unbiased * (m[4] - m[0] * m[1]);
  return (2.0f * m[0] * m[1] + c1) * (2.0f * xy + c2) /
         ((m[0] * m[0] + m[1] * m[1] + c1) * (xx + yy + c2));
}

/* Sum of the map over the pixels at least `margin` away from the edge, for one work-item. */
INLINE float sum_map(pair_of_images pair, int radius, bool uniform_window, float unbiased, int margin,
                     __local float *a, __local float *b, __local float *sums) {
  float total = 0.0f;
  for (int top = 0; top < HEIGHT; top += TILE_Y)
    for (int left = 0; left < WIDTH; left += TILE_X) {
      load_tile(pair, left, top, radius, a, b);
      barrier(CLK_LOCAL_MEM_FENCE);
      filter_rows(radius, uniform_window, a, b, sums);
      barrier(CLK_LOCAL_MEM_FENCE);
      for (int i = (int)get_local_id(0); i < TILE_X * TILE_Y; i += GROUP) {
        int x = i % TILE_X, y = i / TILE_X;
        bool counts = left + x >= margin && left + x < WIDTH - margin && top + y >= margin &&
                      top + y < HEIGHT - margin;
        if (counts) total += map_value(x, y, radius, uniform_window, unbiased, sums);
      }
    }
  return total;
}

/* The clamp of the published PSNR, which lets what is no number pass: clamp() would make a number of it. */
INLINE float clamped_pixel(float pixel) { return pixel < 0.0f ? 0.0f : pixel > 10.0f ? 10.0f : pixel; }

/* Sums over the image: of squared gaps, of those with the reconstruction clamped, of squared targets. */
INLINE float3 error_sums(pair_of_images pair, __local float *scratch) {
  float plain = 0.0f, clamped = 0.0f, power = 0.0f;
  for (uint i = (uint)get_local_id(0); i < PIXELS; i += GROUP) {
    float target = target_pixel(pair.image[i], pair.mean, pair.deviation);
    float gap = (pair.reconstruction[i] - target) * pair.scale;
    float gap_clamped = (clamped_pixel(pair.reconstruction[i]) - target) * pair.scale;
    plain += gap * gap;
    clamped += gap_clamped * gap_clamped;
    power += target * pair.scale * target * pair.scale;
  }
  plain = group_sum(plain, scratch);
  clamped = group_sum(clamped, scratch);
  power = group_sum(power, scratch);
  return (float3)(plain, clamped, power);
}

#endif

/* 11x11 Gaussian window, zeros outside, biased variances, mean over all pixels. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
score_ssim(__global const uint *restrict slice, __global const float *restrict reconstruction,
           __global const float *restrict image, __global const float *restrict mean,
           __global const float *restrict std, __global const float *restrict data_range,
           __global float *restrict ssim, uint rows) {
  OPEN_TILES
  uint row = (uint)get_group_id(0);
  if (row >= rows) return;
  pair_of_images pair = find_pair(row, slice[row], reconstruction, image, mean, std, data_range);
  float total = SUM_MAP(pair, 5, false, 1.0f, 0);
  if (get_local_id(0) == 0) ssim[row] = total / (float)PIXELS;
}

/* 7x7 uniform window, whole windows only, sample covariances (factor 49/48): scikit-image's default. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
score_ssim_uniform(__global const uint *restrict slice, __global const float *restrict reconstruction,
                   __global const float *restrict image, __global const float *restrict mean,
                   __global const float *restrict std, __global const float *restrict data_range,
                   __global float *restrict ssim_uniform, uint rows) {
  OPEN_TILES
  uint row = (uint)get_group_id(0);
  if (row >= rows) return;
  pair_of_images pair = find_pair(row, slice[row], reconstruction, image, mean, std, data_range);
  float total = SUM_MAP(pair, 3, true, 49.0f / 48.0f, 3);
  if (get_local_id(0) == 0) ssim_uniform[row] = total / (float)((HEIGHT - 6) * (WIDTH - 6));
}

INLINE float decibel(float mean_square) { return -10.0f * log10(mean_square + 1e-8f); }

/* Peak signal-to-noise ratio with the reconstruction clamped to [0, 10] and as it is, normalised and mean
 * squared error. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
score_error(__global const uint *restrict slice, __global const float *restrict reconstruction,
            __global const float *restrict image, __global const float *restrict mean,
            __global const float *restrict std, __global const float *restrict data_range,
            __global float *restrict psnr, __global float *restrict psnr_unclamped,
            __global float *restrict nmse, __global float *restrict mse, uint rows) {
  OPEN_SCRATCH
  uint row = (uint)get_group_id(0);
  if (row >= rows) return;
  pair_of_images pair = find_pair(row, slice[row], reconstruction, image, mean, std, data_range);
  float3 sums = ERROR_SUMS(pair);
  float plain = sums.x, clamped = sums.y, power = sums.z;
  if (get_local_id(0)) return;
  psnr[row] = decibel(clamped / (float)PIXELS);
  psnr_unclamped[row] = decibel(plain / (float)PIXELS);
  nmse[row] = power > 0.0f ? plain / power : (plain > 0.0f ? INFINITY : 0.0f);
  mse[row] = plain / (float)PIXELS / (pair.scale * pair.scale);
}

/* Sparse: the quality at the end. Dense: the gain since the last step. Compat: the quality at the end, and minus
 * that of the initial lines for the first step, which may also be the last. Before the first step `done` is still
 * that of the scan before. */
INLINE float reward_of(float now, float before, uint step, uint done, uint form) {
  if (form == REWARD_DENSE) return now - before;
  if (form == REWARD_COMPAT && step == 0u) return -now;
  if (form == REWARD_COMPAT && step == 1u && done) return now - before;
  return done ? now : 0.0f;
}

/* The reward of a step. `score` is the column of the scene's metric; `sign` is -1 where less is better. */
__kernel void score_reward(__global const float *restrict score, __global const uint *restrict step,
                           __global const uint *restrict done, __global float *restrict quality,
                           __global float *restrict reward, float sign, float scale, uint form, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  float now = sign * score[row];
  reward[row] = scale * reward_of(now, quality[row], step[row], done[row], form);
  quality[row] = now;
}
