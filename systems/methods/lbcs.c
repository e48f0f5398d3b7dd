/* Grows one mask for a reconstructor (PROTOCOL 4.1): from the initial actions on, a step adds the free action
 * with which the training slices have the highest mean of the scene's metric. It is the average oracle's
 * choice, on slices and among actions that each step may draw anew. */
#include "systems/methods/lbcs.h"

#include "engine/base/log.h"
#include "systems/methods/method.h"
#include "systems/methods/policy_training.h"
#include "systems/networks/checkpoint.h"
#include "systems/networks/reconstructor.h"
#include "systems/sampling/geometry.h"
#include "systems/scan/observation.h"
#include "systems/scan/oracle.h"
#include "systems/scan/slice_cache.h"
#include "systems/scan/systems.h"
#include "systems/training/lists.h"

#include <string.h>

struct lbcs {
  struct trainer trainer; /* first: the task knows it by this */
  struct split train, validation;
  struct reconstructor reconstructor;
  struct acquisition acquisition;
  struct schedule grow, validate;
  size_t slices;   /* of a step */
  uint32_t *order; /* room for one of all training slices */
  float *room;     /* for a number of each action, or of each validation scan */
};

/* Not simulation_set: points are not drawn here, and masks are not the scan's own. */
static const struct sampler sampler_grown = {
    .name = "lbcs", .doc = "the action that is best on average", .kind = SAMPLER_AVERAGE_ORACLE};

static struct lbcs *lbcs_of(struct trainer *trainer) {
  return (struct lbcs *)trainer;
}

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

static const struct system *const lbcs_systems[] = {&wear_mask, &take_action, NULL};

static void add_grow(struct lbcs *lbcs, struct schedule *schedule) {
  struct simulation *simulation = &lbcs->train.simulation;
  simulation_add_restart(simulation, schedule);
  schedule_add(schedule, &wear_mask, simulation);
  oracle_add(simulation, schedule, true);
  schedule_add(schedule, &take_action, simulation);
}

static const struct metric *metric_of(const struct lbcs *lbcs) {
  return &metric_list[lbcs->trainer.options->reward.metric];
}

static void add_validate(struct lbcs *lbcs, struct schedule *schedule) {
  struct simulation *simulation = &lbcs->validation.simulation;
  simulation_add_restart(simulation, schedule);
  schedule_add(schedule, &wear_mask, simulation);
  simulation_add_observe(simulation, schedule);
  simulation_add_reconstruct(simulation, schedule);
  schedule_add(schedule, metric_of(lbcs)->system, simulation);
}

static bool build_schedules(struct lbcs *lbcs, struct error *error) {
  lbcs->train.simulation.sampler = &sampler_grown;
  lbcs->train.simulation.acquisition = lbcs->acquisition;
  schedule_open(&lbcs->grow, &component_schema);
  schedule_name(&lbcs->grow, "grow");
  add_grow(lbcs, &lbcs->grow);
  schedule_open(&lbcs->validate, &component_schema);
  schedule_name(&lbcs->validate, "validate");
  add_validate(lbcs, &lbcs->validate);
  return schedule_close(&lbcs->grow, error) && schedule_close(&lbcs->validate, error);
}

/* ---- plans --------------------------------------------------------------------------------------------- */

/* Scans of a step stand side by side, so that candidates of several fill the network's passes. Only the
 * candidates, in a world of their own, are observed: they share what that needs. */
static struct simulation_plan plan_train(const struct options *options, size_t slices, uint32_t budget) {
  size_t wanted = options->lbcs.slices, envs = wanted && wanted < slices ? wanted : slices;
  const struct observation *observation = observation_chosen(options);
  component_set cells = observation->cells ? SET(SCENE_cells) : 0;
  return (struct simulation_plan){.slices = slices,
                                  .envs = envs,
                                  .together = envs,
                                  .rollout_steps = budget,
                                  .record = true,
                                  .network = true,
                                  .deciders = DECIDES_ORACLE,
                                  .columns =
                                      SET(SCENE_grown) | SET(SLICE_image) | observation->kspace | cells};
}

