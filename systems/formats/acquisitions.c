#include "systems/formats/acquisitions.h"

#include "engine/base/lock.h"
#include "engine/files/store.h"

#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

enum {
  HEAD_LEAST = 64 /* bytes of a head and its place in the table, at least */,
  GROUP = 256,
  BATCH = 1024
};

bool acquisition_is(const struct acquisition *acquisition, enum acquisition_flag flag) {
  return acquisition->flags >> (flag - 1) & 1;
}

/* ---- where they are ------------------------------------------------------------------------------------ */

struct search {
  char group[GROUP]; /* the first with an xml */
};

static void see(const char *name, void *context) {
  struct search *search = context;
  const char *slash = strrchr(name, '/');
  if (!slash || strcmp(slash, "/xml") != 0 || search->group[0] || slash - name >= GROUP) return;
  snprintf(search->group, GROUP, "%.*s", (int)(slash - name), name);
}

bool acquisitions_are_in(struct store *store, char *group, size_t size) {
  struct search search = {.group = ""};
  struct error ignored;
  char data[GROUP + 8];
  if (!store_list(store, see, &search, &ignored) || !search.group[0]) return false;
  snprintf(data, sizeof data, "%s/data", search.group);
  snprintf(group, size, "%s", search.group);
  return store_has(store, data);
}

/* ---- types --------------------------------------------------------------------------------------------- */

#define MEMBER(name, field)                                                                                  \
  { name, offsetof(struct encoding, field) }
static hid_t index_type(void) {
  static const struct {
    const char *name;
    size_t place;
  } members[] = {MEMBER("kspace_encode_step_1", step), MEMBER("kspace_encode_step_2", partition),
                 MEMBER("average", average),           MEMBER("slice", slice),
                 MEMBER("contrast", contrast),         MEMBER("phase", phase),
                 MEMBER("repetition", repetition),     MEMBER("set", set)};
  hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(struct encoding));
  for (size_t i = 0; i < sizeof members / sizeof *members; i++)
    H5Tinsert(type, members[i].name, members[i].place, H5T_NATIVE_UINT16);
  return type;
}

static hid_t head_type(void) {
  hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(struct acquisition)), index = index_type();
  H5Tinsert(type, "flags", offsetof(struct acquisition, flags), H5T_NATIVE_UINT64);
  H5Tinsert(type, "number_of_samples", offsetof(struct acquisition, samples), H5T_NATIVE_UINT16);
  H5Tinsert(type, "active_channels", offsetof(struct acquisition, channels), H5T_NATIVE_UINT16);
  H5Tinsert(type, "discard_pre", offsetof(struct acquisition, discard_before), H5T_NATIVE_UINT16);
  H5Tinsert(type, "discard_post", offsetof(struct acquisition, discard_after), H5T_NATIVE_UINT16);
  H5Tinsert(type, "center_sample", offsetof(struct acquisition, centre), H5T_NATIVE_UINT16);
  H5Tinsert(type, "encoding_space_ref", offsetof(struct acquisition, space), H5T_NATIVE_UINT16);
  H5Tinsert(type, "idx", offsetof(struct acquisition, at), index);
  H5Tclose(index);
  return type;
}

/* One member of a row: the heads of many, or the samples of one. */
static hid_t row_type(const char *member, hid_t type, size_t bytes) {
  hid_t row = H5Tcreate(H5T_COMPOUND, bytes);
  H5Tinsert(row, member, 0, type);
  return row;
}

/* Rows first .. first + count of the table. */
static bool read_rows(const struct acquisitions *all, hid_t type, size_t first, size_t count, void *to) {
  hsize_t start = first, rows = count;
  hid_t file = H5Dget_space(all->table), memory = H5Screate_simple(1, &rows, NULL);
  bool good = file >= 0 && H5Sselect_hyperslab(file, H5S_SELECT_SET, &start, NULL, &rows, NULL) >= 0 &&
              H5Dread(all->table, type, memory, file, H5P_DEFAULT, to) >= 0;
  if (file >= 0) H5Sclose(file);
  H5Sclose(memory);
  return good;
}

static bool read_heads(struct acquisitions *all) {
  hid_t head = head_type(), row = row_type("head", head, sizeof(struct acquisition));
  bool good = true;
  for (size_t first = 0; good && first < all->count; first += BATCH) {
    size_t count = all->count - first < BATCH ? all->count - first : BATCH;
    good = read_rows(all, row, first, count, all->head + first);
  }
  H5Tclose(row);
  H5Tclose(head);
  return good;
}

