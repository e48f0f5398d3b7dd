#include "systems/networks/policy.h"

#include "components/components.h"
#include "engine/base/log.h"
#include "systems/evaluator/net_evaluator.h"
#include "systems/networks/checkpoint.h"
#include "systems/classifier/net_classifier.h"
#include "systems/networks/networks.h"

#include <string.h>

/* The factor of the last maps' gradients, of L2S's policy and of a dense one: they are some hundredths of those of the
 * logits, the rows' shares of some units, where the weights between are orthogonal and wide; about a thousandth where
 * they start as PyTorch's. */
static const double maps_scale[] = {64, 1024};

struct policy_setup policy_setup_of(struct device *device, struct kernels *kernels, const struct options *options,
                                    size_t most) {
  return (struct policy_setup){.device = device,
                               .kernels = kernels,
                               .shape = scan_shape_of(options),
                               .channels = options->policy.channels,
                               .pools = options->policy.pools,
                               .hidden = options->policy.hidden,
                               .precision = (enum block_precision)options->policy.precision,
                               .batch = options->policy.batch < most ? options->policy.batch : most};
}

/* ---- opening ------------------------------------------------------------------------------------------- */

static tensor append(void *owner, struct graph *graph, tensor *in) {
  struct policy *policy = owner;
  const struct policy_setup *setup = &policy->setup;
  int actions = (int)setup->shape.actions;
  *in = graph_input(graph, "observation", 1, (int)setup->shape.height, (int)setup->shape.width);
  policy->lines = graph_input(graph, "mask", actions, 1, 1);
  if (setup->evaluator) return policy->heads.logits = net_evaluator(graph, *in, (int)setup->channels);
  tensor maps = (setup->dense ? net_pgmri_maps : net_policy_maps)(graph, *in, (int)setup->channels,
                                                                  (int)setup->pools);
  if (setup->classifier)
    policy->heads.logits = net_classifier_logits(graph, maps, (int)setup->hidden, actions);
  else if (setup->dense)
    policy->heads.logits = net_pgmri_logits(graph, maps, (int)setup->hidden, actions);
  else
    policy->heads = net_policy_heads(graph, maps, policy->lines, (int)setup->hidden);
  return maps;
}

static const struct network_desc *desc_of(const struct policy_setup *setup) {
  if (setup->classifier) return &network_classifier;
  return setup->evaluator ? &network_evaluator : setup->dense ? &network_pgmri : &network_policy;
}

static struct network_setup network_setup(struct policy *policy) {
  const struct policy_setup *setup = &policy->setup;
  return (struct network_setup){.desc = desc_of(setup),
                                .device = setup->device,
                                .kernels = setup->kernels,
                                .precision = setup->precision,
                                .batch = setup->batch,
                                .train = setup->train,
                                .input_gradient = setup->train && setup->evaluator,
                                .portable = setup->portable || setup->evaluator,
                                .whole = setup->whole,
                                .planned = setup->planned,
                                .beside = {setup->beside},
                                .owner = policy,
                                .append = append};
}

bool policy_check(const struct policy_setup *setup, struct error *error) {
  struct policy policy = {.setup = *setup};
  struct network_setup network = network_setup(&policy);
  return network_check_path(&network, error);
}

static void offer(struct policy *policy) {
  const struct graph *graph = policy->network.path.graph;
  policy->batch = policy->network.path.batch;
  policy->graph = policy->network.path.graph;
  policy->blocks = policy->network.path.blocks;
  policy->input = policy->network.path.pass[0].ends.input;
  policy->mask = graph_value(graph, policy->lines);
  policy->logits = graph_value(graph, policy->heads.logits);
  if (!policy->setup.dense) policy->value = graph_value(graph, policy->heads.value);
  if (!policy->setup.train) return;
  policy->logits_gradient = graph_gradient(graph, policy->heads.logits);
  if (!policy->setup.dense) policy->value_gradient = graph_gradient(graph, policy->heads.value);
}

static bool need_kernels(const struct policy_setup *setup, struct error *error) {
  if (setup->classifier) return kernel_need(setup->kernels, "class_gradient", error);
  return kernel_need(setup->kernels, "policy_act", error) &&
         (!setup->train || setup->evaluator ||
          kernel_need(setup->kernels, setup->dense ? "policy_reinforce" : "policy_loss", error));
}

bool policy_open(struct policy *policy, const struct policy_setup *setup, struct error *error) {
  *policy = (struct policy){.setup = *setup, .scale = 1};
  struct network_setup network = network_setup(policy);
  if (network_open(&policy->network, &network, error) && need_kernels(setup, error)) {
    offer(policy);
    return true;
  }
  policy_close(policy);
  return false;
}

void policy_close(struct policy *policy) {
  network_close(&policy->network);
  *policy = (struct policy){0};
}

