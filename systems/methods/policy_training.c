#include "systems/methods/policy_training.h"

#include "systems/networks/checkpoint.h"
#include "systems/sampling/geometry.h"
#include "systems/scan/slice_cache.h"

#include <math.h>
#include <string.h>

/* ---- data ---------------------------------------------------------------------------------------------- */

/* A policy that looks at reconstructions is rewarded in every step. */
static void set_options(const struct policy_training *training, struct split *split) {
  split->options = *training->trainer.options;
  split->options.data.split = split == &training->train ? SPLIT_TRAIN : SPLIT_VAL;
  if (training->row->dense) split->options.reward.form = REWARD_DENSE;
}

/* Training needs room for the passes of its updates, validation for its scans. */
static struct simulation_plan plan_split(const struct policy_training *training, const struct split *split,
                                         size_t slices) {
  bool validates = split == &training->validation;
  struct simulation_plan plan =
      training->row->plan(&split->options, validates, slices, training->acquisition.budget);
  if (validates) plan.together = plan.envs;
  if (validates) plan.kernels = training->train.simulation.kernels;
  if (validates) plan.prefix = "validation ";
  plan.network = true;
  return plan;
}

static bool load_split(struct policy_training *training, struct split *split,
                       const struct trainer_config *config, struct error *error) {
  size_t slices;
  return split_find(split, config, &slices, error) &&
         split_load(split, training->trainer.device, plan_split(training, split, slices), config,
                    training->trainer.arena, error);
}

static bool open_split(struct policy_training *training, struct split *split,
                       const struct trainer_config *config, struct error *error) {
  set_options(training, split);
  return (load_split(training, split, config, error) ||
          fail_in(error, "%s data", split == &training->train ? "training" : "validation")) &&
         simulation_set(&split->simulation, &training->acquisition, &sampler_policy, error);
}

/* ---- networks ------------------------------------------------------------------------------------------ */

/* A pass takes no more than there are scans, or candidates of an oracle. */
static struct reconstructor_setup reconstructor_setup(const struct policy_training *training) {
  const struct trainer *trainer = &training->trainer;
  const struct simulation *simulation = &training->train.simulation;
  size_t scans = simulation->plan.deciders & DECIDES_ORACLE ? trainer->options->network.batch : world_capacity(simulation->world, TABLE_ENV);
  size_t others = world_capacity(training->validation.simulation.world, TABLE_ENV);
  struct reconstructor_setup setup = reconstructor_setup_of(
      trainer->device, simulation->kernels, trainer->options, scans > others ? scans : others);
  setup.planned = true;
  return setup;
}

static bool open_reconstructor(struct policy_training *training, const char *path, struct error *error) {
  struct reconstructor *reconstructor = &training->reconstructor;
  struct reconstructor_setup setup = reconstructor_setup(training);
  if (!reconstructor_begin(reconstructor, path, &setup, training->trainer.options->world.seed, error))
    return fail_in(error, "the reconstructor");
  training->train.simulation.reconstructor = training->validation.simulation.reconstructor = reconstructor;
  return true;
}

static struct policy_setup policy_setup(const struct policy_trainer *row, struct device *device,
                                        struct kernels *kernels, const struct options *options, size_t rows) {
  struct policy_setup setup = policy_setup_of(device, kernels, options, rows);
  setup.train = true;
  setup.dense = row->dense;
  return setup;
}

/* It is opened first, for its room is planned with the reconstructor's. */
static bool open_policy(struct policy_training *training, const char *reconstructor, struct error *error) {
  const struct options *options = training->trainer.options;
  struct policy *policy = &training->policy;
  struct policy_setup setup = policy_setup(training->row, training->trainer.device,
                                           training->train.simulation.kernels, options, training->rows);
  struct reconstructor_setup other = reconstructor_setup(training);
  if (!reconstructor_measure(&other, reconstructor, &setup.beside, error))
    return fail_in(error, "the reconstructor");
  if (!(training->row->open_policy ? training->row->open_policy(training, &setup, error)
                                   : policy_open(policy, &setup, error)))
    return false;
  policy->initial_lines = training->acquisition.initial_lines;
  strcpy(policy->geometry, geometry_of(&training->acquisition)->name);
  policy->budget = training->acquisition.budget;
  graph_start(policy->graph, options->world.seed);
  policy_changed(policy);
  training->train.simulation.policy = training->validation.simulation.policy = policy;
  training->validation.simulation.best = training->row->best;
  return true;
}

