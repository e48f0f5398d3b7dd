/* Files of a harness, and HDF5 files that are changed as its input says. */
#include "tests/fuzz/fuzz.h"
#include "engine/files/probe.h"
#include "tests/fuzz/damage.h"

#include <dirent.h>
#include <fcntl.h>
#include <hdf5.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];
static char path[128];

void fuzz_failed(const char *call, const struct error *error) {
  fprintf(stderr, "%s: %s\n", call, error->text);
  abort();
}

/* ---- files --------------------------------------------------------------------------------------------- */

static void remove_files(void) {
  DIR *stream = opendir(folder);
  for (struct dirent *entry; stream && (entry = readdir(stream));)
    if (entry->d_name[0] != '.') unlinkat(dirfd(stream), entry->d_name, 0);
  if (stream) closedir(stream);
  rmdir(folder);
}

const char *fuzz_path(const char *name) {
  if (!*folder) {
    const char *memory = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";
    snprintf(folder, sizeof folder, "%s/l2sr-fuzz-XXXXXX", memory);
    if (!mkdtemp(folder)) abort();
    atexit(remove_files);
  }
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

const char *fuzz_text(const char *name, const uint8_t *data, size_t size) {
  FILE *file = fopen(fuzz_path(name), "wb");
  if (!file || (size && fwrite(data, 1, size, file) != size) || fclose(file)) abort();
  return path;
}

/* ---- the good files ------------------------------------------------------------------------------------ */

enum { GOODS = 8, OBJECTS = 128, RANK = 8, TEXT = 1 << 14, FORMATS = 2 };

struct object {
  const char *name;
  bool attribute, text;
  hid_t type; /* in the file */
  int rank;
  hsize_t size[RANK];
  size_t count;
  void *data; /* numbers as double, texts as char *, others as they lie */
};

static struct good {
  struct object objects[OBJECTS];
  size_t object_count;
  struct image {
    size_t size;
    uint8_t *bytes;
    struct anatomy *anatomy;
  } image[FORMATS]; /* the file itself, and the same in HDF5's newest format */
} goods[GOODS];
static size_t good_count, kind;
static struct arena *arena;

static hid_t memory_type(const struct object *object) {
  H5T_class_t class = H5Tget_class(object->type);
  return class == H5T_INTEGER || class == H5T_FLOAT ? H5T_NATIVE_DOUBLE : object->type;
}

static void take(hid_t place, const char *name, bool attribute) {
  struct good *good = &goods[good_count];
  struct object *object = &good->objects[good->object_count++];
  hid_t space = attribute ? H5Aget_space(place) : H5Dget_space(place);
  if (good->object_count == OBJECTS) abort();
  *object = (struct object){.name = arena_text(arena, "%s", name), .attribute = attribute};
  object->type = attribute ? H5Aget_type(place) : H5Dget_type(place);
  object->text = H5Tis_variable_str(object->type) > 0;
  object->rank = H5Sget_simple_extent_dims(space, object->size, NULL);
  object->count = (size_t)H5Sget_simple_extent_npoints(space);
  object->data = arena_new(arena, object->count * 16 + 16);
  herr_t code = attribute ? H5Aread(place, memory_type(object), object->data)
                          : H5Dread(place, memory_type(object), H5S_ALL, H5S_ALL, H5P_DEFAULT, object->data);
  if (code < 0) abort();
  H5Sclose(space);
}

static herr_t take_dataset(hid_t root, const char *name, const H5O_info_t *info, void *data) {
  (void)data;
  if (info->type != H5O_TYPE_DATASET) return 0;
  hid_t dataset = H5Dopen2(root, name, H5P_DEFAULT);
  take(dataset, name, false);
  H5Dclose(dataset);
  return 0;
}

static herr_t take_attribute(hid_t root, const char *name, const H5A_info_t *info, void *data) {
  (void)info;
  (void)data;
  hid_t attribute = H5Aopen(root, name, H5P_DEFAULT);
  take(attribute, name, true);
  H5Aclose(attribute);
  return 0;
}

static void read_bytes(struct image *image, const char *name) {
  FILE *file = fopen(fuzz_path(name), "rb");
  struct stat status;
  if (!file || fstat(fileno(file), &status)) abort();
  image->size = (size_t)status.st_size;
  image->bytes = arena_new(arena, image->size);
  if (fread(image->bytes, 1, image->size, file) != image->size) abort();
  fclose(file);
  image->anatomy = ARENA_NEW(arena, struct anatomy, 1);
  anatomy_find(image->anatomy, image->bytes, image->size);
  if (image->anatomy->spot_count < 200) abort(); /* it does not know this format */
}

static herr_t copy_dataset(hid_t root, const char *name, const H5L_info_t *info, void *data) {
  (void)info;
  return H5Ocopy(root, name, *(hid_t *)data, name, H5P_DEFAULT, H5P_DEFAULT);
}

static void copy_attribute(hid_t to, const struct object *object) {
  hid_t space = object->rank > 0 ? H5Screate_simple(object->rank, object->size, NULL) : H5Screate(H5S_SCALAR);
  hid_t place = H5Acreate2(to, object->name, object->type, space, H5P_DEFAULT, H5P_DEFAULT);
  if (place < 0 || H5Awrite(place, memory_type(object), object->data) < 0) abort();
  H5Aclose(place);
  H5Sclose(space);
}

/* The good file in HDF5's newest format: other headers, heaps and trees. */
static void write_newest(hid_t file, const struct good *good) {
  hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
  hid_t newest = H5Fcreate(fuzz_path("newest.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, access);
  H5Pclose(access);
  if (newest < 0 || H5Literate(file, H5_INDEX_NAME, H5_ITER_INC, NULL, copy_dataset, &newest) < 0) abort();
  for (size_t i = 0; i < good->object_count; i++)
    if (good->objects[i].attribute) copy_attribute(newest, &good->objects[i]);
  H5Fclose(newest);
}

void fuzz_take(void) {
  if (!arena) arena = arena_open();
  if (good_count == GOODS) abort();
  struct good *good = &goods[good_count];
  hid_t file = H5Fopen(fuzz_path("good.h5"), H5F_ACC_RDONLY, H5P_DEFAULT);
  if (file < 0) abort();
  H5Aiterate2(file, H5_INDEX_NAME, H5_ITER_INC, NULL, take_attribute, NULL);
  H5Ovisit(file, H5_INDEX_NAME, H5_ITER_INC, take_dataset, NULL);
  write_newest(file, good);
  H5Fclose(file);
  read_bytes(&good->image[0], "good.h5");
  read_bytes(&good->image[1], "newest.h5");
  if (good->image[1].anatomy->region_count < 3) abort();
  good_count++;
  H5set_free_list_limits(-1, -1, -1, -1, -1, -1); /* fresh memory for each opening takes most of the time */
  probe_with(getenv("L2SR_PROGRAM"));
}

size_t fuzz_kind(void) {
  return kind;
}

/* ---- changes ------------------------------------------------------------------------------------------- */

/* Numbers at the ends of whole numbers of 31, 32, 63 and 64 bits, and around usual ones. */
static const hsize_t sizes[] = {0,
                                1,
                                2,
                                3,
                                5,
                                16,
                                33,
                                100,
                                1 << 16,
                                1 << 20,
                                (hsize_t)1 << 27,
                                (hsize_t)1 << 31,
                                ((hsize_t)1 << 32) - 1,
                                (hsize_t)1 << 32,
                                ((hsize_t)1 << 32) + 1,
                                (hsize_t)1 << 40,
                                (hsize_t)1 << 61,
                                (hsize_t)1 << 62};
static const double values[] = {0,       1,        -1,      0.5,   -0.0,        3,           7,    255,
                                256,     65535,    65536,   1e9,   2147483647., 4294967295., 1e15, 1e16,
                                1e300,   -1e300,   3e38,    1e-45, 1e-9,        1e308,       -3,   2.5,
                                1 / 0.0, -1 / 0.0, 0 / 0.0, 31,    33};
static const char *const words[] = {"",
                                    "\n",
                                    "  source: x\n",
                                    "data:\n",
                                    "\xff\xfe",
                                    "\x1b[31m",
                                    "\"",
                                    "evaluate:\n  name: \"\\x",
                                    "[",
                                    "a,b\r\n",
                                    "<reconSpace><matrixSize><x>99999999999</x>",
                                    "%s%n",
                                    "adam",
                                    "unet"};

enum { CHANGES = 10, DAMAGE = 128 /* from here on the second byte damages */ };
struct change {
  bool left_out, unwritten, doubled, partly;
  int layout, words, word, at;
  struct object object;
  double value;
  bool valued;
};

static hid_t other_type(unsigned which) {
  const hid_t plain[] = {H5T_STD_U8LE,   H5T_STD_U32LE,   H5T_STD_I64BE, H5T_IEEE_F32LE,
                         H5T_IEEE_F64LE, H5T_NATIVE_LONG, H5T_STD_U16BE, H5T_STD_I8LE};
  if (which % 12 < 8) return H5Tcopy(plain[which % 12]);
  hid_t type = which % 12 < 10 ? H5Tcopy(H5T_C_S1) : H5Tcreate(H5T_COMPOUND, 8);
  if (which % 12 == 8) H5Tset_size(type, H5T_VARIABLE);
  if (which % 12 == 9) H5Tset_size(type, 5);
  if (which % 12 >= 10) H5Tinsert(type, "r", 0, H5T_NATIVE_FLOAT);
  if (which % 12 == 11) H5Tinsert(type, "i", 4, H5T_NATIVE_FLOAT);
  return type;
}

static void set_rank(struct object *object, unsigned rank) {
  for (unsigned i = (unsigned)(object->rank > 0 ? object->rank : 0); i < rank; i++) object->size[i] = 1;
  object->rank = (int)rank;
}

static void change_one(struct change *change, const uint8_t *input) {
  struct object *object = &change->object;
  unsigned a = input[2], b = input[3];
  switch (input[1] % CHANGES) {
  case 0: change->left_out = true; break;
  case 1:
    if (object->rank > 0)
      object->size[a % (unsigned)object->rank] = sizes[b % (sizeof sizes / sizeof *sizes)];
    break;
  case 2: set_rank(object, a % RANK); break;
  case 3: object->type = other_type(a); break;
  case 4: change->layout = 1 + (int)(a % 64); break;
  case 5: change->unwritten = true; break;
  case 6:
    change->valued = true;
    change->at = (int)a;
    change->value = values[b % (sizeof values / sizeof *values)];
    break;
  case 7: change->doubled = true; break;
  case 8:
    change->word = (int)(a % (sizeof words / sizeof *words));
    change->words = 1 + (int)b;
    break;
  default: change->partly = true; break;
  }
}

/* ---- the changed file ---------------------------------------------------------------------------------- */

static hid_t creation_list(const struct change *change) {
  hid_t list = H5Pcreate(H5P_DATASET_CREATE);
  hsize_t chunk[RANK];
  double bytes = 1;
  if (!change->layout || change->object.rank < 1) return list;
  for (int i = 0; i < change->object.rank; i++) {
    hsize_t most = change->layout % 2 ? 1 + (hsize_t)change->layout % 7 : 64, size = change->object.size[i];
    chunk[i] = size < most ? size + !size : most;
    if (bytes > 1 << 20) chunk[i] = 1;
    bytes *= (double)chunk[i];
  }
  if (H5Pset_chunk(list, change->object.rank, chunk) >= 0 && change->layout & 4) H5Pset_deflate(list, 1);
  return list;
}

/* The first numbers of what was there, as many as there is room for. */
static void *changed_data(const struct change *change, size_t count) {
  const struct object *object = &change->object;
  size_t each = H5Tget_size(memory_type(object)), kept = count < object->count ? count : object->count;
  void *data = calloc(count + 1, each > 16 ? each : 16);
  if (!data) abort();
  if (memory_type(object) == H5T_NATIVE_DOUBLE || each <= 16)
    memcpy(data, object->data, kept * (each > 16 ? 16 : each));
  if (change->valued && count && memory_type(object) == H5T_NATIVE_DOUBLE)
    ((double *)data)[(size_t)change->at % count] = change->value;
  return data;
}

/* Where a part is written a good reader reads all, which takes too long; of the largest libhdf5 itself
 * crashes. */
static bool is_endless(const struct object *object) {
  double most = 1;
  for (int i = 0; i < object->rank; i++) most *= (double)object->size[i];
  return most > 0x1p22;
}

static void write_numbers(hid_t place, hid_t space, const struct change *change) {
  const struct object *object = &change->object;
  hsize_t start[RANK] = {0}, part[RANK], count = 1;
  for (int i = 0; i < object->rank; i++) {
    part[i] = object->size[i];
    if (change->partly && i == 0) part[i] = (part[i] + 1) / 2;
    if (part[i] > 64) part[i] = 64;
    if (count * part[i] > 1 << 16) part[i] = 1;
    count *= part[i];
  }
  if (!count || is_endless(object)) return;
  void *data = changed_data(change, (size_t)count);
  hid_t memory = H5Screate_simple(1, &count, NULL);
  if (object->rank > 0) H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, part, NULL);
  H5Dwrite(place, memory_type(object), memory, space, H5P_DEFAULT, data);
  H5Sclose(memory);
  free(data);
}

static void write_attribute(hid_t place, const struct change *change) {
  hssize_t count = 1;
  hid_t space = H5Aget_space(place);
  count = H5Sget_simple_extent_npoints(space);
  H5Sclose(space);
  if (count < 0 || count > 64) return;
  void *data = changed_data(change, (size_t)count);
  H5Awrite(place, memory_type(&change->object), data);
  free(data);
}

static void write_words(hid_t place, const struct change *change) {
  const struct object *object = &change->object;
  static char text[TEXT];
  const char *before = object->text && object->data ? *(char **)object->data : "";
  snprintf(text, sizeof text, "%s", before ? before : "");
  for (int i = 0; i < change->words && strlen(text) + 64 < sizeof text; i++)
    strcat(text, words[change->word]);
  const char *pointer = text;
  if (object->attribute)
    H5Awrite(place, object->type, &pointer);
  else
    H5Dwrite(place, object->type, H5S_ALL, H5S_ALL, H5P_DEFAULT, &pointer);
}

static void write_as(hid_t file, const char *name, const struct change *change) {
  const struct object *object = &change->object;
  hid_t space = object->rank > 0 ? H5Screate_simple(object->rank, object->size, NULL) : H5Screate(H5S_SCALAR);
  hid_t link = H5Pcreate(H5P_LINK_CREATE), list = creation_list(change);
  H5Pset_create_intermediate_group(link, 1);
  hid_t place = object->attribute ? H5Acreate2(file, name, object->type, space, H5P_DEFAULT, H5P_DEFAULT)
                                  : H5Dcreate2(file, name, object->type, space, link, list, H5P_DEFAULT);
  bool words_fit = H5Tis_variable_str(object->type) > 0 && H5Sget_simple_extent_npoints(space) == 1;
  if (place >= 0 && !change->unwritten && words_fit)
    write_words(place, change);
  else if (place >= 0 && !change->unwritten && H5Tis_variable_str(object->type) <= 0)
    object->attribute ? write_attribute(place, change) : write_numbers(place, space, change);
  if (place >= 0) object->attribute ? H5Aclose(place) : H5Dclose(place);
  H5Pclose(list);
  H5Pclose(link);
  H5Sclose(space);
}

static void write_object(hid_t file, const struct change *change) {
  char name[256];
  const char *slash = strrchr(change->object.name, '/');
  if (change->left_out) return;
  write_as(file, change->object.name, change);
  if (!change->doubled || !slash) return;
  snprintf(name, sizeof name, "%.*s/module.%s", (int)(slash - change->object.name), change->object.name,
           slash + 1);
  write_as(file, name, change);
}

/* Takes out of a copy of the good file what changes and writes that again: this is faster than writing all of
 * it. */
static void change_object(hid_t file, const struct object *objects, size_t place, size_t count,
                          const uint8_t *data, size_t size) {
  struct change change = {.object = objects[place]};
  bool changed = false;
  for (size_t at = 0; at + 4 <= size && at < 64; at += 4)
    if (data[at + 1] < DAMAGE && data[at] % count == place) {
      change_one(&change, data + at);
      changed = true;
    }
  if (!changed) return;
  if (change.object.attribute)
    H5Adelete(file, change.object.name);
  else
    H5Ldelete(file, change.object.name, H5P_DEFAULT);
  write_object(file, &change);
  if (change.object.type != objects[place].type) H5Tclose(change.object.type);
}

/* ---- damage -------------------------------------------------------------------------------------------- */

/* The child's verdicts go by the time of a file, and the clock is coarse. */
static void mark_time(void) {
  static long count;
  const struct timespec time = {count / 1000000000, count % 1000000000}, times[] = {time, time};
  count++;
  if (utimensat(AT_FDCWD, fuzz_path("changed.h5"), times, 0)) abort();
}

static bool damages(const uint8_t *data, size_t size) {
  for (size_t at = 0; at + 4 <= size && at < 64; at += 4)
    if (data[at + 1] >= DAMAGE) return true;
  return false;
}

/* The good file, damaged: changes of its objects would move what is found there. */
static void damage(const struct good *good, const uint8_t *data, size_t size) {
  const struct image *image = &good->image[size / 4 % FORMATS];
  uint8_t *bytes = malloc(image->size);
  if (!bytes) abort();
  memcpy(bytes, image->bytes, image->size);
  for (size_t at = 0; at + 4 <= size && at < 64; at += 4)
    if (data[at + 1] >= DAMAGE) anatomy_damage(image->anatomy, bytes, data + at);
  fuzz_text("changed.h5", bytes, image->size);
  free(bytes);
}

static void change(const struct good *good, const uint8_t *data, size_t size) {
  fuzz_text("changed.h5", good->image[0].bytes, good->image[0].size);
  hid_t file = H5Fopen(fuzz_path("changed.h5"), H5F_ACC_RDWR, H5P_DEFAULT);
  if (file < 0) abort();
  for (size_t i = 0; i < good->object_count; i++)
    change_object(file, good->objects, i, good->object_count, data, size);
  H5Fclose(file);
}

const char *fuzz_change(const uint8_t *data, size_t size) {
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  kind = good_count > 1 && size ? *data % good_count : 0;
  if (good_count > 1 && size) data++, size--;
  bool damaged = getenv("L2SR_PROGRAM") && damages(data, size);
  (damaged ? damage : change)(&goods[kind], data, size);
  mark_time();
  return fuzz_path("changed.h5");
}
