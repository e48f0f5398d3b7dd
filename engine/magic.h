/* What kind of file it is that is no HDF5, told by its first bytes or its name. */
#ifndef L2SR_ENGINE_MAGIC_H
#define L2SR_ENGINE_MAGIC_H

#define MAGIC_MATLAB "a MATLAB 7.3 file" /* such files are HDF5 behind their header */

struct magic {
  const char *name;   /* "a NIfTI image" */
  const char *advice; /* what makes a volume of it */
};

/* NULL: of no kind that is known, or it cannot be read, or is no file. */
const struct magic *magic_of(const char *path);

#endif