static struct simulation_plan plan_validation(const struct options *options, size_t slices) {
  size_t envs = options->world.envs < slices ? options->world.envs : slices;
  return (struct simulation_plan){.slices = slices,
                                  .envs = envs,
                                  .together = envs,
                                  .metrics = metric_list[options->reward.metric].name,
                                  .network = true,
                                  .prefix = "validation "};
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
  if (!split_find(&train, &(struct trainer_config){0}, &slices, error))
    return fail_in(error, "training data");
  split_close(&train);
  return options->lbcs.slices <= slices || refuse_slices(options, slices, error);
}

static bool check_candidates(const struct options *options, const struct acquisition *acquisition,
                             struct error *error) {
  const struct geometry *geometry = geometry_of(acquisition);
  uint32_t free_actions = acquisition->lines - acquisition->initial_lines, wanted = options->lbcs.candidates;
  const char *initial = geometry->points ? "acquisition.initial_side" : "acquisition.initial_lines";
  if (wanted > free_actions)
    return fail_usage(
        error,
        "lbcs.candidates is %u; %u of %u %ss are free after the initial ones (%s), set it lower, or "
        "to 0 for all",
        wanted, free_actions, acquisition->lines, geometry->one, initial);
  if (wanted || !geometry->points) return true;
  return fail_usage(
      error,
      "lbcs.candidates is 0 and acquisition.geometry %s: every step would try all of %u free ones; "
      "set lbcs.candidates, as to 64",
      geometry->name, free_actions);
}

static bool check(const struct options *options, struct error *error) {
  struct acquisition acquisition;
  struct arena *arena = arena_open();
  bool good =
      options->network.input == INPUT_MAGNITUDE ||
      fail_usage(error, "train.method is lbcs, which looks at magnitudes, and network.input is complex; set "
                        "it to magnitude");
  good = good && acquisition_only(&acquisition, options, arena, error) &&
         check_candidates(options, &acquisition, error) && check_slices(options, error);
  arena_close(arena);
  return good;
}

/* ---- opening ------------------------------------------------------------------------------------------- */

static void set_split(struct lbcs *lbcs, struct split *split, enum data_split which) {
  split->options = *lbcs->trainer.options;
  split->options.data.split = which;
  split->options.sampler.candidates = split->options.lbcs.candidates;
}

static bool describe_split(const struct split *split, struct simulation *simulation, struct simulation_plan plan,
                           struct error *error) {
  plan.window = slice_cache_planned(&split->options, plan.slices, plan.together);
  return simulation_describe(simulation, &split->options, &plan, &sampler_grown, error);
}

static void put_lists(struct lists *lists, const struct lbcs *lbcs, struct arena *arena) {
  lists_note_scans(lists, "mask", &lbcs->train.simulation, arena);
  lists_note_scans(lists, "mask", &lbcs->validation.simulation, arena);
  lists_put(lists, "mask", "before every action", &lbcs->train.simulation.restart);
  lists_put(lists, "mask", "for every action", &lbcs->grow);
  lists_put(lists, "mask", "before the scans of a validation", &lbcs->validation.simulation.restart);
  lists_put(lists, "mask", "one scan of every validation slice, with the mask so far", &lbcs->validate);
}

static bool describe(struct lists *lists, const struct options *options, struct arena *arena,
                     struct error *error) {
  struct lbcs *lbcs = ARENA_NEW(arena, struct lbcs, 1);
  struct split *train = &lbcs->train, *validation = &lbcs->validation;
  *lbcs = (struct lbcs){.trainer = {.options = options}};
  set_split(lbcs, train, SPLIT_TRAIN);
  set_split(lbcs, validation, SPLIT_VAL);
  if (!describe_split(train, &train->simulation, plan_train(&train->options, lists_slices(&train->options), 1), error) ||
      !describe_split(validation, &validation->simulation,
                      plan_validation(&validation->options, lists_slices(&validation->options)), error) ||
      !build_schedules(lbcs, error) || !lists_put_data(lists, "mask", &train->simulation, arena, error) ||
      !lists_put_data(lists, "mask", &validation->simulation, arena, error))
    return false;
  put_lists(lists, lbcs, arena);
  return true;
}

