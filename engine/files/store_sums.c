/* Checksums of what a file holds, for files whose every number counts: libhdf5 has none of a dataset that is not
 * chunked, nor of attributes and names. Each dataset has one of its shape and its numbers, in an attribute of
 * its own; the root has one of all names, attributes and texts. Files without them are read as they are. */
#include "engine/base/hash.h"
#include "engine/files/store_inside.h"

#include <inttypes.h>
#include <string.h>

/* ---- sums ---------------------------------------------------------------------------------------------- */

static uint32_t add_bytes(uint32_t sum, const void *data, size_t bytes) {
  return hash_crc(CRC_ZLIB, sum, data, bytes);
}

/* Added up, in any order, entries make the sum of the root. */
uint64_t store_entry_sum(enum store_entry kind, const char *name, const void *value, size_t bytes) {
  uint32_t head = add_bytes(add_bytes(0, &(char){(char)kind}, 1), name, strlen(name));
  return (uint64_t)head << 32 | add_bytes(head, value, bytes);
}

size_t store_text_bytes(const char *text) {
  return strnlen(text, STORE_TEXT_MOST - 1);
}

static const char *const type_words[] = {"u8", "u32", "f32", "f64", "c64"};

void store_data_sum(enum store_type type, const struct store_shape *shape, const void *data, size_t total,
                    char text[SUM_TEXT]) {
  uint32_t sum = 0;
  for (int i = 0; i < shape->rank; i++) sum = add_bytes(sum, &(uint64_t){shape->size[i]}, sizeof(uint64_t));
  snprintf(text, SUM_TEXT, "%s %08" PRIx32, type_words[type],
           add_bytes(sum, data, total * store_type_bytes(type)));
}

/* ---- a dataset ----------------------------------------------------------------------------------------- */

void store_read_sum(hid_t object, char text[SUM_TEXT]) {
  hid_t attribute = H5Aexists(object, SUM_NAME) > 0 ? H5Aopen(object, SUM_NAME, H5P_DEFAULT) : H5I_INVALID_HID;
  text[0] = 0;
  if (attribute < 0) return;
  hid_t type = H5Aget_type(attribute), space = H5Aget_space(attribute);
  bool fits = H5Tget_class(type) == H5T_STRING && !H5Tis_variable_str(type) && H5Tget_size(type) < SUM_TEXT &&
              H5Sget_simple_extent_npoints(space) == 1;
  if (!fits || H5Aread(attribute, type, text) < 0) strcpy(text, "?");
  text[fits ? H5Tget_size(type) : 1] = 0;
  H5Sclose(space);
  H5Tclose(type);
  H5Aclose(attribute);
}

/* The type of numbers that the sum is of. */
static bool find_type(const char *text, enum store_type *type) {
  for (size_t i = 0; i < sizeof type_words / sizeof *type_words; i++) {
    size_t length = strlen(type_words[i]);
    *type = (enum store_type)i;
    if (!strncmp(text, type_words[i], length) && text[length] == ' ') return true;
  }
  return false;
}

static bool refuse_data(const struct store *store, const char *name, const char *found, struct error *error) {
  return fail_file(error,
                   "%s in %s is damaged: its checksum is %s, and it was written with %s; take another file, or "
                   "make it anew. Where it was changed on purpose, delete the dataset's attribute " SUM_NAME,
                   name, store->path, found, store->sum_text);
}

/* The numbers were read as `type`: where the sum is of others, they are read once more. */
bool store_check_data(struct store *store, const char *name, enum store_type type, const struct store_shape *shape,
                      const void *data, size_t total, struct error *error) {
  char found[SUM_TEXT];
  enum store_type own;
  if (!store->sum_text[0]) return true;
  if (!find_type(store->sum_text, &own)) return refuse_data(store, name, "another", error);
  struct arena *arena = arena_open();
  void *again = own == type ? NULL : arena_try_array(arena, store_type_bytes(own), total);
  bool good = own == type || again || fail_memory(error, "%s in %s is too large for this host", name, store->path);
  if (again) good = store_read(store, name, own, NULL, shape->size, again, error);
  if (good) {
    store_data_sum(own, shape, again ? again : data, total, found);
    good = !strcmp(found, store->sum_text) || refuse_data(store, name, found, error);
  }
  arena_close(arena);
  return good;
}

/* ---- the root ------------------------------------------------------------------------------------------ */

struct adding {
  struct store *store;
  char *text; /* [STORE_TEXT_MOST] */
  uint64_t sum;
};

static void add_attribute(const char *name, void *context) {
  struct adding *adding = context;
  double number;
  if (!strcmp(name, SUM_NAME)) return;
  if (store_text(adding->store, name, adding->text, STORE_TEXT_MOST))
    adding->sum += store_entry_sum(ENTRY_TEXT, name, adding->text, strlen(adding->text));
  else if (store_number(adding->store, name, &number))
    adding->sum += store_entry_sum(ENTRY_NUMBER, name, &number, sizeof number);
  else
    adding->sum += store_entry_sum(ENTRY_DATA, name, "", 0); /* an attribute has no such entry */
}

static void add_dataset(const char *name, void *context) {
  struct adding *adding = context;
  bool text = store_text(adding->store, name, adding->text, STORE_TEXT_MOST);
  adding->sum += store_entry_sum(text ? ENTRY_TEXT_DATA : ENTRY_DATA, name, text ? adding->text : "",
                                 text ? strlen(adding->text) : 0);
}

bool store_has_sums(const struct store *store) {
  return store->has_sums;
}

bool store_check_names(struct store *store, struct error *error) {
  HOLD(LOCK_FILES);
  char stored[SUM_TEXT], found[SUM_TEXT];
  store_read_sum(store->file, stored);
  store->has_sums = stored[0];
  if (!store->has_sums) return true;
  struct arena *arena = arena_open();
  struct adding adding = {.store = store, .text = arena_new(arena, STORE_TEXT_MOST)};
  bool good = store_list_attributes(store, add_attribute, &adding, error) &&
              store_list(store, add_dataset, &adding, error);
  arena_close(arena);
  if (!good) return false;
  snprintf(found, sizeof found, "%016" PRIx64, adding.sum);
  return !strcmp(found, stored) ||
         fail_file(error,
                   "%s is damaged: the checksum of its attributes and of the names in it is %s, and it was written "
                   "with %s; take another file, or make it anew. Where they were changed on purpose, delete the "
                   "file's attribute " SUM_NAME,
                   store->path, found, stored);
}
