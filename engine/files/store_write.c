/* New HDF5 files. */
#include "engine/base/half.h"
#include "engine/base/log.h"
#include "engine/files/store_inside.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* The descriptor of an open file. */
static int descriptor_of(hid_t file) {
  void *handle = NULL;
  return H5Fget_vfd_handle(file, H5P_DEFAULT, &handle) >= 0 && handle ? *(int *)handle : -1;
}

/* H5F_ACC_EXCL is O_CREAT | O_EXCL: it makes a file, and opens no other through a link. Where the file system
 * gives no locks, without: nobody else knows the name of the new file. */
static int make_hdf5(const char *path, void *context) {
  struct store *store = context;
  char reason[REASON];
  if (store->file >= 0) H5Fclose(store->file); /* it was removed before it was locked */
  errno = 0;
  store->file = H5Fcreate(path, H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT);
  if (store->file < 0 && part_lacks_lock(store_reason(reason))) {
    static bool said; /* once a process, by LOCK_FILES: a training writes a file an epoch */
    if (!said)
      log_warning("%s is written without a lock, as with HDF5_USE_FILE_LOCKING=FALSE: %s", store->path,
                  reason);
    said = true;
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    store_without_locks(access);
    unlink(path);
    errno = ENOLCK; /* the error where this HDF5 cannot do without */
    store->file = H5Fcreate(path, H5F_ACC_EXCL, H5P_DEFAULT, access);
    H5Pclose(access);
  }
  return store->file < 0 ? -1 : descriptor_of(store->file);
}

bool store_create(struct store **out, const char *path, struct error *error) {
  HOLD(LOCK_FILES);
  char place[PART_PLACE];
  *out = NULL;
  if (!part_place(place, path, NULL, error)) return false;
  store_start();
  struct store *store = store_new(path);
  if (part_make(&store->part, place, make_hdf5, store) < 0) {
    part_refuse_place(path, place, error);
    store_close(store);
    return false;
  }
  store->unfinished = true;
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

/* IEEE 754 binary16, as h5py's float16. */
static hid_t half_type(void) {
  hid_t type = H5Tcopy(H5T_IEEE_F32LE);
  H5Tset_fields(type, 15, 10, 5, 0, 10);
  H5Tset_size(type, 2);
  H5Tset_ebias(type, 15);
  return type;
}

/* Leaves out the time of writing: the same data make the same bytes. */
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

void store_keep_sums(struct store *store) {
  store->keeps_sums = true;
}

static void note_entry(struct store *store, enum store_entry kind, const char *name, const void *value,
                       size_t bytes) {
  if (store->keeps_sums) store->sum += store_entry_sum(kind, name, value, bytes);
}

/* As an attribute of fixed length: those of variable length lie in a heap of their own. */
static herr_t put_sum(hid_t object, const char *sum) {
  hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
  H5Tset_size(type, strlen(sum));
  hid_t attribute = H5Acreate2(object, SUM_NAME, type, space, H5P_DEFAULT, H5P_DEFAULT);
  herr_t code = attribute < 0 ? -1 : H5Awrite(attribute, type, sum);
  if (attribute >= 0) H5Aclose(attribute);
  H5Sclose(space);
  H5Tclose(type);
  return code;
}

static herr_t put_data_sum(struct store *store, hid_t dataset, const char *name, enum store_type type, int rank,
                           const size_t *size, const void *from) {
  struct store_shape shape = {.rank = rank};
  char text[SUM_TEXT];
  size_t total = 1;
  if (!store->keeps_sums) return 0;
  for (int i = 0; i < rank; i++) total *= shape.size[i] = size[i];
  note_entry(store, ENTRY_DATA, name, "", 0);
  store_data_sum(type, &shape, from, total, text);
  return put_sum(dataset, text);
}

/* Of numbers of `type` in memory; `stored` is closed here. */
static bool write_as(struct store *store, const char *name, hid_t stored, enum store_type type, int rank,
                     const size_t *size, const void *from, bool compress, struct error *error) {
  hsize_t extent[STORE_RANK] = {0};
  REQUIRE(rank >= 0 && rank <= STORE_RANK, "%s has rank %d", name, rank);
  for (int i = 0; i < rank; i++) extent[i] = size[i];
  hid_t space = rank ? H5Screate_simple(rank, extent, NULL) : H5Screate(H5S_SCALAR);
  hid_t link = H5Pcreate(H5P_LINK_CREATE), plist = creation_list(rank, extent, compress);
  /* the file's little-endian types are this library's memory types on every machine we build for */
  hid_t memory = file_type(type);
  H5Pset_create_intermediate_group(link, 1);
  hid_t dataset = H5Dcreate2(store->file, name, stored, space, link, plist, H5P_DEFAULT);
  herr_t code = dataset < 0 ? -1 : H5Dwrite(dataset, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, from);
  if (code >= 0) code = put_data_sum(store, dataset, name, type, rank, size, from);
  if (code < 0) store_refuse(store, "write", name, error);
  if (dataset >= 0) H5Dclose(dataset);
  H5Tclose(memory);
  H5Tclose(stored);
  H5Pclose(plist);
  H5Pclose(link);
  H5Sclose(space);
  return code >= 0;
}

bool store_write(struct store *store, const char *name, enum store_type type, int rank, const size_t *size,
                 const void *from, bool compress, struct error *error) {
  HOLD(LOCK_FILES);
  return write_as(store, name, file_type(type), type, rank, size, from, compress, error);
}

bool store_write_half(struct store *store, const char *name, int rank, const size_t *size, const float *from,
                      struct error *error) {
  HOLD(LOCK_FILES);
  struct arena *arena = arena_open();
  size_t total = 1;
  for (int i = 0; i < rank; i++) total *= size[i];
  float *rounded = arena_try_array(arena, sizeof(float), total + 1);
  bool good = rounded || fail_memory(error, "%s is too large for this host", name);
  for (size_t k = 0; good && k < total; k++) {
    rounded[k] = half_to_float(half_from_float(from[k]));
    if (!isfinite(rounded[k]))
      good = fail_file(error, "%s holds %g at element %zu; half precision holds numbers from -65504 to 65504", name,
                       (double)from[k], k);
  }
  good = good && write_as(store, name, half_type(), STORE_F32, rank, size, rounded, false, error);
  arena_close(arena);
  return good;
}

static hid_t text_type(void) {
  hid_t type = H5Tcopy(H5T_C_S1);
  H5Tset_size(type, H5T_VARIABLE);
  H5Tset_cset(type, H5T_CSET_UTF8);
  return type;
}

bool store_write_text(struct store *store, const char *name, const char *text, struct error *error) {
  HOLD(LOCK_FILES);
  hid_t type = text_type(), space = H5Screate(H5S_SCALAR), plist = creation_list(0, NULL, false);
  hid_t dataset = H5Dcreate2(store->file, name, type, space, H5P_DEFAULT, plist, H5P_DEFAULT);
  herr_t code = dataset < 0 ? -1 : H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, &text);
  note_entry(store, ENTRY_TEXT_DATA, name, text, store_text_bytes(text));
  if (code < 0) store_refuse(store, "write", name, error);
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
  if (code < 0) store_refuse(store, "write attribute", name, error);
  if (attribute >= 0) H5Aclose(attribute);
  H5Sclose(space);
  return code >= 0;
}