static bool open_train(struct lbcs *lbcs, const struct trainer_config *config, struct error *error) {
  struct split *split = &lbcs->train;
  size_t slices;
  set_split(lbcs, split, SPLIT_TRAIN);
  return (split_find(split, config, &slices, error) &&
          split_load(split, lbcs->trainer.device,
                     plan_train(&split->options, slices, lbcs->acquisition.budget), config,
                     lbcs->trainer.arena, error)) ||
         fail_in(error, "training data");
}

static bool open_validation(struct lbcs *lbcs, const struct trainer_config *config, struct error *error) {
  struct split *split = &lbcs->validation;
  size_t slices;
  set_split(lbcs, split, SPLIT_VAL);
  if (!split_find(split, config, &slices, error)) return fail_in(error, "validation data");
  struct simulation_plan plan = plan_validation(&split->options, slices);
  plan.kernels = lbcs->train.simulation.kernels;
  return split_load(split, lbcs->trainer.device, plan, config, lbcs->trainer.arena, error) ||
         fail_in(error, "validation data");
}

/* Slices that are left out at loading may be those that were counted before. */
static bool count_slices(struct lbcs *lbcs, struct error *error) {
  const struct options *options = lbcs->trainer.options;
  size_t loaded = lbcs->train.report.slices, wanted = options->lbcs.slices, slices = wanted ? wanted : loaded;
  uint32_t candidates = options->lbcs.candidates ? options->lbcs.candidates : lbcs->acquisition.lines;
  if (wanted > loaded) return refuse_slices(options, loaded, error);
  lbcs->slices = slices;
  if (slices <= UINT32_MAX / candidates) return true;
  return fail_usage(
      error,
      "%zu slices and %u candidates of a step are more than the %u images that have numbers; lower "
      "lbcs.slices or lbcs.candidates",
      slices, candidates, UINT32_MAX);
}

static bool open_reconstructor(struct lbcs *lbcs, const char *path, struct error *error) {
  struct reconstructor_setup setup = reconstructor_setup_of(
      lbcs->trainer.device, lbcs->train.simulation.kernels, lbcs->trainer.options, SIZE_MAX);
  if (!reconstructor_load(&lbcs->reconstructor, path, &setup, error))
    return fail_in(error, "the reconstructor");
  lbcs->train.simulation.reconstructor = lbcs->validation.simulation.reconstructor = &lbcs->reconstructor;
  return true;
}

static bool open_schedules(struct lbcs *lbcs, struct error *error) {
  struct kernels *kernels = lbcs->train.simulation.kernels;
  return build_schedules(lbcs, error) && schedule_prepare(&lbcs->grow, kernels, error) &&
         schedule_prepare(&lbcs->validate, kernels, error);
}

static const struct system load_initial = {.name = "load_initial",
                                           .doc = "the initial actions, from which the mask grows",
                                           .writes = SET(SCENE_grown)};

/* Validation scans have the mask of the training's world. */
static bool open_mask(struct lbcs *lbcs, struct error *error) {
  struct world *world = lbcs->train.simulation.world, *other = lbcs->validation.simulation.world;
  struct arena *arena = lbcs->trainer.arena;
  size_t actions = lbcs->acquisition.lines, envs = world_capacity(other, TABLE_ENV);
  uint8_t *initial = arena_try(arena, actions);
  lbcs->order = arena_try_array(arena, sizeof(uint32_t), lbcs->train.report.slices);
  lbcs->room = arena_try_array(arena, sizeof(float), actions > envs ? actions : envs);
  if (!initial || !lbcs->order || !lbcs->room)
    return fail_memory(error, "no host memory for a mask of %zu", actions);
  acquisition_initial(&lbcs->acquisition, initial);
  world_put(world, &load_initial, SCENE_grown, 0, 1, initial);
  world_share(other, world, SET(SCENE_grown));
  return true;
}

