#include "components/components.h"
#include "kernels/kernels.h"

void loupe_number_reference(const struct host_args *args) {
  for (size_t row = 0; row < args->rows; row++)
    ((uint32_t *)args->out[0])[row] = (uint32_t)(args->value[1].u + args->value[2].u * row);
}

void loupe_images_reference(const struct host_args *args) {
  const uint32_t *slice = args->in[0];
  size_t pixels = args->value[5].u;
  for (size_t row = 0; row < args->rows; row++) {
    const float *image = (const float *)args->in[1] + slice[row] * pixels;
    double unit = ((const float *)args->in[2])[slice[row]];
    float *planes = (float *)args->out[3] + 2 * row * pixels;
    for (size_t i = 0; i < 2 * pixels; i++) planes[i] = i < pixels ? (float)(image[i] / unit) : 0;
    ((uint32_t *)args->out[4])[row] = (uint32_t)(args->value[6].u + row);
  }
}

void loupe_keep_reference(const struct host_args *args) {
  for (size_t i = 0; i < args->rows; i++)
    ((uint8_t *)args->out[1])[args->value[2].u * args->actions + i] = ((const float *)args->in[0])[i] > 0.5f;
}

void loupe_number_prepare(struct host_args *args, struct random *random) {
  args->value[1].u = random_u32(random);
  args->value[2].u = random_u32(random) % 2;
}

/* Units are away from 0. */
void loupe_images_prepare(struct host_args *args, struct random *random) {
  for (size_t row = 0; row < args->rows + 3; row++)
    ((uint32_t *)args->in[0])[row] = random_u32(random) % (uint32_t)args->table_rows[TABLE_SLICE];
  for (size_t row = 0; row < args->table_rows[TABLE_SLICE]; row++)
    ((float *)args->in[2])[row] = random_u32(random) % 2 ? 0.125f : 4;
  args->value[5].u = 1 + random_u32(random) % (uint32_t)(args->height * args->width / 2);
  args->value[6].u = random_u32(random);
}

void loupe_keep_prepare(struct host_args *args, struct random *random) {
  args->value[2].u = random_u32(random) % 4;
}
