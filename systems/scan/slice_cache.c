#include "systems/scan/slice_cache.h"

#include "kernels/kernels.h"
#include "systems/coils/simulated.h"
#include "systems/scan/observation.h"
#include "systems/scan/systems.h"
#include "systems/scan/transform.h"

#include <math.h>
#include <string.h>

struct slice_cache {
  struct arena *arena; /* owns this */
  struct world *world;
  struct transform transform;
  size_t slices, rows, pixels;
  float *image, *range;     /* one for every slice; the loader knows volumes */
  const float *label;       /* likewise, where the world has labels */
  uint32_t *row, *slice;    /* the row of every slice, the slice of every row; NO_LINE: none */
  uint32_t *order, *entry;  /* [slices]; of SLICE.order, [rows] */
  uint32_t *used, turn;     /* the turn in which every row was wanted last */
  uint32_t *wanted, *place; /* [rows] */
  size_t count;             /* of wanted, */
  uint32_t first;           /* of which the first is the slice of this number in the order */
  struct row_range *missing; /* [rows] rows that a take has filled and a transform has still to see */
  size_t next;              /* row that is given away next */
  bool needed;              /* whether scans look at slices at all */
  struct schedule bring;    /* wanted to place */
};

/* ---- how many ------------------------------------------------------------------------------------------ */

/* A half of what is free, and one allocation a column: networks come later. */
static size_t rows_that_fit(const struct world_setup *setup, const struct device *device, size_t others) {
  size_t room = (device->facts.memory - device->bytes) / 2, widest = 8 * setup->height * setup->width;
  size_t fit = room > others ? (room - others) / world_row_bytes(setup, setup->columns, TABLE_SLICE) : 0;
  return fit < device->facts.largest / widest ? fit : device->facts.largest / widest;
}

size_t slice_cache_rows(const struct world_setup *setup, const struct device *device,
                   const struct options *options, size_t together) {
  size_t slices = setup->rows[TABLE_SLICE], rows = slices, others = 0, asked = options->data.window;
  size_t row = world_row_bytes(setup, setup->columns, TABLE_SLICE),
         room = device->facts.memory - device->bytes;
  for (uint8_t t = 0; t < TABLE_COUNT; t++)
    if (t != TABLE_SLICE) others += world_row_bytes(setup, setup->columns, t) * setup->rows[t];
  if (!together) return slices;
  bool fits = slices * row + others <= room / 4 * 3 &&
              slices <= device->facts.largest / (8 * setup->height * setup->width);
  if (asked || !fits) rows = asked ? asked : rows_that_fit(setup, device, others);
  if (rows < together) rows = together;
  return rows < slices ? rows : slices;
}

bool slice_cache_planned(const struct options *options, size_t slices, size_t together) {
  size_t asked = options->data.window;
  if (!asked || !together || simulated_or_measured(options)) return false;
  return (asked > together ? asked : together) < slices;
}

/* ---- bringing ------------------------------------------------------------------------------------------ */

static bool moves(const struct slice_cache *cache) {
  return world_has(cache->world, SLICE_original);
}

component_set slice_transforms(const struct simulation *simulation) {
  component_set kspace = observation_chosen(simulation->options)->kspace;
  return (kspace & (SET(SLICE_hybrid) | SET(SLICE_kspace))) | (simulation->plan.columns & SET(SLICE_original));
}

component_set slice_cache_parts(const struct simulation *simulation) {
  bool moved = simulation->plan.columns & SET(SLICE_original);
  return SET(SLICE_data_range) | (*simulation->options->data.label ? SET(SLICE_label) : 0) | (moved ? SET(SLICE_original) | SET(SLICE_number) : SET(SLICE_image));
}

