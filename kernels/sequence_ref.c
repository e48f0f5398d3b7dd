#include "components/components.h"
#include "kernels/divisor.h"
#include "kernels/kernels.h"

#include <math.h>

/* ---- an image by the mean and deviation of another ----------------------------------------------------- */

static void statistics_of(const float *x, size_t pixels, double *mean, double *deviation) {
  double sum = 0, square = 0;
  for (size_t i = 0; i < pixels; i++) sum += x[i];
  *mean = sum / (double)pixels;
  for (size_t i = 0; i < pixels; i++) square += (x[i] - *mean) * (x[i] - *mean);
  *deviation = sqrt(square / (double)(pixels - 1));
}

void restore_forward_reference(const struct host_args *args) {
  size_t pixels = args->value[4].u;
  for (size_t row = 0; row < args->rows; row++) {
    const float *x = (const float *)args->in[0] + row * pixels, *like = (const float *)args->in[1] + row * pixels;
    float *y = (float *)args->out[2] + row * pixels, *statistics = (float *)args->out[3] + 2 * row;
    double mean, deviation;
    statistics_of(like, pixels, &mean, &deviation);
    for (size_t i = 0; i < pixels; i++) y[i] = (float)(x[i] * deviation + mean);
    statistics[0] = (float)(mean - like[0]);
    statistics[1] = (float)deviation;
  }
}

void restore_backward_reference(const struct host_args *args) {
  size_t pixels = args->value[3].u;
  for (size_t row = 0; row < args->rows; row++) {
    const float *dy = (const float *)args->in[0] + row * pixels, *statistics = (const float *)args->in[1] + 2 * row;
    float *dx = (float *)args->out[2] + row * pixels;
    for (size_t i = 0; i < pixels; i++)
      dx[i] = (float)((args->value[4].u ? dx[i] : 0) + (double)dy[i] * statistics[1]);
  }
}

/* The derivatives of mean and deviation by a pixel, one after the other. */
void restore_backward_like_reference(const struct host_args *args) {
  size_t pixels = args->value[5].u;
  for (size_t row = 0; row < args->rows; row++) {
    const float *x = (const float *)args->in[0] + row * pixels, *like = (const float *)args->in[1] + row * pixels;
    const float *dy = (const float *)args->in[2] + row * pixels;
    float *to = (float *)args->out[4] + row * pixels;
    double mean, deviation, by_mean = 0, by_deviation = 0;
    statistics_of(like, pixels, &mean, &deviation);
    for (size_t i = 0; i < pixels; i++) {
      by_mean += dy[i];
      by_deviation += (double)dy[i] * x[i];
    }
    for (size_t i = 0; i < pixels; i++) {
      double slope = by_mean / (double)pixels;
      if (((const float *)args->in[3])[2 * row + 1] > 0)
        slope += by_deviation * (like[i] - mean) / ((double)(pixels - 1) * deviation);
      to[i] = (float)((args->value[6].u ? to[i] : 0) + slope);
    }
  }
}

/* ---- the sampler's input and output -------------------------------------------------------------------- */

static size_t strips_of(size_t count) {
  return (count + 7) / 8;
}

void planes_forward_reference(const struct host_args *args) {
  size_t height = args->value[4].u, width = args->value[5].u, pixels = height * width;
  const float *predicted = args->in[0], *acquired = args->in[1], *mask = args->in[2];
  for (size_t i = 0; i < args->rows / strips_of(width) * width * 5; i++) {
    size_t image = i / (5 * pixels), place = i % (5 * pixels);
    ((float *)args->out[3])[i] = place < 2 * pixels   ? predicted[image * 2 * pixels + place]
                                 : place < 4 * pixels ? acquired[image * 2 * pixels + place - 2 * pixels]
                                                      : mask[image * width + place % width];
  }
}

void planes_backward_reference(const struct host_args *args) {
  size_t count = 2 * (size_t)args->value[2].u;
  const float *dy = args->in[0];
  float *dx = args->out[1];
  for (size_t i = 0; i < args->rows / strips_of(count) * count; i++)
    dx[i] = (args->value[3].u ? dx[i] : 0) + dy[i / count * count / 2 * 5 + i % count];
}

static double softplus_of(double x) {
  return fmax(x, 0) + log1p(exp(-fabs(x)));
}

static size_t largest_of(const float *x, size_t entries) {
  size_t most = 0;
  for (size_t i = 1; i < entries; i++)
    if (x[i] > x[most]) most = i;
  return most;
}

void share_forward_reference(const struct host_args *args) {
  size_t entries = args->value[3].u;
  for (size_t row = 0; row < args->rows; row++) {
    const float *x = (const float *)args->in[0] + row * entries, *taken = (const float *)args->in[1] + row * entries;
    double top = softplus_of(x[largest_of(x, entries)]);
    for (size_t i = 0; i < entries; i++)
      ((float *)args->out[2])[row * entries + i] = taken[i] > 0 ? 0 : (float)(softplus_of(x[i]) / top);
  }
}

