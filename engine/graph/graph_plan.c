#include "engine/graph/graph.h"

#include "engine/base/log.h"
#include "engine/base/orthogonal.h"
#include "engine/base/random.h"
#include "engine/base/round.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Kernels index values with 32 bits. */
static const size_t slot_limit = sizeof(float) * ((size_t)UINT32_MAX / 2);

/* ---- what is needed when ------------------------------------------------------------------------------- */

static int backward_moment(const struct graph *graph, int node) {
  return 2 * graph->nodes - 1 - node;
}

/* The last node that reads the value of `node`, -1: none. */
static int last_consumer(const struct graph *graph, int node) {
  for (int i = graph->nodes - 1; i > node; i--)
    for (int k = 0; k < graph->node[i].inputs; k++)
      if (graph->node[i].input[k].node == node) return i;
  return -1;
}

static bool only_norms_follow(const struct graph *graph, int node) {
  bool any = false;
  for (int i = node + 1; i < graph->nodes; i++)
    for (int k = 0; k < graph->node[i].inputs; k++)
      if (graph->node[i].input[k].node == node) {
        any = true;
        if (graph->node[i].op != &op_norm) return false;
      }
  return any;
}

static bool passes(const struct node *node, int input) {
  return !node->op->blocks[input];
}

/* A gradient is needed where a parameter (or an input of the graph, if asked for) lies behind and an output,
 * whose gradient the caller writes, ahead. */
static void mark_nodes(struct graph *graph) {
  bool written[NODES_MOST] = {false};
  for (int i = 0; i < graph->nodes; i++) {
    struct node *node = &graph->node[i];
    bool wanted =
        node->part == NODE_GIVEN || (node->op ? node->weight >= 0 : graph->input_gradient || node->wanted);
    node->needs_gradient = graph->train && wanted && node->part != NODE_LEFT_OUT;
    for (int k = 0; node->part == NODE_RUNS && k < node->inputs; k++)
      node->needs_gradient |= passes(node, k) && graph->node[node->input[k].node].needs_gradient;
    node->bias_cancels = node->op == &op_conv && only_norms_follow(graph, i);
    written[i] = node->output; /* the caller writes it */
  }
  for (int i = graph->nodes - 1; i >= 0; i--) {
    struct node *node = &graph->node[i];
    node->needs_gradient &= written[i] || last_consumer(graph, i) < 0;
    for (int k = 0; node->part == NODE_RUNS && k < node->inputs; k++) {
      node->adds[k] = written[node->input[k].node];
      written[node->input[k].node] |= node->needs_gradient && passes(node, k);
    }
  }
}

static void add_slot(struct graph *graph, cl_mem *place, const char *what, int node, int first, int last,
                     size_t bytes) {
  REQUIRE(graph->slots < SLOTS_MOST, "more than %d slots", SLOTS_MOST);
  graph->slot[graph->slots++] = (struct slot){
      place, what, (uint16_t)node, first, last, round_up(bytes ? bytes : 1, GRAPH_ALIGNMENT), -1};
}

/* Inputs and outputs stay to the end: callers write and read them. */
static int last_use(const struct graph *graph, int i) {
  const struct node *node = &graph->node[i];
  int last = last_consumer(graph, i);
  if (last < 0 || !graph_runs(node) || node->output) return backward_moment(graph, 0);
  if (!graph->train) return last;
  if (node->op->keeps_output && node->needs_gradient) last = backward_moment(graph, i);
  for (int j = i + 1; j < graph->nodes; j++)
    for (int k = 0; k < graph->node[j].inputs; k++)
      if (graph->node[j].input[k].node == i && graph->node[j].needs_gradient &&
          graph->node[j].op->keeps_input && backward_moment(graph, j) > last)
        last = backward_moment(graph, j);
  return last;
}

/* What the node's row calls images (engine/graph/graph.h, mixes). */
static size_t images_of(const struct graph *graph, const struct node *node) {
  return graph->batch * (node->op->mixes ? 1 : (size_t)node->copies);
}

