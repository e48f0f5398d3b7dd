#include "systems/data/patients.h"

#include "engine/base/log.h"

#include <stdlib.h>
#include <string.h>

static int compare_patients(const void *a, const void *b) {
  const struct volume *first = *(const struct volume *const *)a, *second = *(const struct volume *const *)b;
  int order = strcmp(patient_of(first), patient_of(second));
  return order ? order : strcmp(first->path, second->path);
}

static const struct volume **sort_volumes(struct arena *arena, const struct dataset *dataset) {
  const struct volume **list = ARENA_NEW(arena, const struct volume *, dataset->volume_count + 1);
  for (size_t v = 0; v < dataset->volume_count; v++) list[v] = &dataset->volumes[v];
  qsort(list, dataset->volume_count, sizeof *list, compare_patients);
  return list;
}

/* Whether it is the first of the sorted volumes that are of its patient. */
static bool is_first(const struct volume *const *list, size_t v) {
  return !v || strcmp(patient_of(list[v - 1]), patient_of(list[v])) != 0;
}

size_t patients_count(const struct dataset *dataset) {
  struct arena *arena = arena_open();
  const struct volume **list = sort_volumes(arena, dataset);
  size_t count = 0;
  for (size_t v = 0; v < dataset->volume_count; v++) count += is_first(list, v);
  arena_close(arena);
  return count;
}

/* Equal names of files in two splits may be other scans, numbered anew: only patient_id tells a patient. */
static const struct volume *find_patient(const struct volume *const *list, size_t count,
                                         const char *patient) {
  size_t low = 0, high = count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (strcmp(patient_of(list[middle]), patient) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  for (; low < count && !strcmp(patient_of(list[low]), patient); low++)
    if (list[low]->patient[0]) return list[low];
  return NULL;
}

const char *patients_shared(struct arena *arena, const struct dataset *first, const char *first_name,
                            const struct dataset *second, const char *second_name) {
  const struct volume **ones = sort_volumes(arena, first), **others = sort_volumes(arena, second);
  const struct volume *one = NULL, *other = NULL;
  const char *last = "";
  size_t shared = 0;
  for (size_t v = 0; v < first->volume_count; v++) {
    if (!strcmp(ones[v]->patient, last)) continue;
    last = ones[v]->patient;
    const struct volume *found = *last ? find_patient(others, second->volume_count, last) : NULL;
    if (found && !shared++) one = ones[v], other = found;
  }
  if (!shared) return NULL;
  return arena_text(
      arena,
      "%zu patient%s in two splits, %s and %s (patient_id %s: %s and %s): scores of one split do not "
      "hold for patients that the other has not seen; set data.patient_split to true, or keep all "
      "files of a patient in one folder",
      shared, shared == 1 ? " is" : "s are", first_name, second_name, one->patient, one->path, other->path);
}
