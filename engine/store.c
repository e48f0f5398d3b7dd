#include "engine/store.h"

#include "engine/log.h"

#include <errno.h>
#include <fcntl.h>
#include <hdf5.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

struct store {
  struct arena *arena;
  hid_t file;
  const char *path, *beside; /* beside: the new file until it is committed, else NULL */
  int slot;
  hid_t dataset; /* read last: it stays open with its chunks, for slices are read one after the other */
  char dataset_name[128];
};

/* ---- files being written: an interrupted program removes them ------------------------------------- */

enum { UNFINISHED = 16, BESIDE = 4128 };
static char unfinished[UNFINISHED][BESIDE];
static volatile sig_atomic_t unfinished_used[UNFINISHED];

static int note_unfinished(const char *path) {
  for (int i = 0; i < UNFINISHED; i++)
    if (!unfinished_used[i]) {
      snprintf(unfinished[i], sizeof unfinished[i], "%s", path);
      unfinished_used[i] = 1;
      return i;
    }
  return -1;
}

static void forget_unfinished(int slot) {
  if (slot >= 0) unfinished_used[slot] = 0;
}

void store_abandon_all(void) {
  for (int i = 0; i < UNFINISHED; i++)
    if (unfinished_used[i]) unlink(unfinished[i]);
}

/* Before the first call of HDF5: at exit it would trip over a file that a full disk left half closed. */
static void start_hdf5(void) {
  H5dont_atexit();
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

/* Where a new file is written: no other process's, so that it may be removed. */
static void name_beside(char *beside, size_t size, const char *path) {
  snprintf(beside, size, "%s.%ld.part", path, (long)getpid());
}

/* ---- errors ------------------------------------------------------------------------------------------ */

enum { REASON = 256 };

/* HDF5's reasons may go over several lines; in those that tell of a file the system's own words are what
 * counts: "file write failed: time = ...\n, ... error message = 'No space left on device', ...". */
static herr_t first_reason(unsigned n, const H5E_error2_t *entry, void *text) {
  static const char label[] = "error message = '";
  const char *reason = entry->desc ? entry->desc : "", *message = strstr(reason, label);
  (void)n;
  if (message) {
    message += sizeof label - 1;
    snprintf(text, REASON / 2, "%.*s: %.*s", (int)strcspn(reason, ":,"), reason, (int)strcspn(message, "'"),
             message);
  } else {
    snprintf(text, REASON / 2, "%.*s", (int)strcspn(reason, "\n"), reason);
  }
  return 1;
}

/* The innermost reason on HDF5's error stack, of one line, and what may help ("?"). */
static const char *hdf5_reason(char text[REASON]) {
  snprintf(text, REASON, "no reason given");
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, first_reason, text);
  size_t used = strlen(text);
  if (strstr(text, "version number"))
    snprintf(text + used, REASON - used,
             "; written by a newer HDF5 than this one (%d.%d.%d)? h5repack may help", H5_VERS_MAJOR,
             H5_VERS_MINOR, H5_VERS_RELEASE);
  return text;
}

static bool failed_to_lock(const char *reason) {
  return strstr(reason, "unable to lock") || strstr(reason, strerror(ENOLCK));
}

/* What helps where a file cannot be written, after the system's words for why; "": nothing known. */
static const char *what_helps(const char *path, const char *reason, char text[REASON]) {
  struct statvfs disk;
  char folder[BESIDE];
  const char *slash = strrchr(path, '/');
  snprintf(folder, sizeof folder, "%.*s/", slash ? (int)(slash - path) : 1, slash ? path : ".");
  *text = 0;
  if (failed_to_lock(reason))
    snprintf(text, REASON, "; HDF5_USE_FILE_LOCKING=FALSE in the environment writes without locks");
  else if (strstr(reason, strerror(EFBIG)))
    snprintf(text, REASON, "; `ulimit -f` says how large a file may be: allow more");
  else if (strstr(reason, strerror(ENOSPC)) && !statvfs(folder, &disk))
    snprintf(text, REASON, "; %.1f MiB are free there: free more, or name another place",
             (double)disk.f_bavail * (double)disk.f_frsize / 0x1p20);
  else if (strstr(reason, strerror(EDQUOT)))
    snprintf(text, REASON, "; your share of that disk is used up: free some of it, or name another place");
  return text;
}

