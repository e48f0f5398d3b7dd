#include "systems/scan/coil.h"

#include "engine/device/blas.h"

#include <math.h>

static size_t samples_of(const struct coil_plan *plan) {
  return plan->coils * plan->height * plan->width;
}

void coil_close(struct coil_plan *plan) {
  if (!plan->coils) return;
  fft_close(&plan->fft);
  device_release(plan->device, plan->kspace, 8 * samples_of(plan));
  device_release(plan->device, plan->work, 8 * samples_of(plan));
  device_release(plan->device, plan->pixels, 4 * plan->image_height * plan->image_width);
  device_release(plan->device, plan->row_matrix, 8 * plan->width * plan->width);
  device_release(plan->device, plan->column_matrix, 8 * plan->height * plan->height);
  *plan = (struct coil_plan){0};
}

/* The symmetric matrix of the orthonormal inverse transform of length n. */
static cl_mem make_matrix(struct device *device, size_t n, struct error *error) {
  cl_mem buffer = device_buffer(device, 8 * n * n, "a transform matrix", error);
  if (!buffer) return NULL;
  struct arena *arena = arena_open();
  float *matrix = ARENA_NEW(arena, float, 2 * n * n);
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++) {
      double turn = 2 * M_PI * (double)(i * j % n) / (double)n, scale = 1 / sqrt((double)n);
      matrix[2 * (i * n + j)] = (float)(cos(turn) * scale);
      matrix[2 * (i * n + j) + 1] = (float)(sin(turn) * scale);
    }
  device_write(device, buffer, 0, 8 * n * n, matrix);
  arena_close(arena);
  return buffer;
}

static bool open_transform(struct coil_plan *plan, struct error *error) {
  plan->by_matrix = !fft_takes(plan->height) || !fft_takes(plan->width);
  if (!plan->by_matrix)
    return fft_open(&plan->fft, plan->device, plan->height, plan->width, plan->coils, error);
  plan->row_matrix = make_matrix(plan->device, plan->width, error);
  plan->column_matrix = plan->row_matrix ? make_matrix(plan->device, plan->height, error) : NULL;
  return plan->column_matrix != NULL;
}

static bool same_sizes(const struct coil_plan *plan, const struct volume *volume) {
  return plan->coils == volume->coils && plan->height == volume->height && plan->width == volume->width &&
         plan->image_height == volume->image_height && plan->image_width == volume->image_width;
}

bool coil_plan_for(struct coil_plan *plan, struct device *device, struct kernels *kernels,
                   const struct volume *volume, struct error *error) {
  if (same_sizes(plan, volume)) return true;
  coil_close(plan);
  *plan = (struct coil_plan){.device = device,
                             .kernels = kernels,
                             .coils = volume->coils,
                             .height = volume->height,
                             .width = volume->width,
                             .image_height = volume->image_height,
                             .image_width = volume->image_width};
  size_t samples = samples_of(plan), pixels = plan->image_height * plan->image_width;
  bool good = kernel_need(kernels, "coil_centre", error) && kernel_need(kernels, "coil_combine", error) &&
              (plan->kspace = device_buffer(device, 8 * samples, "the k-space of a slice", error)) &&
              (plan->work = device_buffer(device, 8 * samples, "the coil images of a slice", error)) &&
              (plan->pixels = device_buffer(device, 4 * pixels, "the image of a slice", error)) &&
              open_transform(plan, error);
  if (!good) coil_close(plan);
  return good;
}

/* Inverse transform of `work`; the result is in `work` again. */
static void transform(struct coil_plan *plan) {
  size_t h = plan->height, w = plan->width;
  if (!plan->by_matrix) {
    fft_run(&plan->fft, FFT_INVERSE, plan->work);
    return;
  }
  for (size_t coil = 0; coil < plan->coils; coil++) {
    struct blas_factor image = {plan->work, coil * h * w, false}, rows = {plan->row_matrix, 0, false};
    blas_complex_product(plan->device, h, w, w, image, rows, plan->kspace, coil * h * w);
    struct blas_factor half_done = {plan->kspace, coil * h * w, false};
    struct blas_factor columns = {plan->column_matrix, 0, false};
    blas_complex_product(plan->device, h, w, h, columns, half_done, plan->work, coil * h * w);
  }
}

bool coil_run(struct coil_plan *plan, const float *kspace, float *image, struct error *error) {
  struct device *device = plan->device;
  size_t samples = samples_of(plan), pixels = plan->image_height * plan->image_width;
  device_write(device, plan->kspace, 0, 8 * samples, kspace);
  kernel_run(plan->kernels, "coil_centre", samples,
             ARGS(arg_buffer(ARG_IN, ELEMENT_C64, plan->kspace), arg_buffer(ARG_OUT, ELEMENT_C64, plan->work),
                  arg_u32((uint32_t)plan->height), arg_u32((uint32_t)plan->width)));
  transform(plan);
  kernel_run(plan->kernels, "coil_combine", pixels,
             ARGS(arg_buffer(ARG_IN, ELEMENT_C64, plan->work), arg_buffer(ARG_OUT, ELEMENT_F32, plan->pixels),
                  arg_u32((uint32_t)plan->coils), arg_u32((uint32_t)plan->height),
                  arg_u32((uint32_t)plan->width), arg_u32((uint32_t)plan->image_height),
                  arg_u32((uint32_t)plan->image_width)));
  device_read(device, plan->pixels, 0, 4 * pixels, image);
  return device_finish(device, error);
}
