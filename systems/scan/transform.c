#include "systems/scan/transform.h"

enum { CHUNK = 64 }; /* slices transformed at a time: bounds the scratch memory */

/* ---- systems ------------------------------------------------------------------------------------------ */

static bool next_chunk(struct world *world, void *context, size_t turn) {
  struct transform *transform = context;
  (void)world, (void)turn;
  if (!transform->left && transform->more_count) {
    transform->first = transform->more->first;
    transform->left = transform->more++->count;
    transform->more_count--;
  }
  transform->start = transform->first;
  transform->count = transform->left < transform->chunk ? transform->left : transform->chunk;
  transform->first += transform->count;
  transform->left -= transform->count;
  return transform->count;
}

const struct system system_repeat_chunks = {
    .name = "chunks", .doc = "slices that are transformed at a time", .covers = TABLE_BIT(TABLE_SLICE), .next = next_chunk};

static void run_move(struct world *world, void *context) {
  const struct transform *transform = context;
  const struct augment *augment = &transform->augment;
  kernel_run(world_kernels(world), "image_move", transform->count,
             ARGS(world_in(world, SLICE_original), world_in(world, SLICE_number),
                  world_part(world, SLICE_image), arg_u32((uint32_t)transform->start),
                  arg_u32(augment->kinds), arg_u32(augment->shift_rows), arg_u32(augment->shift_columns),
                  arg_u32(augment->seed), arg_u32(augment->epoch)));
}

const struct system system_move_slices = {.name = "move_slices",
                                          .doc = "images turned, flipped and shifted anew, as data.augment says",
                                          .reads = SET(SLICE_original) | SET(SLICE_number),
                                          .parts = SET(SLICE_image),
                                          .loads = true,
                                          .kernels = {"image_move"},
                                          .run = run_move};

static void run_normalise(struct world *world, void *context) {
  const struct transform *transform = context;
  kernel_run(world_kernels(world), "image_normalise", transform->count,
             ARGS(world_in(world, SLICE_image), world_part(world, SLICE_mean), world_part(world, SLICE_std),
                  world_part(world, SLICE_peak), world_part(world, SLICE_unit),
                  arg_u32((uint32_t)transform->start)));
}

const struct system system_normalise_slices = {
    .name = "normalise_slices",
    .doc = "mean, deviation, peak and unit of the loaded images",
    .reads = SET(SLICE_image),
    .parts = SET(SLICE_mean) | SET(SLICE_std) | SET(SLICE_peak) | SET(SLICE_unit),
    .loads = true,
    .kernels = {"image_normalise"},
    .run = run_normalise};

static void pack(struct world *world, const struct transform *transform, const char *kernel) {
  kernel_run(world_kernels(world), kernel, transform->count,
             ARGS(world_in(world, SLICE_image), world_in(world, SLICE_unit),
                  arg_buffer(ARG_OUT, ELEMENT_C64, transform->work), arg_u32((uint32_t)transform->start)));
}

static void run_lines(struct world *world, void *context) {
  struct transform *transform = context;
  pack(world, transform, "image_pack");
  fft_run(&transform->fft, FFT_FORWARD, transform->work);
  kernel_run(world_kernels(world), "image_unpack", transform->count,
             ARGS(arg_buffer(ARG_IN, ELEMENT_C64, transform->work), world_part(world, SLICE_hybrid),
                  arg_u32((uint32_t)transform->start)));
}

const struct system system_transform_lines = {.name = "transform_lines",
                                              .doc = "hybrid data: the rows of the images transformed",
                                              .reads = SET(SLICE_image) | SET(SLICE_unit),
                                              .parts = SET(SLICE_hybrid),
                                              .loads = true,
                                              .kernels = {"image_pack", "image_unpack"},
                                              .run = run_lines};