static bool refuse_writing(const char *doing, const char *path, const char *beside, struct error *error) {
  char help[REASON];
  const char *reason = strerror(errno ? errno : EIO);
  return fail(error, "cannot %s %s: %s%s", doing, path, reason, what_helps(beside, reason, help));
}

static bool refuse(const struct store *store, const char *doing, const char *name, struct error *error) {
  char reason[REASON], help[REASON] = "";
  hdf5_reason(reason);
  if (store->beside) what_helps(store->beside, reason, help);
  return fail(error, "cannot %s %s in %s: %s%s", doing, name, store->path, reason, help);
}

/* ---- reading ------------------------------------------------------------------------------------------ */

static bool check_file(const char *path, struct error *error) {
  struct stat status;
  if (stat(path, &status)) return fail(error, "cannot open %s: %s", path, strerror(errno));
  if (!S_ISREG(status.st_mode)) return fail(error, "%s is not a file", path);
  if (status.st_size == 0) return fail(error, "%s is empty; download or write it again", path);
  int descriptor = open(path, O_RDONLY);
  if (descriptor < 0) return fail(error, "cannot open %s: %s", path, strerror(errno));
  close(descriptor);
  if (H5Fis_hdf5(path) <= 0)
    return fail(error, "%s has no HDF5 signature; it is another kind of file or a broken download", path);
  return true;
}

static bool refuse_file(const char *path, struct error *error) {
  char reason[REASON];
  bool newer = strchr(hdf5_reason(reason), '?');
  return fail(error, "cannot read %s: %s%s", path, reason,
              newer ? "" : "; the file may be cut short, fetch it again");
}

static struct store *new_store(const char *path) {
  struct arena *arena = arena_open();
  struct store *store = ARENA_NEW(arena, struct store, 1);
  *store = (struct store){.arena = arena, .file = H5I_INVALID_HID, .dataset = H5I_INVALID_HID, .slot = -1};
  store->path = arena_text(arena, "%s", path);
  return store;
}

static void go_without_locks(hid_t access) {
#if H5_VERSION_GE(1, 10, 7) && !(H5_VERS_MAJOR == 1 && H5_VERS_MINOR == 12 && H5_VERS_RELEASE < 1)
  H5Pset_file_locking(access, 0, 1);
#else
  (void)access;
#endif
}

bool store_open(struct store **out, const char *path, struct error *error) {
  *out = NULL;
  start_hdf5();
  if (!check_file(path, error)) return false;
  hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  go_without_locks(access); /* read-only media cannot be locked */
  struct store *store = new_store(path);
  store->file = H5Fopen(path, H5F_ACC_RDONLY, access);
  if (store->file < 0) {
    refuse_file(path, error); /* first: the next call clears HDF5's error stack */
    store_close(store);
    store = NULL;
  }
  H5Pclose(access);
  *out = store;
  return store;
}

static void forget_dataset(struct store *store) {
  if (store->dataset >= 0) H5Dclose(store->dataset);
  store->dataset = H5I_INVALID_HID;
}

void store_close(struct store *store) {
  if (!store) return;
  forget_dataset(store);
  if (store->file >= 0) H5Fclose(store->file);
  if (store->beside) unlink(store->beside);
  forget_unfinished(store->slot);
  arena_close(store->arena);
}

bool store_has(struct store *store, const char *name) {
  char part[512];
  for (const char *c = name;; c++) { /* every group on the way must exist */
    if (*c && *c != '/') continue;
    size_t length = (size_t)(c - name);
    if (length >= sizeof part) return false;
    memcpy(part, name, length);
    part[length] = 0;
    if (length && H5Lexists(store->file, part, H5P_DEFAULT) <= 0) return false;
    if (!*c) return true;
  }
}

/* Of chunks that are kept decompressed: bytes, and how many, for each takes slots of a table too. */
enum { CACHE_MOST = 1 << 30, CACHE_CHUNKS = 1 << 16 };

static hid_t open_dataset(struct store *store, const char *name, struct error *error) {
  if (!store_has(store, name)) {
    fail(error, "%s has no dataset %s", store->path, name);
    return H5I_INVALID_HID;
  }
  hid_t dataset = H5Dopen2(store->file, name, H5P_DEFAULT);
  if (dataset < 0) refuse(store, "open", name, error);
  return dataset;
}

