/* Opening a policy's training: its policy, rollout, optimiser and numbers of scans. */
#include "systems/methods/learn.h"

#include "engine/base/log.h"
#include "engine/base/round.h"
#include "systems/methods/method.h"

#include <math.h>

/* ---- opening ------------------------------------------------------------------------------------------- */

static struct simulation_plan plan(const struct options *options, bool validates, size_t slices,
                                   size_t budget) {
  size_t launch = options->world.envs, scans = options->learn.scans, rows = scans * budget;
  size_t pass = rows < options->policy.batch ? rows : options->policy.batch;
  if (validates)
    return rollout_plan(options, slices, slices < launch ? slices : launch, slices * (budget + 1));
  if (launch > scans) launch = scans;
  struct simulation_plan plan = rollout_plan(options, slices, launch > pass ? launch : pass, rows);
  plan.together = scans / options->learn.group;
  clone_plan(options, &plan);
  return plan;
}

static size_t rows_of(const struct options *options, size_t budget) {
  return budget * options->learn.scans;
}

static const size_t libraries = (size_t)64 << 20; /* bytes that they may take */

/* With all steps of a rollout in one pass, so that their activations may stay (train.keep_activations). */
static bool open_keeping(struct policy_training *training, struct policy_setup setup, struct error *error) {
  const struct options *options = training->trainer.options;
  size_t rows = training->rows;
  if (options->learn.algorithm != LEARN_A2C)
    return fail(error, "learn.algorithm ppo updates more than once a rollout; a2c keeps them");
  if (!rollout_can_keep(training->trainer.device, options->learn.scans, options->world.envs))
    return fail(error,
                "they are of one launch of an even number of scans on a device with matrix instructions; "
                "learn.scans is %u, world.envs %u, the device %s",
                options->learn.scans, options->world.envs, training->trainer.device->facts.name);
  setup.batch = rows;
  setup.whole = true;
  if (!policy_open(&training->policy, &setup, error)) return false;
  if (training->policy.blocks && training->policy.batch == rows &&
      network_spare(&training->policy.network) >= libraries)
    return true;
  policy_close(&training->policy);
  return fail(error, "%zu steps of a rollout leave too little memory on %s; lower learn.scans", rows,
              training->trainer.device->facts.name);
}

static bool open_policy(struct policy_training *training, const struct policy_setup *setup,
                        struct error *error) {
  enum train_keep keep = (enum train_keep)training->trainer.options->train.keep_activations;
  struct error reason;
  if (keep != KEEP_NEVER && open_keeping(training, *setup, &reason)) return true;
  if (keep == KEEP_ALWAYS)
    return fail(error, "train.keep_activations is always, and a rollout's cannot be kept: %.900s",
                reason.text);
  if (keep == KEEP_AUTO) log_detail("activations of a rollout are not kept: %s", reason.text);
  return policy_open(&training->policy, setup, error);
}

bool learn_normalises(const struct options *options) {
  bool ppo = options->learn.algorithm == LEARN_PPO;
  return options->learn.normalise == NORMALISE_AUTO ? ppo : options->learn.normalise == NORMALISE_ON;
}

static bool open_rollout(struct learning *learning, struct error *error) {
  const struct options *options = learning->base.trainer.options;
  struct rollout_setup setup = {.simulation = &learning->base.train.simulation,
                                .scans = options->learn.scans,
                                .launch = options->world.envs,
                                .gamma = options->learn.gamma,
                                .lambda = options->learn.lambda,
                                .keep = learning->base.policy.setup.whole,
                                .normalise = learn_normalises(options),
                                .group = options->learn.group,
                                .baseline = (enum learn_baseline)options->learn.baseline};
  if (!rollout_open(&learning->rollout, &setup, error)) return false;
  struct policy_update *update = &learning->rollout.update;
  update->value_weight = (float)options->learn.value;
  update->clip = options->learn.algorithm == LEARN_PPO ? (float)options->learn.ratio : 0;
  return true;
}

double learn_scaled_rate(const struct options *options) {
  double rate = options->learn.rate, more = options->learn.scans / 16.0;
  if (options->learn.scaling == SCALING_NONE) return rate;
  return rate * (options->learn.scaling == SCALING_LINEAR ? more : sqrt(more));
}

