/* Opening a policy's training: data, networks, rollout, optimiser and log. */
#include "systems/methods/learn.h"

#include "engine/base/log.h"
#include "engine/base/round.h"
#include "systems/networks/checkpoint.h"
#include "systems/sampling/geometry.h"

#include <math.h>
#include <string.h>

/* ---- opening ------------------------------------------------------------------------------------------- */

/* Training needs room for the passes of its updates, validation for its scans. */
static struct simulation_plan plan_split(const struct learning *learning, const struct learn_split *split,
                                         size_t slices) {
  const struct options *options = learning->options;
  size_t budget = learning->acquisition.budget, launch = options->world.envs;
  if (split == &learning->validation)
    return rollout_plan(&split->options, slices, slices < launch ? slices : launch, slices * (budget + 1));
  size_t scans = options->learn.scans, rows = scans * budget;
  size_t pass = rows < options->policy.batch ? rows : options->policy.batch;
  if (launch > scans) launch = scans;
  return rollout_plan(&split->options, slices, launch > pass ? launch : pass, rows);
}

static bool load_split(struct learning *learning, struct learn_split *split, const struct learn_wish *wish,
                       struct error *error) {
  split->report.slices = wish->slices;
  return wish->fill ? wish->fill(&split->simulation.world, wish->slices, learning->options->world.seed, error)
                    : load_simulation(&split->simulation, &split->dataset, &split->options, learning->arena,
                                      &split->report, error);
}

static bool open_split(struct learning *learning, struct learn_split *split, enum data_split which,
                       const struct learn_wish *wish, struct error *error) {
  static const char *const names[] = {"training", "validation", "test", "all"};
  bool first = split == &learning->train;
  split->options = *learning->options;
  split->options.data.split = which;
  if (!wish->fill && !dataset_open(&split->dataset, &split->options, error))
    return fail_in(error, "%s data", names[which]);
  size_t slices = wish->fill ? wish->slices : split->dataset.slice_count, most = split->options.data.most;
  struct simulation_plan plan = plan_split(learning, split, most && most < slices ? most : slices);
  plan.network = true;
  if (!wish->fill) plan.coils = dataset_coils(&split->dataset);
  if (!wish->fill) plan.together = first ? learning->options->learn.scans : plan.envs;
  plan.kernels = first ? NULL : learning->train.simulation.kernels;
  plan.kernel_folder = wish->kernel_folder;
  if (!simulation_open(&split->simulation, learning->device, &split->options, &plan, error) ||
      !load_split(learning, split, wish, error))
    return fail_in(error, "%s data", names[which]);
  return true;
}

void learn_close_split(struct learn_split *split) {
  if (split->simulation.kernels) simulation_close(&split->simulation);
  if (split->dataset.arena) dataset_close(&split->dataset);
}

static bool open_reconstructor(struct learning *learning, const char *path, struct error *error) {
  const struct options *options = learning->options;
  struct reconstructor_setup setup = {.device = learning->device,
                                      .kernels = learning->train.simulation.kernels,
                                      .size = options->data.size,
                                      .channels = options->network.channels,
                                      .pools = options->network.pools,
                                      .precision = (enum block_precision)options->network.precision,
                                      .batch = options->network.batch};
  if (!(path ? reconstructor_load(&learning->reconstructor, path, &setup, error)
             : reconstructor_open(&learning->reconstructor, &setup, error)))
    return fail_in(error, "the reconstructor");
  if (!path) {
    graph_start(learning->reconstructor.graph, options->world.seed);
    reconstructor_changed(&learning->reconstructor);
  }
  learning->train.simulation.reconstructor = learning->validation.simulation.reconstructor =
      &learning->reconstructor;
  return true;
}

/* Room for an optimiser's moments is left, and for what libraries take. */
static bool leaves_room(const struct learning *learning) {
  const struct device *device = learning->device;
  size_t wanted = 2 * sizeof(float) * learning->policy.graph->elements + ((size_t)64 << 20);
  return device->facts.memory - device->bytes >= wanted;
}

/* With all steps of a rollout in one pass, so that their activations may stay (train.keep_activations). */
static bool open_keeping(struct learning *learning, struct policy_setup setup, size_t rows,
                         struct error *error) {
  const struct options *options = learning->options;
  if (options->learn.algorithm != LEARN_A2C)
    return fail(error, "learn.algorithm ppo updates more than once a roll-out; a2c keeps them");
  if (!rollout_can_keep(learning->device, options->learn.scans, options->world.envs))
    return fail(error,
                "they are of one launch of an even number of scans on a device with matrix instructions; "
                "learn.scans is %u, world.envs %u, the device %s",
                options->learn.scans, options->world.envs, learning->device->facts.name);
  setup.batch = rows;
  setup.whole = true;
  if (!policy_open(&learning->policy, &setup, error)) return false;
  if (learning->policy.blocks && learning->policy.batch == rows && leaves_room(learning)) return true;
  policy_close(&learning->policy);
  return fail(error, "%zu steps of a roll-out leave too little memory on %s; lower learn.scans", rows,
              learning->device->facts.name);
}

