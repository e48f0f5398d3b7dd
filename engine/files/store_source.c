/* Checks that everything a dataset is read through is there: links, files of other sources, and filters.
 * libhdf5 takes zeros for missing parts of a virtual or external dataset, and says nothing. */
#include "engine/files/descriptors.h"
#include "engine/files/store_inside.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { NAME = 4096, DEPTH = 4 };

/* ---- places -------------------------------------------------------------------------------------------- */

static const char *folder_of(struct store *store) {
  const char *slash = strrchr(store->path, '/');
  return slash ? arena_text(store->arena, "%.*s", (int)(slash - store->path + 1), store->path) : "";
}

static const char *below(struct store *store, const char *folder, const char *name) {
  static const char origin[] = "${ORIGIN}";
  if (!strncmp(folder, origin, sizeof origin - 1))
    return arena_text(store->arena, "%s%s/%s", folder_of(store), folder + sizeof origin - 1, name);
  return arena_text(store->arena, "%s/%s", folder, name);
}

enum { PLACES = 4 };

/* Where libhdf5 looks, in its order: below the variable's folder, beside the file (not external data), here,
 * and beside it by the last name alone, for a file that moved with its source. NULL: not there. */
static const char *place_of(struct store *store, const char *variable, bool beside, const char *name,
                            int place) {
  const char *folder = getenv(variable), *last = strrchr(name, '/');
  switch (place) {
  case 0: return name[0] != '/' && folder && *folder ? below(store, folder, name) : NULL;
  case 1: return name[0] != '/' && beside ? arena_text(store->arena, "%s%s", folder_of(store), name) : NULL;
  case 2: return name;
  default: return beside ? arena_text(store->arena, "%s%s", folder_of(store), last ? last + 1 : name) : NULL;
  }
}

static const char *find_file(struct store *store, const char *variable, bool beside, const char *name) {
  for (int p = 0; p < PLACES; p++) {
    const char *path = place_of(store, variable, beside, name, p);
    if (path && file_is_there(path)) return path;
  }
  return NULL;
}

static bool is_no_file(const char *path) {
  struct stat status;
  return stat(path, &status) == 0 && !S_ISREG(status.st_mode);
}

/* Where an external link leads; path NULL: to no file of the kind. */
struct target {
  const char *path;
  char value[NAME];   /* of the link, which holds the next: */
  const char *object; /* in that file */
};

static void find_target(struct store *store, const char *part, size_t bytes,
                        bool (*is_kind)(const char *path), struct target *target) {
  const char *file;
  target->path = NULL;
  if (bytes > sizeof target->value ||
      H5Lget_val(store->file, part, target->value, sizeof target->value, H5P_DEFAULT) < 0 ||
      H5Lunpack_elink_val(target->value, bytes, NULL, &file, &target->object) < 0)
    return;
  for (int p = 0; !target->path && p < PLACES; p++) {
    const char *path = place_of(store, "HDF5_EXT_PREFIX", true, file, p);
    if (path && is_kind(path)) target->path = path;
  }
}

bool store_link(struct store *store, const char *part, const char **astray) {
  H5L_info_t info;
  struct target target;
  *astray = NULL;
  if (H5Lget_info(store->file, part, &info, H5P_DEFAULT) < 0) return false;
  if (info.type != H5L_TYPE_EXTERNAL) return true;
  find_target(store, part, info.u.val_size, is_no_file, &target);
  *astray = target.path;
  return true;
}

static void say_written(const struct store *store, const char *name, const struct error *inner,
                        struct error *error) {
  fail_busy(error, "%s in %s lies in another file: %s", name, store->path, inner->text);
}

/* The file that the link leads to is opened as HDF5 would; its own links are followed by opening the rest of
 * the name there. */
static void refuse_written_target(struct store *store, const char *name, const struct target *target,
                                  const char *rest, struct error *error) {
  struct store *far;
  struct error inner = {0};
  if (store_open(&far, target->path, &inner)) {
    far->depth = store->depth + 1;
    hid_t dataset = store_dataset(far, arena_text(far->arena, "%s%s", target->object, rest), &inner);
    if (dataset >= 0) H5Dclose(dataset);
    store_close(far);
  }
  if (inner.is_busy) say_written(store, name, &inner, error);
}

