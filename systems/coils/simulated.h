/* Coils for slices of which there are only images (coils.simulate): smooth maps, those of a birdcage, a
 * smooth phase, and noise. What is drawn follows from the slice's file and number alone. */
#ifndef L2SR_SYSTEMS_SIMULATED_H
#define L2SR_SYSTEMS_SIMULATED_H

#include "components/options.h"
#include "engine/ecs/world.h"
#include "systems/data/dataset.h"

/* Whether slices have coils of their own: measured ones, or these. */
bool simulated_or_measured(const struct options *options);

/* Maps [coils][height][width], float pairs, of coils on a circle of 1.5 half sides: 1/distance, the phase of
 * the place seen from the coil, and the coil's own; squares sum to 1 (sigpy's birdcage_maps without depth).
 */
void simulated_maps(float *maps, size_t coils, size_t height, size_t width);

/* Fills SLICE.coil_kspace of slices whose image, deviation and unit are there, and SLICE.maps where the world
 * has it and coils.maps is file. Waits. */
bool simulated_fill(struct world *world, const struct dataset *dataset, const struct options *options,
                    const struct slice_name *names, size_t slices, struct error *error);
extern const struct system system_simulate_coils, system_load_simulated_maps; /* as what it does so */

#endif