static void run_planes(struct world *world, void *context) {
  struct transform *transform = context;
  size_t bytes = world_column_bytes(world, SLICE_kspace);
  pack(world, transform, "image_pack_plane");
  fft_run(&transform->fft, FFT_FORWARD, transform->work);
  device_copy(world_device(world), transform->work, 0, world_part(world, SLICE_kspace).as.m,
              transform->start * bytes, transform->count * bytes);
}

const struct system system_transform_planes = {.name = "transform_planes",
                                               .doc = "k-space: the images transformed on both axes",
                                               .reads = SET(SLICE_image) | SET(SLICE_unit),
                                               .parts = SET(SLICE_kspace),
                                               .loads = true,
                                               .kernels = {"image_pack_plane"},
                                               .run = run_planes};

/* ---- opening ------------------------------------------------------------------------------------------ */

/* Measured k-space is no transform of the image: then neither column is there. */
static const struct system *find_transform(component_set columns) {
  return columns & SET(SLICE_kspace)   ? &system_transform_planes
         : columns & SET(SLICE_hybrid) ? &system_transform_lines
                                       : NULL;
}

static component_set columns_of(const struct world *world) {
  static const unsigned columns[] = {SLICE_kspace, SLICE_hybrid, SLICE_original};
  component_set set = 0;
  for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
    if (world_has(world, columns[i])) set |= SET(columns[i]);
  return set;
}

void transform_add(struct transform *transform, component_set columns, struct schedule *schedule) {
  const struct system *row = find_transform(columns);
  schedule_add(schedule, &system_repeat_chunks, transform);
  if (columns & SET(SLICE_original)) schedule_add(schedule, &system_move_slices, transform);
  schedule_add(schedule, &system_normalise_slices, transform);
  if (row) schedule_add(schedule, row, transform);
  schedule_add(schedule, &system_end, NULL);
}

static bool build(struct transform *transform, component_set columns, struct schedule *schedule, struct error *error) {
  schedule_open(schedule, &component_schema);
  schedule_name(schedule, columns & SET(SLICE_original) ? "moved slices" : "slices");
  transform_add(transform, columns, schedule);
  return schedule_close(schedule, error);
}

bool transform_describe(struct schedule *schedule, component_set columns, struct error *error) {
  return build(NULL, columns, schedule, error);
}

bool transform_open(struct transform *transform, struct world *world, size_t rows, struct error *error) {
  component_set columns = columns_of(world);
  const struct system *row = find_transform(columns);
  bool plane = row == &system_transform_planes;
  size_t chunk = rows < CHUNK ? rows : CHUNK, height = plane ? world_height(world) : 1;
  *transform = (struct transform){
      .world = world, .chunk = chunk, .bytes = chunk * world_height(world) * world_width(world) * 8};
  if (!build(transform, columns, &transform->schedule, error) ||
      !schedule_prepare(&transform->schedule, world_kernels(world), error))
    return false;
  if (!row) return true;
  bool good = fft_open(&transform->fft, world_device(world), height, world_width(world),
                       plane ? chunk : chunk * world_height(world), error) &&
              (transform->work =
                   device_buffer(world_device(world), transform->bytes, "the transform of the slices", error));
  if (good)
    device_fill(world_device(world), transform->work, 0, transform->bytes, 0);
  else
    transform_close(transform);
  return good;
}

void transform_take(struct transform *transform, const struct row_range *ranges, size_t count) {
  transform->left = 0;
  transform->more = ranges;
  transform->more_count = count;
}

void transform_run(struct transform *transform, size_t first, size_t count) {
  transform->first = first;
  transform->left = count;
  schedule_run(&transform->schedule, transform->world);
}

void transform_close(struct transform *transform) {
  if (!transform->world) return;
  fft_close(&transform->fft);
  device_release(world_device(transform->world), transform->work, transform->bytes);
  *transform = (struct transform){0};
}

bool transform_rows(struct world *world, size_t first, size_t count, struct error *error) {
  struct transform transform;
  if (!transform_open(&transform, world, count, error)) return false;
  transform_run(&transform, first, count);
  bool good = device_finish(world_device(world), error);
  transform_close(&transform);
  return good;
}