bool store_shape(struct store *store, const char *name, struct store_shape *shape, struct error *error) {
  hid_t dataset = open_dataset(store, name, error);
  if (dataset < 0) return false;
  hid_t space = H5Dget_space(dataset), type = H5Dget_type(dataset);
  hsize_t size[H5S_MAX_RANK];
  int rank = H5Sget_simple_extent_dims(space, size, NULL);
  bool pair = H5Tget_class(type) == H5T_COMPOUND && H5Tget_nmembers(type) == 2;
  *shape = (struct store_shape){.rank = rank, .complex = pair};
  bool good = rank >= 0 && rank <= STORE_RANK;
  for (int i = 0; good && i < rank; i++) shape->size[i] = (size_t)size[i];
  if (!good)
    fail(error, "%s in %s has rank %d; at most %d is understood", name, store->path, rank, STORE_RANK);
  H5Tclose(type);
  H5Sclose(space);
  H5Dclose(dataset);
  return good;
}

/* A memory type for complex data whose member names are those of the file (r/i, real/imag, ...). */
static hid_t complex_type(hid_t dataset) {
  hid_t type = H5Dget_type(dataset), memory = H5I_INVALID_HID;
  if (H5Tget_class(type) == H5T_COMPOUND && H5Tget_nmembers(type) == 2) {
    char *first = H5Tget_member_name(type, 0), *second = H5Tget_member_name(type, 1);
    memory = H5Tcreate(H5T_COMPOUND, 2 * sizeof(float));
    bool swapped = first && first[0] == 'i'; /* imaginary part stored first */
    H5Tinsert(memory, first, swapped ? sizeof(float) : 0, H5T_NATIVE_FLOAT);
    H5Tinsert(memory, second, swapped ? 0 : sizeof(float), H5T_NATIVE_FLOAT);
    H5free_memory(first);
    H5free_memory(second);
  }
  H5Tclose(type);
  return memory;
}

static hid_t memory_type(enum store_type type, hid_t dataset) {
  switch (type) {
  case STORE_U8: return H5Tcopy(H5T_NATIVE_UINT8);
  case STORE_U32: return H5Tcopy(H5T_NATIVE_UINT32);
  case STORE_F32: return H5Tcopy(H5T_NATIVE_FLOAT);
  case STORE_F64: return H5Tcopy(H5T_NATIVE_DOUBLE);
  case STORE_C64: break;
  }
  return complex_type(dataset);
}

/* HDF5 does not convert an enumeration (h5py's booleans) to an integer: read it as its own base type. */
static hid_t readable_type(enum store_type type, hid_t dataset) {
  hid_t stored = H5Dget_type(dataset), memory;
  if (type == STORE_U8 && H5Tget_class(stored) == H5T_ENUM && H5Tget_size(stored) == 1) {
    H5Tclose(stored);
    return H5Dget_type(dataset);
  }
  H5Tclose(stored);
  memory = memory_type(type, dataset);
  return memory;
}

static bool read_dataset(struct store *store, hid_t dataset, const char *name, enum store_type type,
                         const size_t *start, const size_t *count, void *to, struct error *error) {
  hid_t space = H5Dget_space(dataset), memory = readable_type(type, dataset);
  hsize_t from[STORE_RANK], size[STORE_RANK], total = 1;
  int rank = H5Sget_simple_extent_ndims(space);
  for (int i = 0; i < rank; i++) {
    from[i] = start ? start[i] : 0;
    size[i] = count[i];
    total *= size[i];
  }
  if (rank > 0) H5Sselect_hyperslab(space, H5S_SELECT_SET, from, NULL, size, NULL);
  hid_t flat = H5Screate_simple(1, &total, NULL);
  herr_t code = memory < 0 ? -1 : H5Dread(dataset, memory, flat, space, H5P_DEFAULT, to);
  if (memory < 0)
    fail(error, "%s in %s is not a compound of two numbers", name, store->path);
  else if (code < 0)
    refuse(store, "read", name, error);
  H5Sclose(flat);
  if (memory >= 0) H5Tclose(memory);
  H5Sclose(space);
  return code >= 0;
}

