/* Files that other people's parsers read: the child that looks at files first (engine/files/probe.h) writes
 * what they hold to a file beside, in a form that this program reads itself, and this program opens that one.
 * It is gone as soon as it is open. */
#ifndef L2SR_SYSTEMS_UNPACKED_H
#define L2SR_SYSTEMS_UNPACKED_H

#include "engine/files/part.h"
#include "systems/data/format.h"
#include "systems/formats/array.h"

/* Has the volume's row write its file to the part, which the caller drops once it is open. `how`: what the
 * row wants to know; `told` gets what the row says of the file. */
bool unpacked_make(struct part_file *part, const struct volume *volume, const char *how, char *told,
                   size_t size, struct error *error);
void unpacked_drop(struct part_file *part);
/* For rows that write .npy files: an array_opener (array.h). What the row says is the letters of the axes. */
bool unpacked_array(struct array *array, const struct volume *volume, struct error *error);
/* Its file, to be closed by array_file_close. */
bool unpacked_array_open(void **file, const struct volume *volume, struct error *error);

/* For rows, in the child: the numbers of an array are written from first to last. */
struct unpacking {
  FILE *file;
  const char *path; /* of what is unpacked */
};
/* Begins a .npy of complex64 or float32 numbers, the first axis fastest. Refuses more than half of the host's
 * memory. */
bool unpacking_begin(struct unpacking *unpacking, const struct probe_unpacking *of, bool complex, int rank,
                     const size_t *size, struct error *error);
/* Closes the file; `good`: it is whole. */
bool unpacking_end(struct unpacking *unpacking, bool good, struct error *error);

/* Whether the lengths in a MATLAB file of version 5 are those of its numbers; true of others, which libmatio judges. */
bool matlab_is_whole(const char *path);

/* "cannot read X: this program was built without libnifti2; install the package ..." */
bool unpacked_refuse_missing(const char *path, const char *library, const char *package, struct error *error);

#endif
