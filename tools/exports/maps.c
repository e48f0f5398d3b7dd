#include "systems/coils/maps.h"
#include "systems/scan/load.h"
#include "systems/scan/simulation.h"
#include "tools/exports/exports.h"

/* Loads the slices as an evaluation does, by which their maps are made. */
static bool read_maps(struct device *device, const struct options *options, const struct dataset *dataset,
                      size_t row, struct arena *arena, struct exported *array, struct error *error) {
  const struct simulation_plan plan = {
      .slices = dataset->slice_count, .envs = 1, .coils = dataset_coils(dataset), .columns = SET(SLICE_maps)};
  struct simulation *simulation = ARENA_NEW(arena, struct simulation, 1);
  struct load_report report;
  if (!simulation_open(simulation, device, options, &plan, error)) return false;
  bool good = load_simulation(simulation, dataset, options, arena, &report, error);
  struct world *world = simulation->world;
  const float *maps = good ? maps_read(world, row % report.slices, 1, arena, error) : NULL;
  *array = (struct exported){.name = "maps",
                             .letters = "chw",
                             .size = {maps_coils(world), world_height(world), world_width(world)},
                             .complex = true,
                             .data = maps};
  simulation_close(simulation);
  return maps != NULL;
}

bool export_maps(struct device *device, const struct options *options, size_t row, struct arena *arena,
                 struct exported *array, struct error *error) {
  if (options->coils.sets > 1)
    return fail_usage(error, "export writes one set of maps, and coils.sets is %u; set it to 1", options->coils.sets);
  struct dataset dataset;
  if (!dataset_open(&dataset, options, error))
    return fail_in(error, "the data (--data says where they are now)");
  bool good = read_maps(device, options, &dataset, row, arena, array, error);
  dataset_close(&dataset);
  return good;
}
