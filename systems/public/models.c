#include "systems/public/models.h"

#include "engine/base/hash.h"
#include "engine/base/log.h"
#include "engine/files/part.h"
#include "engine/files/store.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
  CARD_MOST = 1 << 16,
  FILE_MOST = 32 << 20,
  MODELS_MOST = 256,
  TEXT_MOST = 1 << 16,
  PARAMETERS_MOST = 1 << 26
};
static const char PREFIX[] = "zoo:";

/* ---- the folder ---------------------------------------------------------------------------------------- */

const char *models_folder(struct arena *arena, const char *scenes) {
  const char *slash = strrchr(scenes, '/');
  return arena_text(arena, "%.*smodels", slash ? (int)(slash - scenes + 1) : 0, scenes);
}

static int compare_names(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* What stands before the ending; NULL: it ends otherwise. */
static const char *name_before(const char *entry, const char *ending, struct arena *arena) {
  size_t length = strlen(entry), end = strlen(ending);
  bool good = length > end && !strcmp(entry + length - end, ending);
  return good ? arena_text(arena, "%.*s", (int)(length - end), entry) : NULL;
}

/* NAME of "NAME.txt" beside which lies NAME.h5; NULL: it is another file. One without the other is said. */
static const char *model_of_entry(const char *folder, const char *entry, struct arena *arena) {
  const char *card = name_before(entry, ".txt", arena), *network = name_before(entry, ".h5", arena);
  const char *name = card ? card : network;
  if (!name) return NULL;
  const char *other = arena_text(arena, "%s/%s%s", folder, name, card ? ".h5" : ".txt");
  if (file_is_there(other)) return card;
  log_warning("%s/%s has no %s beside it, and is left out: there is no %s; install the program anew", folder, entry,
              card ? "network" : "card", other);
  return NULL;
}

bool models_list(const char *folder, struct arena *arena, const char *const **names, size_t *count,
                 struct error *error) {
  const char **list = ARENA_NEW(arena, const char *, MODELS_MOST);
  DIR *open = opendir(folder);
  *count = 0;
  for (struct dirent *entry; open && (entry = readdir(open)) && *count < MODELS_MOST;) {
    const char *name = model_of_entry(folder, entry->d_name, arena);
    if (name) list[(*count)++] = name;
  }
  if (open) closedir(open);
  qsort(list, *count, sizeof *list, compare_names);
  *names = list;
  return *count ||
         fail_file(error, "%s holds no networks (NAME.h5 with its card NAME.txt); install the program anew",
                   folder);
}

/* A whole file of `most` bytes at most, with a zero behind. */
static bool read_whole(const char *path, size_t most, struct arena *arena, char **data, size_t *bytes,
                       struct error *error) {
  FILE *file = file_read(path, error);
  if (!file) return false;
  *data = arena_try(arena, most + 1);
  *bytes = *data ? fread(*data, 1, most, file) : 0;
  bool good =
      *data ? !ferror(file) && fgetc(file) == EOF : fail_memory(error, "%s is too large for this host", path);
  if (*data && !good) fail_file(error, "cannot read %s: it is no file of at most %zu bytes", path, most);
  fclose(file);
  return good;
}

/* ---- cards --------------------------------------------------------------------------------------------- */

bool models_card(const char *folder, const char *name, struct arena *arena, const char **card,
                 struct error *error) {
  char *text;
  size_t bytes;
  if (!read_whole(arena_text(arena, "%s/%s.txt", folder, name), CARD_MOST, arena, &text, &bytes, error))
    return false;
  *card = text;
  return true;
}

const char *models_card_value(const char *card, const char *key, struct arena *arena) {
  const char *value = "", *line = card;
  bool of_key = false;
  while (*line) {
    size_t length = strcspn(line, "\n"), of = strlen(key);
    if (*line != ' ') of_key = !strncmp(line, key, of) && line[of] == ':';
    if (of_key) {
      size_t from = *line == ' ' ? 0 : of + 1;
      while (line[from] == ' ') from++;
      value = arena_text(arena, "%s%s%.*s", value, *value ? " " : "", (int)(length - from), line + from);
    }
    line += length + (line[length] == '\n');
  }
  return value;
}

/* ---- opening ------------------------------------------------------------------------------------------- */

static bool refuse_name(const char *folder, const char *name, struct error *error) {
  struct arena *arena = arena_open();
  const char *const *names, *all = "";
  size_t count;
  if (models_list(folder, arena, &names, &count, error)) {
    const char *near = nearest_name(name, names, count);
    for (size_t i = 0; i < count; i++) all = arena_text(arena, "%s%s%s", all, i ? ", " : "", names[i]);
    fail_usage(error, "%s%s: there is no such network%s%s%s; there are %s (`l2sr models`)", PREFIX, name,
               near ? "; did you mean " : "", near ? near : "", near ? "?" : "", all);
  }
  arena_close(arena);
  return false;
}

static bool check_digest(const char *path, const char *told, struct error *error) {
  struct arena *arena = arena_open();
  char *data, found[65];
  size_t bytes;
  bool good = read_whole(path, FILE_MOST, arena, &data, &bytes, error);
  if (good) {
    hash_hex(data, bytes, found);
    good = !strcmp(found, told) ||
           fail_file(error, "%s is damaged: its SHA-256 is %s, its card says %s; install the program anew",
                     path, found, *told ? told : "nothing");
  }
  arena_close(arena);
  return good;
}

bool models_file(const char *folder, const char *name, struct arena *arena, const char **path,
                 struct error *error) {
  const char *card;
  *path = arena_text(arena, "%s/%s.h5", folder, name);
  if (!*name || strchr(name, '/') || !file_is_there(*path)) return refuse_name(folder, name, error);
  return models_card(folder, name, arena, &card, error) &&
         check_digest(*path, models_card_value(card, "digest", arena), error);
}

/* Of a list, every word that stands for a model. */
static bool resolve(const char **value, const char *folder, bool list, struct arena *arena,
                    struct error *error) {
  char word[PART_PATH];
  const char *all = "", *rest = *value, *path;
  if (!strstr(*value, PREFIX)) return true;
  if (!list) {
    if (strncmp(*value, PREFIX, strlen(PREFIX))) return true;
    return models_file(folder, *value + strlen(PREFIX), arena, value, error);
  }
  while ((rest = option_next(rest, word, sizeof word))) {
    path = word;
    if (!strncmp(word, PREFIX, strlen(PREFIX)) &&
        !models_file(folder, word + strlen(PREFIX), arena, &path, error))
      return false;
    all = arena_text(arena, "%s%s%s", all, *all ? "," : "", path);
  }
  *value = all;
  return true;
}

bool models_resolve(struct options *options, const char *folder, struct arena *arena, struct error *error) {
  struct {
    const char *key, **value;
    bool list;
  } const taken[] = {
      {"evaluate.reconstructor", &options->evaluate.reconstructor, false},
      {"evaluate.policy", &options->evaluate.policy, false},
      {"evaluate.reconstructors", &options->evaluate.reconstructors, true},
      {"evaluate.policies", &options->evaluate.policies, true},
      {"evaluate.masks", &options->evaluate.masks, true},
      {"sampler.mask", &options->sampler.mask, false},
      {"sampler.tau_step", &options->sampler.tau_step, false},
      {"learn.reconstructor", &options->learn.reconstructor, false},
      {"learn.start", &options->learn.start, false},
      {"train.start", &options->train.start, false},
      {"alternate.start", &options->alternate.start, false},
  };
  for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
    if (!resolve(taken[i].value, folder, taken[i].list, arena, error))
      return fail_in(error, "%s", taken[i].key);
  return true;
}

/* ---- packing ------------------------------------------------------------------------------------------- */

struct packing {
  struct store *from, *to;
  struct arena *arena;
  const char *name[TEXT_MOST / 64]; /* of datasets or attributes */
  size_t count;
  bool full; /* there were more of them */
};

static bool begins(const char *name, const char *with) {
  return !strncmp(name, with, strlen(with));
}

static void note_name(const char *name, void *context) {
  struct packing *packing = context;
  packing->full = packing->count == sizeof packing->name / sizeof *packing->name;
  if (!packing->full) packing->name[packing->count++] = arena_text(packing->arena, "%s", name);
}

static bool check_names(const struct packing *packing, const char *what, struct error *error) {
  return !packing->full || fail_file(error, "it holds more than %zu %s, which no network of this program has", packing->count, what);
}

static bool is_half(const char *name) {
  return begins(name, "param/") || begins(name, "sampler/");
}

/* Masks, with their order and probabilities, as they are. */
static bool is_mask(const char *name) {
  return !strcmp(name, "mask") || !strcmp(name, "probability") || !strcmp(name, "order");
}

static bool pack_dataset(struct packing *packing, const char *name, struct error *error) {
  static const struct {
    const char *name;
    enum store_type type;
  } kept[] = {{"mask", STORE_U8}, {"order", STORE_U32}, {"probability", STORE_F32}};
  enum store_type type = STORE_F32;
  struct store_shape shape;
  void *data;
  size_t total;
  for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
    if (!strcmp(kept[i].name, name)) type = kept[i].type;
  if (!store_shape(packing->from, name, &shape, error) ||
      !store_read_all(packing->from, name, type, PARAMETERS_MOST, packing->arena, &data, &total, error))
    return false;
  return is_half(name) ? store_write_half(packing->to, name, shape.rank, shape.size, data, error)
                       : store_write(packing->to, name, type, shape.rank, shape.size, data, false, error);
}

static bool pack_datasets(struct packing *packing, struct error *error) {
  size_t packed = 0;
  packing->count = 0;
  if (!store_list(packing->from, note_name, packing, error) || !check_names(packing, "datasets", error)) return false;
  for (size_t i = 0; i < packing->count; i++) {
    if (!is_half(packing->name[i]) && !is_mask(packing->name[i])) continue;
    if (!pack_dataset(packing, packing->name[i], error)) return false;
    packed++;
  }
  return packed ||
         fail_file(error, "it holds no parameters of a network and no mask of its own, which alone are packed");
}

static bool is_kept(const char *attribute) {
  static const char *const starts[] = {"network", "sampler", "scan_",  "origin_",   "scene",
                                       "seed",    "version", "device", "training_", "validation_",
                                       "initial_lines", "budget", "data_scale", "callback_"};
  for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
    if (begins(attribute, starts[i])) return true;
  return false;
}

static bool pack_attributes(struct packing *packing, struct error *error) {
  char *text = ARENA_NEW(packing->arena, char, TEXT_MOST);
  packing->count = 0;
  if (!store_list_attributes(packing->from, note_name, packing, error) || !check_names(packing, "attributes", error)) return false;
  for (size_t i = 0; i < packing->count; i++) {
    const char *name = packing->name[i];
    double number;
    if (!is_kept(name)) continue;
    if (store_text(packing->from, name, text, TEXT_MOST)
            ? !store_put_text(packing->to, name, text, error)
            : store_number(packing->from, name, &number) &&
                  !store_put_number(packing->to, name, number, error))
      return false;
  }
  return true;
}

bool models_pack(const char *from, const char *to, struct error *error) {
  struct arena *arena = arena_open();
  struct packing *packing = ARENA_NEW(arena, struct packing, 1);
  packing->arena = arena;
  bool good = store_open(&packing->from, from, error);
  if (good && (good = store_create(&packing->to, to, error))) {
    store_keep_sums(packing->to);
    good = (pack_datasets(packing, error) && pack_attributes(packing, error)) || fail_in(error, "%s", from);
    if (good)
      good = store_commit(packing->to, error);
    else
      store_close(packing->to);
  }
  store_close(packing->from);
  arena_close(arena);
  return good;
}
