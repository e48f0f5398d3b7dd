/* L2S: a policy learns by reinforcement (PROTOCOL 1.7): rollouts of all scans, generalised advantages, A2C or
 * PPO, with a reconstructor that only scores. Validation scans take the policy's most probable actions; the
 * highest mean of the scene's metric is the best. */
#include "systems/methods/learn.h"

#include "engine/base/log.h"
#include "engine/base/round.h"
#include "systems/methods/method.h"
#include "systems/networks/checkpoint.h"

#include <math.h>

/* ---- data ---------------------------------------------------------------------------------------------- */

static size_t rows_of(const struct options *options, const struct acquisition *acquisition) {
  return (size_t)acquisition->budget * options->learn.scans;
}

/* Training needs room for the passes of its updates, validation for its scans. */
static struct simulation_plan plan_training(const struct training *training, size_t slices) {
  const struct options *options = training->options;
  size_t launch = options->world.envs, scans = options->learn.scans;
  size_t rows = rows_of(options, &training->acquisition);
  size_t pass = rows < options->policy.batch ? rows : options->policy.batch;
  if (launch > scans) launch = scans;
  struct simulation_plan plan = rollout_plan(options, slices, launch > pass ? launch : pass, rows);
  plan.together = scans / options->learn.group;
  plan.network = true;
  clone_plan(options, &plan);
  return plan;
}

static struct simulation_plan plan(const struct training *training, const struct split *split,
                                   size_t slices) {
  size_t launch = training->options->world.envs, envs = slices < launch ? slices : launch;
  if (split == &training->train) return plan_training(training, slices);
  struct simulation_plan plan =
      rollout_plan(training->options, slices, envs, slices * (training->acquisition.budget + 1));
  plan.together = plan.envs;
  plan.network = true;
  return plan;
}

static bool normalises(const struct options *options) {
  bool ppo = learn_is_ppo(options);
  return options->learn.normalise == NORMALISE_AUTO ? ppo : options->learn.normalise == NORMALISE_ON;
}

static bool describe(struct training *training, struct error *error) {
  const struct options *options = training->options;
  struct rollout *rollout = &learning_of(training)->rollout;
  *rollout = (struct rollout){.simulation = &training->train.simulation,
                              .scans = options->learn.scans,
                              .launch = options->world.envs,
                              .gamma = options->learn.gamma,
                              .lambda = options->learn.lambda,
                              .keeps = options->train.keep_activations == KEEP_ALWAYS,
                              .normalises = normalises(options),
                              .baseline = (enum learn_baseline)options->learn.baseline};
  learn_set_loss(training);
  if (!training_describe_splits(training, &sampler_policy, error)) return false;
  rollout_describe(rollout);
  return true;
}

/* What a device would tell. */
static void note(struct training *training, struct lists *lists, const char *stage, struct arena *arena) {
  const struct options *options = training->options;
  training_note_scans(training, lists, stage, arena);
  if (options->learn.algorithm == LEARN_A2C && options->train.keep_activations == KEEP_AUTO)
    lists_note(lists, "assumed",
               "the device keeps no activations of a rollout, as it may where it has matrix instructions and memory "
               "(train.keep_activations is auto; always shows those lists)");
}

/* ---- the policy ---------------------------------------------------------------------------------------- */

static const size_t libraries = (size_t)64 << 20; /* bytes that they may take */

/* With all steps of a rollout in one pass, so that their activations may stay (train.keep_activations). */
static bool open_keeping(struct training *training, struct policy_setup setup, struct error *error) {
  const struct options *options = training->options;
  size_t rows = policy_learning_of(training)->rows;
  if (options->learn.algorithm != LEARN_A2C)
    return fail(error, "learn.algorithm ppo updates more than once a rollout; a2c keeps them");
  if (device_shards(training->device).all > 1)
    return fail(error, "ranks take scans while they play and steps while they learn; set train.shards to 1, on one rank");
  if (!rollout_can_keep(training->device, options->learn.scans, options->world.envs))
    return fail(error,
                "they are of one launch of an even number of scans on a device with matrix instructions; "
                "learn.scans is %u, world.envs %u, the device %s",
                options->learn.scans, options->world.envs, training->device->facts.name);
  setup.batch = rows;
  setup.whole = true;
  if (!policy_open(&training->policy, &setup, error)) return false;
  if (training->policy.blocks && training->policy.batch == rows &&
      network_spare(&training->policy.network) >= libraries)
    return true;
  policy_close(&training->policy);
  return fail(error, "%zu steps of a rollout leave too little memory on %s; lower learn.scans", rows,
              training->device->facts.name);
}

