#include "tools/report/clusters.h"

#include "engine/base/log.h"

#include <stdlib.h>
#include <string.h>

struct entry {
  const char *id;
  size_t file;
};

static int compare_entries(const void *a, const void *b) {
  const struct entry *first = a, *second = b;
  int order = strcmp(first->id, second->id);
  return order ? order : (first->file > second->file) - (first->file < second->file);
}

/* owner[file]: the first file of the patient. */
static void find_owners(struct arena *arena, const char *const *id, size_t files, size_t *owner) {
  struct entry *entry = ARENA_NEW(arena, struct entry, files + 1);
  size_t known = 0, first = 0;
  for (size_t f = 0; f < files; f++) {
    owner[f] = f;
    if (id[f] && *id[f]) entry[known++] = (struct entry){id[f], f};
  }
  qsort(entry, known, sizeof *entry, compare_entries);
  for (size_t i = 1; i < known; i++) {
    if (strcmp(entry[i].id, entry[first].id)) first = i;
    owner[entry[i].file] = entry[first].file;
  }
}

struct clusters clusters_make(struct arena *arena, const char *const *id, size_t files, const uint32_t *file,
                              size_t slices) {
  struct clusters clusters = {.of = ARENA_NEW(arena, unsigned, slices + 1)};
  size_t *owner = ARENA_NEW(arena, size_t, files + 1);
  unsigned *number = ARENA_NEW(arena, unsigned, files + 1); /* of the owner's cluster, from 1 */
  bool *seen = ARENA_NEW(arena, bool, files + 1);
  find_owners(arena, id, files, owner);
  for (size_t i = 0; i < slices; i++) {
    size_t f = file[i];
    if (!number[owner[f]]) number[owner[f]] = (unsigned)++clusters.count;
    clusters.of[i] = number[owner[f]] - 1;
    clusters.files += !seen[f];
    clusters.unknown += !seen[f] && !(id[f] && *id[f]);
    seen[f] = true;
  }
  return clusters;
}

static const char *next_line(const char *lines) {
  const char *end = strchr(lines, '\n');
  return end ? end + 1 : NULL;
}

struct clusters clusters_read(struct arena *arena, const char *names, const char *patients,
                              const uint32_t *file, size_t slices) {
  size_t files = 1;
  for (size_t i = 0; i < slices; i++)
    if (file[i] >= files) files = (size_t)file[i] + 1;
  const char **id = ARENA_NEW(arena, const char *, files);
  for (size_t f = 0; f < files && patients; f++) {
    size_t length = strcspn(patients, "\n");
    bool is_name = names && strcspn(names, "\n") == length && !memcmp(names, patients, length);
    if (!is_name) id[f] = arena_text(arena, "%.*s", (int)length, patients);
    patients = next_line(patients);
    names = names ? next_line(names) : NULL;
  }
  return clusters_make(arena, id, files, file, slices);
}

const char *clusters_noun(const struct clusters *clusters) {
  return clusters->unknown < clusters->files ? "patients" : "files";
}

const char *clusters_text(struct arena *arena, const struct clusters *clusters) {
  size_t count = clusters->count, files = clusters->files, unknown = clusters->unknown;
  if (unknown == files) return arena_text(arena, "%zu file%s (no patient_id)", count, plural(count));
  const char *of = count < files ? arena_text(arena, " of %zu files", files) : "";
  const char *each = unknown ? arena_text(arena, " (%zu file%s without patient_id count%s as one each)",
                                          unknown, plural(unknown), unknown == 1 ? "s" : "")
                             : "";
  return arena_text(arena, "%zu patient%s%s%s", count, plural(count), of, each);
}
