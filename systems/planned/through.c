#include "systems/planned/through.h"

#include "components/components.h"
#include "kernels/kernels.h"
#include "systems/networks/checkpoint.h"
#include "systems/networks/net_pgmri.h"
#include "systems/sampling/geometry.h"

#include <string.h>

static const float SHARPNESS = 10; /* of the probabilities: sigmoid(10 score) */

/* ---- the graph of masks -------------------------------------------------------------------------------- */

struct net_through_setup net_through_setup(const struct options *options, uint32_t budget) {
  return (struct net_through_setup){.width = (int)scan_shape_of(options).width,
                                    .steps = options->straight_through.steps,
                                    .budget = budget,
                                    .seed = options->world.seed,
                                    .slope = (float)options->straight_through.slope,
                                    .softplus = options->straight_through.probability == THROUGH_SOFTPLUS};
}

uint32_t net_through_lines(uint32_t budget, uint32_t steps, uint32_t step) {
  uint32_t each = budget / steps;
  return step + 1 < steps ? each : budget - each * (steps - 1);
}

static tensor probability(struct graph *graph, const struct net_through_setup *setup, tensor scores, tensor taken) {
  return setup->softplus ? softplus_share(graph, scores, taken) : sigmoid(graph, scale(graph, scores, SHARPNESS));
}

struct net_through net_through(struct graph *graph, const struct net_through_setup *setup) {
  struct net_through net = {.initial = graph_input(graph, "initial", 1, 1, setup->width),
                            .scan = graph_input(graph, "scan", 1, 1, 1)};
  for (uint32_t step = 0; step < setup->steps; step++) {
    net.scores[step] = graph_input(graph, graph_name(graph, "scores.%u", step), 1, 1, setup->width);
    graph_want(graph, net.scores[step]);
  }
  net.mask[0] = net.initial;
  net.end[0] = graph->nodes;
  for (uint32_t step = 0; step < setup->steps; step++) {
    tensor before = net.mask[step];
    uint32_t lines = net_through_lines(setup->budget, setup->steps, step);
    tensor chance = rescale(graph, probability(graph, setup, net.scores[step], before), before, lines);
    tensor threshold = exact_threshold(graph, chance, before, net.scan, lines, setup->seed, step);
    net.mask[step + 1] = add(graph, straight_through(graph, chance, threshold, setup->slope), before);
    net.end[step + 1] = graph->nodes;
  }
  return net;
}

/* ---- opening ------------------------------------------------------------------------------------------- */

static struct policy_setup policy_setup(const struct masks_setup *setup) {
  struct policy_setup policy = policy_setup_of(setup->device, setup->kernels, setup->options, setup->batch);
  policy.batch = setup->batch;
  policy.dense = true;
  policy.whole = true;
  policy.train = policy.planned = setup->train;
  return policy;
}

static struct through describe(const struct masks_setup *setup) {
  return (struct through){.device = setup->device,
                          .kernels = setup->kernels,
                          .acquisition = setup->acquisition,
                          .setup = net_through_setup(setup->options, setup->acquisition.budget)};
}

static void build(struct through *through) {
  graph_open(&through->graph);
  through->net = net_through(through->graph, &through->setup);
}

bool through_measure(const struct masks_setup *setup, struct network_need *need, struct error *error) {
  struct through through = describe(setup);
  struct policy_setup policy = policy_setup(setup);
  build(&through);
  bool good = graph_good(through.graph, error) && policy_measure(&policy, NULL, need, error);
  if (good) {
    need->batch = 0;
    need->desc = &network_straight_through;
    need->image += graph_measure(through.graph, 1, true, false);
  }
  graph_close(through.graph);
  return good;
}

static bool check_lines(const struct through *through, struct error *error) {
  const struct acquisition *scan = &through->acquisition;
  if (scan->budget >= through->setup.steps) return true;
  return fail_usage(error,
                    "straight_through.steps is %u and %u %s acquired (x%u %s): every step takes one at least; lower "
                    "straight_through.steps or raise the budget",
                    through->setup.steps, scan->budget, scan->budget == 1 ? "line is" : "lines are",
                    scan->acceleration, scan->horizon);
}

