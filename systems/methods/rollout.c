#include "systems/methods/rollout.h"

#include "engine/base/round.h"
#include "systems/methods/policy_task.h"
#include "systems/scan/systems.h"
#include "systems/scan/slice_cache.h"

/* ---- opening ------------------------------------------------------------------------------------------- */

struct simulation_plan rollout_plan(const struct options *options, size_t slices, size_t envs, size_t rows) {
  return (struct simulation_plan){.slices = slices,
                                  .envs = envs,
                                  .rollout_steps = divide_up(rows, envs),
                                  .images = options->reward.form == REWARD_DENSE ? IMAGES_EVERY_STEP : IMAGES_SCORED,
                                  .metrics = metric_list[options->reward.metric].name,
                                  .observe_every_step = true,
                                  .record = true,
                                  .deciders = DECIDES_POLICY,
                                  .columns = ROLLOUT_COLUMNS};
}

bool rollout_can_keep(const struct device *device, size_t scans, size_t launch) {
  return device->facts.matrix != MATRIX_NONE && scans % 2 == 0 && launch >= scans;
}

const struct system system_order_rows = {.name = "order_rows",
                                         .doc = "an update takes the rows of a rollout as they are",
                                         .parts = SET(ROLLOUT_order),
                                         .loads = true};

static void write_order(struct rollout *rollout) {
  struct arena *arena = arena_open();
  uint32_t *order = ARENA_NEW(arena, uint32_t, rollout->rows);
  for (size_t i = 0; i < rollout->rows; i++) order[i] = (uint32_t)i;
  world_put(rollout->simulation->world, &system_order_rows, ROLLOUT_order, 0, rollout->rows, order);
  arena_close(arena);
}

const struct system system_load_end = {.name = "load_end",
                                       .doc = "scans end truly: nothing is to come after their last step",
                                       .writes = SET(ROLLOUT_last_value),
                                       .loads = true};

static void load_last_value(struct world *world) {
  struct world_use before = world_enter(world, &system_load_end);
  world_fill(world, ROLLOUT_last_value, 0);
  world_leave(world, before);
}

/* Where the rollout normalises, the normalised advantages take the place of the others. */
void rollout_describe(struct rollout *rollout) {
  rollout->simulation->keeps = rollout->keeps;
  rollout->rewards = rollout->baseline == BASELINE_CRITIC ? ROLLOUT_reward : ROLLOUT_centred;
  rollout->advantages = rollout->normalises ? ROLLOUT_normalised : ROLLOUT_advantage;
}

/* Scans with numbers in a row share a slice from here on. */
static void open_group(struct rollout *rollout) {
  struct scan_group *group = &rollout->group;
  if (!group->members) group->members = 1;
  REQUIRE(rollout->scans % group->members == 0, "%zu scans in groups of %zu", rollout->scans, group->members);
  REQUIRE(group->members > 1 || rollout->baseline == BASELINE_CRITIC, "one scan of a slice has no others");
  rollout->simulation->group = (uint32_t)group->members;
  group->steps = rollout->steps;
  group->scans = rollout->scans;
  group->stride = 1;
  group->scale = group->members > 1 ? leave_one_out(group->members) : 1;
}

void rollout_open(struct rollout *rollout) {
  struct simulation *simulation = rollout->simulation;
  size_t envs = world_capacity(simulation->world, TABLE_ENV), room = world_capacity(simulation->world, TABLE_ROLLOUT);
  rollout_describe(rollout);
  if (rollout->launch > rollout->scans) rollout->launch = rollout->scans;
  REQUIRE(rollout->launch && rollout->launch <= envs, "%zu scans a launch; there are %zu environments", rollout->launch,
          envs);
  rollout->steps = simulation->acquisition.budget;
  rollout->most = rollout->rows = rollout->steps * rollout->scans;
  REQUIRE(simulation->policy && rollout->rows && rollout->rows <= room, "%zu rows; the world has %zu", rollout->rows,
          room);
  REQUIRE(!rollout->keeps || (simulation->policy->blocks && simulation->policy->batch >= rollout->rows &&
                              rollout_can_keep(simulation->device, rollout->scans, rollout->launch)),
          "%zu rows cannot be kept", rollout->rows);
  open_group(rollout);
  write_order(rollout);
  load_last_value(simulation->world);
}

