/* DDQN as a task: options, data, opening, a unit, and what its log tells. */
#include "systems/replay/ddqn.h"

#include "engine/base/log.h"
#include "engine/base/round.h"
#include "systems/methods/method.h"
#include "systems/methods/rollout.h"
#include "systems/sampling/geometry.h"

#include <math.h>
#include <string.h>

/* ---- options --------------------------------------------------------------------------------------------
 */

static struct replay replay_of(const struct options *options, const struct acquisition *acquisition) {
  struct replay replay = {.scans = options->ddqn.scans, .steps = acquisition->budget};
  replay.blocks = options->ddqn.replay / (replay.scans * replay.steps);
  replay.columns = replay.scans * replay.blocks;
  replay.rows = replay.columns * replay.steps;
  return replay;
}

static bool check_replay(const struct options *options, const struct acquisition *acquisition,
                         struct error *error) {
  const struct replay replay = replay_of(options, acquisition);
  size_t least = 2 * replay.scans * replay.steps, others = replay.rows - replay.scans * replay.steps;
  if (replay.blocks < 2)
    return fail_usage(
        error,
        "ddqn.replay is %u steps; it must hold those of two scans for each of the ddqn.scans %u, of %zu "
        "actions: raise it to %zu, or lower ddqn.scans",
        options->ddqn.replay, options->ddqn.scans, replay.steps, least);
  if (options->ddqn.first > others || options->ddqn.batch > replay.rows)
    return fail_usage(
        error,
        "ddqn.first is %u and ddqn.batch %u; of %zu steps in the replay, %zu may be drawn at any time: "
        "lower them, or raise ddqn.replay",
        options->ddqn.first, options->ddqn.batch, replay.rows, others);
  return true;
}

/* Scans key their draws by 32 bits. */
static bool check_numbers(const struct options *options, const struct acquisition *acquisition,
                          struct error *error) {
  uint64_t scans = options->ddqn.scans, each = scans * acquisition->budget;
  if (divide_up(options->ddqn.steps, each) * scans <= UINT32_MAX) return true;
  return fail_usage(error, "ddqn.steps %u are more scans than have numbers; lower it", options->ddqn.steps);
}

static bool check_epsilon(const struct options *options, struct error *error) {
  if (options->ddqn.epsilon_floor <= options->ddqn.epsilon) return true;
  return fail_usage(error,
                    "ddqn.epsilon is %g and ddqn.epsilon_floor %g; epsilon only falls: lower the floor",
                    options->ddqn.epsilon, options->ddqn.epsilon_floor);
}

static bool check_start(const struct options *options, struct error *error) {
  if (!*options->learn.start || !ddqn_is_specific_to_data(options)) return true;
  return fail_usage(error,
                    "learn.start names a policy, and ddqn.specific is data_set, whose network is none; leave "
                    "it empty, or set ddqn.specific to subject");
}

static bool check_options(const struct task_check *check, struct error *error) {
  const struct options *options = check->options;
  const struct acquisition *acquisition = &check->acquisition;
  const struct policy_setup setup = ddqn_setup(check->device, NULL, options);
  return network_check(ddqn_looks_at_reconstructions(options) ? &network_pgmri : &network_policy, options,
                       error) &&
         check_replay(options, acquisition, error) && check_numbers(options, acquisition, error) &&
         check_epsilon(options, error) && check_start(options, error) &&
         (ddqn_is_specific_to_data(options) || policy_check(&setup, error));
}

/* It is rewarded in every step. */
static void set(struct options *options) {
  options->reward.form = REWARD_DENSE;
}

static bool fits(struct device *device, const struct options *options, const char *path,
                 struct error *error) {
  return policy_task_fits(device, options, ddqn_looks_at_reconstructions(options), path, error);
}

/* ---- data -----------------------------------------------------------------------------------------------
 */

/* Validation scans of a data-set-specific network take its greedy mask, in its order. */
static bool fill_greedy(const struct options *options, const struct acquisition *acquisition, uint32_t *table,
                        struct error *error) {
  (void)options, (void)error;
  for (size_t i = 0; i < acquisition->shape.actions; i++) table[i] = (uint32_t)i;
  return true;
}

