/* Coil sensitivities of the loaded slices, SLICE.maps: of the file, of the middle of k-space
 * (systems/coils/espirit.h), or 1. */
#ifndef L2SR_SYSTEMS_MAPS_H
#define L2SR_SYSTEMS_MAPS_H

#include "components/components.h"
#include "components/options.h"
#include "engine/ecs/world.h"
#include "systems/data/dataset.h"

/* Refuses keys of section coils that do not go together, and `columns` of which SLICE.maps is one where
 * slices of so many coils have none. */
bool maps_check(const struct options *options, size_t coils, component_set columns, struct error *error);

/* "8 simulated coils, maps: prescan, combined by them", what results say of coils; "" where nothing is chosen. */
const char *maps_text(const struct options *options, struct arena *arena);

enum { MAPS_LINES_LEAST = 12 }; /* next to each other; of fewer, maps are wrong */

/* Lines that maps are made of: coils.lines, or those that every scan of the scene starts with. */
bool maps_lines(const struct options *options, size_t *lines, struct error *error);

/* Before slices are read: no coil sees anything yet. */
void maps_clear(struct world *world);
/* The file's maps [coils][height][width], float pairs, cropped and padded as its images are. Refuses what is not finite,
 * by the slice's number in the file. */
bool maps_write(struct world *world, size_t row, const struct volume *volume, size_t slice, const struct options *options,
                const float *maps, struct error *error);
/* When all k-space is there: of every slice. Nothing where the world has no such column. Names the slice that
 * has none. */
bool maps_make(struct world *world, const struct dataset *dataset, const struct options *options,
               const struct slice_name *names, size_t slices, struct error *error);
/* coils.combine maps: SLICE.image anew, of coil images combined by maps. */
bool maps_combine(struct world *world, const struct dataset *dataset, const struct options *options,
                  const struct slice_name *names, size_t slices, struct error *error);

/* Maps (of two sets the first) of `count` slices from row `first`, [count][coils][height][width] float pairs; the memory is the arena's. NULL: there
 * was none, or the device failed. */
float *maps_read(struct world *world, size_t first, size_t count, struct arena *arena, struct error *error);
/* As what these do so; of a slice's one coil, or of coils.maps ones, maps_make loads maps. */
extern const struct system system_clear_maps, system_load_maps, system_calibrate, system_combine_coils;
size_t maps_coils(const struct world *world); /* of each slice, where the world has maps */

#endif
