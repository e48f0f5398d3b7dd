#include "engine/graph/graph.h"

#include "engine/base/round.h"

#include <string.h>

bool graph_open(struct graph **graph) {
  struct arena *arena = arena_open();
  *graph = ARENA_NEW(arena, struct graph, 1);
  (*graph)->arena = arena;
  (*graph)->copies = 1;
  (*graph)->shards.all = (*graph)->shards.held = 1;
  return true;
}

bool graph_good(const struct graph *graph, struct error *error) {
  if (!graph->failed) return true;
  *error = graph->first;
  return false;
}

const char *graph_name(struct graph *graph, const char *format, ...) {
  char text[256];
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  return arena_text(graph->arena, "%s", text);
}

struct node *graph_node(struct graph *graph, tensor x) {
  REQUIRE(x.node < graph->nodes, "node %u of %d", x.node, graph->nodes);
  return &graph->node[x.node];
}

struct node *graph_source(struct graph *graph, const struct node *node, int k) {
  return graph_node(graph, node->input[k]);
}

bool graph_same_shape(const struct node *a, const struct node *b, struct error *error) {
  struct tensor_shape x = a->shape, y = b->shape;
  if (x.channels == y.channels && x.height == y.height && x.width == y.width) return true;
  return fail(error, "'%s' is %dx%dx%d; it must be %dx%dx%d, as '%s' is", b->name, y.channels, y.height,
              y.width, x.channels, x.height, x.width, a->name);
}

struct arg graph_arg(enum arg_kind kind, cl_mem buffer) {
  return arg_buffer(kind, ELEMENT_F32, buffer);
}

size_t graph_elements(const struct graph *graph, tensor x) {
  const struct tensor_shape *shape = &graph->node[x.node].shape;
  return (size_t)shape->channels * (size_t)shape->height * (size_t)shape->width;
}

size_t graph_values(const struct graph *graph, tensor x) {
  return (size_t)graph->node[x.node].copies * graph_elements(graph, x);
}

size_t graph_parameter_count(const struct graph *graph) {
  size_t count = 0;
  for (int i = 0; i < graph->parameters; i++) count += graph->parameter[i].count;
  return count;
}

const struct parameter *graph_find(const struct graph *graph, const char *name) {
  for (int i = 0; i < graph->parameters; i++)
    if (!strcmp(graph->parameter[i].name, name)) return &graph->parameter[i];
  return NULL;
}

/* ---- appending ----------------------------------------------------------------------------------------- */

/* The place of a parameter that is there already; -1: it is not. */
static int find_shared(const struct graph *graph, const char *name, int rank, const size_t *size) {
  const struct parameter *found = graph_find(graph, name);
  if (!found) return -1;
  REQUIRE(graph->shares, "parameter %s is there twice", name);
  REQUIRE(found->rank == rank && !memcmp(found->size, size, sizeof *size * (size_t)rank),
          "parameter %s is there in another shape", name);
  return (int)(found - graph->parameter);
}

int graph_parameter(struct graph *graph, const char *name, size_t fan_in, int rank, const size_t *size) {
  const size_t unit = GRAPH_ALIGNMENT / sizeof(float);
  int shared = find_shared(graph, name, rank, size);
  if (shared >= 0) return shared;
  REQUIRE(graph->parameters < PARAMETERS_MOST, "more than %d parameters", PARAMETERS_MOST);
  struct parameter *parameter = &graph->parameter[graph->parameters];
  *parameter = (struct parameter){.name = graph_name(graph, "%s", name),
                                  .rank = rank,
                                  .count = 1,
                                  .fan_in = fan_in,
                                  .offset = graph->elements};
  for (int i = 0; i < rank; i++) parameter->count *= parameter->size[i] = size[i];
  graph->elements += round_up(parameter->count, unit);
  return graph->parameters++;
}

static tensor refuse(struct graph *graph) {
  graph->failed = true;
  return (tensor){0};
}