/* Bytes of the chunks that one entry of the first axis lies in, where they hold other entries too; else 0. */
static size_t shared_chunks(hid_t dataset, size_t *chunks) {
  hsize_t size[H5S_MAX_RANK], chunk[H5S_MAX_RANK];
  hid_t space = H5Dget_space(dataset), type = H5Dget_type(dataset), plist = H5Dget_create_plist(dataset);
  int rank = H5Pget_layout(plist) == H5D_CHUNKED ? H5Pget_chunk(plist, H5S_MAX_RANK, chunk) : 0;
  double bytes = (double)H5Tget_size(type), count = 1;
  H5Sget_simple_extent_dims(space, size, NULL);
  for (int i = 0; i < rank; i++) {
    double across = i && chunk[i] ? ceil((double)size[i] / (double)chunk[i]) : 1;
    count *= across;
    bytes *= (double)chunk[i] * across;
  }
  H5Pclose(plist);
  H5Tclose(type);
  H5Sclose(space);
  bool kept = rank > 0 && chunk[0] > 1 && bytes <= CACHE_MOST && count <= CACHE_CHUNKS;
  *chunks = kept ? (size_t)count : 0;
  return kept ? (size_t)bytes : 0;
}

/* Opens the dataset with room for such chunks: else HDF5 decompresses them once an entry. */
static bool keep_dataset(struct store *store, const char *name, struct error *error) {
  if (store->dataset >= 0 && !strcmp(store->dataset_name, name)) return true;
  forget_dataset(store);
  store->dataset = open_dataset(store, name, error);
  if (store->dataset < 0) return false;
  size_t chunks, bytes = shared_chunks(store->dataset, &chunks);
  if (bytes) {
    hid_t access = H5Pcreate(H5P_DATASET_ACCESS);
    H5Pset_chunk_cache(access, 16 * chunks + 1, bytes, H5D_CHUNK_CACHE_W0_DEFAULT);
    forget_dataset(store);
    store->dataset = H5Dopen2(store->file, name, access);
    H5Pclose(access);
  }
  snprintf(store->dataset_name, sizeof store->dataset_name, "%s", name);
  return store->dataset >= 0 ? true : refuse(store, "open", name, error);
}

bool store_read(struct store *store, const char *name, enum store_type type, const size_t *start,
                const size_t *count, void *to, struct error *error) {
  struct store_shape shape;
  return store_shape(store, name, &shape, error) && /* checks the rank */
         keep_dataset(store, name, error) &&
         read_dataset(store, store->dataset, name, type, start, count, to, error);
}

/* ---- what a file can hold ------------------------------------------------------------------------------ */

/* Deflate makes at most 1032 bytes of one, and most filters less. */
enum { EXPANSION = 4096 };
static const size_t MOST_ENTRIES = (size_t)1 << 52; /* a double holds every number below */

struct extent {
  double bytes;          /* that the shape says, up to whole chunks */
  hsize_t stored;        /* bytes in the file */
  hsize_t chunks, there; /* that the shape says; that are written */
};

static void measure_chunks(hid_t dataset, hid_t plist, hid_t space, struct extent *extent) {
  hsize_t size[H5S_MAX_RANK], chunk[H5S_MAX_RANK];
  int rank = H5Pget_chunk(plist, H5S_MAX_RANK, chunk);
  H5Sget_simple_extent_dims(space, size, NULL);
  extent->chunks = 1;
  for (int i = 0; i < rank; i++) {
    hsize_t across = chunk[i] ? size[i] / chunk[i] + (size[i] % chunk[i] != 0) : size[i];
    if (__builtin_mul_overflow(extent->chunks, across, &extent->chunks)) extent->chunks = UINT64_MAX;
    extent->bytes *= (double)across * (double)chunk[i];
  }
#if H5_VERSION_GE(1, 10, 5)
  if (H5Dget_num_chunks(dataset, space, &extent->there) < 0) extent->there = 0;
#else
  (void)dataset;
  extent->there = extent->chunks;
#endif
}

static void measure_extent(hid_t dataset, hid_t plist, struct extent *extent) {
  hid_t space = H5Dget_space(dataset), type = H5Dget_type(dataset);
  *extent = (struct extent){.bytes = (double)H5Tget_size(type), .stored = H5Dget_storage_size(dataset)};
  if (H5Pget_layout(plist) == H5D_CHUNKED)
    measure_chunks(dataset, plist, space, extent);
  else
    extent->bytes *= (double)H5Sget_simple_extent_npoints(space);
  H5Sclose(space);
  H5Tclose(type);
}

