/* NIfTI-1 and NIfTI-2 images in one file, .nii or .nii.gz: libnifti2 reads the header, zlib the numbers. */
#include "systems/data/format.h"
#include "systems/formats/unpacked.h"

#include <string.h>
#include <strings.h>

static const char library[] = "libnifti2";

static bool claims(const char *path) {
  size_t length = strlen(path);
  return (length > 4 && !strcasecmp(path + length - 4, ".nii")) ||
         (length > 7 && !strcasecmp(path + length - 7, ".nii.gz"));
}

#ifdef L2SR_NIFTI
#include <math.h>
#include <nifti2_io.h>
#include <sys/stat.h>
#include <zlib.h>

enum {
  DEFLATE_MOST = 1032, /* bytes that zlib makes of one, at most */
  RATIO_MOST = 200,    /* of a file that takes more than SPREAD_MOST bytes: 12-bit images behind a mask have 3 to 20 */
  SPREAD_MOST = 64 << 20,
  NUMBERS = 1 << 14
};

static bool type_of(int datatype, enum array_type *type) {
  static const struct {
    int datatype;
    enum array_type type;
  } types[] = {{DT_INT8, ARRAY_I8},     {DT_UINT8, ARRAY_U8},      {DT_INT16, ARRAY_I16},
               {DT_UINT16, ARRAY_U16},  {DT_INT32, ARRAY_I32},     {DT_UINT32, ARRAY_U32},
               {DT_INT64, ARRAY_I64},   {DT_UINT64, ARRAY_U64},    {DT_FLOAT32, ARRAY_F32},
               {DT_FLOAT64, ARRAY_F64}, {DT_COMPLEX64, ARRAY_C64}, {DT_COMPLEX128, ARRAY_C128}};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (types[i].datatype == datatype) {
      *type = types[i].type;
      return true;
    }
  return false;
}

static bool is_compressed(const char *path) {
  unsigned char head[2] = "";
  FILE *file = fopen(path, "rbe");
  bool compressed = file && fread(head, 1, 2, file) == 2 && head[0] == 0x1f && head[1] == 0x8b;
  if (file) fclose(file);
  return compressed;
}

/* Refuses what the file cannot hold behind the offset, and what grows to so much that it is no image. */
static bool check_held(const nifti_image *image, const char *path, double bytes, struct error *error) {
  struct stat status;
  bool compressed = is_compressed(path), there = !stat(path, &status) && image->iname_offset >= 0;
  double own = there ? (double)status.st_size : 0;
  if (!there || bytes + (double)image->iname_offset > own * (compressed ? DEFLATE_MOST : 1))
    return fail_file(error,
                     "%s is shorter than its header says (%.0f bytes of numbers); it is damaged or was cut: "
                     "fetch or write it again",
                     path, bytes);
  if (!compressed || bytes < SPREAD_MOST || bytes < own * RATIO_MOST) return true;
  return fail_file(error,
                   "%s has %.0f bytes and unpacks to %.0f, more than %d times as many: nearly all of it is one value, as in a file "
                   "that was made to fill memory; where it is meant, unpack it by gunzip first",
                   path, own, bytes, RATIO_MOST);
}

/* Sizes of all axes; the file must be able to hold them. */
static bool read_sizes(const nifti_image *image, const char *path, enum array_type type, size_t size[7],
                       struct error *error) {
  double bytes = (double)array_type_bytes(type);
  if (image->ndim < 2 || image->ndim > 7)
    return fail_file(error, "%s has %d axes; images have 2 to 7", path, (int)image->ndim);
  for (int i = 0; i < image->ndim; i++) {
    if (image->dim[i + 1] < 1)
      return fail_file(error, "%s has an axis of %lld entries; it is damaged", path,
                       (long long)image->dim[i + 1]);
    size[i] = (size_t)image->dim[i + 1];
    bytes *= (double)size[i];
  }
  return check_held(image, path, bytes, error);
}

/* Columns are phase encodes, where the header says which axis these are; else the first axis, x. */
static void tell_axes(const nifti_image *image, const size_t *size, char *told) {
  int phase = image->phase_dim, readout = image->freq_dim;
  bool said = phase > 0 && phase <= image->ndim && readout > 0 && readout <= image->ndim && phase != readout;
  for (int i = 0; i < image->ndim; i++) {
    told[i] = size[i] > 1 ? 's' : '1';
    if (i == (said ? phase - 1 : 0)) told[i] = 'w';
    if (i == (said ? readout - 1 : 1)) told[i] = 'h';
  }
  told[image->ndim] = 0;
}

