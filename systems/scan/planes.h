/* What a program or its functions are given of a scan beside images: complex k-space of what is acquired, and coil
 * sensitivities, as planes [scan][coil][height][width] (reconstruct.input). */
#ifndef L2SR_SYSTEMS_PLANES_H
#define L2SR_SYSTEMS_PLANES_H

#include "systems/scan/simulation.h"

/* Coils of a scan's planes; 0: reconstruct.input has no k-space. */
size_t planes_coils(const struct simulation *simulation);
/* What systems read that fill planes: of k-space, and of maps. */
component_set planes_kspace_reads(const struct options *options);
component_set planes_maps_reads(const struct options *options);
component_set planes_reads(const struct options *options); /* of those that reconstruct.input says */
/* Kernels that no system names where it fills none. */
bool planes_need(struct kernels *kernels, struct error *error);

/* For systems: those of scans [first, first + scans) into `planes`. K-space is in units of the image, the zero frequency at
 * [height / 2][width / 2], 0 where nothing is acquired. taken: scratch, a byte a pixel of every scan. Kernels solve_mark and
 * view_planes. */
void planes_kspace(struct world *world, const struct simulation *simulation, cl_mem taken, cl_mem planes, size_t first,
                   size_t scans);
/* The same of maps, which are 1 where there is one coil without. */
void planes_maps(struct world *world, const struct simulation *simulation, cl_mem planes, size_t first, size_t scans);

#endif
