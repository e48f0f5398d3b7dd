#include "engine/files/store.h"

#include "engine/files/descriptors.h"
#include "engine/files/magic.h"
#include "engine/files/probe.h"
#include "engine/files/store_inside.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Before the first call of HDF5: at exit it would trip over a file that a full disk left half closed. */
void store_start(void) {
  H5E_auto2_t handler = NULL;
  void *context;
  H5dont_atexit();
  H5Eget_auto2(H5E_DEFAULT, &handler, &context);
  if (handler != store_watch_memory) H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

/* ---- errors ------------------------------------------------------------------------------------------ */

static herr_t see_memory(unsigned n, const H5E_error2_t *entry, void *lacking) {
  (void)n;
  *(bool *)lacking |= entry->min_num == H5E_NOSPACE || entry->min_num == H5E_CANTALLOC;
  return 0;
}

herr_t store_watch_memory(hid_t stack, void *lacking) {
  H5Ewalk2(stack, H5E_WALK_UPWARD, see_memory, lacking);
  return 0;
}

/* HDF5's reasons may take several lines; where they tell of a file the system's own words count: "file write
 * failed: time = ...\n, ... error message = 'No space left on device', ...". */
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

/* By libhdf5's words: a writer's mark in the file, or its lock. */
static bool is_marked(const char *reason) {
  return strstr(reason, "already open for");
}

static bool is_locked(const char *reason) {
  return strstr(reason, "unable to lock") && strstr(reason, strerror(EWOULDBLOCK));
}

/* The innermost reason on HDF5's error stack, of one line, and what may help ("?"). */
const char *store_reason(char text[REASON]) {
  snprintf(text, REASON, "no reason given");
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, first_reason, text);
  size_t used = strlen(text);
  if (strstr(text, "version number"))
    snprintf(text + used, REASON - used,
             "; written by a newer HDF5 than this one (%d.%d.%d)? h5repack may help", H5_VERS_MAJOR,
             H5_VERS_MINOR, H5_VERS_RELEASE);
  if (is_locked(text))
    snprintf(text + used, REASON - used, "; another program writes it: wait until it closes the file");
  return text;
}

bool store_refuse(const struct store *store, const char *doing, const char *name, struct error *error) {
  char reason[REASON], help[REASON] = "";
  store_reason(reason);
  if (store->unfinished) part_help(store->part.path, reason, help, sizeof help);
  return fail_file(error, "cannot %s %s in %s: %s%s", doing, name, store->path, reason, help);
}

/* ---- opening ------------------------------------------------------------------------------------------ */

static bool has_signature(const char *path) {
  HOLD(LOCK_FILES);
  store_start();
  return H5Fis_hdf5(path) > 0;
}

/* The lock is the first thing: what is only half written looks broken. */
static bool check_file(const char *path, int *lock, struct error *error) {
  struct stat status;
  if (stat(path, &status)) return fail_file(error, "cannot open %s: %s", path, strerror(errno));
  if (!S_ISREG(status.st_mode)) return fail_file(error, "%s is not a file", path);
  if (!store_lock(path, lock, error)) return false;
  if (status.st_size == 0) return fail_file(error, "%s is empty; download or write it again", path);
  if (has_signature(path)) return true;
  const struct magic *magic = magic_of(path);
  if (magic)
    return fail_file(error, "%s has no HDF5 signature; it is %s%s%s", path, magic->name,
                     magic->remedy ? ": " : "", magic->remedy ? magic->remedy : "");
  return fail_file(error, "%s has no HDF5 signature; it is another kind of file or a broken download", path);
}

static bool refuse_file(const char *path, struct error *error) {
  char reason[REASON];
  store_reason(reason);
  if (is_marked(reason))
    return fail_busy(
        error,
        "%s is marked as being written: wait until its writer closes it; where that has ended without, "
        "`h5clear -s` takes the mark away, and what was not written reads as zeros",
        path);
  if (is_locked(reason)) return fail_busy(error, "cannot read %s: %s", path, reason);
  return fail_file(error, "cannot read %s: %s%s", path, reason,
                   strchr(reason, '?') || strstr(reason, "unable to lock")
                       ? ""
                       : "; the file may be cut short, fetch it again");
}

