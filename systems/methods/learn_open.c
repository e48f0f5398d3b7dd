/* Opening a policy's training: data, networks, rollout, optimiser and log. */
#include "systems/methods/learn.h"

#include "engine/base/log.h"
#include "engine/base/round.h"
#include "systems/methods/lists.h"
#include "systems/methods/method.h"
#include "systems/networks/checkpoint.h"
#include "systems/sampling/geometry.h"

#include <math.h>
#include <string.h>

/* ---- opening ------------------------------------------------------------------------------------------- */

/* Training needs room for the passes of its updates, validation for its scans. */
static struct simulation_plan plan_split(const void *context, const struct split *split, size_t slices) {
  const struct learning *learning = context;
  const struct options *options = learning->trainer.options;
  size_t budget = learning->acquisition.budget, launch = options->world.envs;
  struct simulation_plan plan;
  if (split == &learning->validation) {
    plan = rollout_plan(&split->options, slices, slices < launch ? slices : launch, slices * (budget + 1));
    plan.together = plan.envs;
    plan.kernels = learning->train.simulation.kernels;
  } else {
    size_t scans = options->learn.scans, rows = scans * budget;
    size_t pass = rows < options->policy.batch ? rows : options->policy.batch;
    if (launch > scans) launch = scans;
    plan = rollout_plan(&split->options, slices, launch > pass ? launch : pass, rows);
    plan.together = scans;
  }
  plan.network = true;
  return plan;
}

static bool open_split(struct learning *learning, struct split *split, enum data_split which,
                       const struct trainer_config *config, struct error *error) {
  split->options = *learning->trainer.options;
  return split_open(split, learning->trainer.device, which, plan_split, learning, config,
                    learning->trainer.arena, error);
}

