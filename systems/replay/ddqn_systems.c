/* What a unit of DDQN runs: an action of the scans side by side, and updates of drawn steps. Updates take the
 * environments for the drawn steps, so that scans go on from slice and actions, as the replay has them. */
#include "engine/base/round.h"
#include "systems/methods/rollout.h"
#include "systems/replay/ddqn.h"
#include "systems/scan/slice_cache.h"
#include "systems/scan/systems.h"

#include <math.h>

enum { CHUNK = 256 }; /* priorities that are added up one after the other */

static bool is_prioritised(const struct training *training) {
  return training->options->ddqn.priority > 0;
}

/* ---- where a unit is ------------------------------------------------------------------------------------
 */

struct replay_place replay_place(const struct replay *replay, uint64_t done) {
  struct replay_place place = {.episode = done / replay->steps, .step = done % replay->steps};
  place.column = place.episode % replay->blocks * replay->scans;
  place.row = place.step * replay->columns + place.column;
  return place;
}

struct replay_valid replay_valid(const struct replay *replay, uint64_t done, size_t ahead) {
  struct replay_place last = replay_place(replay, done - 1);
  size_t others = last.episode < replay->blocks - 1 ? last.episode : replay->blocks - 1,
         played = last.step + 1;
  struct replay_valid valid = {.whole = others * replay->scans, .running = last.column};
  valid.steps = played == replay->steps ? played : played < ahead ? 0 : played - ahead + 1;
  valid.count = valid.whole * replay->steps + replay->scans * valid.steps;
  return valid;
}

double ddqn_epsilon(const struct options *options, uint64_t done) {
  double floor = options->ddqn.epsilon_floor, fall = exp(-(double)done / options->ddqn.epsilon_steps);
  return floor + (options->ddqn.epsilon - floor) * fall;
}

static struct replay_place place_of(struct training *training) {
  return replay_place(&ddqn_of(training)->replay, training->done);
}

/* ---- playing --------------------------------------------------------------------------------------------
 */

static void fill_rows(struct world *world, unsigned column, size_t row, size_t count, uint32_t word) {
  device_fill(world_device(world), world_part(world, column).as.m, row * sizeof(float), count * sizeof(float),
              word);
}

static const uint32_t never_drawn = 0xbf800000; /* -1.0f */

/* The oldest scans make room for those that begin. */
static void run_keep_slices(struct world *world, void *context) {
  const struct replay *replay = &ddqn_of(context)->replay;
  struct replay_place place = place_of(context);
  for (size_t step = 0; step < replay->steps; step++) {
    size_t row = step * replay->columns + place.column;
    world_copy(world, ENV_slice, 0, ROLLOUT_slice, row, replay->scans);
    if (is_prioritised(context)) fill_rows(world, ROLLOUT_priority, row, replay->scans, never_drawn);
  }
}

static const struct system keep_slices = {
    .name = "keep_slices",
    .doc = "slices of the scans that begin, into the place of the oldest ones",
    .reads = SET(ENV_slice),
    .parts = SET(ROLLOUT_slice),
    .run = run_keep_slices};

/* Slices and masks of the scans that are running once more. */
static void run_take_up(struct world *world, void *context) {
  const struct replay *replay = &ddqn_of(context)->replay;
  kernel_run(world_kernels(world), "policy_gather", replay->scans,
             ARGS(world_in(world, ROLLOUT_order), world_in(world, ROLLOUT_slice),
                  world_in(world, ROLLOUT_action), arg_unnamed(world_out(world, ENV_slice)),
                  world_out(world, ENV_mask), world_in(world, SCENE_initial),
                  arg_u32((uint32_t)place_of(context).row), arg_u32((uint32_t)replay->columns)));
}

#define GATHER_READS (SET(ROLLOUT_slice) | SET(ROLLOUT_action) | SET(SCENE_initial))
#define GATHER .writes = SET(ENV_slice) | SET(ENV_mask), .kernels = {"policy_gather"}

static const struct system take_up = {.name = "take_up",
                                      .doc =
                                          "slices and masks of the running scans once more, from the replay",
                                      .reads = SET(ROLLOUT_order) | GATHER_READS,
                                      GATHER,
                                      .run = run_take_up};

