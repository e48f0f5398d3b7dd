#include "systems/scan/nearest.h"

#include "components/components.h"
#include "systems/sampling/geometry.h"
#include "systems/scan/planned.h"

#include <string.h>

/* ---- opening ------------------------------------------------------------------------------------------- */

struct room {
  cl_mem *place;
  size_t bytes;
  const char *what;
};
enum { ROOMS = 4 };

static void rooms_of(struct nearest *nearest, struct room rooms[ROOMS]) {
  size_t image = sizeof(float) * nearest->pixels, row = sizeof(float) * nearest->actions;
  rooms[0] = (struct room){&nearest->image, nearest->entries * image, "images of the dictionary"};
  rooms[1] = (struct room){&nearest->mask, nearest->entries * nearest->actions, "masks of the dictionary"};
  rooms[2] = (struct room){&nearest->query, nearest->batch * image, "images to look up"};
  rooms[3] = (struct room){&nearest->found, nearest->batch * row, "masks that are found"};
}

bool nearest_open(struct nearest *nearest, const struct masks_setup *setup, size_t entries, struct error *error) {
  struct room rooms[ROOMS];
  *nearest = (struct nearest){.device = setup->device,
                              .kernels = setup->kernels,
                              .acquisition = setup->acquisition,
                              .entries = entries,
                              .pixels = scan_shape_pixels(&setup->acquisition.shape),
                              .actions = setup->acquisition.shape.actions,
                              .batch = setup->batch};
  rooms_of(nearest, rooms);
  bool good = kernel_need(setup->kernels, "nearest_scale", error) && kernel_need(setup->kernels, "nearest_find", error);
  for (size_t r = 0; good && r < ROOMS; r++)
    good = (*rooms[r].place = device_buffer(setup->device, rooms[r].bytes, rooms[r].what, error)) != NULL;
  if (!good) nearest_close(nearest);
  return good;
}

void nearest_close(struct nearest *nearest) {
  struct room rooms[ROOMS];
  rooms_of(nearest, rooms);
  for (size_t r = 0; r < ROOMS; r++)
    if (*rooms[r].place) device_release(nearest->device, *rooms[r].place, rooms[r].bytes);
  *nearest = (struct nearest){0};
}

/* ---- running ------------------------------------------------------------------------------------------- */

void nearest_scale(struct world *world, cl_mem to, size_t first, size_t images) {
  kernel_run(world_kernels(world), "nearest_scale", images,
             ARGS(world_in(world, ENV_magnitude), graph_arg(ARG_OUT, to), arg_u32((uint32_t)first)));
}

static cl_mem plan(struct planner *planner, struct world *world, size_t first, uint32_t number, size_t images) {
  struct nearest *nearest = planner->own;
  (void)number;
  nearest_scale(world, nearest->query, first, images);
  kernel_run(nearest->kernels, "nearest_find", images,
             ARGS(graph_arg(ARG_IN, nearest->query), graph_arg(ARG_IN, nearest->image),
                  arg_buffer(ARG_IN, ELEMENT_U8, nearest->mask), graph_arg(ARG_OUT, nearest->found),
                  arg_u32((uint32_t)nearest->entries)));
  return nearest->found;
}

/* ---- files --------------------------------------------------------------------------------------------- */

#define PLACE(member) .place = offsetof(struct network_facts, member)

static const struct fact facts[] = {
    {.name = "network", .kind = FACT_NAME, .text = "suno", .what = "a dictionary of masks",
     .make = "train one with train.method suno"},
    {.name = "network_size", .kind = FACT_SIDES, PLACE(shape), .low = 1, .high = 65536, .key = "data.size"},
    {.name = "scan_geometry", .kind = FACT_TEXT, PLACE(geometry), .key = "acquisition.geometry"},
    {.name = "initial_lines", .kind = FACT_WHOLE, PLACE(initial_lines), .low = 0, .high = UINT16_MAX},
    {.name = "budget", .kind = FACT_WHOLE, PLACE(budget), .low = 1, .high = UINT16_MAX},
    {.name = NULL}};

static struct network_facts facts_of(const struct acquisition *scan) {
  struct network_facts values = {.shape = scan->shape, .initial_lines = scan->initial_lines, .budget = scan->budget};
  strcpy(values.geometry, geometry_of(scan)->name);
  return values;
}

