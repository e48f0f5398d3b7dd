#include "systems/coils/simulated.h"

#include "components/components.h"
#include "engine/base/hash.h"
#include "engine/device/fft.h"
#include "engine/ecs/system.h"

#include <complex.h>
#include <math.h>
#include <string.h>

const struct system system_simulate_coils = {
    .name = "simulate_coils",
    .doc = "k-space of coils that see the slices' images: maps, a phase and noise",
    .reads = SET(SLICE_image) | SET(SLICE_unit) | SET(SLICE_std),
    .parts = SET(SLICE_coil_kspace),
    .loads = true};
const struct system system_load_simulated_maps = {.name = "load_simulated_maps",
                                                  .doc = "sensitivities of simulated coils",
                                                  .parts = SET(SLICE_maps),
                                                  .loads = true};

bool simulated_or_measured(const struct options *options) {
  return options->data.kspace == KSPACE_MEASURED || options->coils.simulate;
}

/* ---- maps --------------------------------------------------------------------------------------------- */

static double complex birdcage(size_t coil, size_t coils, double y, double x) {
  double around = 2 * M_PI * (double)coil / (double)coils;
  double dx = x - 1.5 * cos(around), dy = y - 1.5 * sin(around);
  return cexp(I * (atan2(dx, -dy) - around)) / hypot(dx, dy);
}

void simulated_maps(float *maps, size_t coils, size_t height, size_t width) {
  for (size_t i = 0; i < height * width; i++) {
    double y = ((double)(i / width) - (double)height / 2) / ((double)height / 2),
           x = ((double)(i % width) - (double)width / 2) / ((double)width / 2), sum = 0;
    for (size_t c = 0; c < coils; c++) sum += pow(cabs(birdcage(c, coils, y, x)), 2);
    for (size_t c = 0; c < coils; c++) {
      double complex value = birdcage(c, coils, y, x) / sqrt(sum);
      maps[2 * (c * height * width + i)] = (float)creal(value);
      maps[2 * (c * height * width + i) + 1] = (float)cimag(value);
    }
  }
}

/* ---- k-space ------------------------------------------------------------------------------------------ */

struct coils {
  struct world *world;
  size_t count, samples; /* coils; values of a slice */
  float noise;
  float *host_maps;
  cl_mem maps, planes;
  struct fft fft;
};

/* Of the slice alone, whichever of its files are read beside it. */
static uint32_t seed_of(const struct volume *volume) {
  return hash_crc(CRC_CASTAGNOLI, 0, volume->name, strlen(volume->name));
}

static void see_slice(struct coils *coils, size_t row, uint32_t seed, uint32_t number) {
  struct world *world = coils->world;
  struct arg planes = arg_buffer(ARG_OUT, ELEMENT_C64, coils->planes);
  size_t bytes = 8 * coils->samples;
  kernel_run(world_kernels(world), "coil_simulate", coils->samples,
             ARGS(world_in(world, SLICE_image), world_in(world, SLICE_unit),
                  arg_buffer(ARG_IN, ELEMENT_C64, coils->maps), planes, arg_u32((uint32_t)row), arg_u32(seed),
                  arg_u32(number), arg_u32((uint32_t)world_height(world)),
                  arg_u32((uint32_t)world_width(world))));
  fft_run(&coils->fft, FFT_FORWARD, coils->planes);
  planes.kind = ARG_INOUT;
  kernel_run(world_kernels(world), "coil_noise", coils->samples,
             ARGS(planes, world_in(world, SLICE_std), world_in(world, SLICE_unit), arg_u32((uint32_t)row),
                  arg_f32(coils->noise), arg_u32(seed), arg_u32(number)));
  device_copy(world_device(world), coils->planes, 0, world_part(world, SLICE_coil_kspace).as.m,
              row * world_column_bytes(world, SLICE_coil_kspace), bytes);
}

static bool open_coils(struct coils *coils, struct arena *arena, struct error *error) {
  struct device *device = world_device(coils->world);
  struct kernels *kernels = world_kernels(coils->world);
  size_t height = world_height(coils->world), width = world_width(coils->world), bytes;
  coils->samples = coils->count * height * width;
  bytes = 8 * coils->samples;
  if (!(coils->host_maps = arena_try(arena, bytes)))
    return fail_memory(error, "no host memory for maps of %zu coils", coils->count);
  simulated_maps(coils->host_maps, coils->count, height, width);
  if (!kernel_need(kernels, "coil_simulate", error) || !kernel_need(kernels, "coil_noise", error) ||
      !(coils->maps = device_buffer(device, bytes, "maps of simulated coils", error)) ||
      !(coils->planes = device_buffer(device, bytes, "images of simulated coils", error)))
    return false;
  device_write(device, coils->maps, 0, bytes, coils->host_maps);
  return fft_open(&coils->fft, device, height, width, coils->count, error);
}

static void close_coils(struct coils *coils) {
  struct device *device = world_device(coils->world);
  fft_close(&coils->fft);
  device_release(device, coils->maps, 8 * coils->samples);
  device_release(device, coils->planes, 8 * coils->samples);
}

static void see_slices(struct coils *coils, const struct dataset *dataset, const struct slice_name *names,
                       size_t slices) {
  struct world_use before = world_enter(coils->world, &system_simulate_coils);
  for (size_t i = 0; i < slices; i++)
    see_slice(coils, i, seed_of(&dataset->volumes[names[i].volume]),
              (uint32_t)names[i].slice);
  world_leave(coils->world, before);
}

bool simulated_fill(struct world *world, const struct dataset *dataset, const struct options *options,
                    const struct slice_name *names, size_t slices, struct error *error) {
  struct coils coils = {
      .world = world, .count = options->coils.simulate, .noise = (float)options->coils.noise};
  struct arena *arena = arena_open();
  bool good = open_coils(&coils, arena, error);
  if (good) see_slices(&coils, dataset, names, slices);
  for (size_t i = 0; good && i < slices && options->coils.maps == MAPS_FILE && world_has(world, SLICE_maps);
       i++)
    world_put(world, &system_load_simulated_maps, SLICE_maps, i, 1, coils.host_maps);
  good = good && device_finish(world_device(world), error);
  close_coils(&coils);
  arena_close(arena);
  return good;
}
