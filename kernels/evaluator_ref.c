#include "components/components.h"
#include "kernels/kernels.h"

#include <math.h>

enum { SIDE = 4 };

/* ---- the image of every column of k-space -------------------------------------------------------------- */

/* The angle of column c between two pixels: frequency 0 is in the middle. */
static double angle(size_t c, size_t from, size_t to, size_t width) {
  return 2 * acos(-1.0) * ((double)c - (double)(width / 2)) * ((double)to - (double)from) / (double)width;
}

void spectral_forward_reference(const struct host_args *args) {
  size_t height = args->value[2].u, width = args->value[3].u, plane = height * width;
  for (size_t row = 0; row < args->rows; row++)
    for (size_t c = 0; c < width; c++)
      for (size_t x = 0; x < width; x++) {
        float *to = (float *)args->out[1] + (row / height * 2 * width + 2 * c) * plane + row % height * width + x;
        double re = 0, im = 0;
        for (size_t u = 0; u < width; u++) {
          double value = ((const float *)args->in[0])[row * width + u] / (double)width;
          re += value * cos(angle(c, u, x, width));
          im += value * sin(angle(c, u, x, width));
        }
        to[0] = (float)re;
        to[plane] = (float)im;
      }
}

void spectral_backward_reference(const struct host_args *args) {
  size_t height = args->value[2].u, width = args->value[3].u, plane = height * width;
  for (size_t row = 0; row < args->rows; row++)
    for (size_t u = 0; u < width; u++) {
      float *to = (float *)args->out[1] + row * width + u;
      double sum = args->value[4].u ? *to : 0;
      for (size_t c = 0; c < width; c++)
        for (size_t x = 0; x < width; x++) {
          const float *from =
              (const float *)args->in[0] + (row / height * 2 * width + 2 * c) * plane + row % height * width + x;
          sum += (from[0] * cos(angle(c, u, x, width)) + from[plane] * sin(angle(c, u, x, width))) / (double)width;
        }
      *to = (float)sum;
    }
}

/* ---- patches and means --------------------------------------------------------------------------------- */

void patches_forward_reference(const struct host_args *args) {
  size_t height = args->value[2].u, width = args->value[3].u, high = height / 2, wide = width / 2;
  for (size_t row = 0; row < args->rows; row++)
    for (size_t k = 0; k < SIDE * SIDE; k++) {
      size_t place = row % (high * wide), plane = row / (high * wide);
      size_t v = place / wide * 2 + k / SIDE, u = place % wide * 2 + k % SIDE; /* one more than in the plane */
      bool inside = v > 0 && u > 0 && v <= height && u <= width;
      ((float *)args->out[1])[(plane * SIDE * SIDE + k) * high * wide + place] =
          inside ? ((const float *)args->in[0])[(plane * height + v - 1) * width + u - 1] : 0;
    }
}

void patches_backward_reference(const struct host_args *args) {
  size_t height = args->value[2].u, width = args->value[3].u, high = height / 2, wide = width / 2;
  size_t planes = args->rows / (height * width);
  float *to = args->out[1];
  for (size_t i = 0; !args->value[4].u && i < args->rows; i++) to[i] = 0;
  for (size_t i = 0; i < planes * SIDE * SIDE * high * wide; i++) {
    size_t place = i % (high * wide), k = i / (high * wide) % (SIDE * SIDE), plane = i / (high * wide) / (SIDE * SIDE);
    size_t v = place / wide * 2 + k / SIDE, u = place % wide * 2 + k % SIDE;
    if (v > 0 && u > 0 && v <= height && u <= width)
      to[(plane * height + v - 1) * width + u - 1] += ((const float *)args->in[0])[i];
  }
}

void plane_mean_forward_reference(const struct host_args *args) {
  size_t pixels = args->value[2].u;
  for (size_t row = 0; row < args->rows; row++) {
    double sum = 0;
    for (size_t i = 0; i < pixels; i++) sum += ((const float *)args->in[0])[row * pixels + i];
    ((float *)args->out[1])[row] = (float)(sum / (double)pixels);
  }
}

void plane_mean_backward_reference(const struct host_args *args) {
  size_t pixels = args->value[2].u;
  for (size_t row = 0; row < args->rows; row++) {
    float *to = (float *)args->out[1] + row;
    double own = ((const float *)args->in[0])[row / pixels] / (double)pixels;
    *to = (float)(args->value[3].u ? *to + own : own);
  }
}

/* ---- learning ------------------------------------------------------------------------------------------ */

static double energy(const float *output, const float *truth, size_t height, size_t width, size_t c) {
  double sum = 0;
  for (size_t y = 0; y < height; y++) {
    double re = 0, im = 0;
    for (size_t x = 0; x < width; x++) {
      double gap = (double)output[y * width + x] - truth[y * width + x];
      re += gap * cos(angle(c, 0, x, width));
      im += gap * sin(angle(c, 0, x, width));
    }
    sum += (re * re + im * im) / (double)width;
  }
  return sum / (2 * (double)height);
}