static component_set outputs_of(const struct policy *policy) {
  return SET(BATCH_logits) | (policy->value ? SET(BATCH_value) : 0);
}

static component_set gradients_of(const struct policy *policy) {
  return SET(BATCH_logits_gradient) | (policy->value_gradient ? SET(BATCH_value_gradient) : 0);
}

void policy_bind(struct policy *policy, struct world *world) {
  size_t rows = policy->batch;
  world_bind(world, BATCH_observation, policy->input, rows);
  world_bind(world, BATCH_taken, policy->mask, rows);
  world_bind(world, BATCH_logits, policy->logits, rows);
  world_bind(world, BATCH_value, policy->value, rows);
  world_bind(world, BATCH_logits_gradient, policy->logits_gradient, rows);
  world_bind(world, BATCH_value_gradient, policy->value_gradient, rows);
  policy->watch.in = SET(BATCH_observation) | SET(BATCH_taken);
  policy->watch.out = outputs_of(policy);
  policy->watch.out_gradient = gradients_of(policy);
  watch_graph(&policy->watch, policy->graph, POLICY_parameters);
}

/* ---- running ------------------------------------------------------------------------------------------- */

void policy_forward_part(struct policy *policy, size_t place, size_t images) {
  REQUIRE(policy->blocks, "the graph keeps nothing of parts");
  watch_touch(&policy->watch, SET(BATCH_observation) | SET(BATCH_taken) | SET(POLICY_parameters),
                outputs_of(policy) | SET(POLICY_kept));
  blocks_forward_part(policy->blocks, policy->input, place, policy->network.path.pass[0].ends.output, images);
  path_forward_heads(&policy->network.path, images);
}

void policy_forward_kept(struct policy *policy, size_t images) {
  REQUIRE(policy->blocks, "the graph keeps nothing of parts");
  watch_touch(&policy->watch, SET(BATCH_taken) | SET(POLICY_kept), outputs_of(policy));
  blocks_maps(policy->blocks, policy->network.path.pass[0].ends.output, 0, images);
  path_forward_heads(&policy->network.path, images);
}

void policy_backward(struct policy *policy, size_t images) {
  REQUIRE(policy->logits_gradient, "the policy was not opened to train");
  path_backward(&policy->network.path, images, policy->scale, false);
}

void policy_changed(struct policy *policy) {
  path_changed(&policy->network.path);
}

void policy_loss(struct policy *policy, const struct policy_update *update, size_t first, size_t images,
                 double share) {
  REQUIRE(policy->value_gradient, "the policy was not opened to train, or has no critic");
  policy->scale = maps_scale[0] / share;
  watch_touch(&policy->watch, SET(BATCH_logits) | SET(BATCH_taken) | SET(BATCH_value), gradients_of(policy));
  kernel_run(policy->setup.kernels, "policy_loss", images,
             ARGS(arg_buffer(ARG_IN, ELEMENT_U32, update->order), graph_arg(ARG_IN, policy->logits),
                  graph_arg(ARG_IN, policy->mask), graph_arg(ARG_IN, policy->value),
                  arg_buffer(ARG_IN, ELEMENT_U32, update->action), graph_arg(ARG_IN, update->log_prob),
                  graph_arg(ARG_IN, update->advantage), graph_arg(ARG_IN, update->target),
                  graph_arg(ARG_OUT, policy->logits_gradient), graph_arg(ARG_OUT, policy->value_gradient),
                  arg_buffer(ARG_INOUT, ELEMENT_F128, update->terms), arg_u32((uint32_t)first),
                  arg_f32((float)share), arg_f32(update->entropy_weight), arg_f32(update->value_weight),
                  arg_f32(update->clip)));
}

void policy_reinforce(struct policy *policy, const struct policy_draws *draws, size_t first, size_t images,
                      double size) {
  REQUIRE(policy->logits_gradient, "the policy was not opened to train");
  policy->scale = maps_scale[1] / size;
  watch_touch(&policy->watch, SET(BATCH_logits) | SET(BATCH_taken), gradients_of(policy));
  kernel_run(policy->setup.kernels, "policy_reinforce", images,
             ARGS(graph_arg(ARG_IN, policy->logits), graph_arg(ARG_IN, policy->mask),
                  arg_buffer(ARG_IN, ELEMENT_U32, draws->action), graph_arg(ARG_IN, draws->advantage),
                  graph_arg(ARG_OUT, policy->logits_gradient),
                  arg_buffer(ARG_INOUT, ELEMENT_C64, draws->terms), arg_u32((uint32_t)first),
                  arg_u32((uint32_t)draws->slices), arg_u32((uint32_t)draws->each), arg_u32((uint32_t)draws->draws),
                  arg_u32((uint32_t)draws->steps), arg_u32(draws->shared)));
}