void share_backward_reference(const struct host_args *args) {
  size_t entries = args->value[4].u;
  for (size_t row = 0; row < args->rows; row++) {
    const float *x = (const float *)args->in[0] + row * entries, *taken = (const float *)args->in[1] + row * entries;
    const float *dy = (const float *)args->in[2] + row * entries;
    float *dx = (float *)args->out[3] + row * entries;
    size_t most = largest_of(x, entries);
    double top = softplus_of(x[most]), sum = 0;
    for (size_t i = 0; i < entries; i++) sum += taken[i] > 0 ? 0 : dy[i] * softplus_of(x[i]);
    for (size_t i = 0; i < entries; i++) {
      double slope = (taken[i] > 0 ? 0 : dy[i] / top) - (i == most ? sum / (top * top) : 0);
      dx[i] = (float)((args->value[5].u ? dx[i] : 0) + slope / (1 + exp(-(double)x[i])));
    }
  }
}

/* ---- the order of lines -------------------------------------------------------------------------------- */

void sequence_rank_reference(const struct host_args *args) {
  size_t width = args->width, first = args->value[2].u;
  uint32_t step = args->value[3].u;
  for (size_t row = 0; row < args->rows; row++)
    for (size_t line = 0; line < width; line++) {
      uint32_t *rank = (uint32_t *)args->out[1] + (first + row) * width + line;
      if (!step) *rank = NO_LINE;
      if (*rank == NO_LINE && ((const float *)args->in[0])[row * width + line] > 0.5f)
        *rank = step * (uint32_t)width + (uint32_t)line;
    }
}

void sequence_next_reference(const struct host_args *args) {
  for (size_t row = 0; row < args->rows; row++) {
    const uint8_t *mask = (const uint8_t *)args->in[0] + row * args->width;
    const uint32_t *rank = (const uint32_t *)args->in[1] + row * args->width;
    uint32_t chosen = NO_LINE;
    for (size_t line = 0; line < args->width; line++)
      if (!mask[line] && rank[line] != NO_LINE && (chosen == NO_LINE || rank[line] < rank[chosen]))
        chosen = (uint32_t)line;
    ((uint32_t *)args->out[2])[row] = chosen;
    ((float *)args->out[3])[row] = 0;
  }
}

/* ---- levels -------------------------------------------------------------------------------------------- */

void level_find_reference(const struct host_args *args) {
  const float *x = args->in[0];
  size_t count = args->value[2].u, each = args->value[3].u;
  for (size_t shard = 0; shard < args->rows / args->value[4].u; shard++) {
    double most = 0;
    for (size_t i = shard * each; i < (shard + 1) * each && i < count; i++) most = fmax(most, fabs((double)x[i]));
    ((float *)args->out[1])[shard] = (float)most; /* its bits */
  }
}

void level_widen_reference(const struct host_args *args) {
  double most = 0;
  for (size_t i = 0; i < args->value[2].u; i++)
    most = fmax(most, fabs((double)((const float *)args->in[0])[i]));
  for (size_t row = 0; most > 0 && row < args->rows; row++)
    ((float *)args->out[1])[row] = (float)(((float *)args->out[1])[row] * most);
}

void level_apply_reference(const struct host_args *args) {
  float *x = (float *)args->out[1] + args->value[2].u;
  for (size_t i = 0; i < args->value[3].u; i++) {
    double most = ((const float *)args->in[0])[i / args->value[4].u], power = most > 0 ? -floor(log2(most)) : 0;
    double level = exp2(fmin(fmax(power, -60), 60));
    x[i] = (float)(args->value[5].u ? x[i] / level : x[i] * level);
  }
}

/* ---- sizes ----------------------------------------------------------------------------------------------- */

static uint32_t some_pixels(struct host_args *args, struct random *random) {
  return (uint32_t)(args->height * args->width) - random_u32(random) % 16;
}

/* Images of different scale and offset, one of them constant; the statistics are theirs. */
static void make_images(const struct host_args *args, const float *from, float *statistics, size_t pixels) {
  for (size_t row = 0; row < args->rows; row++) {
    float *x = (float *)from + row * pixels;
    double mean, deviation;
    for (size_t i = 0; i < pixels; i++)
      x[i] = row % 4 == 1 ? 0.1f : 10 * (float)row + (float)(1 + row) * x[i];
    statistics_of(x, pixels, &mean, &deviation);
    if (!statistics) continue;
    statistics[2 * row] = (float)(mean - x[0]);
    statistics[2 * row + 1] = row % 4 == 1 ? 0 : (float)deviation;
  }
}

void restore_forward_prepare(struct host_args *args, struct random *random) {
  args->value[4].u = some_pixels(args, random);
  make_images(args, args->in[1], NULL, args->value[4].u);
}

void restore_backward_prepare(struct host_args *args, struct random *random) {
  args->value[3].u = some_pixels(args, random);
  args->value[4].u = random_u32(random) % 2;
}

