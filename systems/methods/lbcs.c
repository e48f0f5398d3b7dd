/* Grows one mask for a reconstructor (PROTOCOL 4.1): from the initial actions on, a step adds the free action
 * with which the training slices have the highest mean of the scene's metric. It is the average oracle's
 * choice, on slices and among actions that each step may draw anew. */
#include "engine/base/log.h"
#include "systems/methods/method.h"
#include "systems/methods/search.h"
#include "systems/sampling/geometry.h"
#include "systems/scan/oracle.h"
#include "systems/scan/slice_cache.h"
#include "systems/scan/systems.h"

#include <string.h>

/* Own state of the task. */
struct lbcs {
  size_t slices;   /* of a step */
  struct slice_order order; /* of all training slices */
  float *room;     /* for a number of each action */
};

enum lbcs_value { LBCS_SCORE, LBCS_ACTION }; /* of a step that is looked at */

/* Places of its lists. */
enum lbcs_list { LBCS_OPENED, LBCS_ORDER, LBCS_BEFORE, LBCS_GROW, LBCS_LOG, LBCS_SAVE };

static const struct sampler sampler_grown = {
    .name = "lbcs", .doc = "the action that is best on average", .kind = SAMPLER_AVERAGE_ORACLE};

/* ---- systems ------------------------------------------------------------------------------------------- */

static void run_wear(struct world *world, void *context) {
  const struct simulation *simulation = context;
  reset_scans(world, simulation, arg_unnamed(world_in(world, SCENE_grown)));
  device_fill(world_device(world), world_out(world, ENV_step).as.m, 0, sizeof(uint32_t) * world_rows(world, TABLE_ENV),
              simulation->taken);
}

static const struct system wear_mask = {
    .name = "wear_mask",
    .doc = "start scans that have acquired the mask so far",
    .reads = SET(ENV_done) | SET(ENV_scan) | SET(SLICE_order) | SET(ENV_slice) | SET(ENV_mask) |
             SET(ENV_step) | SET(SCENE_grown),
    .writes = SET(ENV_scan) | SET(ENV_slice) | SET(ENV_mask) | SET(ENV_step),
    .kernels = {"mask_reset"},
    .run = run_wear};

/* All scans have chosen the same action: the first one's joins the mask. */
static void run_take(struct world *world, void *context) {
  const struct simulation *simulation = context;
  struct arg done = world_part(world, ENV_done);
  done.kind = ARG_OUT;
  kernel_run(world_kernels(world), "mask_acquire", 1,
             ARGS(world_in(world, ENV_action), arg_unnamed(world_inout(world, SCENE_grown)),
                  world_inout(world, ENV_step), done,
                  arg_u32(simulation->acquisition.budget)));
  world_copy(world, ENV_action, 0, ROLLOUT_action, simulation->taken, 1);
}

static const struct system take_action = {.name = "take_action",
                                          .doc = "add the best action to the mask",
                                          .reads = SET(ENV_action) | SET(SCENE_grown) | SET(ENV_step),
                                          .writes = SET(SCENE_grown),
                                          .parts = SET(ENV_step) | SET(ENV_done) | SET(ROLLOUT_action),
                                          .kernels = {"mask_acquire"},
                                          .run = run_take};

static void fill_grow(struct training *training, struct schedule *schedule) {
  struct simulation *simulation = &training->train.simulation;
  simulation_add_restart(simulation, schedule);
  schedule_add(schedule, &wear_mask, simulation);
  oracle_add(simulation, schedule, true);
  schedule_add(schedule, &take_action, simulation);
}

static void add_wear(struct simulation *simulation, struct schedule *schedule) {
  schedule_add(schedule, &wear_mask, simulation);
}

static const struct search_way way = {&sampler_grown, add_wear};

