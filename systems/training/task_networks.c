#include "systems/training/task_networks.h"

#include "systems/scan/reconstruction.h"

size_t training_scans(const struct training *training) {
  size_t scans = world_capacity(training->train.simulation.world, TABLE_ENV);
  size_t others = world_capacity(training->validation.simulation.world, TABLE_ENV);
  return scans > others ? scans : others;
}

size_t training_coils(const struct training *training) {
  size_t coils = training->train.simulation.plan.coils, others = training->validation.simulation.plan.coils;
  return coils > others ? coils : others;
}

/* ---- reconstructors ------------------------------------------------------------------------------------ */

void training_close_reconstructor(struct training *training) {
  reconstructor_close(&training->reconstructor);
}

struct graph *training_reconstructor_graph(const struct training *training) {
  return training->reconstructor.graph;
}

void training_share_reconstructor(struct training *training) {
  training->train.simulation.reconstructor = training->validation.simulation.reconstructor =
      &training->reconstructor;
}

/* An oracle's candidates fill more of a pass than scans do. */
static struct reconstructor_setup fixed_setup(const struct training *training) {
  const struct simulation *simulation = &training->train.simulation;
  size_t most = simulation->plan.deciders & DECIDES_ORACLE ? SIZE_MAX : training_scans(training);
  struct reconstructor_setup setup =
      reconstructor_setup_of(training->device, simulation->kernels, training->options, most);
  reconstructor_set_coils(&setup, training_coils(training));
  setup.planned = training->task->networks[0] != &network_fixed_reconstructor;
  return setup;
}

/* Methods without a network have nothing to open (systems/scan/reconstruction.h). */
static bool has_network(const struct training *training) {
  return reconstruction_trains(training->options);
}

static bool measure_reconstructor(struct training *training, struct network_need *need, struct error *error) {
  if (!has_network(training)) return true;
  struct reconstructor_setup setup = fixed_setup(training);
  return reconstructor_measure(&setup, training->config.reconstructor, need, error) ||
         fail_in(error, "the reconstructor");
}

static bool open_reconstructor(struct training *training, struct error *error) {
  if (!has_network(training)) return true;
  struct reconstructor_setup setup = fixed_setup(training);
  if (!reconstructor_begin(&training->reconstructor, training->config.reconstructor, &setup,
                           training->options->world.seed, error))
    return fail_in(error, "the reconstructor");
  training_share_reconstructor(training);
  return true;
}

static const char *reconstructor_origin(const struct training *training) {
  return has_network(training) ? "reconstructor" : "";
}

const struct task_network network_fixed_reconstructor = {.measure = measure_reconstructor,
                                                         .open = open_reconstructor,
                                                         .close = training_close_reconstructor,
                                                         .graph = training_reconstructor_graph,
                                                         .origin = reconstructor_origin};

/* ---- policies ------------------------------------------------------------------------------------------ */

void training_close_policy(struct training *training) {
  policy_close(&training->policy);
}

struct graph *training_policy_graph(const struct training *training) {
  return training->policy.graph;
}

void training_share_policy(struct training *training) {
  training->train.simulation.policy = training->validation.simulation.policy = &training->policy;
}

static struct policy_setup fixed_policy(const struct training *training) {
  struct policy_setup setup = policy_setup_of(training->device, training->train.simulation.kernels,
                                              training->options, training_scans(training));
  setup.planned = true;
  return setup;
}

static bool measure_policy(struct training *training, struct network_need *need, struct error *error) {
  struct policy_setup setup = fixed_policy(training);
  return policy_measure(&setup, training->config.policy, need, error) || fail_in(error, "the policy");
}

/* Validation takes the most probable actions. */
static bool open_policy(struct training *training, struct error *error) {
  struct policy_setup setup = fixed_policy(training);
  training_share_policy(training);
  training_made_from(training, "actions", training->config.drawn ? "drawn" : "best");
  training->train.simulation.best = !training->config.drawn;
  training->validation.simulation.best = true;
  return policy_load(&training->policy, training->config.policy, &setup, error) ||
         fail_in(error, "the policy");
}

static const char *policy_origin(const struct training *training) {
  (void)training;
  return "policy";
}

const struct task_network network_fixed_policy = {.measure = measure_policy,
                                                  .open = open_policy,
                                                  .close = training_close_policy,
                                                  .graph = training_policy_graph,
                                                  .origin = policy_origin};
