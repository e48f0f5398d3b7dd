#include "components/components.h"
#include "kernels/kernels.h"

void loupe_number_reference(const struct host_args *args) {
  for (size_t row = 0; row < args->rows; row++)
    ((uint32_t *)args->out[0])[row] = (uint32_t)(args->value[1].u + args->value[2].u * row);
}

void loupe_keep_reference(const struct host_args *args) {
  for (size_t i = 0; i < args->rows * args->width; i++)
    ((uint8_t *)args->out[1])[args->value[2].u * args->width + i] = ((const float *)args->in[0])[i] > 0.5f;
}

void loupe_number_prepare(struct host_args *args, struct random *random) {
  args->value[1].u = random_u32(random);
  args->value[2].u = random_u32(random) % 2;
}

void loupe_keep_prepare(struct host_args *args, struct random *random) {
  args->value[2].u = random_u32(random) % 4;
}