/* Gives the slice the row of one that was not wanted in this turn. */
static uint32_t give_row(struct slice_cache *cache, uint32_t slice) {
  while (cache->used[cache->next] == cache->turn) cache->next = (cache->next + 1) % cache->rows;
  uint32_t row = (uint32_t)cache->next;
  if (cache->slice[row] != NO_LINE) cache->row[cache->slice[row]] = NO_LINE;
  cache->slice[row] = slice;
  cache->row[slice] = row;
  cache->used[row] = cache->turn;
  world_write(cache->world, moves(cache) ? SLICE_original : SLICE_image, row, 1, cache->image + slice * cache->pixels);
  if (moves(cache)) world_write(cache->world, SLICE_number, row, 1, &slice);
  world_write(cache->world, SLICE_data_range, row, 1, cache->range + slice);
  if (world_has(cache->world, SLICE_label)) world_write(cache->world, SLICE_label, row, 1, cache->label + slice);
  return row;
}

/* Neighbouring rows are prepared together. */
static void bring_missing(struct slice_cache *cache, const uint32_t *slice, size_t count) {
  struct row_range *range = cache->missing;
  size_t ranges = 0;
  for (size_t i = 0; i < count; i++) {
    if (cache->row[slice[i]] != NO_LINE) continue;
    uint32_t row = give_row(cache, slice[i]);
    if (ranges && row == range[ranges - 1].first + range[ranges - 1].count)
      range[ranges - 1].count++;
    else
      range[ranges++] = (struct row_range){row, 1};
  }
  if (!ranges) world_idle(cache->world);
  transform_take(&cache->transform, range, ranges);
}

void slice_cache_take(struct slice_cache *cache, const uint32_t *slice, size_t count, uint32_t *rows) {
  REQUIRE(count <= cache->rows, "%zu slices at a time; the cache holds %zu", count, cache->rows);
  cache->turn++;
  for (size_t i = 0; i < count; i++)
    if (cache->row[slice[i]] != NO_LINE) cache->used[cache->row[slice[i]]] = cache->turn;
  bring_missing(cache, slice, count);
  for (size_t i = 0; i < count; i++) rows[i] = cache->row[slice[i]];
}

void slice_cache_add_transform(const struct simulation *simulation, struct schedule *schedule) {
  struct slice_cache *cache = simulation->cache;
  transform_add(cache ? &cache->transform : NULL, slice_transforms(simulation), schedule);
}

static void run_bring(struct world *world, void *context) {
  struct slice_cache *cache = context;
  (void)world;
  slice_cache_take(cache, cache->wanted, cache->count, cache->place);
}

const struct system system_bring_slices = {.name = "bring_slices",
                                           .doc = "images of the slices that are wanted, into the device's window",
                                           .loads = true,
                                           .run = run_bring};

/* The slice's data follow from its image. */
bool slice_cache_describe(struct schedule *schedule, const struct simulation *simulation, struct error *error) {
  const char *prefix = simulation->plan.prefix;
  schedule_open(schedule, &component_schema);
  schedule_name(schedule, "%swindow", prefix ? prefix : "");
  schedule_add(schedule, &system_bring_slices, simulation->cache)->parts = slice_cache_parts(simulation);
  slice_cache_add_transform(simulation, schedule);
  return schedule_close(schedule, error);
}

/* Whether scans look at slices at all. */
static bool is_needed(const struct simulation *simulation) {
  component_set touched = simulation->scan.touched | simulation->plan.columns;
  return touched & (SET(SLICE_image) | observation_chosen(simulation->options)->kspace);
}

/* Scans of slice number i (scan number i * group is the first) look into entry i % rows, where its row is: no
 * two slices share one. */
void slice_cache_want_scans(struct simulation *simulation, uint32_t first_scan, size_t scans) {
  struct slice_cache *cache = simulation->cache;
  uint32_t group = simulation->group;
  if (!cache || !cache->needed) return;
  cache->first = first_scan / group;
  cache->count = (first_scan % group + scans - 1) / group + 1;
  for (size_t i = 0; i < cache->count; i++)
    cache->wanted[i] = cache->order[(cache->first + (uint32_t)i) % cache->slices];
}

static void run_bring_scans(struct world *world, void *context) {
  struct slice_cache *cache = context;
  slice_cache_take(cache, cache->wanted, cache->count, cache->place);
  for (size_t i = 0; i < cache->count; i++)
    cache->entry[(cache->first + (uint32_t)i) % cache->rows] = cache->place[i];
  world_write(world, SLICE_order, 0, cache->rows, cache->entry);
}