struct store *store_new(const char *path) {
  struct arena *arena = arena_open();
  struct store *store = ARENA_NEW(arena, struct store, 1);
  *store = (struct store){.arena = arena, .file = H5I_INVALID_HID, .lock = -1, .dataset = H5I_INVALID_HID};
  store->path = arena_text(arena, "%s", path);
  return store;
}

static struct store *open_store(const char *path, struct error *error) {
  hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  struct store *store = store_new(path);
  store->file = store_open_locked(path, access);
  if (store->file < 0) {
    refuse_file(path, error); /* first: the next call clears HDF5's error stack */
    store_close(store);
    store = NULL;
  }
  H5Pclose(access);
  return store;
}

bool store_open_here(struct store **out, const char *path, struct error *error) {
  HOLD(LOCK_FILES);
  *out = open_store(path, error);
  return *out;
}

/* The child looks at the file without the lock of the files: it may take long. */
bool store_open(struct store **out, const char *path, struct error *error) {
  int lock = -1;
  *out = NULL;
  if (descriptors_for(STORE_FILES, path, error) && check_file(path, &lock, error) && probe_file(path, error))
    store_open_here(out, path, error);
  if (*out)
    (*out)->lock = lock;
  else if (lock >= 0)
    close(lock);
  if (!*out || store_check_names(*out, error)) return *out;
  store_close(*out);
  *out = NULL;
  return false;
}

void store_forget_dataset(struct store *store) {
  if (store->dataset >= 0) H5Dclose(store->dataset);
  store->dataset = H5I_INVALID_HID;
  store->dataset_name[0] = 0;
}

bool store_keep_dataset(struct store *store, const char *name, struct error *error) {
  if (store->dataset >= 0 && !strcmp(store->dataset_name, name)) return true;
  store_forget_dataset(store);
  store->dataset = store_dataset(store, name, error);
  store->has_cache = store->is_guarded = false;
  if (strlen(name) < sizeof store->dataset_name) strcpy(store->dataset_name, name);
  store->sum_text[0] = 0;
  if (store->dataset >= 0) store_read_sum(store->dataset, store->sum_text);
  return store->dataset >= 0;
}

void store_close(struct store *store) {
  HOLD(LOCK_FILES);
  if (!store) return;
  store_forget_dataset(store);
  if (store->file >= 0) H5Fclose(store->file);
  if (store->lock >= 0) close(store->lock);
  if (store->unfinished) part_drop(&store->part);
  arena_close(store->arena);
}

/* Every group on the way must exist. */
static bool is_reached(struct store *store, const char *name, const char **astray) {
  char part[512];
  *astray = NULL;
  for (const char *c = name;; c++) {
    if (*c && *c != '/') continue;
    size_t length = (size_t)(c - name);
    if (length >= sizeof part) return false;
    memcpy(part, name, length);
    part[length] = 0;
    if (length && (!store_link(store, part, astray) || *astray)) return false;
    if (!*c) return true;
  }
}

bool store_has(struct store *store, const char *name) {
  HOLD(LOCK_FILES);
  const char *astray;
  return is_reached(store, name, &astray);
}

hid_t store_dataset(struct store *store, const char *name, struct error *error) {
  const char *astray;
  if (!is_reached(store, name, &astray)) {
    if (astray)
      fail_file(error, "%s in %s is a link to %s, which is not a file", name, store->path, astray);
    else
      fail_file(error, "%s has no dataset %s", store->path, name);
    store_refuse_written(store, name, error);
    return H5I_INVALID_HID;
  }
  hid_t dataset = H5Dopen2(store->file, name, H5P_DEFAULT);
  if (dataset >= 0) return dataset;
  store_refuse(store, "open", name, error); /* first: the next call clears HDF5's error stack */
  store_refuse_written(store, name, error);
  return H5I_INVALID_HID;
}