/* ---- files --------------------------------------------------------------------------------------------- */

struct network_facts policy_facts(const struct policy *policy) {
  const struct policy_setup *setup = &policy->setup;
  struct network_facts facts = {.channels = setup->channels,
                                .pools = setup->pools,
                                .hidden = setup->hidden,
                                .shape = setup->shape,
                                .initial_lines = policy->initial_lines,
                                .budget = policy->budget,
                                .classes = setup->shape.actions};
  strcpy(facts.geometry, policy->geometry);
  return facts;
}

bool policy_write(const struct policy *policy, struct store *store, struct error *error) {
  struct network_facts facts = policy_facts(policy);
  return network_write(&policy->network, &facts, store, error);
}

bool policy_same(const struct policy *policy, struct store *store, struct error *error) {
  struct network_facts facts = policy_facts(policy);
  return facts_same(desc_of(&policy->setup)->facts, &facts, store, error);
}

bool policy_is_dense(const char *path, bool *dense, struct error *error) {
  struct store *store;
  *dense = false;
  if (!store_open(&store, path, error)) return false;
  *dense = facts_are(network_pgmri.facts, store) || facts_are(network_evaluator.facts, store); /* what is no policy at all is refused with more to say by policy_load */
  store_close(store);
  return true;
}

bool policy_stored(const struct policy_setup *setup, struct store *store, const char *group,
                   struct error *error) {
  struct policy described = {.setup = *setup};
  struct network_setup network = network_setup(&described);
  return network_stored(&network, store, group, error);
}

/* Where the file tells of no scans, their geometry is not known either. */
static bool take(struct network_setup *network, struct store *store, struct error *error) {
  struct policy *policy = network->owner;
  struct policy_setup *setup = &policy->setup;
  struct network_facts facts = policy_facts(policy);
  setup->evaluator = facts_are(network_evaluator.facts, store) && !setup->classifier;
  setup->dense = setup->classifier || setup->evaluator || facts_are(network_pgmri.facts, store);
  network->desc = desc_of(setup);
  if (!facts_read(network->desc->facts, &facts, store, error)) return false;
  setup->channels = (uint32_t)facts.channels;
  setup->pools = (uint32_t)facts.pools;
  setup->hidden = (uint32_t)facts.hidden;
  if (setup->classifier) setup->shape.actions = (uint32_t)facts.classes;
  policy->initial_lines = (uint32_t)facts.initial_lines;
  policy->budget = (uint32_t)facts.budget;
  if (policy->budget) strcpy(policy->geometry, facts.geometry);
  store_text(store, "origin_reconstructor", policy->reconstructor, sizeof policy->reconstructor);
  return true;
}

static bool same_sizes(const struct policy_setup *own, const struct policy_setup *other,
                       struct error *error) {
  if (own->channels == other->channels && own->pools == other->pools && own->hidden == other->hidden)
    return true;
  return fail_usage(error,
                    "its policy has policy.channels %u, policy.pools %u and policy.hidden %u, the scene says "
                    "%u, %u and %u; "
                    "set them to the file's, or start from another one",
                    other->channels, other->pools, other->hidden, own->channels, own->pools, own->hidden);
}

static bool same_geometry(const struct policy *policy, const char *geometry, struct error *error) {
  if (!*policy->geometry || !strcmp(policy->geometry, geometry)) return true;
  return fail_usage(
      error, "its policy chooses among %s, the scene's acquisition.geometry is %s; start from another one",
      policy->geometry, geometry);
}

bool policy_fits(const struct policy_setup *setup, const char *geometry, const char *path,
                 struct error *error) {
  struct policy described = {.setup = *setup};
  struct network_setup network = network_setup(&described);
  struct store *store;
  if (!store_open(&store, path, error)) return false;
  bool good = facts_kind(desc_of(setup)->facts, store, error) && take(&network, store, error) &&
              same_sizes(setup, &described.setup, error) && same_geometry(&described, geometry, error) &&
              network_stored(&network, store, "param", error);
  store_close(store);
  return good || fail_in(error, "%s", path);
}

bool policy_measure(const struct policy_setup *setup, const char *path, struct network_need *need,
                    struct error *error) {
  struct policy described = {.setup = *setup};
  struct network_setup network = network_setup(&described);
  return network_measure_stored(&network, path, take, need, error);
}

bool policy_load(struct policy *policy, const char *path, const struct policy_setup *setup,
                 struct error *error) {
  *policy = (struct policy){.setup = *setup, .scale = 1};
  struct network_setup network = network_setup(policy);
  if (network_load(&policy->network, &network, path, take, error) && need_kernels(setup, error)) {
    offer(policy);
    return true;
  }
  policy_close(policy);
  return false;
}
