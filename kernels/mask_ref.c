#include "kernels/kernels.h"

#include "components/components.h"

#include <string.h>

void mask_reset_reference(const struct host_args *args) {
  const uint32_t *done = args->in[0], *order = args->in[2];
  uint32_t *scan = args->out[1], *slice = args->out[3], *step = args->out[5];
  uint8_t *mask = args->out[4];
  uint32_t first = args->value[6].u, stride = args->value[7].u, slices = args->value[8].u;
  uint32_t start = args->value[9].u, lines = args->value[10].u;
  for (size_t row = 0; row < args->rows; row++) {
    if (!done[row]) continue;
    scan[row] = scan[row] == NO_LINE ? first + (uint32_t)row : scan[row] + stride;
    slice[row] = order[scan[row] % slices];
    step[row] = 0;
    memset(mask + row * args->width, 0, args->width);
    memset(mask + row * args->width + start, 1, lines);
  }
}

void mask_reset_prepare(struct host_args *args, struct random *random) {
  uint32_t *scan = args->out[1], width = (uint32_t)args->width;
  for (size_t row = 0; row < args->rows; row++)
    if (random_u32(random) % 3 == 0) scan[row] = NO_LINE;
  args->value[6].u = random_u32(random) % 1000;
  args->value[7].u = random_u32(random) % 1000;
  args->value[8].u = 1 + random_u32(random) % (uint32_t)args->table_rows[TABLE_SLICE];
  args->value[10].u = random_u32(random) % (width / 2);
  args->value[9].u = width / 2 - args->value[10].u / 2;
}

void mask_acquire_reference(const struct host_args *args) {
  const uint32_t *action = args->in[0];
  uint8_t *mask = args->out[1];
  uint32_t *step = args->out[2], *done = args->out[3];
  for (size_t row = 0; row < args->rows; row++) {
    if (action[row] < args->width) mask[row * args->width + action[row]] = 1;
    step[row]++;
    done[row] = step[row] >= args->value[4].u;
  }
}

void mask_acquire_prepare(struct host_args *args, struct random *random) {
  uint32_t *action = (uint32_t *)args->in[0];
  for (size_t row = 0; row < args->rows; row++)
    action[row] = random_u32(random) % 8 ? random_u32(random) % (uint32_t)args->width : NO_LINE;
  args->value[4].u = 4;
}
