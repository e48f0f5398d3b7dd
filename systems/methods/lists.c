#include "systems/methods/lists.h"

#include "systems/methods/evaluate.h"
#include "systems/methods/train.h"

void lists_put(struct lists *lists, const char *stage, const char *name, const char *when,
               const struct schedule *schedule) {
  REQUIRE(lists->count < LISTS_MOST, "a scene has at most %d lists", LISTS_MOST);
  if (schedule->count) lists->list[lists->count++] = (struct list){stage, name, when, schedule};
}

static bool describe_moves(struct schedule *moves, const struct options *options, struct error *error) {
  struct augment augment;
  return augment_read(&augment, options, error) &&
         (!augment.kinds || transform_describe(moves, options, error));
}

bool lists_add_training(struct lists *lists, const struct options *options, const char *stage, bool by_policy,
                         struct arena *arena, struct error *error) {
  struct training *training = ARENA_NEW(arena, struct training, 1);
  struct schedule *masks = ARENA_NEW(arena, struct schedule, 1), *moves = ARENA_NEW(arena, struct schedule, 1);
  if (!training_describe(training, options, by_policy, error)) return false;
  schedule_open(masks, &component_schema);
  feed_add_masks(&training->train, masks);
  if (!schedule_close(masks, false, error) || !describe_moves(moves, options, error)) return false;
  lists_put(lists, stage, "slices", "before every epoch", moves);
  lists_put(lists, stage, "masks", "before every epoch", masks);
  lists_put(lists, stage, "update", "for every minibatch", &training->update);
  lists_put(lists, stage, "validation masks", "after every epoch", &training->draw);
  lists_put(lists, stage, "validate", "for every part of the validation data", &training->validate);
  return true;
}

bool lists_add_evaluation(struct lists *lists, const struct options *options, struct arena *arena,
                           struct error *error) {
  struct simulation *simulation = ARENA_NEW(arena, struct simulation, 1);
  if (!evaluate_describe(simulation, options, error)) return false;
  lists_put(lists, "evaluate", "scan", "for as many slices as there are environments", &simulation->scan);
  return true;
}

bool lists_columns(const struct options *options, struct arena *arena, component_set *columns,
                   struct error *error) {
  struct simulation *simulation = ARENA_NEW(arena, struct simulation, 1);
  if (!evaluate_describe(simulation, options, error)) return false;
  *columns = load_columns(options) | simulation->scan.touched;
  return true;
}