/* ---- playing ------------------------------------------------------------------------------------------- */

static void run_want(struct world *world, void *context) {
  const struct rollout *rollout = context;
  (void)world;
  slice_cache_want_scans(rollout->simulation, rollout->first_scan, rollout->scans);
}

static const struct system want_slices = {
    .name = "want_slices", .doc = "which slices the scans of this rollout need in the window", .run = run_want};

static void run_clear(struct world *world, void *context) {
  const struct rollout *rollout = context;
  device_fill(world_device(world), world_out(world, ROLLOUT_reward).as.m, 0, sizeof(float) * rollout->rows, 0);
}

static const struct system clear_rewards = {.name = "clear_rewards",
                                            .doc = "no step has a reward until one is recorded",
                                            .writes = SET(ROLLOUT_reward),
                                            .run = run_clear};

/* begin records in the row of the first step, finish in the row of the last. */
static bool next_launch(struct world *world, void *context, size_t turn) {
  struct rollout *rollout = context;
  struct simulation *simulation = rollout->simulation;
  struct pass pass;
  size_t own, end = ranks_rows(simulation->device->ranks, rollout->scans, &own);
  if (!pass_take(&pass, turn, end - own, rollout->launch)) return false;
  pass.first += own;
  simulation->first_scan = rollout->first_scan + (uint32_t)pass.first;
  world_set_rows(world, TABLE_ENV, pass.images);
  simulation->rows = (struct rollout_rows){.first = pass.first, .stride = rollout->scans};
  simulation->rollout_row = pass.first;
  return true;
}

static const struct system repeat_launches = {
    .name = "launches",
    .doc = "scans of the rollout, as many as there are environments",
    .covers = TABLE_BIT(TABLE_ROLLOUT),
    .next = next_launch};

/* What the scans of all ranks have left; a row is [step][scan]. */
static void run_share(struct world *world, void *context) {
  const struct rollout *rollout = context;
  struct ranks *ranks = world_device(world)->ranks;
  size_t first, end = ranks_rows(ranks, rollout->scans, &first);
  uint32_t *words = rollout->words;
  for (unsigned c = 0; c < world_schema(world)->component_count; c++) {
    if (!(ROLLOUT_SHARED & SET(c))) continue;
    world_read(world, c, 0, rollout->rows, words);
    for (size_t i = 0; i < rollout->rows; i++)
      if (i % rollout->scans < first || i % rollout->scans >= end) words[i] = 0;
    ranks_unite(ranks, words, rollout->rows * sizeof *words);
    world_write(world, c, 0, rollout->rows, words);
  }
}

static const struct system share_rollout = {.name = "share_rollout",
                                            .doc = "the scans of all ranks, on every rank",
                                            .reads = ROLLOUT_SHARED,
                                            .parts = ROLLOUT_SHARED,
                                            .loads = true,
                                            .run = run_share};

/* Against a group alone an advantage is what is left to come of the centred rewards, and the critic learns that. */
static void run_advantage(struct world *world, void *context) {
  const struct rollout *rollout = context;
  bool critic = rollout->baseline != BASELINE_GROUP;
  kernel_run(world_kernels(world), "policy_advantage", rollout->scans,
             ARGS(arg_unnamed(world_in(world, rollout->rewards)), world_in(world, ROLLOUT_value),
                  world_in(world, ROLLOUT_done), world_in(world, ROLLOUT_last_value),
                  world_out(world, ROLLOUT_advantage), arg_unnamed(world_out(world, ROLLOUT_return)),
                  arg_u32((uint32_t)rollout->steps), arg_f32((float)rollout->gamma),
                  arg_f32(critic ? (float)rollout->lambda : 1), arg_u32(critic)));
}

/* rollout_add_play adds the rewards. */
static const struct system advantage = {
    .name = "advantage",
    .doc = "generalised advantages (Schulman et al. 2016), and the critic's targets",
    .reads = SET(ROLLOUT_value) | SET(ROLLOUT_done) | SET(ROLLOUT_last_value),
    .writes = SET(ROLLOUT_advantage) | SET(ROLLOUT_return),
    .kernels = {"policy_advantage"},
    .run = run_advantage};