bool nearest_write(const struct nearest *nearest, const uint8_t *masks, struct store *store, struct error *error) {
  const struct scan_shape *scan = &nearest->acquisition.shape;
  const struct network_facts values = facts_of(&nearest->acquisition);
  const size_t mask[] = {nearest->entries, nearest->actions}, image[] = {nearest->entries, scan->height, scan->width};
  struct arena *arena = arena_open();
  float *images = arena_try_array(arena, nearest->entries * nearest->pixels, sizeof(float));
  bool good = images ? true : fail_memory(error, "no host memory for the dictionary's images");
  if (good) device_read(nearest->device, nearest->image, 0, sizeof(float) * nearest->entries * nearest->pixels, images);
  good = good && device_finish(nearest->device, error) && facts_write(facts, &values, store, error) &&
         store_write(store, "masks", STORE_U8, 2, mask, masks, false, error) &&
         store_write(store, "images", STORE_F32, 3, image, images, false, error);
  arena_close(arena);
  return good;
}

static bool check_scans(const struct acquisition *scan, const struct network_facts *values, struct error *error) {
  if (values->initial_lines == scan->initial_lines && values->budget == scan->budget) return true;
  return fail(error,
              "it was made for scans of %.0f initial and %.0f acquired lines; x%u %s has %u and %u: use the checkpoint that "
              "was made for this acquisition",
              values->initial_lines, values->budget, scan->acceleration, scan->horizon, scan->initial_lines,
              scan->budget);
}

static bool check_masks(const struct nearest *nearest, const uint8_t *masks, struct error *error) {
  const struct acquisition *scan = &nearest->acquisition;
  for (size_t entry = 0; entry < nearest->entries; entry++) {
    const uint8_t *mask = masks + entry * nearest->actions;
    size_t lines = 0, missing = 0;
    for (size_t i = 0; i < nearest->actions; i++) {
      lines += mask[i] == 1;
      missing += (mask[i] != 1 && acquisition_is_initial(scan, i)) || mask[i] > 1;
    }
    if (lines != scan->initial_lines + scan->budget || missing)
      return fail_file(error,
                       "masks has %zu lines in row %zu, which must be %u with the initial ones: the file is damaged, make "
                       "it anew with train.method suno",
                       lines, entry, scan->initial_lines + scan->budget);
  }
  return true;
}

static bool read_opened(struct nearest *nearest, struct store *store, struct arena *arena, uint8_t **masks,
                        struct error *error) {
  size_t pixels = nearest->entries * nearest->pixels;
  struct arena *own = arena_open();
  float *images = arena_try_array(own, pixels, sizeof(float));
  *masks = arena_try_array(arena, nearest->entries, nearest->actions);
  bool good = images && *masks ? true : fail_memory(error, "no host memory for a dictionary of %zu slices", nearest->entries);
  good = good && store_read_known(store, "masks", STORE_U8, nearest->entries * nearest->actions, *masks, error) &&
         store_read_known(store, "images", STORE_F32, pixels, images, error) && check_masks(nearest, *masks, error);
  if (good) {
    device_write(nearest->device, nearest->mask, 0, nearest->entries * nearest->actions, *masks);
    device_write(nearest->device, nearest->image, 0, sizeof(float) * pixels, images);
  }
  arena_close(own);
  return good && device_finish(nearest->device, error);
}

static bool read_stored(struct nearest *nearest, struct store *store, const struct masks_setup *setup,
                        struct arena *arena, uint8_t **masks, struct error *error) {
  struct network_facts values = facts_of(&setup->acquisition);
  struct store_shape shape;
  if (!facts_kind(facts, store, error) || !facts_read(facts, &values, store, error) ||
      !check_scans(&setup->acquisition, &values, error) || !store_shape(store, "masks", &shape, error) ||
      !store_check_held(store, "masks", error) || !store_check_held(store, "images", error))
    return false;
  if (shape.rank != 2 || !shape.size[0] || shape.size[0] > UINT32_MAX)
    return fail_file(error, "masks is not [slices][lines]: the file is damaged, make it anew with train.method suno");
  return nearest_open(nearest, setup, shape.size[0], error) && read_opened(nearest, store, arena, masks, error);
}

bool nearest_load(struct nearest *nearest, const char *path, const struct masks_setup *setup, struct arena *arena,
                  uint8_t **masks, struct error *error) {
  struct store *store;
  if (!store_open(&store, path, error)) return false;
  bool good = read_stored(nearest, store, setup, arena, masks, error);
  store_close(store);
  return good;
}

/* ---- the row ------------------------------------------------------------------------------------------- */

static bool load(struct planner *planner, const struct masks_setup *setup, struct error *error) {
  struct arena *arena = arena_open();
  uint8_t *masks;
  planner->steps = 1;
  bool good = nearest_load(planner->own, setup->options->sampler.mask, setup, arena, &masks, error);
  arena_close(arena);
  return good;
}

static void close(struct planner *planner) {
  nearest_close(planner->own);
}

const struct planner_desc planner_nearest = {.names = {"suno"},
                                             .reads = SET(ENV_magnitude),
                                             .kernels = {"nearest_scale", "nearest_find"},
                                             .bytes = sizeof(struct nearest),
                                             .plan = plan,
                                             .load = load,
                                             .close = close};
