/* Images from fully sampled k-space on the device: centred inverse transform of every coil,
 * root-sum-of-squares, central crop. */
#ifndef L2SR_SYSTEMS_COIL_H
#define L2SR_SYSTEMS_COIL_H

#include "engine/device/fft.h"
#include "engine/device/kernel.h"
#include "systems/data/volume.h"

struct coil_plan {
  struct device *device;
  struct kernels *kernels;
  size_t coils, height, width, image_height, image_width; /* 0 coils: not open */
  struct fft fft;
  cl_mem kspace, work, pixels;
};

/* Opens the plan for the volume's sizes, or keeps it when they have not changed. */
bool coil_plan_for(struct coil_plan *plan, struct device *device, struct kernels *kernels,
                   const struct volume *volume, struct error *error);
/* k-space [coils][height][width] in, image [image_height][image_width] out; waits. */
bool coil_run(struct coil_plan *plan, const float *kspace, float *image, struct error *error);
void coil_close(struct coil_plan *plan);

#endif
