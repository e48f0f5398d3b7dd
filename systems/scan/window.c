#include "systems/scan/window.h"

#include "kernels/kernels.h"
#include "systems/scan/geometry.h"

#include <math.h>
#include <string.h>

struct window {
  struct arena *arena; /* owns this */
  struct world *world;
  struct load_transform transform;
  size_t slices, rows, pixels;
  float *image, *range;     /* of every slice; volumes are the loader's affair */
  uint32_t *row, *slice;    /* of every slice its row, of every row its slice; NO_LINE: none */
  uint32_t *order, *entry;  /* [slices]; of SLICE.order, [rows] */
  uint32_t *used, turn;     /* of every row: the turn in which it was wanted last */
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

size_t window_rows(const struct world_setup *setup, const struct device *device,
                   const struct options *options, size_t together) {
  size_t slices = setup->rows[TABLE_SLICE], rows = slices, others = 0, wish = options->data.window;
  size_t row = world_row_bytes(setup, setup->columns, TABLE_SLICE),
         room = device->facts.memory - device->bytes;
  for (uint8_t t = 0; t < TABLE_COUNT; t++)
    if (t != TABLE_SLICE) others += world_row_bytes(setup, setup->columns, t) * setup->rows[t];
  if (!together) return slices;
  bool fits = slices * row + others <= room / 4 * 3 &&
              slices <= device->facts.largest / (8 * setup->height * setup->width);
  if (wish || !fits) rows = wish ? wish : rows_that_fit(setup, device, others);
  if (rows < together) rows = together;
  return rows < slices ? rows : slices;
}

/* ---- opening ------------------------------------------------------------------------------------------- */

static bool make_room(struct window *window, struct error *error) {
  struct arena *arena = window->arena;
  size_t slices = window->slices, rows = window->rows;
  if (!(window->image = arena_try_array(arena, sizeof(float) * window->pixels, slices)))
    return fail_memory(
        error,
        "no host memory for %zu slices, of which the device holds %zu at a time; set data.most or "
        "data.volumes",
        slices, rows);
  window->range = ARENA_NEW(arena, float, slices);
  window->row = ARENA_NEW(arena, uint32_t, slices);
  window->order = ARENA_NEW(arena, uint32_t, slices);
  uint32_t **const lists[] = {&window->slice, &window->entry, &window->used, &window->wanted, &window->place};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) *lists[i] = ARENA_NEW(arena, uint32_t, rows);
  for (size_t i = 0; i < slices; i++) window->order[i] = (uint32_t)i;
  memset(window->row, 0xff, sizeof *window->row * slices);
  memset(window->slice, 0xff, sizeof *window->slice * rows);
  return true;
}

bool window_open(struct window **opened, struct simulation *simulation, size_t slices, struct error *error) {
  struct arena *arena = arena_open();
  struct window *window = *opened = ARENA_NEW(arena, struct window, 1);
  component_set touched = simulation->begin.touched | simulation->step.touched | simulation->finish.touched;
  struct world *world = &simulation->world;
  *window = (struct window){.arena = arena,
                            .world = world,
                            .slices = slices,
                            .rows = world->capacity[TABLE_SLICE],
                            .pixels = world->height * world->width,
                            .needed = touched &
                                      (SET(SLICE_image) | observation_chosen(simulation->options)->kspace)};
  return make_room(window, error) && load_transform_open(&window->transform, world, window->rows, error);
}

void window_close(struct window *window) {
  if (!window) return;
  load_transform_close(&window->transform);
  arena_close(window->arena);
}

/* ---- bringing ------------------------------------------------------------------------------------------ */

/* The row of whatever was not wanted in this turn goes to the slice. */
static uint32_t give_row(struct window *window, uint32_t slice) {
  while (window->used[window->next] == window->turn) window->next = (window->next + 1) % window->rows;
  uint32_t row = (uint32_t)window->next;
  if (window->slice[row] != NO_LINE) window->row[window->slice[row]] = NO_LINE;
  window->slice[row] = slice;
  window->row[slice] = row;
  window->used[row] = window->turn;
  world_write(window->world, SLICE_image, row, 1, window->image + slice * window->pixels);
  world_write(window->world, SLICE_data_range, row, 1, window->range + slice);
  return row;
}

