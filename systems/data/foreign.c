#include "systems/data/foreign.h"

#include <stdio.h>
#include <string.h>

#define IMAGES "as dataset reconstruction_esc [slices, height, width] of an .h5 file"
#define KSPACE "as dataset kspace [slices, (coils,) height, width] of an .h5 file"
#define WRITE_IMAGES "write its magnitudes " IMAGES

/* BART's dimensions are always these sixteen; cfl.py leaves out those of one entry at the end. MATLAB's first
 * axis is the height. Both hold images as well as k-space. */
static const char *const advice[MAGIC_KINDS] = {
    [MAGIC_BART] =
        "read it by BART's python/cfl.py: x = cfl.readcfl('NAME without .cfl'). Its 16 dimensions are "
        "readout, phase "
        "1, phase 2, coil, maps, TE, coeff, coeff2, iter, cshift, time, time2, level, slice, avg, batch: x = "
        "x.reshape(x.shape + (1,) * (16 - x.ndim)); of k-space write x[:, :, 0, :, 0, 0, 0, 0, 0, 0, 0, 0, "
        "0, :, 0, "
        "0].transpose(3, 2, 0, 1) " KSPACE ", of images abs(x[:, :, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, :, 0, "
        "0]).transpose(2, 0, 1) as dataset reconstruction_esc",
    [MAGIC_NIFTI] = "read it by nibabel, and " WRITE_IMAGES,
    [MAGIC_DICOM] = "read its series by pydicom, and " WRITE_IMAGES,
    [MAGIC_MATLAB_5] =
        "read it by scipy.io.loadmat: x = scipy.io.loadmat('FILE')['NAME']; scipy.io.whosmat('FILE') names "
        "what there is. Of images [height, width, "
        "slices]: h5py.File('a.h5', 'w')['reconstruction_esc'] = abs(x).transpose(2, 0, 1). Of complex "
        "k-space "
        "[height, width, coils, slices]: h5py.File('a.h5', 'w')['kspace'] = x.transpose(3, 2, 0, "
        "1).astype('complex64')",
    [MAGIC_MATLAB_73] =
        "read it by h5py, reverse its axes: x = h5py.File('FILE')['NAME'][()].T. Of images [height, width, "
        "slices]: "
        "h5py.File('a.h5', 'w')['reconstruction_esc'] = x.transpose(2, 0, 1). Of complex k-space [height, "
        "width, "
        "coils, slices]: h5py.File('a.h5', 'w')['kspace'] = (x['real'] + 1j * x['imag']).transpose(3, 2, 0, "
        "1).astype('complex64')",
    [MAGIC_NUMPY] = "read it by numpy.load, and " WRITE_IMAGES ", or complex k-space " KSPACE,
    [MAGIC_TORCH] = "read it by torch.load, and " WRITE_IMAGES ", or complex k-space " KSPACE,
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
