/* MATLAB's files of version 5 and 7.3: one variable, by libmatio. */
#include "systems/data/format.h"
#include "systems/formats/unpacked.h"

#include <string.h>
#include <strings.h>

static const char library[] = "libmatio";

static bool claims(const char *path) {
  size_t length = strlen(path);
  return length > 4 && !strcasecmp(path + length - 4, ".mat");
}

#ifdef L2SR_MATIO
#include "engine/base/lock.h"
#include "engine/files/store.h"

#include <hdf5.h>
#include <matio.h>

enum { SHOWN = 700 };

static bool type_of(enum matio_types stored, enum array_type *type) {
  static const struct {
    enum matio_types stored;
    enum array_type type;
  } types[] = {{MAT_T_INT8, ARRAY_I8},    {MAT_T_UINT8, ARRAY_U8},   {MAT_T_INT16, ARRAY_I16},
               {MAT_T_UINT16, ARRAY_U16}, {MAT_T_INT32, ARRAY_I32},  {MAT_T_UINT32, ARRAY_U32},
               {MAT_T_INT64, ARRAY_I64},  {MAT_T_UINT64, ARRAY_U64}, {MAT_T_SINGLE, ARRAY_F32},
               {MAT_T_DOUBLE, ARRAY_F64}};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (types[i].stored == stored) {
      *type = types[i].type;
      return true;
    }
  return false;
}

/* Two axes of more than 3 entries: whatever has fewer is a parameter. */
static bool is_array(const matvar_t *variable) {
  int sides = 0;
  bool numbers = variable->class_type >= MAT_C_DOUBLE && variable->class_type <= MAT_C_UINT64;
  for (int i = 0; i < variable->rank; i++) sides += variable->dims && variable->dims[i] > 3;
  return numbers && sides > 1;
}

static bool count_of(const matvar_t *variable, size_t *count) {
  *count = 1;
  for (int i = 0; i < variable->rank; i++)
    if (__builtin_mul_overflow(*count, variable->dims[i], count)) return false;
  return *count < (size_t)1 << 48;
}

static void show(const matvar_t *variable, char *text, size_t *used) {
  *used += (size_t)snprintf(text + *used, SHOWN - *used, "%s%.63s [", *used ? ", " : "",
                            variable->name ? variable->name : "");
  for (int i = 0; i < variable->rank && *used < SHOWN - 100; i++)
    *used += (size_t)snprintf(text + *used, SHOWN - *used, "%s%zu", i ? ", " : "", variable->dims[i]);
  *used += (size_t)snprintf(text + *used, SHOWN - *used, "]");
}

/* The name of the variable that is wanted: by `how`, or the only one that can be a volume. */
static bool choose(mat_t *mat, const struct probe_unpacking *of, char name[64], struct error *error) {
  char text[SHOWN] = "";
  size_t used = 0, found = 0;
  bool there = false;
  for (matvar_t *variable; (variable = Mat_VarReadNextInfo(mat));) {
    bool fits = is_array(variable);
    if (fits && used < SHOWN - 200) show(variable, text, &used);
    if (fits && !*of->how && !found++) snprintf(name, 64, "%s", variable->name);
    if (*of->how && variable->name && !strcmp(variable->name, of->how)) there = true;
    Mat_VarFree(variable);
  }
  if (there) snprintf(name, 64, "%s", of->how);
  if (there || found == 1) return true;
  if (*of->how)
    return fail_file(error, "%s has no variable %s; it holds %s", of->path, of->how,
                     used ? text : "no arrays of numbers that can be read; is it damaged?");
  if (!found)
    return fail_file(
        error, "%s holds no array of numbers with two axes at least; is it damaged, or of another kind?",
        of->path);
  return fail_file(error,
                   "%s holds several arrays: %s; name one: `l2sr import %s --variable %s --output FOLDER`",
                   of->path, text, of->path, name);
}

/* False: one is too large for float32. */
static bool write_numbers(const matvar_t *variable, enum array_type type, size_t count, FILE *file) {
  const struct mat_complex_split_t *split = variable->data;
  const char *real = variable->isComplex ? split->Re : variable->data,
             *imaginary = variable->isComplex ? split->Im : NULL;
  size_t bytes = array_type_bytes(type);
  bool held = true;
  for (size_t i = 0; i < count; i++) {
    float pair[2], other[2] = {0};
    held &= array_pair(type, false, real + i * bytes, pair);
    if (imaginary) held &= array_pair(type, false, imaginary + i * bytes, other);
    pair[1] = other[0];
    fwrite(pair, sizeof *pair, imaginary ? 2 : 1, file);
  }
  return held;
}