static bool open_reconstructor(struct learning *learning, const char *path, struct error *error) {
  const struct options *options = learning->trainer.options;
  struct reconstructor_setup setup = {.device = learning->trainer.device,
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
  const struct device *device = learning->trainer.device;
  size_t wanted = 2 * sizeof(float) * learning->policy.graph->elements + ((size_t)64 << 20);
  return device->facts.memory - device->bytes >= wanted;
}

/* With all steps of a rollout in one pass, so that their activations may stay (train.keep_activations). */
static bool open_keeping(struct learning *learning, struct policy_setup setup, size_t rows,
                         struct error *error) {
  const struct options *options = learning->trainer.options;
  if (options->learn.algorithm != LEARN_A2C)
    return fail(error, "learn.algorithm ppo updates more than once a rollout; a2c keeps them");
  if (!rollout_can_keep(learning->trainer.device, options->learn.scans, options->world.envs))
    return fail(error,
                "they are of one launch of an even number of scans on a device with matrix instructions; "
                "learn.scans is %u, world.envs %u, the device %s",
                options->learn.scans, options->world.envs, learning->trainer.device->facts.name);
  setup.batch = rows;
  setup.whole = true;
  if (!policy_open(&learning->policy, &setup, error)) return false;
  if (learning->policy.blocks && learning->policy.batch == rows && leaves_room(learning)) return true;
  policy_close(&learning->policy);
  return fail(error, "%zu steps of a rollout leave too little memory on %s; lower learn.scans", rows,
              learning->trainer.device->facts.name);
}

static bool open_policy_network(struct learning *learning, const struct policy_setup *setup, size_t rows,
                                struct error *error) {
  enum train_keep keep = (enum train_keep)learning->trainer.options->train.keep_activations;
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
  const struct options *options = learning->trainer.options;
  size_t rows = learning->acquisition.budget * (size_t)options->learn.scans;
  struct policy_setup setup = policy_setup(learning->trainer.device, options);
  setup.kernels = learning->train.simulation.kernels;
  setup.beside = network_need(&learning->reconstructor.network);
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
  const struct options *options = learning->trainer.options;
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
  const struct options *options = learning->trainer.options;
  bool ppo = options->learn.algorithm == LEARN_PPO;
  bool adam = options->learn.optimiser == LEARN_AUTO ? ppo : options->learn.optimiser == LEARN_ADAM;
  struct optimiser_setup setup =
      optimise_defaults(adam ? OPTIMISER_ADAM : OPTIMISER_RMSPROP, scaled_rate(options));
  setup.epsilon = options->learn.epsilon;
  setup.clip = options->learn.clip;
  return optimise_open(&learning->trainer.optimiser, learning->policy.graph, &setup, error);
}

static bool open_update(struct learning *learning, struct error *error) {
  schedule_open(&learning->update, &component_schema);
  learn_add_update(learning, &learning->update);
  return schedule_close(&learning->update, false, error) &&
         schedule_prepare(&learning->update, learning->train.simulation.kernels, error);
}

static bool count_rollouts(struct learning *learning, uint64_t steps, struct error *error) {
  struct trainer *trainer = &learning->trainer;
  const struct options *options = trainer->options;
  size_t rows = learning->rollout.rows;
  trainer->wanted = divide_up(steps, rows);
  trainer->each = divide_up(trainer->wanted, options->learn.validations);
  trainer->look_every = options->learn.log_every;
  trainer->save_every = options->learn.save_every;
  trainer->world = &learning->train.simulation.world;
  trainer->work = (double)rows;
  trainer->event_each = rows; /* over the environment-steps of all rounds */
  trainer->event_per = 1;
  bool good = (learning->order = arena_try_array(trainer->arena, sizeof(uint32_t), rows)) &&
              (learning->terms = arena_try_array(trainer->arena, 4 * sizeof(float), rows)) &&
              (learning->rewards = arena_try_array(trainer->arena, sizeof(float), rows));
  return (good || fail_memory(error, "no host memory for rollouts of %zu steps; lower learn.scans", rows)) &&
         trainer_open_history(trainer, error);
}

/* Parameters and optimiser of another training's policy. */
static bool start_from(struct learning *learning, const char *path, struct error *error) {
  struct store *store;
  if (!store_open(&store, path, error)) return fail_in(error, "the policy");
  double rate = learning->trainer.optimiser.rate;
  bool good = checkpoint_read_parameters(store, "param", learning->policy.graph, error) &&
              checkpoint_read_optimiser(store, &learning->trainer.optimiser, error);
  store_close(store);
  learning->trainer.optimiser.rate = rate;
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
                    "%llu rollouts in %u rounds are more than the %llu whose scans and passes have numbers; "
                    "lower learn.steps, alternate.steps or alternate.rounds",
                    (unsigned long long)rollouts, rounds, (unsigned long long)(UINT32_MAX / each));
}

bool learn_check(struct device *device, const struct options *options, uint32_t rounds, struct error *error) {
  struct acquisition acquisition;
  struct policy_setup setup = policy_setup(device, options);
  struct arena *arena = arena_open();
  bool good = acquisition_only(&acquisition, options, arena, error) && network_check(&network_policy, options, error) &&
              check_numbers(options, acquisition.budget, rounds, error) && policy_check(&setup, error);
  arena_close(arena);
  return good;
}

/* ---- files --------------------------------------------------------------------------------------------- */

/* They say where and what is printed; or are of other work, as PPO's keys are of A2C's. */
#define MAY_DIFFER                                                                                           \
  "evaluate.", "phantom.", "train.", "alternate.", "data.path", "pgmri.", "loupe.", "tau.",                  \
      "sampler.candidates", "sampler.tau_step", "data.split", "learn.save_every", "world.envs",              \
      "data.window", "learn.reconstructor"
static const char *const ppo_may_differ[] = {MAY_DIFFER, NULL};
static const char *const a2c_may_differ[] = {MAY_DIFFER, "learn.epochs", "learn.rows", "learn.ratio", NULL};

