#include "systems/methods/pgmri.h"

#include "engine/base/round.h"
#include "systems/methods/lists.h"
#include "systems/methods/method.h"
#include "systems/networks/checkpoint.h"
#include "systems/sampling/geometry.h"
#include "systems/scan/slice_cache.h"

#include <string.h>

/* ---- options ------------------------------------------------------------------------------------------- */

static bool check_keep(const struct options *options, struct error *error) {
  const char *words = options->pgmri.keep;
  char word[32];
  uint32_t epoch;
  while ((words = option_next(words, word, sizeof word)))
    if (!option_whole(word, 0, UINT32_MAX, &epoch))
      return fail_usage(error, "pgmri.keep has '%s'; it must be epochs from 0, as 0,9,49", word);
  return true;
}

static struct policy_setup policy_setup(struct device *device, const struct options *options) {
  return (struct policy_setup){.device = device,
                               .size = options->data.size,
                               .channels = options->policy.channels,
                               .pools = options->policy.pools,
                               .hidden = options->policy.hidden,
                               .precision = (enum block_precision)options->policy.precision,
                               .batch = options->policy.batch,
                               .train = true,
                               .dense = true};
}

static bool check_network(struct device *device, const struct options *options, struct error *error) {
  struct policy_setup setup = policy_setup(device, options);
  return network_check(&network_pgmri, options, error) && policy_check(&setup, error);
}

bool pgmri_check(struct device *device, const struct options *options, struct error *error) {
  bool greedy = options->pgmri.estimator == PGMRI_GREEDY, baseline = options->pgmri.baseline;
  uint32_t draws = options->pgmri.trajectories, milestone[MILESTONES_MOST];
  size_t milestones;
  if (!baseline && !greedy)
    return fail_usage(error,
                      "pgmri.baseline is false and pgmri.estimator nongreedy; only the greedy one goes "
                      "without a baseline; set pgmri.estimator to greedy or pgmri.baseline to true");
  if (draws < 2 && baseline)
    return fail_usage(error,
                      "pgmri.trajectories is %u; the baseline divides by one less, it must be 2 or more; or "
                      "set pgmri.estimator to greedy and pgmri.baseline to false",
                      draws);
  if ((uint64_t)draws * options->pgmri.batch * options->pgmri.accumulation > UINT32_MAX / 1024)
    return fail_usage(error,
                      "pgmri.trajectories %u, pgmri.batch %u and pgmri.accumulation %u are %.3g scans an "
                      "update; lower one of them",
                      draws, options->pgmri.batch, options->pgmri.accumulation,
                      (double)draws * options->pgmri.batch * options->pgmri.accumulation);
  return check_keep(options, error) &&
         optimise_read_milestones("pgmri.milestones", options->pgmri.milestones, milestone, &milestones,
                                  error) &&
         check_network(device, options, error);
}

/* ---- systems ------------------------------------------------------------------------------------------- */

static void run_zero(struct world *world, void *context) {
  (void)world;
  graph_zero_gradients(((struct pgmri *)context)->policy.graph);
}

static const struct system zero = {
    .name = "zero_gradients", .doc = "gradients of the policy start at 0", .run = run_zero};

static void run_optimise(struct world *world, void *context) {
  struct pgmri *pgmri = context;
  (void)world;
  optimise_step(&pgmri->trainer.optimiser);
  policy_changed(&pgmri->policy);
}

static const struct system optimise = {
    .name = "optimise_policy", .doc = "a step of the policy's parameters", .run = run_optimise};

static void add_update(struct pgmri *pgmri, struct schedule *schedule) {
  schedule_add(schedule, &zero, pgmri);
  trajectories_add_gradient(&pgmri->trajectories, schedule);
  schedule_add(schedule, &optimise, pgmri);
}

static bool build_update(struct pgmri *pgmri, struct error *error) {
  schedule_open(&pgmri->update, &component_schema);
  add_update(pgmri, &pgmri->update);
  return schedule_close(&pgmri->update, false, error);
}

static const struct system *const pgmri_systems[] = {&zero, &optimise, NULL};