static void run_explore(struct world *world, void *context) {
  const struct training *training = context;
  const struct options *options = training->options;
  kernel_run(world_kernels(world), "replay_explore", world_rows(world, TABLE_ENV),
             ARGS(world_in(world, ENV_scan), world_in(world, ENV_step), world_in(world, ENV_mask),
                  world_inout(world, ENV_action), arg_f32((float)ddqn_epsilon(options, training->done)),
                  arg_u32(options->world.seed), arg_u32(options->ddqn.explores == DDQN_BY_BATCH)));
}

static const struct system explore = {.name = "explore",
                                      .doc = "a random free action with probability epsilon",
                                      .reads =
                                          SET(ENV_scan) | SET(ENV_step) | SET(ENV_mask) | SET(ENV_action),
                                      .writes = SET(ENV_action),
                                      .kernels = {"replay_explore"},
                                      .run = run_explore};

static void run_keep_step(struct world *world, void *context) {
  struct replay_place place = place_of(context);
  size_t scans = ddqn_of(context)->replay.scans;
  world_copy(world, ENV_action, 0, ROLLOUT_action, place.row, scans);
  world_copy(world, ENV_reward, 0, ROLLOUT_reward, place.row, scans);
}

static const struct system keep_step = {.name = "keep_step",
                                        .doc = "actions and rewards into the replay",
                                        .reads = SET(ENV_action) | SET(ENV_reward),
                                        .parts = SET(ROLLOUT_action) | SET(ROLLOUT_reward),
                                        .run = run_keep_step};

/* Those of the last rewards of a scan are known with it. */
static void run_mark(struct world *world, void *context) {
  const struct training *training = context;
  const struct replay *replay = &ddqn_of(training)->replay;
  struct replay_place place = place_of(context);
  size_t ahead = training->options->ddqn.ahead, played = place.step + 1;
  size_t first = played < ahead ? 0 : played - ahead, end = played == replay->steps ? played
                                                            : played < ahead        ? 0
                                                                                    : first + 1;
  if (first >= end) world_idle(world);
  for (size_t step = first; step < end; step++)
    fill_rows(world, ROLLOUT_priority, step * replay->columns + place.column, replay->scans, 0);
}

static const struct system mark_steps = {.name = "mark_steps",
                                         .doc =
                                             "steps whose rewards ahead are known may be drawn from now on",
                                         .parts = SET(ROLLOUT_priority),
                                         .run = run_mark};

/* ---- passes ---------------------------------------------------------------------------------------------
 */

static bool next_pass(struct world *world, void *context, size_t turn) {
  struct training *training = context;
  struct ddqn *ddqn = ddqn_of(training);
  struct pass *pass = &training->train.simulation.pass;
  ddqn_bind(training, false);
  if (!pass_take(pass, turn, ddqn->batch, ddqn->most)) return false;
  ddqn->row = pass->first;
  *pass = (struct pass){.images = pass->images};
  world_set_rows(world, TABLE_ENV, pass->images);
  return true;
}

static const struct system repeat_passes = {.name = "passes",
                                            .doc = "drawn steps that the network takes at a time",
                                            .covers = TABLE_BIT(TABLE_ROLLOUT),
                                            .next = next_pass};

/* All scans side by side are a pass of a data-set-specific network. */
static bool next_scans(struct world *world, void *context, size_t turn) {
  struct training *training = context;
  ddqn_bind(training, false);
  training->train.simulation.pass = (struct pass){.images = world_rows(world, TABLE_ENV)};
  return !turn;
}

static const struct system repeat_scans = {.name = "scans",
                                           .doc = "all scans side by side, at a time",
                                           .covers = TABLE_BIT(TABLE_ENV),
                                           .next = next_scans};

static void gather(struct world *world, struct training *training, unsigned rows) {
  const struct ddqn *ddqn = ddqn_of(training);
  kernel_run(world_kernels(world), "policy_gather", world_rows(world, TABLE_ENV),
             ARGS(arg_unnamed(world_in(world, rows)), world_in(world, ROLLOUT_slice),
                  world_in(world, ROLLOUT_action), arg_unnamed(world_out(world, ENV_slice)),
                  world_out(world, ENV_mask), world_in(world, SCENE_initial), arg_u32((uint32_t)ddqn->row),
                  arg_u32((uint32_t)ddqn->replay.columns)));
}

