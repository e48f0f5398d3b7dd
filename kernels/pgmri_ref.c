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

static size_t followed(const struct host_args *args, size_t slice) {
  const uint32_t *scan = args->in[0], *step = args->in[1];
  size_t slices = args->value[5].u, batch = args->value[6].u;
  struct philox words =
      random_words(args->value[7].u, STREAM_ACTION, scan[slice / batch * batch], step[slice]);
  return (size_t)((uint64_t)words.word[1] * (args->rows / slices) >> 32);
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
  size_t steps = args->value[2].u, slices = args->value[3].u, batch = args->value[4].u;
  for (size_t step = 0; step < steps; step++)
    for (size_t row = 0; row < args->rows; row++) {
      size_t start = row % slices / batch * batch, end = start + batch < slices ? start + batch : slices;
      double sum = 0, share = (double)args->value[7].u * (double)(end - start) * args->value[5].u;
      for (size_t later = step; later < steps; later++)
        sum += pow(args->value[6].f, (double)(later - step)) * ((const float *)args->in[0])[later * args->rows + row];
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

void pgmri_follow_prepare(struct host_args *args, struct random *random) {
  args->value[5].u = some_slices(args, random);
  args->value[6].u = 1 + random_u32(random) % 5;
  args->value[7].u = random_u32(random);
}

void pgmri_advantage_prepare(struct host_args *args, struct random *random) {
  args->value[3].u = some_slices(args, random);
  args->value[2].u = 1 + random_u32(random) % (args->width < 28 ? (uint32_t)args->width : 28);
  args->value[4].u = 1 + random_u32(random) % 5;
  args->value[5].u = 1 + random_u32(random) % 4;
  args->value[6].f = 0.9f;
  args->value[7].u = 1 + random_u32(random) % 8;
}
