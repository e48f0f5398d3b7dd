#include "engine/store_inside.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { VALUE_MOST = 4096 };

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

/* Whether a value of this type lies in one piece: nothing of it is allocated by libhdf5. */
static bool lies_flat(hid_t type) {
  return H5Tdetect_class(type, H5T_VLEN) == 0 && H5Tdetect_class(type, H5T_REFERENCE) == 0 &&
         H5Tdetect_class(type, H5T_COMPOUND) == 0 && H5Tget_size(type) <= VALUE_MOST;
}

static bool read_value(hid_t object, bool attribute, char *text, size_t size) {
  hid_t type = attribute ? H5Aget_type(object) : H5Dget_type(object);
  hid_t space = attribute ? H5Aget_space(object) : H5Dget_space(object);
  _Alignas(16) unsigned char value[VALUE_MOST] = {0};
  bool good = H5Sget_simple_extent_npoints(space) == 1 && lies_flat(type) &&
              (attribute ? H5Aread(object, type, value)
                         : H5Dread(object, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, value)) >= 0 &&
              write_value(type, value, text, size);
  H5Sclose(space);
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
  bool attribute = H5Aexists(store->file, name) > 0, good = false;
  if (store_text(store, name, text, size)) return trim(text);
  hid_t object = attribute                ? H5Aopen(store->file, name, H5P_DEFAULT)
                 : store_has(store, name) ? H5Dopen2(store->file, name, H5P_DEFAULT)
                                          : H5I_INVALID_HID;
  if (object < 0) return false;
  good = read_value(object, attribute, text, size) && trim(text);
  if (attribute)
    H5Aclose(object);
  else
    H5Dclose(object);
  if (!good) *text = 0;
  return good;
}