bool pgmri_describe(struct pgmri *pgmri, const struct options *options, struct schedule *play,
                    struct error *error) {
  struct simulation *simulation = &pgmri->train.simulation;
  struct simulation_plan plan = trajectories_plan(options, 1, 1, options->pgmri.trajectories, 1);
  *pgmri = (struct pgmri){.trainer = {.options = options}};
  struct simulation_plan validation = trajectories_validation_plan(options, 1, 1, 1);
  plan.network = validation.network = true;
  if (!simulation_describe(simulation, options, &plan, &sampler_policy, error) ||
      !simulation_describe(&pgmri->validation.simulation, options, &validation, &sampler_policy, error))
    return false;
  trajectories_describe(&pgmri->trajectories, simulation);
  schedule_open(play, &component_schema);
  trajectories_add_play(&pgmri->trajectories, play);
  return schedule_close(play, false, error) && build_update(pgmri, error);
}

/* ---- opening ------------------------------------------------------------------------------------------- */

static struct simulation_plan plan_split(const void *context, const struct split *split, size_t slices) {
  const struct pgmri *pgmri = context;
  const struct options *options = &split->options;
  size_t budget = pgmri->acquisition.budget, envs = options->world.envs;
  bool trains = split == &pgmri->train;
  struct simulation_plan plan =
      trains ? trajectories_plan(options, slices, pgmri->group, options->pgmri.trajectories, budget)
             : trajectories_validation_plan(options, slices, envs < slices ? envs : slices, budget + 1);
  plan.together = trains ? pgmri->group : plan.envs;
  plan.network = pgmri->reconstructs;
  plan.kernels = trains ? NULL : pgmri->train.simulation.kernels;
  return plan;
}

static bool open_split(struct pgmri *pgmri, struct split *split, enum data_split which,
                       const struct trainer_config *config, struct error *error) {
  split->options = *pgmri->trainer.options;
  split->options.reward.form = REWARD_DENSE;
  return split_open(split, pgmri->trainer.device, which, plan_split, pgmri, config, pgmri->trainer.arena,
                    error) &&
         simulation_set(&split->simulation, &pgmri->acquisition, &sampler_policy, error);
}

static bool open_reconstructor(struct pgmri *pgmri, const char *path, struct error *error) {
  const struct options *options = pgmri->trainer.options;
  size_t scans = pgmri->train.simulation.world.capacity[TABLE_ENV];
  size_t others = pgmri->validation.simulation.world.capacity[TABLE_ENV],
         most = scans > others ? scans : others;
  struct reconstructor_setup setup = {.device = pgmri->trainer.device,
                                      .kernels = pgmri->train.simulation.kernels,
                                      .size = options->data.size,
                                      .precision = (enum block_precision)options->network.precision,
                                      .batch = options->network.batch < most ? options->network.batch : most};
  if (!path) return true;
  if (!reconstructor_load(&pgmri->reconstructor, path, &setup, error))
    return fail_in(error, "the reconstructor");
  pgmri->train.simulation.reconstructor = pgmri->validation.simulation.reconstructor = &pgmri->reconstructor;
  return true;
}

static bool open_policy(struct pgmri *pgmri, struct error *error) {
  const struct options *options = pgmri->trainer.options;
  size_t most = (size_t)pgmri->acquisition.budget * pgmri->group * options->pgmri.trajectories;
  struct policy_setup setup = policy_setup(pgmri->trainer.device, options);
  setup.kernels = pgmri->train.simulation.kernels;
  setup.beside = network_need(&pgmri->reconstructor.network);
  if (most < setup.batch) setup.batch = most;
  if (!policy_open(&pgmri->policy, &setup, error)) return false;
  pgmri->policy.initial_lines = pgmri->acquisition.initial_lines;
  strcpy(pgmri->policy.geometry, geometry_of(&pgmri->acquisition)->name);
  pgmri->policy.budget = pgmri->acquisition.budget;
  graph_start(pgmri->policy.graph, options->world.seed);
  policy_changed(&pgmri->policy);
  pgmri->train.simulation.policy = pgmri->validation.simulation.policy = &pgmri->policy;
  return true;
}