static void run_gather(struct world *world, void *context) {
  gather(world, context, ROLLOUT_drawn);
}

static void run_gather_after(struct world *world, void *context) {
  gather(world, context, ROLLOUT_after);
}

static const struct system gather_drawn = {.name = "gather_drawn",
                                           .doc = "slices and masks before the drawn steps",
                                           .reads = SET(ROLLOUT_drawn) | GATHER_READS,
                                           GATHER,
                                           .run = run_gather},
                           gather_after = {.name = "gather_after",
                                           .doc = "slices and masks that the drawn steps lead to",
                                           .reads = SET(ROLLOUT_after) | GATHER_READS,
                                           GATHER,
                                           .run = run_gather_after};

/* ---- the data-set-specific network ----------------------------------------------------------------------
 */

static void encode_steps(struct world *world, const struct training *training, unsigned place, size_t first,
                         size_t divisor) {
  const struct pass *pass = &training->train.simulation.pass;
  kernel_run(world_kernels(world), "replay_steps", pass->images,
             ARGS(arg_unnamed(world_in(world, place)), world_out(world, BATCH_steps),
                  arg_u32((uint32_t)first), arg_u32((uint32_t)divisor)));
  observe_mask(world, pass);
}

static void run_encode_running(struct world *world, void *context) {
  encode_steps(world, context, ENV_step, 0, 1);
}

static void run_encode_drawn(struct world *world, void *context) {
  encode_steps(world, context, ROLLOUT_drawn, ddqn_of(context)->row, ddqn_of(context)->replay.columns);
}

/* The number of actions is that of the row after, which is the scan's last where the scan ends: nothing looks
 * at it. */
static void run_encode_after(struct world *world, void *context) {
  encode_steps(world, context, ROLLOUT_after, ddqn_of(context)->row, ddqn_of(context)->replay.columns);
}

#define ENCODE_STEPS(is, place, how)                                                                         \
  {                                                                                                          \
    .name = "encode_" is, .doc = "the number of actions so far, and masks",                                  \
    .reads = SET(place) | SET(ENV_mask), .writes = SET(BATCH_steps) | SET(BATCH_taken),                      \
    .kernels = {"replay_steps", "policy_mask"}, .run = how                                                   \
  }
static const struct system encode_running = ENCODE_STEPS("steps", ENV_step, run_encode_running),
                           encode_drawn = ENCODE_STEPS("drawn_steps", ROLLOUT_drawn, run_encode_drawn),
                           encode_after = ENCODE_STEPS("steps_after", ROLLOUT_after, run_encode_after);

static void forward_steps(const struct training *training, const struct ddqn_network *network,
                          component_set out) {
  watch_touch(&network->watch, SET(BATCH_steps), out);
  graph_set_images(network->graph, training->train.simulation.pass.images);
  graph_forward(network->graph);
}

static void run_forward_steps(struct world *world, void *context) {
  (void)world;
  forward_steps(context, &ddqn_of(context)->online_steps, SET(BATCH_logits));
}

static const struct system forward_online = {.name = "forward_steps",
                                             .doc = "the data-set-specific network's forward pass",
                                             .reads = SET(BATCH_steps) | FORWARD_READS(POLICY),
                                             .writes = SET(BATCH_logits) | FORWARD_WRITES(POLICY),
                                             .run = run_forward_steps};

static void run_zero_steps(struct world *world, void *context) {
  (void)world;
  ddqn_bind(context, false);
  graph_zero_gradients(ddqn_of(context)->online_steps.graph);
}

static const struct system zero_steps = {.name = "zero_gradients",
                                         .doc = "gradients of the network start at 0",
                                         .writes = SET(POLICY_cleared),
                                         .run = run_zero_steps};