/* Numbers as they are meant: the slope of the header counts where it is one. *large: one is too large for float32. */
static bool copy_numbers(gzFile from, FILE *to, const nifti_image *image, enum array_type type, size_t count,
                         struct arena *arena, bool *large) {
  bool scaled = isfinite(image->scl_slope) && isfinite(image->scl_inter) && image->scl_slope != 0,
       complex = type >= ARRAY_C64, swapped = image->byteorder != nifti_short_order();
  double slope = scaled ? image->scl_slope : 1, inter = scaled ? image->scl_inter : 0;
  unsigned char *room = ARENA_NEW(arena, unsigned char, NUMBERS * 16);
  float *packed = ARENA_NEW(arena, float, NUMBERS * 2);
  size_t bytes = array_type_bytes(type);
  for (size_t left = count; left;) {
    size_t part = left < NUMBERS ? left : NUMBERS;
    if (gzread(from, room, (unsigned)(part * bytes)) != (int)(part * bytes)) return false;
    for (size_t i = 0; i < part; i++) {
      float pair[2];
      *large |= !array_pair(type, swapped, room + i * bytes, pair);
      packed[complex ? 2 * i : i] = (float)(slope * pair[0] + inter);
      if (complex) packed[2 * i + 1] = (float)(slope * pair[1]);
    }
    if (fwrite(packed, sizeof *packed * (complex ? 2 : 1), part, to) != part)
      return true; /* the stream keeps the error */
    left -= part;
  }
  return true;
}

/* libnifti2 reads from the header's end where the offset lies before it, and then all numbers stand beside their places. */
static bool check_offset(const nifti_image *image, const char *path, struct error *error) {
  int least = image->nifti_type == NIFTI_FTYPE_NIFTI2_1 ? 544 : 352;
  return image->iname_offset >= least ||
         fail_file(error,
                   "%s says that its numbers begin within its header (vox_offset is below %d); it is damaged: fetch or write "
                   "it again",
                   path, least);
}

static bool unpack_image(const nifti_image *image, const struct probe_unpacking *of, struct error *error) {
  struct unpacking unpacking = {.file = NULL};
  enum array_type type;
  size_t size[7], count = 1;
  bool large = false;
  if (!type_of(image->datatype, &type))
    return fail_file(error, "%s holds numbers of type %s; real, complex and whole numbers are read", of->path,
                     nifti_datatype_string(image->datatype));
  if (!check_offset(image, of->path, error) || !read_sizes(image, of->path, type, size, error)) return false;
  for (int i = 0; i < image->ndim; i++) count *= size[i];
  if (!unpacking_begin(&unpacking, of, type >= ARRAY_C64, (int)image->ndim, size, error)) return false;
  gzFile from = gzopen(of->path, "rbe");
  struct arena *arena = arena_open();
  bool good = from && gzseek(from, image->iname_offset, SEEK_SET) >= 0 &&
              copy_numbers(from, unpacking.file, image, type, count, arena, &large);
  if (!good)
    fail_file(error,
              "%s was cut, or is damaged: its numbers end before the %zu that its header says; fetch or "
              "write it again",
              of->path, count);
  if (good && large) good = array_refuse_large(of->path, error);
  if (from) gzclose(from);
  arena_close(arena);
  tell_axes(image, size, of->told);
  return unpacking_end(&unpacking, good, error);
}

static bool unpack(const struct probe_unpacking *of, struct error *error) {
  nifti_set_debug_level(0);
  nifti_image *image = nifti_image_read(of->path, 0);
  if (!image)
    return fail_file(error,
                     "%s is no NIfTI image that libnifti2 reads; it is damaged or of another format: fetch "
                     "or write it again",
                     of->path);
  bool whole = image->iname && !strcmp(image->iname, of->path);
  bool good =
      whole ? unpack_image(image, of, error)
            : fail_file(error,
                        "%s is a header whose numbers are in another file; write both into one .nii file",
                        of->path);
  nifti_image_free(image);
  return good;
}

static bool open_file(void **file, const struct volume *volume, struct error *error) {
  return unpacked_array_open(file, volume, error);
}
#else
static bool unpack(const struct probe_unpacking *of, struct error *error) {
  return unpacked_refuse_missing(of->path, library, "libnifti2-dev", error);
}

static bool open_file(void **file, const struct volume *volume, struct error *error) {
  (void)file;
  return unpacked_refuse_missing(volume->path, library, "libnifti2-dev", error);
}
#endif

const struct volume_format format_nifti = {
    .name = "NIfTI",
    .claims = claims,
    .unpack = unpack,
    .library = library,
    .open = open_file,
    .describe = array_file_describe,
    .read = array_file_read,
    .close = array_file_close,
};