void restore_backward_like_prepare(struct host_args *args, struct random *random) {
  args->value[5].u = some_pixels(args, random);
  args->value[6].u = random_u32(random) % 2;
  make_images(args, args->in[1], (float *)args->in[3], args->value[5].u);
}

/* Values of which so many strips are a line, or an image; the last strip may be short. */
static uint32_t some_values(struct random *random, uint32_t strips) {
  return 8 * strips - random_u32(random) % 8;
}

void planes_forward_prepare(struct host_args *args, struct random *random) {
  uint32_t strips = some_divisor(args->rows, random);
  args->value[4].u = some_divisor(args->rows / strips, random);
  args->value[5].u = some_values(random, strips);
}

/* Strips are of two planes together. */
void planes_backward_prepare(struct host_args *args, struct random *random) {
  args->value[2].u = 4 * some_divisor(args->rows, random) - random_u32(random) % 4;
  args->value[3].u = random_u32(random) % 2;
}

/* Some entries are taken; values to both sides of 0, of which the largest may be taken. */
static uint32_t some_entries(struct host_args *args, struct random *random) {
  uint32_t entries = 1 + random_u32(random) % (uint32_t)(args->height * args->width);
  for (size_t i = 0; i < args->rows * entries; i++) {
    ((float *)args->in[0])[i] = 8 * ((const float *)args->in[0])[i] - 4;
    ((float *)args->in[1])[i] = random_u32(random) % 3 == 0;
  }
  return entries;
}

/* A third of the images far below 0, where single precision has no softplus. */
static void lower_some(struct host_args *args, uint32_t entries) {
  float *x = (float *)args->in[0];
  for (size_t i = 0; i < args->rows * entries; i++)
    if (i / entries % 3 == 2) x[i] -= 200;
}

void share_forward_prepare(struct host_args *args, struct random *random) {
  args->value[3].u = some_entries(args, random);
  lower_some(args, args->value[3].u);
}

void share_backward_prepare(struct host_args *args, struct random *random) {
  args->value[4].u = some_entries(args, random);
  args->value[5].u = random_u32(random) % 2;
  lower_some(args, args->value[4].u);
}

/* First steps and later ones, where some lines have their rank. */
void sequence_rank_prepare(struct host_args *args, struct random *random) {
  args->value[2].u = random_u32(random) % 3;
  args->value[3].u = random_u32(random) % 4;
  for (size_t i = 0; i < (args->rows + 3) * args->width; i++)
    ((uint32_t *)args->out[1])[i] = random_u32(random) % 2 ? NO_LINE : (uint32_t)(i % args->width);
}

void sequence_next_prepare(struct host_args *args, struct random *random) {
  for (size_t i = 0; i < args->rows * args->width; i++) {
    ((uint8_t *)args->in[0])[i] = random_u32(random) % 2;
    ((uint32_t *)args->in[1])[i] =
        random_u32(random) % 4 ? (uint32_t)(random_u32(random) % 3 * args->width + i % args->width) : NO_LINE;
  }
}

/* All zero, tiny, or as they are; as many shards as go into the rows, the last one shorter. */
void level_find_prepare(struct host_args *args, struct random *random) {
  static const float factor[] = {0, 1e-30f, 1, 1000};
  float by = factor[random_u32(random) % 4];
  uint32_t shares = random_u32(random) % 2 && args->rows % 3 == 0 ? 3 : 1, shards = (uint32_t)args->rows / shares;
  args->value[3].u = shares * some_pixels(args, random);
  args->value[2].u = shards * args->value[3].u - random_u32(random) % 8;
  args->value[4].u = shares;
  for (size_t i = 0; i < args->rows; i++) ((uint32_t *)args->out[1])[i] = 0;
  for (size_t i = 0; i < args->rows * args->height * args->width; i++) ((float *)args->in[0])[i] *= by;
}

void level_widen_prepare(struct host_args *args, struct random *random) {
  args->value[2].u = some_pixels(args, random);
  for (size_t i = 0; i < args->rows; i++) ((float *)args->out[1])[i] = 1500 * (float)random_uniform(random);
  bool zero = random_u32(random) % 4 == 0;
  for (size_t i = 0; zero && i < args->height * args->width; i++) ((float *)args->in[0])[i] = 0;
}

/* Shards of one strip or several, of which the last one may be short. */
void level_apply_prepare(struct host_args *args, struct random *random) {
  uint32_t strips = some_divisor(args->rows, random), each = some_values(random, strips);
  uint32_t all = each * (uint32_t)(args->rows / strips);
  args->value[2].u = random_u32(random) % 8;
  args->value[3].u = all - random_u32(random) % each;
  args->value[4].u = each;
  args->value[5].u = random_u32(random) % 2;
  for (size_t i = 0; i < args->rows; i++)
    ((float *)args->in[0])[i] = random_u32(random) % 4 ? 1500 * (float)random_uniform(random) : 0;
}
