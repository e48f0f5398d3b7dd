#include "kernels/kernels.h"

#include "components/components.h"

#include <string.h>

void mask_reset_reference(const struct host_args *args) {
  const uint32_t *done = args->in[0], *order = args->in[2];
  uint32_t *scan = args->out[1], *slice = args->out[3], *step = args->out[5];
  uint8_t *mask = args->out[4];
  uint32_t first = args->value[7].u, stride = args->value[8].u, slices = args->value[9].u;
  for (size_t row = 0; row < args->rows; row++) {
    if (!done[row]) continue;
    scan[row] = scan[row] == NO_LINE ? first + (uint32_t)row : scan[row] + stride;
    slice[row] = order[scan[row] / args->value[10].u % slices];
    step[row] = 0;
    memcpy(mask + row * args->actions, args->in[6], args->actions);
  }
}

void mask_reset_prepare(struct host_args *args, struct random *random) {
  uint32_t *scan = args->out[1];
  for (size_t row = 0; row < args->rows; row++)
    if (random_u32(random) % 3 == 0) scan[row] = NO_LINE;
  args->value[7].u = random_u32(random) % 1000;
  args->value[8].u = random_u32(random) % 1000;
  args->value[9].u = 1 + random_u32(random) % (uint32_t)args->table_rows[TABLE_SLICE];
  args->value[10].u = 1 + random_u32(random) % 9;
}

void mask_acquire_reference(const struct host_args *args) {
  const uint32_t *action = args->in[0];
  uint8_t *mask = args->out[1];
  uint32_t *step = args->out[2], *done = args->out[3];
  for (size_t row = 0; row < args->rows; row++) {
    if (action[row] < args->actions) mask[row * args->actions + action[row]] = 1;
    step[row]++;
    done[row] = step[row] >= args->value[4].u;
  }
}

void mask_acquire_prepare(struct host_args *args, struct random *random) {
  uint32_t *action = (uint32_t *)args->in[0];
  for (size_t row = 0; row < args->rows; row++)
    action[row] = random_u32(random) % 8 ? random_u32(random) % (uint32_t)args->actions : NO_LINE;
  args->value[4].u = 4;
}

static uint32_t pair_of(uint32_t seed, uint32_t number, uint32_t pairs) {
  return (uint32_t)((uint64_t)random_words(seed, STREAM_MASK, number, 0).word[0] * pairs >> 32);
}

void mask_chance_reference(const struct host_args *args) {
  const uint32_t *order = args->in[0], *chance = args->in[2];
  const uint8_t *initial = args->in[1];
  uint32_t *slice = args->out[3], width = (uint32_t)args->actions, seed = args->value[8].u;
  uint8_t *mask = args->out[4];
  for (size_t row = 0; row < args->rows; row++) {
    uint32_t number = args->value[5].u + (uint32_t)row, pair = pair_of(seed, number, args->value[7].u);
    slice[row] = order[number % args->value[6].u];
    for (uint32_t line = 0; line < width; line++) {
      uint32_t word = random_words(seed, STREAM_MASK, number, 1 + line / 4).word[line % 4];
      mask[row * width + line] = initial[pair * width + line] || word * 0x1p-32 < chance[pair] * 0x1p-31;
    }
  }
}

void mask_chance_prepare(struct host_args *args, struct random *random) {
  uint32_t *chance = (uint32_t *)args->in[2];
  for (size_t pair = 0; pair < args->width; pair++)
    chance[pair] = pair % 8 == 0 ? 0 : pair % 8 == 1 ? 0x80000000u : random_u32(random) / 4;
  args->value[5].u = random_u32(random);
  args->value[6].u = 1 + random_u32(random) % (uint32_t)args->table_rows[TABLE_SLICE];
  uint32_t pairs = (uint32_t)(args->height * args->width / args->actions); /* pairs that have initial masks */
  args->value[7].u = 1 + random_u32(random) % (uint32_t)(pairs < args->width ? pairs : args->width);
  args->value[8].u = random_u32(random);
}

void mask_keep_reference(const struct host_args *args) {
  const uint32_t *scan = args->in[0], *slice = args->in[1];
  const uint8_t *mask = args->in[2];
  uint32_t *kept_slice = args->out[3], first = args->value[5].u;
  uint8_t *kept_mask = args->out[4];
  for (size_t row = 0; row < args->rows; row++) {
    if (pair_of(args->value[8].u, scan[row], args->value[7].u) != args->value[6].u) continue;
    kept_slice[first + row] = slice[row];
    memcpy(kept_mask + (first + row) * args->actions, mask + row * args->actions, args->actions);
  }
}

void mask_keep_prepare(struct host_args *args, struct random *random) {
  uint32_t *scan = (uint32_t *)args->in[0];
  for (size_t row = 0; row < args->rows; row++) scan[row] = random_u32(random);
  args->value[5].u = random_u32(random) % 4;
  args->value[7].u = 1 + random_u32(random) % 3;
  args->value[6].u = random_u32(random) % args->value[7].u;
  args->value[8].u = random_u32(random);
}
