#include "systems/training/lists.h"

#include "engine/base/error.h"
#include "systems/data/dataset.h"
#include "systems/scan/load.h"
#include "systems/scan/slice_cache.h"
#include "systems/scan/transform.h"

#include <string.h>

struct list *lists_find(struct lists *lists, const char *stage, const char *name) {
  for (int i = 0; i < lists->count; i++)
    if (!strcmp(lists->list[i].stage, stage) && !strcmp(lists->list[i].schedule->name, name)) return &lists->list[i];
  return NULL;
}

void lists_put(struct lists *lists, const char *stage, const char *when, const struct schedule *schedule) {
  REQUIRE(lists->count < LISTS_MOST, "a scene has at most %d lists", LISTS_MOST);
  REQUIRE(*schedule->name, "a list has a name");
  if (schedule->count && !lists_find(lists, stage, schedule->name))
    lists->list[lists->count++] = (struct list){stage, when, schedule};
}

void lists_note(struct lists *lists, const char *stage, const char *text) {
  REQUIRE(lists->notes < NOTES_MOST, "a scene has at most %d notes", NOTES_MOST);
  lists->note[lists->notes++] = (struct note){stage, text};
}

/* ---- data ---------------------------------------------------------------------------------------------- */

/* The files' own k-space is read slice by slice, and scaled when all units are known. */
static bool put_coils(struct lists *lists, const char *stage, struct arena *arena, struct error *error) {
  struct schedule *list = ARENA_NEW(arena, struct schedule, 2);
  if (!load_describe(&list[0], &system_load_coils, error) || !load_describe(&list[1], &system_scale_coils, error))
    return false;
  lists_put(lists, stage, "for every slice that is loaded", &list[0]);
  lists_put(lists, stage, "when slices are loaded", &list[1]);
  return true;
}

bool lists_put_data(struct lists *lists, const char *stage, const struct simulation *simulation, struct arena *arena,
                    struct error *error) {
  struct schedule *loads = ARENA_NEW(arena, struct schedule, 2), *slices = loads + 1;
  if (!simulation_describe_loads(loads, simulation, error) ||
      !(simulation->plan.window ? slice_cache_describe(slices, simulation, error)
                                : transform_describe(slices, slice_transforms(simulation), error)))
    return false;
  lists_put(lists, stage, "when slices are loaded", loads);
  lists_put(lists, stage,
            simulation->plan.window                          ? "when slices are loaded, and where one is read"
            : simulation->plan.columns & SET(SLICE_original) ? "when slices are loaded, and before every epoch"
                                                             : "when slices are loaded",
            slices);
  return simulation->options->data.kspace != KSPACE_MEASURED || put_coils(lists, stage, arena, error);
}

void lists_note_scans(struct lists *lists, const char *stage, const struct simulation *simulation, struct arena *arena) {
  const char *prefix = simulation->plan.prefix ? simulation->plan.prefix : "";
  lists_note(lists, stage, arena_text(arena, "%sscans: %s", prefix, simulation_text(simulation, arena)));
}

size_t lists_slices(const struct options *options) {
  struct dataset dataset = {0};
  struct error error;
  size_t slices = UINT32_MAX, most = options->data.most;
  if (options->data.window && *options->data.path && dataset_open(&dataset, options, &error))
    slices = dataset.slice_count;
  if (dataset.arena) dataset_close(&dataset);
  return most && most < slices ? most : slices;
}

void lists_put_set(struct lists *lists, const char *stage, const struct simulation *simulation, struct arena *arena) {
  struct schedule *list = ARENA_NEW(arena, struct schedule, 1);
  simulation_describe_set(list, simulation);
  lists_put(lists, stage, "before scans", list);
}
