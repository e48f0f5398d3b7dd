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

#define IMPORT "`l2sr import FILE --output FOLDER` makes a volume of it, and data.path may name it"
static const struct advice advices[MAGIC_KINDS] = {
    [MAGIC_BART] = {IMPORT " (NAME.cfl, with NAME.hdr beside it)", 0, ""},
    [MAGIC_NIFTI] = {IMPORT " (NAME.nii or NAME.nii.gz)", 0, ""},
    [MAGIC_DICOM] = {"the Python package makes a volume of a series, l2sr.export(FOLDER, \"volume.h5\") with pydicom; or ", MAGNITUDES,
                     ""},
    [MAGIC_MATLAB_5] = {IMPORT " (NAME.mat)", 0, ""},
    [MAGIC_MATLAB_73] = {IMPORT " (NAME.mat)", 0, ""},
    [MAGIC_NUMPY] = {IMPORT " (NAME.npy)", 0, ""},
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