static const struct sampler sampler_greedy = {.name = "ddqn",
                                              .doc = "the actions of a mask, in the order of their values",
                                              .kind = SAMPLER_NEXT,
                                              .geometries = 1u << GEOMETRY_LINES | 1u << GEOMETRY_SPOKES |
                                                            1u << GEOMETRY_PAIRS,
                                              .fill = fill_greedy};

static const struct sampler *sampler_of(const struct training *training) {
  return ddqn_is_specific_to_data(training->options) ? &sampler_greedy : &sampler_policy;
}

static unsigned deciders_of(const struct options *options) {
  if (ddqn_is_specific_to_data(options)) return 0;
  return DECIDES_POLICY | (ddqn_looks_at_reconstructions(options) ? DECIDES_DENSE : 0u);
}

static size_t pass_of(const struct options *options) {
  return options->ddqn.batch < options->policy.batch ? options->ddqn.batch : options->policy.batch;
}

static const component_set columns = SET(ROLLOUT_order) | SET(ROLLOUT_priority);

static struct simulation_plan plan(const struct training *training, const struct split *split,
                                   size_t slices) {
  const struct options *options = &split->options;
  const struct replay replay = replay_of(options, &training->acquisition);
  bool validates = split == &training->validation;
  size_t pass = pass_of(options), envs = replay.scans > pass ? replay.scans : pass;
  if (validates) envs = options->world.envs < slices ? options->world.envs : slices;
  size_t rows = validates            ? envs * (training->acquisition.budget + 1)
                : replay.rows > envs ? replay.rows
                                     : envs;
  struct simulation_plan plan = rollout_plan(options, slices, envs, rows);
  plan.deciders = deciders_of(options);
  plan.images = validates && !ddqn_looks_at_reconstructions(options) ? IMAGES_SCORED : IMAGES_EVERY_STEP;
  plan.columns = validates ? 0 : columns;
  plan.together = validates ? envs : 0;
  plan.network = true;
  return plan;
}

static bool describe(struct training *training, struct error *error) {
  struct ddqn *ddqn = ddqn_of(training);
  ddqn->replay = replay_of(training->options, &training->acquisition);
  ddqn->batch = training->options->ddqn.batch;
  ddqn->most = pass_of(training->options);
  return training_describe_splits(training, sampler_of(training), error);
}

static bool load(struct training *training, struct split *split, struct error *error) {
  return simulation_set(&split->simulation, &training->acquisition, sampler_of(training), error);
}

/* ---- opening --------------------------------------------------------------------------------------------
 */

static uint64_t whole_scans(const struct training *training, uint64_t units) {
  size_t steps = ddqn_of(training)->replay.steps;
  return divide_up(units, steps) * steps;
}

/* Validations come between scans: a greedy mask is found by the same environments. */
static void count_units(struct training *training) {
  const struct options *options = training->options;
  size_t scans = ddqn_of(training)->replay.scans;
  training->wanted = whole_scans(training, divide_up(options->ddqn.steps, scans));
  training->each = whole_scans(training, options->ddqn.validate_every);
  training->log_every = options->ddqn.log_every;
  training->save_every = options->ddqn.save_every;
  training->work = (double)scans;
  training->event_each = scans;
}

static bool open_values(struct training *training, struct error *error) {
  struct ddqn *ddqn = ddqn_of(training);
  if (!ddqn_is_specific_to_data(training->options) && training->policy.batch < ddqn->most)
    ddqn->most = training->policy.batch;
  if (!(ddqn->room = arena_try(training->arena, training->acquisition.shape.actions)))
    return fail_memory(error, "no host memory for a mask");
  if (!policy_task_room(training, ddqn->policy.rows, "ddqn.batch or ddqn.scans", error) ||
      !policy_task_count_choices(training, error))
    return false;
  ddqn_clear_replay(training);
  count_units(training);
  return true;
}

/* ---- a unit ---------------------------------------------------------------------------------------------
 */

static void update(struct training *training) {
  struct ddqn *ddqn = ddqn_of(training);
  ddqn->update = training->optimiser.step;
  training_run_list(training, DDQN_TARGETS);
  training_run_list(training, DDQN_UPDATE);
  if (training->optimiser.step % training->options->ddqn.target_every == 0)
    training_run_list(training, DDQN_COPY);
}

