#include "systems/training/rank_card.h"

#include "engine/base/hash.h"
#include "engine/base/ranks.h"
#include "engine/files/scene.h"
#include "systems/data/dataset.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CARD_HASH = 24 };

/* All bytes count; what is not set is 0. */
struct rank_card {
  char host[64], version[32], device[128], scene[CARD_HASH], data[CARD_HASH], done[CARD_HASH];
};

/* The hash of what the function writes. */
static void put_hash(char hash[CARD_HASH], void (*write)(FILE *file, const struct run_files *run),
                     const struct run_files *run) {
  char *text = NULL, hex[65];
  size_t size = 0;
  FILE *memory = open_memstream(&text, &size);
  if (!memory) return;
  write(memory, run);
  fclose(memory);
  hash_hex(text, size, hex);
  memcpy(hash, hex, CARD_HASH - 1);
  free(text);
}

/* Of the options that numbers may follow from. */
static void write_scene(FILE *file, const struct run_files *run) {
  struct arena *arena = arena_open();
  for (size_t i = 0; i < option_table.count; i++) {
    const struct option *row = &option_table.rows[i];
    if (row->concerns != CONCERNS_PLACE)
      fprintf(file, "%s.%s: %s\n", row->section, row->name, option_text(row, run->options, arena));
  }
  fprintf(file, "train.shards: %u\n", run->options->train.shards);
  arena_close(arena);
}

static void add_data(FILE *memory, const struct run_data *data) {
  if (!data->hash) return;
  fprintf(memory, "%s %zu", data->hash, data->slices);
  for (size_t v = 0; v < data->dataset->volume_count; v++)
    fwrite(&data->dataset->volumes[v].digest, sizeof data->dataset->volumes[v].digest, 1, memory);
}

static void write_data(FILE *file, const struct run_files *run) {
  add_data(file, &run->train);
  add_data(file, &run->validation);
}

static void fill_card(struct rank_card *card, const struct run_files *run, uint64_t done) {
  gethostname(card->host, sizeof card->host - 1);
  snprintf(card->version, sizeof card->version, "%s", L2SR_VERSION);
  snprintf(card->device, sizeof card->device, "%s", run->device->facts.name);
  snprintf(card->done, sizeof card->done, "%llu", (unsigned long long)done);
  put_hash(card->scene, write_scene, run);
  put_hash(card->data, write_data, run);
}

static bool compare(const struct rank_card *card, const struct rank_card *first, size_t rank, struct error *error) {
  const struct {
    const char *what, *now, *wanted;
  } facts[] = {{"l2sr", card->version, first->version},
               {"the device", card->device, first->device},
               {"the scene", card->scene, first->scene},
               {"the data", card->data, first->data},
               {"a last.h5 of units:", card->done, first->done}};
  for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
    if (strcmp(facts[i].now, facts[i].wanted))
      return fail(error,
                  "rank %zu on %s has %s %s, rank 0 on %s %s; ranks that work together need the same program, scene, "
                  "data, kind of device and train.output",
                  rank, card->host, facts[i].what, facts[i].now, first->host, facts[i].wanted);
  return true;
}

bool rank_card_compare(const struct run_files *run, uint64_t done, struct error *error) {
  struct ranks *ranks = run->device->ranks;
  size_t count = ranks_count(ranks);
  if (count == 1) return true;
  struct arena *arena = arena_open();
  struct rank_card *card = ARENA_NEW(arena, struct rank_card, count);
  bool good = true;
  fill_card(&card[ranks_number(ranks)], run, done);
  ranks_unite(ranks, card, count * sizeof *card);
  for (size_t r = 1; good && r < count; r++) good = compare(&card[r], &card[0], r, error);
  arena_close(arena);
  return good;
}

/* ---- shards -------------------------------------------------------------------------------------------- */

enum { SCENE_MOST = 1 << 16, SHARDS_OF_RANKS = 8 };

/* 0: there is no checkpoint. Those of before have updates of one. */
static bool read_shards(const char *path, uint32_t *shards, struct arena *arena, struct error *error) {
  struct store *store;
  char *scene = arena_new(arena, SCENE_MOST);
  *shards = 0;
  if (!file_is_there(path)) return true;
  if (!store_open(&store, path, error)) return fail_in(error, "cannot go on");
  const char *value = store_text(store, "scene", scene, SCENE_MOST) ? scene_value(scene, "train", "shards", arena) : NULL;
  store_close(store);
  if (!value || !option_whole(value, 1, RANKS_MOST, shards)) *shards = 1;
  return true;
}

static bool check_shards(uint32_t shards, uint32_t ranks, uint32_t before, struct error *error) {
  if (shards & (shards - 1))
    return fail_usage(error, "train.shards is %u; it must be 1, 2, 4 ... %d: they are summed two by two", shards, RANKS_MOST);
  if (before && shards != before)
    return fail_usage(error,
                      "train.shards is %u, and what it goes on from has %u, with which updates have other bytes; leave it out, "
                      "or use another train.output",
                      shards, before);
  if (ranks <= shards) return true;
  return fail_usage(error, "%u ranks were started, and train.shards is %u%s: a rank takes one at least; start %u or fewer%s", ranks,
                    shards, before ? ", as what it goes on from has it" : "", shards, before ? "" : ", or set it to 0");
}

bool rank_card_shards(const struct options *options, const struct ranks *ranks, const char *folder, bool resume,
                      uint32_t *shards, struct error *error) {
  struct arena *arena = arena_open();
  uint32_t before = 0, count = ranks_count(ranks);
  bool good = !folder || !resume || read_shards(arena_text(arena, "%s/last.h5", folder), &before, arena, error);
  arena_close(arena);
  if (!good) return false;
  *shards = options->train.shards;
  if (!*shards) *shards = before ? before : count > SHARDS_OF_RANKS ? count : count > 1 ? SHARDS_OF_RANKS : 1;
  return check_shards(*shards, count, before, error);
}
