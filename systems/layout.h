/* Files whose axes or datasets are those of another program: what they seem to hold, and what makes volumes
 * of them. */
#ifndef L2SR_SYSTEMS_LAYOUT_H
#define L2SR_SYSTEMS_LAYOUT_H

#include "systems/volume.h"

/* Refuses a shape whose axes are not [slices, (coils,) height, width], as far as sizes and the header tell.
 */
bool layout_check(struct store *store, const struct volume *volume, const struct store_shape *shape,
                  struct error *error);
/* Whether the ISMRMRD header says that the last axis is the readout; it must be the phase encoding. */
bool layout_is_turned(struct store *store, const struct volume *volume);
/* Says that none of the datasets `wanted` is there, and what is. */
bool layout_refuse(struct store *store, const char *path, const char *wanted, struct error *error);

/* A whole number of a matrixSize in the header's `space` ("<encodedSpace>"), by its tag; 0: there is none. */
size_t layout_size(struct store *store, const char *space, const char *tag);

#endif