static void run_backward_steps(struct world *world, void *context) {
  const struct ddqn_network *network = &ddqn_of(context)->online_steps;
  (void)world;
  watch_touch(&network->watch, SET(BATCH_logits_gradient), 0);
  graph_backward(network->graph);
}

static const struct system backward_steps = {.name = "backward_steps",
                                             .doc = "the data-set-specific network's backward pass",
                                             .reads = SET(BATCH_logits_gradient) | BACKWARD_READS(POLICY),
                                             .writes = BACKWARD_WRITES(POLICY),
                                             .run = run_backward_steps};

static void run_optimise_steps(struct world *world, void *context) {
  (void)world;
  optimise_step(&((struct training *)context)->optimiser);
}

static const struct system optimise_steps = {.name = "optimise_steps",
                                             .doc = "a step of the network's parameters",
                                             .reads = LEARN_READS(POLICY),
                                             .writes = LEARN_WRITES(POLICY),
                                             .run = run_optimise_steps};

/* ---- choosing -------------------------------------------------------------------------------------------
 */

/* ddqn_fill_targets says by whose values. */
static void run_choose(struct world *world, void *context) {
  const struct simulation *simulation = &((const struct training *)context)->train.simulation;
  unsigned values = world_reads(world, BATCH_logits) ? BATCH_logits : BATCH_target_logits;
  kernel_run(world_kernels(world), "policy_act", simulation->pass.images,
             ARGS(arg_unnamed(world_in(world, values)), arg_unnamed(world_in(world, BATCH_taken)),
                  arg_unnamed(world_in(world, ENV_scan)), arg_unnamed(world_in(world, ENV_step)),
                  arg_unnamed(world_part(world, ENV_action)), arg_unnamed(world_part(world, ENV_log_prob)),
                  arg_u32(0), arg_u32(simulation->options->world.seed), arg_u32(true)));
}

static const struct system choose = {.name = "choose",
                                     .doc = "the free action of the highest value",
                                     .reads = SET(BATCH_taken) | SET(ENV_scan) | SET(ENV_step),
                                     .parts = SET(ENV_action) | SET(ENV_log_prob),
                                     .kernels = {"policy_act"},
                                     .run = run_choose};

static void add_choose(struct training *training, struct schedule *schedule, unsigned values) {
  schedule_add(schedule, &choose, training)->reads |= SET(values);
}

/* ---- drawing --------------------------------------------------------------------------------------------
 */

static void run_draw(struct world *world, void *context) {
  const struct training *training = context;
  const struct ddqn *ddqn = ddqn_of(training);
  const struct replay *replay = &ddqn->replay;
  struct replay_valid valid = replay_valid(replay, training->done + 1, training->options->ddqn.ahead);
  kernel_run(world_kernels(world), "replay_draw", ddqn->batch,
             ARGS(world_out(world, ROLLOUT_drawn), world_out(world, ROLLOUT_after),
                  arg_u32(training->options->world.seed), arg_u32((uint32_t)ddqn->update),
                  arg_u32((uint32_t)replay->columns), arg_u32((uint32_t)replay->steps),
                  arg_u32((uint32_t)valid.whole), arg_u32((uint32_t)valid.running),
                  arg_u32((uint32_t)replay->scans), arg_u32((uint32_t)valid.steps),
                  arg_u32(training->options->ddqn.ahead)));
}

static const struct system draw = {.name = "draw_steps",
                                   .doc = "steps of the replay, all alike",
                                   .writes = SET(ROLLOUT_drawn) | SET(ROLLOUT_after),
                                   .kernels = {"replay_draw"},
                                   .run = run_draw};

static void run_sum(struct world *world, void *context) {
  size_t rows = ddqn_of(context)->replay.rows;
  kernel_run(world_kernels(world), "replay_sums", divide_up(rows, CHUNK),
             ARGS(world_in(world, ROLLOUT_priority), world_out(world, ROLLOUT_sums), arg_u32(CHUNK),
                  arg_u32((uint32_t)rows)));
}

static const struct system sum_priorities = {.name = "sum_priorities",
                                             .doc = "sums of the priorities of steps in a row",
                                             .reads = SET(ROLLOUT_priority),
                                             .writes = SET(ROLLOUT_sums),
                                             .kernels = {"replay_sums"},
                                             .run = run_sum};

