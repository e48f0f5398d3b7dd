/* Arithmetic: parameters as values, sums, products, values that pass no gradient. */
#include "engine/base/round.h"
#include "engine/graph/graph.h"

static uint32_t count(const struct graph *graph, tensor out) {
  return (uint32_t)(graph->images * graph_elements(graph, out));
}

static uint32_t entries(const struct graph *graph, tensor out) {
  return (uint32_t)graph_elements(graph, out);
}

/* ---- a parameter as the value of every image ----------------------------------------------------------- */

static bool shape_learned(struct graph *graph, tensor out, struct error *error) {
  struct node *node = graph_node(graph, out);
  struct tensor_shape shape = node->shape;
  if (shape.channels < 1 || shape.height < 1 || shape.width < 1)
    return fail(error, "%dx%dx%d; channels, height and width must be at least 1", shape.channels,
                shape.height, shape.width);
  const size_t size[] = {(size_t)shape.channels, (size_t)shape.height, (size_t)shape.width};
  node->weight = graph_parameter(graph, node->name, 1, 3, size);
  return true;
}

static void forward_learned(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out);
  kernel_run(graph->kernels, "linear_bias", count(graph, out),
             ARGS(graph_arg(ARG_IN, graph->parameter[node->weight].value), graph_arg(ARG_OUT, node->value),
                  arg_u32(entries(graph, out))));
}

static void backward_learned(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out);
  const struct graph_cut cut = graph_cut(graph, graph->images);
  kernel_run(graph->kernels, "linear_bias_backward", cut.shards * entries(graph, out),
             ARGS(graph_arg(ARG_IN, node->gradient), graph_shards(&cut, entries(graph, out)), arg_u32((uint32_t)graph->images),
                  arg_u32((uint32_t)cut.each), arg_u32(entries(graph, out)),
                  SHARD_ARGS(cut, &graph->parameter[node->weight])));
}

/* ---- scaling, sums ------------------------------------------------------------------------------------- */

static bool shape_same(struct graph *graph, tensor out, struct error *error) {
  struct node *node = graph_node(graph, out);
  (void)error;
  node->shape = graph_source(graph, node, 0)->shape;
  return true;
}

static bool shape_add(struct graph *graph, tensor out, struct error *error) {
  struct node *node = graph_node(graph, out);
  node->shape = graph_source(graph, node, 0)->shape;
  return graph_same_shape(graph_source(graph, node, 0), graph_source(graph, node, 1), error);
}

static void scale_into(struct graph *graph, tensor out, cl_mem from, cl_mem to, float factor, bool adds) {
  kernel_run(graph->kernels, "scale_into", ((size_t)count(graph, out) + 7) / 8,
             ARGS(graph_arg(ARG_IN, from), graph_arg(ARG_INOUT, to), arg_f32(factor),
                  arg_u32(count(graph, out)), arg_u32(adds)));
}

static void forward_scale(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out);
  scale_into(graph, out, graph_source(graph, node, 0)->value, node->value, node->slope, false);
}

static void backward_scale(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out);
  scale_into(graph, out, node->gradient, graph_source(graph, node, 0)->gradient, node->slope, node->adds[0]);
}

static void forward_add(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out);
  for (int k = 0; k < 2; k++) scale_into(graph, out, graph_source(graph, node, k)->value, node->value, 1, k);
}

static void backward_add(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out);
  for (int k = 0; k < 2; k++)
    if (graph_source(graph, node, k)->needs_gradient)
      scale_into(graph, out, node->gradient, graph_source(graph, node, k)->gradient, 1, node->adds[k]);
}

/* ---- products, broadcast ------------------------------------------------------------------------------- */

static bool shape_multiply(struct graph *graph, tensor out, struct error *error) {
  struct node *node = graph_node(graph, out);
  const struct node *factor = graph_source(graph, node, 1);
  if (factor->copies != 1)
    return fail(error, "the factor '%s' has %d copies an image; it must have one", factor->name, factor->copies);
  struct tensor_shape in = graph_source(graph, node, 0)->shape, own = factor->shape;
  if (own.channels != 1 || (own.height != 1 && own.height != in.height) || own.width != in.width)
    return fail(error, "the factor '%s' is %dx%dx%d; it must be 1x1x%d, as wide as the image, or 1x%dx%d",
                factor->name, own.channels, own.height, own.width, in.width, in.height, in.width);
  node->shape = in;
  return true;
}

/* Entries of the factor, which every so many values of an image are multiplied by: a row, or where the factor
 * has every row a channel. */