/* What the host does between lists. */
static const struct system load_initial = {.name = "load_initial",
                                           .doc = "the initial actions, from which the mask grows",
                                           .writes = SET(SCENE_grown),
                                           .loads = true},
                           save_choice = {.name = "save_choice",
                                          .doc = "the action that was added, and its score, for the log",
                                          .reads = SET(ROLLOUT_action) | SET(SCENE_mean_quality)},
                           save_mask = {.name = "save_mask",
                                        .doc = "the mask so far, and its order",
                                        .reads = SET(SCENE_grown) | SET(ROLLOUT_action)},
                           load_mask = {.name = "load_mask",
                                        .doc = "the order of the mask that goes on, beside it",
                                        .reads = SET(SCENE_grown),
                                        .parts = SET(ROLLOUT_action),
                                        .loads = true};

static void fill_order(struct training *training, struct schedule *schedule) {
  struct slice_order *order = &OWN(lbcs, training)->order;
  order->simulation = &training->train.simulation;
  if (training->options->lbcs.slices) slice_order_add(order, schedule);
}

/* ---- data ---------------------------------------------------------------------------------------------- */

static struct simulation_plan plan(const struct training *training, const struct split *split, size_t slices) {
  size_t wanted = split->options.lbcs.slices;
  struct simulation_plan plan = search_plan(training, split, slices);
  if (split == &training->validation) return plan;
  plan.envs = plan.together = wanted && wanted < slices ? wanted : slices;
  plan.rollout_steps = training->acquisition.budget;
  plan.record = true;
  plan.columns |= SET(SCENE_grown);
  return plan;
}

/* Its oracle tries as many candidates as lbcs.candidates says. */
static void set(struct options *options) {
  options->sampler.candidates = options->lbcs.candidates;
}

/* ---- options ------------------------------------------------------------------------------------------- */

static bool refuse_slices(const struct options *options, size_t slices, struct error *error) {
  return fail_usage(error,
                    "lbcs.slices is %u; data.path %s has %zu training slice%s, set it lower, or to 0 for all",
                    options->lbcs.slices, options->data.path, slices, plural(slices));
}

/* Before a reconstructor is trained for nothing. */
static bool check_slices(const struct options *options, struct error *error) {
  struct split train = {.options = *options};
  size_t slices;
  train.options.data.split = SPLIT_TRAIN;
  if (!options->lbcs.slices) return true;
  if (!split_find(&train, &(struct training_config){0}, &slices, error))
    return fail_in(error, "training data");
  split_close(&train);
  return options->lbcs.slices <= slices || refuse_slices(options, slices, error);
}

static bool check_candidates(const struct options *options, const struct acquisition *acquisition,
                             struct error *error) {
  const struct geometry *geometry = geometry_of(acquisition);
  uint32_t free_actions = scan_shape_choices(&acquisition->shape) - acquisition->initial_lines,
           wanted = options->lbcs.candidates;
  const char *initial = geometry->points ? "acquisition.initial_side" : "acquisition.initial_lines";
  if (wanted > free_actions)
    return fail_usage(
        error,
        "lbcs.candidates is %u; %u of %u %ss are free after the initial ones (%s), set it lower, or "
        "to 0 for all",
        wanted, free_actions, acquisition->shape.actions, geometry->one, initial);
  if (wanted || !geometry->points) return true;
  return fail_usage(
      error,
      "lbcs.candidates is 0 and acquisition.geometry %s: every step would try all of %u free ones; "
      "set lbcs.candidates, as to 64",
      geometry->name, free_actions);
}

static bool check_options(const struct task_check *check, struct error *error) {
  return search_check(check->options, "lbcs", error) && check_candidates(check->options, &check->acquisition, error) &&
         check_slices(check->options, error);
}

/* ---- opening ------------------------------------------------------------------------------------------- */

/* Slices that are left out at loading may be those that were counted before. */
static bool count_slices(struct training *training, struct error *error) {
  const struct options *options = training->options;
  size_t loaded = training->train.report.slices, wanted = options->lbcs.slices, slices = wanted ? wanted : loaded;
  uint32_t candidates = options->lbcs.candidates ? options->lbcs.candidates : training->acquisition.shape.actions;
  if (wanted > loaded) return refuse_slices(options, loaded, error);
  OWN(lbcs, training)->slices = slices;
  if (slices <= UINT32_MAX / candidates) return true;
  return fail_usage(
      error,
      "%zu slices and %u candidates of a step are more than the %u images that have numbers; lower "
      "lbcs.slices or lbcs.candidates",
      slices, candidates, UINT32_MAX);
}

