#include "systems/coils/maps.h"

#include "engine/base/log.h"
#include "engine/device/fft.h"
#include "engine/ecs/system.h"
#include "systems/coils/espirit.h"
#include "systems/coils/simulated.h"
#include "systems/sampling/acquisition.h"
#include "systems/sampling/geometry.h"

#include <math.h>
#include <string.h>

/* Of 8 lines, maps are wrong by .05 in the median, of 12 by .02 (angle to those of 24). */

const struct system system_clear_maps = {
    .name = "clear_maps", .doc = "no coil sensitivities yet", .writes = SET(SLICE_maps), .loads = true};
const struct system system_load_maps = {.name = "load_maps",
                                        .doc = "coil sensitivities that need no k-space: the file's, or 1",
                                        .parts = SET(SLICE_maps),
                                        .loads = true};
const struct system system_calibrate = {.name = "calibrate",
                                        .doc = "coil sensitivities by ESPIRiT of the middle of k-space",
                                        .reads = SET(SLICE_coil_kspace),
                                        .parts = SET(SLICE_maps),
                                        .loads = true};

/* ---- what is refused ---------------------------------------------------------------------------------- */

static const char *source_of(const struct options *options, struct arena *arena) {
  return option_text(option_find(&option_table, "coils.maps"), options, arena);
}

/* Keys that ask for coils where there are none. */
static bool check_coils(const struct options *options, struct error *error) {
  struct arena *arena = arena_open();
  const char *asked = options->coils.maps != MAPS_NONE
                          ? arena_text(arena, "coils.maps is %s", source_of(options, arena))
                      : options->coils.combine ? "coils.combine is maps"
                                               : NULL;
  bool good = !asked || simulated_or_measured(options) ||
              fail_usage(error,
                         "%s, and data.kspace image: an image has one coil; set data.kspace to measured, "
                         "coils.simulate to a "
                         "number of coils, or coils.maps to none and coils.combine to rss",
                         asked);
  arena_close(arena);
  return good;
}

/* Several sets are ESPIRiT's; what takes one is refused. */
static bool check_sets(const struct options *options, struct error *error) {
  uint32_t method = options->reconstruct.method, maps = options->coils.maps;
  const char *other =
      method == RECONSTRUCT_VARNET && options->varnet.sense == SENSE_MAPS
          ? "varnet.sense maps: the variational network makes one image, which coils see through one set"
      : options->reconstruct.compensate          ? "reconstruct.compensate true, which takes one"
      : options->reconstruct.input == GIVEN_MAPS ? "reconstruct.input maps, which gives one"
                                                 : NULL;
  if (options->coils.sets == 1) return true;
  if (maps != MAPS_PRESCAN && maps != MAPS_ACQUIRED)
    return fail_usage(error, "coils.sets is %u, and coils.maps %s; set coils.maps to prescan or acquired, which make two sets, or "
                             "coils.sets to 1",
                      options->coils.sets,
                      maps == MAPS_FILE ? "file, which is one set" : maps == MAPS_ONES ? "ones, which is one set" : "none");
  return !other || fail_usage(error, "coils.sets is %u, and %s; set coils.sets to 1, or the other to what takes two "
                                     "(reconstruct.method zero_filled, cg_sense, tv or wavelet)",
                              options->coils.sets, other);
}

bool maps_check(const struct options *options, size_t coils, component_set columns, struct error *error) {
  size_t lines;
  if (options->coils.simulate && options->data.kspace == KSPACE_MEASURED)
    return fail_usage(
        error,
        "coils.simulate is %u, and data.kspace measured: files have coils of their own; set coils.simulate "
        "to 0, or data.kspace to image",
        options->coils.simulate);
  if (!check_coils(options, error)) return false;
  if (options->coils.maps == MAPS_NONE && options->coils.combine == COMBINE_MAPS)
    return fail_usage(
        error, "coils.combine is maps, and coils.maps none; set coils.maps to prescan to make maps of the "
               "middle of k-space, to file or to ones");
  if (options->coils.maps == MAPS_NONE && (columns & SET(SLICE_maps)) && coils > 1)
    return fail_usage(
        error,
        "this needs coil sensitivities, these slices have %zu coils, and coils.maps is none; set it to "
        "prescan to make them of the middle of k-space, to acquired, file or ones",
        coils);
  if (options->coils.maps == MAPS_FILE && (options->coils.compress || options->coils.whiten))
    return fail_usage(error, "coils.maps is file, whose maps are of the file's own coils, and %s changes them; set it to %s, "
                             "or coils.maps to prescan",
                      options->coils.compress ? "coils.compress" : "coils.whiten",
                      options->coils.compress ? "0" : "none");
  if (options->data.range == RANGE_ATTRIBUTE && options->coils.whiten)
    return fail_usage(error, "coils.whiten is not none, which makes the noise 1, and data.range attribute, of the file's own "
                             "units; set data.range to volume or slice");
  return check_sets(options, error) && (options->coils.maps != MAPS_ACQUIRED || maps_lines(options, &lines, error));
}

