#include "engine/files/part.h"
#include "systems/formats/array.h"
#include "systems/formats/unpacked.h"
#include "tools/exports/exports.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

bool export_ends_in(const char *path, const char *ending) {
  size_t length = strlen(path), end = strlen(ending);
  return length > end && !strcasecmp(path + length - end, ending);
}

size_t exported_size(const struct exported *array, char letter) {
  const char *found = strchr(array->letters, letter);
  return found ? array->size[found - array->letters] : 1;
}

/* The number at a place, as one or two floats. */
static const float *number_at(const struct exported *array, size_t s, size_t c, size_t h, size_t w) {
  size_t place =
      ((s * exported_size(array, 'c') + c) * exported_size(array, 'h') + h) * exported_size(array, 'w') + w;
  return array->data + place * (array->complex ? 2 : 1);
}

static size_t count_of(const struct exported *array) {
  size_t count = 1;
  for (size_t i = 0; array->letters[i]; i++) count *= array->size[i];
  return count;
}

/* ---- numpy --------------------------------------------------------------------------------------------- */

static bool write_npy(const char *path, const struct exported *array, struct error *error) {
  struct text_file file;
  if (!file_create(&file, path, error)) return false;
  array_begin_npy(file.file, array->complex ? ARRAY_C64 : ARRAY_F32, false, (int)strlen(array->letters),
                  array->size);
  size_t count = count_of(array), bytes = sizeof *array->data * (array->complex ? 2 : 1);
  bool good = fwrite(array->data, bytes, count, file.file) == count;
  return good ? file_commit(&file, error) : file_refuse(&file, error);
}

/* ---- BART ---------------------------------------------------------------------------------------------- */

/* Numbers as BART and MATLAB have them: height fastest, then width, coils, slices. */
static void write_columns(const struct exported *array, bool complex, FILE *file) {
  for (size_t s = 0; s < exported_size(array, 's'); s++)
    for (size_t c = 0; c < exported_size(array, 'c'); c++)
      for (size_t w = 0; w < exported_size(array, 'w'); w++)
        for (size_t h = 0; h < exported_size(array, 'h'); h++) {
          const float *number = number_at(array, s, c, h, w);
          const float pair[2] = {number[0], array->complex ? number[1] : 0};
          fwrite(pair, sizeof *pair, complex ? 2 : 1, file);
        }
}

/* Both files take their places together: the numbers last, for they are what is read. */
static bool write_cfl(const char *path, const struct exported *array, struct error *error) {
  struct arena *arena = arena_open();
  struct text_file header, numbers;
  const char *beside = arena_text(arena, "%.*s.hdr", (int)strlen(path) - 4, path);
  bool good = file_create(&header, beside, error);
  if (good && !(good = file_create(&numbers, path, error))) file_abandon(&header);
  if (good) {
    fprintf(header.file, "# Dimensions\n%zu %zu 1 %zu 1 1 1 1 1 1 1 1 1 %zu 1 1 \n",
            exported_size(array, 'h'), exported_size(array, 'w'), exported_size(array, 'c'),
            exported_size(array, 's'));
    write_columns(array, true, numbers.file);
    good = file_finish(&header, error) && file_finish(&numbers, error) && file_take_place(&header, error) &&
           file_take_place(&numbers, error);
    file_abandon(&header);
    file_abandon(&numbers);
  }
  arena_close(arena);
  return good;
}

/* ---- NIfTI --------------------------------------------------------------------------------------------- */

#ifdef L2SR_NIFTI
#include <nifti2_io.h>
#include <zlib.h>

/* x is the width (phase encoding), y the height (readout), then slices and coils: import reads it as w,h,s.
 */
static bool make_header(const struct exported *array, nifti_1_header *header) {
  size_t coils = exported_size(array, 'c');
  const int64_t size[8] = {coils > 1 ? 4 : 3,
                           (int64_t)exported_size(array, 'w'),
                           (int64_t)exported_size(array, 'h'),
                           (int64_t)exported_size(array, 's'),
                           (int64_t)coils,
                           1,
                           1,
                           1};
  for (int i = 1; i < 5; i++)
    if (size[i] > INT16_MAX) return false;
  nifti_1_header *made = nifti_make_new_n1_header(size, array->complex ? DT_COMPLEX64 : DT_FLOAT32);
  if (!made) return false;
  *header = *made;
  free(made);
  header->dim_info = 1 << 2 | 2 | 3 << 4; /* phase x, readout y, slices z */
  header->vox_offset = 352;
  memcpy(header->magic, "n+1", 4);
  return true;
}

/* Compressed by zlib, in which no time is written: the same numbers give the same bytes. */
static bool put(gzFile packed, FILE *plain, const void *data, size_t bytes) {
  return packed ? gzwrite(packed, data, (unsigned)bytes) == (int)bytes
                : fwrite(data, 1, bytes, plain) == bytes;
}

static bool put_numbers(const struct exported *array, gzFile packed, FILE *plain) {
  size_t line = exported_size(array, 'w') * sizeof *array->data * (array->complex ? 2 : 1);
  bool good = true;
  for (size_t c = 0; c < exported_size(array, 'c'); c++)
    for (size_t s = 0; s < exported_size(array, 's'); s++)
      for (size_t h = 0; good && h < exported_size(array, 'h'); h++)
        good = put(packed, plain, number_at(array, s, c, h, 0), line);
  return good;
}