/* The network's sizes are those of the setup. */
static bool open_planned(struct through *through, const struct masks_setup *setup, const struct policy_setup *policy,
                         struct error *error) {
  struct graph_setup plan = {
      .device = setup->device, .kernels = setup->kernels, .batch = setup->batch, .train = setup->train};
  if (!check_lines(through, error)) return false;
  build(through);
  if (!policy_open(&through->policy, policy, error) || !graph_plan(through->graph, &plan, error))
    return fail_in(error, "the network of straight_through");
  watch_graph(&through->policy.watch, through->policy.graph, SAMPLER_parameters);
  return kernel_need(setup->kernels, "loupe_number", error);
}

/* Through what gradients reach masks. */
static bool need_back(const struct masks_setup *setup, struct error *error) {
  const struct scan_shape *shape = &setup->acquisition.shape;
  const char *fast = observe_fft_fits(shape->height, shape->width) ? "observe_back_fft" : "observe_back_direct";
  return kernel_need(setup->kernels, setup->options->reconstruct.method == RECONSTRUCT_VARNET ? "view_coils_back" : fast,
                     error);
}

bool through_open(struct through *through, const struct masks_setup *setup, struct error *error) {
  const struct options *options = setup->options;
  struct policy_setup policy = policy_setup(setup);
  struct optimiser_setup optimiser =
      optimise_defaults((enum optimiser_kind)options->train.optimiser, options->train.rate);
  *through = describe(setup);
  optimiser.clip = options->train.clip;
  if (open_planned(through, setup, &policy, error) && need_back(setup, error) &&
      optimise_open(&through->optimiser, through->policy.graph, &optimiser, error)) {
    graph_start(through->policy.graph, options->world.seed);
    policy_changed(&through->policy);
    return true;
  }
  through_close(through);
  return false;
}

void through_close(struct through *through) {
  if (through->optimiser.device) optimise_close(&through->optimiser);
  graph_close(through->graph);
  policy_close(&through->policy);
  *through = (struct through){0};
}

/* ---- running ------------------------------------------------------------------------------------------- */

static size_t row_bytes(const struct through *through, size_t images) {
  return sizeof(float) * images * (size_t)through->setup.width;
}

void through_look(struct through *through, size_t images) {
  path_forward(&through->policy.network.path, images);
}

cl_mem through_forward(struct through *through, uint32_t step, uint32_t number, size_t images) {
  struct graph *graph = through->graph;
  through_look(through, images);
  device_copy(through->device, through->policy.logits, 0, graph_value(graph, through->net.scores[step]), 0,
              row_bytes(through, images));
  graph_set_images(graph, images);
  kernel_run(through->kernels, "loupe_number", images,
             ARGS(arg_buffer(ARG_OUT, ELEMENT_U32, graph_value(graph, through->net.scan)), arg_u32(number), arg_u32(1)));
  graph_forward_part(graph, through->net.end[step], through->net.end[step + 1]);
  return graph_value(graph, through->net.mask[step + 1]);
}

/* Gradients of the last maps are some thousandths of those of the logits, which are below the masks'. */
void through_backward(struct through *through, uint32_t step, size_t images, double size) {
  struct graph *graph = through->graph;
  graph_backward_part(graph, through->net.end[step], through->net.end[step + 1]);
  device_copy(through->device, graph_gradient(graph, through->net.scores[step]), 0, through->policy.logits_gradient, 0,
              row_bytes(through, images));
  through->policy.scale = 1024 / size;
  policy_backward(&through->policy, images);
}

/* ---- files --------------------------------------------------------------------------------------------- */

#define PLACE(member) .place = offsetof(struct network_facts, member)
#define WHOLE(attribute, member, least, most)                                                                \
  {.name = attribute, .kind = FACT_WHOLE, PLACE(member), .low = least, .high = most, .key = NULL}