static bool check_extent(struct store *store, const char *name, const struct extent *extent, bool filtered,
                         struct error *error) {
  hsize_t length = 0;
  if (H5Fget_filesize(store->file, &length) < 0) return refuse(store, "measure", name, error);
  double stored = (double)(extent->stored < length ? extent->stored : length);
  if (extent->bytes > stored * (filtered ? EXPANSION : 1) && stored > 0)
    return fail(
        error,
        "%s in %s claims %.4g bytes, of which the file of %.4g bytes holds %.4g; it is damaged, fetch "
        "or write it again",
        name, store->path, extent->bytes, (double)length, stored);
  if (extent->bytes > 0 && (extent->stored == 0 || extent->there < extent->chunks))
    return fail(
        error,
        "%s in %s was never written, or only in part (%llu of %llu chunks); the file is damaged, fetch "
        "or write it again",
        name, store->path, (unsigned long long)extent->there, (unsigned long long)extent->chunks);
  return true;
}

static bool check_held(struct store *store, hid_t dataset, const char *name, struct error *error) {
  struct extent extent;
  hid_t plist = H5Dget_create_plist(dataset);
  H5D_layout_t layout = H5Pget_layout(plist);
  bool elsewhere = layout == H5D_VIRTUAL || H5Pget_external_count(plist) > 0;
  bool filtered = H5Pget_nfilters(plist) > 0, good = true;
  if (!elsewhere) {
    measure_extent(dataset, plist, &extent);
    good = check_extent(store, name, &extent, filtered, error);
  }
  H5Pclose(plist);
  return good;
}

bool store_check_held(struct store *store, const char *name, struct error *error) {
  hid_t dataset = open_dataset(store, name, error);
  if (dataset < 0) return false;
  bool good = check_held(store, dataset, name, error);
  H5Dclose(dataset);
  return good;
}

static size_t type_bytes(enum store_type type) {
  static const size_t bytes[] = {1, 4, 4, 8, 8};
  return bytes[type];
}

/* Of a dataset of at most `most` entries that the file can hold. */
static bool count_entries(struct store *store, const char *name, size_t most, struct store_shape *shape,
                          size_t *total, struct error *error) {
  if (!store_shape(store, name, shape, error)) return false;
  REQUIRE(most <= MOST_ENTRIES, "%s may have %zu entries", name, most);
  double entries = 1;
  for (int i = 0; i < shape->rank; i++) entries *= (double)shape->size[i];
  if (entries > (double)most)
    return fail(error, "%s in %s has %.20g entries; at most %zu are expected: the file is damaged or another",
                name, store->path, entries, most);
  *total = (size_t)entries;
  return !*total || store_check_held(store, name, error);
}

bool store_read_all(struct store *store, const char *name, enum store_type type, size_t most,
                    struct arena *arena, void **data, size_t *total, struct error *error) {
  struct store_shape shape;
  if (!count_entries(store, name, most, &shape, total, error)) return false;
  *data = arena_try_array(arena, type_bytes(type), *total);
  if (!*data) return fail(error, "%s in %s is too large for this host", name, store->path);
  if (!*total) return true;
  return store_read(store, name, type, NULL, shape.size, *data, error);
}

bool store_read_known(struct store *store, const char *name, enum store_type type, size_t total, void *to,
                      struct error *error) {
  struct store_shape shape;
  size_t found = 0;
  if (!count_entries(store, name, total, &shape, &found, error)) return false;
  if (found != total)
    return fail(error, "%s in %s has %zu entries; expected %zu: the file is damaged or another", name,
                store->path, found, total);
  return !total || store_read(store, name, type, NULL, shape.size, to, error);
}

/* Opens an attribute of the root, or a scalar dataset of that name; *is_attribute says which. */
static hid_t open_scalar(struct store *store, const char *name, bool *is_attribute) {
  *is_attribute = H5Aexists(store->file, name) > 0;
  if (*is_attribute) return H5Aopen(store->file, name, H5P_DEFAULT);
  return store_has(store, name) ? H5Dopen2(store->file, name, H5P_DEFAULT) : H5I_INVALID_HID;
}

static void close_scalar(hid_t object, bool is_attribute) {
  if (is_attribute)
    H5Aclose(object);
  else
    H5Dclose(object);
}

