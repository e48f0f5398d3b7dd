/* Losses against their definitions in double, and their gradients against central differences of those. */
#include "engine/base/random.h"
#include "kernels/kernels.h"
#include "systems/networks/loss.h"
#include "tests/support.h"

#include <math.h>
#include <string.h>

enum { HEIGHT = 21, WIDTH = 37, PIXELS = HEIGHT * WIDTH, SLICES = 3, BATCH = 2, RADIUS = 5 };

struct bench {
  struct device *device;
  struct kernels *kernels;
  struct loss loss;
  struct loss_target target;
  cl_mem output, gradient;
  bool plain; /* targets are the images as they are */
  uint32_t slice[BATCH];
  float image[SLICES][PIXELS], mean[SLICES], std[SLICES], range[SLICES];
  float found[BATCH][PIXELS]; /* the network's output */
};

/* ---- definitions --------------------------------------------------------------------------------------- */

static double normalised(const struct bench *bench, size_t at, size_t i) {
  if (bench->plain) return bench->image[at][i];
  return fmin(fmax((bench->image[at][i] - bench->mean[at]) / (bench->std[at] + 1e-11), -6), 6);
}

static double ssim_at(const double *x, const double *y, const double *weights, int top, int left) {
  double m[5] = {0, 0, 0, 0, 0}, c1 = 1e-4, c2 = 9e-4;
  for (int dy = -RADIUS; dy <= RADIUS; dy++)
    for (int dx = -RADIUS; dx <= RADIUS; dx++) {
      if (top + dy < 0 || top + dy >= HEIGHT || left + dx < 0 || left + dx >= WIDTH) continue;
      int i = (top + dy) * WIDTH + left + dx;
      double w = weights[dy + RADIUS] * weights[dx + RADIUS];
      const double terms[5] = {x[i], y[i], x[i] * x[i], y[i] * y[i], x[i] * y[i]};
      for (int k = 0; k < 5; k++) m[k] += w * terms[k];
    }
  return (2 * m[0] * m[1] + c1) * (2 * (m[4] - m[0] * m[1]) + c2) /
         ((m[0] * m[0] + m[1] * m[1] + c1) * (m[2] - m[0] * m[0] + m[3] - m[1] * m[1] + c2));
}

static double minus_ssim(const struct bench *bench, size_t at, const double *output) {
  double weights[2 * RADIUS + 1], sum = 0, x[PIXELS], y[PIXELS], total = 0;
  for (int i = 0; i <= 2 * RADIUS; i++) sum += weights[i] = exp(-(i - RADIUS) * (i - RADIUS) / 4.5);
  for (int i = 0; i <= 2 * RADIUS; i++) weights[i] /= sum;
  for (size_t i = 0; i < PIXELS; i++) {
    x[i] = (output[i] * bench->std[at] + bench->mean[at]) / bench->range[at];
    y[i] = (normalised(bench, at, i) * bench->std[at] + bench->mean[at]) / bench->range[at];
  }
  for (int top = 0; top < HEIGHT; top++)
    for (int left = 0; left < WIDTH; left++) total -= ssim_at(x, y, weights, top, left);
  return total / PIXELS;
}

/* scikit-image's: 7x7, equal weights, sample covariances, windows within the image. */
static double uniform_at(const double *x, const double *y, int top, int left) {
  double c1 = 1e-4, c2 = 9e-4, mx = 0, my = 0, xx = 0, yy = 0, xy = 0;
  for (int i = 0; i < 49; i++) {
    mx += x[(top + i / 7) * WIDTH + left + i % 7] / 49;
    my += y[(top + i / 7) * WIDTH + left + i % 7] / 49;
  }
  for (int i = 0; i < 49; i++) {
    double a = x[(top + i / 7) * WIDTH + left + i % 7] - mx, b = y[(top + i / 7) * WIDTH + left + i % 7] - my;
    xx += a * a / 48;
    yy += b * b / 48;
    xy += a * b / 48;
  }
  return (2 * mx * my + c1) * (2 * xy + c2) / ((mx * mx + my * my + c1) * (xx + yy + c2));
}

