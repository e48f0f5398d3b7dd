/* Losses of a reconstruction in normalised units, and their gradients. A row of `slice` says which image of
 * the data is meant. Rows are tiles of TILE_X x TILE_Y pixels, tiles of an image fastest: `part` holds each
 * tile's share of the loss, in a fixed order. */

#define GROUP 256
#define TILE_X 32
#define TILE_Y 16
#define RADIUS GAUSSIAN_RADIUS
#define HALO_X (TILE_X + 2 * RADIUS)
#define HALO_Y (TILE_Y + 2 * RADIUS)
#define TILES_X ((WIDTH + TILE_X - 1) / TILE_X)
#define TILES_Y ((HEIGHT + TILE_Y - 1) / TILE_Y)
#define TILES (TILES_X * TILES_Y)
#define UNIFORM_RADIUS 3
#define SLOPES 3 /* derivatives of the map's value at a pixel: by the sums of x, xx, xy */

/* Makes pixels comparable: both images are divided by the data range. The window's variances do not change
 * when all pixels, the zeros outside included, are moved by `pivot`; without it they would cancel. */
typedef struct {
  __global const float *output, *image;
  float mean, std, scale, pivot;
} loss_pair;

INLINE float reconstructed(loss_pair pair, int place) {
  return (pair.output[place] * pair.std + pair.mean) * pair.scale;
}

INLINE float wanted(loss_pair pair, int place) {
  return target_pixel(pair.image[place], pair.mean, pair.std) * pair.scale;
}

INLINE loss_pair find_loss_pair(uint image, uint at, __global const float *output,
                                __global const float *images, __global const float *mean,
                                __global const float *std, __global const float *data_range) {
  loss_pair pair = {output + (size_t)image * PIXELS,
                         images + (size_t)at * PIXELS,
                         mean[at],
                         std[at],
                         inverse_range(data_range[at]),
                         0.0f};
  return pair;
}

/* One tile with its halo, moved by the pivot; outside the image both are zero before that. */
INLINE void load_loss_tile(loss_pair pair, int left, int top, __local float *a, __local float *b) {
  for (int i = (int)get_local_id(0); i < HALO_X * HALO_Y; i += GROUP) {
    int x = left - RADIUS + i % HALO_X, y = top - RADIUS + i / HALO_X;
    bool inside = x >= 0 && x < WIDTH && y >= 0 && y < HEIGHT;
    int place = y * WIDTH + x;
    a[i] = (inside ? reconstructed(pair, place) : 0.0f) - pair.pivot;
    b[i] = (inside ? wanted(pair, place) : 0.0f) - pair.pivot;
  }
}

/* The 11x11 Gaussian along one axis, or as `uniform` says the 7x7 window of equal weights. */
INLINE float loss_weight(int d, bool uniform) {
  if (uniform) return abs(d - RADIUS) <= UNIFORM_RADIUS ? 1.0f / (2 * UNIFORM_RADIUS + 1) : 0.0f;
  return gaussian[d];
}

/* Whether the uniform window around a pixel lies within the image. */
INLINE bool is_valid(int x, int y) {
  return x >= UNIFORM_RADIUS && x < WIDTH - UNIFORM_RADIUS && y >= UNIFORM_RADIUS && y < HEIGHT - UNIFORM_RADIUS;
}

/* Pixels that the map's mean is taken over. */
INLINE float map_pixels(bool uniform) {
  return uniform ? (float)((WIDTH - 2 * UNIFORM_RADIUS) * (HEIGHT - 2 * UNIFORM_RADIUS)) : (float)PIXELS;
}

/* Windowed sums along x: sums[moment][y][x]. */
INLINE void filter_loss_rows(__local const float *a, __local const float *b, __local float *sums, bool uniform) {
  for (int i = (int)get_local_id(0); i < TILE_X * HALO_Y; i += GROUP) {
    int start = i / TILE_X * HALO_X + i % TILE_X;
    float m[MOMENTS] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
    for (int d = 0; d <= 2 * RADIUS; d++) add_products(m, loss_weight(d, uniform), a[start + d], b[start + d]);
    for (int k = 0; k < MOMENTS; k++) sums[k * TILE_X * HALO_Y + i] = m[k];
  }
}