const struct system system_bring_scans = {.name = "bring_scans",
                                          .doc = "slices of the next scans into the device's window (data.window)",
                                          .writes = SET(SLICE_order),
                                          .loads = true,
                                          .run = run_bring_scans};

void slice_cache_add_bring(struct simulation *simulation, struct schedule *schedule) {
  if (!simulation->plan.window || !is_needed(simulation)) return;
  schedule_add(schedule, &system_bring_scans, simulation->cache)->parts = slice_cache_parts(simulation);
  slice_cache_add_transform(simulation, schedule);
}

/* Brings these now, on the host's word. */
static void bring(struct slice_cache *cache, size_t first, size_t count) {
  for (size_t i = 0; i < count; i++) cache->wanted[i] = (uint32_t)(first + i);
  cache->count = count;
  schedule_run(&cache->bring, cache->world);
}

/* ---- opening ------------------------------------------------------------------------------------------- */

static void forget(struct slice_cache *cache) {
  memset(cache->row, 0xff, sizeof *cache->row * cache->slices);
  memset(cache->slice, 0xff, sizeof *cache->slice * cache->rows);
}

static bool make_room(struct slice_cache *cache, struct error *error) {
  struct arena *arena = cache->arena;
  size_t slices = cache->slices, rows = cache->rows;
  if (!(cache->image = arena_try_array(arena, sizeof(float) * cache->pixels, slices)))
    return fail_memory(
        error,
        "no host memory for %zu slices, of which the device holds %zu at a time; set data.most or "
        "data.volumes",
        slices, rows);
  cache->range = ARENA_NEW(arena, float, slices);
  cache->missing = ARENA_NEW(arena, struct row_range, rows);
  cache->row = ARENA_NEW(arena, uint32_t, slices);
  cache->order = ARENA_NEW(arena, uint32_t, slices);
  uint32_t **const lists[] = {&cache->slice, &cache->entry, &cache->used, &cache->wanted, &cache->place};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) *lists[i] = ARENA_NEW(arena, uint32_t, rows);
  for (size_t i = 0; i < slices; i++) cache->order[i] = (uint32_t)i;
  forget(cache);
  return true;
}

bool slice_cache_open(struct slice_cache **opened, struct simulation *simulation, size_t slices, struct error *error) {
  struct arena *arena = arena_open();
  struct slice_cache *cache = *opened = ARENA_NEW(arena, struct slice_cache, 1);
  struct world *world = simulation->world;
  *cache = (struct slice_cache){.arena = arena,
                            .world = world,
                            .slices = slices,
                            .rows = world_capacity(world, TABLE_SLICE),
                            .pixels = world_height(world) * world_width(world),
                            .needed = is_needed(simulation)};
  return make_room(cache, error) && transform_open(&cache->transform, world, cache->rows, error) &&
         slice_cache_describe(&cache->bring, simulation, error) &&
         schedule_prepare(&cache->bring, world_kernels(world), error);
}

void slice_cache_close(struct slice_cache *cache) {
  if (!cache) return;
  transform_close(&cache->transform);
  arena_close(cache->arena);
}

/* ---- loading ------------------------------------------------------------------------------------------- */

float *slice_cache_image(struct slice_cache *cache, size_t slice) {
  return cache->image + slice * cache->pixels;
}

const struct system system_read_peaks = {.name = "read_peaks",
                                         .doc = "the peaks, of which data ranges are made",
                                         .reads = SET(SLICE_peak),
                                         .loads = true};

void slice_cache_measure(struct slice_cache *cache, size_t slices, float *peak) {
  cache->slices = slices;
  for (size_t first = 0; first < slices; first += cache->rows) {
    size_t count = slices - first < cache->rows ? slices - first : cache->rows;
    bring(cache, first, count);
    for (size_t i = 0; i < count; i++)
      world_get(cache->world, &system_read_peaks, SLICE_peak, cache->place[i], 1, &peak[first + i]);
  }
}

const struct system system_load_some_ranges = {.name = "load_some_ranges",
                                               .doc = "data range of every slice that is on the device",
                                               .parts = SET(SLICE_data_range),
                                               .loads = true};