void store_refuse_written(struct store *store, const char *name, struct error *error) {
  H5L_info_t info;
  for (size_t length = 1; store->depth < DEPTH && length <= strlen(name); length++) {
    struct target target;
    if (name[length] && name[length] != '/') continue;
    const char *part = arena_text(store->arena, "%.*s", (int)length, name);
    if (H5Lget_info(store->file, part, &info, H5P_DEFAULT) < 0) return;
    if (info.type != H5L_TYPE_EXTERNAL) continue;
    find_target(store, part, info.u.val_size, file_is_there, &target);
    if (target.path) refuse_written_target(store, name, &target, name + length, error);
    return;
  }
}

static bool miss(const struct store *store, const char *name, const char *source, const char *why,
                 struct error *error) {
  return fail_file(
      error,
      "%s in %s lies in another file, %s, %s; what is missing would be read as zeros: put that file where "
      "it was, or write the data into this one",
      name, store->path, source, why);
}

/* ---- external files ------------------------------------------------------------------------------------ */

static bool check_external(struct store *store, hid_t dataset, hid_t plist, const char *name,
                           struct error *error) {
  hid_t space = H5Dget_space(dataset), type = H5Dget_type(dataset);
  double missing = (double)H5Sget_simple_extent_npoints(space) * (double)H5Tget_size(type);
  int count = H5Pget_external_count(plist);
  bool good = true;
  for (int i = 0; good && i < count && missing > 0; i++) {
    char source[NAME] = "";
    off_t offset = 0;
    hsize_t size = 0;
    struct stat status;
    H5Pget_external(plist, (unsigned)i, sizeof source - 1, source, &offset, &size);
    double bytes = size == H5F_UNLIMITED || (double)size > missing ? missing : (double)size;
    const char *path = find_file(store, "HDF5_EXTFILE_PREFIX", false, source);
    if (!path || stat(path, &status))
      good = miss(store, name, source, "which is not there", error);
    else if ((double)status.st_size < (double)offset + bytes)
      good = miss(store, name, source, "which is too short", error);
    missing -= bytes;
  }
  H5Tclose(type);
  H5Sclose(space);
  return good;
}

/* ---- virtual datasets ---------------------------------------------------------------------------------- */

/* Blocks of a growing dataset are numbered: %b in names is the first of them. */
static void first_block(char *text) {
  for (char *c = text; (c = strchr(c, '%')); c++) {
    if (c[1] == 'b')
      memmove(c, c + 1, strlen(c)), *c = '0';
    else if (c[1] == '%')
      memmove(c, c + 1, strlen(c));
  }
}

/* Whether the selection of the source's mapping lies in its extent. */
static bool reaches(struct store *source, const char *dataset, hid_t selection) {
  struct store_shape shape;
  struct error ignored;
  hsize_t start[H5S_MAX_RANK], end[H5S_MAX_RANK];
  if (H5Sget_select_type(selection) == H5S_SEL_ALL || !store_shape(source, dataset, &shape, &ignored))
    return true;
  if (H5Sget_simple_extent_ndims(selection) != shape.rank || H5Sget_select_bounds(selection, start, end) < 0)
    return true; /* without a limit */
  for (int i = 0; i < shape.rank; i++)
    if (end[i] >= shape.size[i]) return false;
  return true;
}

static bool refuse_source(const struct store *store, const char *name, const char *file,
                          const struct error *inner, struct error *error) {
  if (!inner->is_busy) return miss(store, name, file, inner->text, error);
  say_written(store, name, inner, error);
  return false;
}

static bool check_source(struct store *store, const char *name, const char *file, const char *dataset,
                         hid_t selection, struct error *error) {
  struct error inner = {0};
  struct store *source = store;
  const char *path = strcmp(file, ".") ? find_file(store, "HDF5_VDS_PREFIX", true, file) : store->path;
  if (!path) return miss(store, name, file, "which is not there", error);
  if (strcmp(file, ".") && !store_open(&source, path, &inner))
    return refuse_source(store, name, file, &inner, error);
  int depth = store->depth;
  bool good = depth < DEPTH || fail_file(&inner, "%s is a virtual dataset of too many others", dataset);
  source->depth = depth + 1;
  good = good && store_check_held(source, dataset, &inner);
  source->depth = depth;
  if (good && !reaches(source, dataset, selection))
    good = fail_file(&inner, "%s in it is too small", dataset);
  if (source != store) store_close(source);
  return good || refuse_source(store, name, file, &inner, error);
}

static bool check_mapping(struct store *store, hid_t plist, size_t index, const char *name,
                          struct error *error) {
  char file[NAME] = "", dataset[NAME] = "";
  H5Pget_virtual_filename(plist, index, file, sizeof file);
  H5Pget_virtual_dsetname(plist, index, dataset, sizeof dataset);
  first_block(file);
  first_block(dataset);
  hid_t selection = H5Pget_virtual_srcspace(plist, index);
  bool good = check_source(store, name, file, dataset, selection, error);
  H5Sclose(selection);
  return good;
}

