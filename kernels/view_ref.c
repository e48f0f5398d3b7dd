#include "components/components.h"
#include "kernels/kernels.h"

/* Frequency (y - height / 2, x - width / 2), which the column has at that place modulo height and width. */
void view_present_reference(const struct host_args *args) {
  const uint32_t *slice = args->in[0];
  const uint8_t *mask = args->in[1];
  long height = args->value[5].u, width = args->value[6].u;
  size_t first = args->value[7].u, entries = args->value[8].u, pixels = (size_t)(height * width);
  for (size_t row = 0; row < args->rows; row++) {
    size_t at = slice[row + first];
    const float *kspace = (const float *)args->in[2] + 2 * at * pixels;
    float unit = ((const float *)args->in[3])[at], *planes = (float *)args->out[4] + 2 * row * pixels;
    for (long y = 0; y < height; y++)
      for (long x = 0; x < width; x++) {
        long v = y - height / 2, u = x - width / 2;
        long place = (v < 0 ? v + height : v) * width + (u < 0 ? u + width : u);
        bool left_out = entries && !mask[(row + first) * entries + (size_t)(y * width + x) % entries];
        for (long part = 0; part < 2; part++)
          planes[(part * height + y) * width + x] = left_out ? 0 : kspace[2 * place + part] * unit;
      }
  }
}

/* Rows of ENV hold one image where the planes of one are two. */
void view_present_prepare(struct host_args *args, struct random *random) {
  uint32_t height = 1 + random_u32(random) % ((uint32_t)args->height / 2);
  for (size_t row = 0; row < args->rows + 3; row++)
    ((uint32_t *)args->in[0])[row] = random_u32(random) % (uint32_t)args->table_rows[TABLE_SLICE];
  for (size_t row = 0; row < args->table_rows[TABLE_SLICE]; row++)
    ((float *)args->in[3])[row] = random_u32(random) % 2 ? 0.125f : 4;
  for (size_t i = 0; i < (args->rows + 3) * args->actions; i++)
    ((uint8_t *)args->in[1])[i] = random_u32(random) % 2;
  args->value[5].u = height;
  args->value[6].u = 1 + random_u32(random) % (uint32_t)args->width;
  args->value[7].u = random_u32(random) % 4;
  args->value[8].u = random_u32(random) % 2 * args->value[6].u;
  if (args->actions == args->height * args->width) args->value[8].u *= height;
}
