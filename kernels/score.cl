/* Similarity of a reconstruction with its slice (PROTOCOL 1.9). The target is the clamped un-normalised image
 * everywhere. Images are divided by the data range L first, so that C1 and C2 are 0.01^2 and 0.03^2. */

#define GROUP 256
#define TILE_X 32
#define TILE_Y 16
#define RADIUS_MOST GAUSSIAN_RADIUS
#define HALO_X (TILE_X + 2 * RADIUS_MOST)
#define HALO_Y (TILE_Y + 2 * RADIUS_MOST)

typedef struct {
  __global const float *reconstruction, *image;
  float mean, deviation, scale;
} pair_of_images;

/* The weight at place d of the window, 0 to its width. */
INLINE float window_weight(bool uniform_window, int d) { return uniform_window ? 1.0f / 7.0f : gaussian[d]; }

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

INLINE pair_of_images find_pair(uint row, uint at, __global const float *reconstruction,
                                __global const float *image, __global const float *mean,
                                __global const float *std, __global const float *data_range) {
  pair_of_images pair = {reconstruction + (size_t)row * PIXELS, image + (size_t)at * PIXELS, mean[at],
                         std[at], inverse_range(data_range[at])};
  return pair;
}

/* 11x11 Gaussian window, zeros outside, biased variances, mean over all pixels. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
score_ssim(__global const uint *restrict slice, __global const float *restrict reconstruction,
           __global const float *restrict image, __global const float *restrict mean,
           __global const float *restrict std, __global const float *restrict data_range,
           __global float *restrict ssim, uint rows) {
  __local float a[HALO_X * HALO_Y], b[HALO_X * HALO_Y], sums[MOMENTS * TILE_X * HALO_Y], scratch[GROUP];
  uint row = (uint)get_group_id(0);
  if (row >= rows) return;
  pair_of_images pair = find_pair(row, slice[row], reconstruction, image, mean, std, data_range);
  float total = group_sum(sum_map(pair, 5, false, 1.0f, 0, a, b, sums), scratch);
  if (get_local_id(0) == 0) ssim[row] = total / (float)PIXELS;
}

/* 7x7 uniform window, whole windows only, sample covariances (factor 49/48): scikit-image's default. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
score_ssim_uniform(__global const uint *restrict slice, __global const float *restrict reconstruction,
                   __global const float *restrict image, __global const float *restrict mean,
                   __global const float *restrict std, __global const float *restrict data_range,
                   __global float *restrict ssim_uniform, uint rows) {
  __local float a[HALO_X * HALO_Y], b[HALO_X * HALO_Y], sums[MOMENTS * TILE_X * HALO_Y], scratch[GROUP];
  uint row = (uint)get_group_id(0);
  if (row >= rows) return;
  pair_of_images pair = find_pair(row, slice[row], reconstruction, image, mean, std, data_range);
  float total = group_sum(sum_map(pair, 3, true, 49.0f / 48.0f, 3, a, b, sums), scratch);
  if (get_local_id(0) == 0) ssim_uniform[row] = total / (float)((HEIGHT - 6) * (WIDTH - 6));
}

/* The clamp of the published PSNR, which lets what is no number pass: clamp() would make a number of it. */
INLINE float clamped_pixel(float pixel) { return pixel < 0.0f ? 0.0f : pixel > 10.0f ? 10.0f : pixel; }

INLINE float decibel(float mean_square) { return -10.0f * log10(mean_square + 1e-8f); }

/* Peak signal-to-noise ratio with the reconstruction clamped to [0, 10] and as it is, normalised and mean
 * squared error. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
score_error(__global const uint *restrict slice, __global const float *restrict reconstruction,
            __global const float *restrict image, __global const float *restrict mean,
            __global const float *restrict std, __global const float *restrict data_range,
            __global float *restrict psnr, __global float *restrict psnr_unclamped,
            __global float *restrict nmse, __global float *restrict mse, uint rows) {
  __local float scratch[GROUP];
  uint row = (uint)get_group_id(0);
  if (row >= rows) return;
  pair_of_images pair = find_pair(row, slice[row], reconstruction, image, mean, std, data_range);
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
