/* Columns at the edges of measured k-space that scanners, or who wrote the files, filled with zeros. */
#ifndef L2SR_SYSTEMS_PADDING_H
#define L2SR_SYSTEMS_PADDING_H

#include "systems/data/dataset.h"

/* Sets acquisition.padded_left and .padded_right to the columns that are padded in every volume of data.path,
 * of all splits, or of the slices in memory (NULL: of files), and says so; leaves them where either is set. A
 * volume's header says which they are, as fastMRI reads it, or else its middle slice: columns of zeros in all coils
 * and rows. There are none where columns are no actions, or not the files' own: data.kspace image, another
 * geometry than lines, images of another width. Files that cannot be read are passed over: whoever opens the
 * data says why. */
void padding_find(struct options *options, const struct slices_in_memory *slices);

#endif
