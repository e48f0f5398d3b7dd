#include "systems/data/foreign.h"

#include <stdio.h>
#include <string.h>

#define WRITE_IMAGES                                                                                         \
  "write its magnitudes as dataset reconstruction_esc [slices, height, width] of an .h5 file"
#define WRITE_KSPACE "write it as dataset kspace [slices, (coils,) height, width] of an .h5 file"

static const char *const advice[MAGIC_KINDS] = {
    [MAGIC_BART] = "read it by BART's python/cfl.py, and " WRITE_KSPACE,
    [MAGIC_NIFTI] = "read it by nibabel, and " WRITE_IMAGES,
    [MAGIC_DICOM] = "read its series by pydicom, and " WRITE_IMAGES,
    [MAGIC_MATLAB_5] = "read it by scipy.io.loadmat, and " WRITE_IMAGES,
    [MAGIC_MATLAB_73] = "read it by h5py, reverse its axes, and " WRITE_IMAGES,
    [MAGIC_NUMPY] = "read it by numpy.load, and " WRITE_IMAGES,
    [MAGIC_TORCH] = "read it by torch.load, and " WRITE_IMAGES,
    [MAGIC_ITK] = "read it by SimpleITK, and " WRITE_IMAGES,
    [MAGIC_PICTURE] = "read it by imageio, and " WRITE_IMAGES,
};

const char *foreign_advice(const struct magic *magic) {
  return magic->remedy ? magic->remedy : advice[magic->kind];
}

bool foreign_advise(const char *path, struct error *error) {
  const struct magic *magic = magic_of(path);
  if (!magic || magic->remedy) return false;
  size_t used = strlen(error->text), length = strlen(magic->name);
  if (used > length && !strcmp(error->text + used - length, magic->name))
    snprintf(error->text + used, sizeof error->text - used, ": %s", foreign_advice(magic));
  return false;
}