static double minus_uniform(const struct bench *bench, size_t at, const double *output) {
  double x[PIXELS], y[PIXELS], total = 0;
  for (size_t i = 0; i < PIXELS; i++) {
    x[i] = (output[i] * bench->std[at] + bench->mean[at]) / bench->range[at];
    y[i] = (normalised(bench, at, i) * bench->std[at] + bench->mean[at]) / bench->range[at];
  }
  for (int top = 0; top + 7 <= HEIGHT; top++)
    for (int left = 0; left + 7 <= WIDTH; left++) total -= uniform_at(x, y, top, left);
  return total / ((HEIGHT - 6) * (WIDTH - 6));
}

static double power_error(const struct bench *bench, size_t at, const double *output, enum loss_kind kind) {
  double total = 0;
  for (size_t i = 0; i < PIXELS; i++) {
    double gap = output[i] - normalised(bench, at, i);
    total += kind == LOSS_L1 ? fabs(gap) : gap * gap;
  }
  return total / PIXELS;
}

static double loss_of(const struct bench *bench, size_t row, const double *output) {
  size_t at = bench->slice[row];
  if (bench->loss.kind == LOSS_SSIM_UNIFORM) return minus_uniform(bench, at, output);
  return bench->loss.kind == LOSS_SSIM ? minus_ssim(bench, at, output)
                                       : power_error(bench, at, output, bench->loss.kind);
}

/* ---- on the device ------------------------------------------------------------------------------------- */

static cl_mem upload(struct bench *bench, const void *from, size_t bytes) {
  struct error error;
  cl_mem buffer = device_buffer(bench->device, bytes, "a test", &error);
  assert_non_null(buffer);
  device_write(bench->device, buffer, 0, bytes, from);
  return buffer;
}

static void fill(struct bench *bench) {
  struct random random;
  random_start(&random, 4, STREAM_PHANTOM, 0);
  for (size_t s = 0; s < SLICES; s++) {
    bench->mean[s] = 3e-5f;
    bench->std[s] = s == 2 ? 2e-6f : 1.5e-5f; /* the last slice's bright pixels are clamped */
    bench->range[s] = 8e-5f + 2e-5f * (float)s;
    for (size_t i = 0; i < PIXELS; i++)
      bench->image[s][i] = (float)(3e-5 + 2e-5 * sin(0.2 * (double)(i % WIDTH) + 0.3 * (double)(i / WIDTH)));
  }
  bench->slice[0] = 2;
  bench->slice[1] = 0;
  for (size_t row = 0; row < BATCH; row++)
    for (size_t i = 0; i < PIXELS; i++)
      bench->found[row][i] = (float)(normalised(bench, bench->slice[row], i) + 0.5 * random_normal(&random));
}

/* Targets as they are, outputs in the same units, near 1; some pixels beyond six. */
static void fill_plain(struct bench *bench) {
  struct random random;
  random_start(&random, 5, STREAM_PHANTOM, 0);
  fill(bench);
  for (size_t s = 0; s < SLICES; s++) {
    bench->mean[s] = 0;
    bench->std[s] = 1;
    bench->range[s] *= 1e5f;
    for (size_t i = 0; i < PIXELS; i++) bench->image[s][i] *= 2e5f;
  }
  for (size_t row = 0; row < BATCH; row++)
    for (size_t i = 0; i < PIXELS; i++)
      bench->found[row][i] = bench->image[bench->slice[row]][i] + (float)(0.5 * random_normal(&random));
}

static void open_bench(struct bench *bench, struct device *device, enum loss_kind kind, bool plain) {
  struct error error;
  struct kernel_setup setup = {HEIGHT, WIDTH, false, ""};
  bench->device = device;
  bench->plain = plain;
  (plain ? fill_plain : fill)(bench);
  assert_good(kernels_open(&bench->kernels, device, &kernel_table, &setup, &error), &error);
  if (plain) kernels_define(bench->kernels, "TARGET_PLAIN");
  assert_good(loss_open(&bench->loss, device, bench->kernels, kind, HEIGHT, WIDTH, BATCH, &error), &error);
  bench->target = (struct loss_target){
      upload(bench, bench->slice, sizeof bench->slice), upload(bench, bench->image, sizeof bench->image),
      upload(bench, bench->mean, sizeof bench->mean), upload(bench, bench->std, sizeof bench->std),
      upload(bench, bench->range, sizeof bench->range)};
  bench->output = upload(bench, bench->found, sizeof bench->found);
  bench->gradient = upload(bench, bench->found, sizeof bench->found);
}

