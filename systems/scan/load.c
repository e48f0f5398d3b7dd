#include "systems/scan/load.h"

#include "engine/base/log.h"
#include "systems/coils/coil.h"
#include "systems/coils/hybrid.h"
#include "systems/coils/maps.h"
#include "systems/coils/mix.h"
#include "systems/coils/simulated.h"
#include "systems/coils/spectra.h"
#include "systems/data/format.h"
#include "systems/data/doubts.h"
#include "systems/data/reader.h"
#include "systems/classifier/classify.h"
#include "systems/scan/observation.h"
#include "systems/scan/simulation.h"
#include "systems/scan/slice_cache.h"
#include "systems/scan/transform.h"

#include <math.h>
#include <string.h>

component_set load_columns(const struct options *options) {
  const struct observation *observation = observation_chosen(options);
  return observation->kspace | observation->loaded | (*options->data.label ? SET(SLICE_label) : 0) | SET(SLICE_image) | SET(SLICE_unit) | SET(SLICE_mean) |
         SET(SLICE_std) | SET(SLICE_peak) | SET(SLICE_data_range) | SET(SLICE_volume) | SET(SLICE_order);
}

struct load {
  struct world *world;
  struct simulation *simulation; /* for its cache and order; NULL: a world alone */
  struct slice_cache *cache; /* where images go that wait for their turn; NULL: into the world */
  const struct dataset *dataset;
  const struct options *options;
  struct arena *arena;
  struct load_report *report;
  struct coil_plan coils;
  struct mix mix;                          /* where coils are whitened or compressed */
  struct spectra spectra;                  /* where the files' own k-space is kept */
  float *image, *crop;                     /* one slice before and after the crop */
  float *kspace, *mixed;                   /* one slice's, cut (data.crop); of mixed coils */
  size_t rows, capacity;                   /* slices taken so far; at most */
  size_t volume, volume_start;             /* the volume being read and its first row */
  size_t constant_before, excluded_before; /* the report's counts at its start */
  bool volume_failed;
  struct doubts *doubts;   /* doubts about data that can be read */
  const char *last_broken; /* path of a volume; NULL: none yet */
  size_t rest;      /* usable slices of the last volume that have no room here */
  double rest_peak; /* the largest of theirs: a volume's range does not depend on how many have room */
};

/* Brings the image to the scene's units. */
static void scale_image(struct load *load) {
  size_t pixels = world_height(load->world) * world_width(load->world);
  for (size_t i = 0; i < pixels; i++) load->crop[i] = (float)(load->crop[i] / load->options->data.scale);
}

/* The slice's k-space with the coils that it is to have; NULL: refused. */
static const float *mix_coils(struct load *load, const struct volume *volume, const float *data, struct error *error) {
  const float *noise = data + volume_slice_floats(volume) - 2 * volume->noise_coils * volume->noise_samples;
  bool good = mix_run(&load->mix, world_device(load->world), world_kernels(load->world), volume, load->options, data,
                      noise, load->mixed, error);
  return good ? load->mixed : NULL;
}

static bool make_image(struct load *load, const struct volume *volume, const float *data,
                       struct error *error) {
  const float *image = data;
  if (volume->from_kspace) {
    struct volume cut = *volume;
    if (mix_wanted(volume, load->options) && !(data = mix_coils(load, volume, data, error))) return false;
    cut.coils = volume->made_coils;
    if (volume->kspace_height) {
      volume_crop_kspace(&cut, data, load->kspace);
      cut.height = volume->kspace_height;
      cut.width = volume->kspace_width;
      data = load->kspace;
    }
    if (!coil_plan_for(&load->coils, world_device(load->world), world_kernels(load->world), &cut, error) ||
        !coil_run(&load->coils, data, load->image, error))
      return false;
    image = load->image;
  }
  doubts_see_crop(load->doubts, volume, image, load->options);
  volume_fit(image, volume->image_height, volume->image_width, load->options, load->crop);
  scale_image(load);
  return true;
}