/* Parameters of another training's policy, and its optimiser where it goes on. */
static bool start_from(struct policy_training *training, const char *path, bool goes_on,
                       struct error *error) {
  struct optimiser *optimiser = &training->trainer.optimiser;
  struct store *store;
  if (!store_open(&store, path, error)) return fail_in(error, "the policy");
  double rate = optimiser->rate;
  bool good = checkpoint_read_parameters(store, "param", training->policy.graph, error) &&
              (!goes_on || checkpoint_read_optimiser(store, optimiser, error));
  store_close(store);
  optimiser->rate = rate;
  policy_changed(&training->policy);
  return good ? true : fail_in(error, "the policy %s", path);
}

/* ---- systems ------------------------------------------------------------------------------------------- */

static void run_zero(struct world *world, void *context) {
  struct policy *policy = ((const struct simulation *)context)->policy;
  policy_bind(policy, world);
  graph_zero_gradients(policy->graph);
}

const struct system system_zero_policy = {
    .name = "zero_gradients",
    .doc = "gradients of the policy start at 0",
    .writes = SET(POLICY_cleared),
    .run = run_zero};

static void run_optimise(struct world *world, void *context) {
  struct policy_training *training = context;
  (void)world;
  optimise_step(&training->trainer.optimiser);
  policy_changed(&training->policy);
}

static const struct system optimise = {
    .name = "optimise_policy",
    .doc = "a step of the policy's parameters",
    .reads = LEARN_READS(POLICY),
    .writes = LEARN_WRITES(POLICY),
    .run = run_optimise};

static void run_backward(struct world *world, void *context) {
  const struct simulation *simulation = context;
  (void)world;
  policy_backward(simulation->policy, simulation->pass.images);
}

const struct system system_backward_policy = {.name = "backward_policy",
                                              .doc = "the policy's backward pass",
                                              .reads = SET(BATCH_logits_gradient) | SET(BATCH_value_gradient) |
                                                       BACKWARD_READS(POLICY),
                                              .writes = BACKWARD_WRITES(POLICY),
                                              .run = run_backward};

void policy_training_add_optimise(struct policy_training *training, struct schedule *schedule) {
  schedule_add(schedule, &optimise, training);
}

const struct system *const policy_training_systems[] = {&system_zero_policy, &system_backward_policy, &optimise, NULL};

/* ---- lists --------------------------------------------------------------------------------------------- */

static bool build(struct policy_training *training, struct schedule *schedule, const char *name,
                  void (*fill)(struct policy_training *training, struct schedule *schedule),
                  struct error *error) {
  schedule_open(schedule, &component_schema);
  schedule_name(schedule, "%s", name);
  fill(training, schedule);
  return schedule_close(schedule, error);
}

static bool describe_split(struct policy_training *training, struct split *split, struct error *error) {
  set_options(training, split);
  struct simulation_plan plan = plan_split(training, split, lists_slices(&split->options));
  plan.window = slice_cache_planned(&split->options, plan.slices, plan.together);
  return simulation_describe(&split->simulation, &split->options, &plan, &sampler_policy, error);
}

