#include "kernels/kernels.h"

#include "components/components.h"

#include <math.h>
#include <string.h>

void pgmri_input_reference(const struct host_args *args) {
  const uint32_t *slice = args->in[0];
  size_t pixels = args->height * args->width;
  for (size_t row = 0; row < args->rows; row++) {
    size_t from = args->value[5].u + row, at = slice[from];
    double mean = ((const float *)args->in[2])[at], deviation = ((const float *)args->in[3])[at];
    for (size_t i = 0; i < pixels; i++)
      ((float *)args->out[4])[row * pixels + i] =
          (float)((((const float *)args->in[1])[from * pixels + i] - mean) / (deviation + 1e-11));
  }
}

void pgmri_spread_reference(const struct host_args *args) {
  uint32_t *scan = args->out[0], *slice = args->out[1], *step = args->out[3];
  uint8_t *mask = args->out[2];
  float *quality = args->out[4];
  size_t slices = args->value[6].u, draws = args->rows / slices, n = args->actions;
  for (size_t draw = draws; draw-- > 0;)
    for (size_t s = 0; s < slices; s++) {
      size_t row = draw * slices + s;
      scan[row] = (uint32_t)((args->value[5].u + s) * draws + draw);
      slice[row] = slice[s];
      step[row] = step[s];
      quality[row] = quality[s];
      memmove(mask + row * n, mask + s * n, n);
    }
}

/* Kept states, counted one after the other; the scan is the last. */
static size_t kept_before(const struct host_args *args, size_t slice, size_t draw) {
  size_t slices = args->value[4].u, each = args->value[5].u, draws = args->value[6].u, steps = args->value[7].u, count = 0;
  for (size_t part = 0; part < slices; part += each)
    for (size_t step = 0; step < steps; step++)
      for (size_t d = 0; d < (args->value[9].u || !step ? 1 : draws); d++)
        for (size_t s = part; s < slices && s < part + each; s++, count++)
          if (s == slice && d == draw && step == args->value[8].u) return count;
  return count;
}

void pgmri_keep_reference(const struct host_args *args) {
  size_t words = args->value[2].u, slices = args->value[4].u;
  for (size_t row = 0; row < args->rows; row++) {
    size_t scan = args->value[3].u + row, place = kept_before(args, scan % slices, scan / slices);
    memcpy((float *)args->out[1] + place * words, (const float *)args->in[0] + row * words, words * sizeof(float));
  }
}

static size_t followed(const struct host_args *args, size_t slice) {
  const uint32_t *scan = args->in[0], *step = args->in[1];
  size_t slices = args->value[5].u, draws = args->rows / slices, after = (args->value[6].u + slice) % args->value[7].u;
  struct philox words = random_words(args->value[8].u, STREAM_ACTION, scan[slice] - (uint32_t)(after * draws), step[slice]);
  return (size_t)((uint64_t)words.word[1] * draws >> 32);
}

void pgmri_follow_reference(const struct host_args *args) {
  size_t slices = args->value[5].u, n = args->actions, pixels = args->height * args->width;
  uint8_t *mask = args->out[2];
  float *quality = args->out[3], *reconstruction = args->out[4];
  for (size_t s = 0; s < slices; s++) {
    size_t from = followed(args, s) * slices + s;
    for (size_t row = s; row < args->rows; row += slices) {
      memmove(mask + row * n, mask + from * n, n);
      quality[row] = quality[from];
    }
    memmove(reconstruction + s * pixels, reconstruction + from * pixels, sizeof(float) * pixels);
  }
}

void pgmri_advantage_reference(const struct host_args *args) {
  size_t steps = args->value[2].u, slices = args->value[3].u, before = args->value[4].u, all = args->value[5].u, batch = args->value[6].u;
  for (size_t step = 0; step < steps; step++)
    for (size_t row = 0; row < args->rows; row++) {
      size_t start = (before + row % slices) / batch * batch, end = start + batch < all ? start + batch : all;
      double sum = 0, share = (double)args->value[9].u * (double)(end - start) * args->value[7].u;
      for (size_t later = step; later < steps; later++)
        sum += pow(args->value[8].f, (double)(later - step)) * ((const float *)args->in[0])[later * args->rows + row];
      ((float *)args->out[1])[step * args->rows + row] = (float)(sum / share);
    }
}

/* ---- arguments that mean something --------------------------------------------------------------------- */

void pgmri_input_prepare(struct host_args *args, struct random *random) {
  for (size_t row = 0; row < args->rows + 3; row++)
    ((uint32_t *)args->in[0])[row] = random_u32(random) % (uint32_t)args->table_rows[TABLE_SLICE];
  args->value[5].u = random_u32(random) % 4;
}

/* A number of slices that divides the rows. */
static uint32_t some_slices(const struct host_args *args, struct random *random) {
  uint32_t slices = 1 + random_u32(random) % (uint32_t)args->rows;
  while (args->rows % slices) slices--;
  return slices;
}

void pgmri_spread_prepare(struct host_args *args, struct random *random) {
  args->value[5].u = random_u32(random) % 1000;
  args->value[6].u = some_slices(args, random);
}

/* In the first step one of each slice, later all draws; rows are fewer than there are numbers of an image. */
void pgmri_keep_prepare(struct host_args *args, struct random *random) {
  uint32_t rows = (uint32_t)args->rows, slices = some_slices(args, random), shared = random_u32(random) % 2, steps = 1 + random_u32(random) % 3;
  uint32_t step = random_u32(random) % steps, draws = rows / slices;
  if (shared || !step) slices = rows, draws = 1 + random_u32(random) % 3;
  args->value[2].u = 1 + random_u32(random) % 4;
  args->value[3].u = 0;
  args->value[4].u = slices;
  args->value[5].u = 1 + random_u32(random) % slices;
  args->value[6].u = draws;
  args->value[7].u = steps;
  args->value[8].u = step;
  args->value[9].u = shared;
}

void pgmri_follow_prepare(struct host_args *args, struct random *random) {
  args->value[5].u = some_slices(args, random);
  args->value[6].u = random_u32(random) % 7;
  args->value[7].u = 1 + random_u32(random) % 5;
  args->value[8].u = random_u32(random);
}

void pgmri_advantage_prepare(struct host_args *args, struct random *random) {
  args->value[3].u = some_slices(args, random);
  args->value[2].u = 1 + random_u32(random) % (args->width < 28 ? (uint32_t)args->width : 28);
  args->value[4].u = random_u32(random) % 7;
  args->value[5].u = args->value[3].u + args->value[4].u + random_u32(random) % 7;
  args->value[6].u = 1 + random_u32(random) % 5;
  args->value[7].u = 1 + random_u32(random) % 4;
  args->value[8].f = 0.9f;
  args->value[9].u = 1 + random_u32(random) % 8;
}