/* Drops the rows of a volume that turned out to be broken, or is being written by now. */
static bool drop_volume(struct load *load, const char *reason, bool is_busy, struct error *error) {
  const struct volume *volume = &load->dataset->volumes[load->volume];
  if (load->options->data.strict) return fail_file(error, "data.strict: %s: %s", volume->path, reason);
  log_warning("skipped: %s: %s", volume->path, reason);
  load->rows = load->volume_start;
  load->rest = 0;
  load->rest_peak = 0;
  doubts_drop(load->doubts);
  load->report->constant = load->constant_before;
  load->report->excluded = load->excluded_before;
  load->volume_failed = true;
  (*(is_busy ? &load->report->written_volumes : &load->report->broken_volumes))++;
  load->last_broken = volume->path;
  return true;
}

/* ---- k-space of coils --------------------------------------------------------------------------------- */

static void run_spectra(struct world *world, void *context) {
  struct load *load = context;
  size_t bytes = world_column_bytes(world, SLICE_coil_kspace);
  spectra_run(&load->spectra, &load->coils, world_part(world, SLICE_coil_kspace).as.m, load->rows * bytes);
}

const struct system system_load_coils = {.name = "load_coils",
                                         .doc = "k-space of a slice's coils as the file has it, cropped",
                                         .parts = SET(SLICE_coil_kspace),
                                         .loads = true,
                                         .run = run_spectra};

static void run_scale(struct world *world, void *context) {
  const struct load *load = context;
  kernel_run(world_kernels(world), "coil_scale", load->rows,
             ARGS(world_inout(world, SLICE_coil_kspace), world_in(world, SLICE_unit),
                  arg_u32((uint32_t)(world_shape(world, SHAPE_CHW) / world_shape(world, SHAPE_HW))),
                  arg_f32((float)(1 / load->options->data.scale))));
}

const struct system system_scale_coils = {.name = "scale_coils",
                                          .doc = "k-space of coils in units of the slice",
                                          .reads = SET(SLICE_coil_kspace) | SET(SLICE_unit),
                                          .writes = SET(SLICE_coil_kspace),
                                          .loads = true,
                                          .kernels = {"coil_scale"},
                                          .run = run_scale};

static bool build_alone(struct load *load, struct schedule *schedule, const struct system *row, struct error *error) {
  schedule_open(schedule, &component_schema);
  schedule_name(schedule, row == &system_load_coils ? "coils" : "units of coils");
  schedule_add(schedule, row, load);
  return schedule_close(schedule, error);
}

bool load_describe(struct schedule *schedule, const struct system *row, struct error *error) {
  return build_alone(NULL, schedule, row, error);
}

/* Runs one of them, now. */
static bool run_alone(struct load *load, const struct system *row, struct error *error) {
  struct schedule schedule;
  if (!build_alone(load, &schedule, row, error) || !schedule_prepare(&schedule, world_kernels(load->world), error))
    return false;
  schedule_run(&schedule, load->world);
  return true;
}

#define MOVED (SET(SLICE_original) | SET(SLICE_number))

/* load_slice_of narrows it to the columns that there are. */
static const struct system system_load_slice = {
    .name = "load_slice",
    .doc = "a slice's image, and which one it is",
    .parts = SET(SLICE_image) | MOVED | SET(SLICE_volume) | SET(SLICE_coils),
    .loads = true};

struct system load_slice_of(component_set columns) {
  struct system row = system_load_slice;
  row.parts &= columns & ~(columns & SET(SLICE_original) ? SET(SLICE_image) : MOVED);
  return row;
}

static void write_numbers(struct load *load, const struct volume *volume, uint32_t index) {
  const uint32_t simulated = load->options->coils.simulate, coils = simulated ? simulated : (uint32_t)volume->made_coils,
                 number = (uint32_t)load->rows;
  struct world *world = load->world;
  const struct system row = load_slice_of(world_columns(world));
  struct world_use before = world_enter(world, &row);
  bool moves = row.parts & SET(SLICE_original);
  world_write(world, moves ? SLICE_original : SLICE_image, load->rows, 1, load->crop);
  if (moves) world_write(world, SLICE_number, load->rows, 1, &number);
  world_write(world, SLICE_volume, load->rows, 1, &index);
  if (row.parts & SET(SLICE_coils)) world_write(world, SLICE_coils, load->rows, 1, &coils);
  world_leave(world, before);
}