/* Validation scans have the mask of the training's world. */
static bool open_mask(struct training *training, struct error *error) {
  struct lbcs *lbcs = OWN(lbcs, training);
  struct world *world = training_world(training);
  struct arena *arena = training->arena;
  size_t actions = training->acquisition.shape.actions;
  uint8_t *initial = arena_try(arena, actions);
  lbcs->order.count = training->train.report.slices;
  lbcs->order.slice = arena_try_array(arena, sizeof(uint32_t), lbcs->order.count);
  lbcs->room = arena_try_array(arena, sizeof(float), actions);
  if (!initial || !lbcs->order.slice || !lbcs->room)
    return fail_memory(error, "no host memory for a mask of %zu", actions);
  acquisition_initial(&training->acquisition, initial);
  world_put(world, &load_initial, SCENE_grown, 0, 1, initial);
  return true;
}

static void count_steps(struct training *training) {
  const struct options *options = training->options;
  const struct acquisition *acquisition = &training->acquisition;
  size_t candidates = oracle_candidates(&training->train.options, acquisition), slices = OWN(lbcs, training)->slices;
  training->wanted = acquisition->budget;
  training->each = training->log_every = training->save_every = options->lbcs.log_every;
  training->work = (double)slices * (double)candidates / (double)training->wanted;
  log_info("a mask of %u initial and %u more %ss: %.4g images of %zu slice%s a step", acquisition->initial_lines,
           acquisition->budget, geometry_of(acquisition)->one, (double)candidates * (double)slices, slices,
           plural(slices));
}

static bool open_search(struct training *training, struct error *error) {
  if (!count_slices(training, error) || !open_mask(training, error)) return false;
  count_steps(training);
  return true;
}

/* ---- the task ------------------------------------------------------------------------------------------ */

static void step(struct training *training) {
  struct simulation *simulation = &training->train.simulation;
  struct lbcs *lbcs = OWN(lbcs, training);
  simulation->taken = lbcs->order.key = (uint32_t)training->done;
  if (lbcs->slices != lbcs->order.count) training_run_list(training, LBCS_ORDER);
  simulation_restart(simulation, 0, lbcs->slices);
  training_run_list(training, LBCS_GROW);
}

static bool log_step(struct training *training, double values[TRAINING_VALUES], struct error *error) {
  float *room = OWN(lbcs, training)->room;
  uint32_t action;
  if (!training_look(training, LBCS_LOG,
                     COLUMNS({ROLLOUT_action, training->done - 1, 1, &action}, {SCENE_mean_quality, 0, 1, room}),
                     error))
    return false;
  values[LBCS_SCORE] = room[action];
  values[LBCS_ACTION] = action;
  return true;
}

static bool validate(struct training *training, double values[TRAINING_VALUES], struct error *error) {
  training->validation.simulation.taken = (uint32_t)training->done;
  return search_validate(training, values, error);
}

/* The mask, as samplers read it, and its actions in the order that they were taken in. */
static bool write_search(const struct training *training, struct store *store, struct error *error) {
  const struct scan_shape *scan = &training->acquisition.shape;
  const struct geometry *geometry = geometry_of(&training->acquisition);
  size_t actions = scan->actions, taken = training->done;
  const size_t shape[] = {geometry->points ? scan->height : actions, scan->width};
  struct arena *arena = arena_open();
  uint8_t *mask = ARENA_NEW(arena, uint8_t, actions);
  uint32_t *order = ARENA_NEW(arena, uint32_t, taken);
  bool good = store_put_text(store, "network", training->task->network, error) &&
              store_put_text(store, "scan_geometry", geometry->name, error) &&
              training_look(training, LBCS_SAVE, COLUMNS({SCENE_grown, 0, 1, mask}, {ROLLOUT_action, 0, taken, order}), error) &&
              store_write(store, "mask", STORE_U8, geometry->points ? 2 : 1, shape, mask, false, error) &&
              store_write(store, "order", STORE_U32, 1, &taken, order, false, error);
  arena_close(arena);
  return good;
}