/* ---- what results say ------------------------------------------------------------------------------- */

const char *maps_text(const struct options *options, struct arena *arena) {
  unsigned simulated = options->coils.simulate, fewer = options->coils.compress;
  const char *text = simulated ? arena_text(arena, ", %u simulated coil%s", simulated, plural(simulated)) : "";
  if (options->coils.whiten)
    text = arena_text(arena, "%s, noise whitened by %s", text, options->coils.whiten == WHITEN_EDGE ? "edge" : "scan");
  if (fewer) text = arena_text(arena, "%s, %u virtual coil%s", text, fewer, plural(fewer));
  if (options->coils.maps != MAPS_NONE)
    text = arena_text(arena, "%s, %smaps: %s%s", text, options->coils.sets > 1 ? "two sets of " : "", source_of(options, arena),
                      options->coils.combine == COMBINE_MAPS ? ", combined by them" : "");
  return *text ? text + 2 : text;
}

/* ---- lines -------------------------------------------------------------------------------------------- */

static bool refuse_lines(uint32_t lines, struct error *error) {
  return fail_usage(
      error,
      "coils.maps is acquired, and scans start with %u line%s; maps need %d next to each other at least: "
      "set acquisition.initial_lines to that, or coils.maps to prescan",
      lines, plural(lines), MAPS_LINES_LEAST);
}

/* An odd number of lines of an even number lies about the centre with one more above than the region has. */
static size_t centred_lines(const struct acquisition *acquisition) {
  size_t lines = acquisition->initial_lines;
  return acquisition->shape.width % 2 == 0 ? lines / 2 * 2 : lines;
}

static bool acquired_lines(const struct options *options, size_t *lines, struct error *error) {
  struct arena *arena = arena_open();
  struct acquisition *list;
  size_t count;
  bool good = acquisition_list(&list, &count, options, arena, error);
  if (good && options->acquisition.geometry != GEOMETRY_LINES)
    good = fail_usage(
        error,
        "coils.maps is acquired, which is of lines, and acquisition.geometry is %s; set coils.maps to "
        "prescan",
        geometry_chosen(options)->name);
  for (size_t i = 0; good && i < count; i++) {
    *lines = centred_lines(&list[i]);
    if (list[i].initial_lines < MAPS_LINES_LEAST) good = refuse_lines(list[i].initial_lines, error);
    if (good && list[i].initial_lines != list[0].initial_lines)
      good = fail_usage(
          error,
          "coils.maps is acquired, and scans start with %u lines here and %u there: slices have one set of "
          "maps; set acquisition.acceleration and acquisition.horizon to one each, or coils.maps to prescan",
          list[0].initial_lines, list[i].initial_lines);
  }
  arena_close(arena);
  return good;
}

bool maps_lines(const struct options *options, size_t *lines, struct error *error) {
  const struct scan_shape shape = scan_shape_of(options);
  size_t most = options->coils.lines < shape.width ? options->coils.lines : shape.width;
  *lines = most;
  if (options->coils.maps != MAPS_ACQUIRED) return true;
  if (!acquired_lines(options, lines, error)) return false;
  if (*lines > most) *lines = most;
  return true;
}

/* ---- maps of files ------------------------------------------------------------------------------------ */

void maps_clear(struct world *world) {
  if (!world_has(world, SLICE_maps)) return;
  struct world_use before = world_enter(world, &system_clear_maps);
  world_fill(world, SLICE_maps, 0);
  world_leave(world, before);
}

static void crop_maps(const struct volume *volume, const struct scan_shape *shape, size_t pad,
                      const float *from, float *to) {
  size_t height = volume->map_height, width = volume->map_width;
  for (size_t line = 0; line < volume->coils * shape->height; line++) {
    long y = volume_place_in(line % shape->height, height, volume->image_height, pad, shape->height);
    for (size_t i = 0; i < shape->width; i++, to += 2) {
      long x = volume_place_in(i, width, volume->image_width, pad, shape->width);
      const float *value = from + 2 * ((line / shape->height * height + (size_t)y) * width + (size_t)x);
      to[0] = y < 0 || x < 0 ? 0 : value[0];
      to[1] = y < 0 || x < 0 ? 0 : value[1];
    }
  }
}

