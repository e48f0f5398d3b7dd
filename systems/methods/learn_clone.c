#include "systems/methods/learn.h"

#include "engine/base/round.h"
#include "systems/data/digest.h"
#include "systems/sampling/geometry.h"
#include "systems/sampling/mask_file.h"

#include <string.h>

enum { ORDER_MOST = 1 << 20 };

/* ---- the teacher --------------------------------------------------------------------------------------- */

/* Ranks of the actions of the mask in the order that they were added in: as many as the budget, each once. */
static bool rank(const uint32_t *order, size_t count, const struct acquisition *acquisition, uint32_t *table,
                 struct error *error) {
  const char *one = geometry_of(acquisition)->one;
  for (size_t i = 0; i < acquisition->shape.actions; i++) table[i] = UINT32_MAX;
  if (count < acquisition->budget)
    return fail_file(error, "it has %zu %s%s in its order, and the budget is %u; name a mask of that many",
                     count, one, plural(count), acquisition->budget);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t action = order[i];
    if (action >= acquisition->shape.actions || acquisition_is_initial(acquisition, action) ||
        table[action] != UINT32_MAX)
      return fail_file(
          error,
          "entry %u of its order is %u, which is no free %s there; name a mask that was grown from the "
          "same initial ones",
          i, action, one);
    table[action] = i;
  }
  return true;
}

/* The mask less its order is what it was grown from. */
static bool check_initial(const uint8_t *mask, const uint32_t *table, const struct acquisition *acquisition,
                          struct error *error) {
  uint32_t found = 0, strange = 0;
  for (uint32_t i = 0; i < acquisition->shape.actions; i++) {
    bool initial = mask[i] && table[i] == UINT32_MAX;
    found += initial;
    strange += initial != acquisition_is_initial(acquisition, i);
  }
  return !strange || fail_file(error,
                               "it was grown from other initial %ss (%u) than the scene has (%u); name a "
                               "mask that was grown from "
                               "the same initial ones",
                               geometry_of(acquisition)->one, found, acquisition->initial_lines);
}

/* The table by which system decide_next takes the mask's actions in their order. */
static bool fill_order(const struct options *options, const struct acquisition *acquisition,
                       struct arena *arena, uint32_t *table, struct error *error) {
  const char *path = options->sampler.mask;
  uint8_t *mask = ARENA_NEW(arena, uint8_t, acquisition->shape.actions);
  struct store *store;
  void *order;
  size_t count;
  if (!*path)
    return fail_usage(error,
                      "learn.clone is lbcs and sampler.mask is empty; name last.h5 of train.method lbcs");
  if (!store_open(&store, path, error)) return fail_in(error, "sampler.mask");
  bool good = (store_has(store, "order") || fail_file(error, "it has no dataset order; name last.h5 of train.method lbcs")) &&
              store_read_all(store, "order", STORE_U32, ORDER_MOST, arena, &order, &count, error) &&
              rank(order, count, acquisition, table, error) && mask_file_read(path, acquisition, mask, error) &&
              check_initial(mask, table, acquisition, error);
  store_close(store);
  return good || fail_in(error, "learn.clone lbcs, sampler.mask %s", path);
}

bool clone_check(const struct task_check *check, struct error *error) {
  uint32_t *table = ARENA_NEW(check->arena, uint32_t, check->acquisition.shape.actions);
  return check->options->learn.clone != CLONE_LBCS ||
         fill_order(check->options, &check->acquisition, check->arena, table, error);
}

uint64_t clone_rollouts(const struct options *options, uint64_t rows) {
  return options->learn.clone == CLONE_NONE ? 0 : divide_up(options->learn.clone_steps, rows);
}

/* Scans of a slice would be the same ones: while the teacher decides each scan has a slice of its own. */
void clone_plan(const struct options *options, struct simulation_plan *plan) {
  if (options->learn.clone == CLONE_NONE) return;
  plan->together = options->learn.scans;
  if (options->learn.clone == CLONE_ORACLE) plan->deciders |= DECIDES_ORACLE;
}

/* ---- systems ------------------------------------------------------------------------------------------- */

