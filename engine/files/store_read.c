/* Datasets of numbers: what a file can hold of them, and reading them. */
#include "engine/files/store_inside.h"

#include <math.h>
#include <string.h>

/* The most chunks that are kept decompressed: bytes, and how many, for each takes slots of a table too. */
enum { CACHE_MOST = 1 << 30, CACHE_CHUNKS = 1 << 16 };

/* A memory type for complex data whose member names are those of the file (r/i, real/imag, ...). */
static hid_t complex_type(hid_t dataset) {
  hid_t type = H5Dget_type(dataset), memory = H5I_INVALID_HID;
  if (store_is_complex(type)) {
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

/* libhdf5 would say "unable to convert between src and dest datatype". */
static bool check_numbers(struct store *store, hid_t dataset, const char *name, struct error *error) {
  char words[128];
  hid_t type = H5Dget_type(dataset);
  H5T_class_t class = H5Tget_class(type);
  H5Tclose(type);
  if (class == H5T_INTEGER || class == H5T_FLOAT || class == H5T_ENUM) return true;
  store_type_words(store, name, words, sizeof words);
  return fail_file(error, "%s in %s holds no numbers but %s; write it as numbers", name, store->path, words);
}

/* libhdf5 clears a buffer of 1 MiB to convert even a number. */
static hid_t transfer_list(hsize_t entries) {
  enum { BUFFER = 1 << 16, ENTRY = 16 };
  hid_t list = H5Pcreate(H5P_DATASET_XFER);
  if (entries <= BUFFER / ENTRY) H5Pset_buffer(list, BUFFER, NULL, NULL);
  return list;
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
  hid_t flat = H5Screate_simple(1, &total, NULL), transfer = transfer_list(total);
  herr_t code = memory < 0 ? -1 : H5Dread(dataset, memory, flat, space, transfer, to);
  if (memory < 0)
    fail_file(error, "%s in %s is not a compound of two numbers", name, store->path);
  else if (code < 0)
    store_refuse(store, "read", name, error);
  H5Pclose(transfer);
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

/* Opens the kept dataset anew with room for such chunks: else HDF5 decompresses them once an entry. */
static bool add_cache(struct store *store, const char *name, struct error *error) {
  size_t chunks, bytes = store->has_cache ? 0 : shared_chunks(store->dataset, &chunks);
  store->has_cache = true;
  if (!bytes) return true;
  hid_t access = H5Pcreate(H5P_DATASET_ACCESS);
  H5Pset_chunk_cache(access, 16 * chunks + 1, bytes, H5D_CHUNK_CACHE_W0_DEFAULT);
  H5Dclose(store->dataset);
  store->dataset = H5Dopen2(store->file, name, access);
  H5Pclose(access);
  return store->dataset >= 0 ? true : store_refuse(store, "open", name, error);
}

/* ---- what a file can hold ------------------------------------------------------------------------------ */

/* Deflate makes at most 1032 bytes of one, and most filters less. */
enum { EXPANSION = 4096 };
static const size_t MOST_ENTRIES = (size_t)1 << 52; /* a double holds every number below */

struct extent {
  double bytes;          /* bytes of the whole shape, up to whole chunks */
  hsize_t stored;        /* bytes in the file */
  hsize_t chunks, there; /* chunks of the whole shape; those that are written */
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

/* The file that the dataset lies in: a link may lead to another one. */
static bool measure_file(hid_t dataset, hsize_t *length) {
  hid_t file = H5Iget_file_id(dataset);
  bool good = file >= 0 && H5Fget_filesize(file, length) >= 0;
  if (file >= 0) H5Fclose(file);
  return good;
}

static bool check_extent(struct store *store, hid_t dataset, const char *name, const struct extent *extent,
                         bool filtered, struct error *error) {
  hsize_t length = 0;
  if (!measure_file(dataset, &length)) return store_refuse(store, "measure", name, error);
  double stored = (double)(extent->stored < length ? extent->stored : length);
  bool beyond = extent->stored > length; /* chunks that say they are larger than the file */
  if (beyond || (extent->bytes > stored * (filtered ? EXPANSION : 1) && stored > 0))
    return fail_file(
        error,
        "%s in %s claims %.4g bytes, of which the file of %.4g bytes holds %.4g; it is damaged, fetch "
        "or write it again",
        name, store->path, extent->bytes, (double)length, stored);
  if (extent->bytes > 0 && (extent->stored == 0 || extent->there < extent->chunks))
    return fail_file(
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
  bool filtered = H5Pget_nfilters(plist) > 0, good = store_check_filters(store, plist, name, error);
  if (good && elsewhere) good = store_check_sources(store, dataset, plist, name, error);
  if (good && !elsewhere) {
    measure_extent(dataset, plist, &extent);
    good = check_extent(store, dataset, name, &extent, filtered, error);
  }
  H5Pclose(plist);
  return good;
}

bool store_check_held(struct store *store, const char *name, struct error *error) {
  HOLD(LOCK_FILES);
  return store_keep_dataset(store, name, error) && check_held(store, store->dataset, name, error);
}

/* ---- reading ------------------------------------------------------------------------------------------- */

double store_chunk_bytes(hid_t dataset) {
  hsize_t chunk[H5S_MAX_RANK];
  hid_t type = H5Dget_type(dataset), plist = H5Dget_create_plist(dataset);
  int rank = H5Pget_layout(plist) == H5D_CHUNKED ? H5Pget_chunk(plist, H5S_MAX_RANK, chunk) : 0;
  double bytes = rank > 0 ? (double)H5Tget_size(type) : 0;
  for (int i = 0; i < rank; i++) bytes *= (double)chunk[i];
  H5Pclose(plist);
  H5Tclose(type);
  return bytes;
}

static bool lies_elsewhere(hid_t dataset) {
  hid_t plist = H5Dget_create_plist(dataset);
  bool elsewhere = H5Pget_layout(plist) == H5D_VIRTUAL || H5Pget_external_count(plist) > 0;
  H5Pclose(plist);
  return elsewhere;
}

/* A large chunk, which libhdf5 reads as a whole, is held by the file; and what lies in other files is there,
 * and no pipe. */
static bool guard(struct store *store, const char *name, struct error *error) {
  hid_t dataset = store->dataset;
  bool ask = !store->is_guarded && (store_chunk_bytes(dataset) > STORE_CHUNK_MOST || lies_elsewhere(dataset));
  store->is_guarded = !ask || check_held(store, dataset, name, error);
  return store->is_guarded;
}

bool store_read(struct store *store, const char *name, enum store_type type, const size_t *start,
                const size_t *count, void *to, struct error *error) {
  HOLD(LOCK_FILES);
  struct store_shape shape;
  return store_keep_dataset(store, name, error) && guard(store, name, error) &&
         add_cache(store, name, error) &&
         (type == STORE_C64 || check_numbers(store, store->dataset, name, error)) &&
         store_shape_of(store, store->dataset, name, &shape, error) && /* checks the rank */
         read_dataset(store, store->dataset, name, type, start, count, to, error);
}

size_t store_type_bytes(enum store_type type) {
  static const size_t bytes[] = {1, 4, 4, 8, 8};
  return bytes[type];
}

/* Refuses a dataset of more than `most` entries, or of more than the file can hold. */
static bool count_entries(struct store *store, const char *name, size_t most, struct store_shape *shape,
                          size_t *total, struct error *error) {
  if (!store_shape(store, name, shape, error)) return false;
  REQUIRE(most <= MOST_ENTRIES, "%s may have %zu entries", name, most);
  double entries = 1;
  for (int i = 0; i < shape->rank; i++) entries *= (double)shape->size[i];
  if (entries > (double)most)
    return fail_file(error,
                     "%s in %s has %.20g entries; at most %zu are expected: the file is damaged or another",
                     name, store->path, entries, most);
  *total = (size_t)entries;
  return !*total || store_check_held(store, name, error);
}

bool store_read_all(struct store *store, const char *name, enum store_type type, size_t most,
                    struct arena *arena, void **data, size_t *total, struct error *error) {
  HOLD(LOCK_FILES);
  struct store_shape shape;
  if (!count_entries(store, name, most, &shape, total, error)) return false;
  *data = arena_try_array(arena, store_type_bytes(type), *total);
  if (!*data) return fail_memory(error, "%s in %s is too large for this host", name, store->path);
  if (!*total) return true;
  return store_read(store, name, type, NULL, shape.size, *data, error) &&
         store_check_data(store, name, type, &shape, *data, *total, error);
}

bool store_read_known(struct store *store, const char *name, enum store_type type, size_t total, void *to,
                      struct error *error) {
  HOLD(LOCK_FILES);
  struct store_shape shape;
  size_t found = 0;
  if (!count_entries(store, name, total, &shape, &found, error)) return false;
  if (found != total)
    return fail_file(error, "%s in %s has %zu entries; expected %zu: the file is damaged or another", name,
                     store->path, found, total);
  return !total || (store_read(store, name, type, NULL, shape.size, to, error) &&
                    store_check_data(store, name, type, &shape, to, total, error));
}
