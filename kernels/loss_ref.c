#include "kernels/kernels.h"

#include "components/components.h"
#include "engine/base/round.h"

#include <math.h>

enum { TILE_X = 32, TILE_Y = 16, RADIUS = 5, UNIFORM_RADIUS = 3 };

/* One network output with the image it is compared with. */
struct pair {
  const float *output, *image;
  double mean, std, range;
  long height, width;
};

static struct pair find_pair(const struct host_args *args, size_t at, bool ranged) {
  size_t pixels = args->height * args->width, slice = ((const uint32_t *)args->in[0])[at];
  double range = ranged ? ((const float *)args->in[5])[slice] : 1;
  return (struct pair){(const float *)args->in[1] + at * pixels,
                       (const float *)args->in[2] + slice * pixels,
                       ((const float *)args->in[3])[slice],
                       ((const float *)args->in[4])[slice],
                       range > 0 ? range : 1,
                       (long)args->height,
                       (long)args->width};
}

static double normalised(const struct pair *pair, long i) {
  return fmin(fmax((pair->image[i] - pair->mean) / (pair->std + 1e-11), -6), 6);
}

static double wanted(const struct pair *pair, long i) {
  return (normalised(pair, i) * pair->std + pair->mean) / pair->range;
}

static double reconstructed(const struct pair *pair, long i) {
  return (pair->output[i] * pair->std + pair->mean) / pair->range;
}

/* The Gaussian, or seven equal ones. */
static void make_weights(double weights[2 * RADIUS + 1], bool uniform) {
  double sum = 0;
  for (int i = 0; uniform && i <= 2 * RADIUS; i++)
    weights[i] = i < RADIUS - UNIFORM_RADIUS || i > RADIUS + UNIFORM_RADIUS ? 0 : 1.0 / 7;
  if (uniform) return;
  for (int i = 0; i <= 2 * RADIUS; i++)
    sum += weights[i] = exp(-(i - RADIUS) * (i - RADIUS) / (2 * 1.5 * 1.5));
  for (int i = 0; i <= 2 * RADIUS; i++) weights[i] /= sum;
}

/* Calls `see` for every pixel of the first `rows` tiles, tile by tile. */
struct visit {
  const struct host_args *args;
  size_t row, at; /* tile, image */
  long y, x;
};
typedef void visit_pixel(const struct visit *visit, void *context);

static void visit_tiles(const struct host_args *args, visit_pixel *see, void *context) {
  size_t across = divide_up(args->width, TILE_X), tiles = across * divide_up(args->height, TILE_Y);
  for (size_t row = 0; row < args->rows; row++) {
    size_t tile = row % tiles;
    long top = (long)(tile / across) * TILE_Y, left = (long)(tile % across) * TILE_X;
    for (long y = top; y < top + TILE_Y && y < (long)args->height; y++)
      for (long x = left; x < left + TILE_X && x < (long)args->width; x++) {
        struct visit visit = {args, row, row / tiles, y, x};
        see(&visit, context);
      }
  }
}

/* ---- SSIM ---------------------------------------------------------------------------------------------- */

/* Windowed sums of x, y, xx, yy, xy around a pixel; zeros outside. */
static void window_moments(const struct pair *pair, long y, long x, double m[5], bool uniform) {
  double weights[2 * RADIUS + 1];
  make_weights(weights, uniform);
  for (int k = 0; k < 5; k++) m[k] = 0;
  for (long dy = -RADIUS; dy <= RADIUS; dy++)
    for (long dx = -RADIUS; dx <= RADIUS; dx++) {
      if (y + dy < 0 || y + dy >= pair->height || x + dx < 0 || x + dx >= pair->width) continue;
      long i = (y + dy) * pair->width + x + dx;
      double w = weights[dy + RADIUS] * weights[dx + RADIUS], a = reconstructed(pair, i), b = wanted(pair, i);
      double terms[5] = {a, b, a * a, b * b, a * b};
      for (int k = 0; k < 5; k++) m[k] += w * terms[k];
    }
}

/* Sums that a walk over pixels adds up, and their window. */
struct ssim_walk {
  double *sums;
  bool uniform;
};

static bool is_valid(const struct visit *visit) {
  long height = (long)visit->args->height, width = (long)visit->args->width;
  return visit->y >= UNIFORM_RADIUS && visit->y < height - UNIFORM_RADIUS && visit->x >= UNIFORM_RADIUS &&
         visit->x < width - UNIFORM_RADIUS;
}

static double map_pixels(const struct host_args *args, bool uniform) {
  size_t border = uniform ? 2 * UNIFORM_RADIUS : 0;
  return (double)((args->height - border) * (args->width - border));
}

static void ssim_pixel(const struct visit *visit, void *context) {
  const struct host_args *args = visit->args;
  const struct ssim_walk *walk = context;
  struct pair pair = find_pair(args, visit->at, true);
  double m[5], c1 = 1e-4, c2 = 9e-4, sample = walk->uniform ? 49.0 / 48 : 1;
  double counts = walk->uniform && !is_valid(visit) ? 0 : 1;
  size_t place = visit->at * args->height * args->width + (size_t)(visit->y * pair.width + visit->x);
  window_moments(&pair, visit->y, visit->x, m, walk->uniform);
  double a1 = 2 * m[0] * m[1] + c1, a2 = 2 * sample * (m[4] - m[0] * m[1]) + c2;
  double b1 = m[0] * m[0] + m[1] * m[1] + c1, b2 = sample * (m[2] - m[0] * m[0] + m[3] - m[1] * m[1]) + c2;
  double value = a1 * a2 / (b1 * b2);
  double by_a = 2 * m[1] * (a2 - sample * a1) / (b1 * b2), by_b = 2 * m[0] * value * (1 / b1 - sample / b2);
  ((float *)args->out[6])[place] = (float)(counts * (by_a - by_b));
  ((float *)args->out[7])[place] = (float)(counts * -sample * value / b2);
  ((float *)args->out[8])[place] = (float)(counts * 2 * sample * a1 / (b1 * b2));
  walk->sums[visit->row] += counts * value;
}

