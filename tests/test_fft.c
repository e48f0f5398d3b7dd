#include "components/streams.h"
#include "engine/base/random.h"
#include "engine/device/blas.h"
#include "engine/device/fft.h"
#include "tests/support.h"

#include <complex.h>
#include <math.h>

static const double tau = 6.283185307179586;

static struct arena *arena;

static int open_libraries(void **state) {
  arena = arena_open();
  return support_open_transforms(state);
}

static int close_libraries(void **state) {
  arena_close(arena);
  return support_close_transforms(state);
}

static float complex *draw_matrix(size_t count, uint32_t scan) {
  float complex *data = ARENA_NEW(arena, float complex, count);
  struct random random;
  random_start(&random, 1, STREAM_PHANTOM, scan);
  for (size_t i = 0; i < count; i++) {
    float real = (float)random_normal(&random), imaginary = (float)random_normal(&random);
    data[i] = real + I * imaginary;
  }
  return data;
}

static cl_mem send(struct device *device, const void *data, size_t bytes) {
  struct error error;
  cl_mem buffer = device_buffer(device, bytes, "a test", &error);
  assert_non_null(buffer);
  device_write(device, buffer, 0, bytes, data);
  return buffer;
}

static float complex *fetch(struct device *device, cl_mem buffer, size_t count) {
  struct error error;
  float complex *data = ARENA_NEW(arena, float complex, count);
  device_read(device, buffer, 0, count * sizeof *data, data);
  assert_good(device_finish(device, &error), &error);
  return data;
}

/* Transforms one row of `length` numbers that lie `stride` apart by the definition, orthonormal. */
static void transform_row(double complex *row, size_t length, size_t stride, int sign) {
  double complex sums[512];
  for (size_t k = 0; k < length; k++) {
    sums[k] = 0;
    for (size_t i = 0; i < length; i++)
      sums[k] += row[i * stride] * cexp(I * (sign * tau * (double)(i * k % length) / (double)length));
  }
  for (size_t k = 0; k < length; k++) row[k * stride] = sums[k] / sqrt((double)length);
}

static void transform(double complex *image, size_t height, size_t width, int sign) {
  for (size_t y = 0; y < height; y++) transform_row(image + y * width, width, 1, sign);
  for (size_t x = 0; x < width; x++) transform_row(image + x, height, width, sign);
}

static void expect_near(const float complex *got, const double complex *want, size_t count,
                        double tolerance) {
  double error = 0, norm = 0;
  for (size_t i = 0; i < count; i++) error += pow(cabs(got[i] - want[i]), 2), norm += pow(cabs(want[i]), 2);
  assert_true(sqrt(error / norm) < tolerance);
}

/* A few roundings a butterfly stage: 1e-6 of the norm is some sixteen units in the last place. */
static void expect_transform(struct device *device, size_t height, size_t width, size_t batch,
                             enum fft_direction direction) {
  size_t count = height * width * batch;
  struct fft fft;
  struct error error;
  const float complex *data = draw_matrix(count, (uint32_t)(height + width));
  double complex *want = ARENA_NEW(arena, double complex, count);
  cl_mem buffer = send(device, data, count * sizeof *data);
  for (size_t i = 0; i < count; i++) want[i] = data[i];
  for (size_t b = 0; b < batch; b++)
    transform(want + b * height * width, height, width, direction == FFT_FORWARD ? -1 : 1);
  assert_good(fft_open(&fft, device, height, width, batch, &error), &error);
  fft_run(&fft, direction, buffer);
  expect_near(fetch(device, buffer, count), want, count, 1e-6);
  fft_close(&fft);
  device_release(device, buffer, count * sizeof *data);
}

static const size_t lengths[] = {32, 45, 60, 77, 91, 128};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

/* Few plans, for each compiles kernels of its own: both directions, one row and several. Lengths of 3 and 5
 * are those of images' rows. */
static void rows_are_transformed(void **state) {
  expect_transform(*state, 1, 32, 1, FFT_FORWARD);
  expect_transform(*state, 1, 77, 5, FFT_FORWARD);
  expect_transform(*state, 1, 91, 1, FFT_INVERSE);
  expect_transform(*state, 1, 128, 5, FFT_INVERSE);
}

static void images_are_transformed(void **state) {
  expect_transform(*state, 77, 45, 3, FFT_FORWARD);
  expect_transform(*state, 91, 60, 2, FFT_INVERSE);
  expect_transform(*state, 32, 128, 2, FFT_FORWARD);
  expect_transform(*state, 32, 32, 2, FFT_INVERSE);
}

static void there_and_back_is_the_same(void **state) {
  enum { COUNT = 77 * 45 * 3 };
  struct device *device = *state;
  struct fft fft;
  struct error error;
  const float complex *data = draw_matrix(COUNT, 3);
  double complex *want = ARENA_NEW(arena, double complex, COUNT);
  cl_mem buffer = send(device, data, COUNT * sizeof *data);
  for (size_t i = 0; i < COUNT; i++) want[i] = data[i];
  assert_good(fft_open(&fft, device, 77, 45, 3, &error), &error);
  fft_run(&fft, FFT_FORWARD, buffer);
  fft_run(&fft, FFT_INVERSE, buffer);
  expect_near(fetch(device, buffer, COUNT), want, COUNT, 2e-6);
  fft_close(&fft);
  fft_close(&fft); /* closing twice is closing once */
  device_release(device, buffer, COUNT * sizeof *data);
}

