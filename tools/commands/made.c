#include "tools/commands/made.h"

#include "engine/base/hash.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Places that are files or folders, and lengths. */
static const char *const places[] = {"data.path",           "data.labels", "train.start",
                                     "learn.reconstructor", "learn.start", "reward.classifier", NULL},
                         *const lengths[] = {"data.split", "train.epochs", "pgmri.epochs", "ddqn.steps",
                                             NULL};

static bool is_among(const char *key, const char *const *keys) {
  while (*keys && strcmp(*keys, key)) keys++;
  return *keys;
}

/* The folder that a name leads to; the name where there is none. */
static const char *found(const char *path, struct arena *arena) {
  char whole[PATH_MAX];
  return arena_text(arena, "%s", *path && realpath(path, whole) ? whole : path);
}

static uint32_t add(uint32_t sum, const struct option *row, const struct options *options,
                    const struct options *standard, struct arena *arena) {
  const char *value = option_text(row, options, arena);
  if (!strcmp(value, option_text(row, standard, arena))) return sum;
  const char *key = arena_text(arena, "%s.%s", row->section, row->name);
  if (is_among(key, places)) value = found(option_set_text(row, options, arena), arena);
  const char *text = arena_text(arena, "%s=%s\n", key, value);
  return hash_crc(CRC_CASTAGNOLI, sum, text, strlen(text));
}

static uint32_t add_all(const struct options *options, bool place, uint32_t sum) {
  struct arena *arena = arena_open();
  struct options *standard = ARENA_NEW(arena, struct options, 1);
  option_defaults(&option_table, standard, arena);
  for (size_t i = 0; i < option_table.count; i++) {
    const struct option *row = &option_table.rows[i];
    const char *key = arena_text(arena, "%s.%s", row->section, row->name);
    bool taken = place ? is_among(key, places) || is_among(key, lengths) : row->concerns != CONCERNS_PLACE;
    if (taken) sum = add(sum, row, options, standard, arena);
  }
  arena_close(arena);
  return sum;
}

uint32_t made_by(const struct options *options, uint32_t before) {
  return add_all(options, false, before);
}

uint32_t made_from(const struct options *options, uint32_t before) {
  return add_all(options, true, before);
}