static bool count_steps(struct lbcs *lbcs, struct error *error) {
  struct trainer *trainer = &lbcs->trainer;
  const struct options *options = trainer->options;
  size_t candidates = oracle_candidates(&lbcs->train.options, &lbcs->acquisition);
  trainer->wanted = lbcs->acquisition.budget;
  trainer->each = trainer->look_every = trainer->save_every = options->lbcs.log_every;
  trainer->world = lbcs->train.simulation.world;
  trainer->work = (double)lbcs->slices * (double)candidates / (double)trainer->wanted;
  trainer->event_each = trainer->event_per = 1;
  log_info("a mask of %u initial and %u more %ss: %.4g images of %zu slice%s a step",
           lbcs->acquisition.initial_lines, lbcs->acquisition.budget, geometry_of(&lbcs->acquisition)->one,
           (double)candidates * (double)lbcs->slices, lbcs->slices, plural(lbcs->slices));
  return trainer_open_history(trainer, error);
}

/* They say where and what is printed; or are of other work. */
static const char *const may_differ[] = {
    "evaluate.",  "phantom.",    "train.",      "learn.",       "alternate.",   "pgmri.",
    "loupe.",     "tau.",        "sampler.",    "policy.",      "data.path",    "data.split",
    "world.envs", "data.window", "reward.form", "reward.scale", "data.augment", NULL};

static bool open_files(struct lbcs *lbcs, const struct trainer_config *config, struct error *error) {
  struct run_files *run = &lbcs->trainer.run;
  *run = (struct run_files){.train = split_data(&lbcs->train),
                            .validation = split_data(&lbcs->validation),
                            .origin = {{.name = "reconstructor"}},
                            .may_differ = may_differ};
  return checkpoint_hash(lbcs->reconstructor.graph, run->origin[0].value, error) &&
         trainer_open_files(&lbcs->trainer, config, error);
}

static void close_all(struct lbcs *lbcs) {
  trainer_close(&lbcs->trainer);
  reconstructor_close(&lbcs->reconstructor);
  split_close(&lbcs->validation);
  split_close(&lbcs->train);
  arena_close(lbcs->trainer.arena);
}

static bool open_all(struct lbcs *lbcs, struct device *device, const struct options *options,
                     const struct trainer_config *config, struct error *error) {
  *lbcs = (struct lbcs){
      .trainer = {.task = &task_lbcs, .arena = arena_open(), .device = device, .options = options}};
  return acquisition_only(&lbcs->acquisition, options, lbcs->trainer.arena, error) &&
         open_train(lbcs, config, error) && count_slices(lbcs, error) &&
         open_validation(lbcs, config, error) && open_reconstructor(lbcs, config->reconstructor, error) &&
         open_schedules(lbcs, error) && open_mask(lbcs, error) && count_steps(lbcs, error) &&
         open_files(lbcs, config, error) && device_finish(device, error);
}

/* ---- the task ------------------------------------------------------------------------------------------ */

static void add_all(struct trainer *trainer, struct schedule *schedule) {
  add_grow(lbcs_of(trainer), schedule);
}

/* A part of the slices is drawn by seed and step. */
static void draw_slices(struct lbcs *lbcs) {
  size_t slices = lbcs->train.report.slices;
  struct random random;
  if (lbcs->slices == slices) return;
  random_start(&random, lbcs->trainer.options->world.seed, STREAM_ORDER, (uint32_t)lbcs->trainer.done);
  random_order(&random, lbcs->order, slices);
  slice_cache_order(&lbcs->train.simulation, lbcs->order, slices);
}

