/* Fills the SLICE table: reads, crops and uploads the images, then computes on the device what every scan
 * needs of a slice (mean, deviation, peak, data range, hybrid data). */
#ifndef L2SR_SYSTEMS_LOAD_H
#define L2SR_SYSTEMS_LOAD_H

#include "components/components.h"
#include "engine/ecs/schedule.h"
#include "systems/data/dataset.h"

extern const struct system system_load_coils, system_scale_coils, system_load_labels, system_load_ranges;
/* What is written of a slice where the world has these columns. */
struct system load_slice_of(component_set columns);

/* The list of one of these, without a device. */
bool load_describe(struct schedule *schedule, const struct system *row, struct error *error);

/* Columns of SLICE that load fills for the scene's geometry. */
component_set load_columns(const struct options *options);

struct load_report {
  size_t slices, constant, excluded, broken_volumes;
  size_t written_volumes; /* that another program began to write after the data set was opened */
  struct slice_name *names; /* one for each row of SLICE, in the given arena */
  double *data_range;       /* one for each row of SLICE */
};

/* The world must hold load_columns and have room for dataset->slice_count rows; world_rows(world, TABLE_SLICE)
 * becomes the number of usable slices. Broken volumes are named, left out and counted (data.strict: refused).
 */
bool load_slices(struct world *world, const struct dataset *dataset, const struct options *options,
                 struct arena *arena, struct load_report *report, struct error *error);
/* Fills the table where the simulation may have a cache of slices (systems/scan/slice_cache.h): the world has
 * the cache's rows. */
struct simulation;
bool load_simulation(struct simulation *simulation, const struct dataset *dataset,
                     const struct options *options, struct arena *arena, struct load_report *report,
                     struct error *error);

/* The slices in the order that scans take them in. */
void load_list_order(const struct options *options, uint32_t *order, size_t count);
/* Puts its slices into order anew, after world.seed has changed. */
void load_order(struct simulation *simulation, size_t slices);

/* One line for what was left out while loading, below dataset_print's. */
void load_print(const struct load_report *report, FILE *file);

#endif