static void lengths_are_products_of_small_primes(void **state) {
  (void)state;
  for (size_t i = 0; i < LENGTHS; i++) assert_true(fft_takes(lengths[i]));
  assert_true(fft_takes(1) && fft_takes(2 * 3 * 5 * 7 * 11 * 13));
  assert_false(fft_takes(0) || fft_takes(31) || fft_takes(17) || fft_takes(2 * 37));
}

/* Both lengths other ones, one of them, the same twice; rows alone. */
static void other_lengths_are_products_with_matrices(void **state) {
  static const struct {
    size_t height, width, batch;
  } sizes[] = {{62, 37, 3}, {23, 32, 2}, {32, 31, 2}, {46, 46, 1}, {1, 31, 5}, {1, 193, 1}, {8, 368, 1}, {1, 372, 2}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    for (int inverse = 0; inverse < 2; inverse++)
      expect_transform(*state, sizes[i].height, sizes[i].width, sizes[i].batch,
                       inverse ? FFT_INVERSE : FFT_FORWARD);
}

static void expect_refusal(struct device *device, size_t height, size_t width, const char *part) {
  struct fft fft;
  struct error error;
  assert_false(fft_open(&fft, device, height, width, 1, &error));
  assert_holds(error.text, part);
  fft_close(&fft);
}

static void no_length_is_refused(void **state) {
  expect_refusal(*state, 1, 0, "a transform of 1 x 0");
  expect_refusal(*state, 0, 32, "a transform of 0 x 32");
  expect_refusal(*state, 0, 0, "a transform of 0 x 0");
}

/* ---- products ------------------------------------------------------------------------------------------ */

struct product {
  size_t m, n, k;
  bool a_transposed, b_transposed;
  size_t a_offset, b_offset, c_offset;
};

static double complex element(const float complex *data, size_t row, size_t column, size_t rows,
                              size_t columns, bool transposed) {
  return data[transposed ? column * rows + row : row * columns + column];
}

static void multiply(const struct product *p, const float complex *a, const float complex *b,
                     double complex *c) {
  for (size_t y = 0; y < p->m; y++)
    for (size_t x = 0; x < p->n; x++) {
      c[y * p->n + x] = 0;
      for (size_t i = 0; i < p->k; i++)
        c[y * p->n + x] +=
            element(a, y, i, p->m, p->k, p->a_transposed) * element(b, i, x, p->k, p->n, p->b_transposed);
    }
}

/* Eight guard elements lie behind the product, and `c_offset` of them before. */
static void expect_product(struct device *device, struct product p) {
  enum { GUARD = 8 };
  size_t a_count = p.a_offset + p.m * p.k, b_count = p.b_offset + p.k * p.n;
  size_t product = p.m * p.n, c_count = p.c_offset + product + GUARD, bytes = sizeof(float complex);
  const float complex *a = draw_matrix(a_count, 1), *b = draw_matrix(b_count, 2),
                      *c = draw_matrix(c_count, 3);
  double complex *want = ARENA_NEW(arena, double complex, product);
  cl_mem buffers[] = {send(device, a, a_count * bytes), send(device, b, b_count * bytes),
                      send(device, c, c_count * bytes)};
  multiply(&p, a + p.a_offset, b + p.b_offset, want);
  blas_complex_product(device, p.m, p.n, p.k, (struct blas_factor){buffers[0], p.a_offset, p.a_transposed},
                       (struct blas_factor){buffers[1], p.b_offset, p.b_transposed}, buffers[2], p.c_offset);
  const float complex *got = fetch(device, buffers[2], c_count);
  expect_near(got + p.c_offset, want, product, 1e-6);
  assert_memory_equal(got, c, p.c_offset * bytes);
  assert_memory_equal(got + p.c_offset + product, c + p.c_offset + product, GUARD * bytes);
  device_release(device, buffers[0], a_count * bytes);
  device_release(device, buffers[1], b_count * bytes);
  device_release(device, buffers[2], c_count * bytes);
}

static void products_agree(void **state) {
  expect_product(*state, (struct product){.m = 7, .n = 5, .k = 9});
  expect_product(*state, (struct product){.m = 1, .n = 1, .k = 1});
  expect_product(*state, (struct product){.m = 33, .n = 17, .k = 20});
}

static void transposed_factors_agree(void **state) {
  for (int i = 1; i < 4; i++)
    expect_product(*state, (struct product){7, 5, 9, .a_transposed = i & 1, .b_transposed = i & 2});
}

static void offsets_are_in_elements(void **state) {
  expect_product(*state, (struct product){7, 5, 9, false, false, 3, 11, 6});
  expect_product(*state, (struct product){6, 8, 4, true, true, 13, 2, 1});
}

int main(void) {
  support_optimise(false);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_are_transformed),
      cmocka_unit_test(images_are_transformed),
      cmocka_unit_test(there_and_back_is_the_same),
      cmocka_unit_test(lengths_are_products_of_small_primes),
      cmocka_unit_test(other_lengths_are_products_with_matrices),
      cmocka_unit_test(no_length_is_refused),
      cmocka_unit_test(products_agree),
      cmocka_unit_test(transposed_factors_agree),
      cmocka_unit_test(offsets_are_in_elements),
  };
  return cmocka_run_group_tests(tests, open_libraries, close_libraries);
}
