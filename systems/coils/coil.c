#include "systems/coils/coil.h"

static size_t samples_of(const struct coil_plan *plan) {
  return plan->coils * plan->height * plan->width;
}

void coil_close(struct coil_plan *plan) {
  if (!plan->coils) return;
  fft_close(&plan->fft);
  device_release(plan->device, plan->kspace, 8 * samples_of(plan));
  device_release(plan->device, plan->work, 8 * samples_of(plan));
  device_release(plan->device, plan->pixels, 4 * plan->image_height * plan->image_width);
  *plan = (struct coil_plan){0};
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
              fft_open(&plan->fft, device, plan->height, plan->width, plan->coils, error);
  if (!good) coil_close(plan);
  return good;
}

bool coil_run(struct coil_plan *plan, const float *kspace, float *image, struct error *error) {
  struct device *device = plan->device;
  size_t samples = samples_of(plan), pixels = plan->image_height * plan->image_width;
  device_write(device, plan->kspace, 0, 8 * samples, kspace);
  kernel_run(plan->kernels, "coil_centre", samples,
             ARGS(arg_buffer(ARG_IN, ELEMENT_C64, plan->kspace), arg_buffer(ARG_OUT, ELEMENT_C64, plan->work),
                  arg_u32((uint32_t)plan->height), arg_u32((uint32_t)plan->width)));
  fft_run(&plan->fft, FFT_INVERSE, plan->work);
  kernel_run(plan->kernels, "coil_combine", pixels,
             ARGS(arg_buffer(ARG_IN, ELEMENT_C64, plan->work), arg_buffer(ARG_OUT, ELEMENT_F32, plan->pixels),
                  arg_u32((uint32_t)plan->coils), arg_u32((uint32_t)plan->height),
                  arg_u32((uint32_t)plan->width), arg_u32((uint32_t)plan->image_height),
                  arg_u32((uint32_t)plan->image_width)));
  device_read(device, plan->pixels, 0, 4 * pixels, image);
  return device_finish(device, error);
}