static void run_pick(struct world *world, void *context) {
  const struct training *training = context;
  const struct options *options = training->options;
  const struct ddqn *ddqn = ddqn_of(training);
  const struct replay *replay = &ddqn->replay;
  kernel_run(world_kernels(world), "replay_pick", ddqn->batch,
             ARGS(world_in(world, ROLLOUT_sums), world_in(world, ROLLOUT_priority),
                  world_out(world, ROLLOUT_drawn), world_out(world, ROLLOUT_after),
                  world_out(world, ROLLOUT_weight), arg_u32(options->world.seed),
                  arg_u32((uint32_t)ddqn->update), arg_u32(CHUNK),
                  arg_u32((uint32_t)divide_up(replay->rows, CHUNK)), arg_u32((uint32_t)replay->rows),
                  arg_u32((uint32_t)replay->columns), arg_u32((uint32_t)replay->steps),
                  arg_u32(options->ddqn.ahead), arg_f32((float)options->ddqn.priority_weight)));
}

static const struct system pick = {.name = "pick_steps",
                                   .doc = "steps of the replay by their priorities (Schaul et al. 2016)",
                                   .reads = SET(ROLLOUT_sums) | SET(ROLLOUT_priority),
                                   .writes = SET(ROLLOUT_drawn) | SET(ROLLOUT_after) | SET(ROLLOUT_weight),
                                   .kernels = {"replay_pick"},
                                   .run = run_pick};

/* ---- what steps should be worth -------------------------------------------------------------------------
 */

static void run_encode_target(struct world *world, void *context) {
  const struct training *training = context;
  ddqn_bind(context, true);
  (ddqn_looks_at_reconstructions(training->options) ? &system_encode_reconstruction : &system_encode_policy)
      ->run(world, &((struct training *)context)->train.simulation);
}

static const struct system encode_target = {.name = "encode_target",
                                            .doc = "the target network's inputs",
                                            .writes = SET(BATCH_observation) | SET(BATCH_taken),
                                            .run = run_encode_target};

static void run_forward_target(struct world *world, void *context) {
  struct training *training = context;
  struct ddqn *ddqn = ddqn_of(training);
  (void)world;
  path_forward(&ddqn->target.network.path, training->train.simulation.pass.images);
}

static const struct system forward_target = {.name = "forward_target",
                                             .doc = "the target network's forward pass",
                                             .reads = SET(BATCH_observation) | SET(BATCH_taken) |
                                                      FORWARD_READS(TARGET),
                                             .writes = SET(BATCH_target_logits) | FORWARD_WRITES(TARGET),
                                             .run = run_forward_target};

static void run_bind_target(struct world *world, void *context) {
  ddqn_bind(context, true);
  run_encode_after(world, context);
}

static const struct system encode_target_steps = ENCODE_STEPS("target_steps", ROLLOUT_after, run_bind_target);

static void run_forward_target_steps(struct world *world, void *context) {
  (void)world;
  forward_steps(context, &ddqn_of(context)->target_steps, SET(BATCH_target_logits));
}

static const struct system forward_target_steps = {
    .name = "forward_target_steps",
    .doc = "the data-set-specific target network's forward pass",
    .reads = SET(BATCH_steps) | FORWARD_READS(TARGET),
    .writes = SET(BATCH_target_logits) | FORWARD_WRITES(TARGET),
    .run = run_forward_target_steps};

static void run_targets(struct world *world, void *context) {
  const struct training *training = context;
  const struct ddqn *ddqn = ddqn_of(training);
  kernel_run(world_kernels(world), "replay_target", world_rows(world, TABLE_ENV),
             ARGS(world_in(world, ROLLOUT_drawn), world_in(world, ROLLOUT_reward),
                  arg_unnamed(world_in(world, BATCH_target_logits)), world_in(world, ENV_action),
                  world_part(world, ROLLOUT_target), arg_u32((uint32_t)ddqn->row),
                  arg_u32((uint32_t)ddqn->replay.columns), arg_u32((uint32_t)ddqn->replay.steps),
                  arg_u32(training->options->ddqn.ahead), arg_f32((float)training->options->ddqn.gamma)));
}