bool acquisitions_read(const struct acquisitions *all, size_t index, float *to, struct error *error) {
  HOLD(LOCK_FILES);
  size_t wanted = (size_t)2 * all->head[index].samples * all->head[index].channels;
  hid_t list = H5Tvlen_create(H5T_NATIVE_FLOAT), row = row_type("data", list, sizeof(hvl_t));
  hsize_t one = 1;
  hid_t space = H5Screate_simple(1, &one, NULL);
  hvl_t samples = {0};
  bool read = read_rows(all, row, index, 1, &samples),
       good = read && samples.len == wanted && (samples.p || !wanted);
  if (good && wanted) memcpy(to, samples.p, wanted * sizeof *to);
  size_t got = samples.len;
  if (read) H5Dvlen_reclaim(row, space, H5P_DEFAULT, &samples);
  H5Sclose(space);
  H5Tclose(row);
  H5Tclose(list);
  if (good) return true;
  return fail_file(error,
                   "acquisition %zu of %s holds %zu numbers, and its head says %u samples of %u channels; "
                   "the file is damaged: fetch or write it again",
                   index, all->path, got, all->head[index].samples, all->head[index].channels);
}

/* ---- opening ------------------------------------------------------------------------------------------- */

/* The number of rows; each takes some bytes of the file. */
static bool count_rows(struct acquisitions *all, struct error *error) {
  struct stat status;
  hid_t space = H5Dget_space(all->table);
  hssize_t count =
      space >= 0 && H5Sget_simple_extent_ndims(space) == 1 ? H5Sget_simple_extent_npoints(space) : -1;
  if (space >= 0) H5Sclose(space);
  if (count < 1) return fail_file(error, "%s holds no acquisition", all->path);
  if (stat(all->path, &status) || count > status.st_size / HEAD_LEAST)
    return fail_file(
        error, "%s says that it holds %lld acquisitions, and is too short for them; it is damaged or was cut",
        all->path, (long long)count);
  all->count = (size_t)count;
  all->head = arena_try_array(all->arena, sizeof *all->head, all->count);
  if (!all->head) return fail_memory(error, "no host memory for the heads of %zu acquisitions", all->count);
  return read_heads(all) || fail_file(error,
                                      "the table of acquisitions of %s cannot be read as ISMRMRD's; the file "
                                      "is damaged or of another version",
                                      all->path);
}

static bool open_table(struct acquisitions *all, const char *group, struct error *error) {
  HOLD(LOCK_FILES);
  char data[GROUP + 8];
  snprintf(data, sizeof data, "%s/data", group);
  all->file = H5Fopen(all->path, H5F_ACC_RDONLY, H5P_DEFAULT);
  all->table = all->file < 0 ? -1 : H5Dopen2(all->file, data, H5P_DEFAULT);
  if (all->table < 0)
    return fail_file(error, "%s/data of %s cannot be opened; the file is damaged: fetch it again", group,
                     all->path);
  return count_rows(all, error);
}

enum { HEADER_MOST = 1 << 20 };

/* The header, and the name of the group. */
static bool read_header(struct acquisitions *all, char group[GROUP], struct error *error) {
  struct store *store;
  char name[GROUP + 8], *text = ARENA_NEW(all->arena, char, HEADER_MOST);
  if (!store_open(&store, all->path, error)) return false;
  bool good = acquisitions_are_in(store, group, GROUP);
  snprintf(name, sizeof name, "%s/xml", group);
  good = good && (store_text(store, name, text, HEADER_MOST) || store_word(store, name, text, HEADER_MOST));
  store_close(store);
  all->header = text;
  return good || fail_file(error,
                           "%s has no ISMRMRD header (dataset xml beside the acquisitions); write it by "
                           "ISMRMRD's own programs",
                           all->path);
}

bool acquisitions_open(struct acquisitions *all, const char *path, struct error *error) {
  char group[GROUP];
  *all = (struct acquisitions){.arena = arena_open(), .file = -1, .table = -1};
  all->path = arena_text(all->arena, "%s", path);
  if (read_header(all, group, error) && open_table(all, group, error)) return true;
  acquisitions_close(all);
  return false;
}

void acquisitions_close(struct acquisitions *all) {
  HOLD(LOCK_FILES);
  if (all->table >= 0) H5Dclose(all->table);
  if (all->file >= 0) H5Fclose(all->file);
  arena_close(all->arena);
}
