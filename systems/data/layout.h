/* Files whose axes or datasets are those of another program: what they seem to hold, and what makes volumes
 * of them. */
#ifndef L2SR_SYSTEMS_LAYOUT_H
#define L2SR_SYSTEMS_LAYOUT_H

#include "engine/files/store.h"

/* The sizes that the ISMRMRD header gives; 0: none. And the steps of the phase encoding, where all are there. */
struct layout_header {
  size_t encoded_x, encoded_y, encoded_z, recon_x, recon_y;
  double encoded_view, recon_view; /* of x, mm */
  bool limits;
  size_t centre, last;
};
struct layout_header layout_header(struct store *store);
struct layout_header layout_header_of(const char *text); /* its XML */
/* The other way round: what volumes that this program makes say of their k-space. The text is the arena's. */
struct layout_sizes {
  size_t coils, rows, columns, image_rows, image_columns;
  bool limits; /* centre and last are known */
  size_t centre, last;
};
const char *layout_header_text(struct arena *arena, const struct layout_sizes *sizes);
/* The text between <TAG> and the next tag in a header; false: there is none. */
bool layout_word(const char *header, const char *tag, char *text, size_t size);

/* Refuses a shape of dataset `key` whose axes are not [slices, (coils,) height, width], as far as sizes and
 * the header tell. */
bool layout_check(const struct layout_header *header, const char *path, const char *key, bool kspace,
                  const struct store_shape *shape, struct error *error);
/* Columns of `width` before and after those that were encoded: zeros, as fastMRI's loader finds them. False:
 * the header does not tell. */
bool layout_padding(const struct layout_header *header, size_t width, size_t *left, size_t *right);
/* Whether the header says that the last axis of k-space is the readout; it must be the phase encoding. */
bool layout_is_turned(const struct layout_header *header, size_t height, size_t width);
/* Says that none of the datasets `wanted` is there, and what is. */
bool layout_refuse(struct store *store, const char *path, const char *wanted, struct error *error);

#endif