static const struct system targets = {
    .name = "targets",
    .doc = "rewards ahead, and the target network's value of the action after (van Hasselt et al. 2016)",
    .reads = SET(ROLLOUT_drawn) | SET(ROLLOUT_reward) | SET(BATCH_target_logits) | SET(ENV_action),
    .parts = SET(ROLLOUT_target),
    .kernels = {"replay_target"},
    .run = run_targets};

/* ---- learning -------------------------------------------------------------------------------------------
 */

/* A value's error, in units of the metric, once there were some updates: gradients within the fused network
 * are of half precision. */
static const double usual_error = 0.02;

static void run_loss(struct world *world, void *context) {
  struct training *training = context;
  const struct options *options = training->options;
  const struct ddqn *ddqn = ddqn_of(training);
  size_t images = world_rows(world, TABLE_ENV);
  unsigned weight = is_prioritised(training) ? ROLLOUT_weight : ROLLOUT_target;
  float share = 1 / (float)ddqn->batch;
  training->policy.scale = 64 / (share * usual_error * metric_scale(options));
  kernel_run(world_kernels(world), "replay_loss", images,
             ARGS(world_in(world, ROLLOUT_drawn), arg_unnamed(world_in(world, BATCH_logits)),
                  world_in(world, ROLLOUT_action), world_in(world, ROLLOUT_target),
                  arg_unnamed(world_in(world, weight)), world_out(world, BATCH_logits_gradient),
                  world_part(world, ROLLOUT_terms), world_part(world, ROLLOUT_priority),
                  arg_u32((uint32_t)ddqn->row), arg_f32(share), arg_f32((float)options->ddqn.huber),
                  arg_u32(is_prioritised(training)), arg_f32((float)options->ddqn.priority)));
  if (!world_writes(world, BATCH_value_gradient)) return;
  device_fill(world_device(world), world_out(world, BATCH_value_gradient).as.m, 0, images * sizeof(float), 0);
}

static const struct system loss = {.name = "loss_of_values",
                                   .doc = "Huber's loss of the values of the drawn actions, and its gradient",
                                   .reads = SET(ROLLOUT_drawn) | SET(ROLLOUT_action) | SET(ROLLOUT_target) |
                                            SET(BATCH_logits),
                                   .writes = SET(BATCH_logits_gradient),
                                   .parts = SET(ROLLOUT_terms) | SET(ROLLOUT_priority),
                                   .kernels = {"replay_loss"},
                                   .run = run_loss};

static void run_copy(struct world *world, void *context) {
  struct training *training = context;
  struct ddqn *ddqn = ddqn_of(training);
  const struct graph *from = ddqn_learns.graph(training), *to = ddqn_target.graph(training);
  REQUIRE(from->elements == to->elements, "%zu parameters and %zu", from->elements, to->elements);
  world_touch(world, SET(POLICY_parameters), SET(TARGET_parameters));
  device_copy(world_device(world), from->values, 0, to->values, 0, sizeof(float) * from->elements);
  if (ddqn->target.graph) policy_changed(&ddqn->target);
}

static const struct system copy = {.name = "copy_parameters",
                                   .doc = "what has been learned, to the target network",
                                   .reads = SET(POLICY_parameters),
                                   .writes = SET(TARGET_parameters),
                                   .run = run_copy};

/* ---- lists ----------------------------------------------------------------------------------------------
 */

static void add_score(struct training *training, struct schedule *schedule) {
  struct simulation *simulation = &training->train.simulation;
  const struct metric *metric = &metric_list[training->options->reward.metric];
  simulation_add_reconstruct(simulation, schedule);
  simulation_add_score(simulation, schedule, metric);
  schedule_add(schedule, &system_reward, simulation)->reads |= SET(metric->env);
}

static void add_begin(struct training *training, struct schedule *schedule) {
  struct simulation *simulation = &training->train.simulation;
  simulation_add_restart(simulation, schedule);
  schedule_add(schedule, &system_reset, simulation);
}

