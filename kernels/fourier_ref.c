#include "kernels/divisor.h"
#include "kernels/kernels.h"

#include <math.h>

enum { FOURIER_MOST = 256, FOURIER_LINES = 32, FOURIER_LINES_WIDE = 16 }; /* LINES of fourier.cl */

/* Where pixel (y, x) lies once the centre (height / 2, width / 2) has moved to (0, 0). */
static size_t moved(size_t y, size_t x, size_t height, size_t width) {
  return (y + height - height / 2) % height * width + (x + width - width / 2) % width;
}

void fourier_pack_reference(const struct host_args *args) {
  size_t height = args->value[2].u, width = args->value[3].u, pixels = height * width;
  for (size_t image = 0; image < args->value[4].u; image++) {
    const float *planes = (const float *)args->in[0] + 2 * image * pixels;
    float *work = (float *)args->out[1] + 2 * image * pixels;
    for (size_t i = 0; i < pixels; i++)
      for (size_t part = 0; part < 2; part++)
        work[2 * moved(i / width, i % width, height, width) + part] = planes[part * pixels + i];
  }
}

void fourier_unpack_reference(const struct host_args *args) {
  size_t height = args->value[2].u, width = args->value[3].u, pixels = height * width;
  for (size_t image = 0; image < args->value[4].u; image++) {
    const float *work = (const float *)args->in[0] + 2 * image * pixels;
    float *planes = (float *)args->out[1] + 2 * image * pixels;
    for (size_t i = 0; i < pixels; i++)
      for (size_t part = 0; part < 2; part++) {
        float *to = &planes[part * pixels + i];
        *to = (args->value[5].u ? *to : 0) + work[2 * moved(i / width, i % width, height, width) + part];
      }
  }
}

void fourier_pack_real_reference(const struct host_args *args) {
  size_t height = args->value[2].u, width = args->value[3].u, pixels = height * width;
  for (size_t i = 0; i < args->rows; i++) {
    size_t to = i / pixels * pixels + moved(i % pixels / width, i % width, height, width);
    ((float *)args->out[1])[2 * to] = ((const float *)args->in[0])[i];
    ((float *)args->out[1])[2 * to + 1] = 0;
  }
}

void fourier_unpack_real_reference(const struct host_args *args) {
  size_t height = args->value[2].u, width = args->value[3].u, pixels = height * width;
  for (size_t i = 0; i < args->rows; i++) {
    size_t from = i / pixels * pixels + moved(i % pixels / width, i % width, height, width);
    float *to = (float *)args->out[1] + i;
    *to = (args->value[4].u ? *to : 0) + ((const float *)args->in[0])[2 * from];
  }
}

/* A centred orthonormal transform of `n` complex values. */
static void transform(const double *from, double *to, size_t n, bool forward) {
  for (size_t k = 0; k < n; k++) {
    double re = 0, im = 0;
    for (size_t i = 0; i < n; i++) {
      double turns = ((double)i - (double)(n / 2)) * ((double)k - (double)(n / 2)) / (double)n;
      double c = cos(2 * M_PI * turns), s = (forward ? -1 : 1) * sin(2 * M_PI * turns);
      re += from[2 * i] * c - from[2 * i + 1] * s;
      im += from[2 * i] * s + from[2 * i + 1] * c;
    }
    to[2 * k] = re / sqrt((double)n);
    to[2 * k + 1] = im / sqrt((double)n);
  }
}

/* Real and imaginary part change places in `work` where the transform is forward. */
void fourier_rows_reference(const struct host_args *args) {
  size_t planes = args->value[2].u, height = args->value[3].u, n = args->width;
  bool forward = args->value[5].u;
  double line[2 * FOURIER_MOST], result[2 * FOURIER_MOST];
  for (size_t at = 0; at < args->value[4].u; at++) {
    const float *from = (const float *)args->in[0] + (at / height * planes * height + at % height) * n;
    for (size_t i = 0; i < n; i++) {
      line[2 * i] = from[i];
      line[2 * i + 1] = planes == 2 ? from[height * n + i] : 0;
    }
    transform(line, result, n, forward);
    for (size_t i = 0; i < 2 * n; i++)
      ((float *)args->out[1])[2 * at * n + i] = (float)result[forward ? i ^ 1 : i];
  }
}

void fourier_columns_reference(const struct host_args *args) {
  size_t planes = args->value[2].u, width = args->value[3].u, n = args->width;
  bool forward = args->value[5].u;
  double line[2 * FOURIER_MOST], result[2 * FOURIER_MOST];
  for (size_t at = 0; at < args->value[4].u; at++) {
    const float *from = (const float *)args->in[0] + 2 * (at / width * n * width + at % width);
    float *to = (float *)args->out[1] + at / width * planes * n * width + at % width;
    for (size_t i = 0; i < 2 * n; i++) line[forward ? i ^ 1 : i] = from[2 * (i / 2) * width + i % 2];
    transform(line, result, n, forward);
    for (size_t i = 0; i < n; i++)
      for (size_t plane = 0; plane < planes; plane++) {
        float *place = to + (plane * n + i) * width;
        *place = (float)((args->value[6].u ? *place : 0) + result[2 * i + plane]);
      }
  }
}

static size_t count_images(const struct host_args *args, size_t length) {
  return args->rows / ((length + 7) / 8);
}