/* The map's value at one pixel and its slopes by the windowed sums of the moved pixels. With the moved means
 * m0, m1 and the true ones u = m0 + pivot, v = m1 + pivot: value = (2uv + c1)(2 cov + c2) / ((uu + vv +
 * c1)(var + c2)). Of the uniform window the variances are a sample's: 49/48 of the others. */
INLINE float loss_map_value(int i, float pivot, __local const float *sums, float *slope, bool uniform) {
  const float c1 = 1e-4f, c2 = 9e-4f, sample = uniform ? 49.0f / 48.0f : 1.0f;
  float m[MOMENTS] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
  for (int d = 0; d <= 2 * RADIUS; d++) {
    float w = loss_weight(d, uniform);
    for (int k = 0; k < MOMENTS; k++) m[k] += w * sums[k * TILE_X * HALO_Y + i + d * TILE_X];
  }
  float u = m[0] + pivot, v = m[1] + pivot;
  float a1 = 2.0f * u * v + c1, a2 = 2.0f * sample * (m[4] - m[0] * m[1]) + c2;
  float b1 = u * u + v * v + c1, b2 = sample * (m[2] - m[0] * m[0] + m[3] - m[1] * m[1]) + c2;
  float value = a1 * a2 / (b1 * b2);
  slope[0] = 2.0f * (v * a2 - sample * m[1] * a1) / (b1 * b2) - 2.0f * value * (u / b1 - sample * m[0] / b2);
  slope[1] = -sample * value / b2;
  slope[2] = 2.0f * sample * a1 / (b1 * b2);
  return value;
}

INLINE int tile_left(uint tile) {
  return (int)(tile % TILES_X) * TILE_X;
}
INLINE int tile_top(uint tile) {
  return (int)(tile / TILES_X) * TILE_Y;
}

/* The value the moments of a tile are taken from: the target at its middle. */
INLINE float find_pivot(loss_pair pair, int left, int top) {
  return wanted(pair, min(top + TILE_Y / 2, HEIGHT - 1) * WIDTH + min(left + TILE_X / 2, WIDTH - 1));
}

/* A tile in local memory, with its halo. */
typedef struct {
  __local float *a, *b, *sums, *scratch;
} tile_memory;

/* SSIM of a tile's pixels: their sum, and at every pixel the slopes of its map value by the windowed sums of x, x x
 * and x y, taken of pixels that are not moved. */
INLINE void ssim_tile(uint row, loss_pair pair, tile_memory memory, __global float *slope_mean,
                      __global float *slope_square, __global float *slope_product, __global float *part,
                      bool uniform) {
  uint at = row / TILES;
  int left = tile_left(row % TILES), top = tile_top(row % TILES);
  pair.pivot = find_pivot(pair, left, top);
  load_loss_tile(pair, left, top, memory.a, memory.b);
  barrier(CLK_LOCAL_MEM_FENCE);
  filter_loss_rows(memory.a, memory.b, memory.sums, uniform);
  barrier(CLK_LOCAL_MEM_FENCE);
  float total = 0.0f;
  for (int i = (int)get_local_id(0); i < TILE_X * TILE_Y; i += GROUP) {
    int x = left + i % TILE_X, y = top + i / TILE_X;
    if (x >= WIDTH || y >= HEIGHT) continue;
    float slope[SLOPES];
    uint place = at * PIXELS + (uint)(y * WIDTH + x);
    float value = loss_map_value(i, pair.pivot, memory.sums, slope, uniform);
    float counts = uniform && !is_valid(x, y) ? 0.0f : 1.0f;
    total += counts * value;
    /* moments of moved pixels in those of the pixels themselves: x - p, (x - p)^2, (x - p)(y - p) */
    slope_mean[place] = counts * (slope[0] - pair.pivot * (2.0f * slope[1] + slope[2]));
    slope_square[place] = counts * slope[1];
    slope_product[place] = counts * slope[2];
  }
  total = group_sum(total, memory.scratch);
  if (get_local_id(0) == 0) part[row] = total / map_pixels(uniform);
}