bool maps_write(struct world *world, size_t row, const struct volume *volume, size_t slice, const struct options *options,
                const float *maps, struct error *error) {
  const struct scan_shape shape = scan_shape_of(options);
  struct arena *arena = arena_open();
  size_t bytes = world_column_bytes(world, SLICE_maps), finite = 0;
  float *own = arena_new(arena, bytes);
  crop_maps(volume, &shape, options->data.pad, maps, own);
  while (finite < bytes / sizeof *own && isfinite(own[finite])) finite++;
  bool good = finite == bytes / sizeof *own ||
              fail_file(error, "%s, slice %zu: dataset sensitivity_maps holds values that are not finite; mend them, or set "
                               "coils.maps to prescan",
                        volume->path, slice);
  if (good) world_put(world, &system_load_maps, SLICE_maps, row, 1, own);
  arena_close(arena);
  return good;
}

/* ---- making them -------------------------------------------------------------------------------------- */

static void write_ones(struct world *world, size_t row, size_t coils) {
  struct arena *arena = arena_open();
  float *own = arena_new(arena, world_column_bytes(world, SLICE_maps));
  for (size_t i = 0; i < coils * world_shape(world, SHAPE_HW); i++) own[2 * i] = 1;
  world_put(world, &system_load_maps, SLICE_maps, row, 1, own);
  arena_close(arena);
}

/* Maps of nothing would make images of zeros, and of coils.combine maps truths that everything equals. Looked for where the
 * maps are. */
static bool check_seen(struct device *device, struct kernels *kernels, const struct espirit *espirit, size_t *broken,
                       struct error *error) {
  struct arena *arena = arena_open();
  uint32_t *seen = ARENA_NEW(arena, uint32_t, espirit->count);
  cl_mem flags = device_buffer(device, sizeof *seen * espirit->count, "slices that coils see", error);
  bool good = flags && kernel_need(kernels, "espirit_seen", error);
  if (good) {
    kernel_run(kernels, "espirit_seen", espirit->count,
               ARGS(arg_buffer(ARG_IN, ELEMENT_C64, espirit->maps), arg_buffer(ARG_OUT, ELEMENT_U32, flags),
                    arg_u32((uint32_t)espirit->first), arg_u32((uint32_t)(espirit->sets * espirit->most)),
                    arg_u32((uint32_t)espirit->coils),
                    arg_u32((uint32_t)(espirit->height * espirit->width))));
    device_read(device, flags, 0, sizeof *seen * espirit->count, seen);
    good = device_finish(device, error);
  }
  size_t dark = 0;
  while (good && dark < espirit->count && seen[dark]) dark++;
  if (good && dark < espirit->count) {
    *broken = espirit->first + dark;
    good = fail(error,
                "its maps are 0 everywhere: by its %zux%zu central samples no pixel has an eigenvalue of coils.crop, %g, or more; "
                "lower coils.crop or coils.threshold",
                espirit->side_rows, espirit->side_columns, espirit->crop);
  }
  device_release(device, flags, flags ? sizeof *seen * espirit->count : 0);
  arena_close(arena);
  return good;
}

/* Of neighbours with so many coils. */
static bool calibrate_slices(struct world *world, const struct options *options, size_t first, size_t count,
                             size_t coils, size_t *broken, struct error *error) {
  size_t height = world_height(world), width = world_width(world), lines;
  if (!maps_lines(options, &lines, error)) return false;
  struct world_use before = world_enter(world, &system_calibrate);
  struct espirit espirit = {.kspace = world_in(world, SLICE_coil_kspace).as.m,
                            .maps = world_part(world, SLICE_maps).as.m,
                            .most = world_shape(world, SHAPE_CHW) / world_shape(world, SHAPE_HW),
                            .height = height,
                            .width = width,
                            .first = first,
                            .count = count,
                            .coils = coils,
                            .side_rows = options->coils.lines < height ? options->coils.lines : height,
                            .side_columns = lines,
                            .kernel = options->coils.kernel,
                            .sets = options->coils.sets,
                            .threshold = options->coils.threshold,
                            .crop = options->coils.crop};
  struct device *device = world_device(world);
  bool good = espirit_run(&espirit, device, world_kernels(world), broken, error) &&
              check_seen(device, world_kernels(world), &espirit, broken, error);
  world_leave(world, before);
  return good;
}

static size_t coils_of(const struct options *options, const struct volume *volume) {
  return options->coils.simulate ? options->coils.simulate : volume->made_coils;
}