/* Whether the mask is the initial one with these actions, which `grown` has room for. */
static bool is_grown(const struct training *training, const uint32_t *order, const uint8_t *mask, uint8_t *grown) {
  size_t actions = training->acquisition.shape.actions;
  acquisition_initial(&training->acquisition, grown);
  for (size_t i = 0; i < training->done; i++) {
    if (order[i] >= actions || grown[order[i]]) return false;
    grown[order[i]] = 1;
  }
  return !memcmp(grown, mask, actions);
}

static bool read_search(struct training *training, struct store *store, struct error *error) {
  struct world *world = training_world(training);
  size_t taken = training->done, actions = training->acquisition.shape.actions;
  struct arena *arena = arena_open();
  uint32_t *order = ARENA_NEW(arena, uint32_t, taken);
  uint8_t *mask = ARENA_NEW(arena, uint8_t, 2 * actions);
  bool good = store_read_known(store, "order", STORE_U32, taken, order, error);
  struct world_use before = world_enter(world, &load_mask);
  world_read(world, SCENE_grown, 0, 1, mask);
  good = good && device_finish(world_device(world), error);
  if (good && !is_grown(training, order, mask, mask + actions))
    good = fail_file(error,
                     "its mask is not the initial one with the %zu action%s of its order: the file is damaged, "
                     "start anew in another train.output",
                     taken, plural(taken));
  world_write(world, ROLLOUT_action, 0, good ? taken : 0, order);
  world_leave(world, before);
  arena_close(arena);
  return good && device_finish(world_device(world), error);
}

static const struct task task_lbcs = {
    SEARCH_TASK,
    .name = "mask",
    .network = "lbcs",
    .unit = "step",
    .reads = KEYS("data.", "import.", "acquisition.", "world.", "network.", "reconstruct.", "reward.metric", "lbcs."),
    .more = "acquisition.budget",
    .facts = &way,
    .bytes = sizeof(struct lbcs),
    .networks = {&network_fixed_reconstructor},
    .lists = {[LBCS_OPENED] = {"opened", "when the search is opened", .host = true, .rows = SYSTEMS(&load_initial)},
              [LBCS_ORDER] = {"order", "before every action, of which a part of the slices decides", .fill = fill_order},
              [LBCS_BEFORE] = {"restart", "before every action",
                               .in_training = offsetof(struct training, train.simulation.restart)},
              [LBCS_LOG] = {"log", "for every line of the log", .host = true, .rows = SYSTEMS(&save_choice)},
              [LBCS_GROW] = {"grow", "for every action", .unit = true, .fill = fill_grow},
              [LBCS_SAVE] = {"checkpoint", "for every checkpoint", .host = true, .rows = SYSTEMS(&save_mask)},
              SEARCH_LISTS("one scan of every validation slice, with the mask so far")},
    .train = {"look",
              VALUES([LBCS_SCORE] = {"score", "%s/train",
                                     "the mean of the scene's metric over the step's slices with the action that it took"},
                     [LBCS_ACTION] = {"action", NULL, "that action"}),
              1 << LBCS_SCORE},
    .across = "actions beside the initial ones",
    .curves = CURVES({"%s", "training", .logged = true, .value = LBCS_SCORE},
                     {"%s", "validation", .validation = true}),
    .set = set,
    .shares = SET(SCENE_grown),
    .plan = plan,
    .check = check_options,
    .open = open_search,
    .step = step,
    .log = log_step,
    .validate = validate,
    .write = write_search,
    .read = read_search};

const struct method method_lbcs = {
    .name = "lbcs",
    .doc = "one mask for all scans, grown action by action by what is best for a reconstructor on training "
           "slices",
    .paper =
        "LBCS, Gozcu et al. 2018, arXiv:1805.01266; in parts (sLBCS), Sanchez et al. 2020, arXiv:1902.00386",
    .networks = "none; a U-Net first",
    .systems = SYSTEMS(&wear_mask, &take_action),
    .stages = {&task_reconstructor, &task_lbcs}};