bool policy_training_describe(const struct policy_trainer *row, struct lists *lists,
                              const struct options *options, struct arena *arena, struct error *error) {
  struct policy_training *training = arena_new(arena, row->bytes);
  struct schedule *play = ARENA_NEW(arena, struct schedule, 1);
  training->row = row;
  training->trainer.options = options;
  training->acquisition.budget = 1; /* lists do not depend on it */
  if (!describe_split(training, &training->train, error) ||
      !describe_split(training, &training->validation, error) ||
      !lists_put_data(lists, "policy", &training->train.simulation, arena, error) ||
      !lists_put_data(lists, "policy", &training->validation.simulation, arena, error))
    return false;
  lists_note_scans(lists, "policy", &training->train.simulation, arena);
  lists_note_scans(lists, "policy", &training->validation.simulation, arena);
  row->describe(training);
  if (row->lists && !row->lists(training, lists, error)) return false;
  if (!build(training, play, "play", row->add_play, error) ||
      !build(training, &training->update, "update", row->add_update, error))
    return false;
  const struct simulation *validation = &training->validation.simulation;
  lists_put(lists, "policy", row->play, play);
  lists_put(lists, "policy", row->update, &training->update);
  lists_put(lists, "policy", "before the scans of a validation", &validation->restart);
  lists_put(lists, "policy", row->validate, &validation->scan);
  return true;
}

/* ---- opening ------------------------------------------------------------------------------------------- */

bool policy_training_check(const struct policy_trainer *row, struct device *device,
                           const struct options *options, uint32_t rounds, struct error *error) {
  struct acquisition acquisition;
  struct policy_setup setup = policy_setup(row, device, NULL, options, SIZE_MAX);
  struct arena *arena = arena_open();
  bool good = acquisition_only(&acquisition, options, arena, error) &&
              network_check(row->network, options, error) &&
              row->check(options, acquisition.budget, rounds, error) && policy_check(&setup, error);
  arena_close(arena);
  return good;
}

bool policy_training_room(struct policy_training *training, size_t ordered, struct error *error) {
  struct arena *arena = training->trainer.arena;
  size_t rows = training->rows;
  bool good = (training->order = arena_try_array(arena, sizeof(uint32_t), ordered)) &&
              (training->terms = arena_try_array(arena, 4 * sizeof(float), rows)) &&
              (training->rewards = arena_try_array(arena, sizeof(float), rows));
  return good || fail_memory(error, "no host memory for the %zu rows of an update; lower %s", rows,
                             training->row->lower);
}

bool policy_training_count_choices(struct policy_training *training, struct error *error) {
  size_t count = split_choices(&training->acquisition);
  training->choices = arena_try_array(training->trainer.arena, sizeof(uint32_t), count);
  return training->choices || fail_memory(error, "no host memory to count %zu choices", count);
}

static bool open_data(struct policy_training *training, const struct trainer_config *config,
                      struct error *error) {
  struct trainer *trainer = &training->trainer;
  if (!acquisition_only(&training->acquisition, trainer->options, trainer->arena, error)) return false;
  training->rows = training->row->rows(trainer->options, training->acquisition.budget);
  if (!open_split(training, &training->train, config, error)) return false;
  trainer->world = training->train.simulation.world;
  return open_split(training, &training->validation, config, error);
}

static bool open_update(struct policy_training *training, struct error *error) {
  return build(training, &training->update, "update", training->row->add_update, error) &&
         schedule_prepare(&training->update, training->train.simulation.kernels, error);
}

static bool open_files(struct policy_training *training, const struct trainer_config *config,
                       struct error *error) {
  struct run_files *run = &training->trainer.run;
  run->train = split_data(&training->train);
  run->validation = split_data(&training->validation);
  run->origin[0].name = "reconstructor";
  run->start = "learn.start";
  struct run_origin *policy = &run->origin[run->origin[1].name ? 2 : 1]; /* the row may have one of its own */
  bool starts = config->policy || config->policy_start;
  if (starts) policy->name = config->policy ? "policy" : RUN_START;
  return checkpoint_hash(training->reconstructor.graph, run->origin[0].value, error) &&
         (!starts || checkpoint_hash(training->policy.graph, policy->value, error)) &&
         trainer_open_files(&training->trainer, config, error);
}

