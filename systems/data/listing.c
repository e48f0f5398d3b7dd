#include "systems/data/listing.h"

#include "engine/base/log.h"
#include "engine/files/part.h"
#include "systems/data/foreign.h"
#include "systems/data/format.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const split_names[] = {"train", "val", "test"};

/* ---- names --------------------------------------------------------------------------------------------- */

const char *names_file(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

int names_compare(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int compare_files(const void *a, const void *b) {
  int order = strcmp(names_file(*(const char *const *)a), names_file(*(const char *const *)b));
  return order ? order : names_compare(a, b);
}

void names_add(struct arena *arena, struct names *names, const char *path) {
  if (names->count == names->capacity) {
    size_t capacity = names->capacity ? 2 * names->capacity : 256;
    const char **grown = ARENA_NEW(arena, const char *, capacity);
    if (names->count) memcpy(grown, names->path, names->count * sizeof *grown);
    names->path = grown;
    names->capacity = capacity;
  }
  names->path[names->count++] = path;
}

/* The entries of a folder in order, without hidden ones; none where it cannot be listed. */
static struct names entries_of(struct arena *arena, const char *path) {
  struct names names = {0};
  DIR *folder = opendir(path);
  for (struct dirent *entry; folder && (entry = readdir(folder));)
    if (entry->d_name[0] != '.') names_add(arena, &names, arena_text(arena, "%s/%s", path, entry->d_name));
  if (folder) closedir(folder);
  if (names.count) qsort(names.path, names.count, sizeof *names.path, names_compare);
  return names;
}

static bool list_folder(struct listing *listing, const char *path, struct error *error) {
  DIR *folder = opendir(path);
  if (!folder) return fail_file(error, "cannot list %s: %s", path, strerror(errno));
  for (struct dirent *entry; (entry = readdir(folder));) {
    const char *full = arena_text(listing->arena, "%s/%s", path, entry->d_name);
    if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..") || folder_is_there(full)) continue;
    listing->entries++;
    if (entry->d_name[0] == '.') /* other systems leave theirs beside each file: ._NAME.h5 */
      listing->hidden++;
    else if (format_listed(entry->d_name))
      names_add(listing->arena, &listing->names, full);
    else
      listing->not_h5++;
  }
  closedir(folder);
  return true;
}

/* ---- the folders of a split ---------------------------------------------------------------------------- */

static const char *const prefixes[] = {"", "singlecoil_", "multicoil_"};
enum { PREFIXES = 3 };

/* root/SPLIT, root/singlecoil_SPLIT and root/multicoil_SPLIT, whichever are there and data.coils takes. */
static void add_folders(struct arena *arena, struct names *folders, const char *root, unsigned split,
                        uint32_t coils, uint32_t first) {
  for (uint32_t p = first; p < PREFIXES; p++) {
    const char *path = arena_text(arena, "%s/%s%s", root, prefixes[p], split_names[split]);
    if ((!p || coils == COILS_ANY || coils == p) && folder_is_there(path)) names_add(arena, folders, path);
  }
}

/* Adds the folders that fastMRI's archives unpack to: root/knee_singlecoil_SPLIT/singlecoil_SPLIT,
 * root/brain_..._batch_0/multicoil_SPLIT. */
static void add_unpacked(struct arena *arena, struct names *folders, const char *root, unsigned split,
                         uint32_t coils) {
  struct names entries = entries_of(arena, root);
  for (size_t i = 0; i < entries.count; i++) add_folders(arena, folders, entries.path[i], split, coils, 1);
}

static struct names folders_of(struct arena *arena, const struct options *options, unsigned split) {
  struct names folders = {0};
  add_folders(arena, &folders, options->data.path, split, options->data.coils, 0);
  if (!folders.count) add_unpacked(arena, &folders, options->data.path, split, options->data.coils);
  return folders;
}

bool listing_has_split(const struct options *options, unsigned split) {
  struct arena *arena = arena_open();
  bool any = folders_of(arena, options, split).count > 0;
  arena_close(arena);
  return any;
}

/* Two of the files from `first` on that have one name, to `pair`. */
static bool find_twice(struct arena *arena, const struct names *names, size_t first, const char *pair[2]) {
  size_t count = names->count - first;
  if (count < 2) return false;
  const char **sorted = ARENA_NEW(arena, const char *, count);
  memcpy(sorted, names->path + first, count * sizeof *sorted);
  qsort(sorted, count, sizeof *sorted, compare_files);
  for (size_t i = 1; i < count; i++)
    if (!strcmp(names_file(sorted[i - 1]), names_file(sorted[i]))) {
      memcpy(pair, &sorted[i - 1], 2 * sizeof *pair);
      return true;
    }
  return false;
}

/* A scan of one coil and of many has the same name. */
static bool check_twice(const struct listing *listing, size_t first, struct error *error) {
  const char *pair[2];
  if (!find_twice(listing->arena, &listing->names, first, pair)) return true;
  return fail_file(
      error,
      "%s and %s have one name: the scan would count twice; set data.coils to single or multi to take "
      "singlecoil_ or multicoil_ folders only, or move one of the folders away",
      pair[0], pair[1]);
}

static bool list_split(struct listing *listing, const struct options *options, unsigned split, bool *any,
                       struct error *error) {
  struct names folders = folders_of(listing->arena, options, split);
  size_t first = listing->names.count;
  for (size_t i = 0; i < folders.count; i++)
    if (!list_folder(listing, folders.path[i], error)) return false;
  *any |= folders.count;
  return check_twice(listing, first, error);
}

/* ---- nothing found ------------------------------------------------------------------------------------- */

static bool is_volume(const char *path) {
  return format_listed(path) && !folder_is_there(path);
}

static bool is_foreign(const char *path) {
  return !folder_is_there(path) && magic_of(path);
}

/* A folder in or below this one, so many levels down at most, with an entry of the kind, which is *file; or NULL. */
static const char *find_folder(struct arena *arena, const char *path, int levels, bool (*is_kind)(const char *path),
                               const char **file) {
  struct names entries = entries_of(arena, path);
  for (size_t i = 0; i < entries.count; i++)
    if (is_kind(*file = entries.path[i])) return path;
  for (size_t i = 0; levels && i < entries.count; i++) {
    const char *found = folder_is_there(entries.path[i])
                            ? find_folder(arena, entries.path[i], levels - 1, is_kind, file)
                            : NULL;
    if (found) return found;
  }
  return NULL;
}

static const char *parent_of(struct arena *arena, const char *path) {
  size_t length = strlen(path);
  while (length > 1 && path[length - 1] == '/') length--;
  while (length && path[length - 1] != '/') length--;
  while (length > 1 && path[length - 1] == '/') length--;
  return length ? arena_text(arena, "%.*s", (int)length, path) : ".";
}

static bool is_of_another(const char *path, unsigned split) {
  const char *name = names_file(path), *last = strrchr(name, '_');
  for (unsigned s = 0; s < 3; s++)
    if (s != split && !strcmp(last ? last + 1 : name, split_names[s])) return true;
  return false;
}

/* The split may be beside: somebody gives the folder of one, as fastMRI's archives unpack. */
static const char *hint(struct arena *arena, const struct options *options, unsigned split) {
  struct options above = *options;
  const char *file, *root = options->data.path, *found = find_folder(arena, root, 3, is_volume, &file);
  above.data.path = parent_of(arena, root);
  struct names folders = folders_of(arena, &above, split);
  if (folders.count)
    return arena_text(arena, "; %s is there: name %s by --data (data.path)", folders.path[0], above.data.path);
  if (found && is_of_another(found, split))
    return arena_text(arena, "; %s is of another split: set data.split to that, or fetch this one's", found);
  if (found) return arena_text(arena, "; %s holds some: name it by --data (data.path)", found);
  const struct magic *magic = find_folder(arena, root, 3, is_foreign, &file) ? magic_of(file) : NULL;
  return magic ? arena_text(arena, "; %s is %s: %s", file, magic->name, foreign_advice(magic, arena)) : "";
}

static bool refuse_empty(const struct listing *listing, const struct options *options, bool all,
                         struct error *error) {
  size_t others = listing->not_h5 + listing->hidden;
  unsigned split = all ? SPLIT_TRAIN : options->data.split;
  return fail_file(error,
                   "no %s file in %s (%zu other file%s); expected fastMRI-format volumes there or in its "
                   "subfolder %s%s",
                   format_endings(listing->arena), options->data.path, others, plural(others),
                   all ? "train, val or test" : split_names[split], hint(listing->arena, options, split));
}

/* However it was named. */
#define WANTED "--data (data.path) must name a folder of %s volumes, or a file of them"

static bool refuse_file(const char *path, struct arena *arena, struct error *error) {
  const struct magic *magic = magic_of(path);
  if (magic) return fail_file(error, "%s is %s; %s", path, magic->name, foreign_advice(magic, arena));
  if (access(path, F_OK))
    return fail_file(error, "cannot open %s: %s; " WANTED, path, strerror(errno), format_endings(arena));
  return fail_file(error, "%s is neither a folder nor a volume; " WANTED, path, format_endings(arena));
}

bool listing_has_folds(const struct options *options) {
  return options->data.folds && (options->data.split == SPLIT_TRAIN || options->data.split == SPLIT_VAL);
}

bool listing_make(struct listing *listing, const struct options *options, struct error *error) {
  const char *root = options->data.path;
  unsigned split = listing_has_folds(options) ? SPLIT_TRAIN : options->data.split;
  bool any = false, all = options->data.split == SPLIT_ALL || options->data.patient_split;
  if (!*root) return fail(error, "no data were named; " WANTED, format_endings(listing->arena));
  if (!folder_is_there(root) && format_of(root)) {
    listing->entries = 1;
    names_add(listing->arena, &listing->names, root);
    return true;
  }
  if (!folder_is_there(root)) return refuse_file(root, listing->arena, error);
  for (unsigned s = 0; s < 3; s++)
    if ((all || s == split) && !list_split(listing, options, s, &any, error)) return false;
  if (!any && !list_folder(listing, root, error)) return false;
  find_twice(listing->arena, &listing->names, 0, listing->twice);
  return listing->names.count ? true : refuse_empty(listing, options, all, error);
}