static bool read_string(hid_t object, bool is_attribute, hid_t type, char *text, size_t size) {
  hid_t memory = H5Tcopy(type);
  bool good = false;
  if (H5Tis_variable_str(type) > 0) {
    char *pointer = NULL;
    herr_t code = is_attribute ? H5Aread(object, memory, &pointer)
                               : H5Dread(object, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, &pointer);
    good = code >= 0 && pointer;
    if (good) snprintf(text, size, "%s", pointer);
    if (pointer) H5free_memory(pointer);
  } else if (H5Tget_size(type) < (1 << 20)) {
    struct arena *arena = arena_open();
    char *fixed = arena_new(arena, H5Tget_size(type) + 1);
    herr_t code = is_attribute ? H5Aread(object, memory, fixed)
                               : H5Dread(object, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, fixed);
    good = code >= 0;
    if (good) snprintf(text, size, "%s", fixed);
    arena_close(arena);
  }
  H5Tclose(memory);
  return good;
}

static bool is_single(hid_t object, bool is_attribute) {
  hid_t space = is_attribute ? H5Aget_space(object) : H5Dget_space(object);
  bool single = H5Sget_simple_extent_npoints(space) == 1;
  H5Sclose(space);
  return single;
}

bool store_text(struct store *store, const char *name, char *text, size_t size) {
  bool is_attribute, good = false;
  hid_t object = open_scalar(store, name, &is_attribute);
  if (object < 0) return false;
  hid_t type = is_attribute ? H5Aget_type(object) : H5Dget_type(object);
  if (H5Tget_class(type) == H5T_STRING && is_single(object, is_attribute))
    good = read_string(object, is_attribute, type, text, size);
  H5Tclose(type);
  close_scalar(object, is_attribute);
  return good;
}

bool store_number(struct store *store, const char *name, double *value) {
  bool is_attribute;
  hid_t object = open_scalar(store, name, &is_attribute);
  if (object < 0) return false;
  herr_t code = -1;
  if (is_single(object, is_attribute))
    code = is_attribute ? H5Aread(object, H5T_NATIVE_DOUBLE, value)
                        : H5Dread(object, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, value);
  close_scalar(object, is_attribute);
  return code >= 0;
}

static size_t print_chunk(hid_t plist, char *text, size_t size) {
  hsize_t chunk[H5S_MAX_RANK];
  int rank = H5Pget_chunk(plist, H5S_MAX_RANK, chunk);
  size_t used = (size_t)snprintf(text, size, "chunked ");
  for (int i = 0; i < rank && used < size; i++)
    used += (size_t)snprintf(text + used, size - used, "%s%llu", i ? "x" : "", (unsigned long long)chunk[i]);
  for (int i = 0; i < H5Pget_nfilters(plist) && used < size; i++) {
    unsigned flags, values[8] = {0};
    size_t count = 8;
    char name[32] = "";
    H5Z_filter_t filter = H5Pget_filter2(plist, (unsigned)i, &flags, &count, values, sizeof name, name, NULL);
    used += (size_t)snprintf(text + used, size - used, ", %s", name[0] ? name : "filter");
    if (filter == H5Z_FILTER_DEFLATE && used < size)
      used += (size_t)snprintf(text + used, size - used, " %u", values[0]);
  }
  return used;
}

void store_layout(struct store *store, const char *name, char *text, size_t size) {
  struct error ignored;
  snprintf(text, size, "unreadable");
  hid_t dataset = open_dataset(store, name, &ignored);
  if (dataset < 0) return;
  hid_t plist = H5Dget_create_plist(dataset);
  if (H5Pget_layout(plist) == H5D_CHUNKED)
    print_chunk(plist, text, size);
  else
    snprintf(text, size, H5Pget_layout(plist) == H5D_COMPACT ? "compact" : "contiguous");
  H5Pclose(plist);
  H5Dclose(dataset);
}

struct listing {
  store_see *see;
  void *context;
};

static herr_t see_object(hid_t root, const char *name, const H5O_info_t *info, void *data) {
  const struct listing *listing = data;
  (void)root;
  if (info->type == H5O_TYPE_DATASET) listing->see(name, listing->context);
  return 0;
}

bool store_list(struct store *store, store_see *see, void *context, struct error *error) {
  struct listing listing = {see, context};
  if (H5Ovisit(store->file, H5_INDEX_NAME, H5_ITER_NATIVE, see_object, &listing) >= 0) return true;
  return refuse(store, "list", "the datasets", error);
}

