#include "systems/training/lists.h"

#include "engine/base/error.h"

void lists_put(struct lists *lists, const char *stage, const char *name, const char *when,
               const struct schedule *schedule) {
  REQUIRE(lists->count < LISTS_MOST, "a scene has at most %d lists", LISTS_MOST);
  if (schedule->count) lists->list[lists->count++] = (struct list){stage, name, when, schedule};
}