/* 11x11 Gaussian, zeros outside, biased variances. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
loss_ssim(__global const uint *restrict slice, __global const float *restrict output,
          __global const float *restrict image, __global const float *restrict mean,
          __global const float *restrict std, __global const float *restrict data_range,
          __global float *restrict slope_mean, __global float *restrict slope_square,
          __global float *restrict slope_product, __global float *restrict part, uint rows) {
  __local float a[HALO_X * HALO_Y], b[HALO_X * HALO_Y], sums[MOMENTS * TILE_X * HALO_Y], scratch[GROUP];
  uint row = (uint)get_group_id(0), at = row / TILES;
  tile_memory memory = {a, b, sums, scratch};
  if (row >= rows) return;
  ssim_tile(row, find_loss_pair(at, slice[at], output, image, mean, std, data_range), memory, slope_mean, slope_square,
            slope_product, part, false);
}

/* 7x7 uniform window where it lies within the image, sample variances (PROTOCOL 3.2). */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
loss_ssim_uniform(__global const uint *restrict slice, __global const float *restrict output,
                  __global const float *restrict image, __global const float *restrict mean,
                  __global const float *restrict std, __global const float *restrict data_range,
                  __global float *restrict slope_mean, __global float *restrict slope_square,
                  __global float *restrict slope_product, __global float *restrict part, uint rows) {
  __local float a[HALO_X * HALO_Y], b[HALO_X * HALO_Y], sums[MOMENTS * TILE_X * HALO_Y], scratch[GROUP];
  uint row = (uint)get_group_id(0), at = row / TILES;
  tile_memory memory = {a, b, sums, scratch};
  if (row >= rows) return;
  ssim_tile(row, find_loss_pair(at, slice[at], output, image, mean, std, data_range), memory, slope_mean, slope_square,
            slope_product, part, true);
}

/* Sums along x of the three slopes. */
INLINE void filter_slopes(__local const float *slopes, __local float *sums, bool uniform) {
  for (int i = (int)get_local_id(0); i < TILE_X * HALO_Y; i += GROUP) {
    int start = i / TILE_X * HALO_X + i % TILE_X;
    for (int k = 0; k < SLOPES; k++) {
      float sum = 0.0f;
      for (int d = 0; d <= 2 * RADIUS; d++)
        sum += loss_weight(d, uniform) * slopes[k * HALO_X * HALO_Y + start + d];
      sums[k * TILE_X * HALO_Y + i] = sum;
    }
  }
}

typedef struct {
  __global const float *mean, *square, *product;
} map_slopes;

