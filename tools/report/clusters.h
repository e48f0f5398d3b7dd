/* Whose the slices are, for intervals: slices of one patient resemble each other, in one file or in several.
 */
#ifndef L2SR_TOOLS_CLUSTERS_H
#define L2SR_TOOLS_CLUSTERS_H

#include "engine/base/arena.h"

#include <stddef.h>
#include <stdint.h>

/* A patient, or a file that does not say whose it is, is a cluster. Those without slices are none. */
struct clusters {
  unsigned *of; /* [slices]: below count */
  size_t count;
  size_t files, unknown; /* files that have slices; those of them that do not say whose they are */
};

/* id[file]: equal ones are of one patient; NULL or "": the file does not say. file[slice]: below `files`. */
struct clusters clusters_make(struct arena *arena, const char *const *id, size_t files, const uint32_t *file,
                              size_t slices);
/* The same of two texts with a line a file; a line of `patients` that is the file's name says nothing, and
 * NULL says nothing of any. */
struct clusters clusters_read(struct arena *arena, const char *names, const char *patients,
                              const uint32_t *file, size_t slices);

const char *clusters_noun(const struct clusters *clusters); /* "patients" or "files" */
/* "14 patients of 28 files", "28 files (no patient_id)" */
const char *clusters_text(struct arena *arena, const struct clusters *clusters);

#endif