static bool open_files(struct learning *learning, const struct trainer_config *config, struct error *error) {
  bool ppo = learning->trainer.options->learn.algorithm == LEARN_PPO;
  struct run_files *run = &learning->trainer.run;
  *run = (struct run_files){.train = split_data(&learning->train),
                            .validation = split_data(&learning->validation),
                            .origin = {{.name = "reconstructor"}, {.name = config->policy ? "policy" : NULL}},
                            .may_differ = ppo ? ppo_may_differ : a2c_may_differ};
  return checkpoint_hash(learning->reconstructor.graph, run->origin[0].value, error) &&
         (!config->policy || checkpoint_hash(learning->policy.graph, run->origin[1].value, error)) &&
         trainer_open_files(&learning->trainer, config, error);
}

/* ---- all ----------------------------------------------------------------------------------------------- */

static void number_scans(struct learning *learning, uint32_t round) {
  const struct options *options = learning->trainer.options;
  uint64_t before = rollouts_of(options, learning->acquisition.budget, round);
  learning->first_scan = (uint32_t)(before * options->learn.scans);
  learning->trainer.event_before = (uint64_t)learning->first_scan * learning->rollout.steps;
}

bool learn_open(struct learning *learning, struct device *device, const struct options *options,
                const struct trainer_config *config, struct error *error) {
  *learning = (struct learning){
      .trainer = {.task = &task_policy, .arena = arena_open(), .device = device, .options = options}};
  if (learn_check(device, options, config->round + 1, error) &&
      acquisition_only(&learning->acquisition, options, learning->trainer.arena, error) &&
      open_split(learning, &learning->train, SPLIT_TRAIN, config, error) &&
      open_split(learning, &learning->validation, SPLIT_VAL, config, error) &&
      open_reconstructor(learning, config->reconstructor, error) && open_policy(learning, error) &&
      open_rollout(learning, error) && open_optimiser(learning, error) && open_update(learning, error) &&
      count_rollouts(learning, config->steps, error) &&
      (!config->policy || start_from(learning, config->policy, error))) {
    number_scans(learning, config->round);
    if (open_files(learning, config, error) && device_finish(device, error)) return true;
  }
  learn_close(learning);
  return false;
}

void learn_close(struct learning *learning) {
  trainer_close(&learning->trainer);
  policy_close(&learning->policy);
  reconstructor_close(&learning->reconstructor);
  split_close(&learning->validation);
  split_close(&learning->train);
  arena_close(learning->trainer.arena);
  *learning = (struct learning){0};
}

static bool run(struct device *device, const struct options *options, const struct trainer_config *config,
                struct error *error) {
  struct learning learning;
  if (!learn_open(&learning, device, options, config, error)) return false;
  bool good = trainer_run_stage(&learning.trainer, config, error);
  learn_close(&learning);
  return good;
}

static bool describe(struct lists *lists, const struct options *options, struct arena *arena,
                     struct error *error) {
  struct learning *learning = ARENA_NEW(arena, struct learning, 1);
  struct schedule *play = ARENA_NEW(arena, struct schedule, 1);
  if (!learn_describe(learning, options, play, error)) return false;
  lists_put(lists, "policy", "play", "for every rollout", play);
  lists_put(lists, "policy", "update", "after every rollout", &learning->update);
  lists_put(lists, "policy", "validate", "one scan of every validation slice, by the most probable actions",
            &learning->train.simulation.scan);
  return true;
}

static const struct policy_trainer trainer = {learn_check, run, describe};

const struct method method_l2s = {.name = "l2s",
                                  .doc = "a policy that chooses one action after the other, rewarded once a scan",
                                  .paper = "L2SR, doi:10.1088/1361-6420/ad3b34; A2C, arXiv:1602.01783; PPO, "
                                           "arXiv:1707.06347",
                                  .networks = "policy with a critic; a U-Net first",
                                  .network = &network_policy,
                                  .systems = learn_systems,
                                  .policy = &trainer};

const struct method method_l2sr = {.name = "l2sr",
                                   .doc = "policy and reconstructor in turn, each on what the other has become",
                                   .paper = "L2SR, doi:10.1088/1361-6420/ad3b34",
                                   .networks = "policy with a critic, U-Net",
                                   .network = &network_policy,
                                   .policy = &trainer,
                                   .alternates = true};
