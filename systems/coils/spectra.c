#include "systems/coils/spectra.h"

#include "kernels/kernels.h"

#include <string.h>

static size_t plane_bytes(const struct spectra *spectra) {
  return 8 * spectra->sizes.coils * scan_shape_pixels(&spectra->shape);
}

static bool same_sizes(const struct spectra *spectra, const struct coil_plan *plan,
                       const struct scan_shape *shape, size_t pad) {
  const struct coil_plan *own = &spectra->sizes;
  return own->coils == plan->coils && own->height == plan->height && own->width == plan->width &&
         own->image_height == plan->image_height && own->image_width == plan->image_width &&
         scan_shape_same_sides(&spectra->shape, shape) && spectra->pad == pad;
}

/* Where the n lines of the cropped image lie among those of the coil images, whose centre is at the start. */
static cl_mem write_places(const struct spectra *spectra, size_t full, size_t image, size_t n,
                           struct error *error) {
  cl_mem buffer = device_buffer(spectra->device, 4 * n, "where the crop lies", error);
  if (!buffer) return NULL;
  struct arena *arena = arena_open();
  uint32_t *from = ARENA_NEW(arena, uint32_t, n);
  for (size_t i = 0; i < n; i++) {
    long place = volume_place_in(i, full, image, spectra->pad, n);
    from[i] = place < 0 ? NO_CELL : (uint32_t)(((size_t)place + full - full / 2) % full);
  }
  device_write(spectra->device, buffer, 0, 4 * n, from);
  arena_close(arena);
  return buffer;
}

bool spectra_for(struct spectra *spectra, const struct coil_plan *plan, const struct scan_shape *shape,
                 size_t pad, struct error *error) {
  size_t height = shape->height, width = shape->width;
  if (same_sizes(spectra, plan, shape, pad)) return true;
  spectra_close(spectra);
  *spectra = (struct spectra){
      .device = plan->device, .kernels = plan->kernels, .sizes = *plan, .shape = *shape, .pad = pad};
  bool good =
      kernel_need(plan->kernels, "coil_crop", error) &&
      (spectra->planes = device_buffer(plan->device, plane_bytes(spectra), "the crop of a slice", error)) &&
      (spectra->row_from = write_places(spectra, plan->height, plan->image_height, height, error)) &&
      (spectra->column_from = write_places(spectra, plan->width, plan->image_width, width, error)) &&
      fft_open(&spectra->fft, plan->device, height, width, plan->coils, error);
  if (!good) spectra_close(spectra);
  return good;
}

void spectra_run(struct spectra *spectra, const struct coil_plan *plan, cl_mem column, size_t offset) {
  const struct scan_shape *shape = &spectra->shape;
  kernel_run(spectra->kernels, "coil_crop", plan->coils * scan_shape_pixels(shape),
             ARGS(arg_buffer(ARG_IN, ELEMENT_C64, plan->work),
                  arg_buffer(ARG_IN, ELEMENT_U32, spectra->row_from),
                  arg_buffer(ARG_IN, ELEMENT_U32, spectra->column_from),
                  arg_buffer(ARG_OUT, ELEMENT_C64, spectra->planes), arg_u32((uint32_t)plan->height),
                  arg_u32((uint32_t)plan->width), arg_u32(shape->height), arg_u32(shape->width)));
  fft_run(&spectra->fft, FFT_FORWARD, spectra->planes);
  device_copy(spectra->device, spectra->planes, 0, column, offset, plane_bytes(spectra));
}

void spectra_close(struct spectra *spectra) {
  if (!spectra->sizes.coils) return;
  fft_close(&spectra->fft);
  device_release(spectra->device, spectra->planes, plane_bytes(spectra));
  device_release(spectra->device, spectra->row_from, 4 * (size_t)spectra->shape.height);
  device_release(spectra->device, spectra->column_from, 4 * (size_t)spectra->shape.width);
  *spectra = (struct spectra){0};
}
