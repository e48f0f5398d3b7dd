/* Hybrid data of coils: their k-space with its columns transformed, from which masks of whole lines are observed and
 * reconstructed by transforms along the lines alone (kernels/hybrid.cl). */
#ifndef L2SR_SYSTEMS_HYBRID_H
#define L2SR_SYSTEMS_HYBRID_H

#include "engine/ecs/world.h"

/* Fills SLICE.coil_hybrid of SLICE.coil_kspace in rows [0, slices), where the world has it. Waits. */
bool hybrid_fill(struct world *world, size_t slices, struct error *error);
extern const struct system system_transform_coils; /* as what it does so */

#endif