void magnitude_forward_reference(const struct host_args *args) {
  size_t pixels = args->value[2].u;
  for (size_t image = 0; image < count_images(args, pixels); image++) {
    const float *planes = (const float *)args->in[0] + 2 * image * pixels;
    float *y = (float *)args->out[1] + image * pixels;
    for (size_t i = 0; i < pixels; i++) y[i] = (float)hypot(planes[i], planes[pixels + i]);
  }
}

void magnitude_backward_reference(const struct host_args *args) {
  size_t pixels = args->value[3].u;
  for (size_t image = 0; image < count_images(args, pixels); image++) {
    const float *planes = (const float *)args->in[0] + 2 * image * pixels;
    const float *dy = (const float *)args->in[1] + image * pixels;
    float *dx = (float *)args->out[2] + 2 * image * pixels;
    for (size_t i = 0; i < 2 * pixels; i++) {
      double size = hypot(planes[i % pixels], planes[pixels + i % pixels]);
      dx[i] = (float)((args->value[4].u ? dx[i] : 0) + (size > 0 ? dy[i % pixels] * (planes[i] / size) : 0));
    }
  }
}

void columns_multiply_reference(const struct host_args *args) {
  size_t lines = args->value[3].u, width = args->value[4].u;
  const float *x = args->in[0], *mask = args->in[1];
  float *y = args->out[2];
  for (size_t line = 0; line < count_images(args, width); line++)
    for (size_t i = 0; i < width; i++) {
      float *to = &y[line * width + i];
      *to = (float)((args->value[5].u ? *to : 0) +
                    (double)x[line * width + i] * mask[line / lines * width + i]);
    }
}

void columns_sum_reference(const struct host_args *args) {
  size_t lines = args->value[3].u, width = args->value[4].u, images = args->rows / ((width + 31) / 32);
  const float *x = args->in[0], *dy = args->in[1];
  float *gradient = args->out[2];
  for (size_t image = 0; image < images; image++)
    for (size_t i = 0; i < width; i++) {
      double sum = args->value[5].u ? gradient[image * width + i] : 0;
      for (size_t line = image * lines; line < (image + 1) * lines; line++)
        sum += (double)x[line * width + i] * dy[line * width + i];
      gradient[image * width + i] = (float)sum;
    }
}

/* ---- sizes of which the rows are whole images or lines ----------------------------------------------- */

static void split_pixels(struct host_args *args, struct random *random) {
  size_t pixels = some_divisor(args->rows, random);
  args->value[2].u = some_divisor(pixels, random);
  args->value[3].u = (uint32_t)pixels / args->value[2].u;
}

/* A row is of four images; of the last one to four are there. */
void fourier_pack_prepare(struct host_args *args, struct random *random) {
  split_pixels(args, random);
  args->value[4].u = 4 * (uint32_t)args->rows / (args->value[2].u * args->value[3].u) - random_u32(random) % 4;
}

void fourier_unpack_prepare(struct host_args *args, struct random *random) {
  fourier_pack_prepare(args, random);
  args->value[5].u = random_u32(random) % 2;
}

/* The last group has few lines; they may be those of part of an image. */
static void split_lines(struct host_args *args, struct random *random) {
  size_t lines = args->width == FOURIER_MOST ? FOURIER_LINES_WIDE : FOURIER_LINES;
  args->value[2].u = 1 + random_u32(random) % 2;
  args->value[4].u = (uint32_t)(args->rows * lines) - random_u32(random) % (uint32_t)lines;
  args->value[3].u = some_divisor(args->value[4].u, random);
  args->value[5].u = random_u32(random) % 2;
}

void fourier_rows_prepare(struct host_args *args, struct random *random) {
  split_lines(args, random);
}

void fourier_columns_prepare(struct host_args *args, struct random *random) {
  split_lines(args, random);
  args->value[6].u = random_u32(random) % 2;
}

static uint32_t short_strips(struct host_args *args, struct random *random) {
  return 8 * some_divisor(args->rows, random) - random_u32(random) % 8;
}

/* Makes values from -1 to 1, every third of them 0. */
static void make_complex(struct host_args *args) {
  float *planes = (float *)args->in[0];
  for (size_t i = 0; i < (args->rows + 3) * args->height * args->width; i++)
    planes[i] = i % 3 ? 2 * planes[i] - 1 : 0;
}

void magnitude_forward_prepare(struct host_args *args, struct random *random) {
  make_complex(args);
  args->value[2].u = short_strips(args, random);
}

void magnitude_backward_prepare(struct host_args *args, struct random *random) {
  float *planes = (float *)args->in[0];
  make_complex(args);
  for (size_t i = 0; i < (args->rows + 3) * args->height * args->width; i++)
    planes[i] *= random_u32(random) % 2 ? 1e-25f : 1;
  args->value[3].u = short_strips(args, random);
  args->value[4].u = random_u32(random) % 2;
}

void columns_multiply_prepare(struct host_args *args, struct random *random) {
  args->value[4].u = short_strips(args, random);
  args->value[3].u = some_divisor(args->rows / ((args->value[4].u + 7) / 8), random);
  args->value[5].u = random_u32(random) % 2;
}

void columns_sum_prepare(struct host_args *args, struct random *random) {
  uint32_t width = 32 * some_divisor(args->rows, random) - random_u32(random) % 32;
  size_t images = args->rows / ((width + 31) / 32), room = (args->rows + 3) * args->height * args->width;
  args->value[4].u = width;
  args->value[3].u = 1 + random_u32(random) % (uint32_t)(room / (images * width));
  args->value[5].u = random_u32(random) % 2;
}