static bool open_optimiser(struct learning *learning, struct error *error) {
  const struct options *options = learning->base.trainer.options;
  bool ppo = options->learn.algorithm == LEARN_PPO;
  bool adam = options->learn.optimiser == LEARN_AUTO ? ppo : options->learn.optimiser == LEARN_ADAM;
  struct optimiser_setup setup =
      optimise_defaults(adam ? OPTIMISER_ADAM : OPTIMISER_RMSPROP, learn_scaled_rate(options));
  setup.epsilon = options->learn.epsilon;
  setup.clip = options->learn.clip;
  return optimise_open(&learning->base.trainer.optimiser, learning->base.policy.graph, &setup, error);
}

static void warn_of_floor(bool falls, const char *name, double start, double floor) {
  if (falls && floor > start)
    log_warning("learn.%s_floor is %.9g and learn.%s %.9g: a schedule only falls, so that it stays %.9g; set "
                "the floor "
                "below",
                name, floor, name, start, start);
}

/* Rounds after the first may be below a floor: they have smaller weights of their own. */
static void warn_of_schedules(const struct options *options) {
  bool rates = options->learn.rate_schedule != LEARN_CONSTANT,
       entropies = options->learn.entropy_schedule != LEARN_CONSTANT;
  warn_of_floor(rates, "rate", learn_scaled_rate(options), options->learn.rate_floor);
  warn_of_floor(entropies, "entropy", options->learn.entropy, options->learn.entropy_floor);
}

static void count_rollouts(struct learning *learning, uint64_t steps) {
  struct trainer *trainer = &learning->base.trainer;
  const struct options *options = trainer->options;
  size_t rows = learning->rollout.rows;
  trainer->wanted = learning->clone.rollouts + divide_up(steps, rows);
  trainer->each = divide_up(trainer->wanted, options->learn.validations);
  trainer->look_every = options->learn.log_every;
  trainer->save_every = options->learn.save_every;
  trainer->work = (double)rows;
  trainer->event_each = rows; /* over the environment-steps of all rounds */
  trainer->event_per = 1;
}

/* ---- numbers of scans ---------------------------------------------------------------------------------- */

/* Rollouts of so many rounds: one takes up the numbers of scans where the one before has stopped. */
static uint64_t rollouts_of(const struct options *options, uint32_t budget, uint32_t rounds) {
  uint64_t rows = (uint64_t)budget * options->learn.scans;
  uint64_t first = clone_rollouts(options, rows) + divide_up(options->learn.steps, rows),
           each = divide_up(options->alternate.steps, rows);
  return rounds ? first + (rounds - 1) * each : 0;
}

/* Scans, and PPO's passes over rollouts, key their draws by 32 bits. */
static bool check(const struct options *options, uint32_t budget, uint32_t rounds, struct error *error) {
  if (!baseline_check(options, error) || !clone_check(options, error)) return false;
  uint64_t rollouts = rollouts_of(options, budget, rounds), epochs = options->learn.epochs;
  uint64_t each =
      options->learn.algorithm == LEARN_PPO && epochs > options->learn.scans ? epochs : options->learn.scans;
  if (rollouts <= UINT32_MAX / each) return true;
  return fail_usage(error,
                    "%llu rollouts in %u rounds are more than the %llu whose scans and passes have numbers; "
                    "lower learn.steps, learn.clone_steps, alternate.steps or alternate.rounds",
                    (unsigned long long)rollouts, rounds, (unsigned long long)(UINT32_MAX / each));
}

static void number_scans(struct learning *learning, uint32_t round) {
  const struct options *options = learning->base.trainer.options;
  uint64_t before = rollouts_of(options, learning->base.acquisition.budget, round);
  learning->first_scan = (uint32_t)(before * options->learn.scans);
  learning->base.trainer.event_before = (uint64_t)learning->first_scan * learning->rollout.steps;
}

/* ---- the row ------------------------------------------------------------------------------------------- */

/* They say where and what is printed; or are of other work, as PPO's keys are of A2C's and a teacher's of
 * none. */
#define MAY_DIFFER                                                                                           \
  "evaluate.", "phantom.", "train.", "alternate.", "data.path", "data.augment", "pgmri.", "loupe.", "tau.",  \
      "lbcs.", "sampler.tau_step", "data.split", "learn.save_every", "world.envs", "data.window",            \
      "learn.reconstructor", "learn.start"
