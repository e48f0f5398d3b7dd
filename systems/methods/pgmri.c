#include "systems/methods/pgmri.h"

#include "engine/base/round.h"
#include "systems/methods/method.h"
#include "systems/methods/trajectories.h"
#include "systems/scan/slice_cache.h"

struct pgmri {
  struct policy_training base; /* first: its row's functions know it by this */
  struct trajectories trajectories;
  uint32_t milestone[MILESTONES_MOST];
  size_t milestones;
  size_t slices, group; /* to train on; of an update */
  uint64_t ordered;     /* epochs whose order was drawn last; 0: none */
};

static struct pgmri *pgmri_of(struct policy_training *training) {
  return (struct pgmri *)training;
}

static size_t group_of(const struct options *options) {
  return (size_t)options->pgmri.batch * options->pgmri.accumulation;
}

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

static bool check(const struct options *options, uint32_t budget, uint32_t rounds, struct error *error) {
  bool greedy = options->pgmri.estimator == PGMRI_GREEDY, baseline = options->pgmri.baseline;
  uint32_t draws = options->pgmri.trajectories, milestone[MILESTONES_MOST];
  size_t milestones;
  (void)budget;
  (void)rounds;
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
  if (options->learn.clone != CLONE_NONE)
    return fail_usage(error, "learn.clone is %s, and train.method pgmri learns from rewards alone; set it to none, or "
                             "train.method to l2s or l2sr",
                      options->learn.clone == CLONE_LBCS ? "lbcs" : "oracle");
  return baseline_refuse(options, "pgmri.trajectories and pgmri.baseline", error) &&
         check_keep(options, error) &&
         optimise_read_milestones("pgmri.milestones", options->pgmri.milestones, milestone, &milestones,
                                  error);
}

/* ---- lists --------------------------------------------------------------------------------------------- */

static void describe(struct policy_training *training) {
  trajectories_describe(&pgmri_of(training)->trajectories, &training->train.simulation);
}

static void add_play(struct policy_training *training, struct schedule *schedule) {
  trajectories_add_play(&pgmri_of(training)->trajectories, schedule);
}

static void add_update(struct policy_training *training, struct schedule *schedule) {
  trajectories_add_gradient(&pgmri_of(training)->trajectories, schedule);
  policy_training_add_optimise(training, schedule);
}

/* ---- opening ------------------------------------------------------------------------------------------- */

static struct simulation_plan plan(const struct options *options, bool validates, size_t slices,
                                   size_t budget) {
  size_t envs = options->world.envs, group = group_of(options);
  if (validates)
    return trajectories_validation_plan(options, slices, envs < slices ? envs : slices, budget + 1);
  struct simulation_plan plan =
      trajectories_plan(options, slices, group, options->pgmri.trajectories, budget);
  plan.together = group;
  return plan;
}

static size_t rows_of(const struct options *options, size_t budget) {
  return budget * group_of(options) * options->pgmri.trajectories;
}

static bool open_trajectories(struct pgmri *pgmri, struct error *error) {
  const struct options *options = pgmri->base.trainer.options;
  struct trajectories_setup setup = {.simulation = &pgmri->base.train.simulation,
                                     .batch = options->pgmri.batch,
                                     .minibatches = options->pgmri.accumulation,
                                     .draws = options->pgmri.trajectories,
                                     .greedy = options->pgmri.estimator == PGMRI_GREEDY,
                                     .baseline = options->pgmri.baseline,
                                     .gamma = options->pgmri.gamma};
  struct optimiser_setup adam = optimise_defaults(OPTIMISER_ADAM, options->pgmri.rate);
  return trajectories_open(&pgmri->trajectories, &setup, error) &&
         optimise_open(&pgmri->base.trainer.optimiser, pgmri->base.policy.graph, &adam, error);
}

/* An epoch has whole updates only; the last minibatch of the slices may be short. */
static bool count_updates(struct pgmri *pgmri, struct error *error) {
  struct trainer *trainer = &pgmri->base.trainer;
  const struct options *options = trainer->options;
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
  trainer->work = (double)(pgmri->group * (1 + options->pgmri.trajectories * pgmri->trajectories.steps));
  trainer->event_each = trainer->event_per = 1;
  return true;
}

/* They say where, how long, and what is printed or kept; or are of other work. */
static const char *const may_differ[] = {"evaluate.",    "phantom.",     "train.",     "loupe.",
                                         "tau.",         "alternate.",   "learn.",     "sampler.",
                                         "data.path",    "data.split",   "world.envs", "data.window",
                                         "data.augment", "pgmri.epochs", "pgmri.keep", "pgmri.save_every",
                                         "reward.form",  "lbcs.",        NULL};

static bool open(struct policy_training *training, const struct trainer_config *config, struct error *error) {
  struct pgmri *pgmri = pgmri_of(training);
  const struct options *options = training->trainer.options;
  (void)config;
  training->trainer.run.may_differ = may_differ;
  pgmri->group = group_of(options);
  pgmri->slices = training->train.report.slices;
  return optimise_read_milestones("pgmri.milestones", options->pgmri.milestones, pgmri->milestone,
                                  &pgmri->milestones, error) &&
         open_trajectories(pgmri, error) && count_updates(pgmri, error) &&
         policy_training_room(training, pgmri->slices, error);
}

/* ---- the task ------------------------------------------------------------------------------------------ */

