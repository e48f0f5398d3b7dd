#include "engine/device/dft.h"

#include "engine/base/arena.h"
#include "engine/device/blas.h"

#include <math.h>

static size_t matrix_bytes(size_t n) {
  return 8 * n * n;
}

static size_t plane_bytes(const struct dft *dft) {
  return 8 * dft->batch * dft->height * dft->width;
}

/* The symmetric matrix of the orthonormal inverse transform of length n; its conjugate is that of the forward
 * one. */
static cl_mem make_matrix(struct device *device, size_t n, struct error *error) {
  cl_mem buffer = device_buffer(device, matrix_bytes(n), "a transform matrix", error);
  if (!buffer) return NULL;
  struct arena *arena = arena_open();
  float *matrix = ARENA_NEW(arena, float, 2 * n * n);
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++) {
      double turn = 2 * M_PI * (double)(i * j % n) / (double)n, scale = 1 / sqrt((double)n);
      matrix[2 * (i * n + j)] = (float)(cos(turn) * scale);
      matrix[2 * (i * n + j) + 1] = (float)(sin(turn) * scale);
    }
  device_write(device, buffer, 0, matrix_bytes(n), matrix);
  arena_close(arena);
  return buffer;
}

bool dft_open(struct dft *dft, struct device *device, size_t height, size_t width, size_t batch,
              struct error *error) {
  *dft = (struct dft){.height = height, .width = width, .batch = batch};
  bool good =
      (dft->rows = make_matrix(device, width, error)) &&
      (dft->half = device_buffer(device, plane_bytes(dft), "a transform", error)) &&
      (height == 1 || (dft->columns = height == width ? dft->rows : make_matrix(device, height, error)));
  if (!good) dft_close(dft, device);
  return good;
}

void dft_close(struct dft *dft, struct device *device) {
  if (!dft->batch) return;
  if (dft->columns != dft->rows) device_release(device, dft->columns, matrix_bytes(dft->height));
  device_release(device, dft->rows, matrix_bytes(dft->width));
  device_release(device, dft->half, plane_bytes(dft));
  *dft = (struct dft){0};
}

static void transform_rows(const struct dft *dft, struct device *device, size_t lines,
                           struct blas_factor rows, cl_mem data, size_t offset) {
  struct blas_factor image = {.data = data, .offset = offset};
  blas_complex_product(device, lines, dft->width, dft->width, image, rows, dft->half, offset);
}

void dft_run(struct dft *dft, struct device *device, bool inverse, cl_mem data) {
  size_t h = dft->height, w = dft->width;
  int adjoint = inverse ? false : BLAS_ADJOINT;
  struct blas_factor rows = {.data = dft->rows, .transposed = adjoint},
                     columns = {.data = dft->columns, .transposed = adjoint};
  if (h == 1) {
    transform_rows(dft, device, dft->batch, rows, data, 0);
    device_copy(device, dft->half, 0, data, 0, plane_bytes(dft));
    return;
  }
  for (size_t image = 0; image < dft->batch; image++) {
    struct blas_factor half = {.data = dft->half, .offset = image * h * w};
    transform_rows(dft, device, h, rows, data, image * h * w);
    blas_complex_product(device, h, w, h, columns, half, data, image * h * w);
  }
}
