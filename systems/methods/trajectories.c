#include "systems/methods/trajectories.h"

#include "engine/base/round.h"
#include "systems/methods/policy_task.h"
#include "systems/scan/slice_cache.h"
#include "systems/scan/systems.h"

/* A draw's gain over the mean of its slice: some thousandths to some hundredths of SSIM. */
static const double usual_gain = 0.01;

/* ---- opening ------------------------------------------------------------------------------------------- */

static size_t images_of(size_t slices, size_t draws, size_t steps, bool greedy) {
  return slices + (steps - 1) * (greedy ? slices : slices * draws);
}

struct simulation_plan trajectories_plan(const struct options *options, size_t slices, size_t most,
                                         size_t draws, size_t steps) {
  bool greedy = options->pgmri.estimator == PGMRI_GREEDY;
  return (struct simulation_plan){.slices = slices,
                                  .envs = most * draws,
                                  .rollout_steps = steps,
                                  .images = IMAGES_EVERY_STEP,
                                  .metrics = metric_list[options->reward.metric].name,
                                  .record = true,
                                  .deciders = DECIDES_POLICY | DECIDES_DENSE,
                                  .draws = draws,
                                  .greedy = greedy,
                                  .states = images_of(most, draws, steps, greedy),
                                  .columns = TRAJECTORIES_COLUMNS};
}

struct simulation_plan trajectories_validation_plan(const struct options *options, size_t slices,
                                                    size_t envs, size_t steps) {
  struct simulation_plan plan = trajectories_plan(options, slices, envs, 1, steps);
  plan.draws = plan.states = 0;
  plan.columns = 0;
  return plan;
}

size_t trajectories_states(const struct trajectories *trajectories) {
  const struct simulation_plan *plan = &trajectories->simulation->plan;
  return images_of(1, plan->draws, trajectories->steps, plan->greedy);
}

size_t trajectories_images(const struct trajectories *trajectories) {
  return trajectories->slices * trajectories_states(trajectories);
}

size_t trajectories_held(const struct device *device, size_t slices) {
  if (!device) return slices;
  const struct shards shards = device_shards(device);
  size_t held = divide_up(slices, shards.all) * shards_held(&shards);
  return held < slices ? held : slices;
}

void trajectories_open(struct trajectories *trajectories) {
  struct simulation *simulation = trajectories->simulation;
  const struct options *options = simulation->options;
  const struct world *world = simulation->world;
  size_t draws = simulation->plan.draws;
  trajectories->steps = simulation->acquisition.budget;
  trajectories->most = (size_t)options->pgmri.batch * options->pgmri.accumulation;
  REQUIRE((simulation->plan.deciders & DECIDES_DENSE) && simulation->policy,
          "the simulation has no policy that looks at images");
  REQUIRE(draws > 1 || !options->pgmri.baseline, "one draw has no baseline");
  REQUIRE(simulation->plan.greedy || options->pgmri.baseline, "the nongreedy estimate is with its baseline");
  size_t held = trajectories_held(world_device(world), trajectories->most);
  REQUIRE(held * draws <= world_capacity(world, TABLE_ENV) &&
              held * draws * trajectories->steps <= world_capacity(world, TABLE_ROLLOUT),
          "%zu slices with %zu draws; there are %zu environments", held, draws,
          world_capacity(world, TABLE_ENV));
  simulation->trajectories.minibatch = options->pgmri.batch;
}

/* ---- playing ------------------------------------------------------------------------------------------- */

/* trajectories_add_play says of which rewards. Greedy: a step's own gain, which is a discount of 0. */
static void run_advantage(struct world *world, void *context) {
  const struct trajectories *trajectories = context;
  const struct options *options = trajectories->simulation->options;
  const struct simulation_plan *plan = &trajectories->simulation->plan;
  unsigned reward = options->pgmri.baseline ? ROLLOUT_centred : ROLLOUT_reward;
  kernel_run(world_kernels(world), "pgmri_advantage", world_rows(world, TABLE_ENV),
             ARGS(arg_unnamed(world_in(world, reward)), world_out(world, ROLLOUT_advantage),
                  arg_u32((uint32_t)trajectories->steps), arg_u32((uint32_t)trajectories->slices),
                  arg_u32((uint32_t)trajectories->before), arg_u32((uint32_t)trajectories->all), arg_u32(options->pgmri.batch), arg_u32(options->pgmri.accumulation),
                  arg_f32(plan->greedy ? 0 : (float)options->pgmri.gamma),
                  arg_u32((uint32_t)(plan->draws - options->pgmri.baseline))));
}

static const struct system advantage = {
    .name = "advantage_of_draws",
    .doc = "what every draw was worth beside the others of its slice (Kool et al. 2019, Bakker et al. 2020)",
    .writes = SET(ROLLOUT_advantage),
    .kernels = {"pgmri_advantage"},
    .run = run_advantage};