void ddqn_fill_begin(struct training *training, struct schedule *schedule) {
  add_begin(training, schedule);
  struct system *keep = schedule_add(schedule, &keep_slices, training);
  if (is_prioritised(training)) keep->parts |= SET(ROLLOUT_priority);
  simulation_add_observe(&training->train.simulation, schedule);
  add_score(training, schedule);
}

void ddqn_fill_go_on(struct training *training, struct schedule *schedule) {
  schedule_add(schedule, &take_up, training);
  if (ddqn_is_specific_to_data(training->options)) return;
  simulation_add_observe(&training->train.simulation, schedule);
  if (ddqn_looks_at_reconstructions(training->options))
    simulation_add_reconstruct(&training->train.simulation, schedule);
}

static void add_decide(struct training *training, struct schedule *schedule) {
  if (!ddqn_is_specific_to_data(training->options)) {
    simulation_add_decide(&training->train.simulation, schedule);
    return;
  }
  schedule_add(schedule, &repeat_scans, training);
  schedule_add(schedule, &encode_running, training);
  schedule_add(schedule, &forward_online, training);
  add_choose(training, schedule, BATCH_logits);
  schedule_add(schedule, &system_end, NULL);
}

void ddqn_fill_play(struct training *training, struct schedule *schedule) {
  struct simulation *simulation = &training->train.simulation;
  add_decide(training, schedule);
  schedule_add(schedule, &explore, training);
  schedule_add(schedule, &system_acquire, simulation);
  simulation_add_observe(simulation, schedule);
  add_score(training, schedule);
  schedule_add(schedule, &keep_step, training);
  if (is_prioritised(training)) schedule_add(schedule, &mark_steps, training);
}

static const struct system *encode_of(const struct training *training) {
  return ddqn_looks_at_reconstructions(training->options) ? &system_encode_reconstruction
                                                          : &system_encode_policy;
}

/* What a policy sees of gathered steps. */
static void add_see(struct training *training, struct schedule *schedule) {
  struct simulation *simulation = &training->train.simulation;
  simulation_add_observe(simulation, schedule);
  if (ddqn_looks_at_reconstructions(training->options)) simulation_add_reconstruct(simulation, schedule);
}

static void add_forward(struct training *training, struct schedule *schedule) {
  struct simulation *simulation = &training->train.simulation;
  schedule_add(schedule, encode_of(training), simulation);
  struct system *forward = schedule_add(schedule, &system_forward_policy, simulation);
  if (ddqn_looks_at_reconstructions(training->options)) forward->writes &= ~SET(BATCH_value);
}

static void add_target(struct training *training, struct schedule *schedule) {
  const struct system *encode = encode_of(training);
  struct system *target = schedule_add(schedule, &encode_target, training);
  target->reads = encode->reads;
  for (int i = 0; i < SYSTEM_KERNELS_MOST; i++) target->kernels[i] = encode->kernels[i];
  schedule_add(schedule, &forward_target, training);
}

static void add_both(struct training *training, struct schedule *schedule, bool twice) {
  bool data = ddqn_is_specific_to_data(training->options);
  if (!data) add_see(training, schedule);
  if (!data && twice) add_forward(training, schedule);
  if (data && twice) {
    schedule_add(schedule, &encode_after, training);
    schedule_add(schedule, &forward_online, training);
  }
  if (twice) add_choose(training, schedule, BATCH_logits);
  if (!data) add_target(training, schedule);
  if (data) {
    schedule_add(schedule, &encode_target_steps, training);
    schedule_add(schedule, &forward_target_steps, training);
  }
  if (!twice) add_choose(training, schedule, BATCH_target_logits);
}

void ddqn_fill_targets(struct training *training, struct schedule *schedule) {
  if (is_prioritised(training)) schedule_add(schedule, &sum_priorities, training);
  schedule_add(schedule, is_prioritised(training) ? &pick : &draw, training);
  schedule_add(schedule, &repeat_passes, training);
  schedule_add(schedule, &gather_after, training);
  add_both(training, schedule, training->options->ddqn.estimator == DDQN_DOUBLE);
  schedule_add(schedule, &targets, training);
  schedule_add(schedule, &system_end, NULL);
}