static bool try_keeping(struct training *training, const struct policy_setup *setup, struct error *error) {
  enum train_keep keep = (enum train_keep)training->options->train.keep_activations;
  struct error reason;
  if (keep != KEEP_NEVER && open_keeping(training, *setup, &reason)) return true;
  if (keep == KEEP_ALWAYS)
    return fail(error, "train.keep_activations is always, and a rollout's cannot be kept: %.900s",
                reason.text);
  if (keep == KEEP_AUTO) log_detail("activations of a rollout are not kept: %s", reason.text);
  return policy_open(&training->policy, setup, error);
}

static bool open_policy(struct training *training, struct error *error) {
  training->validation.simulation.best = true;
  return policy_task_open(training, rows_of(training->options, &training->acquisition), false, try_keeping, error);
}

static struct optimiser_setup optimiser(const struct options *options) {
  bool ppo = learn_is_ppo(options);
  bool adam = options->learn.optimiser == LEARN_AUTO ? ppo : options->learn.optimiser == LEARN_ADAM;
  struct optimiser_setup setup =
      optimise_defaults(adam ? OPTIMISER_ADAM : OPTIMISER_RMSPROP, learn_scaled_rate(options));
  setup.epsilon = options->learn.epsilon;
  setup.clip = options->learn.clip;
  return setup;
}

static bool fits(struct device *device, const struct options *options, const char *path,
                 struct error *error) {
  return policy_task_fits(device, options, false, path, error);
}

static const struct task_network policy = {.open = open_policy, .optimiser = optimiser, POLICY_NETWORK};

/* ---- a unit --------------------------------------------------------------------------------------------- */

