/* DDQN's networks: what learns, and an earlier state of it, the target network. Subject-specific they are
 * policies whose logits are values (systems/networks/policy.h), so that a scan by the most probable action
 * takes the most valuable one. */
#include "systems/replay/ddqn.h"
#include "systems/networks/checkpoint.h"
#include "systems/sampling/geometry.h"

enum { HIDDEN = 32 };

bool ddqn_is_specific_to_data(const struct options *options) {
  return options->ddqn.specific == DDQN_DATA_SET;
}

bool ddqn_looks_at_reconstructions(const struct options *options) {
  return !ddqn_is_specific_to_data(options) && options->ddqn.observes == DDQN_RECONSTRUCTION;
}

struct ddqn *ddqn_of(const struct training *training) {
  return training_own(training, sizeof(struct ddqn));
}

static bool is_specific_to_data(const struct training *training) {
  return ddqn_is_specific_to_data(training->options);
}

/* ---- data-set-specific --------------------------------------------------------------------------------- */

void ddqn_append_steps(struct graph *graph, int actions, tensor *steps, tensor *logits) {
  tensor x = *steps = graph_input(graph, "steps", actions, 1, 1);
  for (int i = 0; i < 3; i++)
    x = relu(graph, linear(graph, x, graph_name(graph, "layers.%d", 2 * i), HIDDEN));
  *logits = linear(graph, x, "layers.6", actions);
}

static bool open_steps(struct training *training, struct ddqn_network *network, bool train,
                       struct error *error) {
  const struct ddqn *ddqn = ddqn_of(training);
  struct graph_setup setup = {.device = training->device,
                              .kernels = training->train.simulation.kernels,
                              .batch = ddqn->replay.scans > ddqn->most ? ddqn->replay.scans : ddqn->most,
                              .train = train};
  graph_open(&network->graph);
  ddqn_append_steps(network->graph, (int)training->acquisition.shape.actions, &network->steps,
                    &network->logits);
  return graph_plan(network->graph, &setup, error) && kernel_need(setup.kernels, "policy_act", error);
}

static size_t taken_bytes(const struct training *training) {
  return sizeof(float) * ddqn_of(training)->online_steps.graph->batch * training->acquisition.shape.actions;
}

static void bind_steps(struct training *training, struct ddqn_network *network, bool target) {
  struct world *world = training_world(training);
  size_t rows = network->graph->batch;
  world_bind(world, BATCH_steps, graph_value(network->graph, network->steps), rows);
  world_bind(world, target ? BATCH_target_logits : BATCH_logits, graph_value(network->graph, network->logits),
             rows);
  world_bind(world, BATCH_taken, ddqn_of(training)->taken, rows);
  if (!target)
    world_bind(world, BATCH_logits_gradient, graph_gradient(network->graph, network->logits), rows);
  watch_graph(&network->watch, network->graph, target ? TARGET_parameters : POLICY_parameters);
}

static bool open_both_steps(struct training *training, struct error *error) {
  struct ddqn *ddqn = ddqn_of(training);
  if (!open_steps(training, &ddqn->online_steps, true, error)) return false;
  ddqn->taken = device_buffer(training->device, taken_bytes(training), "masks", error);
  graph_start(ddqn->online_steps.graph, training->options->world.seed);
  return ddqn->taken;
}

/* ---- what learns --------------------------------------------------------------------------------------- */

struct policy_setup ddqn_setup(struct device *device, struct kernels *kernels,
                               const struct options *options) {
  size_t batch = options->ddqn.batch, scans = options->ddqn.scans;
  return policy_task_setup(device, kernels, options, batch > scans ? batch : scans,
                           ddqn_looks_at_reconstructions(options));
}

static bool open_learns(struct training *training, struct error *error) {
  struct ddqn *ddqn = ddqn_of(training);
  size_t rows = ddqn->policy.rows = ddqn->batch > ddqn->replay.scans ? ddqn->batch : ddqn->replay.scans;
  if (is_specific_to_data(training)) return open_both_steps(training, error);
  training->train.simulation.best = training->validation.simulation.best = true;
  return policy_task_open(training, rows, ddqn_looks_at_reconstructions(training->options), NULL, error);
}

static void close_learns(struct training *training) {
  struct ddqn *ddqn = ddqn_of(training);
  if (!is_specific_to_data(training)) {
    training_close_policy(training);
    return;
  }
  if (ddqn->taken) device_release(training->device, ddqn->taken, taken_bytes(training));
  graph_close(ddqn->online_steps.graph);
}

static struct graph *graph_of(const struct training *training) {
  return is_specific_to_data(training) ? ddqn_of(training)->online_steps.graph : training->policy.graph;
}

static struct optimiser_setup optimiser(const struct options *options) {
  struct optimiser_setup setup = optimise_defaults(OPTIMISER_ADAM, options->ddqn.rate);
  setup.clip = options->ddqn.clip;
  return setup;
}