static bool unpack_variable(const matvar_t *variable, const struct probe_unpacking *of, struct error *error) {
  struct unpacking unpacking = {.file = NULL};
  enum array_type type;
  size_t count;
  bool parts = !variable->isComplex || (variable->data && ((struct mat_complex_split_t *)variable->data)->Im);
  if (!variable->data || !parts || !count_of(variable, &count) || !type_of(variable->data_type, &type))
    return fail_file(error,
                     "the variable %s of %s cannot be read as numbers; is the file damaged, or the variable "
                     "of another kind?",
                     variable->name, of->path);
  if (variable->rank > AXES_MOST)
    return fail_file(error, "the variable %s of %s has %d axes; at most %d are read", variable->name,
                     of->path, variable->rank, AXES_MOST);
  if (variable->nbytes < count * array_type_bytes(type)) /* what it read is less than its shape says */
    return fail_file(error,
                     "the variable %s of %s holds fewer numbers than its shape says; the file is damaged: "
                     "fetch or write it again",
                     variable->name, of->path);
  if (!unpacking_begin(&unpacking, of, variable->isComplex, variable->rank, variable->dims, error))
    return false;
  bool held = write_numbers(variable, type, count, unpacking.file) || array_refuse_large(of->path, error);
  return unpacking_end(&unpacking, held, error);
}

/* Sizes are looked at before memory is taken for them. */
static bool check_info(mat_t *mat, const char *name, const struct probe_unpacking *of, struct error *error) {
  struct unpacking none = {.file = NULL};
  struct probe_unpacking nowhere = *of;
  matvar_t *info = Mat_VarReadInfo(mat, name);
  size_t count;
  nowhere.to = "/dev/null";
  bool good = info && info->rank > 0 && info->rank <= AXES_MOST && info->dims && count_of(info, &count) &&
              is_array(info);
  if (!good)
    fail_file(error, "the variable %s of %s is no array of numbers with two axes at least", name, of->path);
  good = good && unpacking_begin(&none, &nowhere, true, info->rank, info->dims, error);
  if (none.file) fclose(none.file);
  if (info) Mat_VarFree(info);
  return good;
}

/* `store`: the same file of version 7.3, else NULL; libmatio takes what was never written for zeros. */
static bool unpack_file(const struct probe_unpacking *of, struct store *store, struct error *error) {
  char name[64] = "";
  mat_t *mat = Mat_Open(of->path, MAT_ACC_RDONLY);
  if (!mat)
    return fail_file(error,
                     "%s is no MATLAB file that libmatio reads; it is damaged, or of version 4 or another "
                     "format: save it by MATLAB with -v7",
                     of->path);
  bool good = (matlab_is_whole(of->path) ||
               fail_file(error, "%s was cut or damaged: the lengths in it are not those of its numbers; fetch or write it again",
                         of->path)) &&
              choose(mat, of, name, error) && (!store || store_check_held(store, name, error)) &&
              check_info(mat, name, of, error);
  matvar_t *variable = good ? Mat_VarRead(mat, name) : NULL;
  if (good)
    good = variable ? unpack_variable(variable, of, error)
                    : fail_file(error, "the variable %s of %s cannot be read; the file is damaged", name,
                                of->path);
  if (variable) Mat_VarFree(variable);
  Mat_Close(mat);
  return good;
}

/* libmatio calls libhdf5, which may be built for one thread, and whose words are not for the terminal. */
static bool unpack(const struct probe_unpacking *of, struct error *error) {
  HOLD(LOCK_FILES);
  H5E_auto2_t print;
  void *context;
  H5Eget_auto2(H5E_DEFAULT, &print, &context);
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  struct store *store = NULL;
  bool good = (H5Fis_hdf5(of->path) <= 0 || store_open(&store, of->path, error)) && unpack_file(of, store, error);
  store_close(store);
  H5Eset_auto2(H5E_DEFAULT, print, context);
  return good;
}

static bool open_file(void **file, const struct volume *volume, struct error *error) {
  return unpacked_array_open(file, volume, error);
}
#else
static bool unpack(const struct probe_unpacking *of, struct error *error) {
  return unpacked_refuse_missing(of->path, library, "libmatio-dev", error);
}

static bool open_file(void **file, const struct volume *volume, struct error *error) {
  (void)file;
  return unpacked_refuse_missing(volume->path, library, "libmatio-dev", error);
}
#endif

const struct volume_format format_matlab = {
    .name = "MATLAB",
    .claims = claims,
    .unpack = unpack,
    .library = library,
    .open = open_file,
    .describe = array_file_describe,
    .read = array_file_read,
    .close = array_file_close,
};
