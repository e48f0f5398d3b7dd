/* Everything that this program does with an HDF5 file, done once to all that a file holds. The child does it
 * before the program opens the file (probe_serve.c). A function of store.h that reads has its row here, and
 * uses libhdf5 in no other way than the row tries: test_tried holds the rows against both. */
#include "engine/files/store_inside.h"

#include <string.h>

enum { TYPES = STORE_C64 + 1, PART = 4, ENTRIES_MOST = 64, WORDS = 1024, NAME_MOST = 1024, DEPTH_MOST = 4 };

/* ---- a name -------------------------------------------------------------------------------------------- */

static void try_has(struct store *store, const char *name, void *data) {
  (void)data;
  store_has(store, name);
}

static void try_has_value(struct store *store, const char *name, void *data) {
  (void)data;
  store_has_value(store, name);
}

static void try_free(struct store *store, const char *name, void *data) {
  struct error ignored;
  (void)data;
  store_check_free(store, name, &ignored);
}

static void try_shape(struct store *store, const char *name, void *data) {
  struct store_shape shape;
  struct error ignored;
  (void)data;
  store_shape(store, name, &shape, &ignored);
}

static void try_held(struct store *store, const char *name, void *data) {
  struct error ignored;
  (void)data;
  store_check_held(store, name, &ignored);
}

/* A chunk is read as a whole: the program reads larger ones only where the file can hold them. */
static bool is_small(struct store *store, const char *name) {
  struct error ignored;
  return store_keep_dataset(store, name, &ignored) && store_chunk_bytes(store->dataset) <= STORE_CHUNK_MOST;
}

/* False: there is nothing, or it is the first part, too. */
static bool choose_part(const struct store_shape *shape, bool last, size_t *start, size_t *count) {
  bool moved = !last;
  for (int i = 0; i < shape->rank; i++) {
    count[i] = shape->size[i] < PART ? shape->size[i] : PART;
    start[i] = last ? shape->size[i] - count[i] : 0;
    moved |= start[i] > 0;
    if (!count[i]) return false;
  }
  return moved;
}

/* The first entries, as all types, and the last ones, which lie at the other end of what finds chunks. */
static void try_values(struct store *store, const char *name, void *data) {
  size_t start[STORE_RANK], count[STORE_RANK];
  struct store_shape shape;
  struct error ignored;
  if (!is_small(store, name) || !store_shape(store, name, &shape, &ignored)) return;
  enum store_type type = shape.complex ? STORE_C64 : STORE_F64;
  if (choose_part(&shape, true, start, count)) store_read(store, name, type, start, count, data, &ignored);
  if (!choose_part(&shape, false, start, count)) return;
  for (int all = 0; all < TYPES; all++)
    store_read(store, name, (enum store_type)all, start, count, data, &ignored);
}

static void try_values_all(struct store *store, const char *name, void *data) {
  struct arena *arena = arena_open();
  struct error ignored;
  size_t total;
  void *all;
  (void)data;
  if (is_small(store, name))
    store_read_all(store, name, STORE_F64, ENTRIES_MOST, arena, &all, &total, &ignored);
  arena_close(arena);
}

static void try_values_known(struct store *store, const char *name, void *data) {
  struct error ignored;
  if (is_small(store, name)) store_read_known(store, name, STORE_F64, 1, data, &ignored);
}

static void try_text(struct store *store, const char *name, void *data) {
  store_text(store, name, data, STORE_TEXT_MOST);
}

static void try_number(struct store *store, const char *name, void *data) {
  store_number(store, name, data);
}

static void try_word(struct store *store, const char *name, void *data) {
  store_word(store, name, data, WORDS);
}

static void try_type_words(struct store *store, const char *name, void *data) {
  store_type_words(store, name, data, WORDS);
}

static void try_layout(struct store *store, const char *name, void *data) {
  store_layout(store, name, data, WORDS);
}

const struct store_reading store_readings[] = {
    {"store_has", try_has},
    {"store_has_value", try_has_value},
    {"store_check_free", try_free},
    {"store_shape", try_shape},
    {"store_check_held", try_held},
    {"store_read", try_values},
    {"store_read_all", try_values_all},
    {"store_read_known", try_values_known},
    {"store_text", try_text},
    {"store_number", try_number},
    {"store_word", try_word},
    {"store_type_words", try_type_words},
    {"store_layout", try_layout},
    {NULL, NULL},
};

/* ---- all names ----------------------------------------------------------------------------------------- */

struct trial {
  struct store *store;
  void *data;        /* [STORE_TEXT_MOST] */
  const char *below; /* what stands before the names that a visit tells; "" at the root */
  int depth;
};

static void try_name(const char *name, void *context) {
  const struct trial *trial = context;
  for (const struct store_reading *reading = store_readings; reading->run; reading++)
    reading->run(trial->store, name, trial->data);
}

static void visit(struct trial *trial, const char *group);

/* Names that lead on by another name: what they lead to may be a group, whose names are reached so too. */
static herr_t see_link(hid_t group, const char *name, const H5L_info_t *info, void *context) {
  struct trial *trial = context;
  char whole[NAME_MOST];
  (void)group;
  if (info->type == H5L_TYPE_HARD && !*trial->below) return 0;
  if (snprintf(whole, sizeof whole, "%s%s", trial->below, name) >= NAME_MOST) return 0;
  try_name(whole, trial);
  if (info->type != H5L_TYPE_HARD) visit(trial, whole);
  return 0;
}

/* The group's links and those of groups below it. */
static void visit(struct trial *outer, const char *group) {
  struct trial trial = *outer;
  const char *astray;
  char below[NAME_MOST];
  if (++trial.depth > DEPTH_MOST) return;
  if (*group && (!store_link(trial.store, group, &astray) || astray)) return;
  snprintf(below, sizeof below, "%s%s", group, *group ? "/" : "");
  trial.below = below;
  hid_t place = *group ? H5Gopen2(trial.store->file, group, H5P_DEFAULT) : trial.store->file;
  if (place < 0) return;
  H5Lvisit(place, H5_INDEX_NAME, H5_ITER_NATIVE, see_link, &trial);
  if (*group) H5Gclose(place);
}

/* Names that are not there are looked for beside those that are. */
static void try_missing(struct trial *trial) {
  static const char *const names[] = {"A", "mask", "zzzz", "a/b"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) try_name(names[i], trial);
}

bool store_try(struct store *store, void *data, struct error *error) {
  struct trial trial = {.store = store, .data = data, .below = ""};
  struct error ignored;
  HOLD(LOCK_FILES);
  store_check_names(store, &ignored); /* first, as the program does when it has opened the file */
  bool good =
      store_list_attributes(store, try_name, &trial, error) && store_list(store, try_name, &trial, error);
  if (good) visit(&trial, "");
  if (good) try_missing(&trial);
  return good;
}
