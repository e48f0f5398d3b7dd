/* Tells the kind of a file that is no HDF5 by its first bytes or its name. */
#ifndef L2SR_ENGINE_MAGIC_H
#define L2SR_ENGINE_MAGIC_H

enum magic_kind {
  MAGIC_OTHER,
  MAGIC_BART,
  MAGIC_NIFTI,
  MAGIC_DICOM,
  MAGIC_MATLAB_5,
  MAGIC_MATLAB_73, /* HDF5 behind a header of its own */
  MAGIC_NUMPY,
  MAGIC_TORCH,
  MAGIC_ITK,
  MAGIC_PICTURE,
  MAGIC_KINDS
};

struct magic {
  enum magic_kind kind;
  const char *name;   /* "a NIfTI image" */
  const char *remedy; /* how to make another file of it, whatever it is for; NULL: others know */
};

/* NULL: of no kind that is known, or it cannot be read, or is no file. */
const struct magic *magic_of(const char *path);

#endif