static bool open_policy_network(struct learning *learning, const struct policy_setup *setup, size_t rows,
                                struct error *error) {
  enum train_keep keep = (enum train_keep)learning->options->train.keep_activations;
  struct error reason;
  if (keep != KEEP_NEVER && open_keeping(learning, *setup, rows, &reason)) return true;
  if (keep == KEEP_ALWAYS)
    return fail(error, "train.keep_activations is always, and a rollout's cannot be kept: %.900s",
                reason.text);
  if (keep == KEEP_AUTO) log_detail("activations of a rollout are not kept: %s", reason.text);
  return policy_open(&learning->policy, setup, error);
}

static struct policy_setup policy_setup(struct device *device, const struct options *options) {
  return (struct policy_setup){.device = device,
                               .size = options->data.size,
                               .channels = options->policy.channels,
                               .pools = options->policy.pools,
                               .hidden = options->policy.hidden,
                               .precision = (enum block_precision)options->policy.precision,
                               .batch = options->policy.batch,
                               .train = true};
}

static bool open_policy(struct learning *learning, struct error *error) {
  const struct options *options = learning->options;
  size_t rows = learning->acquisition.budget * (size_t)options->learn.scans;
  struct policy_setup setup = policy_setup(learning->device, options);
  setup.kernels = learning->train.simulation.kernels;
  if (rows < setup.batch) setup.batch = rows;
  if (!open_policy_network(learning, &setup, rows, error)) return false;
  learning->policy.initial_lines = learning->acquisition.initial_lines;
  strcpy(learning->policy.geometry, geometry_of(&learning->acquisition)->name);
  learning->policy.budget = learning->acquisition.budget;
  graph_start(learning->policy.graph, options->world.seed);
  policy_changed(&learning->policy);
  learning->train.simulation.policy = learning->validation.simulation.policy = &learning->policy;
  learning->validation.simulation.best = true;
  return true;
}

bool learn_normalises(const struct options *options) {
  bool ppo = options->learn.algorithm == LEARN_PPO;
  return options->learn.normalise == NORMALISE_AUTO ? ppo : options->learn.normalise == NORMALISE_ON;
}

static bool open_rollout(struct learning *learning, struct error *error) {
  const struct options *options = learning->options;
  struct rollout_setup setup = {.simulation = &learning->train.simulation,
                                .scans = options->learn.scans,
                                .launch = options->world.envs,
                                .gamma = options->learn.gamma,
                                .lambda = options->learn.lambda,
                                .keep = learning->policy.setup.whole,
                                .normalise = learn_normalises(options)};
  if (!simulation_set(&learning->train.simulation, &learning->acquisition, &sampler_policy, error) ||
      !simulation_set(&learning->validation.simulation, &learning->acquisition, &sampler_policy, error) ||
      !rollout_open(&learning->rollout, &setup, error))
    return false;
  struct policy_update *update = &learning->rollout.update;
  update->entropy_weight = (float)options->learn.entropy;
  update->value_weight = (float)options->learn.value;
  update->clip = options->learn.algorithm == LEARN_PPO ? (float)options->learn.ratio : 0;
  return true;
}

/* 16 scans are those of the published code. */
static double scaled_rate(const struct options *options) {
  double rate = options->learn.rate, more = options->learn.scans / 16.0;
  if (options->learn.scaling == SCALING_NONE) return rate;
  return rate * (options->learn.scaling == SCALING_LINEAR ? more : sqrt(more));
}

static bool open_optimiser(struct learning *learning, struct error *error) {
  const struct options *options = learning->options;
  bool ppo = options->learn.algorithm == LEARN_PPO;
  bool adam = options->learn.optimiser == LEARN_AUTO ? ppo : options->learn.optimiser == LEARN_ADAM;
  struct optimiser_setup setup =
      optimise_defaults(adam ? OPTIMISER_ADAM : OPTIMISER_RMSPROP, scaled_rate(options));
  setup.epsilon = options->learn.epsilon;
  setup.clip = options->learn.clip;
  return optimise_open(&learning->optimiser, learning->policy.graph, &setup, error);
}

static bool open_update(struct learning *learning, struct error *error) {
  schedule_open(&learning->update, &component_schema);
  learn_add_update(learning, &learning->update);
  return schedule_close(&learning->update, false, error) &&
         schedule_prepare(&learning->update, learning->train.simulation.kernels, error);
}