static bool write_slice(struct load *load, const struct volume *volume, uint32_t index, size_t slice, const float *data,
                        struct error *error) {
  const struct scan_shape shape = scan_shape_of(load->options);
  write_numbers(load, volume, index);
  if (volume->map_coils && world_has(load->world, SLICE_maps) &&
      !maps_write(load->world, load->rows, volume, slice, load->options, data + volume_sample_floats(volume), error))
    return false;
  if (!world_has(load->world, SLICE_coil_kspace) || load->options->coils.simulate) return true;
  return spectra_for(&load->spectra, &load->coils, &shape, load->options->data.pad, error) &&
         run_alone(load, &system_load_coils, error);
}

/* ---- slices ------------------------------------------------------------------------------------------- */

/* Finds the peak as kernel image_normalise does. */
static double peak_of(const float *image, size_t pixels, bool plain) {
  double sum = 0, square = 0, top = image[0];
  for (size_t i = 0; i < pixels; i++) {
    sum += image[i];
    top = fmax(top, image[i]);
  }
  double mean = sum / (double)pixels;
  for (size_t i = 0; i < pixels; i++) square += (image[i] - mean) * (image[i] - mean);
  return plain ? top : fmin(top, mean + 6 * sqrt(square / ((double)pixels - 1)));
}

/* The volume that was read last has no more slices. */
static bool end_volume(struct load *load, struct error *error) {
  if (load->volume == (size_t)-1) return true;
  return doubts_end(load->doubts, &load->dataset->volumes[load->volume], load->options, error);
}

static void say_doubts(const struct load *load) {
  for (int kind = 0; kind < DOUBT_KINDS; kind++) {
    const char *text = doubts_text(load->doubts, kind, load->arena);
    if (text) log_warning("%s", text);
  }
}

static bool take_slice(struct load *load, const struct reader_slice *slice, struct error *error) {
  const struct volume *volume = &load->dataset->volumes[slice->volume];
  size_t pixels = world_height(load->world) * world_width(load->world);
  bool constant;
  if (slice->volume != load->volume) {
    if (!end_volume(load, error)) return false;
    load->volume = slice->volume;
    load->volume_start = load->rows;
    load->constant_before = load->report->constant;
    load->excluded_before = load->report->excluded;
    load->volume_failed = false;
  }
  if (load->volume_failed) return true;
  if (!slice->data && slice->ends) return fail(error, "%s", slice->reason);
  if (!slice->data) return drop_volume(load, slice->reason, slice->is_busy, error);
  doubts_see(load->doubts, volume, slice->data);
  if (!make_image(load, volume, slice->data, error)) return false;
  const char *fault = volume_fault(load->crop, pixels, &constant);
  if (fault)
    return drop_volume(load, arena_text(load->arena, "slice %zu holds %s", slice->slice, fault), false, error);
  if (load->rows == load->capacity) {
    bool plain = load->options->network.input == INPUT_COMPLEX;
    load->rest_peak = fmax(load->rest_peak, peak_of(load->crop, pixels, plain));
    load->rest += !(constant && load->options->data.exclude_constant);
    return true;
  }
  load->report->constant += constant;
  if (constant && load->options->data.exclude_constant) {
    load->report->excluded++;
    return true;
  }
  load->report->names[load->rows] = (struct slice_name){slice->volume, slice->slice};
  if (load->cache)
    memcpy(slice_cache_image(load->cache, load->rows), load->crop, sizeof(float) * pixels);
  else if (!write_slice(load, volume, (uint32_t)slice->volume, slice->slice, slice->data, error))
    return false;
  load->rows++;
  return true;
}

/* The rest of a volume is looked at where the range of its slices is the volume's. */
static bool is_wanted(const struct load *load, const struct reader_slice *slice) {
  size_t most = load->options->data.most;
  if (load->rows < load->capacity) return true;
  if (load->options->coils.combine == COMBINE_MAPS) return false; /* images are made of those that are loaded */
  return slice->volume == load->volume && load->options->data.range == RANGE_VOLUME &&
         (!most || load->rows + load->rest < most);
}

static bool read_slices(struct load *load, struct error *error) {
  struct reader *reader;
  struct progress progress;
  size_t seen = 0;
  bool good = true;
  if (!reader_open(&reader, load->dataset, error)) return false;
  progress_open(&progress, "loading", "slices", load->dataset->slice_count);
  load->volume = (size_t)-1;
  while (good) {
    const struct reader_slice *slice = reader_next(reader);
    if (!slice || !is_wanted(load, slice)) break;
    good = take_slice(load, slice, error);
    progress_move(&progress, ++seen);
  }
  progress_close(&progress);
  reader_close(reader);
  good = good && end_volume(load, error);
  if (good) say_doubts(load);
  return good;
}

