/* Decisions of policies: L2S's looks at the observation, PG-MRI's at the reconstruction that the last step has
 * left. While trajectories of a slice share a state (training PG-MRI), the first one stands for all of them, and
 * each of its logits decides for all. */
#include "systems/networks/policy.h"
#include "systems/scan/systems.h"

static bool next_pass(struct world *world, void *context, size_t turn) {
  struct simulation *simulation = context;
  struct pass *pass = &simulation->pass;
  if (!world_is_bound(world, BATCH_observation, simulation->policy->input)) policy_bind(simulation->policy, world);
  if (!pass_take(pass, turn, world_rows(world, TABLE_ENV), simulation->policy->batch)) return false;
  pass->place = simulation->keeps ? simulation->rollout_row + pass->first : 0;
  return true;
}

const struct system system_repeat_policy = {
    .name = "passes",
    .doc = "scans that the policy takes at a time",
    .covers = TABLE_BIT(TABLE_ENV),
    .next = next_pass};

static void run_forward(struct world *world, void *context) {
  const struct simulation *simulation = context;
  const struct pass *pass = &simulation->pass;
  (void)world;
  if (simulation->keeps)
    policy_forward_part(simulation->policy, pass->place, pass->images);
  else
    path_forward(&simulation->policy->network.path, pass->images);
}

const struct system system_forward_policy = {.name = "forward_policy",
                                             .doc = "the policy's forward pass",
                                             .reads = SET(BATCH_observation) | SET(BATCH_taken) |
                                                      FORWARD_READS(POLICY),
                                             .writes = SET(BATCH_logits) | SET(BATCH_value) | FORWARD_WRITES(POLICY),
                                             .run = run_forward};

/* A free action for every scan from `first` on: drawn by its probability, or the most probable one. The logits are
 * those of the last forward pass. */
static void act(struct world *world, const struct simulation *simulation, size_t first) {
  kernel_run(world_kernels(world), "policy_act", simulation->pass.images,
             ARGS(arg_unnamed(world_in(world, BATCH_logits)), arg_unnamed(world_in(world, BATCH_taken)),
                  arg_unnamed(world_in(world, ENV_scan)), arg_unnamed(world_in(world, ENV_step)),
                  arg_unnamed(world_part(world, ENV_action)), arg_unnamed(world_part(world, ENV_log_prob)),
                  arg_u32((uint32_t)first), arg_u32(simulation->options->world.seed), arg_u32(simulation->best)));
}

static void run_act(struct world *world, void *context) {
  const struct simulation *simulation = context;
  act(world, simulation, simulation->pass.first);
}

#define ACT_READS (SET(BATCH_logits) | SET(BATCH_taken) | SET(ENV_scan) | SET(ENV_step))
#define ACT_PARTS (SET(ENV_action) | SET(ENV_log_prob))

const struct system system_act = {.name = "act",
                                  .doc = "draw a free action by the policy, or take its most probable one",
                                  .reads = ACT_READS,
                                  .parts = ACT_PARTS,
                                  .kernels = {"policy_act"},
                                  .run = run_act};

static void run_estimate(struct world *world, void *context) {
  const struct pass *pass = &((const struct simulation *)context)->pass;
  world_copy(world, BATCH_value, 0, ENV_value, pass->first, pass->images);
}

const struct system system_estimate = {.name = "estimate",
                                       .doc = "the critic's estimate of the return",
                                       .reads = SET(BATCH_value),
                                       .parts = SET(ENV_value),
                                       .run = run_estimate};

/* ---- PG-MRI ------------------------------------------------------------------------------------------- */

static bool is_shared(const struct simulation *simulation) {
  return simulation->plan.draws && (simulation->plan.greedy || !simulation->taken);
}

/* Scans whose states the policy looks at. */
static size_t states_of(const struct simulation *simulation) {
  return is_shared(simulation) ? simulation->trajectories.slices : world_rows(simulation->world, TABLE_ENV);
}

static bool next_states(struct world *world, void *context, size_t turn) {
  struct simulation *simulation = context;
  if (!world_is_bound(world, BATCH_observation, simulation->policy->input)) policy_bind(simulation->policy, world);
  return pass_take(&simulation->pass, turn, states_of(simulation), simulation->policy->batch);
}

const struct system system_repeat_states = {
    .name = "passes",
    .doc = "scans that the policy takes at a time; one of those that share a state",
    .covers = TABLE_BIT(TABLE_ENV),
    .next = next_states};

static void run_encode_reconstruction(struct world *world, void *context) {
  const struct pass *pass = &((const struct simulation *)context)->pass;
  kernel_run(world_kernels(world), "pgmri_input", pass->images,
             ARGS(world_in(world, ENV_slice), world_in(world, ENV_reconstruction),
                  world_in(world, SLICE_mean), world_in(world, SLICE_std),
                  arg_unnamed(world_out(world, BATCH_observation)), arg_u32((uint32_t)pass->first)));
  observe_mask(world, pass);
}

