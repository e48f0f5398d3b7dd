/* Coil sensitivities of slices whose central k-space is fully sampled: ESPIRiT (Uecker et al. 2014, Magn
 * Reson Med 71:990), with the choices of BART's ecalib (PROTOCOL 1.15). The device does it for
 * many slices at once, but for the eigenvectors of the calibration matrices, which are LAPACK's on the host.
 */
#ifndef L2SR_SYSTEMS_ESPIRIT_H
#define L2SR_SYSTEMS_ESPIRIT_H

#include "engine/device/kernel.h"

struct espirit {
  cl_mem kspace;       /* [slices][most][height][width] complex, the centre at the start */
  cl_mem maps;         /* [slices][sets][most][height][width] complex, pixels in an image's order */
  size_t most;         /* coils that a row of the buffers has room for */
  size_t height, width;
  size_t first, count, coils;     /* slices to make maps of, which have so many coils: at least 2 */
  size_t side_rows, side_columns; /* of the region that is fully sampled, around the centre */
  size_t kernel;                  /* side of the kernels, at most 8 */
  size_t sets;                    /* 1 or 2; the first is that of the largest eigenvalue */
  double threshold;               /* kernels: singular values above its root times the largest */
  double crop;                    /* maps: 0 where the eigenvalue, of 0 to 1, is below */
};

enum { ESPIRIT_COILS = 64, ESPIRIT_KERNEL = 8, ESPIRIT_SETS = 2 };

/* Squares of maps sum to 1 over the coils; their phase is relative to the region's first principal coil
 * vector. Waits. Refuses regions smaller than the kernel, and those that are 0 or not finite: *broken is then
 * the slice. */
bool espirit_run(const struct espirit *espirit, struct device *device, struct kernels *kernels,
                 size_t *broken, struct error *error);

#endif