static void add_gradient_slots(struct graph *graph, int i, size_t bytes) {
  struct node *node = &graph->node[i];
  tensor out = {(uint16_t)i};
  int moment = backward_moment(graph, i), consumer = last_consumer(graph, i);
  int first = consumer < 0 || node->output ? graph->nodes : backward_moment(graph, consumer);
  add_slot(graph, &node->gradient, "gradient", i, first,
           graph_runs(node) ? moment : backward_moment(graph, 0), bytes);
  size_t scratch =
      graph_runs(node) && node->op->scratch ? node->op->scratch(graph, out, images_of(graph, node)) : 0;
  if (scratch) add_slot(graph, &node->scratch, "scratch", i, moment, moment, scratch);
}

static void add_slots(struct graph *graph) {
  graph->slots = 0;
  for (int i = 0; i < graph->nodes; i++) {
    struct node *node = &graph->node[i];
    tensor out = {(uint16_t)i};
    size_t bytes = sizeof(float) * graph_values(graph, out) * graph->batch;
    if (node->part == NODE_LEFT_OUT) continue;
    add_slot(graph, &node->value, "value", i, graph_runs(node) ? i : 0, last_use(graph, i), bytes);
    size_t work = graph_runs(node) && node->op->work ? node->op->work(graph, out, images_of(graph, node)) : 0;
    if (work) add_slot(graph, &node->work, "work", i, i, i, work);
    size_t kept = graph_runs(node) && node->op->kept ? node->op->kept(graph, out, images_of(graph, node)) : 0;
    if (kept)
      add_slot(graph, &node->kept, "kept", i, i, node->needs_gradient ? backward_moment(graph, i) : i, kept);
    if (node->needs_gradient) add_gradient_slots(graph, i, bytes);
  }
}

/* ---- where it goes ------------------------------------------------------------------------------------- */

static int compare_size(const void *a, const void *b) {
  const struct slot *first = a, *second = b;
  if (first->bytes != second->bytes) return first->bytes < second->bytes ? 1 : -1;
  return first->first - second->first; /* any fixed order will do */
}

/* The smallest buffer, of those made for larger slots, that no slot placed before holds at the same time; -1:
 * none. */
static int find_buffer(const struct graph *graph, int placed) {
  const struct slot *slot = &graph->slot[placed];
  bool taken[SLOTS_MOST] = {false};
  for (int i = 0; i < placed; i++) {
    const struct slot *other = &graph->slot[i];
    taken[other->buffer] |= other->first <= slot->last && slot->first <= other->last;
  }
  int found = graph->buffers - 1; /* they were made in the order of their sizes */
  while (found >= 0 && taken[found]) found--;
  return found;
}

/* Largest first. Returns the bytes of all buffers; SIZE_MAX when a slot is larger than one may be. */
static size_t place_slots(struct graph *graph) {
  size_t total = 0;
  graph->buffers = 0;
  qsort(graph->slot, (size_t)graph->slots, sizeof *graph->slot, compare_size);
  for (int i = 0; i < graph->slots; i++) {
    struct slot *slot = &graph->slot[i];
    if (slot->bytes > graph->largest || slot->bytes > slot_limit) return SIZE_MAX;
    slot->buffer = find_buffer(graph, i);
    if (slot->buffer >= 0) continue;
    slot->buffer = graph->buffers++;
    graph->buffer[slot->buffer] = (struct graph_buffer){NULL, slot->bytes};
    total += slot->bytes;
  }
  return total;
}

size_t graph_measure(struct graph *graph, size_t batch, bool train, bool input_gradient) {
  graph->batch = graph->images = batch;
  graph->train = train;
  graph->input_gradient = input_gradient;
  if (!graph->largest) graph->largest = SIZE_MAX / 2;
  mark_nodes(graph);
  add_slots(graph);
  return graph->arena_bytes = place_slots(graph);
}

static size_t parameter_bytes(const struct graph *graph, bool train) {
  return sizeof(float) * graph->elements * (train ? 1 + graph->shards.held : 1);
}