static void close_bench(struct bench *bench) {
  struct loss_target *t = &bench->target;
  device_release(bench->device, t->slice, sizeof bench->slice);
  device_release(bench->device, t->image, sizeof bench->image);
  device_release(bench->device, t->mean, sizeof bench->mean);
  device_release(bench->device, t->std, sizeof bench->std);
  device_release(bench->device, t->data_range, sizeof bench->range);
  device_release(bench->device, bench->output, sizeof bench->found);
  device_release(bench->device, bench->gradient, sizeof bench->found);
  loss_close(&bench->loss);
  kernels_close(bench->kernels);
}

/* Every eleventh pixel: corners, edges and the middle among them. */
static void check_gradient(const struct bench *bench, size_t row, const float *gradient, double share) {
  const double step = 1e-5;
  double output[PIXELS], largest = 0;
  for (size_t i = 0; i < PIXELS; i++) {
    output[i] = bench->found[row][i];
    largest = fmax(largest, fabs(gradient[i]));
  }
  for (size_t i = 0; i < PIXELS; i += 11) {
    double kept = output[i];
    output[i] = kept + step;
    double above = loss_of(bench, row, output);
    output[i] = kept - step;
    double slope = share * (above - loss_of(bench, row, output)) / (2 * step);
    output[i] = kept;
    if (fabs(slope - gradient[i]) > 2e-5 * largest)
      fail_msg("kind %d, image %zu, pixel %zu: %.9g, expected %.9g", bench->loss.kind, row, i,
               (double)gradient[i], slope);
  }
}

static void check_kind(struct device *device, enum loss_kind kind, bool plain) {
  static struct bench bench;
  struct error error;
  double each[BATCH], again[BATCH], share = 0.25, output[PIXELS];
  static float gradient[BATCH][PIXELS];
  open_bench(&bench, device, kind, plain);
  loss_run(&bench.loss, &bench.target, bench.output, bench.gradient, BATCH, share);
  assert_good(loss_read(&bench.loss, BATCH, each, &error), &error);
  device_read(device, bench.gradient, 0, sizeof gradient, gradient);
  for (size_t row = 0; row < BATCH; row++) {
    for (size_t i = 0; i < PIXELS; i++) output[i] = bench.found[row][i];
    double expected = loss_of(&bench, row, output);
    if (fabs(each[row] - expected) > 3e-6 * fabs(expected))
      fail_msg("kind %d, image %zu: loss %.9g, expected %.9g", kind, row, each[row], expected);
    check_gradient(&bench, row, gradient[row], share);
  }
  loss_run(&bench.loss, &bench.target, bench.output, NULL, BATCH, 1); /* only the loss */
  assert_good(loss_read(&bench.loss, BATCH, again, &error), &error);
  assert_memory_equal(each, again, sizeof each);
  close_bench(&bench);
}

static void test_ssim(void **state) {
  check_kind(*state, LOSS_SSIM, false);
}

static void test_ssim_uniform(void **state) {
  check_kind(*state, LOSS_SSIM_UNIFORM, false);
  check_kind(*state, LOSS_SSIM_UNIFORM, true);
}

static void test_l1(void **state) {
  check_kind(*state, LOSS_L1, false);
}

static void test_mse(void **state) {
  check_kind(*state, LOSS_MSE, false);
  check_kind(*state, LOSS_MSE, true);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_ssim),
      cmocka_unit_test(test_ssim_uniform),
      cmocka_unit_test(test_l1),
      cmocka_unit_test(test_mse),
  };
  return cmocka_run_group_tests_name("loss", tests, support_open_device, support_close_device);
}