static size_t factors(const struct graph *graph, const struct node *node) {
  return graph_elements(graph, node->input[1]);
}

/* How often the factor stands side by side in one image, all copies and channels together. */
static size_t repeats(const struct graph *graph, const struct node *node) {
  return (size_t)node->copies * (size_t)node->shape.channels * (size_t)node->shape.height *
         (size_t)node->shape.width / factors(graph, node);
}

static void multiply_into(struct graph *graph, const struct node *node, cl_mem from, cl_mem to, bool add) {
  size_t width = factors(graph, node), count = repeats(graph, node);
  kernel_run(graph->kernels, "columns_multiply", graph->images * count * divide_up(width, 8),
             ARGS(graph_arg(ARG_IN, from), graph_arg(ARG_IN, graph_source(graph, node, 1)->value),
                  graph_arg(ARG_INOUT, to), arg_u32((uint32_t)count), arg_u32((uint32_t)width),
                  arg_u32(add)));
}

static void forward_multiply(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out);
  multiply_into(graph, node, graph_source(graph, node, 0)->value, node->value, false);
}

static void backward_multiply(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out), *x = graph_source(graph, node, 0);
  const struct node *factor = graph_source(graph, node, 1);
  size_t width = factors(graph, node);
  if (x->needs_gradient) multiply_into(graph, node, node->gradient, x->gradient, node->adds[0]);
  if (factor->needs_gradient)
    kernel_run(graph->kernels, "columns_sum", graph->images * divide_up(width, 32),
               ARGS(graph_arg(ARG_IN, x->value), graph_arg(ARG_IN, node->gradient),
                    graph_arg(ARG_INOUT, factor->gradient), arg_u32((uint32_t)repeats(graph, node)),
                    arg_u32((uint32_t)width), arg_u32(node->adds[1])));
}

/* ---- no gradient --------------------------------------------------------------------------------------- */

static void forward_detach(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out);
  device_copy(graph->device, graph_source(graph, node, 0)->value, 0, node->value, 0,
              sizeof(float) * graph->images * graph_elements(graph, out));
}

static void backward_detach(struct graph *graph, tensor out) {
  REQUIRE(false, "'%s' gives no gradient", graph_node(graph, out)->name);
}

const struct op_desc op_learned = {.name = "learned",
                                   .shape = shape_learned,
                                   .forward = forward_learned,
                                   .backward = backward_learned,
                                   .kernels = {"linear_bias", "linear_bias_backward"}};

const struct op_desc op_scale = {.name = "scale",
                                 .shape = shape_same,
                                 .forward = forward_scale,
                                 .backward = backward_scale,
                                 .kernels = {"scale_into"}};

const struct op_desc op_add = {.name = "add",
                               .shape = shape_add,
                               .forward = forward_add,
                               .backward = backward_add,
                               .kernels = {"scale_into"}};

const struct op_desc op_multiply = {.name = "multiply",
                                    .shape = shape_multiply,
                                    .forward = forward_multiply,
                                    .backward = backward_multiply,
                                    .keeps_input = true,
                                    .mixes = true,
                                    .kernels = {"columns_multiply", "columns_sum"}};

const struct op_desc op_detach = {.name = "detach",
                                  .shape = shape_same,
                                  .forward = forward_detach,
                                  .backward = backward_detach,
                                  .blocks = {true}};

/* ---- building ------------------------------------------------------------------------------------------ */

tensor learned(struct graph *graph, const char *name, int channels, int height, int width, double gain) {
  struct node node = {.op = &op_learned, .name = name, .shape = {channels, height, width}, .bias = -1};
  tensor out = graph_append(graph, &node);
  if (graph->failed) return out;
  struct parameter *parameter = &graph->parameter[graph_node(graph, out)->weight];
  parameter->start = START_LOGISTIC;
  parameter->gain = gain;
  return out;
}

tensor scale(struct graph *graph, tensor x, float factor) {
  struct node node = {.op = &op_scale, .input = {x}, .inputs = 1, .weight = -1, .bias = -1, .slope = factor};
  node.name = graph_name(graph, "scale.%d", graph->nodes);
  return graph_append(graph, &node);
}

tensor add(struct graph *graph, tensor a, tensor b) {
  return graph_append_pair(graph, &op_add, a, b);
}

tensor multiply(struct graph *graph, tensor x, tensor factor) {
  return graph_append_pair(graph, &op_multiply, x, factor);
}

tensor detach(struct graph *graph, tensor x) {
  return graph_append_op(graph, &op_detach, x);
}
