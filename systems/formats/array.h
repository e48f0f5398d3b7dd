/* Arrays in files of other programs: where their numbers lie, and slices of them as images or k-space. A
 * format that is one fills in the struct; what its axes are is said, told by the format, or guessed (axes.h).
 */
#ifndef L2SR_SYSTEMS_ARRAY_H
#define L2SR_SYSTEMS_ARRAY_H

#include "systems/data/volume.h"
#include "systems/formats/axes.h"

#include <stdio.h>
#include <sys/types.h>

enum array_type {
  ARRAY_I8,
  ARRAY_U8,
  ARRAY_I16,
  ARRAY_U16,
  ARRAY_I32,
  ARRAY_U32,
  ARRAY_I64,
  ARRAY_U64,
  ARRAY_F16,
  ARRAY_F32,
  ARRAY_F64,
  ARRAY_C64,
  ARRAY_C128,
  ARRAY_TYPES
};

struct array {
  const char *path;
  int file;    /* descriptor */
  off_t start; /* of the first number */
  enum array_type type;
  bool swapped;      /* the bytes of a number stand the other way round */
  bool column_major; /* the first axis is the fastest */
  bool height_first; /* its program has the axes of an image first, and what there are several of behind them
                      */
  int rank;
  size_t size[AXES_MOST]; /* in the order in which its program prints them */
  struct axes told;       /* by the format; letter[0] 0: nothing */
};

extern const char *const array_type_names[ARRAY_TYPES]; /* as numpy calls them */
size_t array_type_bytes(enum array_type type);
size_t array_count(const struct array *array); /* numbers; SIZE_MAX: more than can be counted */

/* Real and imaginary part of the number whose bytes stand at `at`. False: it is finite, and too large for float32. */
bool array_pair(enum array_type type, bool swapped, const void *at, float to[2]);

/* Refuses the file for such a number. */
bool array_refuse_large(const char *path, struct error *error);

/* Opens a file to read at any place. Refuses pipes and devices. */
bool array_open_file(struct array *array, const char *path, struct error *error);
/* Refuses an array whose numbers the file is too short for. */
bool array_check_held(const struct array *array, struct error *error);

/* Facts of the volume that the array is. Refuses what has no reading, and, unless the volume guesses, what
 * has several. */
bool array_describe(const struct array *array, struct volume *volume, const struct options *options,
                    struct error *error);
/* One slice (systems/data/format.h). */
bool array_read(const struct array *array, const struct volume *volume, size_t slice, float *to,
                struct error *error);

/* A numpy array (format versions 1 to 3), by its own header. Opens the file, which the caller closes. */
bool array_open_npy(struct array *array, const char *path, struct error *error);
/* Writes what stands before the numbers of such a file, of type ARRAY_F32, ARRAY_C64 or ARRAY_U8, which
 * follow with their least byte first. False: a byte could not be written, and ferror(file) holds. */
bool array_begin_npy(FILE *file, enum array_type type, bool column_major, int rank, const size_t *size);

/* What a row's functions get of a file: the array, and the arena that goes with it. */
struct array_file {
  struct arena *arena;
  struct array array;
};
/* For rows: opens a file of the array by `open`, which may leave a descriptor that is closed here. */
typedef bool array_opener(struct array *array, const struct volume *volume, struct error *error);
bool array_file_open(void **file, const struct volume *volume, array_opener *open, struct error *error);
void array_file_close(void *file);
bool array_file_describe(void *file, struct volume *volume, const struct options *options,
                         struct error *error);
bool array_file_read(void *file, const struct volume *volume, size_t slice, float *to, struct error *error);

#endif