static void store_parts(const struct host_args *args, float *part, const double *sums, bool uniform) {
  for (size_t row = 0; row < args->rows; row++) part[row] = (float)(sums[row] / map_pixels(args, uniform));
}

static void ssim_reference(const struct host_args *args, bool uniform) {
  struct arena *arena = arena_open();
  struct ssim_walk walk = {ARENA_NEW(arena, double, args->rows), uniform};
  visit_tiles(args, ssim_pixel, &walk);
  store_parts(args, args->out[9], walk.sums, uniform);
  arena_close(arena);
}

void loss_ssim_reference(const struct host_args *args) {
  ssim_reference(args, false);
}

void loss_ssim_uniform_reference(const struct host_args *args) {
  ssim_reference(args, true);
}

static void ssim_slope_pixel(const struct visit *visit, void *context) {
  const struct host_args *args = visit->args;
  struct pair pair = find_pair(args, visit->at, true);
  size_t start = visit->at * args->height * args->width, pixel = (size_t)(visit->y * pair.width + visit->x);
  const struct ssim_walk *walk = context;
  double sum[3] = {0, 0, 0}, weights[2 * RADIUS + 1];
  make_weights(weights, walk->uniform);
  for (long dy = -RADIUS; dy <= RADIUS; dy++)
    for (long dx = -RADIUS; dx <= RADIUS; dx++) {
      long y = visit->y + dy, x = visit->x + dx;
      if (y < 0 || y >= pair.height || x < 0 || x >= pair.width) continue;
      for (int k = 0; k < 3; k++)
        sum[k] += weights[dy + RADIUS] * weights[dx + RADIUS] *
                  ((const float *)args->in[6 + k])[start + (size_t)(y * pair.width + x)];
    }
  double by_pixel =
      sum[0] + 2 * reconstructed(&pair, (long)pixel) * sum[1] + wanted(&pair, (long)pixel) * sum[2];
  ((float *)args->out[9])[start + pixel] =
      (float)(args->value[10].f * pair.std / pair.range * by_pixel / map_pixels(args, walk->uniform));
}

void loss_ssim_backward_reference(const struct host_args *args) {
  visit_tiles(args, ssim_slope_pixel, &(struct ssim_walk){NULL, false});
}

void loss_ssim_uniform_backward_reference(const struct host_args *args) {
  visit_tiles(args, ssim_slope_pixel, &(struct ssim_walk){NULL, true});
}

/* ---- powers -------------------------------------------------------------------------------------------- */

static void power_pixel(const struct visit *visit, void *context) {
  const struct host_args *args = visit->args;
  struct pair pair = find_pair(args, visit->at, false);
  size_t pixels = args->height * args->width, pixel = (size_t)(visit->y * pair.width + visit->x);
  double gap = pair.output[pixel] - normalised(&pair, (long)pixel), *sums = context;
  double slope = args->value[7].u == 1 ? (gap > 0) - (gap < 0) : 2 * gap;
  sums[visit->row] += args->value[7].u == 1 ? fabs(gap) : gap * gap;
  ((float *)args->out[5])[visit->at * pixels + pixel] = (float)(args->value[8].f * slope / (double)pixels);
}

void loss_power_reference(const struct host_args *args) {
  struct arena *arena = arena_open();
  double *sums = ARENA_NEW(arena, double, args->rows);
  visit_tiles(args, power_pixel, sums);
  store_parts(args, args->out[6], sums, false);
  arena_close(arena);
}

/* Outputs near their targets; the second slice's bright pixels are clamped. */
void loss_prepare(struct host_args *args, struct random *random) {
  uint32_t slices = (uint32_t)args->table_rows[TABLE_SLICE], *slice = (uint32_t *)args->in[0];
  size_t pixels = args->height * args->width;
  float *output = (float *)args->in[1];
  for (size_t row = 0; row < args->rows; row++) slice[row] = random_u32(random) % slices;
  for (size_t row = 0; row < slices; row++) {
    ((float *)args->in[3])[row] = 0.4f;
    ((float *)args->in[4])[row] = row % 2 ? 0.3f : 0.05f;
    if (args->in[5]) ((float *)args->in[5])[row] = 0.5f + (float)random_uniform(random);
  }
  for (size_t i = 0; i < args->rows * pixels; i++) {
    size_t at = slice[i / pixels];
    float pixel = ((const float *)args->in[2])[at * pixels + i % pixels] + 0.3f * (output[i] - 0.5f);
    output[i] = (pixel - 0.4f) / ((const float *)args->in[4])[at];
  }
  args->value[args->in[5] ? 10 : 7].u = 1 + random_u32(random) % 2;
  args->value[args->in[5] ? 10 : 8].f = 3;
}