void slice_cache_ranges(struct slice_cache *cache, const double *range) {
  for (size_t i = 0; i < cache->slices; i++) cache->range[i] = (float)range[i];
  for (uint32_t row = 0; row < cache->rows; row++)
    if (cache->slice[row] != NO_LINE)
      world_put(cache->world, &system_load_some_ranges, SLICE_data_range, row, 1, &cache->range[cache->slice[row]]);
}

void slice_cache_labels(struct slice_cache *cache, const float *label) {
  cache->label = label;
}

void slice_cache_augment(struct slice_cache *cache, const struct augment *augment) {
  cache->transform.augment = *augment;
  forget(cache);
}

/* ---- with and without ---------------------------------------------------------------------------------- */

const struct system system_load_order = {
    .name = "load_order", .doc = "which slice every scan takes", .writes = SET(SLICE_order), .loads = true};

void slice_order_write(struct world *world, const uint32_t *order, size_t count) {
  world_put(world, &system_load_order, SLICE_order, 0, count, order);
}

void slice_cache_order(struct simulation *simulation, const uint32_t *order, size_t count) {
  if (simulation->cache)
    memcpy(simulation->cache->order, order, sizeof *order * count);
  else
    slice_order_write(simulation->world, order, count);
}

static void run_order(struct world *world, void *context) {
  const struct slice_order *order = context;
  struct slice_cache *cache = order->simulation->cache;
  struct random random;
  random_start(&random, order->simulation->options->world.seed, STREAM_ORDER, order->key);
  if (!order->kept) random_order(&random, order->slice, order->count);
  if (cache)
    memcpy(cache->order, order->slice, sizeof *order->slice * order->count);
  else
    world_write(world, SLICE_order, 0, order->count, order->slice);
}

const struct system system_order_slices = {
    .name = "order_slices", .doc = "draw the order in which scans take slices", .loads = true, .run = run_order};

void slice_order_add(struct slice_order *order, struct schedule *schedule) {
  struct system *row = schedule_add(schedule, &system_order_slices, order);
  if (!order->simulation->plan.window) row->parts = SET(SLICE_order);
}

void slice_cache_slices(const struct simulation *simulation, uint32_t *rows, size_t count) {
  for (size_t i = 0; simulation->cache && i < count; i++) rows[i] = simulation->cache->slice[rows[i]];
}

/* Clamps as target_pixel() of the kernels does. */
static void clamp_image(float *image, size_t pixels, float mean, float deviation) {
  for (size_t i = 0; i < pixels; i++) {
    float normal = (image[i] - mean) / (deviation + 1e-11f);
    image[i] = fminf(fmaxf(normal, -6), 6) * deviation + mean;
  }
}

const struct system system_read_image = {
    .name = "read_image", .doc = "the image of a slice as it was loaded", .reads = SET(SLICE_image), .loads = true};

void slice_cache_read_image(struct simulation *simulation, size_t slice, float *image) {
  size_t pixels = world_column_bytes(simulation->world, SLICE_image) / sizeof *image;
  if (simulation->cache)
    memcpy(image, slice_cache_image(simulation->cache, slice), sizeof *image * pixels);
  else
    world_get(simulation->world, &system_read_image, SLICE_image, slice, 1, image);
}

const struct system system_read_target = {.name = "read_target",
                                          .doc = "the image that the scans of a slice are scored against",
                                          .reads = SET(SLICE_image) | SET(SLICE_mean) | SET(SLICE_std),
                                          .loads = true};

void slice_cache_read_target(struct simulation *simulation, size_t slice, float *image) {
  struct slice_cache *cache = simulation->cache;
  struct world *world = simulation->world;
  size_t pixels = world_column_bytes(world, SLICE_image) / sizeof *image;
  float mean = 0, deviation = 1;
  if (cache) bring(cache, slice, 1);
  size_t row = cache ? cache->place[0] : slice;
  struct world_use before = world_enter(world, &system_read_target);
  world_read(world, SLICE_image, row, 1, image);
  world_read(world, SLICE_mean, row, 1, &mean);
  world_read(world, SLICE_std, row, 1, &deviation);
  world_leave(world, before);
  if (simulation->options->network.input != INPUT_COMPLEX) clamp_image(image, pixels, mean, deviation);
}