const struct system system_encode_reconstruction = {
    .name = "encode_reconstruction",
    .doc = "the inputs of PG-MRI's policy: normalised reconstructions and masks",
    .reads = SET(ENV_slice) | SET(ENV_reconstruction) | SET(SLICE_mean) | SET(SLICE_std) | SET(ENV_mask),
    .writes = SET(BATCH_observation) | SET(BATCH_taken),
    .kernels = {"pgmri_input", "policy_mask"},
    .run = run_encode_reconstruction};

static void keep(struct world *world, const struct simulation *simulation, unsigned from, unsigned to, size_t words) {
  const struct trajectory_plan *trajectories = &simulation->trajectories;
  const struct pass *pass = &simulation->pass;
  kernel_run(world_kernels(world), "pgmri_keep", pass->images,
             ARGS(arg_unnamed(world_in(world, from)), arg_unnamed(world_part(world, to)), arg_u32((uint32_t)words),
                  arg_u32((uint32_t)pass->first), arg_u32((uint32_t)trajectories->slices), arg_u32((uint32_t)trajectories->each),
                  arg_u32((uint32_t)simulation->plan.draws), arg_u32(simulation->steps), arg_u32(simulation->taken),
                  arg_u32(simulation->plan.greedy)));
}

static void run_keep(struct world *world, void *context) {
  const struct simulation *simulation = context;
  const struct scan_shape *shape = &simulation->acquisition.shape;
  keep(world, simulation, BATCH_observation, STATE_observation, (size_t)shape->height * shape->width);
  keep(world, simulation, BATCH_taken, STATE_taken, shape->actions);
}

const struct system system_keep_state = {.name = "keep_state",
                                         .doc = "keep what the policy sees for the update",
                                         .reads = SET(BATCH_observation) | SET(BATCH_taken),
                                         .parts = SET(STATE_observation) | SET(STATE_taken),
                                         .kernels = {"pgmri_keep"},
                                         .run = run_keep};

/* Takes one draw after the other of the draws that share an image. */
static void run_act_draws(struct world *world, void *context) {
  const struct simulation *simulation = context;
  size_t rows = world_rows(world, TABLE_ENV), states = states_of(simulation);
  for (size_t draw = simulation->pass.first; draw < rows; draw += states) act(world, simulation, draw);
}

const struct system system_act_draws = {.name = "act_draws",
                                        .doc = "draw a free action of every trajectory, or take the best one",
                                        .reads = ACT_READS,
                                        .parts = ACT_PARTS,
                                        .kernels = {"policy_act"},
                                        .run = run_act_draws};

static void run_spread(struct world *world, void *context) {
  const struct simulation *simulation = context;
  size_t slices = simulation->trajectories.slices;
  world_set_rows(world, TABLE_ENV, slices * simulation->plan.draws);
  kernel_run(world_kernels(world), "pgmri_spread", world_rows(world, TABLE_ENV),
             ARGS(world_inout(world, ENV_scan), world_inout(world, ENV_slice), world_inout(world, ENV_mask),
                  world_inout(world, ENV_step), world_inout(world, ENV_quality),
                  arg_u32(simulation->first_scan), arg_u32((uint32_t)slices)));
}

#define SPREAD (SET(ENV_scan) | SET(ENV_slice) | SET(ENV_mask) | SET(ENV_step) | SET(ENV_quality))

const struct system system_spread = {.name = "spread",
                                     .doc = "further trajectories of every slice, from its state",
                                     .reads = SPREAD,
                                     .writes = SPREAD,
                                     .kernels = {"pgmri_spread"},
                                     .run = run_spread};

/* After the last action nothing goes on. */
static void run_follow(struct world *world, void *context) {
  const struct simulation *simulation = context;
  if (simulation->taken + 1 == simulation->steps) {
    world_idle(world);
    return;
  }
  kernel_run(world_kernels(world), "pgmri_follow", world_rows(world, TABLE_ENV),
             ARGS(world_in(world, ENV_scan), world_in(world, ENV_step), world_inout(world, ENV_mask),
                  world_inout(world, ENV_quality), world_inout(world, ENV_reconstruction),
                  arg_u32((uint32_t)simulation->trajectories.slices), arg_u32((uint32_t)simulation->trajectories.before),
                  arg_u32((uint32_t)simulation->trajectories.minibatch), arg_u32(simulation->options->world.seed)));
}

const struct system system_follow = {.name = "follow",
                                     .doc = "go on from one trajectory, the same of every slice of a minibatch",
                                     .reads = SET(ENV_scan) | SET(ENV_step) | SET(ENV_mask) |
                                              SET(ENV_quality) | SET(ENV_reconstruction),
                                     .writes = SET(ENV_mask) | SET(ENV_quality) | SET(ENV_reconstruction),
                                     .kernels = {"pgmri_follow"},
                                     .run = run_follow};