static bool same_copies(struct graph *graph, const struct node *node, struct error *error) {
  for (int k = 0; !node->op->mixes && k < node->inputs; k++) {
    const struct node *input = graph_source(graph, node, k);
    if (input->copies != node->copies)
      return fail(error, "'%s' has %d copies an image; it must have %d", input->name, input->copies, node->copies);
  }
  return true;
}

tensor graph_append(struct graph *graph, const struct node *wanted) {
  if (graph->failed) return (tensor){0};
  if (graph->nodes == NODES_MOST) {
    fail(&graph->first, "the network has more than %d nodes", NODES_MOST);
    return refuse(graph);
  }
  tensor out = {(uint16_t)graph->nodes};
  for (int i = 0; i < wanted->inputs; i++)
    REQUIRE(wanted->input[i].node < graph->nodes, "input %u of node %d", wanted->input[i].node, graph->nodes);
  struct node *node = &graph->node[graph->nodes++];
  *node = *wanted;
  if (!node->copies) node->copies = node->inputs ? graph_source(graph, node, 0)->copies : 1;
  if (!wanted->op || (wanted->op->shape(graph, out, &graph->first) && same_copies(graph, node, &graph->first)))
    return out;
  fail_in(&graph->first, "%s '%s' on '%s'", wanted->op->name, wanted->name,
          wanted->inputs ? graph->node[wanted->input[0].node].name : "nothing");
  graph->nodes--;
  return refuse(graph);
}

tensor graph_append_op(struct graph *graph, const struct op_desc *op, tensor x) {
  struct node node = {.op = op, .input = {x}, .inputs = 1, .weight = -1, .bias = -1};
  node.name = graph_name(graph, "%s.%d", op->name, graph->nodes);
  return graph_append(graph, &node);
}

tensor graph_append_pair(struct graph *graph, const struct op_desc *op, tensor a, tensor b) {
  struct node node = {.op = op, .input = {a, b}, .inputs = 2, .weight = -1, .bias = -1};
  node.name = graph_name(graph, "%s.%d", op->name, graph->nodes);
  return graph_append(graph, &node);
}

tensor graph_input_copies(struct graph *graph, const char *name, int copies, int channels, int height, int width) {
  struct node node = {
      .name = name, .shape = {channels, height, width}, .copies = copies, .weight = -1, .bias = -1};
  if (!graph->failed && (copies < 1 || channels < 1 || height < 1 || width < 1)) {
    fail(&graph->first, "input '%s' is %dx%dx%d; channels, height and width must be at least 1", name,
         channels, height, width);
    return refuse(graph);
  }
  return graph_append(graph, &node);
}

tensor graph_input(struct graph *graph, const char *name, int channels, int height, int width) {
  return graph_input_copies(graph, name, 1, channels, height, width);
}

static tensor start_weight(struct graph *graph, tensor x, enum parameter_start start, double gain) {
  if (graph->failed) return x;
  const struct node *node = graph_node(graph, x);
  REQUIRE(node->weight >= 0 && node->bias >= 0, "'%s' has no weight and bias", node->name);
  graph->parameter[node->weight].start = start;
  graph->parameter[node->weight].gain = gain;
  graph->parameter[node->bias].start = START_ZERO;
  return x;
}

tensor graph_orthogonal(struct graph *graph, tensor x, double gain) {
  return start_weight(graph, x, START_ORTHOGONAL, gain);
}

tensor graph_normal(struct graph *graph, tensor x, double deviation) {
  return start_weight(graph, x, START_NORMAL, deviation);
}

tensor graph_start_at(struct graph *graph, tensor x, double value) {
  if (graph->failed) return x;
  struct parameter *parameter = &graph->parameter[graph_node(graph, x)->weight];
  parameter->start = START_VALUE;
  parameter->gain = value;
  return x;
}

void graph_output(struct graph *graph, tensor x) {
  if (!graph->failed) graph_node(graph, x)->output = true;
}

