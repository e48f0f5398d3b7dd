#include "systems/networks/decisions.h"

#include <math.h>

const double decisions_undecided = 2e-5;

/* One image, in double: what every node gives, and the parameters. */
struct host {
  struct graph *graph;
  struct arena *arena;
  const float *parameters;
  double *value[NODES_MOST];
  size_t image;
  const float *const *input; /* the next of the graph's inputs */
};

static const struct node *node_of(const struct host *host, int i) {
  return &host->graph->node[i];
}

static const struct node *input_of(const struct host *host, int i) {
  return node_of(host, node_of(host, i)->input[0].node);
}

static const double *input_value(const struct host *host, int i, int which) {
  return host->value[node_of(host, i)->input[which].node];
}

static const float *parameter_of(const struct host *host, int place) {
  return host->parameters + host->graph->parameter[place].offset;
}

static size_t elements(const struct host *host, int i) {
  return graph_elements(host->graph, (tensor){(uint16_t)i});
}

/* ---- operations in double ------------------------------------------------------------------------------ */

/* Adds one tap of one input plane, moved by (dy, dx); zeros outside. */
static void add_tap(const double *from, double *to, long height, long width, long dy, long dx,
                    double weight) {
  long left = dx < 0 ? -dx : 0, right = dx > 0 ? width - dx : width;
  for (long y = dy < 0 ? -dy : 0; y < height && y + dy < height; y++)
    for (long x = left; x < right; x++) to[y * width + x] += weight * from[(y + dy) * width + x + dx];
}

static void run_conv(const struct host *host, int i) {
  const struct node *node = node_of(host, i);
  const float *weight = parameter_of(host, node->weight), *bias = parameter_of(host, node->bias);
  long height = node->shape.height, width = node->shape.width, size = node->size;
  size_t inputs = (size_t)input_of(host, i)->shape.channels, plane = (size_t)(height * width);
  for (size_t o = 0; o < (size_t)node->shape.channels; o++) {
    double *to = host->value[i] + o * plane;
    for (size_t p = 0; p < plane; p++) to[p] = bias[o];
    for (size_t c = 0; c < inputs; c++)
      for (long tap = 0; tap < size * size; tap++)
        add_tap(input_value(host, i, 0) + c * plane, to, height, width, tap / size - size / 2,
                tap % size - size / 2, *weight++);
  }
}

static void run_linear(const struct host *host, int i) {
  const struct node *node = node_of(host, i);
  const float *weight = parameter_of(host, node->weight), *bias = parameter_of(host, node->bias);
  size_t inputs = elements(host, node->input[0].node);
  for (size_t o = 0; o < elements(host, i); o++) {
    double sum = bias[o];
    for (size_t c = 0; c < inputs; c++) sum += *weight++ * input_value(host, i, 0)[c];
    host->value[i][o] = sum;
  }
}

static void run_norm(const struct host *host, int i) {
  const struct node *node = node_of(host, i);
  size_t plane = (size_t)(node->shape.height * node->shape.width);
  for (size_t c = 0; c < (size_t)node->shape.channels; c++) {
    const double *from = input_value(host, i, 0) + c * plane;
    double mean = 0, square = 0;
    for (size_t p = 0; p < plane; p++) mean += from[p] / (double)plane;
    for (size_t p = 0; p < plane; p++) square += (from[p] - mean) * (from[p] - mean) / (double)plane;
    for (size_t p = 0; p < plane; p++) host->value[i][c * plane + p] = (from[p] - mean) / sqrt(square + 1e-5);
  }
}

static void run_relu(const struct host *host, int i) {
  const double *from = input_value(host, i, 0), slope = (double)node_of(host, i)->slope;
  for (size_t k = 0; k < elements(host, i); k++) host->value[i][k] = from[k] > 0 ? from[k] : slope * from[k];
}

/* The corner of a 2x2 square of the pool's input: element of its top left pixel. */
static size_t corner_of(const struct host *host, int i, size_t out) {
  const struct node *node = node_of(host, i);
  size_t height = (size_t)node->shape.height, width = (size_t)node->shape.width;
  const struct tensor_shape *in = &input_of(host, i)->shape;
  size_t plane = out / width / height, y = out / width % height, x = out % width;
  return (plane * (size_t)in->height + 2 * y) * (size_t)in->width + 2 * x;
}

/* The first of the largest, in reading order; *gap: how far the next one is below it. */
static size_t largest_of(const double *value, size_t corner, size_t width, double *gap) {
  const size_t place[] = {corner, corner + 1, corner + width, corner + width + 1};
  size_t best = corner;
  double second = -INFINITY;
  for (int k = 1; k < 4; k++)
    if (value[place[k]] > value[best]) best = place[k];
  for (int k = 0; k < 4; k++)
    if (place[k] != best && value[place[k]] > second) second = value[place[k]];
  if (gap) *gap = value[best] - second;
  return best;
}

static void run_pool(const struct host *host, int i) {
  const double *from = input_value(host, i, 0);
  size_t width = (size_t)input_of(host, i)->shape.width;
  for (size_t k = 0; k < elements(host, i); k++)
    host->value[i][k] = from[largest_of(from, corner_of(host, i, k), width, NULL)];
}