static bool open_trajectories(struct pgmri *pgmri, struct error *error) {
  const struct options *options = pgmri->trainer.options;
  struct trajectories_setup setup = {.simulation = &pgmri->train.simulation,
                                     .batch = options->pgmri.batch,
                                     .minibatches = options->pgmri.accumulation,
                                     .draws = options->pgmri.trajectories,
                                     .greedy = options->pgmri.estimator == PGMRI_GREEDY,
                                     .baseline = options->pgmri.baseline,
                                     .gamma = options->pgmri.gamma};
  struct optimiser_setup adam = optimise_defaults(OPTIMISER_ADAM, options->pgmri.rate);
  return trajectories_open(&pgmri->trajectories, &setup, error) &&
         optimise_open(&pgmri->trainer.optimiser, pgmri->policy.graph, &adam, error);
}

/* An epoch has whole updates only; the last minibatch of the slices may be short. */
static bool count_updates(struct pgmri *pgmri, struct error *error) {
  struct trainer *trainer = &pgmri->trainer;
  const struct options *options = trainer->options;
  size_t draws = options->pgmri.trajectories, rows = pgmri->acquisition.budget * pgmri->group * draws;
  pgmri->slices = pgmri->train.report.slices;
  trainer->each = divide_up(pgmri->slices, options->pgmri.batch) / options->pgmri.accumulation;
  if (!trainer->each)
    return fail(error,
                "training slices: %zu, minibatches: %zu of pgmri.batch %u; an update takes "
                "pgmri.accumulation %u of them; lower one of the two",
                pgmri->slices, divide_up(pgmri->slices, options->pgmri.batch), options->pgmri.batch,
                options->pgmri.accumulation);
  trainer->wanted = trainer->each * options->pgmri.epochs;
  trainer->look_every = options->pgmri.log_every;
  trainer->save_every = options->pgmri.save_every;
  trainer->world = &pgmri->train.simulation.world;
  trainer->work = (double)(pgmri->group * (1 + draws * pgmri->trajectories.steps));
  trainer->event_each = trainer->event_per = 1;
  bool good = (pgmri->order = arena_try_array(trainer->arena, sizeof(uint32_t), pgmri->slices)) &&
              (pgmri->terms = arena_try_array(trainer->arena, 2 * sizeof(float), rows)) &&
              (pgmri->rewards = arena_try_array(trainer->arena, sizeof(float), rows));
  return (good || fail_memory(error, "no host memory for the log of %zu draws; lower pgmri.batch or pgmri.accumulation", rows)) &&
         trainer_open_history(trainer, error);
}

/* They say where, how long, and what is printed or kept; or are of other work. */
static const char *const may_differ[] = {
    "evaluate.",    "phantom.",   "train.",           "loupe.",      "tau.",       "alternate.",
    "learn.",       "sampler.",   "data.path",        "data.split",  "world.envs", "data.window",
    "pgmri.epochs", "pgmri.keep", "pgmri.save_every", "reward.form", NULL};

static bool open_files(struct pgmri *pgmri, const struct trainer_config *config, struct error *error) {
  struct run_files *run = &pgmri->trainer.run;
  *run = (struct run_files){.train = split_data(&pgmri->train),
                            .validation = split_data(&pgmri->validation),
                            .origin = {{.name = pgmri->reconstructs ? "reconstructor" : NULL}},
                            .may_differ = may_differ};
  return (!pgmri->reconstructs ||
          checkpoint_hash(pgmri->reconstructor.graph, run->origin[0].value, error)) &&
         trainer_open_files(&pgmri->trainer, config, error);
}

bool pgmri_open(struct pgmri *pgmri, struct device *device, const struct options *options,
                const struct trainer_config *config, struct error *error) {
  *pgmri = (struct pgmri){
      .trainer = {.task = &task_pgmri, .arena = arena_open(), .device = device, .options = options},
      .reconstructs = config->reconstructor};
  pgmri->group = (size_t)options->pgmri.batch * options->pgmri.accumulation;
  if (pgmri_check(device, options, error) &&
      optimise_read_milestones("pgmri.milestones", options->pgmri.milestones, pgmri->milestone,
                               &pgmri->milestones, error) &&
      acquisition_only(&pgmri->acquisition, options, pgmri->trainer.arena, error) &&
      open_split(pgmri, &pgmri->train, SPLIT_TRAIN, config, error) &&
      open_split(pgmri, &pgmri->validation, SPLIT_VAL, config, error) &&
      open_reconstructor(pgmri, config->reconstructor, error) && open_policy(pgmri, error) &&
      open_trajectories(pgmri, error) && build_update(pgmri, error) && count_updates(pgmri, error) &&
      open_files(pgmri, config, error) && device_finish(device, error))
    return true;
  pgmri_close(pgmri);
  return false;
}

