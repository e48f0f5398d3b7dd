#include "systems/networks/policy.h"

#include "components/components.h"
#include "engine/base/log.h"
#include "systems/networks/checkpoint.h"
#include "systems/networks/networks.h"

#include <string.h>

/* The second is PG-MRI's, dense. Gradients of the last maps are some hundredths of those of the logits, the rows' shares of some units,
 * where the weights between are orthogonal and wide; about a thousandth where they start as PyTorch's. */
static const double maps_scale[] = {64, 1024};

/* ---- opening ------------------------------------------------------------------------------------------- */

static bool build(struct policy *policy, struct error *error) {
  const struct policy_setup *setup = &policy->setup;
  struct graph *graph;
  graph_open(&graph);
  policy->graph = graph;
  policy->observation = graph_input(graph, "observation", 1, (int)setup->size, (int)setup->size);
  policy->lines = graph_input(graph, "mask", (int)setup->size, 1, 1);
  policy->maps = (setup->dense ? net_pgmri_maps : net_policy_maps)(graph, policy->observation,
                                                                   (int)setup->channels, (int)setup->pools);
  if (setup->dense)
    policy->heads.logits = net_pgmri_logits(graph, policy->maps, (int)setup->hidden, (int)setup->size);
  else
    policy->heads = net_policy_heads(graph, policy->maps, policy->lines, (int)setup->hidden);
  return graph_good(graph, error);
}

/* As many images a pass as fit, an optimiser's moments aside; when not even one does, the plan that follows
 * says so. */
static void fit_batch(struct policy *policy) {
  const struct device *device = policy->setup.device;
  struct graph *graph = policy->graph;
  size_t left = device->facts.memory - device->bytes;
  size_t beside = policy->setup.train ? 2 * sizeof(float) * graph->elements : 0;
  graph->largest = device->facts.largest;
  size_t room = graph_batch_within(graph, left > beside ? left - beside : 0, policy->setup.train, false);
  if (room >= policy->batch) return;
  policy->batch = room ? room : 1;
  if (room)
    log_info("%s has room for %zu image%s a pass through the policy, of the %zu asked for",
             device->facts.name, room, plural(room), policy->setup.batch);
}

static bool plan(struct policy *policy, struct error *error) {
  const struct policy_setup *setup = &policy->setup;
  struct graph_setup graph_setup = {
      .device = setup->device, .kernels = setup->kernels, .batch = policy->batch, .train = setup->train};
  return graph_plan(policy->graph, &graph_setup, error);
}

/* The fused encoder computes small maps two images at a time. */
static size_t input_bytes(const struct policy *policy) {
  return sizeof(float) * policy->setup.size * policy->setup.size * (policy->batch + policy->batch % 2);
}

static void close_parts(struct policy *policy) {
  if (policy->blocks) device_release(policy->setup.device, policy->input, input_bytes(policy));
  blocks_close(policy->blocks);
  graph_close(policy->graph);
  policy->blocks = NULL;
  policy->graph = NULL;
}

static bool try_fused(struct policy *policy, struct error *error) {
  const struct policy_setup *setup = &policy->setup;
  struct block_setup block_setup = {
      .batch = policy->batch, .precision = setup->precision, .train = setup->train};
  graph_give(policy->graph, policy->maps);
  if (setup->device->facts.matrix == MATRIX_NVIDIA || setup->device->facts.matrix == MATRIX_EMULATED)
    policy->graph->products = setup->precision == BLOCK_F32 ? PRODUCTS_SPLIT : PRODUCTS_ROUNDED;
  if (!plan(policy, error) ||
      !blocks_open(&policy->blocks, policy->graph, setup->device, setup->kernels, &block_setup, error))
    return false;
  policy->input = device_buffer(setup->device, input_bytes(policy), "the policy's input", error);
  if (!policy->input) return false;
  device_fill(setup->device, policy->input, 0, input_bytes(policy), 0);
  return true;
}

/* Halves the images a pass until they fit. */
static bool open_fused(struct policy *policy, struct error *error) {
  while (!try_fused(policy, error)) {
    close_parts(policy);
    if (policy->setup.whole)
      return fail_in(error, "%zu image%s a pass", policy->batch, plural(policy->batch));
    if (policy->batch == 1) return fail_in(error, "one image a pass");
    policy->batch /= 2;
    if (!build(policy, error)) return false;
  }
  if (policy->batch < policy->setup.batch)
    log_info("%s has room for %zu image%s a pass through the policy, of the %zu asked for",
             policy->setup.device->facts.name, policy->batch, plural(policy->batch), policy->setup.batch);
  return true;
}

static bool open_portable(struct policy *policy, struct error *error) {
  fit_batch(policy);
  if (!plan(policy, error)) return false;
  policy->input = graph_value(policy->graph, policy->observation);
  return true;
}