/* Half-pixel centres: fine line 2i takes 3/4 of line i and 1/4 of i - 1, line 2i + 1 of i and i + 1. */
static void run_up_sample(const struct host *host, int i) {
  const struct node *node = node_of(host, i);
  long height = node->shape.height, width = node->shape.width, rows = height / 2, columns = width / 2;
  for (long k = 0; k < (long)elements(host, i); k++) {
    long plane = k / width / height, y = k / width % height, x = k % width;
    const double *from = input_value(host, i, 0) + plane * rows * columns;
    long near_y = y / 2, near_x = x / 2, far_y = near_y + (y % 2 ? 1 : -1), far_x = near_x + (x % 2 ? 1 : -1);
    far_y = far_y < 0 ? 0 : far_y < rows ? far_y : rows - 1;
    far_x = far_x < 0 ? 0 : far_x < columns ? far_x : columns - 1;
    host->value[i][k] =
        0.75 * (0.75 * from[near_y * columns + near_x] + 0.25 * from[near_y * columns + far_x]) +
        0.25 * (0.75 * from[far_y * columns + near_x] + 0.25 * from[far_y * columns + far_x]);
  }
}

static void run_concat(const struct host *host, int i) {
  size_t first = elements(host, node_of(host, i)->input[0].node);
  for (size_t k = 0; k < elements(host, i); k++)
    host->value[i][k] = k < first ? input_value(host, i, 0)[k] : input_value(host, i, 1)[k - first];
}

static const struct {
  const struct op_desc *op;
  void (*run)(const struct host *host, int i);
} op_list[] = {{&op_conv, run_conv},    {&op_linear, run_linear}, {&op_norm, run_norm},
               {&op_relu, run_relu},    {&op_pool, run_pool},     {&op_up_sample, run_up_sample},
               {&op_concat, run_concat}};

static void take_input(struct host *host, int i) {
  size_t count = elements(host, i);
  const float *from = *host->input++ + host->image * count;
  for (size_t k = 0; k < count; k++) host->value[i][k] = (double)from[k];
}

static bool run_node(struct host *host, int i, struct error *error) {
  const struct node *node = node_of(host, i);
  host->value[i] = ARENA_NEW(host->arena, double, elements(host, i));
  if (!node->op) {
    take_input(host, i);
    return true;
  }
  for (size_t k = 0; k < sizeof op_list / sizeof *op_list; k++)
    if (op_list[k].op == node->op) {
      op_list[k].run(host, i);
      return true;
    }
  return fail(error, "%s '%s' has no double precision on the host", node->op->name, node->name);
}

/* ---- turning ------------------------------------------------------------------------------------------- */

static void turn(const struct host *host, int node, size_t element, float value, double distance,
                 struct decisions *decisions) {
  struct graph *graph = host->graph;
  size_t place = host->image * elements(host, node) + element;
  device_write(graph->device, graph_value(graph, (tensor){(uint16_t)node}), sizeof(float) * place,
               sizeof value, &value);
  decisions->turned++;
  decisions->farthest = fmax(decisions->farthest, distance);
}

static float *read_value(const struct host *host, int i, struct arena *arena) {
  size_t count = elements(host, i);
  float *value = ARENA_NEW(arena, float, count);
  device_read(host->graph->device, graph_value(host->graph, (tensor){(uint16_t)i}),
              sizeof(float) * count * host->image, sizeof(float) * count, value);
  return value;
}

/* Backward looks at the sign of the ReLU's output: a tiny one lets the gradient through. */
static void turn_relu(const struct host *host, int i, struct arena *arena, struct decisions *decisions) {
  const double *input = input_value(host, i, 0);
  const float *found = read_value(host, i, arena);
  for (size_t k = 0; k < elements(host, i); k++)
    if ((found[k] > 0) != (input[k] > 0))
      turn(host, i, k, input[k] > 0 ? 1e-30f : 0, fabs(input[k]), decisions);
}

/* Backward looks for the largest again: double's choice is lifted just above it. Where ReLU has made zeros of
 * all four, the gradient goes nowhere. */
static void turn_pool(const struct host *host, int i, struct arena *arena, struct decisions *decisions) {
  int from = node_of(host, i)->input[0].node;
  size_t width = (size_t)input_of(host, i)->shape.width, count = elements(host, from);
  const float *found = read_value(host, from, arena);
  double *single = ARENA_NEW(arena, double, count), gap;
  for (size_t k = 0; k < count; k++) single[k] = (double)found[k];
  for (size_t k = 0; k < elements(host, i); k++) {
    size_t corner = corner_of(host, i, k), best = largest_of(host->value[from], corner, width, &gap);
    size_t other = largest_of(single, corner, width, NULL);
    if (best != other && host->value[from][best] > 0)
      turn(host, from, best, nextafterf(found[other], INFINITY), gap, decisions);
  }
}

static bool run_image(struct host *host, struct decisions *decisions, struct error *error) {
  for (int i = 0; i < host->graph->nodes; i++)
    if (!run_node(host, i, error)) return false;
  for (int i = 0; i < host->graph->nodes; i++) {
    struct arena *arena = arena_open();
    if (node_of(host, i)->op == &op_relu) turn_relu(host, i, arena, decisions);
    if (node_of(host, i)->op == &op_pool) turn_pool(host, i, arena, decisions);
    arena_close(arena);
  }
  return true;
}

bool decisions_turn(struct graph *graph, const float *const *inputs, struct decisions *decisions,
                    struct error *error) {
  struct arena *arena = arena_open();
  float *parameters = ARENA_NEW(arena, float, graph->elements);
  bool good = true;
  *decisions = (struct decisions){0};
  device_read(graph->device, graph->values, 0, sizeof(float) * graph->elements, parameters);
  for (size_t image = 0; good && image < graph->images; image++) {
    struct host host = {graph, arena_open(), parameters, {NULL}, image, inputs};
    good = run_image(&host, decisions, error);
    arena_close(host.arena);
  }
  arena_close(arena);
  return good;
}
