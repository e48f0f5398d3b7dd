#include "engine/files/magic.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEAD = 512 };

struct row {
  const char *ending; /* the end of the name; NULL: any */
  size_t offset;
  const char *bytes; /* NULL: any */
  size_t length;
  struct magic magic;
};

/* The first that fits: endings stand before the bytes that they share with others. */
static const struct row rows[] = {
    {".cfl", 0, NULL, 0, {MAGIC_BART, "a BART array", NULL}},
    {NULL, 0, "# Dimensions", 12, {MAGIC_BART, "the header of a BART array", NULL}},
    {NULL, 344, "n+1", 4, {MAGIC_NIFTI, "a NIfTI image", NULL}},
    {NULL, 344, "ni1", 4, {MAGIC_NIFTI, "a NIfTI header", NULL}},
    {NULL, 4, "n+2\0\r\n\032\n", 8, {MAGIC_NIFTI, "a NIfTI-2 image", NULL}},
    {".nii.gz", 0, "\037\213", 2, {MAGIC_NIFTI, "a NIfTI image, compressed", NULL}},
    {NULL, 128, "DICM", 4, {MAGIC_DICOM, "a DICOM image", NULL}},
    {NULL, 0, "MATLAB 5.0", 10, {MAGIC_MATLAB_5, "a MATLAB 5 file", NULL}},
    {NULL, 0, "MATLAB 7.3", 10, {MAGIC_MATLAB_73, "a MATLAB 7.3 file", NULL}},
    {NULL, 0, "\223NUMPY", 6, {MAGIC_NUMPY, "a numpy array", NULL}},
    {".npz", 0, "PK\003\004", 4, {MAGIC_NUMPY, "an archive of numpy arrays",
      "write one of its arrays alone: numpy.save(\"NAME.npy\", numpy.load(\"NAME.npz\")[KEY])"}},
    {".pt", 0, "PK\003\004", 4, {MAGIC_TORCH, "a PyTorch file", NULL}},
    {NULL, 0, "PK\003\004", 4, {MAGIC_OTHER, "a zip archive", "unpack it (unzip)"}},
    {".tgz", 0, "\037\213", 2, {MAGIC_OTHER, "a tar archive, compressed by gzip", "unpack it (tar xzf)"}},
    {".tar.gz", 0, "\037\213", 2, {MAGIC_OTHER, "a tar archive, compressed by gzip", "unpack it (tar xzf)"}},
    {NULL,
     0,
     "\037\213",
     2,
     {MAGIC_OTHER, "compressed by gzip", "unpack it (gunzip; tar xzf if it is an archive)"}},
    {NULL,
     0,
     "BZh",
     3,
     {MAGIC_OTHER, "compressed by bzip2", "unpack it (bunzip2; tar xjf if it is an archive)"}},
    {NULL,
     0,
     "\3757zXZ",
     6,
     {MAGIC_OTHER, "compressed by xz", "unpack it (unxz; tar xJf if it is an archive)"}},
    {NULL, 0, "\050\265\057\375", 4, {MAGIC_OTHER, "compressed by zstd", "unpack it (unzstd)"}},
    {NULL, 0, "7z\274\257\047\034", 6, {MAGIC_OTHER, "a 7z archive", "unpack it (7z x)"}},
    {NULL, 257, "ustar", 5, {MAGIC_OTHER, "a tar archive", "unpack it (tar xf)"}},
    {NULL, 0, "NRRD", 4, {MAGIC_ITK, "an NRRD image", NULL}},
    {".mha", 0, NULL, 0, {MAGIC_ITK, "a MetaImage", NULL}},
    {NULL, 0, "\016\003\023\001", 4, {MAGIC_OTHER, "an HDF4 file", "convert it to HDF5 (h4toh5)"}},
    {NULL, 0, "CDF", 3, {MAGIC_OTHER, "a netCDF 3 file", "convert it to HDF5 (nccopy -k nc4)"}},
    {NULL, 0, "\211PNG", 4, {MAGIC_PICTURE, "a PNG picture", NULL}},
    {NULL, 0, "\377\330\377", 3, {MAGIC_PICTURE, "a JPEG picture", NULL}},
    {NULL, 0, "II*\0", 4, {MAGIC_PICTURE, "a TIFF picture", NULL}},
    {NULL,
     0,
     "version https://git-lfs",
     23,
     {MAGIC_OTHER, "a pointer of Git LFS", "fetch the file itself (git lfs pull)"}},
    {NULL, 0, "<!DOCTYPE", 9, {MAGIC_OTHER, "a web page", "the download went wrong: fetch the file again"}},
    {NULL, 0, "<html", 5, {MAGIC_OTHER, "a web page", "the download went wrong: fetch the file again"}},
    {NULL,
     0,
     "<?xml",
     5,
     {MAGIC_OTHER, "an XML text", "the download may have gone wrong: fetch the file again"}},
    {NULL, 0, "\211HDF\r\n\032\n", 8, {MAGIC_OTHER, "an HDF5 file of another name", "rename it to NAME.h5"}},
};

static bool ends_in(const char *name, const char *ending) {
  size_t length = strlen(name), end = strlen(ending);
  return length > end && !strcasecmp(name + length - end, ending);
}

/* Bytes that were read; -1: it is no file. A pipe is not waited for. */
static ssize_t read_head(const char *path, char head[HEAD]) {
  struct stat status;
  int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return -1;
  ssize_t length = fstat(file, &status) == 0 && S_ISREG(status.st_mode) ? read(file, head, HEAD) : -1;
  close(file);
  return length;
}

const struct magic *magic_of(const char *path) {
  char head[HEAD];
  ssize_t got = read_head(path, head);
  if (got < 0) return NULL;
  size_t length = (size_t)got;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const struct row *row = &rows[i];
    if (row->ending && !ends_in(path, row->ending)) continue;
    if (!row->bytes) return &row->magic;
    if (row->offset + row->length <= length && !memcmp(head + row->offset, row->bytes, row->length))
      return &row->magic;
  }
  return NULL;
}