void trajectories_add_play(struct trajectories *trajectories, struct schedule *schedule) {
  bool baseline = trajectories->simulation->options->pgmri.baseline;
  slice_cache_add_bring(trajectories->simulation, schedule);
  simulation_add_restart(trajectories->simulation, schedule);
  simulation_add_scan(trajectories->simulation, schedule, NULL);
  if (baseline) schedule_add(schedule, &system_centre_rewards, &trajectories->group);
  schedule_add(schedule, &advantage, trajectories)->reads |= SET(baseline ? ROLLOUT_centred : ROLLOUT_reward);
}

void trajectories_play(struct trajectories *trajectories, const struct schedule *play, uint32_t first, size_t slices) {
  struct simulation *simulation = trajectories->simulation;
  struct trajectory_plan *plan = &simulation->trajectories;
  const struct shards shards = device_shards(world_device(simulation->world));
  REQUIRE(slices && slices <= trajectories->most, "%zu slices; an update takes %zu", slices,
          trajectories->most);
  size_t own = shards_rows(&shards, slices, &plan->before) - plan->before;
  plan->slices = own, plan->all = slices, plan->each = divide_up(slices, shards.all);
  trajectories->slices = own, trajectories->before = plan->before, trajectories->all = slices;
  if (!own) return;
  trajectories->group = (struct scan_group){.steps = trajectories->steps,
                                            .scans = own * simulation->plan.draws,
                                            .members = simulation->plan.draws,
                                            .stride = own,
                                            .scale = 1};
  simulation->rollout_row = 0;
  simulation->rows = (struct rollout_rows){.stride = own * simulation->plan.draws};
  simulation_number(simulation, first + (uint32_t)plan->before, own);
  schedule_run(play, simulation->world);
}

/* ---- learning ------------------------------------------------------------------------------------------ */

static bool next_pass(struct world *world, void *context, size_t turn) {
  struct trajectories *trajectories = context;
  struct simulation *simulation = trajectories->simulation;
  const struct shards shards = device_shards(world_device(world));
  struct shard_pass pass;
  size_t states = trajectories_states(trajectories), each = simulation->trajectories.each * states;
  if (!shards_take_each(&shards, &pass, turn, trajectories->all * states, each, simulation->policy->batch)) return false;
  graph_set_shards(simulation->policy->graph, pass.shard, pass.each);
  simulation->pass = (struct pass){.first = pass.first - trajectories->before * states, .images = pass.rows};
  return true;
}

static const struct system repeat_passes = {
    .name = "passes",
    .doc = "states that the policy takes at a time",
    .covers = TABLE_BIT(TABLE_STATE),
    .next = next_pass};

static void run_gather(struct world *world, void *context) {
  const struct pass *pass = &((const struct simulation *)context)->pass;
  world_copy(world, STATE_observation, pass->first, BATCH_observation, 0, pass->images);
  world_copy(world, STATE_taken, pass->first, BATCH_taken, 0, pass->images);
}

static const struct system gather = {.name = "gather_states",
                                     .doc = "what the policy saw in these states",
                                     .reads = SET(STATE_observation) | SET(STATE_taken),
                                     .writes = SET(BATCH_observation) | SET(BATCH_taken),
                                     .run = run_gather};

static void run_loss(struct world *world, void *context) {
  const struct trajectories *trajectories = context;
  const struct simulation *simulation = trajectories->simulation;
  const struct policy_draws draws = {.action = world_in(world, ROLLOUT_action).as.m,
                                     .advantage = world_in(world, ROLLOUT_advantage).as.m,
                                     .terms = world_part(world, STATE_terms).as.m,
                                     .slices = trajectories->slices,
                                     .draws = simulation->plan.draws,
                                     .each = simulation->trajectories.each,
                                     .steps = trajectories->steps,
                                     .shared = simulation->plan.greedy};
  policy_reinforce(simulation->policy, &draws, simulation->pass.first, simulation->pass.images,
                   usual_gain * metric_scale(simulation->options) / (double)(trajectories->all * draws.draws));
}

static const struct system loss = {.name = "reinforce_loss",
                                   .doc = "the loss of REINFORCE (Williams 1992), and its gradient",
                                   .reads = SET(ROLLOUT_action) | SET(ROLLOUT_advantage) |
                                            SET(BATCH_logits) | SET(BATCH_taken),
                                   .writes = SET(BATCH_logits_gradient),
                                   .parts = SET(STATE_terms),
                                   .kernels = {"policy_reinforce"},
                                   .run = run_loss};

/* There is no critic. */
void trajectories_add_gradient(struct trajectories *trajectories, struct schedule *schedule) {
  struct simulation *simulation = trajectories->simulation;
  schedule_add(schedule, &system_zero_policy, simulation);
  schedule_add(schedule, &repeat_passes, trajectories);
  schedule_add(schedule, &gather, simulation);
  schedule_add(schedule, &system_forward_policy, simulation)->writes &= ~SET(BATCH_value);
  schedule_add(schedule, &loss, trajectories);
  schedule_add(schedule, &system_backward_policy, simulation)->reads &= ~SET(BATCH_value_gradient);
  schedule_add(schedule, &system_end, NULL);
}

const struct system *const trajectories_systems[] = {&advantage, &repeat_passes, &gather, &loss, NULL};