/* Inputs of the graph that only lead to x are left out too. */
void graph_give(struct graph *graph, tensor x) {
  if (graph->failed) return;
  REQUIRE(graph_node(graph, x)->op && !graph->device, "node %u is an input or planned already", x.node);
  graph->node[x.node].part = NODE_GIVEN;
  for (int i = x.node - 1; i >= 0; i--) {
    int running = 0, serving = 0;
    for (int j = i + 1; j < graph->nodes; j++)
      for (int k = 0; k < graph->node[j].inputs; k++)
        if (graph->node[j].input[k].node == i) ++*(graph->node[j].part == NODE_RUNS ? &running : &serving);
    if (serving && !running) graph->node[i].part = NODE_LEFT_OUT;
    REQUIRE(!serving || !running, "'%s' serves '%s' and what the graph runs", graph->node[i].name,
            graph->node[x.node].name);
  }
}

void graph_share(struct graph *graph) {
  graph->shares = true;
}

void graph_want(struct graph *graph, tensor x) {
  if (graph->failed) return;
  REQUIRE(!graph_node(graph, x)->op && !graph->device, "node %u is no input, or planned already", x.node);
  graph->node[x.node].wanted = true;
}

/* ---- running ------------------------------------------------------------------------------------------- */

void graph_set_images(struct graph *graph, size_t images) {
  REQUIRE(images && images <= graph->batch, "%zu images; the plan has room for %zu", images, graph->batch);
  graph->images = images;
}

bool graph_runs(const struct node *node) {
  return node->op && node->part == NODE_RUNS;
}

/* Bytes of the largest map of the node, of all its images. */
static double largest_of(const struct graph *graph, int i, double images) {
  const struct node *node = &graph->node[i];
  size_t most = graph_elements(graph, (tensor){(uint16_t)i});
  for (int k = 0; k < node->inputs; k++) {
    size_t taken = graph_elements(graph, node->input[k]);
    if (taken > most) most = taken;
  }
  return sizeof(float) * (double)most * images;
}

/* Runs a node one way, on all copies that its images have. */
static void run_node(struct graph *graph, int i, void (*way)(struct graph *graph, tensor out)) {
  const struct node *node = &graph->node[i];
  size_t images = graph->images;
  graph->device->label = node->name;
  if (graph->device->profile) {
    double all = (double)images * node->copies;
    graph->device->operations = node->op->flops ? node->op->flops(graph, (tensor){(uint16_t)i}) * all : 0;
    graph->device->largest = largest_of(graph, i, all);
  }
  graph->copies = node->op->mixes ? 1 : (size_t)node->copies;
  graph->images *= graph->copies;
  way(graph, (tensor){(uint16_t)i});
  graph->images = images;
  graph->copies = 1;
}

void graph_forward_part(struct graph *graph, int first, int end) {
  REQUIRE(graph->device, "the graph was not planned");
  for (int i = first; i < end; i++) {
    const struct node *node = &graph->node[i];
    if (graph_runs(node)) run_node(graph, i, node->op->forward);
  }
  graph->device->label = "";
  graph->device->operations = graph->device->largest = 0;
  graph_tell(graph, GRAPH_FORWARD);
}

void graph_forward(struct graph *graph) {
  graph_forward_part(graph, 0, graph->nodes);
}

void graph_early_forget(const struct graph *graph) {
  if (!graph->early || !graph->early->ready) return;
  clReleaseEvent(graph->early->ready);
  graph->early->ready = NULL;
}

static void mark_early(struct graph *graph) {
  graph_early_forget(graph);
  CL(graph->device, clEnqueueMarkerWithWaitList(graph->device->queue, 0, NULL, &graph->early->ready));
}

void graph_backward_part(struct graph *graph, int first, int end) {
  REQUIRE(graph->train, "the graph was planned for inference");
  REQUIRE(!graph->shared || !graph->shared->early, "gradients that are summed early are of one graph");
  for (int i = end - 1; i >= first; i--) {
    const struct node *node = &graph->node[i];
    if (graph_runs(node) && node->needs_gradient) run_node(graph, i, node->op->backward);
    if (graph->early && i == graph->early->node) mark_early(graph);
  }
  graph->device->label = "";
  graph->device->operations = graph->device->largest = 0;
  graph_tell(graph, GRAPH_BACKWARD);
}