static void step(struct trainer *trainer) {
  struct lbcs *lbcs = lbcs_of(trainer);
  struct simulation *simulation = &lbcs->train.simulation;
  draw_slices(lbcs);
  simulation->taken = (uint32_t)trainer->done;
  simulation_restart(simulation, 0, lbcs->slices);
  schedule_run(&lbcs->grow, simulation->world);
}

static const struct system save_choice = {.name = "save_choice",
                                          .doc = "the action that was added, and its score, for the log",
                                          .reads = SET(ROLLOUT_action) | SET(SCENE_mean_quality)};

static bool look(struct trainer *trainer, double values[TRAINER_VALUES], struct error *error) {
  struct lbcs *lbcs = lbcs_of(trainer);
  uint32_t action;
  struct world_use before = world_enter(trainer->world, &save_choice);
  world_read(trainer->world, ROLLOUT_action, trainer->done - 1, 1, &action);
  world_read(trainer->world, SCENE_mean_quality, 0, 1, lbcs->room);
  world_leave(trainer->world, before);
  if (!device_finish(trainer->device, error)) return false;
  values[LBCS_score] = lbcs->room[action];
  values[LBCS_action] = action;
  return true;
}

/* With the column of the scene's metric. */
static const struct system save_scores = {.name = "save_scores", .doc = "scores of the validation scans"};

static bool validate(struct trainer *trainer, double values[TRAINER_VALUES], struct error *error) {
  struct lbcs *lbcs = lbcs_of(trainer);
  struct simulation *simulation = &lbcs->validation.simulation;
  const struct metric *metric = metric_of(lbcs);
  size_t slices = lbcs->validation.report.slices, most = world_capacity(simulation->world, TABLE_ENV);
  struct system save = save_scores;
  bool good = true;
  save.reads = SET(metric->env);
  simulation->taken = (uint32_t)trainer->done;
  for (size_t first = 0; good && first < slices; first += most) {
    size_t envs = slices - first < most ? slices - first : most;
    simulation_restart(simulation, (uint32_t)first, envs);
    schedule_run(&lbcs->validate, simulation->world);
    world_get(simulation->world, &save, metric->env, 0, envs, lbcs->room);
    good = device_finish(trainer->device, error);
    for (size_t i = 0; i < envs; i++) values[0] += (double)(metric->sign * lbcs->room[i]) / (double)slices;
  }
  return good;
}

static const struct system save_mask = {
    .name = "save_mask", .doc = "the mask so far, and its order", .reads = SET(SCENE_grown) | SET(ROLLOUT_action)};
static const struct system load_mask = {.name = "load_mask",
                                        .doc = "the order of the mask that goes on, beside it",
                                        .reads = SET(SCENE_grown),
                                        .parts = SET(ROLLOUT_action)};

/* The mask, as samplers read it, and its actions in the order that they were taken in. */
static bool write_mask(const struct lbcs *lbcs, struct arena *arena, struct store *store,
                       struct error *error) {
  struct world *world = lbcs->trainer.world;
  size_t actions = lbcs->acquisition.lines, size = lbcs->acquisition.size, taken = lbcs->trainer.done;
  bool points = geometry_of(&lbcs->acquisition)->points;
  const size_t shape[] = {points ? size : actions, size};
  uint8_t *mask = ARENA_NEW(arena, uint8_t, actions);
  uint32_t *order = ARENA_NEW(arena, uint32_t, taken);
  struct world_use before = world_enter(world, &save_mask);
  world_read(world, SCENE_grown, 0, 1, mask);
  world_read(world, ROLLOUT_action, 0, taken, order);
  world_leave(world, before);
  return device_finish(world_device(world), error) &&
         store_write(store, "mask", STORE_U8, points ? 2 : 1, shape, mask, false, error) &&
         store_write(store, "order", STORE_U32, 1, &taken, order, false, error);
}