bool store_shape_of(const struct store *store, hid_t dataset, const char *name, struct store_shape *shape,
                    struct error *error) {
  hid_t space = H5Dget_space(dataset), type = H5Dget_type(dataset);
  hsize_t size[H5S_MAX_RANK];
  int rank = H5Sget_simple_extent_dims(space, size, NULL);
  bool pair = store_is_complex(type),
       real = H5Tget_class(type) == H5T_INTEGER || H5Tget_class(type) == H5T_FLOAT;
  *shape = (struct store_shape){.rank = rank, .complex = pair, .real = real};
  bool good = rank >= 0 && rank <= STORE_RANK;
  for (int i = 0; good && i < rank; i++) shape->size[i] = (size_t)size[i];
  if (!good)
    fail_file(error, "%s in %s has rank %d; at most %d is understood", name, store->path, rank, STORE_RANK);
  H5Tclose(type);
  H5Sclose(space);
  return good;
}

bool store_shape(struct store *store, const char *name, struct store_shape *shape, struct error *error) {
  HOLD(LOCK_FILES);
  return store_keep_dataset(store, name, error) && store_shape_of(store, store->dataset, name, shape, error);
}

bool store_is_sound(struct store *store, struct error *error) {
  return probe_file(store->path, error);
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
  HOLD(LOCK_FILES);
  struct error ignored;
  snprintf(text, size, "unreadable");
  hid_t dataset = store_dataset(store, name, &ignored);
  if (dataset < 0) return;
  hid_t plist = H5Dget_create_plist(dataset);
  if (H5Pget_layout(plist) == H5D_CHUNKED)
    print_chunk(plist, text, size);
  else
    snprintf(text, size, "%s",
             H5Pget_layout(plist) == H5D_COMPACT   ? "compact"
             : H5Pget_layout(plist) == H5D_VIRTUAL ? "virtual"
             : H5Pget_external_count(plist) > 0    ? "external"
                                                   : "contiguous");
  H5Pclose(plist);
  H5Dclose(dataset);
}

struct entry {
  struct entry *next;
  char name[];
};

struct listing {
  struct arena *arena;
  struct entry *first, **end;
};

/* Below libhdf5: nothing here may end the call. */
static herr_t note_name(const char *name, struct listing *listing) {
  struct entry *entry = arena_try(listing->arena, sizeof *entry + strlen(name) + 1);
  if (!entry) return -1;
  strcpy(entry->name, name);
  *listing->end = entry;
  listing->end = &entry->next;
  return 0;
}

static herr_t note_object(hid_t root, const char *name, const H5O_info_t *info, void *listing) {
  (void)root;
  return info->type == H5O_TYPE_DATASET ? note_name(name, listing) : 0;
}

static herr_t note_attribute(hid_t root, const char *name, const H5A_info_t *info, void *listing) {
  (void)root, (void)info;
  return note_name(name, listing);
}

typedef bool lister(struct store *store, struct listing *listing, struct error *error);

static bool list_objects(struct store *store, struct listing *listing, struct error *error) {
  HOLD(LOCK_FILES);
  if (H5Ovisit(store->file, H5_INDEX_NAME, H5_ITER_NATIVE, note_object, listing) >= 0) return true;
  return store_refuse(store, "list", "the datasets", error);
}

static bool list_attributes(struct store *store, struct listing *listing, struct error *error) {
  HOLD(LOCK_FILES);
  if (H5Aiterate2(store->file, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, note_attribute, listing) >= 0)
    return true;
  return store_refuse(store, "list", "the attributes", error);
}

static bool list(lister *names, struct store *store, store_see *see, void *context, struct error *error) {
  struct listing listing = {.arena = arena_open()};
  listing.end = &listing.first;
  bool good = names(store, &listing, error);
  for (const struct entry *entry = listing.first; entry; entry = entry->next) see(entry->name, context);
  arena_close(listing.arena);
  return good;
}

bool store_list(struct store *store, store_see *see, void *context, struct error *error) {
  return list(list_objects, store, see, context, error);
}

bool store_list_attributes(struct store *store, store_see *see, void *context, struct error *error) {
  return list(list_attributes, store, see, context, error);
}