void rollout_add_play(struct rollout *rollout, struct schedule *schedule, const struct sampler *teacher) {
  if (rollout->simulation->plan.window) schedule_add(schedule, &want_slices, rollout);
  schedule_add(schedule, &clear_rewards, rollout);
  slice_cache_add_bring(rollout->simulation, schedule);
  schedule_add(schedule, &repeat_launches, rollout);
  simulation_add_restart(rollout->simulation, schedule);
  simulation_add_scan(rollout->simulation, schedule, teacher);
  schedule_add(schedule, &system_end, NULL);
  if (ranks_count(rollout->simulation->device ? rollout->simulation->device->ranks : NULL) > 1)
    schedule_add(schedule, &share_rollout, rollout);
  if (rollout->baseline != BASELINE_CRITIC) schedule_add(schedule, &system_centre_rewards, &rollout->group);
  schedule_add(schedule, &advantage, rollout)->reads |= SET(rollout->rewards);
}

void rollout_play(struct rollout *rollout, const struct schedule *play, uint32_t first_scan) {
  struct simulation *simulation = rollout->simulation;
  simulation->device->phase = "rollout";
  rollout->first_scan = first_scan;
  schedule_run(play, simulation->world);
  rollout->kept = rollout->keeps;
  simulation->device->phase = "";
}

/* ---- learning ------------------------------------------------------------------------------------------ */

static void run_normalise(struct world *world, void *context) {
  const struct rollout *rollout = context;
  kernel_run(world_kernels(world), "policy_normalise", divide_up(rollout->rows, rollout->most),
             ARGS(world_in(world, ROLLOUT_order), world_in(world, ROLLOUT_advantage),
                  world_part(world, ROLLOUT_normalised), arg_u32((uint32_t)rollout->rows),
                  arg_u32((uint32_t)rollout->most)));
}

static const struct system normalise = {.name = "normalise",
                                        .doc = "advantages to mean 0 and deviation 1 within every update",
                                        .reads = SET(ROLLOUT_order) | SET(ROLLOUT_advantage),
                                        .writes = SET(ROLLOUT_normalised),
                                        .kernels = {"policy_normalise"},
                                        .run = run_normalise};

void rollout_add_normalise(struct rollout *rollout, struct schedule *schedule) {
  if (rollout->normalises) schedule_add(schedule, &normalise, rollout);
}

/* ENV holds other scans after this; the next begin resets them all. */
static bool next_pass(struct world *world, void *context, size_t turn) {
  struct rollout *rollout = context;
  struct simulation *simulation = rollout->simulation;
  size_t envs = world_capacity(world, TABLE_ENV), batch = simulation->policy->batch;
  if (rollout->keeps) {
    REQUIRE(turn || rollout->kept, "no rollout since the last update: its activations are gone");
    rollout->kept = false;
    simulation->pass = (struct pass){.images = rollout->rows};
    rollout->row = 0;
    graph_set_shards(simulation->policy->graph, 0, divide_up(rollout->rows, device_shards(simulation->device).all));
    return !turn;
  }
  const struct shards shards = device_shards(simulation->device);
  struct shard_pass pass;
  if (!shards_take(&shards, &pass, turn, rollout->count, batch < envs ? batch : envs)) return false;
  graph_set_shards(simulation->policy->graph, pass.shard, pass.each);
  rollout->row = rollout->first + pass.first;
  world_set_rows(world, TABLE_ENV, pass.rows);
  simulation->pass = (struct pass){.images = pass.rows};
  return true;
}

static const struct system repeat_passes = {
    .name = "passes",
    .doc = "rows of the update that the policy takes at a time",
    .covers = TABLE_BIT(TABLE_ROLLOUT),
    .next = next_pass};

static void run_gather(struct world *world, void *context) {
  const struct rollout *rollout = context;
  kernel_run(world_kernels(world), "policy_gather", world_rows(world, TABLE_ENV),
             ARGS(world_in(world, ROLLOUT_order), world_in(world, ROLLOUT_slice),
                  world_in(world, ROLLOUT_action), arg_unnamed(world_out(world, ENV_slice)),
                  world_out(world, ENV_mask), world_in(world, SCENE_initial), arg_u32((uint32_t)rollout->row),
                  arg_u32((uint32_t)rollout->scans)));
}

