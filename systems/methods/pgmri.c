#include "systems/methods/pgmri.h"

#include "engine/base/round.h"
#include "systems/methods/method.h"
#include "systems/scan/slice_cache.h"

#include <string.h>

struct pgmri *pgmri_of(const struct training *training) {
  return OWN(pgmri, training);
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

static struct rate_schedule rates_of(const struct options *options) {
  return (struct rate_schedule){.factor = options->pgmri.rate_factor,
                                .every = options->pgmri.schedule == SCHEDULE_STEP ? options->pgmri.rate_every : 0,
                                .milestones = options->pgmri.milestones};
}

static bool check_estimator(const struct options *options, struct error *error) {
  bool greedy = options->pgmri.estimator == PGMRI_GREEDY, baseline = options->pgmri.baseline;
  const struct rate_schedule rates = rates_of(options);
  uint32_t draws = options->pgmri.trajectories;
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
    return fail_usage(
        error,
        "learn.clone is %s, and train.method pgmri learns from rewards alone; set it to none, or "
        "train.method to l2s or l2sr",
        options->learn.clone == CLONE_LBCS ? "lbcs" : "oracle");
  return baseline_refuse(options, "pgmri.trajectories and pgmri.baseline", error) &&
         check_keep(options, error) && rate_check(&rates, "pgmri.milestones", error);
}

static bool check_options(const struct task_check *check, struct error *error) {
  const struct options *options = check->options;
  struct policy_setup setup = policy_task_setup(check->device, NULL, options, SIZE_MAX, true);
  return network_check(&network_pgmri, options, error) && check_estimator(options, error) &&
         policy_check(&setup, error);
}

/* It is rewarded in every step. */
static void set(struct options *options) {
  options->reward.form = REWARD_DENSE;
}

/* ---- data ---------------------------------------------------------------------------------------------- */

static struct simulation_plan plan(const struct training *training, const struct split *split,
                                   size_t slices) {
  const struct options *options = &split->options;
  size_t envs = options->world.envs, group = trajectories_held(training->device, group_of(options)), budget = training->acquisition.budget;
  bool validates = split == &training->validation;
  if (envs > slices) envs = slices;
  struct simulation_plan plan =
      validates ? trajectories_validation_plan(options, slices, envs, budget + 1)
                : trajectories_plan(options, slices, group, options->pgmri.trajectories, budget);
  plan.together = validates ? plan.envs : group;
  plan.network = true;
  return plan;
}

static bool describe(struct training *training, struct error *error) {
  pgmri_of(training)->trajectories.simulation = &training->train.simulation;
  return training_describe_splits(training, &sampler_policy, error);
}

/* ---- the policy ---------------------------------------------------------------------------------------- */

static bool open_policy(struct training *training, struct error *error) {
  const struct options *options = training->options;
  size_t rows = training->acquisition.budget * group_of(options) * options->pgmri.trajectories;
  return policy_task_open(training, rows, true, NULL, error);
}

static struct optimiser_setup optimiser(const struct options *options) {
  return optimise_defaults(OPTIMISER_ADAM, options->pgmri.rate);
}

static bool fits(struct device *device, const struct options *options, const char *path,
                 struct error *error) {
  return policy_task_fits(device, options, true, path, error);
}

static const struct task_network policy = {.open = open_policy, .optimiser = optimiser, POLICY_NETWORK};

/* ---- opening ------------------------------------------------------------------------------------------- */

/* An epoch has whole updates only; the last minibatch of the slices may be short. */
static bool count_updates(struct training *training, struct error *error) {
  const struct pgmri *pgmri = pgmri_of(training);
  const struct options *options = training->options;
  training->each = divide_up(pgmri->slices, options->pgmri.batch) / options->pgmri.accumulation;
  if (!training->each)
    return fail(error,
                "training slices: %zu, minibatches: %zu of pgmri.batch %u; an update takes "
                "pgmri.accumulation %u of them; lower one of the two",
                pgmri->slices, divide_up(pgmri->slices, options->pgmri.batch), options->pgmri.batch,
                options->pgmri.accumulation);
  training->wanted = training->each * options->pgmri.epochs;
  training->log_every = options->pgmri.log_every;
  training->save_every = options->pgmri.save_every;
  training->work = (double)(pgmri->group * (1 + options->pgmri.trajectories * pgmri->trajectories.steps));
  return true;
}

static bool open_rollout(struct training *training, struct error *error) {
  struct pgmri *pgmri = pgmri_of(training);
  pgmri->group = group_of(training->options);
  pgmri->slices = training->train.report.slices;
  trajectories_open(&pgmri->trajectories);
  if (!count_updates(training, error) ||
      !policy_task_room(training, pgmri->slices, "pgmri.batch or pgmri.accumulation", error))
    return false;
  pgmri->order.slice = pgmri->policy.order;
  pgmri->order.count = pgmri->slices;
  return true;
}

/* ---- an update ----------------------------------------------------------------------------------------- */

/* A multiple of the slices, so that slice number i takes entry i of the order; scans have numbers of their
 * own up to q times as large. */
static uint32_t first_slice(const struct training *training, uint64_t epoch) {
  uint64_t slices = pgmri_of(training)->slices,
           most = UINT32_MAX / training->options->pgmri.trajectories / slices;
  return (uint32_t)(most ? epoch % most * slices : 0);
}

static void run_schedule(struct world *world, void *context) {
  struct training *training = context;
  (void)world;
  const struct rate_schedule rates = rates_of(training->options);
  training->optimiser.rate = rate_at(&rates, training->options->pgmri.rate, training->done / training->each);
}

static const struct system schedule_rate = {
    .name = "schedule_rate", .doc = "the learning rate of this epoch", .run = run_schedule};

void pgmri_step(struct training *training, uint32_t first, size_t slices) {
  trajectories_play(&pgmri_of(training)->trajectories, &training->list[PGMRI_PLAY], first, slices);
  training_run_list(training, PGMRI_UPDATE);
}

/* Going on may begin in the middle of an epoch. */
static void step(struct training *training) {
  struct pgmri *pgmri = pgmri_of(training);
  uint64_t epoch = training->done / training->each;
  size_t first = training->done % training->each * pgmri->group, left = pgmri->slices - first;
  pgmri->order.key = (uint32_t)epoch;
  if (pgmri->ordered != epoch + 1) training_run_list(training, PGMRI_ORDER);
  pgmri->ordered = epoch + 1;
  pgmri_step(training, first_slice(training, epoch) + (uint32_t)first,
             left < pgmri->group ? left : pgmri->group);
}

static const struct system save_update = {.name = "save_update",
                                          .doc = "losses and rewards of the last update, for the log",
                                          .reads = SET(STATE_terms) | SET(ROLLOUT_reward)};

/* Losses and rewards of the last update, of all ranks: [state] as an update takes them, and [step][draw][slice]. */
static bool read_update(struct training *training, size_t *images, size_t *scans, struct error *error) {
  struct pgmri *pgmri = pgmri_of(training);
  struct ranks *ranks = training->device->ranks;
  const struct trajectories *trajectories = &pgmri->trajectories;
  size_t states = trajectories_states(trajectories), draws = training->options->pgmri.trajectories, own = trajectories->slices;
  float *terms = pgmri->policy.terms, *rewards = pgmri->policy.rewards, *read = terms + 2 * pgmri->policy.rows;
  *images = trajectories->all * states, *scans = trajectories->all * draws;
  memset(terms, 0, 2 * *images * sizeof *terms);
  memset(rewards, 0, trajectories->steps * *scans * sizeof *rewards);
  if (own && /* the last ranks may have none */
      !training_look(training, PGMRI_LOG,
                     COLUMNS({STATE_terms, 0, own * states, terms + 2 * trajectories->before * states},
                             {ROLLOUT_reward, 0, trajectories->steps * own * draws, read}),
                     error))
    return false;
  for (size_t i = 0; i < trajectories->steps * draws; i++)
    memcpy(rewards + i * trajectories->all + trajectories->before, read + i * own, own * sizeof *rewards);
  ranks_unite(ranks, terms, 2 * *images * sizeof *terms);
  ranks_unite(ranks, rewards, trajectories->steps * *scans * sizeof *rewards);
  return true;
}

/* Tells the return of the last update. */
static bool log_update(struct training *training, double values[TRAINING_VALUES], struct error *error) {
  struct pgmri *pgmri = pgmri_of(training);
  const float *terms = pgmri->policy.terms, *rewards = pgmri->policy.rewards;
  size_t images, scans;
  if (!read_update(training, &images, &scans, error)) return false;
  for (size_t i = 0; i < images; i++) {
    values[PGMRI_loss] += terms[2 * i];
    values[PGMRI_entropy] += terms[2 * i + 1] / (double)images;
  }
  for (size_t i = 0; i < pgmri->trajectories.steps * scans; i++) values[PGMRI_reward] += rewards[i] / (double)scans;
  values[PGMRI_rate] = training->optimiser.rate;
  return optimise_norm(&training->optimiser, &values[PGMRI_gradient_norm], error);
}

/* pgmri.keep counts epochs from 0. */
static bool keeps(const struct training *training, char name[TRAINING_NAME]) {
  char number[24];
  snprintf(number, sizeof number, "%llu", (unsigned long long)(training->done / training->each - 1));
  snprintf(name, TRAINING_NAME, "epoch_%s.h5", number);
  return option_has(training->options->pgmri.keep, number);
}

/* ---- the row ------------------------------------------------------------------------------------------- */

static void fill_play(struct training *training, struct schedule *schedule) {
  trajectories_add_play(&pgmri_of(training)->trajectories, schedule);
}

static void fill_order(struct training *training, struct schedule *schedule) {
  struct pgmri *pgmri = pgmri_of(training);
  pgmri->order.simulation = &training->train.simulation;
  slice_order_add(&pgmri->order, schedule);
}

static void fill_update(struct training *training, struct schedule *schedule) {
  schedule_add(schedule, &schedule_rate, training);
  trajectories_add_gradient(&pgmri_of(training)->trajectories, schedule);
  policy_task_add_optimise(training, schedule);
}

const struct task task_pgmri = {
    POLICY_TASK,
    .network = "pgmri",
    .unit = "update",
    .worked = "images",
    .reads = KEYS(POLICY_READS, "pgmri."),
    .gamma = "pgmri",
    .more = "pgmri.epochs",
    .advice = "lower pgmri.rate",
    .bytes = sizeof(struct pgmri),
    .networks = {&policy, &network_fixed_reconstructor},
    .lists = {[PGMRI_ORDER] = {"order", "before every epoch", .fill = fill_order},
              [PGMRI_PLAY] = {"play", "for every update", .unit = true, .fill = fill_play},
              [PGMRI_UPDATE] = {"update", "after every play", .unit = true, .fill = fill_update},
              [PGMRI_LOG] = {"log", "for every line of the log", .host = true, .rows = SYSTEMS(&save_update)},
              POLICY_LISTS("one scan of every validation slice", split_scores)},
    .train = {"look", LOG_VALUES(PGMRI_VALUES), (1 << PGMRI_VALUE_COUNT) - 1},
    .epochs = true,
    .curves = CURVES({"reward of a scan", "training", .logged = true, .value = PGMRI_reward},
                     {"%s", "validation", .validation = true},
                     {"entropy of a choice", "training", .logged = true, .value = PGMRI_entropy}),
    .set = set,
    .plan = plan,
    .check = check_options,
    .fits = fits,
    .describe = describe,
    .load = policy_task_load,
    .open = open_rollout,
    .step = step,
    .log = log_update,
    .validate = policy_task_validate,
    .keeps = keeps};

const struct method method_pgmri = {
    .name = "pgmri",
    .doc = "a policy that looks at reconstructions, rewarded after every action",
    .paper = "Bakker et al. 2020, arXiv:2010.16262; the baseline of Kool et al. 2019",
    .networks = "policy; a U-Net first",
    .beside = {&network_pgmri},
    .systems = SYSTEMS(&schedule_rate),
    .stages = {&task_reconstructor, &task_pgmri}};
