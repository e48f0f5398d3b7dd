#include "systems/methods/policy_task.h"

#include "engine/graph/early.h"
#include "systems/networks/checkpoint.h"
#include "systems/sampling/geometry.h"

#include <math.h>
#include <string.h>

struct policy_learning *policy_learning_of(const struct training *training) {
  return OWN(policy_learning, training);
}

/* ---- data ---------------------------------------------------------------------------------------------- */

bool policy_task_load(struct training *training, struct split *split, struct error *error) {
  return simulation_set(&split->simulation, &training->acquisition, &sampler_policy, error);
}

/* ---- the policy ---------------------------------------------------------------------------------------- */

struct policy_setup policy_task_setup(struct device *device, struct kernels *kernels,
                                      const struct options *options, size_t rows, bool dense) {
  struct policy_setup setup = policy_setup_of(device, kernels, options, rows);
  setup.train = true;
  setup.dense = dense;
  return setup;
}

bool policy_task_fits(struct device *device, const struct options *options, bool dense, const char *path,
                      struct error *error) {
  struct policy_setup setup = policy_setup_of(device, NULL, options, 1);
  struct acquisition acquisition;
  struct arena *arena = arena_open();
  setup.dense = dense;
  bool good = acquisition_only(&acquisition, options, arena, error) &&
              policy_fits(&setup, geometry_of(&acquisition)->name, path, error);
  arena_close(arena);
  return good;
}

static bool open_as_set(struct training *training, const struct policy_setup *setup, struct error *error) {
  return policy_open(&training->policy, setup, error);
}

/* It is opened first, for its room is planned with the reconstructor's. */
bool policy_task_open(struct training *training, size_t rows, bool dense, policy_opener *open,
                      struct error *error) {
  struct policy *policy = &training->policy;
  struct policy_setup setup =
      policy_task_setup(training->device, training->train.simulation.kernels, training->options, rows, dense);
  policy_learning_of(training)->rows = rows;
  setup.beside = training->beside[0];
  if (!(open ? open : open_as_set)(training, &setup, error)) return false;
  policy->initial_lines = training->acquisition.initial_lines;
  strcpy(policy->geometry, geometry_of(&training->acquisition)->name);
  policy->budget = training->acquisition.budget;
  graph_start(policy->graph, training->options->world.seed);
  if (ranks_count(training->device->ranks) > 1) graph_early_open(policy->graph);
  policy_changed(policy);
  training_share_policy(training);
  return true;
}

/* The parameters of that policy, and its optimiser where it goes on. */
bool policy_task_begin(struct training *training, struct error *error) {
  const struct training_config *config = &training->config;
  const char *path = config->policy ? config->policy : config->start;
  struct optimiser *optimiser = &training->optimiser;
  struct store *store;
  if (!path) return true;
  if (!store_open(&store, path, error)) return fail_in(error, "the policy");
  double rate = optimiser->rate;
  bool good = checkpoint_read_parameters(store, "param", training->policy.graph, error) &&
              (!config->policy || checkpoint_read_optimiser(store, optimiser, error));
  store_close(store);
  optimiser->rate = rate;
  policy_changed(&training->policy);
  return good ? true : fail_in(error, "the policy %s", path);
}

const char *policy_task_origin(const struct training *training) {
  return training->config.policy ? "policy" : training->config.start ? RUN_START : "";
}

/* ---- systems ------------------------------------------------------------------------------------------- */

static void run_zero(struct world *world, void *context) {
  struct policy *policy = ((const struct simulation *)context)->policy;
  if (!world_is_bound(world, BATCH_observation, policy->input)) policy_bind(policy, world);
  graph_zero_gradients(policy->graph);
}

const struct system system_zero_policy = {.name = "zero_gradients",
                                          .doc = "gradients of the policy start at 0",
                                          .writes = SET(POLICY_cleared),
                                          .run = run_zero};

static void run_optimise(struct world *world, void *context) {
  struct training *training = context;
  (void)world;
  optimise_step(&training->optimiser);
  path_changed(&training->policy.network.path);
}

static const struct system optimise = {.name = "optimise_policy",
                                       .doc = "a step of the policy's parameters",
                                       .reads = LEARN_READS(POLICY),
                                       .writes = LEARN_WRITES(POLICY),
                                       .run = run_optimise};

