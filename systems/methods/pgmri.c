#include "systems/methods/pgmri.h"

#include "engine/base/log.h"
#include "engine/base/round.h"
#include "systems/sampling/geometry.h"
#include "systems/scan/slice_cache.h"

#include <math.h>
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
  return net_policy_check(options, error) && policy_check(&setup, error);
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
  optimise_step(&pgmri->optimiser);
  policy_changed(&pgmri->policy);
}

static const struct system optimise = {
    .name = "optimise_policy", .doc = "a step of the policy's parameters", .run = run_optimise};

static bool build_update(struct pgmri *pgmri, struct error *error) {
  struct schedule *schedule = &pgmri->update;
  schedule_open(schedule, &component_schema);
  schedule_add(schedule, &zero, pgmri);
  trajectories_add_gradient(&pgmri->trajectories, schedule);
  schedule_add(schedule, &optimise, pgmri);
  return schedule_close(schedule, false, error);
}

const struct system *const pgmri_systems[] = {&zero, &optimise, NULL};

bool pgmri_describe(struct pgmri *pgmri, const struct options *options, struct schedule *play,
                    struct error *error) {
  struct simulation *simulation = &pgmri->train.simulation;
  struct simulation_plan plan = trajectories_plan(options, 1, 1, options->pgmri.trajectories, 1);
  *pgmri = (struct pgmri){.options = options};
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

static struct simulation_plan plan_split(const struct pgmri *pgmri, const struct learn_split *split,
                                         size_t slices) {
  const struct options *options = &split->options;
  size_t budget = pgmri->acquisition.budget, envs = options->world.envs;
  bool trains = split == &pgmri->train;
  struct simulation_plan plan =
      trains ? trajectories_plan(options, slices, pgmri->group, options->pgmri.trajectories, budget)
             : trajectories_validation_plan(options, slices, envs < slices ? envs : slices, budget + 1);
  plan.together = trains ? pgmri->group : plan.envs;
  return plan;
}

static bool open_split(struct pgmri *pgmri, struct learn_split *split, enum data_split which,
                       const struct pgmri_wish *wish, struct error *error) {
  static const char *const names[] = {"training", "validation"};
  bool first = split == &pgmri->train;
  split->options = *pgmri->options;
  split->options.data.split = which;
  split->options.reward.form = REWARD_DENSE;
  if (!dataset_open(&split->dataset, &split->options, error)) return fail_in(error, "%s data", names[which]);
  size_t slices = split->dataset.slice_count, most = split->options.data.most;
  struct simulation_plan plan = plan_split(pgmri, split, most && most < slices ? most : slices);
  plan.network = wish->reconstructor;
  plan.coils = dataset_coils(&split->dataset);
  plan.kernels = first ? NULL : pgmri->train.simulation.kernels;
  plan.kernel_folder = wish->kernel_folder;
  if (!simulation_open(&split->simulation, pgmri->device, &split->options, &plan, error) ||
      !load_simulation(&split->simulation, &split->dataset, &split->options, pgmri->arena, &split->report,
                       error))
    return fail_in(error, "%s data", names[which]);
  return simulation_set(&split->simulation, &pgmri->acquisition, &sampler_policy, error);
}

static bool open_reconstructor(struct pgmri *pgmri, const char *path, struct error *error) {
  const struct options *options = pgmri->options;
  size_t scans = pgmri->train.simulation.world.capacity[TABLE_ENV];
  size_t others = pgmri->validation.simulation.world.capacity[TABLE_ENV],
         most = scans > others ? scans : others;
  struct reconstructor_setup setup = {.device = pgmri->device,
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
  const struct options *options = pgmri->options;
  size_t most = (size_t)pgmri->acquisition.budget * pgmri->group * options->pgmri.trajectories;
  struct policy_setup setup = policy_setup(pgmri->device, options);
  setup.kernels = pgmri->train.simulation.kernels;
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
  const struct options *options = pgmri->options;
  struct trajectories_setup setup = {.simulation = &pgmri->train.simulation,
                                     .batch = options->pgmri.batch,
                                     .minibatches = options->pgmri.accumulation,
                                     .draws = options->pgmri.trajectories,
                                     .greedy = options->pgmri.estimator == PGMRI_GREEDY,
                                     .baseline = options->pgmri.baseline,
                                     .gamma = options->pgmri.gamma};
  struct optimiser_setup adam = optimise_defaults(OPTIMISER_ADAM, options->pgmri.rate);
  return trajectories_open(&pgmri->trajectories, &setup, error) &&
         optimise_open(&pgmri->optimiser, pgmri->policy.graph, &adam, error);
}

/* An epoch has whole updates only; the last minibatch of the slices may be short. */
static bool plan_epochs(struct pgmri *pgmri, struct error *error) {
  const struct options *options = pgmri->options;
  size_t draws = options->pgmri.trajectories, rows = pgmri->acquisition.budget * pgmri->group * draws;
  pgmri->slices = pgmri->train.report.slices;
  pgmri->each = divide_up(pgmri->slices, options->pgmri.batch) / options->pgmri.accumulation;
  pgmri->wanted = (uint64_t)pgmri->each * options->pgmri.epochs;
  if (!pgmri->each)
    return fail(error,
                "training slices: %zu, minibatches: %zu of pgmri.batch %u; an update takes "
                "pgmri.accumulation %u of them; lower one of the two",
                pgmri->slices, divide_up(pgmri->slices, options->pgmri.batch), options->pgmri.batch,
                options->pgmri.accumulation);
  bool good = (pgmri->order = arena_try(pgmri->arena, sizeof(uint32_t) * pgmri->slices)) &&
              (pgmri->terms = arena_try(pgmri->arena, 2 * sizeof(float) * rows)) &&
              (pgmri->rewards = arena_try(pgmri->arena, sizeof(float) * rows));
  return good ? true : fail_memory(error, "no host memory for the log of %zu draws; lower pgmri.batch", rows);
}

bool pgmri_open(struct pgmri *pgmri, struct device *device, const struct options *options,
                const struct pgmri_wish *wish, struct error *error) {
  *pgmri =
      (struct pgmri){.arena = arena_open(), .device = device, .options = options, .folder = wish->folder};
  pgmri->group = (size_t)options->pgmri.batch * options->pgmri.accumulation;
  if (pgmri_check(device, options, error) &&
      optimise_read_milestones("pgmri.milestones", options->pgmri.milestones, pgmri->milestone,
                               &pgmri->milestones, error) &&
      acquisition_only(&pgmri->acquisition, options, pgmri->arena, error) &&
      open_split(pgmri, &pgmri->train, SPLIT_TRAIN, wish, error) &&
      open_split(pgmri, &pgmri->validation, SPLIT_VAL, wish, error) &&
      open_reconstructor(pgmri, wish->reconstructor, error) && open_policy(pgmri, error) &&
      open_trajectories(pgmri, error) && build_update(pgmri, error) && plan_epochs(pgmri, error) &&
      (!wish->folder || pgmri_open_files(pgmri, wish->resume, error)) && device_finish(device, error))
    return true;
  pgmri_close(pgmri);
  return false;
}

void pgmri_close(struct pgmri *pgmri) {
  run_close(&pgmri->run);
  if (pgmri->optimiser.device) optimise_close(&pgmri->optimiser);
  policy_close(&pgmri->policy);
  reconstructor_close(&pgmri->reconstructor);
  learn_close_split(&pgmri->validation);
  learn_close_split(&pgmri->train);
  arena_close(pgmri->arena);
  *pgmri = (struct pgmri){0};
}

/* ---- one update ---------------------------------------------------------------------------------------- */

static void shuffle(struct pgmri *pgmri, uint64_t epoch) {
  struct random random;
  if (pgmri->ordered == epoch + 1) return;
  random_start(&random, pgmri->options->world.seed, STREAM_ORDER, (uint32_t)epoch);
  random_order(&random, pgmri->order, pgmri->slices);
  slice_cache_order(&pgmri->train.simulation, pgmri->order, pgmri->slices);
  pgmri->ordered = epoch + 1;
}

/* A multiple of the slices, so that slice number i takes entry i of the order; scans have numbers of their
 * own up to q times as large. */
static uint32_t first_slice(const struct pgmri *pgmri, uint64_t epoch) {
  uint64_t slices = pgmri->slices, most = UINT32_MAX / pgmri->options->pgmri.trajectories / slices;
  return (uint32_t)(most ? epoch % most * slices : 0);
}

static double rate_of(const struct pgmri *pgmri, uint64_t epoch) {
  const struct options *options = pgmri->options;
  double rate = options->pgmri.rate, factor = options->pgmri.rate_factor;
  return options->pgmri.schedule == SCHEDULE_STEP
             ? optimise_step_rate(rate, factor, options->pgmri.rate_every, (uint32_t)epoch)
             : optimise_milestone_rate(rate, factor, pgmri->milestone, pgmri->milestones, (uint32_t)epoch);
}

void pgmri_step(struct pgmri *pgmri) {
  uint64_t epoch = pgmri->updates / pgmri->each;
  size_t first = pgmri->updates % pgmri->each * pgmri->group, left = pgmri->slices - first;
  shuffle(pgmri, epoch);
  pgmri->optimiser.rate = rate_of(pgmri, epoch);
  trajectories_play(&pgmri->trajectories, first_slice(pgmri, epoch) + (uint32_t)first,
                    left < pgmri->group ? left : pgmri->group);
  schedule_run(&pgmri->update, &pgmri->train.simulation.world);
  pgmri->updates++;
}

/* ---- looking ------------------------------------------------------------------------------------------- */

static bool refuse_loss(const struct pgmri *pgmri, double value, struct error *error) {
  return fail_as(error, L2SR_DIVERGED,
                 "update %llu: loss, reward or gradient is %g, not a finite number; lower pgmri.rate",
                 (unsigned long long)pgmri->updates, value);
}

/* Of the update that was done last. */
static bool look(struct pgmri *pgmri, struct error *error) {
  const struct trajectories *trajectories = &pgmri->trajectories;
  size_t images = trajectories_images(trajectories), scans = trajectories->slices * trajectories->setup.draws;
  double loss = 0, entropy = 0, reward = 0, norm = 0;
  world_read(&pgmri->train.simulation.world, STATE_terms, 0, images, pgmri->terms);
  world_read(&pgmri->train.simulation.world, ROLLOUT_reward, 0, trajectories->steps * scans, pgmri->rewards);
  if (!device_finish(pgmri->device, error) || !optimise_norm(&pgmri->optimiser, &norm, error)) return false;
  for (size_t i = 0; i < images; i++) {
    loss += pgmri->terms[2 * i];
    entropy += pgmri->terms[2 * i + 1] / (double)images;
  }
  for (size_t i = 0; i < trajectories->steps * scans; i++) reward += pgmri->rewards[i] / (double)scans;
  const double values[] = {[PGMRI_reward] = reward,
                           [PGMRI_loss] = loss,
                           [PGMRI_entropy] = entropy,
                           [PGMRI_gradient_norm] = norm,
                           [PGMRI_rate] = pgmri->optimiser.rate};
  for (int v = 0; v < PGMRI_VALUE_COUNT; v++) pgmri->look[v] = values[v];
  return isfinite(loss + reward + norm) ? true : refuse_loss(pgmri, loss + reward + norm, error);
}

/* ---- all of them --------------------------------------------------------------------------------------- */

static bool end_epoch(struct pgmri *pgmri, struct error *error) {
  uint64_t epoch = pgmri->updates / pgmri->each - 1;
  char name[48], number[24];
  if (!learn_score_split(&pgmri->validation, &pgmri->score, error)) return false;
  if (!isfinite(pgmri->score)) return refuse_loss(pgmri, pgmri->score, error);
  pgmri_log_validation(pgmri, pgmri->run.log);
  pgmri_log_validation_event(pgmri);
  log_info("epoch %llu of %u: validation %s %.5f", (unsigned long long)(epoch + 1),
           pgmri->options->pgmri.epochs, metric_list[pgmri->options->reward.metric].name, pgmri->score);
  snprintf(number, sizeof number, "%llu", (unsigned long long)epoch);
  snprintf(name, sizeof name, "epoch_%s.h5", number);
  return !pgmri->folder || !option_has(pgmri->options->pgmri.keep, number) || pgmri_save(pgmri, name, error);
}

/* What is to be done after an update. */
static bool attend(struct pgmri *pgmri, const struct pgmri_wish *wish, struct learn_pace *pace,
                   struct error *error) {
  const struct options *options = pgmri->options;
  uint64_t done = pgmri->updates;
  bool ended = done % pgmri->each == 0;
  if (learn_due(done, options->pgmri.log_every, pgmri->wanted)) {
    if (!look(pgmri, error)) return false;
    size_t images = pgmri->group * (1 + (size_t)options->pgmri.trajectories * pgmri->trajectories.steps);
    pgmri->images_per_second = learn_pace_take(pace, done) * (double)images;
    pgmri_log_look(pgmri, pgmri->run.log);
    pgmri_log_look_event(pgmri);
    if (wish->see) wish->see(pgmri, wish->context);
  }
  if (ended && !device_finish(pgmri->device, error)) return false;
  double start = clock_seconds();
  if (ended && !end_epoch(pgmri, error)) return false;
  pace->seconds += clock_seconds() - start;
  return !pgmri->folder || !(ended || learn_due(done, options->pgmri.save_every, pgmri->wanted)) ||
         pgmri_save(pgmri, "last.h5", error);
}

bool pgmri_run(struct pgmri *pgmri, const struct pgmri_wish *wish, struct error *error) {
  struct progress progress;
  uint64_t start = pgmri->updates;
  struct learn_pace pace = {start, clock_seconds()};
  bool good = true;
  progress_open(&progress, "learning", "updates", (size_t)(pgmri->wanted - start));
  while (good && pgmri->updates < pgmri->wanted) {
    pgmri_step(pgmri);
    good = attend(pgmri, wish, &pace, error);
    progress_move(&progress, (size_t)(pgmri->updates - start));
  }
  progress_close(&progress);
  return good;
}