static const struct system gather = {.name = "gather",
                                     .doc = "slices and masks of these steps once more, from slices and actions",
                                     .reads = SET(ROLLOUT_order) | SET(ROLLOUT_slice) | SET(ROLLOUT_action) |
                                              SET(SCENE_initial),
                                     .writes = SET(ENV_slice) | SET(ENV_mask),
                                     .kernels = {"policy_gather"},
                                     .run = run_gather};

static void run_gather_kept(struct world *world, void *context) {
  const struct rollout *rollout = context;
  kernel_run(world_kernels(world), "policy_gather_masks", rollout->rows,
             ARGS(world_in(world, ROLLOUT_action), arg_unnamed(world_out(world, BATCH_taken)),
                  world_in(world, SCENE_initial), arg_u32((uint32_t)rollout->scans)));
}

static const struct system gather_kept = {
    .name = "gather_kept",
    .doc = "masks of all steps once more; activations of the encoder were kept",
    .reads = SET(ROLLOUT_action) | SET(SCENE_initial),
    .writes = SET(BATCH_taken),
    .kernels = {"policy_gather_masks"},
    .run = run_gather_kept};

static void run_forward(struct world *world, void *context) {
  struct rollout *rollout = context;
  struct policy *policy = rollout->simulation->policy;
  (void)world;
  if (rollout->keeps)
    policy_forward_kept(policy, rollout->rows);
  else
    path_forward(&policy->network.path, rollout->simulation->pass.images);
}

static const struct system forward = {.name = "forward_policy",
                                      .doc = "the policy's forward pass",
                                      .reads = SET(BATCH_observation) | SET(BATCH_taken) | FORWARD_READS(POLICY),
                                      .writes = SET(BATCH_logits) | SET(BATCH_value) | FORWARD_WRITES(POLICY),
                                      .run = run_forward};

static void run_loss(struct world *world, void *context) {
  const struct rollout *rollout = context;
  struct policy_update update = rollout->update;
  size_t images = rollout->simulation->pass.images;
  update.order = world_in(world, ROLLOUT_order).as.m;
  update.action = world_in(world, ROLLOUT_action).as.m;
  update.log_prob = world_in(world, ROLLOUT_log_prob).as.m;
  update.advantage = world_in(world, rollout->advantages).as.m;
  update.target = world_in(world, ROLLOUT_return).as.m;
  update.terms = world_part(world, ROLLOUT_terms).as.m;
  policy_loss(rollout->simulation->policy, &update, rollout->row, images,
              1 / (double)(rollout->keeps ? rollout->rows : rollout->count));
}

/* rollout_add_gradient adds the advantages. */
static const struct system loss = {
    .name = "policy_loss",
    .doc = "the loss of A2C (Mnih et al. 2016) or PPO (Schulman et al. 2017), and its gradients",
    .reads = SET(ROLLOUT_order) | SET(ROLLOUT_action) | SET(ROLLOUT_log_prob) | SET(ROLLOUT_return) |
             SET(BATCH_logits) | SET(BATCH_taken) | SET(BATCH_value),
    .writes = SET(BATCH_logits_gradient) | SET(BATCH_value_gradient),
    .parts = SET(ROLLOUT_terms),
    .kernels = {"policy_loss"},
    .run = run_loss};

void rollout_add_gradient(struct rollout *rollout, struct schedule *schedule) {
  struct simulation *simulation = rollout->simulation;
  schedule_add(schedule, &system_zero_policy, simulation);
  schedule_add(schedule, &repeat_passes, rollout);
  schedule_add(schedule, rollout->keeps ? &gather_kept : &gather, rollout);
  if (!rollout->keeps) {
    simulation_add_observe(simulation, schedule);
    schedule_add(schedule, &system_encode_policy, simulation);
  }
  struct system *pass = schedule_add(schedule, &forward, rollout);
  if (rollout->keeps) pass->reads ^= SET(BATCH_observation) | SET(POLICY_kept);
  schedule_add(schedule, &loss, rollout)->reads |= SET(rollout->advantages);
  schedule_add(schedule, &system_backward_policy, simulation);
  schedule_add(schedule, &system_end, NULL);
}

const struct system *const rollout_systems[] = {
    &want_slices,   &clear_rewards,   &repeat_launches, &system_centre_rewards, &advantage, &normalise, &repeat_passes,
    &share_rollout, &gather,        &gather_kept,     &forward,               &loss,      NULL};