bool store_put_text(struct store *store, const char *name, const char *text, struct error *error) {
  HOLD(LOCK_FILES);
  hid_t type = text_type();
  bool good = put_attribute(store, name, type, &text, error);
  note_entry(store, ENTRY_TEXT, name, text, store_text_bytes(text));
  H5Tclose(type);
  return good;
}

bool store_put_number(struct store *store, const char *name, double value, struct error *error) {
  HOLD(LOCK_FILES);
  note_entry(store, ENTRY_NUMBER, name, &value, sizeof value);
  return put_attribute(store, name, H5T_NATIVE_DOUBLE, &value, error);
}

/* Keeps the file's descriptor beyond HDF5's: to sync it, and to lock it, which HDF5 ends with its own use. A
 * reader's lock is enough to tell that it is not left, and lets others read it from its place at once. */
bool store_commit(struct store *store, struct error *error) {
  HOLD(LOCK_FILES);
  char sum[SUM_TEXT];
  snprintf(sum, sizeof sum, "%016" PRIx64, store->sum);
  if (store->keeps_sums && put_sum(store->file, sum) < 0) {
    store_refuse(store, "write attribute", SUM_NAME, error);
    store_close(store);
    return false;
  }
  int descriptor = fcntl(descriptor_of(store->file), F_DUPFD_CLOEXEC, 0);
  herr_t code = H5Fclose(store->file);
  store->file = H5I_INVALID_HID;
  if (descriptor >= 0) flock(descriptor, LOCK_SH | LOCK_NB);
  bool good =
      code >= 0 && descriptor >= 0 && fsync(descriptor) == 0 && part_take_place(&store->part);
  store->unfinished = !good;
  if (!good) part_refuse("finish", store->path, store->part.path, error);
  if (descriptor >= 0) close(descriptor);
  store_close(store);
  return good;
}