static void step(struct training *training) {
  const struct options *options = training->options;
  struct simulation *simulation = &training->train.simulation;
  const struct replay *replay = &ddqn_of(training)->replay;
  struct replay_place place = replay_place(replay, training->done);
  simulation->first_scan = (uint32_t)(place.episode * replay->scans);
  simulation->taken = (uint32_t)place.step;
  world_set_rows(simulation->world, TABLE_ENV, replay->scans);
  training->device->phase = "rollout";
  training_run_list(training, place.step ? DDQN_GO_ON : DDQN_BEGIN);
  training_run_list(training, DDQN_PLAY);
  training->device->phase = "update";
  bool full = replay_valid(replay, training->done + 1, options->ddqn.ahead).count >= options->ddqn.first;
  for (uint32_t i = 0; full && i < options->ddqn.updates; i++) update(training);
  training->device->phase = "";
}

static const struct system
    save_unit = {.name = "save_unit",
                 .doc = "rewards of the last action and losses of the last update, for the log",
                 .reads = SET(ROLLOUT_reward) | SET(ROLLOUT_terms)},
    save_action = {
        .name = "save_action", .doc = "the action that the greedy mask takes next", .reads = SET(ENV_action)};

enum { LOG_UNIT, LOG_ACTION };

static void fill_log(struct training *training, struct schedule *schedule) {
  schedule_add(schedule, &save_unit, NULL);
  if (ddqn_is_specific_to_data(training->options)) schedule_add(schedule, &save_action, NULL);
}

static bool log_unit(struct training *training, double values[TRAINING_VALUES], struct error *error) {
  const struct ddqn *ddqn = ddqn_of(training);
  const struct replay *replay = &ddqn->replay;
  struct world *world = training_world(training);
  bool updated = training->optimiser.step;
  struct world_use before = world_enter(world, training_host(training, DDQN_LOG, LOG_UNIT));
  world_read(world, ROLLOUT_reward, replay_place(replay, training->done - 1).row, replay->scans,
             ddqn->policy.rewards);
  world_read(world, ROLLOUT_terms, 0, ddqn->batch, ddqn->policy.terms);
  world_leave(world, before);
  if (!device_finish(training->device, error)) return false;
  for (size_t i = 0; i < replay->scans; i++)
    values[DDQN_reward] += ddqn->policy.rewards[i] / (double)replay->scans;
  for (size_t i = 0; i < ddqn->batch; i++)
    for (int k = 0; k < 3; k++)
      values[DDQN_loss + k] += ddqn->policy.terms[4 * i + (size_t)k] / (double)ddqn->batch;
  for (int k = 0; k < 4 && !updated; k++) values[DDQN_loss + k] = NAN;
  values[DDQN_epsilon] = ddqn_epsilon(training->options, training->done - 1);
  values[DDQN_stored] = (double)replay_valid(replay, training->done, training->options->ddqn.ahead).count;
  return !updated || optimise_norm(&training->optimiser, &values[DDQN_gradient_norm], error);
}

/* ---- validation -----------------------------------------------------------------------------------------
 */

static const struct system load_ranks = {
    .name = "load_ranks", .doc = "the order of the greedy mask", .writes = SET(SCENE_weight), .loads = true};

static void fill_ranks(struct training *training, struct schedule *schedule) {
  if (ddqn_is_specific_to_data(training->options)) schedule_add(schedule, &load_ranks, NULL);
}

/* Plays one scan by the most valuable actions: no slice tells it from others. */
static bool find_mask(struct training *training, uint32_t *rank, struct error *error) {
  struct ddqn *ddqn = ddqn_of(training);
  struct simulation *simulation = &training->train.simulation;
  uint32_t action, actions = training->acquisition.shape.actions;
  bool good = true;
  acquisition_initial(&training->acquisition, ddqn->mask = ddqn->room);
  for (uint32_t i = 0; i < actions; i++) rank[i] = actions + i;
  simulation->first_scan = 0;
  world_set_rows(simulation->world, TABLE_ENV, 1);
  training_run_list(training, DDQN_START);
  for (uint32_t i = 0; good && i < training->acquisition.budget; i++) {
    training_run_list(training, DDQN_GREEDY);
    world_get(simulation->world, training_host(training, DDQN_LOG, LOG_ACTION), ENV_action, 0, 1, &action);
    good = device_finish(training->device, error);
    if (!good || action >= actions) continue;
    rank[action] = i;
    ddqn->mask[action] = 1;
  }
  return good;
}