static bool write(const struct trainer *trainer, struct store *store, struct error *error) {
  const struct lbcs *lbcs = (const struct lbcs *)trainer;
  struct arena *arena = arena_open();
  bool good = store_put_text(store, "network", task_lbcs.network, error) &&
              store_put_text(store, "scan_geometry", geometry_of(&lbcs->acquisition)->name, error) &&
              write_mask(lbcs, arena, store, error);
  arena_close(arena);
  return good;
}

/* The column that is carried must be the initial mask with these actions. */
static bool check_order(const struct lbcs *lbcs, const uint32_t *order, const uint8_t *mask,
                        struct arena *arena) {
  size_t actions = lbcs->acquisition.lines;
  uint8_t *grown = ARENA_NEW(arena, uint8_t, actions);
  acquisition_initial(&lbcs->acquisition, grown);
  for (size_t i = 0; i < lbcs->trainer.done; i++) {
    if (order[i] >= actions || grown[order[i]]) return false;
    grown[order[i]] = 1;
  }
  return !memcmp(grown, mask, actions);
}

static bool read_order(struct lbcs *lbcs, struct arena *arena, struct store *store, struct error *error) {
  struct world *world = lbcs->trainer.world;
  size_t taken = lbcs->trainer.done;
  uint32_t *order = ARENA_NEW(arena, uint32_t, taken);
  uint8_t *mask = ARENA_NEW(arena, uint8_t, lbcs->acquisition.lines);
  if (!store_read_known(store, "order", STORE_U32, taken, order, error)) return false;
  struct world_use before = world_enter(world, &load_mask);
  world_read(world, SCENE_grown, 0, 1, mask);
  world_write(world, ROLLOUT_action, 0, taken, order);
  world_leave(world, before);
  if (!device_finish(world_device(world), error)) return false;
  return check_order(lbcs, order, mask, arena) ||
         fail_file(error,
                   "its mask is not the initial one with the %zu action%s of its order: the file is damaged, "
                   "start anew in another train.output",
                   taken, plural(taken));
}

static bool read(struct trainer *trainer, struct store *store, struct error *error) {
  struct arena *arena = arena_open();
  bool good = read_order(lbcs_of(trainer), arena, store, error);
  arena_close(arena);
  return good;
}

static const struct trainer_value look_values[] = {
#define X(name, tag, doc) {#name, tag, doc},
    LBCS_VALUES(X)
#undef X
        {NULL, NULL, NULL}};

static const struct trainer_curve curves[] = {
    {"%s", "training", .looks = true, .value = LBCS_score},
    {"%s", "validation", .validation = true},
    {.up = NULL}};

const struct task task_lbcs = {.network = "lbcs",
                               .unit = "step",
                               .worked = "images",
                               .train = {"look", look_values, 1 << LBCS_score},
                               .validation = {"validation", policy_score_values, 1},
                               .scores = true,
                               .across = "actions beside the initial ones",
                               .curves = curves,
                               .more = "acquisition.budget",
                               .advice =
                                   "name a reconstructor whose images are finite in learn.reconstructor",
                               .add = add_all,
                               .step = step,
                               .look = look,
                               .validate = validate,
                               .write = write,
                               .read = read};

static bool run(struct device *device, const struct options *options, const struct trainer_config *config,
                struct error *error) {
  struct lbcs lbcs;
  bool good =
      open_all(&lbcs, device, options, config, error) && trainer_run_stage(&lbcs.trainer, config, error);
  close_all(&lbcs);
  return good;
}

static const struct mask_grower grower = {check, run, describe};

const struct method method_lbcs = {
    .name = "lbcs",
    .doc = "one mask for all scans, grown action by action by what is best for a reconstructor on training "
           "slices",
    .paper =
        "LBCS, Gozcu et al. 2018, arXiv:1805.01266; in parts (sLBCS), Sanchez et al. 2020, arXiv:1902.00386",
    .networks = "none; a U-Net first",
    .systems = lbcs_systems,
    .grows = &grower};