#define OF_PPO "learn.epochs", "learn.rows", "learn.ratio"
#define OF_ORACLE "sampler.candidates"
#define OF_CLONE "learn.clone_steps", "learn.clone_rate", OF_ORACLE
static const char *const may_differ[2][3][17 + 8] = {
    [LEARN_A2C] = {[CLONE_NONE] = {MAY_DIFFER, OF_PPO, OF_CLONE, NULL},
                   [CLONE_ORACLE] = {MAY_DIFFER, OF_PPO, NULL},
                   [CLONE_LBCS] = {MAY_DIFFER, OF_PPO, OF_ORACLE, NULL}},
    [LEARN_PPO] = {[CLONE_NONE] = {MAY_DIFFER, OF_CLONE, NULL},
                   [CLONE_ORACLE] = {MAY_DIFFER, NULL},
                   [CLONE_LBCS] = {MAY_DIFFER, OF_ORACLE, NULL}}};

static bool open(struct policy_training *training, const struct trainer_config *config, struct error *error) {
  struct learning *learning = (struct learning *)training;
  const struct options *options = training->trainer.options;
  training->trainer.run.may_differ = may_differ[options->learn.algorithm][options->learn.clone];
  if (!open_rollout(learning, error) || !open_optimiser(learning, error) ||
      !clone_open(learning, config, error) || !policy_training_room(training, training->rows, error) ||
      !policy_training_count_choices(training, error) ||
      !rollout_copy_open(&learning->copy, &learning->rollout, training->rewards, training->trainer.arena,
                         error))
    return false;
  if (!config->round) warn_of_schedules(options);
  count_rollouts(learning, config->steps);
  number_scans(learning, config->round);
  return true;
}

static void describe(struct policy_training *training) {
  const struct options *options = training->trainer.options;
  struct rollout_setup setup = {.simulation = &training->train.simulation,
                                .keep = options->train.keep_activations == KEEP_ALWAYS,
                                .normalise = learn_normalises(options),
                                .baseline = (enum learn_baseline)options->learn.baseline};
  rollout_describe(&((struct learning *)training)->rollout, &setup);
}

/* The lists of the teacher's rollouts. */
static bool add_lists(struct policy_training *training, struct lists *lists, struct error *error) {
  struct learning *learning = (struct learning *)training;
  if (!clone_build(learning, error)) return false;
  lists_put(lists, "policy", "for every rollout of the teacher, before the others", &learning->clone.play);
  lists_put(lists, "policy", "after every rollout of the teacher", &learning->clone.update);
  return true;
}

static void add_play(struct policy_training *training, struct schedule *schedule) {
  rollout_add_play(&((struct learning *)training)->rollout, schedule, NULL);
}

const struct policy_trainer policy_trainer_l2s = {
    .task = &task_policy,
    .network = &network_policy,
    .section = "learn",
    .bytes = sizeof(struct learning),
    .best = true,
    .lower = "learn.scans",
    .play = "for every rollout",
    .update = "after every rollout",
    .validate = "one scan of every validation slice, by the most probable actions",
    .check = check,
    .plan = plan,
    .rows = rows_of,
    .open_policy = open_policy,
    .describe = describe,
    .lists = add_lists,
    .open = open,
    .add_play = add_play,
    .add_update = learn_add_update};

const struct method method_l2s = {
    .name = "l2s",
    .doc = "a policy that chooses one action after the other, rewarded once a scan",
    .paper = "L2SR, doi:10.1088/1361-6420/ad3b34; A2C, arXiv:1602.01783; PPO, "
             "arXiv:1707.06347",
    .networks = "policy with a critic; a U-Net first",
    .network = &network_policy,
    .systems = learn_systems,
    .policy = &policy_trainer_l2s};

const struct method method_l2sr = {.name = "l2sr",
                                   .doc =
                                       "policy and reconstructor in turn, each on what the other has become",
                                   .paper = "L2SR, doi:10.1088/1361-6420/ad3b34",
                                   .networks = "policy with a critic, U-Net",
                                   .network = &network_policy,
                                   .policy = &policy_trainer_l2s,
                                   .alternates = true};