/* ---- writing ------------------------------------------------------------------------------------------ */

/* Where the file system gives no locks, without: nobody else knows the name of the new file. */
static hid_t create_file(const char *beside, const char *path) {
  char reason[REASON];
  hid_t file = H5Fcreate(beside, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  if (file >= 0 || !failed_to_lock(hdf5_reason(reason))) return file;
  log_warning("%s is written without a lock, as with HDF5_USE_FILE_LOCKING=FALSE: %s", path, reason);
  hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  go_without_locks(access);
  errno = ENOLCK; /* what is said where this HDF5 cannot do without */
  file = H5Fcreate(beside, H5F_ACC_TRUNC, H5P_DEFAULT, access);
  H5Pclose(access);
  return file;
}

bool store_create(struct store **out, const char *path, struct error *error) {
  *out = NULL;
  start_hdf5();
  struct store *store = new_store(path);
  size_t size = strlen(path) + 32;
  char *beside = arena_new(store->arena, size);
  name_beside(beside, size, path);
  store->beside = beside; /* a full disk refuses the file and yet leaves it */
  store->slot = note_unfinished(beside);
  errno = 0;
  store->file = create_file(beside, path);
  if (store->file < 0) {
    refuse_writing("write", path, beside, error);
    store_close(store);
    return false;
  }
  *out = store;
  return true;
}

static hid_t file_type(enum store_type type) {
  switch (type) {
  case STORE_U8: return H5Tcopy(H5T_STD_U8LE);
  case STORE_U32: return H5Tcopy(H5T_STD_U32LE);
  case STORE_F32: return H5Tcopy(H5T_IEEE_F32LE);
  case STORE_F64: return H5Tcopy(H5T_IEEE_F64LE);
  case STORE_C64: break;
  }
  hid_t complex = H5Tcreate(H5T_COMPOUND, 8);
  H5Tinsert(complex, "r", 0, H5T_IEEE_F32LE);
  H5Tinsert(complex, "i", 4, H5T_IEEE_F32LE);
  return complex;
}

/* Without the time of writing: the same data make the same bytes. */
static hid_t creation_list(int rank, const hsize_t *size, bool compress) {
  hid_t plist = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_obj_track_times(plist, false);
  if (!compress || rank < 1) return plist;
  hsize_t chunk[STORE_RANK];
  for (int i = 0; i < rank; i++) {
    chunk[i] = i < rank - 2 ? 1 : size[i];
    if (!chunk[i]) return plist;
  }
  H5Pset_chunk(plist, rank, chunk);
  H5Pset_shuffle(plist);
  H5Pset_deflate(plist, 4);
  return plist;
}

bool store_write(struct store *store, const char *name, enum store_type type, int rank, const size_t *size,
                 const void *from, bool compress, struct error *error) {
  hsize_t extent[STORE_RANK];
  REQUIRE(rank >= 0 && rank <= STORE_RANK, "%s has rank %d", name, rank);
  for (int i = 0; i < rank; i++) extent[i] = size[i];
  hid_t space = rank ? H5Screate_simple(rank, extent, NULL) : H5Screate(H5S_SCALAR);
  hid_t link = H5Pcreate(H5P_LINK_CREATE), plist = creation_list(rank, extent, compress);
  hid_t stored = file_type(type);
  H5Pset_create_intermediate_group(link, 1);
  hid_t dataset = H5Dcreate2(store->file, name, stored, space, link, plist, H5P_DEFAULT);
  /* the file's little-endian types are this library's memory types on every machine we build for */
  herr_t code = dataset < 0 ? -1 : H5Dwrite(dataset, stored, H5S_ALL, H5S_ALL, H5P_DEFAULT, from);
  if (code < 0) refuse(store, "write", name, error);
  if (dataset >= 0) H5Dclose(dataset);
  H5Tclose(stored);
  H5Pclose(plist);
  H5Pclose(link);
  H5Sclose(space);
  return code >= 0;
}

static hid_t text_type(void) {
  hid_t type = H5Tcopy(H5T_C_S1);
  H5Tset_size(type, H5T_VARIABLE);
  H5Tset_cset(type, H5T_CSET_UTF8);
  return type;
}

bool store_write_text(struct store *store, const char *name, const char *text, struct error *error) {
  hid_t type = text_type(), space = H5Screate(H5S_SCALAR), plist = creation_list(0, NULL, false);
  hid_t dataset = H5Dcreate2(store->file, name, type, space, H5P_DEFAULT, plist, H5P_DEFAULT);
  herr_t code = dataset < 0 ? -1 : H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, &text);
  if (code < 0) refuse(store, "write", name, error);
  if (dataset >= 0) H5Dclose(dataset);
  H5Pclose(plist);
  H5Sclose(space);
  H5Tclose(type);
  return code >= 0;
}