static void add_loss(struct training *training, struct schedule *schedule) {
  struct system *row = schedule_add(schedule, &loss, training);
  bool critic =
      !ddqn_is_specific_to_data(training->options) && !ddqn_looks_at_reconstructions(training->options);
  if (is_prioritised(training)) row->reads |= SET(ROLLOUT_weight);
  if (critic) row->writes |= SET(BATCH_value_gradient);
}

static void add_update(struct training *training, struct schedule *schedule) {
  struct simulation *simulation = &training->train.simulation;
  schedule_add(schedule, &system_zero_policy, simulation);
  schedule_add(schedule, &repeat_passes, training);
  schedule_add(schedule, &gather_drawn, training);
  add_see(training, schedule);
  add_forward(training, schedule);
  add_loss(training, schedule);
  struct system *backward = schedule_add(schedule, &system_backward_policy, simulation);
  if (ddqn_looks_at_reconstructions(training->options)) backward->reads &= ~SET(BATCH_value_gradient);
  schedule_add(schedule, &system_end, NULL);
  policy_task_add_optimise(training, schedule);
}

static void add_update_of_steps(struct training *training, struct schedule *schedule) {
  schedule_add(schedule, &zero_steps, training);
  schedule_add(schedule, &repeat_passes, training);
  schedule_add(schedule, &gather_drawn, training);
  schedule_add(schedule, &encode_drawn, training);
  schedule_add(schedule, &forward_online, training);
  add_loss(training, schedule);
  schedule_add(schedule, &backward_steps, training);
  schedule_add(schedule, &system_end, NULL);
  schedule_add(schedule, &optimise_steps, training);
}

void ddqn_fill_update(struct training *training, struct schedule *schedule) {
  (ddqn_is_specific_to_data(training->options) ? add_update_of_steps : add_update)(training, schedule);
}

void ddqn_fill_copy(struct training *training, struct schedule *schedule) {
  schedule_add(schedule, &copy, training);
}

void ddqn_fill_start(struct training *training, struct schedule *schedule) {
  if (ddqn_is_specific_to_data(training->options)) add_begin(training, schedule);
}

void ddqn_fill_greedy(struct training *training, struct schedule *schedule) {
  if (!ddqn_is_specific_to_data(training->options)) return;
  add_decide(training, schedule);
  schedule_add(schedule, &system_acquire, &training->train.simulation);
}

/* ---- the opening ----------------------------------------------------------------------------------------
 */

static const struct system clear_priorities = {.name = "clear_priorities",
                                               .doc = "no step may be drawn yet",
                                               .writes = SET(ROLLOUT_priority),
                                               .loads = true};

void ddqn_clear_replay(struct training *training) {
  struct world *world = training_world(training);
  size_t rows = world_capacity(world, TABLE_ROLLOUT);
  struct arena *arena = arena_open();
  uint32_t *order = ARENA_NEW(arena, uint32_t, rows);
  for (size_t i = 0; i < rows; i++) order[i] = (uint32_t)i;
  world_put(world, &system_order_rows, ROLLOUT_order, 0, rows, order);
  struct world_use before = world_enter(world, &clear_priorities);
  world_fill(world, ROLLOUT_priority, never_drawn);
  world_leave(world, before);
  arena_close(arena);
}

const struct system *const ddqn_opened_rows[] = {&system_order_rows, &clear_priorities, NULL};

const struct system *const ddqn_systems[] = {&keep_slices,
                                             &take_up,
                                             &explore,
                                             &keep_step,
                                             &mark_steps,
                                             &repeat_passes,
                                             &repeat_scans,
                                             &gather_drawn,
                                             &gather_after,
                                             &encode_running,
                                             &encode_drawn,
                                             &encode_after,
                                             &forward_online,
                                             &zero_steps,
                                             &backward_steps,
                                             &optimise_steps,
                                             &choose,
                                             &draw,
                                             &sum_priorities,
                                             &pick,
                                             &encode_target,
                                             &forward_target,
                                             &encode_target_steps,
                                             &forward_target_steps,
                                             &targets,
                                             &loss,
                                             &copy,
                                             NULL};
