/* The mask of sampler.mask, from a text of numbers or an HDF5 file. */
#ifndef L2SR_SYSTEMS_MASK_FILE_H
#define L2SR_SYSTEMS_MASK_FILE_H

#include "engine/base/error.h"
#include "systems/sampling/acquisition.h"

#include <stdint.h>

/* Fills mask, [actions], with 0 and 1. A text has numbers that are 0 or 1, or digits 0 and 1 without anything
 * between them; white space, commas and semicolons part them, # begins a comment. What numpy.savetxt writes
 * is such a text. Of whole columns, a mask of all samples whose rows are equal is taken for its row. */
bool mask_file_read(const char *path, const struct acquisition *acquisition, uint8_t *mask,
                    struct error *error);
/* The same of a text whose number of values is not known: at most `most` of them, columns. */
bool mask_file_count(const char *path, uint8_t *mask, size_t most, size_t *count, struct error *error);

#endif
