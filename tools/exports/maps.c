#include "systems/scan/load.h"
#include "systems/scan/simulation.h"
#include "tools/exports/exports.h"

#include <string.h>

static const struct system save_maps = {
    .name = "save_maps", .doc = "a slice's coil sensitivities", .reads = SET(SLICE_maps)};

/* Loads the slices as an evaluation does, by which their maps are made. */
static bool read_maps(struct device *device, const struct options *options, const struct dataset *dataset,
                      size_t row, struct arena *arena, struct exported *array, struct error *error) {
  const struct simulation_plan plan = {
      .slices = dataset->slice_count, .envs = 1, .coils = dataset_coils(dataset), .columns = SET(SLICE_maps)};
  struct simulation *simulation = ARENA_NEW(arena, struct simulation, 1);
  struct load_report report;
  if (!simulation_open(simulation, device, options, &plan, error)) return false;
  bool good = load_simulation(simulation, dataset, options, arena, &report, error);
  if (good) row %= report.slices;
  struct world *world = simulation->world;
  size_t bytes = world_column_bytes(world, SLICE_maps), pixels = world_height(world) * world_width(world);
  float *maps = good ? arena_try(arena, bytes) : NULL;
  if (good && !maps) good = fail_memory(error, "no host memory for coil sensitivities of %zu bytes", bytes);
  if (good) world_get(world, &save_maps, SLICE_maps, row, 1, maps);
  good = good && device_finish(device, error);
  *array = (struct exported){
      .name = "maps",
      .letters = "chw",
      .size = {bytes / (pixels * 2 * sizeof *maps), world_height(world), world_width(world)},
      .complex = true,
      .data = maps};
  simulation_close(simulation);
  return good;
}

bool export_maps(struct device *device, const struct options *options, size_t row, struct arena *arena,
                 struct exported *array, struct error *error) {
  struct dataset dataset;
  if (!dataset_open(&dataset, options, error))
    return fail_in(error, "the data (--data says where they are now)");
  bool good = read_maps(device, options, &dataset, row, arena, array, error);
  dataset_close(&dataset);
  return good;
}