static bool open_history(struct learning *learning, uint64_t steps, struct error *error) {
  struct arena *arena = learning->arena;
  size_t rows = learning->rollout.rows;
  learning->wanted = divide_up(steps, rows);
  size_t looks = learning->wanted / learning->options->learn.log_every + 2;
  size_t validations = learning->options->learn.validations + 2;
  bool good = (learning->look_at = arena_try(arena, sizeof(double) * looks)) &&
              (learning->score = arena_try(arena, sizeof(double) * validations)) &&
              (learning->score_at = arena_try(arena, sizeof(double) * validations)) &&
              (learning->order = arena_try(arena, sizeof(uint32_t) * rows)) &&
              (learning->terms = arena_try(arena, 4 * sizeof(float) * rows)) &&
              (learning->rewards = arena_try(arena, sizeof(float) * rows));
  for (int v = 0; good && v < LEARN_VALUE_COUNT; v++)
    good = (learning->look[v] = arena_try(arena, sizeof(double) * looks));
  return good ? true
              : fail_memory(error,
                            "no host memory for the log of %llu roll-outs of %zu steps; lower learn.steps",
                            (unsigned long long)learning->wanted, rows);
}

/* Parameters and optimiser of another training's policy. */
static bool start_from(struct learning *learning, const char *path, struct error *error) {
  struct store *store;
  if (!store_open(&store, path, error)) return fail_in(error, "the policy");
  double rate = learning->optimiser.rate;
  bool good = checkpoint_read_parameters(store, "param", learning->policy.graph, error) &&
              checkpoint_read_optimiser(store, &learning->optimiser, error);
  store_close(store);
  learning->optimiser.rate = rate;
  policy_changed(&learning->policy);
  return good ? true : fail_in(error, "the policy %s", path);
}

/* ---- numbers of scans ---------------------------------------------------------------------------------- */

/* Rollouts of so many rounds: one takes up the numbers of scans where the one before has stopped. */
static uint64_t rollouts_of(const struct options *options, uint32_t budget, uint32_t rounds) {
  uint64_t rows = (uint64_t)budget * options->learn.scans;
  uint64_t first = divide_up(options->learn.steps, rows), each = divide_up(options->alternate.steps, rows);
  return rounds ? first + (rounds - 1) * each : 0;
}

/* Scans, and PPO's passes over rollouts, key their draws by 32 bits. */
static bool check_numbers(const struct options *options, uint32_t budget, uint32_t rounds,
                          struct error *error) {
  uint64_t rollouts = rollouts_of(options, budget, rounds), epochs = options->learn.epochs;
  uint64_t each =
      options->learn.algorithm == LEARN_PPO && epochs > options->learn.scans ? epochs : options->learn.scans;
  if (rollouts <= UINT32_MAX / each) return true;
  return fail_usage(error,
                    "%llu roll-outs in %u rounds are more than the %llu whose scans and passes have numbers; "
                    "lower learn.steps, alternate.steps or alternate.rounds",
                    (unsigned long long)rollouts, rounds, (unsigned long long)(UINT32_MAX / each));
}

bool learn_check(struct device *device, const struct options *options, uint32_t rounds, struct error *error) {
  struct acquisition acquisition;
  struct policy_setup setup = policy_setup(device, options);
  struct arena *arena = arena_open();
  bool good = acquisition_only(&acquisition, options, arena, error) && net_policy_check(options, error) &&
              check_numbers(options, acquisition.budget, rounds, error) && policy_check(&setup, error);
  arena_close(arena);
  return good;
}

/* ---- all ----------------------------------------------------------------------------------------------- */

bool learn_open(struct learning *learning, struct device *device, const struct options *options,
                const struct learn_wish *wish, struct error *error) {
  *learning =
      (struct learning){.arena = arena_open(), .device = device, .options = options, .best = -INFINITY};
  if (learn_check(device, options, wish->round + 1, error) &&
      acquisition_only(&learning->acquisition, options, learning->arena, error) &&
      open_split(learning, &learning->train, SPLIT_TRAIN, wish, error) &&
      open_split(learning, &learning->validation, SPLIT_VAL, wish, error) &&
      open_reconstructor(learning, wish->reconstructor, error) && open_policy(learning, error) &&
      open_rollout(learning, error) && open_optimiser(learning, error) && open_update(learning, error) &&
      open_history(learning, wish->steps, error) &&
      (!wish->policy || start_from(learning, wish->policy, error))) {
    uint64_t before = rollouts_of(options, learning->acquisition.budget, wish->round);
    learning->first_scan = (uint32_t)(before * options->learn.scans);
    if ((!wish->folder || learn_open_files(learning, wish, error)) && device_finish(device, error))
      return true;
  }
  learn_close(learning);
  return false;
}

void learn_close(struct learning *learning) {
  run_close(&learning->run);
  if (learning->optimiser.device) optimise_close(&learning->optimiser);
  if (learning->rollout.simulation) rollout_close(&learning->rollout);
  policy_close(&learning->policy);
  reconstructor_close(&learning->reconstructor);
  learn_close_split(&learning->validation);
  learn_close_split(&learning->train);
  arena_close(learning->arena);
  *learning = (struct learning){0};
}
