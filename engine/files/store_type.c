/* The type of a dataset in words, as HDF5 has it. */
#include "engine/files/store_inside.h"

#include <string.h>

enum { DEEP = 4, MEMBERS = 6 };

/* A text that takes more words as long as they fit. */
struct words {
  char *text;
  size_t size, used;
};

static void add(struct words *words, const char *word) {
  size_t length = strlen(word), room = words->size - words->used - 1;
  if (length > room) length = room;
  memcpy(words->text + words->used, word, length);
  words->used += length;
  words->text[words->used] = 0;
}

static void add_number(struct words *words, const char *before, unsigned long long number) {
  char text[64];
  snprintf(text, sizeof text, "%s%llu", before, number);
  add(words, text);
}

/* "compound (head, traj, data)" and "enum (FALSE, TRUE)" */
static void add_members(struct words *words, hid_t type, const char *kind) {
  int count = H5Tget_nmembers(type);
  add(words, kind);
  for (int i = 0; i < count && i < MEMBERS; i++) {
    char *name = H5Tget_member_name(type, (unsigned)i);
    add(words, i ? ", " : " (");
    add(words, name ? name : "?");
    H5free_memory(name);
  }
  add(words, count > MEMBERS ? ", ...)" : ")");
}

static void add_type(struct words *words, hid_t type, int deep);

static void add_inner(struct words *words, hid_t type, int deep) {
  hid_t inner = H5Tget_super(type);
  if (deep < DEEP && inner >= 0) add_type(words, inner, deep + 1);
  if (inner >= 0) H5Tclose(inner);
}

static void add_array(struct words *words, hid_t type, int deep) {
  hsize_t size[H5S_MAX_RANK];
  int rank = H5Tget_array_dims2(type, size);
  for (int i = 0; i < rank; i++) add_number(words, i ? "x" : "array ", size[i]);
  add(words, " of ");
  add_inner(words, type, deep);
}

static void add_complex(struct words *words, hid_t type, int deep) {
  hid_t part = H5Tget_member_type(type, 0);
  add(words, "complex ");
  add_type(words, part, deep);
  H5Tclose(part);
}

static void add_type(struct words *words, hid_t type, int deep) {
  size_t bits = 8 * H5Tget_size(type);
  switch (H5Tget_class(type)) {
  case H5T_INTEGER: add_number(words, H5Tget_sign(type) == H5T_SGN_2 ? "int" : "uint", bits); return;
  case H5T_FLOAT: add_number(words, "float", bits); return;
  case H5T_STRING: add(words, "text"); return;
  case H5T_COMPOUND:
    if (store_is_complex(type))
      add_complex(words, type, deep);
    else
      add_members(words, type, "compound");
    return;
  case H5T_ENUM: add_members(words, type, "enum"); return;
  case H5T_ARRAY: add_array(words, type, deep); return;
  case H5T_VLEN:
    add(words, "variable-length ");
    add_inner(words, type, deep);
    return;
  case H5T_REFERENCE: add(words, "reference"); return;
  case H5T_OPAQUE: add_number(words, "opaque ", bits / 8); return;
  case H5T_BITFIELD: add_number(words, "bitfield", bits); return;
  case H5T_TIME: add(words, "time"); return;
  default: add(words, "unknown"); return;
  }
}

bool store_is_complex(hid_t type) {
  if (H5Tget_class(type) != H5T_COMPOUND || H5Tget_nmembers(type) != 2) return false;
  for (unsigned i = 0; i < 2; i++) {
    H5T_class_t part = H5Tget_member_class(type, i);
    if (part != H5T_FLOAT && part != H5T_INTEGER) return false;
  }
  return true;
}

void store_type_words(struct store *store, const char *name, char *text, size_t size) {
  HOLD(LOCK_FILES);
  struct words words = {text, size, 0};
  struct error ignored;
  snprintf(text, size, "unreadable");
  hid_t dataset = store_dataset(store, name, &ignored);
  if (dataset < 0) return;
  hid_t type = H5Dget_type(dataset);
  *text = 0;
  add_type(&words, type, 0);
  H5Tclose(type);
  H5Dclose(dataset);
}