void graph_backward(struct graph *graph) {
  graph_backward_part(graph, 0, graph->nodes);
}

void graph_zero_gradients(struct graph *graph) {
  device_fill(graph->device, graph->gradients, 0, sizeof(float) * graph->elements * graph->shards.held, 0);
  graph_tell(graph, GRAPH_CLEARED);
}

/* ---- shards -------------------------------------------------------------------------------------------- */

static const struct graph *owner_of(const struct graph *graph) {
  return graph->shared ? graph->shared : graph;
}

void graph_keep_apart(struct graph *graph, uint32_t all, uint32_t held) {
  REQUIRE(!graph->device && held && held <= all, "%u of %u shards", held, all);
  graph->shards.all = all;
  graph->shards.held = held;
}

void graph_set_shards(struct graph *graph, size_t first, size_t each) {
  REQUIRE(!graph->shared && first < graph->shards.held && each, "shard %zu of %u, of %zu images", first, graph->shards.held,
          each);
  graph->shards.first = first;
  graph->shards.each = each;
}

void graph_gather(const struct graph *graph, size_t from, size_t count) {
  REQUIRE(!graph->shared, "another graph has the gradients");
  if (graph->shards.held > 1)
    kernel_run(graph->kernels, "gradient_tree", count / 4,
               ARGS(graph_arg(ARG_INOUT, graph->gradients), arg_u32(graph->shards.held), arg_u32((uint32_t)graph->elements),
                    arg_u32((uint32_t)from)));
}

/* Nodes of several copies count them as images. */
struct graph_cut graph_cut(const struct graph *graph, size_t images) {
  const struct graph *owner = owner_of(graph);
  size_t each = owner->shards.each ? owner->shards.each * graph->copies : images;
  struct graph_cut cut = {divide_up(images, each), each, graph->gradients, owner->shards.first * owner->elements,
                          owner->elements};
  REQUIRE(owner->shards.first + cut.shards <= owner->shards.held, "%zu images in shards of %zu from %zu on; %u are held",
          images, each, owner->shards.first, owner->shards.held);
  return cut;
}

struct arg graph_shards(const struct graph_cut *cut, size_t count) {
  return arg_some(graph_arg(ARG_INOUT, cut->gradients), sizeof(float) * cut->shards * count);
}

size_t graph_at(const struct graph_cut *cut, const struct parameter *parameter) {
  return cut->before + parameter->offset;
}

enum { SHARD_FILLS = 128 }; /* images of a shard that are work for a whole device */

/* Of the images of a shard alone, whatever else is computed with it: then sums have the same order. Rounded down, or groups
 * that a device runs at once would be followed by a few more. */
size_t graph_parts(const struct graph *graph, size_t wanted, size_t each, size_t most) {
  size_t share = wanted / graph->shards.all, large = each < SHARD_FILLS ? wanted * each / SHARD_FILLS : wanted;
  size_t parts = share > large ? share : large;
  return parts > most ? most : parts < 1 ? 1 : parts;
}

size_t graph_parts_most(const struct graph *graph, size_t wanted, size_t most, size_t images) {
  size_t held = graph->shards.held, parts = held > 1 ? wanted * (images / SHARD_FILLS + 2) + held : wanted;
  return parts > most ? most : parts < 1 ? 1 : parts;
}

void graph_tell(const struct graph *graph, enum graph_effect effect) {
  if (graph->watch) graph->watch(graph->watch_context, effect);
}

cl_mem graph_value(const struct graph *graph, tensor x) {
  REQUIRE(x.node < graph->nodes && graph->node[x.node].value, "node %u has no value", x.node);
  return graph->node[x.node].value;
}

cl_mem graph_gradient(const struct graph *graph, tensor x) {
  REQUIRE(x.node < graph->nodes && graph->node[x.node].gradient, "node %u has no gradient", x.node);
  return graph->node[x.node].gradient;
}