/* Whether the fused path runs; refused where the precision needs it and it does not. */
static bool choose_path(const struct policy *policy, bool *fused, struct error *error) {
  const struct policy_setup *setup = &policy->setup;
  struct error reason;
  *fused = !setup->portable && blocks_fit(policy->graph, setup->device, &reason);
  if (*fused || setup->precision == BLOCK_F32) return true;
  return fail(error,
              "the policy's precision is %s, the portable path computes in f32 only; set policy.precision to "
              "f32; the "
              "fused one cannot run: %.900s",
              block_precision_name(setup->precision), setup->portable ? "it was not wanted" : reason.text);
}

bool policy_check(const struct policy_setup *setup, struct error *error) {
  struct policy policy = {.setup = *setup};
  bool fused, good = build(&policy, error) && choose_path(&policy, &fused, error);
  graph_close(policy.graph);
  return good;
}

static bool open_path(struct policy *policy, struct error *error) {
  bool fused;
  if (!choose_path(policy, &fused, error)) return false;
  return (fused ? open_fused : open_portable)(policy, error);
}

static void find_buffers(struct policy *policy) {
  const struct graph *graph = policy->graph;
  policy->mask = graph_value(graph, policy->lines);
  policy->logits = graph_value(graph, policy->heads.logits);
  if (!policy->setup.dense) policy->value = graph_value(graph, policy->heads.value);
  if (!policy->setup.train) return;
  policy->logits_gradient = graph_gradient(graph, policy->heads.logits);
  if (!policy->setup.dense) policy->value_gradient = graph_gradient(graph, policy->heads.value);
}

static bool need_kernels(const struct policy_setup *setup, struct error *error) {
  return kernel_need(setup->kernels, "policy_act", error) &&
         (!setup->train ||
          kernel_need(setup->kernels, setup->dense ? "policy_reinforce" : "policy_loss", error));
}

bool policy_open(struct policy *policy, const struct policy_setup *setup, struct error *error) {
  *policy = (struct policy){.setup = *setup, .batch = setup->batch, .scale = 1};
  if (build(policy, error) && open_path(policy, error) && need_kernels(setup, error)) {
    find_buffers(policy);
    return true;
  }
  policy_close(policy);
  return false;
}

void policy_close(struct policy *policy) {
  close_parts(policy);
  *policy = (struct policy){0};
}

void policy_bind(const struct policy *policy, struct world *world) {
  size_t rows = policy->batch;
  world_bind(world, BATCH_observation, policy->input, rows);
  world_bind(world, BATCH_taken, policy->mask, rows);
  world_bind(world, BATCH_logits, policy->logits, rows);
  world_bind(world, BATCH_value, policy->value, rows);
  world_bind(world, BATCH_logits_gradient, policy->logits_gradient, rows);
  world_bind(world, BATCH_value_gradient, policy->value_gradient, rows);
}

/* ---- running ------------------------------------------------------------------------------------------- */

static void forward_heads(struct policy *policy, size_t images) {
  graph_set_images(policy->graph, images);
  graph_forward(policy->graph);
}

void policy_forward(struct policy *policy, size_t images) {
  if (policy->blocks)
    blocks_forward(policy->blocks, policy->input, graph_value(policy->graph, policy->maps), images);
  forward_heads(policy, images);
}

void policy_forward_part(struct policy *policy, size_t place, size_t images) {
  REQUIRE(policy->blocks, "the graph keeps nothing of parts");
  blocks_forward_part(policy->blocks, policy->input, place, graph_value(policy->graph, policy->maps), images);
  forward_heads(policy, images);
}

void policy_forward_kept(struct policy *policy, size_t images) {
  REQUIRE(policy->blocks, "the graph keeps nothing of parts");
  blocks_maps(policy->blocks, graph_value(policy->graph, policy->maps), 0, images);
  forward_heads(policy, images);
}

void policy_backward(struct policy *policy, size_t images) {
  REQUIRE(policy->logits_gradient, "the policy was not opened to train");
  REQUIRE(images == policy->graph->images, "%zu images; the last forward had %zu", images,
          policy->graph->images);
  graph_backward(policy->graph);
  if (policy->blocks)
    blocks_backward(policy->blocks, policy->input, graph_gradient(policy->graph, policy->maps), images,
                    policy->scale);
}

void policy_changed(struct policy *policy) {
  if (policy->blocks) blocks_pack(policy->blocks);
}

