#include "kernels/kernels.h"

#include "components/components.h"

#include <math.h>

/* One environment's pair, both divided by the data range. */
struct pair {
  const float *reconstruction, *image;
  double mean, std, range;
  long height, width;
};

static struct pair find_pair(const struct host_args *args, size_t row) {
  size_t pixels = args->height * args->width, slice = ((const uint32_t *)args->in[0])[row];
  double range = ((const float *)args->in[5])[slice];
  return (struct pair){(const float *)args->in[1] + row * pixels, (const float *)args->in[2] + slice * pixels,
                       ((const float *)args->in[3])[slice], ((const float *)args->in[4])[slice],
                       range > 0 ? range : 1, (long)args->height, (long)args->width};
}

static double target(const struct pair *pair, long i) {
  double normal = (pair->image[i] - pair->mean) / (pair->std + 1e-11);
  return fmin(fmax(normal, -6), 6) * pair->std + pair->mean;
}

/* The windowed moments of one pixel, by the full two-dimensional sum; zeros outside. */
static void window_moments(const struct pair *pair, const double *weights, long radius, long y, long x,
                           double m[5]) {
  for (int k = 0; k < 5; k++) m[k] = 0;
  for (long dy = -radius; dy <= radius; dy++)
    for (long dx = -radius; dx <= radius; dx++) {
      if (y + dy < 0 || y + dy >= pair->height || x + dx < 0 || x + dx >= pair->width) continue;
      long i = (y + dy) * pair->width + x + dx;
      double w = weights[dy + radius] * weights[dx + radius];
      double a = pair->reconstruction[i] / pair->range, b = target(pair, i) / pair->range;
      double terms[5] = {a, b, a * a, b * b, a * b};
      for (int k = 0; k < 5; k++) m[k] += w * terms[k];
    }
}

static double mean_ssim(const struct pair *pair, const double *weights, long radius, long margin,
                        double unbiased) {
  double total = 0, c1 = 0.01 * 0.01, c2 = 0.03 * 0.03;
  for (long y = margin; y < pair->height - margin; y++)
    for (long x = margin; x < pair->width - margin; x++) {
      double m[5];
      window_moments(pair, weights, radius, y, x, m);
      double xx = unbiased * (m[2] - m[0] * m[0]), yy = unbiased * (m[3] - m[1] * m[1]);
      double xy = unbiased * (m[4] - m[0] * m[1]);
      total += (2 * m[0] * m[1] + c1) * (2 * xy + c2) / ((m[0] * m[0] + m[1] * m[1] + c1) * (xx + yy + c2));
    }
  return total / (double)((pair->height - 2 * margin) * (pair->width - 2 * margin));
}

void score_ssim_reference(const struct host_args *args) {
  double weights[11], sum = 0;
  for (int i = 0; i < 11; i++) sum += weights[i] = exp(-(i - 5) * (i - 5) / (2 * 1.5 * 1.5));
  for (int i = 0; i < 11; i++) weights[i] /= sum;
  for (size_t row = 0; row < args->rows; row++) {
    struct pair pair = find_pair(args, row);
    ((float *)args->out[6])[row] = (float)mean_ssim(&pair, weights, 5, 0, 1);
  }
}

void score_ssim_uniform_reference(const struct host_args *args) {
  double weights[7];
  for (int i = 0; i < 7; i++) weights[i] = 1.0 / 7;
  for (size_t row = 0; row < args->rows; row++) {
    struct pair pair = find_pair(args, row);
    ((float *)args->out[6])[row] = (float)mean_ssim(&pair, weights, 3, 3, 49.0 / 48);
  }
}

static double clamped_pixel(double pixel) {
  return pixel < 0 ? 0 : pixel > 10 ? 10 : pixel; /* not-a-number stays */
}

void score_error_reference(const struct host_args *args) {
  float *psnr = args->out[6], *unclamped = args->out[7], *nmse = args->out[8], *mse = args->out[9];
  double pixels = (double)(args->height * args->width);
  for (size_t row = 0; row < args->rows; row++) {
    struct pair pair = find_pair(args, row);
    double plain = 0, clamped = 0, power = 0;
    for (long i = 0; i < (long)pixels; i++) {
      double b = target(&pair, i), gap = pair.reconstruction[i] - b;
      double gap_clamped = clamped_pixel(pair.reconstruction[i]) - b;
      plain += gap * gap;
      clamped += gap_clamped * gap_clamped;
      power += b * b;
    }
    double square = pair.range * pair.range;
    psnr[row] = (float)(-10 * log10(clamped / square / pixels + 1e-8));
    unclamped[row] = (float)(-10 * log10(plain / square / pixels + 1e-8));
    nmse[row] = (float)(power > 0 ? plain / power : plain > 0 ? INFINITY : 0);
    mse[row] = (float)(plain / pixels);
  }
}

/* Reconstructions near their targets, some pixels negative, one of the last of several rows no number; true
 * means and deviations. */
void score_prepare(struct host_args *args, struct random *random) {
  uint32_t slices = (uint32_t)args->table_rows[TABLE_SLICE], *slice = (uint32_t *)args->in[0];
  for (size_t row = 0; row < args->rows; row++) slice[row] = random_u32(random) % slices;
  if (!args->in[5]) { /* image_zero_filled */
    for (size_t row = 0; row < slices; row++)
      ((float *)args->in[2])[row] = ldexpf(1, (int)(random_u32(random) % 24) - 16);
    return;
  }
  size_t pixels = args->height * args->width;
  const float *image = args->in[2];
  float *reconstruction = (float *)args->in[1];
  for (size_t i = 0; i < args->rows * pixels; i++)
    reconstruction[i] = image[slice[i / pixels] * pixels + i % pixels] + 0.3f * (reconstruction[i] - 0.5f);
  if (args->rows > 1) reconstruction[args->rows * pixels - pixels / 2] = NAN;
  for (size_t row = 0; row < slices; row++) {
    ((float *)args->in[3])[row] = 0.4f;
    ((float *)args->in[4])[row] = row % 2 ? 0.3f : 0.05f; /* the second clamps bright pixels */
    ((float *)args->in[5])[row] = 0.5f + (float)random_uniform(random);
  }
}

void score_reward_reference(const struct host_args *args) {
  const float *score = args->in[0];
  const uint32_t *step = args->in[1], *done = args->in[2];
  float *quality = args->out[3], *reward = args->out[4];
  for (size_t row = 0; row < args->rows; row++) {
    double now = (double)args->value[5].f * score[row], before = quality[row];
    double start = step[row] == 1 ? before : 0;
    double form[] = {done[row] ? now : 0, now - before, step[row] == 0 ? -now : done[row] ? now - start : 0};
    reward[row] = (float)(args->value[6].f * form[args->value[7].u]);
    quality[row] = (float)now;
  }
}

void score_reward_prepare(struct host_args *args, struct random *random) {
  args->value[5].f = random_u32(random) % 2 ? 1 : -1;
  args->value[6].f = 100;
  args->value[7].u = random_u32(random) % 3;
}
