/* Synthetic MR volumes in exactly the layout of fastMRI's HDF5 files, for tests, examples and benchmarks: the
 * real set needs a signed agreement.
 *
 * A volume is a knee or a head made of ellipsoids in three dimensions, cut by slices: skin, fat, muscle,
 * bone, joint or brain, some random bodies and lesions; with texture, a bias field, a smooth phase, coil
 * sensitivities and noise. It is drawn on the field of view of the k-space, and the reconstruction that is
 * stored comes from the k-space that is stored. */
#ifndef L2SR_PHANTOM_H
#define L2SR_PHANTOM_H

#include "components/options.h"

/* Writes phantom.train, val and test volumes to the folders train, val and test of `folder`; files of the
 * same names are replaced, others left alone; refused where those have another size.
 *
 * Volume i of a split is file1000001+3i (train), +1 (val), +2 (test): name and content depend on world.seed
 * and i, not on how many others are written. CORPD_FBK and CORPDFS_FBK (fat suppressed: dark fat, lower
 * peak, 1.6 times phantom.noise) alternate. The third and fourth of every four volumes of a split are two
 * acquisitions of one patient. Of all patients phantom.lesions have a large lesion. phantom.noise is the deviation of the real and of the imaginary part. */
bool phantom_write(const struct options *options, const char *folder, struct error *error);

#endif