/* The cross-entropy alone, and the critic where its estimate is what counts later. */
static void run_begin(struct world *world, void *context) {
  struct training *training = context;
  const struct options *options = training->options;
  struct rollout *rollout = &learning_of(training)->rollout;
  (void)world;
  rollout->update.entropy_weight = rollout->update.clip = 0;
  if (rollout->baseline != BASELINE_CRITIC) rollout->update.value_weight = 0;
  rollout->group.members = rollout->simulation->group = 1;
  training->optimiser.rate =
      options->learn.clone_rate > 0 ? options->learn.clone_rate : learn_scaled_rate(options);
}

static const struct system begin_teaching = {
    .name = "begin_teaching",
    .doc = "the loss and the rate while the teacher decides, and a slice of its own for every scan",
    .run = run_begin};

static void run_end(struct world *world, void *context) {
  (void)world;
  learn_set_loss(context);
}

static const struct system end_teaching = {
    .name = "end_teaching", .doc = "the policy's own loss and slices again", .run = run_end};

static void run_praise(struct world *world, void *context) {
  const struct rollout *rollout = context;
  device_fill_floats(world_device(world), world_out(world, ROLLOUT_advantage).as.m, rollout->rows, 1);
  if (rollout->normalises)
    device_fill_floats(world_device(world), world_out(world, ROLLOUT_normalised).as.m, rollout->rows, 1);
}

static const struct system praise = {.name = "praise",
                                     .doc =
                                         "a choice of the teacher is worth 1: its loss is the cross-entropy",
                                     .writes = SET(ROLLOUT_advantage),
                                     .run = run_praise};

void clone_fill_play(struct training *training, struct schedule *schedule) {
  static const char *const teacher[] = {[CLONE_ORACLE] = "oracle", [CLONE_LBCS] = "fixed_mask"};
  struct rollout *rollout = &learning_of(training)->rollout;
  enum learn_clone clone = (enum learn_clone)training->options->learn.clone;
  struct error error;
  if (clone == CLONE_NONE) return;
  schedule_add(schedule, &begin_teaching, training);
  rollout_add_play(rollout, schedule, sampler_find(teacher[clone], &error));
  struct system *last = schedule_add(schedule, &praise, rollout);
  if (rollout->normalises) last->writes |= SET(ROLLOUT_normalised);
}

void clone_fill_update(struct training *training, struct schedule *schedule) {
  if (training->options->learn.clone == CLONE_NONE) return;
  learn_fill_passes(training, schedule, false);
  schedule_add(schedule, &end_teaching, training);
}

const struct system *const clone_systems[] = {&begin_teaching, &praise, &end_teaching, NULL};

/* ---- opening ------------------------------------------------------------------------------------------- */

static const struct system load_teacher = {.name = "load_teacher",
                                           .doc = "the order of the mask that teaches",
                                           .writes = SET(SCENE_weight),
                                           .loads = true};

void clone_fill_opened(struct training *training, struct schedule *schedule) {
  const struct options *options = training->options;
  if (!training->config.round && options->learn.clone == CLONE_LBCS) schedule_add(schedule, &load_teacher, NULL);
}

/* Another mask under the same name is another teacher. */
static bool open_order(struct training *training, struct error *error) {
  const struct options *options = training->options;
  struct digest digest = digest_file(options->sampler.mask);
  struct arena *arena = arena_open();
  uint32_t *table = ARENA_NEW(arena, uint32_t, training->acquisition.shape.actions);
  bool good = fill_order(options, &training->acquisition, arena, table, error);
  if (good) world_put(training_world(training), &load_teacher, SCENE_weight, 0, 1, table);
  training_made_from(training, "mask", arena_text(arena, "%08x%08x", digest.word[0], digest.word[1]));
  arena_close(arena);
  return good;
}

bool clone_open(struct training *training, struct error *error) {
  const struct options *options = training->options;
  struct learning *learning = learning_of(training);
  if (training->config.round || options->learn.clone == CLONE_NONE) return true;
  learning->taught = clone_rollouts(options, learning->rollout.rows);
  return options->learn.clone != CLONE_LBCS || open_order(training, error);
}