const struct system system_load_ranges = {.name = "load_ranges",
                                          .doc = "data range of every slice, by the rule data.range",
                                          .writes = SET(SLICE_data_range),
                                          .loads = true};

static void write_ranges(struct world *world, const double *values, size_t count) {
  struct arena *arena = arena_open();
  float *floats = ARENA_NEW(arena, float, count);
  for (size_t i = 0; i < count; i++) floats[i] = (float)values[i];
  world_put(world, &system_load_ranges, SLICE_data_range, 0, count, floats);
  arena_close(arena);
}

const struct system system_load_labels = {
    .name = "load_labels", .doc = "label of every slice (data.label)", .writes = SET(SLICE_label), .loads = true};

static bool set_labels(struct load *load, struct error *error) {
  if (!world_has(load->world, SLICE_label)) return true;
  float *labels = ARENA_NEW(load->arena, float, load->rows);
  for (size_t i = 0; i < load->rows; i++) {
    const struct slice_name *name = &load->report->names[i];
    const struct volume *volume = &load->dataset->volumes[name->volume];
    labels[i] = volume->label[name->slice];
    if (load->simulation && !classify_label(load->simulation, labels[i], volume->path, name->slice, error)) return false;
  }
  if (load->cache)
    slice_cache_labels(load->cache, labels);
  else
    world_put(load->world, &system_load_labels, SLICE_label, 0, load->rows, labels);
  return true;
}

/* psnr takes the reconstruction in [0, 10] (PROTOCOL 1.9): larger images are said once, not once a volume. */
static void warn_of_peaks(const struct load *load, const double *by_volume) {
  const struct volume *volumes = load->dataset->volumes;
  size_t count = 0, largest = 0;
  for (size_t v = 0; v < load->dataset->volume_count; v++) {
    count += by_volume[v] > 10;
    if (by_volume[v] > by_volume[largest]) largest = v;
  }
  if (count)
    log_warning(
        "%zu volume%s with pixels above 10, up to %.4g in %s; psnr takes reconstructions in [0, 10]: use "
        "psnr_unclamped or rescale the files",
        count, plural(count), by_volume[largest], volumes[largest].path);
}

static bool check_max(const struct volume *volume, const struct options *options, struct error *error) {
  const char *others = options->evaluate.profile == PROFILE_FASTMRI ? "volume" : "volume or slice";
  if (!volume->has_max)
    return fail_file(error, "%s has no attribute max; set data.range to %s", volume->path, others);
  if (isfinite(volume->max) && volume->max > 0) return true;
  return fail_file(error,
                   "%s has attribute max %g; it must be above 0; set data.range to %s, or mend the file",
                   volume->path, volume->max, others);
}

static void read_peaks(struct load *load, float *peak) {
  if (load->cache)
    slice_cache_measure(load->cache, load->rows, peak);
  else
    world_get(load->world, &system_read_peaks, SLICE_peak, 0, load->rows, peak);
}

static bool set_ranges(struct load *load, struct error *error) {
  size_t count = load->rows;
  float *peak = ARENA_NEW(load->arena, float, count);
  double *range = load->report->data_range;
  double *by_volume = ARENA_NEW(load->arena, double, load->dataset->volume_count);
  read_peaks(load, peak);
  for (size_t i = 0; i < count; i++) {
    size_t volume = load->report->names[i].volume;
    if (peak[i] > by_volume[volume]) by_volume[volume] = peak[i];
    if (i + 1 == count) by_volume[volume] = fmax(by_volume[volume], load->rest_peak);
  }
  for (size_t i = 0; i < count; i++) {
    const struct volume *volume = &load->dataset->volumes[load->report->names[i].volume];
    if (load->options->data.range == RANGE_ATTRIBUTE && !check_max(volume, load->options, error))
      return false;
    range[i] = load->options->data.range == RANGE_ATTRIBUTE ? volume->max / load->options->data.scale
               : load->options->data.range == RANGE_SLICE   ? peak[i]
                                                            : by_volume[load->report->names[i].volume];
  }
  if (load->cache)
    slice_cache_ranges(load->cache, range);
  else
    write_ranges(load->world, range, count);
  warn_of_peaks(load, by_volume);
  return true;
}

