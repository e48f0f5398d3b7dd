#include "systems/data/foreign.h"

#include "systems/data/format.h"

#include <stdio.h>
#include <string.h>

/* How other programs' data are read, and what of them is written as this program's format has it (systems/data/format.h). */
struct advice {
  const char *read;
  enum { MAGNITUDES = 1, KSPACE = 2 } write; /* 0: `read` says it */
  const char *more;
};

/* BART's dimensions are always these sixteen; cfl.py leaves out those of one entry at the end. MATLAB's first
 * axis is the height. Both hold images as well as k-space. */
static const struct advice advices[MAGIC_KINDS] = {
    [MAGIC_BART] =
        {"read it by BART's python/cfl.py: x = cfl.readcfl('NAME without .cfl'). Its 16 dimensions are readout, phase "
         "1, phase 2, coil, maps, TE, coeff, coeff2, iter, cshift, time, time2, level, slice, avg, batch: x = "
         "x.reshape(x.shape + (1,) * (16 - x.ndim)); of k-space write x[:, :, 0, :, 0, 0, 0, 0, 0, 0, 0, 0, 0, :, 0, "
         "0].transpose(3, 2, 0, 1) ",
         KSPACE,
         ", of images abs(x[:, :, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, :, 0, 0]).transpose(2, 0, 1) as dataset "
         "reconstruction_esc"},
    [MAGIC_NIFTI] = {"read it by nibabel, and ", MAGNITUDES, ""},
    [MAGIC_DICOM] = {"read its series by pydicom, and ", MAGNITUDES, ""},
    [MAGIC_MATLAB_5] =
        {"read it by scipy.io.loadmat: x = scipy.io.loadmat('FILE')['NAME']; scipy.io.whosmat('FILE') names what there "
         "is. Of images [height, width, slices]: h5py.File('a.h5', 'w')['reconstruction_esc'] = abs(x).transpose(2, 0, "
         "1). Of complex k-space [height, width, coils, slices]: h5py.File('a.h5', 'w')['kspace'] = x.transpose(3, 2, 0, "
         "1).astype('complex64')",
         0, ""},
    [MAGIC_MATLAB_73] =
        {"read it by h5py, reverse its axes: x = h5py.File('FILE')['NAME'][()].T. Of images [height, width, slices]: "
         "h5py.File('a.h5', 'w')['reconstruction_esc'] = x.transpose(2, 0, 1). Of complex k-space [height, width, coils, "
         "slices]: h5py.File('a.h5', 'w')['kspace'] = (x['real'] + 1j * x['imag']).transpose(3, 2, 0, "
         "1).astype('complex64')",
         0, ""},
    [MAGIC_NUMPY] = {"read it by numpy.load, and ", MAGNITUDES | KSPACE, ""},
    [MAGIC_TORCH] = {"read it by torch.load, and ", MAGNITUDES | KSPACE, ""},
    [MAGIC_ITK] = {"read it by SimpleITK, and ", MAGNITUDES, ""},
    [MAGIC_PICTURE] = {"read it by imageio, and ", MAGNITUDES, ""},
};

const char *foreign_advice(const struct magic *magic, struct arena *arena) {
  const struct volume_format *format = format_to_write();
  const struct advice *advice = &advices[magic->kind];
  if (magic->remedy) return magic->remedy;
  bool images = advice->write & MAGNITUDES, kspace = advice->write & KSPACE;
  return arena_text(arena, "%s%s%s%s%s%s", advice->read ? advice->read : "", images ? "write its magnitudes " : "",
                    images ? format->images : "", images && kspace ? ", or complex k-space " : "",
                    kspace ? format->kspace : "", advice->more ? advice->more : "");
}

bool foreign_advise(const char *path, struct error *error) {
  const struct magic *magic = magic_of(path);
  if (!magic || magic->remedy) return false;
  size_t used = strlen(error->text), length = strlen(magic->name);
  if (used <= length || strcmp(error->text + used - length, magic->name)) return false;
  struct arena *arena = arena_open();
  snprintf(error->text + used, sizeof error->text - used, ": %s", foreign_advice(magic, arena));
  arena_close(arena);
  return false;
}