size_t graph_batch_within(struct graph *graph, size_t bytes, bool train, bool input_gradient) {
  size_t low = 0, high = 1 << 16, fixed = parameter_bytes(graph, train);
  if (fixed >= bytes) return 0;
  while (low < high) {
    size_t middle = (low + high + 1) / 2;
    if (graph_measure(graph, middle, train, input_gradient) <= bytes - fixed)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

/* ---- allocating ---------------------------------------------------------------------------------------- */

static bool refuse_batch(struct graph *graph, const struct graph_setup *setup, size_t need,
                         struct error *error) {
  struct device *device = setup->device;
  size_t left = device->facts.memory - device->bytes;
  size_t room = graph_batch_within(graph, left, setup->train, setup->input_gradient);
  double mebi = 0x1p-20;
  char help[96] = "not one would fit: make the network or its images smaller";
  if (room) snprintf(help, sizeof help, "%zu image%s would fit: ask for a smaller batch", room, plural(room));
  if (need > SIZE_MAX / 2)
    return fail_memory(
        error,
        "the network's largest activation for %zu image%s exceeds one allocation of %s (%.1f MiB); %s",
        setup->batch, plural(setup->batch), device->facts.name, (double)graph->largest * mebi, help);
  return fail_memory(
      error,
      "the network needs %.1f MiB %s %zu image%s, %s has %.1f MiB left; %s",
      (double)need * mebi, setup->train ? "to train on" : "for", setup->batch, plural(setup->batch),
      device->facts.name, (double)left * mebi, help);
}

static bool part(cl_mem whole, size_t offset, size_t bytes, cl_mem *out, struct error *error) {
  cl_buffer_region region = {offset, bytes};
  cl_int code;
  *out = clCreateSubBuffer(whole, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
  return code == CL_SUCCESS ? true
                            : fail_as(error, ERROR_DEVICE, "no sub-buffer of %zu bytes at %zu: %s (%d)",
                                      bytes, offset, device_code_name(code), code);
}

static bool open_parameters(struct graph *graph, struct error *error) {
  size_t bytes = sizeof(float) * graph->elements;
  if (!bytes) return true;
  if (graph->shared) {
    graph->values = graph->shared->values;
    graph->gradients = graph->shared->gradients;
  } else {
    graph->values = device_buffer(graph->device, bytes, "the network's parameters", error);
    if (!graph->values) return false;
    device_fill(graph->device, graph->values, 0, bytes, 0);
  }
  if (graph->train && !graph->gradients) {
    size_t all = bytes * graph->shards.held;
    if (all / sizeof(float) > UINT32_MAX)
      return fail_usage(error, "train.shards: gradients of %u shards a rank, of %zu parameters each, are more than kernels count; lower it",
                        graph->shards.held, graph->elements);
    graph->gradients = device_buffer(graph->device, all, "the parameters' gradients", error);
    if (!graph->gradients) return false;
    device_fill(graph->device, graph->gradients, 0, all, 0);
  }
  for (int i = 0; i < graph->parameters; i++) {
    struct parameter *parameter = &graph->parameter[i];
    size_t offset = sizeof(float) * parameter->offset, size = sizeof(float) * parameter->count;
    if (!part(graph->values, offset, size, &parameter->value, error)) return false;
    if (graph->train && !part(graph->gradients, offset, size, &parameter->gradient, error)) return false;
  }
  return true;
}

static bool open_arena(struct graph *graph, struct error *error) {
  for (int i = 0; i < graph->buffers; i++) {
    struct graph_buffer *buffer = &graph->buffer[i];
    buffer->memory = device_buffer(graph->device, buffer->bytes, "the network's activations", error);
    if (!buffer->memory) return false;
  }
  for (int i = 0; i < graph->slots; i++) *graph->slot[i].place = graph->buffer[graph->slot[i].buffer].memory;
  return true;
}

static bool need_kernels(struct graph *graph, struct error *error) {
  for (int i = 0; i < graph->nodes; i++)
    for (int k = 0; graph_runs(&graph->node[i]) && k < OP_KERNELS && graph->node[i].op->kernels[k]; k++)
      if (!kernel_need(graph->kernels, graph->node[i].op->kernels[k], error)) return false;
  return true;
}

static bool open_nodes(struct graph *graph, struct error *error) {
  for (int i = 0; i < graph->nodes; i++) {
    const struct op_desc *op = graph->node[i].op;
    if (graph_runs(&graph->node[i]) && op->open && !op->open(graph, (tensor){(uint16_t)i}, error)) return false;
  }
  return true;
}

/* The other graph must have the same parameters, and gradients if this one is to train with them. */
static void check_shared(const struct graph *graph, const struct graph *other) {
  REQUIRE(other->values && !other->shared, "parameters are shared from the graph that owns them");
  REQUIRE(other->parameters == graph->parameters && other->elements == graph->elements,
          "%d parameters, the other graph has %d", graph->parameters, other->parameters);
  for (int i = 0; i < graph->parameters; i++)
    REQUIRE(!strcmp(graph->parameter[i].name, other->parameter[i].name),
            "parameter %d is %s, in the other graph %s", i, graph->parameter[i].name,
            other->parameter[i].name);
  REQUIRE(!graph->train || other->gradients, "the other graph was planned without gradients");
}

bool graph_plan(struct graph *graph, const struct graph_setup *setup, struct error *error) {
  struct device *device = setup->device;
  if (!graph_good(graph, error)) return false;
  REQUIRE(setup->batch && graph->nodes && !graph->device, "a batch of %zu, %d nodes", setup->batch,
          graph->nodes);
  graph->largest = device->facts.largest;
  size_t need = graph_measure(graph, setup->batch, setup->train, setup->input_gradient);
  size_t fixed = setup->parameters ? 0 : parameter_bytes(graph, setup->train);
  if (need > SIZE_MAX - fixed || need + fixed > device->facts.memory - device->bytes)
    return refuse_batch(graph, setup, need > SIZE_MAX / 2 ? need : need + fixed, error);
  graph->device = device;
  graph->kernels = setup->kernels;
  graph->shared = setup->parameters;
  if (graph->shared) check_shared(graph, graph->shared);
  return open_parameters(graph, error) && open_arena(graph, error) && need_kernels(graph, error) &&
         open_nodes(graph, error);
}

static void release(cl_mem buffer) {
  if (buffer) clReleaseMemObject(buffer);
}

void graph_close(struct graph *graph) {
  if (!graph) return;
  for (int i = 0; i < graph->nodes; i++) {
    const struct node *node = &graph->node[i];
    if (graph_runs(node) && node->op->close) node->op->close(graph, (tensor){(uint16_t)i});
  }
  graph_early_forget(graph);
  for (int i = 0; i < graph->parameters; i++) {
    release(graph->parameter[i].value);
    release(graph->parameter[i].gradient);
  }
  for (int i = 0; i < graph->buffers; i++)
    device_release(graph->device, graph->buffer[i].memory, graph->buffer[i].bytes);
  if (graph->device && !graph->shared) {
    device_release(graph->device, graph->values, sizeof(float) * graph->elements);
    device_release(graph->device, graph->gradients, sizeof(float) * graph->elements * graph->shards.held);
  }
  arena_close(graph->arena);
}

/* ---- initial parameters -------------------------------------------------------------------------------- */

static void start_uniform(struct random *random, const struct parameter *parameter, float *to) {
  double bound = 1 / sqrt((double)parameter->fan_in);
  for (size_t k = 0; k < parameter->count; k++) to[k] = (float)(bound * (2 * random_uniform(random) - 1));
}

static void start_normal(struct random *random, const struct parameter *parameter, float *to) {
  for (size_t k = 0; k < parameter->count; k++) to[k] = (float)(parameter->gain * random_normal(random));
}

static void start_logistic(struct random *random, const struct parameter *parameter, float *to) {
  for (size_t k = 0; k < parameter->count; k++) {
    double chance = 0.01 + 0.98 * random_uniform(random);
    to[k] = (float)(parameter->gain * log(chance / (1 - chance)));
  }
}

void graph_start(struct graph *graph, uint32_t seed) {
  struct arena *arena = arena_open();
  float *values = ARENA_NEW(arena, float, graph->elements);
  for (int i = 0; i < graph->parameters; i++) {
    const struct parameter *parameter = &graph->parameter[i];
    struct random random;
    random_start(&random, seed, GRAPH_STREAM, (uint32_t)i);
    if (parameter->start == START_FAN_IN) start_uniform(&random, parameter, values + parameter->offset);
    if (parameter->start == START_NORMAL) start_normal(&random, parameter, values + parameter->offset);
    if (parameter->start == START_LOGISTIC) start_logistic(&random, parameter, values + parameter->offset);
    for (size_t k = 0; parameter->start == START_VALUE && k < parameter->count; k++)
      values[parameter->offset + k] = (float)parameter->gain;
    if (parameter->start == START_ORTHOGONAL)
      orthogonal_fill(&random, parameter->size[0], parameter->count / parameter->size[0], parameter->gain,
                      values + parameter->offset);
  }
  device_write(graph->device, graph->values, 0, sizeof(float) * graph->elements, values);
  arena_close(arena);
}