static const struct fact facts[] = {
    {.name = "sampler", .kind = FACT_NAME, .text = "straight_through", .what = "a policy of straight-through draws",
     .make = "train one with train.method straight_through"},
    {.name = "scan_geometry", .kind = FACT_TEXT, PLACE(geometry), .key = "acquisition.geometry"},
    WHOLE("sampler_steps", steps, 1, THROUGH_MOST),
    WHOLE("sampler_channels", channels, 1, 1024),
    WHOLE("sampler_pools", pools, 1, 12),
    WHOLE("sampler_hidden", hidden, 1, 65536),
    WHOLE("sampler_softplus", adaptive, 0, 1),
    WHOLE("initial_lines", initial_lines, 0, UINT16_MAX),
    WHOLE("budget", budget, 1, UINT16_MAX),
    {.name = NULL}};

static struct network_facts facts_of(const struct through *through, const struct policy_setup *policy) {
  const struct acquisition *scan = &through->acquisition;
  struct network_facts values = {.channels = policy->channels,
                                 .pools = policy->pools,
                                 .hidden = policy->hidden,
                                 .steps = through->setup.steps,
                                 .adaptive = through->setup.softplus,
                                 .initial_lines = scan->initial_lines,
                                 .budget = scan->budget};
  strcpy(values.geometry, geometry_of(scan)->name);
  return values;
}

struct network_facts through_facts(const struct through *through) {
  return facts_of(through, &through->policy.setup);
}

static bool read_parameters(struct through *through, struct store *store, struct error *error) {
  bool good = checkpoint_read_parameters(store, "sampler", through->policy.graph, error);
  if (good) policy_changed(&through->policy);
  return good;
}

static bool check_scans(const struct through *through, const struct network_facts *values, struct error *error) {
  const struct acquisition *scan = &through->acquisition;
  if (values->initial_lines == scan->initial_lines && values->budget == scan->budget) return true;
  return fail(error,
              "it was trained for scans of %.0f initial and %.0f acquired lines; x%u %s has %u and %u: use the checkpoint "
              "that was trained for this acquisition",
              values->initial_lines, values->budget, scan->acceleration, scan->horizon, scan->initial_lines,
              scan->budget);
}

/* Before memory is taken for what the attributes say. */
static bool read_facts(struct through *through, struct policy_setup *policy, struct store *store, struct error *error) {
  struct network_facts values = facts_of(through, policy);
  if (!facts_kind(facts, store, error) || !facts_read(facts, &values, store, error)) return false;
  through->setup.steps = (uint32_t)values.steps;
  through->setup.softplus = values.adaptive != 0;
  policy->channels = (uint32_t)values.channels;
  policy->pools = (uint32_t)values.pools;
  policy->hidden = (uint32_t)values.hidden;
  return check_scans(through, &values, error) && policy_stored(policy, store, "sampler", error);
}

bool through_load(struct through *through, const struct masks_setup *setup, struct error *error) {
  struct policy_setup policy = policy_setup(setup);
  struct store *store;
  *through = describe(setup);
  if (!store_open(&store, setup->options->sampler.mask, error)) return false;
  bool good = read_facts(through, &policy, store, error) && open_planned(through, setup, &policy, error) &&
              read_parameters(through, store, error);
  store_close(store);
  return good;
}

/* ---- the row ------------------------------------------------------------------------------------------- */

static bool append(struct graph *graph, const struct options *options, struct error *error) {
  const struct scan_shape shape = scan_shape_of(options);
  (void)error;
  tensor maps = net_pgmri_maps(graph, graph_input(graph, "observation", 1, (int)shape.height, (int)shape.width),
                               (int)options->policy.channels, (int)options->policy.pools);
  net_pgmri_logits(graph, maps, (int)options->policy.hidden, (int)shape.actions);
  return true;
}

const struct network_desc network_straight_through = {
    .name = "straight_through",
    .doc = "straight-through policy: an encoder of the zero-filled image, a score for every line",
    .paper = "PROTOCOL 3.5; T. Bakker et al. 2022, arXiv 2203.16392",
    .in = SET(BATCH_drawn_gradient),
    .out = 0,
    .facts = facts,
    .keys = {"policy.channels", "policy.pools", "policy.hidden", "data.size"},
    .precision_key = "policy.precision",
    .batch = offsetof(struct options, train.batch),
    .append = append};