void learn_step(struct training *training) {
  struct learning *learning = training->own;
  struct rollout *rollout = &learning->rollout;
  bool taught = training->done < learning->taught;
  rollout_play(rollout, &training->list[taught ? LEARN_CLONE : LEARN_PLAY], learn_next_scan(training));
  rollout->most = learn_is_ppo(training->options) ? training->options->learn.rows : rollout->rows;
  training->device->phase = "update";
  schedule_run(&training->list[taught ? LEARN_IMITATE : LEARN_UPDATE], training->train.simulation.world);
  training->device->phase = "";
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
static bool check_numbers(const struct options *options, uint32_t budget, uint32_t rounds,
                          struct error *error) {
  uint64_t rollouts = rollouts_of(options, budget, rounds), epochs = options->learn.epochs;
  uint64_t each =
      learn_is_ppo(options) && epochs > options->learn.scans ? epochs : options->learn.scans;
  if (rollouts <= UINT32_MAX / each) return true;
  return fail_usage(error,
                    "%llu rollouts in %u rounds are more than the %llu whose scans and passes have numbers; "
                    "lower learn.steps, learn.clone_steps, alternate.steps or alternate.rounds",
                    (unsigned long long)rollouts, rounds, (unsigned long long)(UINT32_MAX / each));
}

static bool check_options(const struct task_check *check, struct error *error) {
  const struct options *options = check->options;
  struct policy_setup setup = policy_task_setup(check->device, NULL, options, SIZE_MAX, false);
  return network_check(&network_policy, options, error) && baseline_check(options, error) &&
         clone_check(check, error) && check_numbers(options, check->acquisition.budget, check->rounds, error) &&
         policy_check(&setup, error);
}

/* ---- opening ------------------------------------------------------------------------------------------- */

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

static void count_rollouts(struct training *training) {
  const struct options *options = training->options;
  struct learning *learning = learning_of(training);
  size_t rows = learning->rollout.rows;
  training->wanted = learning->taught + divide_up(training->config.steps, rows);
  training->each = divide_up(training->wanted, options->learn.validations);
  training->log_every = options->learn.log_every;
  training->save_every = options->learn.save_every;
  training->work = (double)rows;
  /* over the environment-steps of all rounds */
  uint64_t before = rollouts_of(options, training->acquisition.budget, training->config.round);
  learning->first_scan = (uint32_t)(before * options->learn.scans);
  training->event_before = (uint64_t)learning->first_scan * learning->rollout.steps;
  training->event_each = rows;
}

static bool open_state(struct training *training, struct error *error) {
  struct learning *learning = learning_of(training);
  learning->rollout.keeps = training->policy.setup.whole;
  rollout_open(&learning->rollout);
  if (!policy_task_room(training, learning->rollout.rows, "learn.scans", error) ||
      !rollout_copy_open(&learning->copy, &learning->rollout, learning->policy.rewards, training->arena,
                         error) ||
      !policy_task_count_choices(training, error) || !clone_open(training, error))
    return false;
  learning->rollout.words = learning->policy.order; /* an update shuffles it anew */
  if (!training->config.round) warn_of_schedules(training->options);
  count_rollouts(training);
  return true;
}

/* ---- files --------------------------------------------------------------------------------------------- */

static bool write_state(const struct training *training, struct store *store, struct error *error) {
  return store_put_number(store, "first_scan", learning_of(training)->first_scan, error);
}

static bool read_state(struct training *training, struct store *store, struct error *error) {
  uint32_t expected = learning_of(training)->first_scan;
  double scan;
  if (!checkpoint_whole(store, "first_scan", UINT32_MAX, &scan, error)) return false;
  return scan == expected ||
         fail(error,
              "it has first_scan %.0f; expected scans from %u on: it is of another training or damaged", scan,
              expected);
}

/* ---- the row ------------------------------------------------------------------------------------------- */

#define OF_PPO "learn.ratio", "learn.epochs", "learn.rows"
#define OF_CLONE "learn.clone_steps", "learn.clone_rate"

/* A teacher's keys count where there is one, and PPO's for PPO. */
static const char *const *reads_beside(const struct options *options) {
  static const char *const keys[2][3][8] = {
      [LEARN_A2C] = {[CLONE_ORACLE] = {OF_CLONE, "sampler.candidates"}, [CLONE_LBCS] = {OF_CLONE, "sampler.mask"}},
      [LEARN_PPO] = {[CLONE_NONE] = {OF_PPO},
                     [CLONE_ORACLE] = {OF_PPO, OF_CLONE, "sampler.candidates"},
                     [CLONE_LBCS] = {OF_PPO, OF_CLONE, "sampler.mask"}}};
  return keys[options->learn.algorithm][options->learn.clone];
}

static void fill_play(struct training *training, struct schedule *schedule) {
  rollout_add_play(&learning_of(training)->rollout, schedule, NULL);
}

const struct task task_policy = {
    POLICY_TASK,
    .network = "policy",
    .unit = "rollout",
    .worked = "steps",
    .reads = KEYS(POLICY_READS, "reward.", "learn.algorithm", "learn.steps", "learn.scans", "learn.group",
                  "learn.baseline", "learn.clone", "learn.optimiser", "learn.rate", "learn.rate_schedule",
                  "learn.rate_floor", "learn.scaling", "learn.epsilon", "learn.gamma", "learn.lambda",
                  "learn.normalise", "learn.entropy", "learn.entropy_schedule", "learn.entropy_floor", "learn.value",
                  "learn.clip", "learn.validations", "learn.log_every"),
    .reads_beside = reads_beside,
    .gamma = "learn",
    .more = "learn.steps or alternate.steps",
    .advice = "lower learn.rate or learn.clip (0 is no limit)",
    .bytes = sizeof(struct learning),
    .networks = {&policy, &network_fixed_reconstructor},
    .lists = {[LEARN_OPENED] = {"opened", "when the training is opened", .host = true,
                                .rows = SYSTEMS(&system_order_rows, &system_load_end), .fill = clone_fill_opened},
              [LEARN_CLONE] = {"clone", "for every rollout of the teacher, before the others",
                               .fill = clone_fill_play},
              [LEARN_IMITATE] = {"imitate", "after every rollout of the teacher", .fill = clone_fill_update},
              [LEARN_PLAY] = {"play", "for every rollout", .unit = true, .fill = fill_play},
              [LEARN_UPDATE] = {"update", "after every rollout", .unit = true, .fill = learn_fill_update},
              [LEARN_LOG] = {"log", "for every line of the log", .host = true, .rows = learn_log_rows},
              POLICY_LISTS("one scan of every validation slice, by the most probable actions",
                           split_scores_and_choices)},
    .train = {"look", LOG_VALUES(LEARN_VALUES), (1 << LEARN_explained) - 1, ~0u << LEARN_explained},
    .select = SELECT_HIGHEST,
    .curves = CURVES({"reward of a scan", "training", .logged = true, .value = LEARN_reward},
                     {"%s", "validation", .validation = true},
                     {"entropy of a choice", "training", .logged = true, .value = LEARN_entropy}),
    .plan = plan,
    .check = check_options,
    .fits = fits,
    .describe = describe,
    .note = note,
    .load = policy_task_load,
    .open = open_state,
    .step = learn_step,
    .log = learn_log,
    .validate = policy_task_validate,
    .picture = policy_task_picture,
    .write = write_state,
    .read = read_state};

const struct method method_l2s = {
    .name = "l2s",
    .doc = "a policy that chooses one action after the other, rewarded once a scan",
    .paper = "L2SR, doi:10.1088/1361-6420/ad3b34; A2C, arXiv:1602.01783; PPO, "
             "arXiv:1707.06347",
    .networks = "policy with a critic; a U-Net first",
    .beside = {&network_policy},
    .systems = learn_systems,
    .stages = {&task_reconstructor, &task_policy}};
