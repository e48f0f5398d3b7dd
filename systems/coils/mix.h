/* What is done to the coils of a slice of k-space before everything else: noise made independent and of
 * variance 1 (coils.whiten), and fewer coils that see nearly the same (coils.compress). Both are one matrix.
 */
#ifndef L2SR_SYSTEMS_MIX_H
#define L2SR_SYSTEMS_MIX_H

#include "engine/device/kernel.h"
#include "systems/data/volume.h"

struct mix {
  struct device *device;
  struct kernels *kernels;
  size_t coils, made, samples; /* of the buffers; 0 coils: not open */
  cl_mem kspace, matrix, mixed;
  bool said; /* that an edge is empty */
};

/* Whether coils of the volume are mixed at all. */
bool mix_wanted(const struct volume *volume, const struct options *options);
/* k-space [coils][height][width] of the volume's sizes in, with its noise scan [coils][noise_samples] where
 * coils.whiten asks for one, both float pairs; [made_coils][height][width] out. Waits. With coils.whiten edge
 * a slice whose edge is empty is left as it is, which is said. */
bool mix_run(struct mix *mix, struct device *device, struct kernels *kernels, const struct volume *volume,
             const struct options *options, const float *kspace, const float *noise, float *mixed,
             struct error *error);
void mix_close(struct mix *mix); /* one that was never opened is allowed */

#endif