static bool validate(struct training *training, double values[TRAINING_VALUES], struct error *error) {
  struct arena *arena = arena_open();
  uint32_t *rank = ARENA_NEW(arena, uint32_t, training->acquisition.shape.actions);
  bool good = !ddqn_is_specific_to_data(training->options) || find_mask(training, rank, error);
  if (good && ddqn_is_specific_to_data(training->options))
    world_put(training->validation.simulation.world, &load_ranks, SCENE_weight, 0, 1, rank);
  good = good && policy_task_validate(training, values, error);
  arena_close(arena);
  return good;
}

/* ---- the row --------------------------------------------------------------------------------------------
 */

static const char *network_of_options(const struct options *options) {
  return ddqn_is_specific_to_data(options)        ? "ddqn"
         : ddqn_looks_at_reconstructions(options) ? "pgmri"
                                                  : "policy";
}

const struct task task_ddqn = {
    POLICY_TASK,
    .network = "policy",
    .network_by = network_of_options,
    .unit = "action",
    .worked = "steps",
    .reads = KEYS(POLICY_READS, "ddqn."),
    .gamma = "ddqn",
    .more = "ddqn.steps",
    .advice = "lower ddqn.rate or ddqn.clip",
    .alone = true,
    .bytes = sizeof(struct ddqn),
    .networks = {&ddqn_learns, &network_fixed_reconstructor, &ddqn_target},
    .lists = {[DDQN_OPENED] = {"opened", "when the training is opened", .host = true, .rows = ddqn_opened_rows},
              [DDQN_BEGIN] = {"begin", "before the first action of scans", .fill = ddqn_fill_begin},
              [DDQN_GO_ON] = {"go on", "before every other action of scans", .unit = true,
                              .fill = ddqn_fill_go_on},
              [DDQN_PLAY] = {"play", "for every action of the scans side by side", .unit = true,
                             .fill = ddqn_fill_play},
              [DDQN_TARGETS] = {"targets", "before every update", .unit = true, .fill = ddqn_fill_targets},
              [DDQN_UPDATE] = {"update",
                               "once the replay holds ddqn.first steps, ddqn.updates times an action",
                               .unit = true, .fill = ddqn_fill_update},
              [DDQN_COPY] = {"copy", "at the start, and after every ddqn.target_every updates",
                             .fill = ddqn_fill_copy},
              [DDQN_START] = {"greedy begin", "before the greedy mask is found", .fill = ddqn_fill_start},
              [DDQN_GREEDY] = {"greedy", "for every action of the greedy mask, before a validation",
                               .fill = ddqn_fill_greedy},
              [DDQN_LOG] = {"log", "for every line of the log", .host = true, .fill = fill_log},
              [DDQN_RANKS] = {"ranks", "before the scans of a validation", .validates = true, .host = true, .fill = fill_ranks},
              POLICY_LISTS("one scan of every validation slice, by the most valuable actions",
                           split_scores_and_choices)},
    .train = {"look", LOG_VALUES(DDQN_VALUES), (1 << DDQN_loss) - 1, ~0u << DDQN_loss},
    .select = SELECT_HIGHEST,
    .curves = CURVES({"reward of an action", "training", .logged = true, .value = DDQN_reward},
                     {"%s", "validation", .validation = true},
                     {"error of a value", "training", .logged = true, .value = DDQN_error}),
    .set = set,
    .plan = plan,
    .check = check_options,
    .fits = fits,
    .describe = describe,
    .load = load,
    .open = open_values,
    .step = step,
    .log = log_unit,
    .validate = validate,
    .picture = policy_task_picture};

const struct method method_ddqn = {
    .name = "ddqn",
    .doc = "what every action is worth, learned from a replay of scans; of the scan, or the same for all",
    .paper =
        "Pineda et al. 2020, arXiv:2007.10469; double Q-learning, van Hasselt et al. 2016, arXiv:1509.06461; "
        "priorities, Schaul et al. 2016, arXiv:1511.05952",
    .networks = "policy, or layers of numbers of actions; its earlier state; a U-Net first",
    .beside = {&network_policy},
    .systems = ddqn_systems,
    .stages = {&task_reconstructor, &task_ddqn}};