void load_list_order(const struct options *options, uint32_t *order, size_t count) {
  if (options->data.order == ORDER_PERMUTED)
    permutation_numpy(order, count, options->world.seed);
  else
    for (size_t i = 0; i < count; i++) order[i] = (uint32_t)i;
}

static void set_order(struct load *load) {
  uint32_t *order = ARENA_NEW(load->arena, uint32_t, load->rows);
  load_list_order(load->options, order, load->rows);
  if (load->simulation)
    slice_cache_order(load->simulation, order, load->rows);
  else
    slice_order_write(load->world, order, load->rows);
}

void load_order(struct simulation *simulation, size_t slices) {
  struct arena *arena = arena_open();
  uint32_t *order = ARENA_NEW(arena, uint32_t, slices);
  load_list_order(simulation->options, order, slices);
  slice_cache_order(simulation, order, slices);
  arena_close(arena);
}

static size_t largest_image(const struct dataset *dataset) {
  size_t most = 1;
  for (size_t v = 0; v < dataset->volume_count; v++) {
    size_t pixels = dataset->volumes[v].image_height * dataset->volumes[v].image_width;
    if (pixels > most) most = pixels;
  }
  return most;
}

static size_t largest_kspace(const struct dataset *dataset) {
  size_t most = 1;
  for (size_t v = 0; v < dataset->volume_count; v++) {
    const struct volume *volume = &dataset->volumes[v];
    size_t floats = 2 * volume->coils * volume->kspace_height * volume->kspace_width;
    if (floats > most) most = floats;
  }
  return most;
}

static size_t largest_mixed(const struct dataset *dataset, const struct options *options) {
  size_t most = 1;
  for (size_t v = 0; v < dataset->volume_count; v++) {
    const struct volume *volume = &dataset->volumes[v];
    size_t floats = 2 * volume->made_coils * volume->height * volume->width;
    if (mix_wanted(volume, options) && floats > most) most = floats;
  }
  return most;
}

/* Units are known only now. */
static bool scale_coils(struct load *load, struct error *error) {
  if (!world_has(load->world, SLICE_coil_kspace)) return true;
  return run_alone(load, &system_scale_coils, error) && device_finish(world_device(load->world), error);
}

static bool make_maps(struct load *load, struct error *error) {
  return maps_make(load->world, load->dataset, load->options, load->report->names, load->rows, error);
}

static bool combine_coils(struct load *load, struct error *error) {
  return maps_combine(load->world, load->dataset, load->options, load->report->names, load->rows, error);
}

/* Coils are simulated of the images as they are cut: what ends at an edge begins at the other one, where maps differ. */
static void warn_of_cut(const struct load *load) {
  const struct scan_shape shape = scan_shape_of(load->options);
  uint32_t maps = load->options->coils.maps;
  if (maps != MAPS_PRESCAN && maps != MAPS_ACQUIRED) return;
  for (size_t v = 0; v < load->dataset->volume_count; v++) {
    const struct volume *volume = &load->dataset->volumes[v];
    if (volume->image_height <= shape.height && volume->image_width <= shape.width) continue;
    log_warning("images of %s are cut from %zux%zu to %ux%u, and coils simulated of what is left: maps of the middle of their "
                "k-space are wrong where the object is cut; set coils.maps to file, which takes the simulated ones",
                volume->path, volume->image_height, volume->image_width, shape.height, shape.width);
    return;
  }
}

static bool simulate_coils(struct load *load, struct error *error) {
  if (!world_has(load->world, SLICE_coil_kspace)) return true;
  log_info("%u simulated coils a slice: maps of a birdcage, a smooth phase, noise of %g of the image's deviation",
           load->options->coils.simulate, load->options->coils.noise);
  warn_of_cut(load);
  return simulated_fill(load->world, load->dataset, load->options, load->report->names, load->rows, error);
}

/* With a cache all of the world's rows are in use. */
static bool prepare(struct load *load, struct error *error) {
  if (load->cache) return true;
  world_set_rows(load->world, TABLE_SLICE, load->rows);
  if (load->options->coils.simulate)
    return transform_rows(load->world, 0, load->rows, error) && simulate_coils(load, error) && make_maps(load, error) &&
           hybrid_fill(load->world, load->rows, error);
  return make_maps(load, error) && combine_coils(load, error) && transform_rows(load->world, 0, load->rows, error) &&
         scale_coils(load, error) && hybrid_fill(load->world, load->rows, error);
}

