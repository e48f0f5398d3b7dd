#include "systems/scan/slice_cache.h"

#include "kernels/kernels.h"
#include "systems/scan/observation.h"
#include "systems/scan/transform.h"

#include <math.h>
#include <string.h>

struct slice_cache {
  struct arena *arena; /* owns this */
  struct world *world;
  struct transform transform;
  size_t slices, rows, pixels;
  float *image, *range;     /* one for every slice; the loader knows volumes */
  uint32_t *row, *slice;    /* the row of every slice, the slice of every row; NO_LINE: none */
  uint32_t *order, *entry;  /* [slices]; of SLICE.order, [rows] */
  uint32_t *used, turn;     /* the turn in which every row was wanted last */
  uint32_t *wanted, *place; /* [rows] */
  size_t next;              /* row that is given away next */
  bool needed;              /* whether scans look at slices at all */
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
  component_set touched = simulation->scan.touched | simulation->plan.columns;
  struct world *world = &simulation->world;
  *cache = (struct slice_cache){.arena = arena,
                            .world = world,
                            .slices = slices,
                            .rows = world->capacity[TABLE_SLICE],
                            .pixels = world->height * world->width,
                            .needed = touched &
                                      (SET(SLICE_image) | observation_chosen(simulation->options)->kspace)};
  return make_room(cache, error) && transform_open(&cache->transform, world, cache->rows, error);
}

void slice_cache_close(struct slice_cache *cache) {
  if (!cache) return;
  transform_close(&cache->transform);
  arena_close(cache->arena);
}

/* ---- bringing ------------------------------------------------------------------------------------------ */

/* Gives the slice the row of one that was not wanted in this turn. */
static uint32_t give_row(struct slice_cache *cache, uint32_t slice) {
  bool moves = world_has(cache->world, SLICE_original);
  while (cache->used[cache->next] == cache->turn) cache->next = (cache->next + 1) % cache->rows;
  uint32_t row = (uint32_t)cache->next;
  if (cache->slice[row] != NO_LINE) cache->row[cache->slice[row]] = NO_LINE;
  cache->slice[row] = slice;
  cache->row[slice] = row;
  cache->used[row] = cache->turn;
  world_write(cache->world, moves ? SLICE_original : SLICE_image, row, 1, cache->image + slice * cache->pixels);
  if (moves) world_write(cache->world, SLICE_number, row, 1, &slice);
  world_write(cache->world, SLICE_data_range, row, 1, cache->range + slice);
  return row;
}

/* Neighbouring rows are prepared together. */
static void bring_missing(struct slice_cache *cache, const uint32_t *slice, size_t count) {
  size_t first = 0, run = 0;
  for (size_t i = 0; i < count; i++) {
    if (cache->row[slice[i]] != NO_LINE) continue;
    uint32_t row = give_row(cache, slice[i]);
    if (run && row != first + run) {
      transform_run(&cache->transform, first, run);
      run = 0;
    }
    if (!run++) first = row;
  }
  if (run) transform_run(&cache->transform, first, run);
}

void slice_cache_bring(struct slice_cache *cache, const uint32_t *slice, size_t count, uint32_t *rows) {
  REQUIRE(count <= cache->rows, "%zu slices at a time; the cache holds %zu", count, cache->rows);
  cache->turn++;
  for (size_t i = 0; i < count; i++)
    if (cache->row[slice[i]] != NO_LINE) cache->used[cache->row[slice[i]]] = cache->turn;
  bring_missing(cache, slice, count);
  for (size_t i = 0; i < count; i++) rows[i] = cache->row[slice[i]];
}

/* Scans of slice number i (scan number i * group is the first) look into entry i % rows, where its row is: no
 * two slices share one. */
void slice_cache_bring_scans(struct simulation *simulation, uint32_t first_scan, size_t scans) {
  struct slice_cache *cache = simulation->cache;
  uint32_t group = simulation->group, first = first_scan / group;
  if (!cache || !cache->needed) return;
  size_t count = (first_scan % group + scans - 1) / group + 1;
  for (size_t i = 0; i < count; i++)
    cache->wanted[i] = cache->order[(first + (uint32_t)i) % cache->slices];
  slice_cache_bring(cache, cache->wanted, count, cache->place);
  for (size_t i = 0; i < count; i++)
    cache->entry[(first + (uint32_t)i) % cache->rows] = cache->place[i];
  world_write(cache->world, SLICE_order, 0, cache->rows, cache->entry);
}

/* ---- loading ------------------------------------------------------------------------------------------- */

float *slice_cache_image(struct slice_cache *cache, size_t slice) {
  return cache->image + slice * cache->pixels;
}

void slice_cache_measure(struct slice_cache *cache, size_t slices, float *peak) {
  cache->slices = slices;
  for (size_t first = 0; first < slices; first += cache->rows) {
    size_t count = slices - first < cache->rows ? slices - first : cache->rows;
    for (size_t i = 0; i < count; i++) cache->wanted[i] = (uint32_t)(first + i);
    slice_cache_bring(cache, cache->wanted, count, cache->place);
    for (size_t i = 0; i < count; i++)
      world_read(cache->world, SLICE_peak, cache->place[i], 1, &peak[first + i]);
  }
}

void slice_cache_ranges(struct slice_cache *cache, const double *range) {
  for (size_t i = 0; i < cache->slices; i++) cache->range[i] = (float)range[i];
  for (uint32_t row = 0; row < cache->rows; row++)
    if (cache->slice[row] != NO_LINE)
      world_write(cache->world, SLICE_data_range, row, 1, &cache->range[cache->slice[row]]);
}

void slice_cache_augment(struct slice_cache *cache, const struct augment *augment) {
  cache->transform.augment = *augment;
  forget(cache);
}

/* ---- with and without ---------------------------------------------------------------------------------- */

void slice_cache_order(struct simulation *simulation, const uint32_t *order, size_t count) {
  if (simulation->cache)
    memcpy(simulation->cache->order, order, sizeof *order * count);
  else
    world_write(&simulation->world, SLICE_order, 0, count, order);
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

void slice_cache_read_target(struct simulation *simulation, size_t slice, float *image) {
  size_t pixels = world_column_bytes(&simulation->world, SLICE_image) / sizeof *image;
  uint32_t wanted = (uint32_t)slice, row = wanted;
  float mean = 0, deviation = 1;
  if (simulation->cache) slice_cache_bring(simulation->cache, &wanted, 1, &row);
  world_read(&simulation->world, SLICE_image, row, 1, image);
  world_read(&simulation->world, SLICE_mean, row, 1, &mean);
  world_read(&simulation->world, SLICE_std, row, 1, &deviation);
  if (simulation->options->network.input != INPUT_COMPLEX) clamp_image(image, pixels, mean, deviation);
}