void policy_act(struct policy *policy, const struct policy_choice *choice, size_t first, size_t images,
                uint32_t seed, bool best) {
  kernel_run(policy->setup.kernels, "policy_act", images,
             ARGS(graph_arg(ARG_IN, policy->logits), graph_arg(ARG_IN, policy->mask),
                  arg_buffer(ARG_IN, ELEMENT_U32, choice->scan),
                  arg_buffer(ARG_IN, ELEMENT_U32, choice->step),
                  arg_buffer(ARG_INOUT, ELEMENT_U32, choice->action), graph_arg(ARG_INOUT, choice->log_prob),
                  arg_u32((uint32_t)first), arg_u32(seed), arg_u32(best)));
}

void policy_loss(struct policy *policy, const struct policy_update *update, size_t first, size_t images,
                 double share) {
  REQUIRE(policy->value_gradient, "the policy was not opened to train, or has no critic");
  policy->scale = maps_scale[0] / share;
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
  kernel_run(policy->setup.kernels, "policy_reinforce", images,
             ARGS(graph_arg(ARG_IN, policy->logits), graph_arg(ARG_IN, policy->mask),
                  arg_buffer(ARG_IN, ELEMENT_U32, draws->action), graph_arg(ARG_IN, draws->advantage),
                  graph_arg(ARG_OUT, policy->logits_gradient),
                  arg_buffer(ARG_INOUT, ELEMENT_C64, draws->terms), arg_u32((uint32_t)first),
                  arg_u32((uint32_t)draws->slices), arg_u32((uint32_t)draws->draws), arg_u32(draws->shared)));
}

/* ---- files --------------------------------------------------------------------------------------------- */

static const struct network_desc *desc_of(const struct policy_setup *setup) {
  return setup->dense ? &network_pgmri : &network_policy;
}

static struct network_facts facts_of(const struct policy *policy) {
  const struct policy_setup *setup = &policy->setup;
  struct network_facts facts = {.channels = setup->channels,
                                .pools = setup->pools,
                                .hidden = setup->hidden,
                                .size = (double)setup->size,
                                .initial_lines = policy->initial_lines,
                                .budget = policy->budget};
  strcpy(facts.geometry, policy->geometry);
  return facts;
}

bool policy_write(const struct policy *policy, struct store *store, struct error *error) {
  struct network_facts facts = facts_of(policy);
  return facts_write(desc_of(&policy->setup)->facts, &facts, store, error) &&
         checkpoint_write_parameters(store, "param", policy->graph, error);
}

bool policy_same(const struct policy *policy, struct store *store, struct error *error) {
  struct network_facts facts = facts_of(policy);
  return facts_same(desc_of(&policy->setup)->facts, &facts, store, error);
}

bool policy_is_dense(const char *path, bool *dense, struct error *error) {
  struct store *store;
  *dense = false;
  if (!store_open(&store, path, error)) return false;
  *dense = facts_are(network_pgmri.facts, store); /* what is no policy at all is refused with more to say by policy_load */
  store_close(store);
  return true;
}

/* Of scans that the file does not tell, their geometry is not known either. */
static bool read_facts(struct policy *policy, struct store *store, struct error *error) {
  struct policy_setup *setup = &policy->setup;
  struct network_facts facts = facts_of(policy);
  setup->dense = facts_are(network_pgmri.facts, store);
  if (!facts_read(desc_of(setup)->facts, &facts, store, error)) return false;
  setup->channels = (uint32_t)facts.channels;
  setup->pools = (uint32_t)facts.pools;
  setup->hidden = (uint32_t)facts.hidden;
  policy->initial_lines = (uint32_t)facts.initial_lines;
  policy->budget = (uint32_t)facts.budget;
  if (policy->budget) strcpy(policy->geometry, facts.geometry);
  store_text(store, "origin_reconstructor", policy->reconstructor, sizeof policy->reconstructor);
  return true;
}

bool policy_stored(const struct policy_setup *setup, struct store *store, const char *group,
                   struct error *error) {
  struct policy described = {.setup = *setup};
  bool good = build(&described, error) && checkpoint_check_parameters(store, group, described.graph, error);
  graph_close(described.graph);
  return good;
}

static void take_origin(struct policy *policy, const struct policy *read) {
  policy->initial_lines = read->initial_lines;
  policy->budget = read->budget;
  strcpy(policy->geometry, read->geometry);
  strcpy(policy->reconstructor, read->reconstructor);
}

bool policy_load(struct policy *policy, const char *path, const struct policy_setup *setup,
                 struct error *error) {
  struct policy read = {.setup = *setup};
  struct store *store;
  *policy = (struct policy){0};
  if (!store_open(&store, path, error)) return false;
  bool good = read_facts(&read, store, error) && policy_stored(&read.setup, store, "param", error) &&
              policy_open(policy, &read.setup, error);
  if (good && !checkpoint_read_parameters(store, "param", policy->graph, error)) {
    policy_close(policy);
    good = false;
  }
  store_close(store);
  if (!good) return fail_in(error, "%s", path);
  take_origin(policy, &read);
  policy_changed(policy);
  return true;
}
