/* Texts, numbers and words: an attribute of the root, or a dataset of one entry. */
#include "engine/files/probe.h"
#include "engine/files/store_inside.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { VALUE_MOST = 4096 };

/* ---- one entry ----------------------------------------------------------------------------------------- */

struct scalar {
  hid_t object;
  bool attribute; /* else a dataset */
};

static bool open_scalar(struct store *store, const char *name, struct scalar *scalar) {
  scalar->attribute = H5Aexists(store->file, name) > 0;
  scalar->object = scalar->attribute        ? H5Aopen(store->file, name, H5P_DEFAULT)
                   : store_has(store, name) ? H5Dopen2(store->file, name, H5P_DEFAULT)
                                            : H5I_INVALID_HID;
  return scalar->object >= 0;
}

static void close_scalar(const struct scalar *scalar) {
  if (scalar->attribute)
    H5Aclose(scalar->object);
  else
    H5Dclose(scalar->object);
}

static hid_t type_of(const struct scalar *scalar) {
  return scalar->attribute ? H5Aget_type(scalar->object) : H5Dget_type(scalar->object);
}

static bool is_single(const struct scalar *scalar) {
  hid_t space = scalar->attribute ? H5Aget_space(scalar->object) : H5Dget_space(scalar->object);
  bool single = H5Sget_simple_extent_npoints(space) == 1;
  H5Sclose(space);
  return single;
}

static bool read_scalar(const struct scalar *scalar, hid_t type, void *to) {
  return (scalar->attribute ? H5Aread(scalar->object, type, to)
                            : H5Dread(scalar->object, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, to)) >= 0;
}

/* A text of variable length is of class H5T_STRING, not H5T_VLEN; it may be the entry of an array. */
static bool has_texts(hid_t type) {
  hid_t inner = H5Tget_class(type) == H5T_ARRAY ? H5Tget_super(type) : H5I_INVALID_HID;
  bool texts = inner >= 0 ? has_texts(inner) : H5Tis_variable_str(type) != 0;
  if (inner >= 0) H5Tclose(inner);
  return texts;
}

/* Whether a value of this type lies in one piece: nothing of it is allocated by libhdf5. */
static bool lies_flat(hid_t type) {
  return H5Tdetect_class(type, H5T_VLEN) == 0 && H5Tdetect_class(type, H5T_REFERENCE) == 0 &&
         H5Tdetect_class(type, H5T_COMPOUND) == 0 && !has_texts(type) && H5Tget_size(type) <= VALUE_MOST;
}

/* ---- texts and numbers --------------------------------------------------------------------------------- */

static bool read_string(const struct scalar *scalar, hid_t type, char *text, size_t size) {
  bool good = false;
  if (H5Tis_variable_str(type) > 0) {
    char *pointer = NULL;
    good = read_scalar(scalar, type, &pointer) && pointer;
    if (good) snprintf(text, size, "%s", pointer);
    if (pointer) H5free_memory(pointer);
  } else if (H5Tget_size(type) < STORE_TEXT_MOST) {
    struct arena *arena = arena_open();
    char *fixed = arena_new(arena, H5Tget_size(type) + 1);
    good = read_scalar(scalar, type, fixed);
    if (good) snprintf(text, size, "%s", fixed);
    arena_close(arena);
  }
  return good;
}

/* Texts of variable length lie where libhdf5 is the least careful: the child reads those, if there is one. */
static bool read_text(struct store *store, const char *name, char *text, size_t size) {
  struct scalar scalar;
  bool good = false;
  if (!open_scalar(store, name, &scalar)) return false;
  hid_t type = type_of(&scalar);
  if (H5Tget_class(type) == H5T_STRING && is_single(&scalar)) {
    bool ask = H5Tis_variable_str(type) > 0;
    enum probe_found found = ask ? probe_text(store->path, name, text, size) : PROBE_UNASKED;
    good = found == PROBE_UNASKED ? read_string(&scalar, type, text, size) : found == PROBE_FOUND;
  }
  H5Tclose(type);
  close_scalar(&scalar);
  return good;
}

bool store_text(struct store *store, const char *name, char *text, size_t size) {
  HOLD(LOCK_FILES);
  return read_text(store, name, text, size);
}

