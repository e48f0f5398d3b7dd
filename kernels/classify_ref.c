#include "components/components.h"
#include "kernels/kernels.h"

#include <math.h>

void class_image_reference(const struct host_args *args) {
  size_t pixels = args->height * args->width;
  for (size_t row = 0; row < args->rows; row++) {
    const float *image = (const float *)args->in[0] + (args->value[2].u + row) * pixels;
    float *input = (float *)args->out[1] + row * pixels;
    double mean = 0, square = 0;
    for (size_t i = 0; i < pixels; i++) mean += image[i] / (double)pixels;
    for (size_t i = 0; i < pixels; i++) square += (image[i] - mean) * (image[i] - mean);
    double deviation = sqrt(square / ((double)pixels - 1));
    for (size_t i = 0; i < pixels; i++) input[i] = (float)((image[i] - mean) / (deviation + 1e-11));
  }
}

static double probability(const float *logits, size_t class, size_t classes) {
  double sum = 0;
  for (size_t c = 0; c < classes; c++) sum += exp((double)logits[c] - logits[class]);
  return 1 / sum;
}

/* Of all classes but one. */
static double others(const float *logits, size_t class, size_t classes) {
  double sum = 0;
  for (size_t c = 0; c < classes; c++)
    if (c != class) sum += probability(logits, c, classes);
  return sum;
}

void class_score_reference(const struct host_args *args) {
  size_t classes = args->value[4].u;
  for (size_t row = 0; row < args->rows; row++) {
    size_t to = args->value[5].u + row, own = (size_t)((const float *)args->in[1])[((const uint32_t *)args->in[0])[to]];
    double rest = others((const float *)args->in[2] + row * classes, own, classes);
    ((float *)args->out[3])[to] = (float)(rest < 0.5 ? log1p(-rest) : log(probability((const float *)args->in[2] + row * classes, own, classes)));
  }
}

void class_gradient_reference(const struct host_args *args) {
  size_t classes = args->value[4].u;
  for (size_t row = 0; row < args->rows; row++) {
    size_t own = (size_t)((const float *)args->in[1])[((const uint32_t *)args->in[0])[row]];
    const float *logits = (const float *)args->in[2] + row * classes;
    for (size_t c = 0; c < classes; c++)
      ((float *)args->out[3])[row * classes + c] =
          (float)(args->value[5].f * (c == own ? -others(logits, c, classes) : probability(logits, c, classes)));
  }
}

/* ---- arguments that mean something --------------------------------------------------------------------- */

void class_image_prepare(struct host_args *args, struct random *random) {
  args->value[2].u = random_u32(random) % 4;
}

/* Some logits are equal; labels are of classes. */
static uint32_t set_classes(struct host_args *args, struct random *random, size_t rows) {
  uint32_t classes = 2 + random_u32(random) % (args->actions > 5 ? 4 : 1);
  for (size_t row = 0; row < rows; row++)
    ((uint32_t *)args->in[0])[row] = random_u32(random) % (uint32_t)args->table_rows[TABLE_SLICE];
  for (size_t i = 0; i < args->table_rows[TABLE_SLICE]; i++) ((float *)args->in[1])[i] = (float)(random_u32(random) % classes);
  for (size_t i = 0; i < args->rows * classes; i++) ((float *)args->in[2])[i] = (float)((int)(random_u32(random) % 41) - 20) / 2;
  return classes;
}

void class_score_prepare(struct host_args *args, struct random *random) {
  args->value[4].u = set_classes(args, random, args->rows + 3);
  args->value[5].u = random_u32(random) % 4;
}

void class_gradient_prepare(struct host_args *args, struct random *random) {
  args->value[4].u = set_classes(args, random, args->rows);
  args->value[5].f = 0.125f;
}
