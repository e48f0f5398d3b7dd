#include "systems/data/folds.h"

#include "engine/base/hash.h"
#include "engine/base/log.h"

#include <stdlib.h>
#include <string.h>

struct dealt {
  char hash[65];
  size_t volume;
};

static int compare_dealt(const void *a, const void *b) {
  const struct dealt *first = a, *second = b;
  int order = strcmp(first->hash, second->hash);
  return order ? order : (first->volume > second->volume) - (first->volume < second->volume);
}

static struct dealt *sort_dealt(struct arena *arena, const struct volume *volumes, size_t count) {
  struct dealt *list = ARENA_NEW(arena, struct dealt, count + 1);
  for (size_t v = 0; v < count; v++) {
    const char *patient = patient_of(&volumes[v]);
    hash_hex(patient, strlen(patient), list[v].hash);
    list[v].volume = v;
  }
  qsort(list, count, sizeof *list, compare_dealt);
  return list;
}

bool folds_choose(const struct volume *volumes, size_t count, const struct options *options, bool *kept, struct error *error) {
  struct arena *arena = arena_open();
  const struct dealt *list = sort_dealt(arena, volumes, count);
  const bool validates = options->data.split == SPLIT_VAL;
  size_t patient = 0;
  for (size_t v = 0; v < count; v++) {
    patient += v && strcmp(list[v - 1].hash, list[v].hash) != 0;
    kept[list[v].volume] = (patient % options->data.folds == options->data.fold) == validates;
  }
  size_t patients = count ? patient + 1 : 0;
  arena_close(arena);
  return patients >= options->data.folds || !count ||
         fail_usage(error, "data.folds is %u, and split train of %s has %zu patient%s; set it to at most that",
                    options->data.folds, options->data.path, patients, plural(patients));
}