void pgmri_close(struct pgmri *pgmri) {
  trainer_close(&pgmri->trainer);
  policy_close(&pgmri->policy);
  reconstructor_close(&pgmri->reconstructor);
  split_close(&pgmri->validation);
  split_close(&pgmri->train);
  arena_close(pgmri->trainer.arena);
  *pgmri = (struct pgmri){0};
}

/* ---- the task ------------------------------------------------------------------------------------------ */

static struct pgmri *pgmri_of(struct trainer *trainer) {
  return (struct pgmri *)trainer;
}

static void add_all(struct trainer *trainer, struct schedule *schedule) {
  struct pgmri *pgmri = pgmri_of(trainer);
  trajectories_add_play(&pgmri->trajectories, schedule);
  add_update(pgmri, schedule);
}

static void shuffle(struct pgmri *pgmri, uint64_t epoch) {
  struct random random;
  random_start(&random, pgmri->trainer.options->world.seed, STREAM_ORDER, (uint32_t)epoch);
  random_order(&random, pgmri->order, pgmri->slices);
  slice_cache_order(&pgmri->train.simulation, pgmri->order, pgmri->slices);
}

/* A multiple of the slices, so that slice number i takes entry i of the order; scans have numbers of their
 * own up to q times as large. */
static uint32_t first_slice(const struct pgmri *pgmri, uint64_t epoch) {
  uint64_t slices = pgmri->slices,
           most = UINT32_MAX / pgmri->trainer.options->pgmri.trajectories / slices;
  return (uint32_t)(most ? epoch % most * slices : 0);
}

static double rate_of(const struct pgmri *pgmri, uint64_t epoch) {
  const struct options *options = pgmri->trainer.options;
  double rate = options->pgmri.rate, factor = options->pgmri.rate_factor;
  return options->pgmri.schedule == SCHEDULE_STEP
             ? optimise_step_rate(rate, factor, options->pgmri.rate_every, (uint32_t)epoch)
             : optimise_milestone_rate(rate, factor, pgmri->milestone, pgmri->milestones, (uint32_t)epoch);
}

/* Going on may begin in the middle of an epoch. */
static void step(struct trainer *trainer) {
  struct pgmri *pgmri = pgmri_of(trainer);
  uint64_t epoch = trainer->done / trainer->each;
  size_t first = trainer->done % trainer->each * pgmri->group, left = pgmri->slices - first;
  if (pgmri->ordered != epoch + 1) shuffle(pgmri, epoch);
  pgmri->ordered = epoch + 1;
  trainer->optimiser.rate = rate_of(pgmri, epoch);
  trajectories_play(&pgmri->trajectories, first_slice(pgmri, epoch) + (uint32_t)first,
                    left < pgmri->group ? left : pgmri->group);
  schedule_run(&pgmri->update, &pgmri->train.simulation.world);
}

/* Tells the return of the last update. */
static bool look(struct trainer *trainer, double values[TRAINER_VALUES], struct error *error) {
  struct pgmri *pgmri = pgmri_of(trainer);
  struct world *world = &pgmri->train.simulation.world;
  const struct trajectories *trajectories = &pgmri->trajectories;
  size_t images = trajectories_images(trajectories), scans = trajectories->slices * trajectories->setup.draws;
  world_read(world, STATE_terms, 0, images, pgmri->terms);
  world_read(world, ROLLOUT_reward, 0, trajectories->steps * scans, pgmri->rewards);
  if (!device_finish(trainer->device, error)) return false;
  for (size_t i = 0; i < images; i++) {
    values[PGMRI_loss] += pgmri->terms[2 * i];
    values[PGMRI_entropy] += pgmri->terms[2 * i + 1] / (double)images;
  }
  for (size_t i = 0; i < trajectories->steps * scans; i++)
    values[PGMRI_reward] += pgmri->rewards[i] / (double)scans;
  values[PGMRI_rate] = trainer->optimiser.rate;
  return optimise_norm(&trainer->optimiser, &values[PGMRI_gradient_norm], error);
}