void evaluator_target_reference(const struct host_args *args) {
  size_t height = args->value[8].u, width = args->value[9].u, plane = height * width;
  for (size_t row = 0; row < args->rows; row++) {
    size_t at = ((const uint32_t *)args->in[0])[row];
    double mean = ((const float *)args->in[3])[at], deviation = ((const float *)args->in[4])[at];
    const uint8_t *taken = (const uint8_t *)args->in[5] + row * width;
    float *truth = (float *)args->out[6] + row * plane, *target = (float *)args->out[7] + row * width;
    for (size_t i = 0; i < plane; i++)
      truth[i] = (float)((((const float *)args->in[2])[at * plane + i] - mean) / (deviation + 1e-11));
    for (size_t c = 0; c < width; c++) {
      double far = energy((const float *)args->in[1] + row * plane, truth, height, width, c);
      target[c] = (float)(taken[c] ? 1 : exp(-(double)args->value[10].f * far));
    }
  }
}

void evaluator_loss_reference(const struct host_args *args) {
  size_t width = args->value[4].u;
  for (size_t row = 0; row < args->rows; row++) {
    float *loss = (float *)args->out[3] + args->value[6].u + row;
    double sum = 0;
    for (size_t c = 0; c < width; c++) {
      size_t at = row * width + c;
      double score = -(double)((const float *)args->in[0])[at],
             gap = score - (args->value[5].u ? 1 : (double)((const float *)args->in[1])[at]);
      sum += gap * gap / (double)width;
      ((float *)args->out[2])[at] =
          (float)(-2 / (double)width * (args->value[7].f * gap - args->value[8].f * (score - 1)));
    }
    *loss = (float)(sum + (args->value[5].u ? *loss : 0));
  }
}

/* ---- arguments that mean something --------------------------------------------------------------------- */

/* A divisor of `rows`. */
static uint32_t divisor(size_t rows, struct random *random) {
  uint32_t found = 1 + random_u32(random) % (uint32_t)rows;
  while (rows % found) found--;
  return found;
}

void spectral_forward_prepare(struct host_args *args, struct random *random) {
  uint32_t widest = (uint32_t)sqrt((double)(args->height * args->width) / 2);
  args->value[2].u = divisor(args->rows, random);
  args->value[3].u = widest > 23 ? 23 - random_u32(random) % 4 : widest;
}

void spectral_backward_prepare(struct host_args *args, struct random *random) {
  spectral_forward_prepare(args, random);
  args->value[4].u = random_u32(random) % 2;
}

/* Of an odd plane the last line and column are in patches, too. */
void patches_forward_prepare(struct host_args *args, struct random *random) {
  uint32_t high = divisor(args->rows, random), wide = divisor(args->rows / high, random);
  args->value[2].u = 2 * high + random_u32(random) % 2;
  args->value[3].u = 2 * wide + random_u32(random) % 2;
}

void patches_backward_prepare(struct host_args *args, struct random *random) {
  args->value[2].u = divisor(args->rows, random);
  args->value[3].u = divisor(args->rows / args->value[2].u, random);
  args->value[4].u = random_u32(random) % 2;
}

void plane_mean_forward_prepare(struct host_args *args, struct random *random) {
  args->value[2].u = 1 + random_u32(random) % (uint32_t)(args->height * args->width);
}

void plane_mean_backward_prepare(struct host_args *args, struct random *random) {
  args->value[2].u = divisor(args->rows, random);
  args->value[3].u = random_u32(random) % 2;
}

void evaluator_target_prepare(struct host_args *args, struct random *random) {
  for (size_t row = 0; row < args->rows; row++)
    ((uint32_t *)args->in[0])[row] = random_u32(random) % (uint32_t)args->table_rows[TABLE_SLICE];
  for (size_t i = 0; i < args->table_rows[TABLE_SLICE]; i++)
    ((float *)args->in[4])[i] = 0.5f + (float)(random_u32(random) % 64) / 64;
  for (size_t i = 0; i < args->rows * args->width; i++) ((uint8_t *)args->in[5])[i] = random_u32(random) % 2;
  args->value[8].u = (uint32_t)args->height;
  args->value[9].u = (uint32_t)args->width;
  args->value[10].f = 0.25f * (float)(random_u32(random) % 4);
}

void evaluator_loss_prepare(struct host_args *args, struct random *random) {
  args->value[4].u = (uint32_t)args->width;
  args->value[5].u = random_u32(random) % 2;
  args->value[6].u = random_u32(random) % 4;
  args->value[7].f = 0.125f;
  args->value[8].f = 0.0625f * (float)(random_u32(random) % 2);
}