static bool put_attribute(struct store *store, const char *name, hid_t type, const void *value,
                          struct error *error) {
  hid_t space = H5Screate(H5S_SCALAR);
  hid_t attribute = H5Acreate2(store->file, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
  herr_t code = attribute < 0 ? -1 : H5Awrite(attribute, type, value);
  if (code < 0) refuse(store, "write attribute", name, error);
  if (attribute >= 0) H5Aclose(attribute);
  H5Sclose(space);
  return code >= 0;
}

bool store_put_text(struct store *store, const char *name, const char *text, struct error *error) {
  hid_t type = text_type();
  bool good = put_attribute(store, name, type, &text, error);
  H5Tclose(type);
  return good;
}

bool store_put_number(struct store *store, const char *name, double value, struct error *error) {
  return put_attribute(store, name, H5T_NATIVE_DOUBLE, &value, error);
}

static bool sync_path(const char *path) {
  int descriptor = open(path, O_RDONLY);
  if (descriptor < 0) return false;
  bool good = fsync(descriptor) == 0;
  close(descriptor);
  return good;
}

bool store_commit(struct store *store, struct error *error) {
  herr_t code = H5Fclose(store->file);
  store->file = H5I_INVALID_HID;
  bool good = code >= 0 && sync_path(store->beside) && rename(store->beside, store->path) == 0;
  if (good)
    store->beside = NULL;
  else
    refuse_writing("finish", store->path, store->beside, error);
  store_close(store);
  return good;
}

/* ---- text files and folders --------------------------------------------------------------------------- */

static void forget_file(const struct text_file *file) {
  for (int i = 0; i < UNFINISHED; i++)
    if (unfinished_used[i] && !strcmp(unfinished[i], file->beside)) forget_unfinished(i);
}

bool file_create(struct text_file *file, const char *path, struct error *error) {
  snprintf(file->path, sizeof file->path, "%s", path);
  name_beside(file->beside, sizeof file->beside, file->path);
  note_unfinished(file->beside);
  file->file = fopen(file->beside, "wb");
  if (file->file) return true;
  refuse_writing("write", file->path, file->path, error);
  forget_file(file);
  return false;
}

void file_abandon(struct text_file *file) {
  if (file->file) fclose(file->file);
  file->file = NULL;
  unlink(file->beside);
  forget_file(file);
}

bool file_commit(struct text_file *file, struct error *error) {
  bool good = !ferror(file->file) && fflush(file->file) == 0 && fsync(fileno(file->file)) == 0;
  good = fclose(file->file) == 0 && good;
  file->file = NULL;
  good = good && rename(file->beside, file->path) == 0;
  if (!good) {
    refuse_writing("finish", file->path, file->beside, error);
    unlink(file->beside);
  }
  forget_file(file);
  return good;
}

bool file_is_there(const char *path) {
  struct stat status;
  return stat(path, &status) == 0;
}

bool folder_is_there(const char *path) {
  struct stat status;
  return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* Hours of work should not end at a folder that nothing can be written into. */
static bool try_folder(const char *path, struct error *error) {
  char file[4096];
  snprintf(file, sizeof file, "%s/.l2sr-%ld", path, (long)getpid());
  int made = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (made < 0)
    return fail(error, "cannot write into %s: %s; name another place for the output", path, strerror(errno));
  close(made);
  unlink(file);
  return true;
}

bool folder_make(const char *path, struct error *error) {
  char part[4096];
  snprintf(part, sizeof part, "%s", path);
  for (char *c = part; *c; c++)
    if (*c == '/' && c > part) {
      *c = 0;
      mkdir(part, 0777);
      *c = '/';
    }
  if (mkdir(part, 0777) && errno != EEXIST)
    return fail(error, "cannot make folder %s: %s", path, strerror(errno));
  if (!folder_is_there(part))
    return fail(error, "%s is not a folder; name another place for the output", path);
  return try_folder(path, error);
}