/* The gradient of factor * SSIM of every image by the network's output: the slopes through the window again. */
INLINE void ssim_tile_backward(uint row, loss_pair pair, map_slopes map, __local float *slopes,
                               __local float *sums, __global float *gradient, float factor, bool uniform) {
  uint at = row / TILES;
  int left = tile_left(row % TILES), top = tile_top(row % TILES);
  for (int i = (int)get_local_id(0); i < HALO_X * HALO_Y; i += GROUP) {
    int x = left - RADIUS + i % HALO_X, y = top - RADIUS + i / HALO_X;
    bool inside = x >= 0 && x < WIDTH && y >= 0 && y < HEIGHT;
    uint place = at * PIXELS + (uint)(y * WIDTH + x);
    slopes[i] = inside ? map.mean[place] : 0.0f;
    slopes[HALO_X * HALO_Y + i] = inside ? map.square[place] : 0.0f;
    slopes[2 * HALO_X * HALO_Y + i] = inside ? map.product[place] : 0.0f;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  filter_slopes(slopes, sums, uniform);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = (int)get_local_id(0); i < TILE_X * TILE_Y; i += GROUP) {
    int x = left + i % TILE_X, y = top + i / TILE_X, pixel = y * WIDTH + x;
    if (x >= WIDTH || y >= HEIGHT) continue;
    float sum[SLOPES] = {0.0f, 0.0f, 0.0f};
    for (int d = 0; d <= 2 * RADIUS; d++)
      for (int k = 0; k < SLOPES; k++)
        sum[k] += loss_weight(d, uniform) * sums[k * TILE_X * HALO_Y + i + d * TILE_X];
    float by_pixel = sum[0] + 2.0f * reconstructed(pair, pixel) * sum[1] + wanted(pair, pixel) * sum[2];
    gradient[at * PIXELS + (uint)pixel] = factor / map_pixels(uniform) * pair.std * pair.scale * by_pixel;
  }
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
loss_ssim_backward(__global const uint *restrict slice, __global const float *restrict output,
                   __global const float *restrict image, __global const float *restrict mean,
                   __global const float *restrict std, __global const float *restrict data_range,
                   __global const float *restrict slope_mean, __global const float *restrict slope_square,
                   __global const float *restrict slope_product, __global float *restrict gradient,
                   float factor, uint rows) {
  __local float slopes[SLOPES * HALO_X * HALO_Y], sums[SLOPES * TILE_X * HALO_Y];
  uint row = (uint)get_group_id(0), at = row / TILES;
  map_slopes map = {slope_mean, slope_square, slope_product};
  if (row >= rows) return;
  ssim_tile_backward(row, find_loss_pair(at, slice[at], output, image, mean, std, data_range), map, slopes, sums,
                     gradient, factor, false);
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
loss_ssim_uniform_backward(__global const uint *restrict slice, __global const float *restrict output,
                           __global const float *restrict image, __global const float *restrict mean,
                           __global const float *restrict std, __global const float *restrict data_range,
                           __global const float *restrict slope_mean, __global const float *restrict slope_square,
                           __global const float *restrict slope_product, __global float *restrict gradient,
                           float factor, uint rows) {
  __local float slopes[SLOPES * HALO_X * HALO_Y], sums[SLOPES * TILE_X * HALO_Y];
  uint row = (uint)get_group_id(0), at = row / TILES;
  map_slopes map = {slope_mean, slope_square, slope_product};
  if (row >= rows) return;
  ssim_tile_backward(row, find_loss_pair(at, slice[at], output, image, mean, std, data_range), map, slopes, sums,
                     gradient, factor, true);
}

/* Mean absolute (power 1) or squared (power 2) error of normalised images: shares and the gradient of factor
 * times the mean. The target is normalised and clamped to +-6 (PROTOCOL 1.2). */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
loss_power(__global const uint *restrict slice, __global const float *restrict output,
           __global const float *restrict image, __global const float *restrict mean,
           __global const float *restrict std, __global float *restrict gradient,
           __global float *restrict part, uint power, float factor, uint rows) {
  __local float scratch[GROUP];
  uint row = (uint)get_group_id(0);
  if (row >= rows) return;
  uint image_row = row / TILES, at = slice[image_row];
  int left = tile_left(row % TILES), top = tile_top(row % TILES);
  float total = 0.0f;
  for (int i = (int)get_local_id(0); i < TILE_X * TILE_Y; i += GROUP) {
    int x = left + i % TILE_X, y = top + i / TILE_X;
    if (x >= WIDTH || y >= HEIGHT) continue;
    uint place = image_row * PIXELS + (uint)(y * WIDTH + x);
    float gap = output[place] - target_normal(image[at * PIXELS + (uint)(y * WIDTH + x)], mean[at], std[at]);
    total += power == 1u ? fabs(gap) : gap * gap;
    gradient[place] = factor / (float)PIXELS * (power == 1u ? sign(gap) : 2.0f * gap);
  }
  total = group_sum(total, scratch);
  if (get_local_id(0) == 0) part[row] = total / (float)PIXELS;
}