/* Neighbouring rows are prepared together. */
static void bring_missing(struct window *window, const uint32_t *slice, size_t count) {
  size_t first = 0, run = 0;
  for (size_t i = 0; i < count; i++) {
    if (window->row[slice[i]] != NO_LINE) continue;
    uint32_t row = give_row(window, slice[i]);
    if (run && row != first + run) {
      load_transform_run(&window->transform, first, run);
      run = 0;
    }
    if (!run++) first = row;
  }
  if (run) load_transform_run(&window->transform, first, run);
}

void window_bring(struct window *window, const uint32_t *slice, size_t count, uint32_t *rows) {
  REQUIRE(count <= window->rows, "%zu slices at a time; the window holds %zu", count, window->rows);
  window->turn++;
  for (size_t i = 0; i < count; i++)
    if (window->row[slice[i]] != NO_LINE) window->used[window->row[slice[i]]] = window->turn;
  bring_missing(window, slice, count);
  for (size_t i = 0; i < count; i++) rows[i] = window->row[slice[i]];
}

/* Scan number i looks into entry i % rows, where its row is: no two of the scans share one. */
void window_bring_scans(struct simulation *simulation, uint32_t first_scan, size_t scans) {
  struct window *window = simulation->window;
  if (!window || !window->needed) return;
  for (size_t i = 0; i < scans; i++)
    window->wanted[i] = window->order[(first_scan + (uint32_t)i) % window->slices];
  window_bring(window, window->wanted, scans, window->place);
  for (size_t i = 0; i < scans; i++)
    window->entry[(first_scan + (uint32_t)i) % window->rows] = window->place[i];
  world_write(window->world, SLICE_order, 0, window->rows, window->entry);
}

/* ---- loading ------------------------------------------------------------------------------------------- */

float *window_image(struct window *window, size_t slice) {
  return window->image + slice * window->pixels;
}

void window_measure(struct window *window, size_t slices, float *peak) {
  window->slices = slices;
  for (size_t first = 0; first < slices; first += window->rows) {
    size_t count = slices - first < window->rows ? slices - first : window->rows;
    for (size_t i = 0; i < count; i++) window->wanted[i] = (uint32_t)(first + i);
    window_bring(window, window->wanted, count, window->place);
    for (size_t i = 0; i < count; i++)
      world_read(window->world, SLICE_peak, window->place[i], 1, &peak[first + i]);
  }
}

void window_ranges(struct window *window, const double *range) {
  for (size_t i = 0; i < window->slices; i++) window->range[i] = (float)range[i];
  for (uint32_t row = 0; row < window->rows; row++)
    if (window->slice[row] != NO_LINE)
      world_write(window->world, SLICE_data_range, row, 1, &window->range[window->slice[row]]);
}

/* ---- with and without ---------------------------------------------------------------------------------- */

void window_order(struct simulation *simulation, const uint32_t *order, size_t count) {
  if (simulation->window)
    memcpy(simulation->window->order, order, sizeof *order * count);
  else
    world_write(&simulation->world, SLICE_order, 0, count, order);
}

void window_slices(const struct simulation *simulation, uint32_t *rows, size_t count) {
  for (size_t i = 0; simulation->window && i < count; i++) rows[i] = simulation->window->slice[rows[i]];
}

/* As target_pixel() of the kernels. */
static void clamp_image(float *image, size_t pixels, float mean, float deviation) {
  for (size_t i = 0; i < pixels; i++) {
    float normal = (image[i] - mean) / (deviation + 1e-11f);
    image[i] = fminf(fmaxf(normal, -6), 6) * deviation + mean;
  }
}

void window_read_target(struct simulation *simulation, size_t slice, float *image) {
  size_t pixels = world_column_bytes(&simulation->world, SLICE_image) / sizeof *image;
  uint32_t wanted = (uint32_t)slice, row = wanted;
  float mean = 0, deviation = 1;
  if (simulation->window) window_bring(simulation->window, &wanted, 1, &row);
  world_read(&simulation->world, SLICE_image, row, 1, image);
  world_read(&simulation->world, SLICE_mean, row, 1, &mean);
  world_read(&simulation->world, SLICE_std, row, 1, &deviation);
  if (simulation->options->network.input != INPUT_COMPLEX) clamp_image(image, pixels, mean, deviation);
}