/* libhdf5 keeps all of them open, and takes zeros for those that it cannot open. */
static bool check_descriptors(const struct store *store, hid_t plist, size_t count, const char *name,
                              struct error *error) {
  char last[NAME] = "", file[NAME];
  size_t files = STORE_FILES;
  for (size_t i = 0; i < count; i++, memcpy(last, file, sizeof last)) {
    file[0] = 0;
    H5Pget_virtual_filename(plist, i, file, sizeof file);
    files += strcmp(file, last) != 0;
  }
  return descriptors_for(files, arena_text(store->arena, "the files that %s in %s lies in", name, store->path), error);
}

static bool check_virtual(struct store *store, hid_t dataset, hid_t plist, const char *name,
                          struct error *error) {
  hid_t space = H5Dget_space(dataset);
  double whole = (double)H5Sget_simple_extent_npoints(space), mapped = 0;
  size_t count = 0;
  bool good = H5Pget_virtual_count(plist, &count) >= 0 ? check_descriptors(store, plist, count, name, error)
                                                       : store_refuse(store, "read", name, error);
  for (size_t i = 0; good && i < count; i++) {
    hid_t selection = H5Pget_virtual_vspace(plist, i);
    hssize_t points =
        H5Sget_select_type(selection) == H5S_SEL_ALL ? (hssize_t)whole : H5Sget_select_npoints(selection);
    mapped += points < 0 || (hsize_t)points == H5S_UNLIMITED ? whole : (double)points;
    H5Sclose(selection);
    good = check_mapping(store, plist, i, name, error);
  }
  H5Sclose(space);
  if (!good || mapped >= whole) return good;
  return fail_file(
      error,
      "%s in %s is a virtual dataset of %.0f entries, of which other files hold %.0f; the rest would be "
      "read as zeros: write it again, whole",
      name, store->path, whole, mapped);
}

bool store_check_sources(struct store *store, hid_t dataset, hid_t plist, const char *name,
                         struct error *error) {
  if (H5Pget_layout(plist) == H5D_VIRTUAL) return check_virtual(store, dataset, plist, name, error);
  return check_external(store, dataset, plist, name, error);
}

/* ---- filters ------------------------------------------------------------------------------------------- */

/* A name, where the file has none. */
static const char *filter_name(H5Z_filter_t filter, const char *stored) {
  static const struct {
    H5Z_filter_t filter;
    const char *name;
  } known[] = {{H5Z_FILTER_SZIP, "szip"}, {32000, "lzf"},   {307, "bzip2"},        {305, "lzo"},
               {32001, "blosc"},          {32004, "lz4"},   {32008, "bitshuffle"}, {32013, "zfp"},
               {32015, "zstd"},           {32026, "blosc2"}};
  for (size_t i = 0; !*stored && i < sizeof known / sizeof *known; i++)
    if (known[i].filter == filter) return known[i].name;
  return *stored ? stored : "a filter without a name";
}

/* Quotes the text as one word of a shell. */
static const char *shell_word(struct arena *arena, const char *text) {
  char *word = arena_new(arena, 4 * strlen(text) + 3), *to = word;
  *to++ = '\'';
  for (; *text; text++)
    if (*text == '\'')
      to = stpcpy(to, "'\\''");
    else
      *to++ = *text;
  strcpy(to, "'");
  return word;
}

bool store_check_filters(struct store *store, hid_t plist, const char *name, struct error *error) {
  int count = H5Pget_nfilters(plist);
  for (int i = 0; i < count; i++) {
    unsigned flags, values[8];
    size_t values_count = 8;
    char stored[64] = "";
    H5Z_filter_t filter =
        H5Pget_filter2(plist, (unsigned)i, &flags, &values_count, values, sizeof stored, stored, NULL);
    if (H5Zfilter_avail(filter) > 0) continue;
    return fail_file(
        error,
        "%s in %s is compressed by %s (filter %d), which libhdf5 cannot undo here; write it again: python3 "
        "-c \"import sys, h5py%s; f = h5py.File(sys.argv[1], 'r+'); n = sys.argv[2]; x = f[n][()]; del f[n]; "
        "f.create_dataset(n, data=x, compression='gzip')\" %s %s",
        name, store->path, filter_name(filter, stored), filter, filter == 32000 ? "" : ", hdf5plugin",
        shell_word(store->arena, store->path), shell_word(store->arena, name));
  }
  return true;
}