/* Of slices that follow each other and have as many coils. */
static bool make_alike(struct world *world, const struct dataset *dataset, const struct options *options,
                       const struct slice_name *names, size_t first, size_t count, struct error *error) {
  size_t coils = coils_of(options, &dataset->volumes[names[first].volume]), broken;
  bool ones = options->coils.maps == MAPS_ONES || coils == 1;
  for (size_t i = 0; ones && i < count; i++) write_ones(world, first + i, coils);
  if (ones || options->coils.maps == MAPS_FILE) return true;
  if (calibrate_slices(world, options, first, count, coils, &broken, error)) return true;
  return fail_in(error, "%s, slice %zu", dataset->volumes[names[broken].volume].path, names[broken].slice);
}

bool maps_make(struct world *world, const struct dataset *dataset, const struct options *options,
               const struct slice_name *names, size_t slices, struct error *error) {
  if (!world_has(world, SLICE_maps)) return true;
  for (size_t first = 0, next; first < slices; first = next) {
    size_t coils = coils_of(options, &dataset->volumes[names[first].volume]);
    for (next = first + 1;
         next < slices && coils_of(options, &dataset->volumes[names[next].volume]) == coils;)
      next++;
    if (!make_alike(world, dataset, options, names, first, next - first, error)) return false;
  }
  return true;
}

/* ---- the truth ---------------------------------------------------------------------------------------- */

const struct system system_combine_coils = {.name = "combine_coils",
                                            .doc = "images: coil images combined by maps",
                                            .reads = SET(SLICE_coil_kspace) | SET(SLICE_maps),
                                            .parts = SET(SLICE_image),
                                            .loads = true};

/* Coils that the slice lacks are transformed with the others, and not looked at. */
static void combine_slice(struct world *world, struct fft *fft, cl_mem planes, size_t row, size_t coils,
                          double scale) {
  size_t bytes = world_column_bytes(world, SLICE_coil_kspace), pixels = world_shape(world, SHAPE_HW);
  device_copy(world_device(world), world_in(world, SLICE_coil_kspace).as.m, row * bytes, planes, 0, bytes);
  fft_run(fft, FFT_INVERSE, planes);
  kernel_run(world_kernels(world), "coil_join", pixels,
             ARGS(arg_buffer(ARG_IN, ELEMENT_C64, planes), world_in(world, SLICE_maps),
                  world_part(world, SLICE_image), arg_u32((uint32_t)row),
                  arg_u32((uint32_t)(world_shape(world, SHAPE_CHW) / pixels)), arg_u32((uint32_t)coils),
                  arg_u32((uint32_t)world_height(world)), arg_u32((uint32_t)world_width(world)),
                  arg_f32((float)(1 / scale)), arg_u32((uint32_t)(world_shape(world, SHAPE_MHW) / world_shape(world, SHAPE_CHW)))));
}

bool maps_combine(struct world *world, const struct dataset *dataset, const struct options *options,
                  const struct slice_name *names, size_t slices, struct error *error) {
  struct device *device = world_device(world);
  size_t bytes = 8 * world_shape(world, SHAPE_CHW);
  struct fft fft = {0};
  if (options->coils.combine != COMBINE_MAPS || !world_has(world, SLICE_maps)) return true;
  cl_mem planes = device_buffer(device, bytes, "coil images of a slice", error);
  bool good = planes && kernel_need(world_kernels(world), "coil_join", error) &&
              fft_open(&fft, device, world_height(world), world_width(world),
                       world_shape(world, SHAPE_CHW) / world_shape(world, SHAPE_HW), error);
  struct world_use before = world_enter(world, &system_combine_coils);
  for (size_t i = 0; good && i < slices; i++)
    combine_slice(world, &fft, planes, i, coils_of(options, &dataset->volumes[names[i].volume]),
                  options->data.scale);
  world_leave(world, before);
  good = good && device_finish(device, error);
  fft_close(&fft);
  device_release(device, planes, bytes);
  return good;
}

/* ---- reading ------------------------------------------------------------------------------------------- */

static const struct system save = {.name = "save_maps", .doc = "coil sensitivities", .reads = SET(SLICE_maps)};

size_t maps_coils(const struct world *world) {
  return world_shape(world, SHAPE_CHW) / world_shape(world, SHAPE_HW);
}

float *maps_read(struct world *world, size_t first, size_t count, struct arena *arena, struct error *error) {
  size_t set = 2 * world_shape(world, SHAPE_CHW), slice = 2 * world_shape(world, SHAPE_MHW);
  float *maps = arena_try_array(arena, sizeof *maps * count, slice);
  if (!maps) {
    fail_memory(error, "no host memory for the maps of %zu slices; ask for earlier ones", count);
    return NULL;
  }
  world_get(world, &save, SLICE_maps, first, count, maps);
  if (!device_finish(world_device(world), error)) return NULL;
  for (size_t i = 1; set < slice && i < count; i++) memmove(maps + i * set, maps + i * slice, sizeof *maps * set);
  return maps;
}