static void run_backward(struct world *world, void *context) {
  const struct simulation *simulation = context;
  (void)world;
  struct policy *policy = simulation->policy;
  path_backward(&policy->network.path, simulation->pass.images, policy->scale, false);
}

const struct system system_backward_policy = {.name = "backward_policy",
                                              .doc = "the policy's backward pass",
                                              .reads = SET(BATCH_logits_gradient) |
                                                       SET(BATCH_value_gradient) | BACKWARD_READS(POLICY),
                                              .writes = BACKWARD_WRITES(POLICY),
                                              .run = run_backward};

void policy_task_add_optimise(struct training *training, struct schedule *schedule) {
  schedule_add(schedule, &optimise, training);
}

const struct system *const policy_task_systems[] = {&system_zero_policy, &system_backward_policy, &optimise,
                                                    NULL};

/* ---- room ---------------------------------------------------------------------------------------------- */

bool policy_task_room(struct training *training, size_t ordered, const char *lower, struct error *error) {
  struct policy_learning *own = policy_learning_of(training);
  bool good = (own->order = arena_try_array(training->arena, sizeof(uint32_t), ordered)) &&
              (own->terms = arena_try_array(training->arena, 4 * sizeof(float), own->rows)) &&
              (own->rewards = arena_try_array(training->arena, sizeof(float), own->rows));
  return good ||
         fail_memory(error, "no host memory for the %zu rows of an update; lower %s", own->rows, lower);
}

bool policy_task_count_choices(struct training *training, struct error *error) {
  size_t count = split_choices(&training->acquisition);
  uint32_t *choices = arena_try_array(training->arena, sizeof(uint32_t), count);
  policy_learning_of(training)->choices = choices;
  return choices || fail_memory(error, "no host memory to count %zu choices", count);
}

void policy_task_share_terms(const struct training *training, size_t words, size_t rows, size_t most) {
  const struct shards shards = device_shards(training->device);
  float *terms = policy_learning_of(training)->terms;
  if (ranks_count(shards.ranks) == 1) return;
  for (size_t row = 0; row < rows; row += most) {
    size_t left = rows - row, count = left < most ? left : most, first;
    size_t end = shards_rows(&shards, count, &first);
    memset(terms + words * row, 0, words * first * sizeof *terms);
    memset(terms + words * (row + end), 0, words * (count - end) * sizeof *terms);
  }
  ranks_unite(training->device->ranks, terms, words * rows * sizeof *terms);
}

/* ---- validation ---------------------------------------------------------------------------------------- */

bool policy_task_validate(struct training *training, double values[TRAINING_VALUES], struct error *error) {
  return split_score(&training->validation, policy_learning_of(training)->choices, &values[0], error);
}

/* A row a step of the scan, a column an action. Squares of the brightness are the share of scans: few are
 * seen too. */
struct event_picture policy_task_picture(const struct training *training, struct arena *arena) {
  size_t count = split_choices(&training->acquisition);
  double scans = (double)training->validation.report.slices;
  unsigned char *pixel = arena_new(arena, count);
  for (size_t i = 0; i < count; i++)
    pixel[i] = (unsigned char)lround(255 * sqrt(policy_learning_of(training)->choices[i] / scans));
  return (struct event_picture){"policy/choices", pixel, training->acquisition.shape.actions,
                                training->acquisition.budget};
}

const struct log_value policy_score_values[] = {
    {"score", "%s/validation", "the mean of the scene's metric over the validation slices"},
    {NULL, NULL, NULL}};

/* ---- files --------------------------------------------------------------------------------------------- */

bool policy_task_write(const struct training *training, struct store *store, struct error *error) {
  const uint32_t *choices = policy_learning_of(training)->choices;
  size_t shape[] = {training->acquisition.budget, training->acquisition.shape.actions};
  return policy_write(&training->policy, store, error) &&
         (!choices || store_write(store, "choices", STORE_U32, 2, shape, choices, true, error));
}

/* Checkpoints of before choices were counted have none: a later one tells of the next validation. */
bool policy_task_read(struct training *training, struct store *store, struct error *error) {
  uint32_t *choices = policy_learning_of(training)->choices;
  policy_changed(&training->policy);
  return policy_same(&training->policy, store, error) &&
         (!choices || !store_has(store, "choices") ||
          store_read_known(store, "choices", STORE_U32, split_choices(&training->acquisition), choices, error));
}
