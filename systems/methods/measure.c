#include "systems/methods/measure.h"

#include "engine/base/arena.h"
#include "engine/base/error.h"

#include <math.h>
#include <string.h>

enum { MOMENTS = 5 }; /* a, b, a^2, b^2, ab */

struct window {
  const double *weight; /* [side] */
  size_t side;
  double unbiased; /* factor of variances */
};

static void add_pixel(double moment[MOMENTS], double weight, double a, double b) {
  moment[0] += weight * a;
  moment[1] += weight * b;
  moment[2] += weight * a * a;
  moment[3] += weight * b * b;
  moment[4] += weight * a * b;
}

static double map_value(const double m[MOMENTS], double unbiased, double L) {
  double c1 = 0.01 * L * 0.01 * L, c2 = 0.03 * L * 0.03 * L;
  double aa = unbiased * (m[2] - m[0] * m[0]), bb = unbiased * (m[3] - m[1] * m[1]);
  double ab = unbiased * (m[4] - m[0] * m[1]);
  return (2 * m[0] * m[1] + c1) * (2 * ab + c2) / ((m[0] * m[0] + m[1] * m[1] + c1) * (aa + bb + c2));
}

/* Weighted sums down the columns of the window that starts at row `top`, which may lie outside of the image.
 */
static void sum_columns(const struct measure_images *images, const struct window *window, long top,
                        double (*sums)[MOMENTS]) {
  memset(sums, 0, images->width * sizeof *sums);
  for (size_t d = 0; d < window->side; d++) {
    long y = top + (long)d;
    if (y < 0 || y >= (long)images->height) continue;
    const float *a = images->a + (size_t)y * images->stride, *b = images->b + (size_t)y * images->stride;
    for (size_t x = 0; x < images->width; x++)
      add_pixel(sums[x], window->weight[d], (double)a[x], (double)b[x]);
  }
}

/* The map at the window that starts at column `left`, of sums down the columns. */
static double value_at(const struct measure_images *images, const struct window *window, long left,
                       double (*sums)[MOMENTS], double L) {
  double moment[MOMENTS] = {0};
  for (size_t d = 0; d < window->side; d++) {
    long x = left + (long)d;
    if (x < 0 || x >= (long)images->width) continue;
    for (size_t k = 0; k < MOMENTS; k++) moment[k] += window->weight[d] * sums[x][k];
  }
  return map_value(moment, window->unbiased, L);
}

/* Windows start from -before on, and the last ones end `before` behind the image. */
static double mean_map(const struct measure_images *images, const struct window *window, size_t before,
                       double L) {
  struct arena *arena = arena_open();
  double(*sums)[MOMENTS] = (double(*)[MOMENTS])ARENA_NEW(arena, double, MOMENTS * images->width);
  size_t rows = images->height + 2 * before + 1 - window->side,
         columns = images->width + 2 * before + 1 - window->side;
  double total = 0;
  for (size_t y = 0; y < rows; y++) {
    sum_columns(images, window, (long)y - (long)before, sums);
    for (size_t x = 0; x < columns; x++) total += value_at(images, window, (long)x - (long)before, sums, L);
  }
  arena_close(arena);
  return total / ((double)rows * (double)columns);
}

double measure_ssim_uniform(const struct measure_images *images, double L) {
  double weight[MEASURE_UNIFORM_SIDE];
  REQUIRE(images->height >= MEASURE_UNIFORM_SIDE && images->width >= MEASURE_UNIFORM_SIDE,
          "images of %zux%zu have no window", images->height, images->width);
  for (size_t d = 0; d < MEASURE_UNIFORM_SIDE; d++) weight[d] = 1.0 / MEASURE_UNIFORM_SIDE;
  const struct window window = {weight, MEASURE_UNIFORM_SIDE, 49.0 / 48.0};
  return mean_map(images, &window, 0, L);
}

double measure_ssim_gaussian(const struct measure_images *images, double L) {
  enum { RADIUS = MEASURE_GAUSSIAN_SIDE / 2 };
  double weight[MEASURE_GAUSSIAN_SIDE], sum = 0;
  for (int d = -RADIUS; d <= RADIUS; d++) sum += weight[d + RADIUS] = exp(-d * d / (2 * 1.5 * 1.5));
  for (int d = 0; d < MEASURE_GAUSSIAN_SIDE; d++) weight[d] /= sum;
  const struct window window = {weight, MEASURE_GAUSSIAN_SIDE, 1};
  return mean_map(images, &window, RADIUS, L);
}

struct measure_sums measure_errors(const struct measure_images *images) {
  struct measure_sums sums = {0};
  for (size_t y = 0; y < images->height; y++)
    for (size_t x = 0; x < images->width; x++) {
      double a = (double)images->a[y * images->stride + x], b = (double)images->b[y * images->stride + x];
      double bounded = a < 0 ? 0 : a > 10 ? 10 : a;
      sums.square += (a - b) * (a - b);
      sums.clamped += (bounded - b) * (bounded - b);
      sums.power += b * b;
    }
  return sums;
}

double measure_peak(const struct measure_images *images) {
  double peak = -INFINITY;
  for (size_t y = 0; y < images->height; y++)
    for (size_t x = 0; x < images->width; x++) peak = fmax(peak, (double)images->b[y * images->stride + x]);
  return peak;
}

double measure_psnr(double mean_square, double L) {
  return 10 * log10(L * L / mean_square);
}

double measure_psnr_limited(double mean_square, double L) {
  return -10 * log10(mean_square / (L * L) + 1e-8);
}