static bool begin_learns(struct training *training, struct error *error) {
  return is_specific_to_data(training) || policy_task_begin(training, error);
}

static const char *origin_of(const struct training *training) {
  return is_specific_to_data(training) ? "" : policy_task_origin(training);
}

/* The mask that it gives all scans, for sampler fixed_mask, stands beside a data-set-specific one. */
static bool write_learns(const struct training *training, struct store *store, struct error *error) {
  const struct ddqn *ddqn = ddqn_of(training);
  size_t actions = training->acquisition.shape.actions;
  if (!is_specific_to_data(training)) return policy_task_write(training, store, error);
  return store_put_text(store, "network", training->task->network_by(training->options), error) &&
         store_put_text(store, "scan_geometry", geometry_of(&training->acquisition)->name, error) &&
         checkpoint_write_parameters(store, "param", ddqn->online_steps.graph, error) &&
         (!ddqn->mask || store_write(store, "mask", STORE_U8, 1, &actions, ddqn->mask, false, error));
}

static bool read_learns(struct training *training, struct store *store, struct error *error) {
  struct ddqn *ddqn = ddqn_of(training);
  if (!is_specific_to_data(training)) return policy_task_read(training, store, error);
  if (!store_has(store, "mask")) return true;
  ddqn->mask = ddqn->room;
  return store_read_known(store, "mask", STORE_U8, training->acquisition.shape.actions, ddqn->mask, error);
}

const struct task_network ddqn_learns = {.open = open_learns,
                                         .close = close_learns,
                                         .graph = graph_of,
                                         .optimiser = optimiser,
                                         .begin = begin_learns,
                                         .origin = origin_of,
                                         .write = write_learns,
                                         .read = read_learns};

/* ---- the target network -------------------------------------------------------------------------------- */

static struct policy_setup target_setup(const struct training *training) {
  struct policy_setup setup =
      ddqn_setup(training->device, training->train.simulation.kernels, training->options);
  setup.train = false;
  setup.planned = true;
  return setup;
}

static bool measure_target(struct training *training, struct network_need *need, struct error *error) {
  struct policy_setup setup = target_setup(training);
  return is_specific_to_data(training) || policy_measure(&setup, NULL, need, error);
}

static struct graph *graph_of_target(const struct training *training) {
  const struct ddqn *ddqn = ddqn_of(training);
  return is_specific_to_data(training) ? ddqn->target_steps.graph : ddqn->target.graph;
}

static bool open_target(struct training *training, struct error *error) {
  struct ddqn *ddqn = ddqn_of(training);
  struct policy_setup setup = target_setup(training);
  if (is_specific_to_data(training)) return open_steps(training, &ddqn->target_steps, false, error);
  setup.batch = training->policy.batch;
  return policy_open(&ddqn->target, &setup, error);
}

static void close_target(struct training *training) {
  struct ddqn *ddqn = ddqn_of(training);
  if (is_specific_to_data(training))
    graph_close(ddqn->target_steps.graph);
  else
    policy_close(&ddqn->target);
}

/* It starts as what learns. */
static bool begin_target(struct training *training, struct error *error) {
  training_run_list(training, DDQN_COPY);
  return device_finish(training->device, error);
}

static bool write_target(const struct training *training, struct store *store, struct error *error) {
  return checkpoint_write_parameters(store, "target", graph_of_target(training), error);
}

static bool read_target(struct training *training, struct store *store, struct error *error) {
  if (!checkpoint_read_parameters(store, "target", graph_of_target(training), error)) return false;
  if (!is_specific_to_data(training)) policy_changed(&ddqn_of(training)->target);
  return true;
}

const struct task_network ddqn_target = {.measure = measure_target,
                                         .open = open_target,
                                         .close = close_target,
                                         .graph = graph_of_target,
                                         .begin = begin_target,
                                         .write = write_target,
                                         .read = read_target};

/* ---- ports --------------------------------------------------------------------------------------------- */

static void bind_policy(struct world *world, struct policy *policy, bool target) {
  if (!target) {
    policy_bind(policy, world);
    return;
  }
  world_bind(world, BATCH_observation, policy->input, policy->batch);
  world_bind(world, BATCH_taken, policy->mask, policy->batch);
  world_bind(world, BATCH_target_logits, policy->logits, policy->batch);
  policy->watch.in = SET(BATCH_observation) | SET(BATCH_taken);
  policy->watch.out = SET(BATCH_target_logits);
  watch_graph(&policy->watch, policy->graph, TARGET_parameters);
}

void ddqn_bind(struct training *training, bool target) {
  struct ddqn *ddqn = ddqn_of(training);
  if (is_specific_to_data(training))
    bind_steps(training, target ? &ddqn->target_steps : &ddqn->online_steps, target);
  else
    bind_policy(training_world(training), target ? &ddqn->target : &training->policy, target);
}
