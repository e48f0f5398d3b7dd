#include "systems/coils/hybrid.h"

#include "components/components.h"
#include "engine/device/fft.h"
#include "engine/ecs/system.h"

const struct system system_transform_coils = {.name = "transform_coils",
                                              .doc = "hybrid data: the columns of the coils' k-space transformed",
                                              .reads = SET(SLICE_coil_kspace),
                                              .parts = SET(SLICE_coil_hybrid),
                                              .loads = true};

/* Coils that the slice lacks are transformed with the others, and not looked at. */
static void transform_slice(struct world *world, struct fft *fft, cl_mem kspace, cl_mem lines, size_t row) {
  struct device *device = world_device(world);
  size_t bytes = world_column_bytes(world, SLICE_coil_kspace);
  device_copy(device, world_in(world, SLICE_coil_kspace).as.m, row * bytes, kspace, 0, bytes);
  kernel_run(world_kernels(world), "coil_columns", world_shape(world, SHAPE_CHW),
             ARGS(arg_buffer(ARG_IN, ELEMENT_C64, kspace), arg_buffer(ARG_OUT, ELEMENT_C64, lines),
                  arg_u32((uint32_t)world_height(world)), arg_u32((uint32_t)world_width(world))));
  fft_run(fft, FFT_INVERSE, lines);
  device_copy(device, lines, 0, world_part(world, SLICE_coil_hybrid).as.m, row * bytes, bytes);
}

bool hybrid_fill(struct world *world, size_t slices, struct error *error) {
  struct device *device = world_device(world);
  if (!world_has(world, SLICE_coil_hybrid)) return true;
  size_t bytes = world_column_bytes(world, SLICE_coil_kspace), height = world_height(world);
  struct fft fft = {0};
  cl_mem kspace = device_buffer(device, bytes, "k-space of a slice", error), lines = NULL;
  bool good = kspace && (lines = device_buffer(device, bytes, "hybrid data of a slice", error)) &&
              kernel_need(world_kernels(world), "coil_columns", error) &&
              fft_open(&fft, device, 1, height, world_shape(world, SHAPE_CHW) / height, error);
  struct world_use before = world_enter(world, &system_transform_coils);
  for (size_t i = 0; good && i < slices; i++) transform_slice(world, &fft, kspace, lines, i);
  world_leave(world, before);
  good = good && device_finish(device, error);
  if (fft.device) fft_close(&fft);
  device_release(device, lines, bytes);
  device_release(device, kspace, bytes);
  return good;
}