static bool write_nifti(const char *path, const struct exported *array, struct error *error) {
  struct text_file file;
  nifti_1_header header;
  if (!make_header(array, &header))
    return fail_file(
        error, "cannot write %s: an axis has more than %d entries, which NIfTI-1 does not hold; write .npy",
        path, INT16_MAX);
  if (!file_create(&file, path, error)) return false;
  gzFile packed = export_ends_in(path, ".gz") ? gzdopen(dup(fileno(file.file)), "wb") : NULL;
  bool good = (packed || !export_ends_in(path, ".gz")) && put(packed, file.file, &header, sizeof header) &&
              put(packed, file.file, "\0\0\0", 4) && put_numbers(array, packed, file.file);
  if (packed && gzclose(packed) != Z_OK) good = false;
  return good ? file_commit(&file, error) : file_refuse(&file, error);
}
#else
static bool write_nifti(const char *path, const struct exported *array, struct error *error) {
  (void)array;
  return fail_file(error,
                   "cannot write %s: this program was built without libnifti2; install the package "
                   "libnifti2-dev (apt) and build it again, or write .npy",
                   path);
}
#endif

/* ---- MATLAB -------------------------------------------------------------------------------------------- */

#ifdef L2SR_MATIO
#include <matio.h>

/* The array's numbers, real parts before imaginary ones. */
static void split(const struct exported *array, float *real, float *imaginary) {
  size_t i = 0;
  for (size_t s = 0; s < exported_size(array, 's'); s++)
    for (size_t c = 0; c < exported_size(array, 'c'); c++)
      for (size_t w = 0; w < exported_size(array, 'w'); w++)
        for (size_t h = 0; h < exported_size(array, 'h'); h++, i++) {
          real[i] = number_at(array, s, c, h, w)[0];
          if (array->complex) imaginary[i] = number_at(array, s, c, h, w)[1];
        }
}

/* libmatio asks of no write whether it was done. */
static bool put_variable(const char *path, const struct exported *array, float *real, float *imaginary) {
  size_t size[4] = {exported_size(array, 'h'), exported_size(array, 'w'), exported_size(array, 'c'),
                    exported_size(array, 's')};
  int rank = size[3] > 1 ? 4 : size[2] > 1 ? 3 : 2;
  struct mat_complex_split_t parts = {real, imaginary};
  mat_t *mat = Mat_CreateVer(path, "MATLAB 5.0 MAT-file, by l2sr", MAT_FT_MAT5);
  matvar_t *variable = mat ? Mat_VarCreate(array->name, MAT_C_SINGLE, MAT_T_SINGLE, rank, size,
                                           array->complex ? (void *)&parts : real,
                                           MAT_F_DONT_COPY_DATA | (array->complex ? MAT_F_COMPLEX : 0))
                           : NULL;
  bool good = variable && Mat_VarWrite(mat, variable, MAT_COMPRESSION_NONE) == 0;
  if (variable) Mat_VarFree(variable);
  if (mat && Mat_Close(mat)) good = false;
  return good && matlab_is_whole(path);
}

/* A version 5 file: its arrays have less than 2 GiB. */
static bool write_mat(const char *path, const struct exported *array, struct error *error) {
  struct arena *arena = arena_open();
  struct text_file file;
  char place[PART_PLACE]; /* no pipe: libmatio goes back to the lengths */
  size_t count = count_of(array);
  float *real = arena_try_array(arena, sizeof *real, count),
        *imaginary = arena_try_array(arena, sizeof *real, array->complex ? count : 1);
  bool good = count < (size_t)1 << 28 ||
              fail_file(error, "cannot write %s: a MATLAB 5 file holds less than 2 GiB; write .npy", path);
  if (good && !(real && imaginary)) good = fail_memory(error, "no host memory for %zu numbers", count);
  if (good) good = part_place(place, path, NULL, error) && file_create(&file, path, error);
  if (good) {
    split(array, real, imaginary);
    errno = 0;
    good = put_variable(file.part.path, array, real, imaginary) ? file_commit(&file, error)
                                                                : file_refuse(&file, error);
  }
  arena_close(arena);
  return good;
}
#else
static bool write_mat(const char *path, const struct exported *array, struct error *error) {
  (void)array;
  return fail_file(error,
                   "cannot write %s: this program was built without libmatio; install the package "
                   "libmatio-dev (apt) and build it again, or write .npy",
                   path);
}
#endif

bool export_array(const char *path, const struct exported *array, struct error *error) {
  static const struct {
    const char *ending;
    bool (*write)(const char *path, const struct exported *array, struct error *error);
  } kinds[] = {{".npy", write_npy},
               {".cfl", write_cfl},
               {".nii", write_nifti},
               {".nii.gz", write_nifti},
               {".mat", write_mat}};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (export_ends_in(path, kinds[i].ending)) return kinds[i].write(path, array, error);
  return fail_usage(error,
                    "%s has no ending that says its kind; %s is written as .npy, .cfl, .nii, .nii.gz or .mat",
                    path, array->name);
}