static bool validate(struct trainer *trainer, double values[TRAINER_VALUES], struct error *error) {
  return split_score(&pgmri_of(trainer)->validation, &values[0], error);
}

static bool write(const struct trainer *trainer, struct store *store, struct error *error) {
  return policy_write(&((const struct pgmri *)trainer)->policy, store, error);
}

static bool read(struct trainer *trainer, struct store *store, struct error *error) {
  struct pgmri *pgmri = pgmri_of(trainer);
  if (!policy_same(&pgmri->policy, store, error)) return false;
  policy_changed(&pgmri->policy);
  return true;
}

/* pgmri.keep counts epochs from 0. */
static bool keeps(const struct trainer *trainer, char name[TRAINER_NAME]) {
  char number[24];
  snprintf(number, sizeof number, "%llu", (unsigned long long)(trainer->done / trainer->each - 1));
  snprintf(name, TRAINER_NAME, "epoch_%s.h5", number);
  return option_has(trainer->options->pgmri.keep, number);
}

static const struct trainer_value look_values[] = {
#define X(name, tag, doc) {#name, tag, doc},
    PGMRI_VALUES(X)
#undef X
        {NULL, NULL, NULL}};

static const struct trainer_value score_values[] = {
    {"score", "%s/validation", "the mean of the scene's metric over the validation slices"},
    {NULL, NULL, NULL}};

const struct task task_pgmri = {.network = "pgmri",
                                .unit = "update",
                                .worked = "images",
                                .train = {"look", look_values, (1 << PGMRI_VALUE_COUNT) - 1},
                                .validation = {"validation", score_values, 1},
                                .epochs = true,
                                .scores = true,
                                .more = "pgmri.epochs",
                                .advice = "lower pgmri.rate",
                                .add = add_all,
                                .step = step,
                                .look = look,
                                .validate = validate,
                                .write = write,
                                .read = read,
                                .keeps = keeps};

static bool check_stage(struct device *device, const struct options *options, uint32_t rounds,
                        struct error *error) {
  struct acquisition acquisition;
  struct arena *arena = arena_open();
  bool good = acquisition_only(&acquisition, options, arena, error) && pgmri_check(device, options, error);
  (void)rounds;
  arena_close(arena);
  return good;
}

static bool run_stage(struct device *device, const struct options *options,
                      const struct trainer_config *config, struct error *error) {
  struct pgmri pgmri;
  if (!pgmri_open(&pgmri, device, options, config, error)) return false;
  bool good = trainer_run_stage(&pgmri.trainer, config, error);
  pgmri_close(&pgmri);
  return good;
}

static bool describe_stage(struct lists *lists, const struct options *options, struct arena *arena,
                           struct error *error) {
  struct pgmri *pgmri = ARENA_NEW(arena, struct pgmri, 1);
  struct schedule *play = ARENA_NEW(arena, struct schedule, 1);
  if (!pgmri_describe(pgmri, options, play, error)) return false;
  lists_put(lists, "policy", "play", "for every update", play);
  lists_put(lists, "policy", "update", "after every play", &pgmri->update);
  lists_put(lists, "policy", "validate", "one scan of every validation slice",
            &pgmri->validation.simulation.scan);
  return true;
}

static const struct policy_trainer trainer_of_pgmri = {check_stage, run_stage, describe_stage};

const struct method method_pgmri = {.name = "pgmri",
                                    .doc = "a policy that looks at reconstructions, rewarded after every action",
                                    .paper = "Bakker et al. 2020, arXiv:2010.16262; the baseline of Kool et al. 2019",
                                    .networks = "policy; a U-Net first",
                                    .network = &network_pgmri,
                                    .systems = pgmri_systems,
                                    .policy = &trainer_of_pgmri};