/* Where slices are from, and what tells more of them. */
static const char *place_of(const struct load *load) {
  return load->dataset->volumes[0].format->in_memory ? "memory" : load->options->data.path;
}

static const char *advice(const struct load *load, const char *path) {
  return load->dataset->volumes[0].format->in_memory ? "" : arena_text(load->arena, "; `l2sr inspect %s` tells more", path);
}

static bool load_all(struct load *load, struct error *error) {
  struct load_report *report = load->report;
  const struct options *options = load->options;
  *report = (struct load_report){.names = ARENA_NEW(load->arena, struct slice_name, load->capacity),
                                 .data_range = ARENA_NEW(load->arena, double, load->capacity)};
  load->image = ARENA_NEW(load->arena, float, largest_image(load->dataset));
  load->crop = ARENA_NEW(load->arena, float, world_height(load->world) * world_width(load->world));
  load->doubts = doubts_open(load->arena);
  load->kspace = ARENA_NEW(load->arena, float, largest_kspace(load->dataset));
  load->mixed = ARENA_NEW(load->arena, float, largest_mixed(load->dataset, load->options));
  maps_clear(load->world);
  bool good = read_slices(load, error);
  spectra_close(&load->spectra);
  coil_close(&load->coils);
  mix_close(&load->mix);
  if (good && !load->rows)
    good = fail_file(
        error,
        "no usable slice in %s: %zu broken volume%s%s, %zu constant slice%s%s%s",
        place_of(load), report->broken_volumes, plural(report->broken_volumes),
        report->written_volumes ? arena_text(load->arena, ", %zu being written", report->written_volumes) : "",
        report->constant, plural(report->constant), report->excluded ? " (data.exclude_constant)" : "",
        advice(load, load->last_broken ? load->last_broken : load->dataset->volumes[0].path));
  if (good && report->constant - report->excluded == load->rows)
    good =
        fail(error,
             "the pixels of every slice in %s are all equal (%zu slice%s): there is nothing to reconstruct%s",
             place_of(load), load->rows, plural(load->rows), advice(load, options->data.path));
  if (!good) return false;
  report->slices = load->rows;
  if (!set_labels(load, error) || !prepare(load, error) || !set_ranges(load, error)) return false;
  set_order(load);
  if (report->constant)
    log_warning("%zu constant slice%s%s", report->constant, plural(report->constant),
                report->excluded ? ", left out" : "; data.exclude_constant leaves them out");
  return device_finish(world_device(load->world), error);
}

bool load_slices(struct world *world, const struct dataset *dataset, const struct options *options,
                 struct arena *arena, struct load_report *report, struct error *error) {
  struct load load = {.world = world,
                      .dataset = dataset,
                      .options = options,
                      .arena = arena,
                      .report = report,
                      .capacity = world_capacity(world, TABLE_SLICE)};
  return load_all(&load, error);
}

bool load_simulation(struct simulation *simulation, const struct dataset *dataset,
                     const struct options *options, struct arena *arena, struct load_report *report,
                     struct error *error) {
  struct load load = {.world = simulation->world,
                      .simulation = simulation,
                      .cache = simulation->cache,
                      .dataset = dataset,
                      .options = options,
                      .arena = arena,
                      .report = report,
                      .capacity = simulation->plan.slices};
  if (simulation->cache)
    log_info("%zu slices, %zu of them on the device at a time", simulation->plan.slices,
             world_capacity(simulation->world, TABLE_SLICE));
  if (!load_all(&load, error)) return false;
  simulation->names = report->names;
  simulation->volumes = dataset->volumes;
  return true;
}

void load_print(const struct load_report *report, FILE *file) {
  if (report->broken_volumes)
    fprintf(file, "  %zu volume%s broken, skipped while loading\n", report->broken_volumes,
            plural(report->broken_volumes));
  if (report->written_volumes)
    fprintf(file, "  %zu volume%s being written by another program, skipped while loading\n", report->written_volumes,
            plural(report->written_volumes));
  if (report->constant)
    fprintf(file, "  %zu constant slice%s%s\n", report->constant, plural(report->constant),
            report->excluded ? ", left out" : "");
}