bool policy_training_open(struct policy_training *training, struct device *device,
                          const struct options *options, const struct trainer_config *config,
                          struct error *error) {
  const struct policy_trainer *row = config->trains;
  memset(training, 0, row->bytes);
  training->row = row;
  training->trainer =
      (struct trainer){.task = row->task, .arena = arena_open(), .device = device, .options = options};
  if (policy_training_check(row, device, options, config->round + 1, error) &&
      open_data(training, config, error) && open_policy(training, config->reconstructor, error) &&
      open_reconstructor(training, config->reconstructor, error) && row->open(training, config, error) &&
      open_update(training, error) && trainer_open_history(&training->trainer, error) &&
      (!config->policy || start_from(training, config->policy, true, error)) &&
      (!config->policy_start || start_from(training, config->policy_start, false, error)) &&
      open_files(training, config, error) && device_finish(device, error))
    return true;
  policy_training_close(training);
  return false;
}

void policy_training_close(struct policy_training *training) {
  trainer_close(&training->trainer);
  reconstructor_close(&training->reconstructor);
  policy_close(&training->policy);
  split_close(&training->validation);
  split_close(&training->train);
  arena_close(training->trainer.arena);
  memset(training, 0, training->row->bytes);
}

bool policy_training_run(struct device *device, const struct options *options,
                         const struct trainer_config *config, struct error *error) {
  struct arena *arena = arena_open();
  struct policy_training *training = arena_new(arena, config->trains->bytes);
  bool good = policy_training_open(training, device, options, config, error);
  if (good) {
    good = trainer_run_stage(&training->trainer, config, error);
    policy_training_close(training);
  }
  arena_close(arena);
  return good;
}

/* ---- the task ------------------------------------------------------------------------------------------ */

void policy_training_add(struct trainer *trainer, struct schedule *schedule) {
  struct policy_training *training = (struct policy_training *)trainer;
  training->row->add_play(training, schedule);
  training->row->add_update(training, schedule);
}

bool policy_training_validate(struct trainer *trainer, double values[TRAINER_VALUES], struct error *error) {
  struct policy_training *training = (struct policy_training *)trainer;
  return split_score(&training->validation, training->choices, &values[0], error);
}

/* A row a step of the scan, a column an action. Squares of the brightness are the share of scans: few are
 * seen too. */
struct event_picture policy_training_picture(const struct trainer *trainer, struct arena *arena) {
  const struct policy_training *training = (const struct policy_training *)trainer;
  size_t count = split_choices(&training->acquisition);
  double scans = (double)training->validation.report.slices;
  unsigned char *pixel = arena_new(arena, count);
  for (size_t i = 0; i < count; i++)
    pixel[i] = (unsigned char)lround(255 * sqrt(training->choices[i] / scans));
  return (struct event_picture){"policy/choices", pixel, training->acquisition.lines,
                                training->acquisition.budget};
}

const struct trainer_value policy_score_values[] = {
    {"score", "%s/validation", "the mean of the scene's metric over the validation slices"},
    {NULL, NULL, NULL}};

bool policy_training_write(const struct trainer *trainer, struct store *store, struct error *error) {
  const struct policy_training *training = (const struct policy_training *)trainer;
  size_t shape[] = {training->acquisition.budget, training->acquisition.lines};
  return policy_write(&training->policy, store, error) &&
         (!training->choices ||
          store_write(store, "choices", STORE_U32, 2, shape, training->choices, true, error));
}

/* Checkpoints of before they were counted have none: a later one tells of the next validation. */
static bool read_choices(struct policy_training *training, struct store *store, struct error *error) {
  return !training->choices || !store_has(store, "choices") ||
         store_read_known(store, "choices", STORE_U32, split_choices(&training->acquisition),
                          training->choices, error);
}

bool policy_training_read(struct trainer *trainer, struct store *store, struct error *error) {
  struct policy_training *training = (struct policy_training *)trainer;
  if (!policy_same(&training->policy, store, error) || !read_choices(training, store, error)) return false;
  policy_changed(&training->policy);
  return true;
}
