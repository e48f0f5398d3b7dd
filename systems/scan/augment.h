/* Augmentation (data.augment): the images that a reconstructor is trained on are moved, anew in every epoch.
 * K-space, mean, deviation and peak follow from the moved image; its data range stays that of the volume.
 *
 *   flips    each axis, by the toss of a coin
 *   shifts   cyclic by whole pixels on each axis, at most its part 1 / AUGMENT_SHIFT either way
 *   turns    by 0, 90, 180 or 270 degrees; an image that is no square by 0 or 180 alone */
#ifndef L2SR_SYSTEMS_AUGMENT_H
#define L2SR_SYSTEMS_AUGMENT_H

#include "components/components.h"
#include "components/scan_shape.h"

enum { AUGMENT_FLIPS = 1, AUGMENT_SHIFTS = 2, AUGMENT_TURNS = 4 }; /* known to kernels/image.cl */
enum { AUGMENT_SHIFT = 32 };

struct augment {
  uint32_t kinds;       /* 0: images stay */
  uint32_t shift_rows, shift_columns; /* pixels at most */
  uint32_t seed, epoch; /* keys, with the slice's number, how it is moved */
};

/* Columns of a world whose slices are moved: SLICE.image is then made of SLICE.original. */
#define AUGMENT_COLUMNS (SET(SLICE_original) | SET(SLICE_number))

/* What data.augment says; refuses unknown words, and k-space that is no transform of an image. */
bool augment_read(struct augment *augment, const struct options *options, struct error *error);

#endif