bool store_number(struct store *store, const char *name, double *value) {
  HOLD(LOCK_FILES);
  struct scalar scalar;
  if (!open_scalar(store, name, &scalar)) return false;
  hid_t type = type_of(&scalar);
  bool good = is_single(&scalar) && lies_flat(type) && read_scalar(&scalar, H5T_NATIVE_DOUBLE, value);
  H5Tclose(type);
  close_scalar(&scalar);
  return good;
}

bool store_has_value(struct store *store, const char *name) {
  return H5Aexists(store->file, name) > 0 || store_has(store, name);
}

bool store_check_free(struct store *store, const char *name, struct error *error) {
  HOLD(LOCK_FILES);
  struct error inner = {0};
  if (H5Aexists(store->file, name) > 0 || !store_has(store, name)) return true;
  hid_t dataset = store_dataset(store, name, &inner);
  if (dataset >= 0) H5Dclose(dataset);
  if (inner.is_busy) *error = inner;
  return !inner.is_busy;
}

/* ---- words of any type --------------------------------------------------------------------------------- */

static void write_number(double value, char *text, size_t size) {
  snprintf(text, size, "%.15g", value);
  if (strtod(text, NULL) != value) snprintf(text, size, "%.17g", value);
}

static bool write_integer(hid_t type, const void *value, char *text, size_t size) {
  unsigned char wide[VALUE_MOST];
  bool negative = H5Tget_sign(type) == H5T_SGN_2;
  long long number;
  memcpy(wide, value, H5Tget_size(type));
  if (H5Tconvert(type, negative ? H5T_NATIVE_LLONG : H5T_NATIVE_ULLONG, 1, wide, NULL, H5P_DEFAULT) < 0)
    return false;
  memcpy(&number, wide, sizeof number);
  snprintf(text, size, negative ? "%lld" : "%llu", number);
  return true;
}

static bool write_float(hid_t type, const void *value, char *text, size_t size) {
  unsigned char wide[VALUE_MOST];
  double number;
  memcpy(wide, value, H5Tget_size(type));
  if (H5Tconvert(type, H5T_NATIVE_DOUBLE, 1, wide, NULL, H5P_DEFAULT) < 0) return false;
  memcpy(&number, wide, sizeof number);
  if (isfinite(number)) write_number(number, text, size);
  return isfinite(number);
}

static bool write_bytes(hid_t type, const char *value, char *text, size_t size) {
  size_t length = strnlen(value, H5Tget_size(type));
  snprintf(text, size, "%.*s", (int)length, value);
  return true;
}

static bool write_value(hid_t type, void *value, char *text, size_t size);

static bool write_only_entry(hid_t type, void *value, char *text, size_t size) {
  hid_t inner = H5Tget_super(type);
  bool good = H5Tget_size(inner) == H5Tget_size(type) && write_value(inner, value, text, size);
  H5Tclose(inner);
  return good;
}

static bool write_value(hid_t type, void *value, char *text, size_t size) {
  switch (H5Tget_class(type)) {
  case H5T_INTEGER: return write_integer(type, value, text, size);
  case H5T_FLOAT: return write_float(type, value, text, size);
  case H5T_ENUM: return H5Tenum_nameof(type, value, text, size) >= 0;
  case H5T_OPAQUE: return write_bytes(type, value, text, size);
  case H5T_STRING: return H5Tis_variable_str(type) == 0 && write_bytes(type, value, text, size);
  case H5T_ARRAY: return write_only_entry(type, value, text, size);
  default: return false;
  }
}

static bool read_value(const struct scalar *scalar, char *text, size_t size) {
  hid_t type = type_of(scalar);
  _Alignas(16) unsigned char value[VALUE_MOST] = {0};
  bool good = is_single(scalar) && lies_flat(type) && read_scalar(scalar, type, value) &&
              write_value(type, value, text, size);
  H5Tclose(type);
  return good;
}

/* Strings of fixed length may be padded with spaces. */
static bool trim(char *text) {
  size_t before = strspn(text, " \t\r\n"), length = strlen(text);
  while (length > before && strchr(" \t\r\n", text[length - 1])) length--;
  memmove(text, text + before, length - before);
  text[length - before] = 0;
  return *text;
}

bool store_word(struct store *store, const char *name, char *text, size_t size) {
  HOLD(LOCK_FILES);
  struct scalar scalar;
  if (store_text(store, name, text, size)) return trim(text);
  if (!open_scalar(store, name, &scalar)) return false;
  bool good = read_value(&scalar, text, size) && trim(text);
  close_scalar(&scalar);
  if (!good) *text = 0;
  return good;
}
