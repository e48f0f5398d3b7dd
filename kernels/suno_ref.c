#include "components/components.h"
#include "kernels/kernels.h"

#include <math.h>

/* ---- exchanges ----------------------------------------------------------------------------------------- */

void suno_take_away_reference(const struct host_args *args) {
  const uint8_t *initial = args->in[2];
  for (size_t row = 0; row < args->rows; row++) {
    uint8_t *mask = (uint8_t *)args->out[0] + row * args->actions;
    uint32_t *list = (uint32_t *)args->out[1] + row * args->actions, found = 0;
    for (uint32_t line = 0; line < args->actions && !args->value[3].u; line++)
      if (mask[line] && !initial[line]) list[found++] = line;
    while (found < args->actions && !args->value[3].u) list[found++] = NO_LINE;
    if (list[args->value[3].u] != NO_LINE) mask[list[args->value[3].u]] = 0;
  }
}

void suno_swap_reference(const struct host_args *args) {
  for (size_t row = 0; row < args->rows; row++) {
    const float *quality = (const float *)args->in[0] + row * args->actions;
    uint32_t line = ((const uint32_t *)args->in[2])[row * args->actions + args->value[5].u],
             other = ((const uint32_t *)args->in[1])[row];
    if (line == NO_LINE) continue;
    float bound = quality[line] + args->value[6].f * fmaxf(fabsf(quality[line]), args->value[7].f);
    if (other != NO_LINE && quality[other] > bound) line = other;
    ((uint8_t *)args->out[3])[row * args->actions + line] = 1;
    ((float *)args->out[4])[row] = quality[line];
  }
}

/* ---- neighbours ---------------------------------------------------------------------------------------- */

void nearest_scale_reference(const struct host_args *args) {
  size_t pixels = args->height * args->width;
  for (size_t row = 0; row < args->rows; row++) {
    const float *image = (const float *)args->in[0] + (args->value[2].u + row) * pixels;
    float *scaled = (float *)args->out[1] + row * pixels;
    double largest = 0;
    for (size_t i = 0; i < pixels; i++) largest = fmax(largest, image[i]);
    for (size_t i = 0; i < pixels; i++) scaled[i] = largest > 0 ? (float)(image[i] / largest) : 0;
  }
}

void nearest_find_reference(const struct host_args *args) {
  size_t pixels = args->height * args->width;
  for (size_t row = 0; row < args->rows; row++) {
    const float *query = (const float *)args->in[0] + row * pixels;
    size_t nearest = 0;
    double least = INFINITY;
    for (size_t entry = 0; entry < args->value[4].u; entry++) {
      const float *image = (const float *)args->in[1] + entry * pixels;
      double sum = 0;
      for (size_t i = 0; i < pixels; i++) sum += ((double)query[i] - image[i]) * ((double)query[i] - image[i]);
      if (sum < least) nearest = entry;
      least = fmin(least, sum);
    }
    for (size_t line = 0; line < args->actions; line++)
      ((float *)args->out[3])[row * args->actions + line] =
          ((const uint8_t *)args->in[2])[nearest * args->actions + line] ? 1 : 0;
  }
}

/* ---- arguments that mean something --------------------------------------------------------------------- */

/* At place 0 lists are made; else some are there. */
void suno_take_away_prepare(struct host_args *args, struct random *random) {
  args->value[3].u = random_u32(random) % 2 ? 0 : random_u32(random) % (uint32_t)args->actions;
  for (size_t i = 0; i < args->rows * args->actions; i++) {
    ((uint8_t *)args->out[0])[i] = random_u32(random) % 2;
    ((uint32_t *)args->out[1])[i] = random_u32(random) % 4 ? random_u32(random) % (uint32_t)args->actions : NO_LINE;
  }
  for (size_t i = 0; i < args->actions; i++) ((uint8_t *)args->in[2])[i] = random_u32(random) % 4 == 0;
}

/* Some qualities are equal or tie, some are next to a tie. */
void suno_swap_prepare(struct host_args *args, struct random *random) {
  const float tie = 0x1p-18f;
  for (size_t i = 0; i < args->rows * args->actions; i++) {
    float value = (float)(random_u32(random) % 2) - 3, near = 1 - (float)(random_u32(random) % 6) * tie / 2;
    ((float *)args->in[0])[i] = value * near;
    ((uint32_t *)args->in[2])[i] = random_u32(random) % 8 ? random_u32(random) % (uint32_t)args->actions : NO_LINE;
  }
  for (size_t row = 0; row < args->rows; row++)
    ((uint32_t *)args->in[1])[row] = random_u32(random) % 8 ? random_u32(random) % (uint32_t)args->actions : NO_LINE;
  args->value[5].u = random_u32(random) % (uint32_t)args->actions;
  args->value[6].f = tie;
  args->value[7].f = (float)(random_u32(random) % 2);
}

void nearest_scale_prepare(struct host_args *args, struct random *random) {
  for (size_t i = 0; i < (args->rows + 3) * args->height * args->width; i++)
    ((float *)args->in[0])[i] = (float)(random_u32(random) % 1024) / 256;
  args->value[2].u = random_u32(random) % 4;
}

void nearest_find_prepare(struct host_args *args, struct random *random) {
  args->value[4].u = 1 + random_u32(random) % (uint32_t)args->table_rows[TABLE_SLICE];
}