static void shuffle(struct pgmri *pgmri, uint64_t epoch) {
  struct random random;
  random_start(&random, pgmri->base.trainer.options->world.seed, STREAM_ORDER, (uint32_t)epoch);
  random_order(&random, pgmri->base.order, pgmri->slices);
  slice_cache_order(&pgmri->base.train.simulation, pgmri->base.order, pgmri->slices);
}

/* A multiple of the slices, so that slice number i takes entry i of the order; scans have numbers of their
 * own up to q times as large. */
static uint32_t first_slice(const struct pgmri *pgmri, uint64_t epoch) {
  uint64_t slices = pgmri->slices,
           most = UINT32_MAX / pgmri->base.trainer.options->pgmri.trajectories / slices;
  return (uint32_t)(most ? epoch % most * slices : 0);
}

static double rate_of(const struct pgmri *pgmri, uint64_t epoch) {
  const struct options *options = pgmri->base.trainer.options;
  double rate = options->pgmri.rate, factor = options->pgmri.rate_factor;
  return options->pgmri.schedule == SCHEDULE_STEP
             ? optimise_step_rate(rate, factor, options->pgmri.rate_every, (uint32_t)epoch)
             : optimise_milestone_rate(rate, factor, pgmri->milestone, pgmri->milestones, (uint32_t)epoch);
}

/* Going on may begin in the middle of an epoch. */
static void step(struct trainer *trainer) {
  struct pgmri *pgmri = (struct pgmri *)trainer;
  uint64_t epoch = trainer->done / trainer->each;
  size_t first = trainer->done % trainer->each * pgmri->group, left = pgmri->slices - first;
  if (pgmri->ordered != epoch + 1) shuffle(pgmri, epoch);
  pgmri->ordered = epoch + 1;
  trainer->optimiser.rate = rate_of(pgmri, epoch);
  trajectories_play(&pgmri->trajectories, first_slice(pgmri, epoch) + (uint32_t)first,
                    left < pgmri->group ? left : pgmri->group);
  schedule_run(&pgmri->base.update, pgmri->base.train.simulation.world);
}

static const struct system save_update = {.name = "save_update",
                                          .doc = "losses and rewards of the last update, for the log",
                                          .reads = SET(STATE_terms) | SET(ROLLOUT_reward)};

/* Tells the return of the last update. */
static bool look(struct trainer *trainer, double values[TRAINER_VALUES], struct error *error) {
  struct pgmri *pgmri = (struct pgmri *)trainer;
  struct world *world = pgmri->base.train.simulation.world;
  const struct trajectories *trajectories = &pgmri->trajectories;
  size_t images = trajectories_images(trajectories), scans = trajectories->slices * trajectories->setup.draws;
  struct world_use before = world_enter(world, &save_update);
  world_read(world, STATE_terms, 0, images, pgmri->base.terms);
  world_read(world, ROLLOUT_reward, 0, trajectories->steps * scans, pgmri->base.rewards);
  world_leave(world, before);
  if (!device_finish(trainer->device, error)) return false;
  for (size_t i = 0; i < images; i++) {
    values[PGMRI_loss] += pgmri->base.terms[2 * i];
    values[PGMRI_entropy] += pgmri->base.terms[2 * i + 1] / (double)images;
  }
  for (size_t i = 0; i < trajectories->steps * scans; i++)
    values[PGMRI_reward] += pgmri->base.rewards[i] / (double)scans;
  values[PGMRI_rate] = trainer->optimiser.rate;
  return optimise_norm(&trainer->optimiser, &values[PGMRI_gradient_norm], error);
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

static const struct trainer_curve curves[] = {
    {"reward of a scan", "training", .looks = true, .value = PGMRI_reward},
    {"%s", "validation", .validation = true},
    {"entropy of a choice", "training", .looks = true, .value = PGMRI_entropy},
    {.up = NULL}};

const struct task task_pgmri = {.network = "pgmri",
                                .unit = "update",
                                .worked = "images",
                                .train = {"look", look_values, (1 << PGMRI_VALUE_COUNT) - 1},
                                .validation = {"validation", policy_score_values, 1},
                                .epochs = true,
                                .scores = true,
                                .curves = curves,
                                .more = "pgmri.epochs",
                                .advice = "lower pgmri.rate",
                                .add = policy_training_add,
                                .step = step,
                                .look = look,
                                .validate = policy_training_validate,
                                .write = policy_training_write,
                                .read = policy_training_read,
                                .keeps = keeps};

const struct policy_trainer policy_trainer_pgmri = {.task = &task_pgmri,
                                                    .network = &network_pgmri,
                                                    .dense = true,
                                                    .section = "pgmri",
                                                    .bytes = sizeof(struct pgmri),
                                                    .lower = "pgmri.batch or pgmri.accumulation",
                                                    .play = "for every update",
                                                    .update = "after every play",
                                                    .validate = "one scan of every validation slice",
                                                    .check = check,
                                                    .plan = plan,
                                                    .rows = rows_of,
                                                    .describe = describe,
                                                    .open = open,
                                                    .add_play = add_play,
                                                    .add_update = add_update};

const struct method method_pgmri = {
    .name = "pgmri",
    .doc = "a policy that looks at reconstructions, rewarded after every action",
    .paper = "Bakker et al. 2020, arXiv:2010.16262; the baseline of Kool et al. 2019",
    .networks = "policy; a U-Net first",
    .network = &network_pgmri,
    .policy = &policy_trainer_pgmri};
