/* Functions of one value: ReLU (and leaky), softplus, sigmoid; the step at a threshold. */
#include "engine/graph/graph.h"

static bool shape_same(struct graph *graph, tensor out, struct error *error) {
  struct node *node = graph_node(graph, out);
  (void)error;
  node->shape = graph_node(graph, node->input[0])->shape;
  return true;
}

/* A slope above 1 or below 0 would not let backward see the input's sign in the output. */
static bool shape_relu(struct graph *graph, tensor out, struct error *error) {
  float slope = graph_node(graph, out)->slope;
  if (!(slope >= 0 && slope <= 1)) return fail(error, "the slope is %g; it must be 0 to 1", (double)slope);
  return shape_same(graph, out, error);
}

static bool shape_straight_through(struct graph *graph, tensor out, struct error *error) {
  const struct node *node = graph_node(graph, out), *threshold = graph_node(graph, node->input[1]);
  struct tensor_shape in = graph_node(graph, node->input[0])->shape, limit = threshold->shape;
  if (!(node->slope >= 0)) return fail(error, "the slope is %g; it must be 0 or more", (double)node->slope);
  if (limit.channels != in.channels || limit.height != in.height || limit.width != in.width)
    return fail(error, "the threshold '%s' is %dx%dx%d; it must be %dx%dx%d, as the input is",
                threshold->name, limit.channels, limit.height, limit.width, in.channels, in.height, in.width);
  return shape_same(graph, out, error);
}

static uint32_t count(const struct graph *graph, tensor out) {
  return (uint32_t)(graph->images * graph_elements(graph, out));
}

static size_t strips(const struct graph *graph, tensor out) {
  return ((size_t)count(graph, out) + 7) / 8;
}

static void forward_relu(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out);
  kernel_run(graph->kernels, "relu_forward", strips(graph, out),
             ARGS(graph_arg(ARG_IN, graph_node(graph, node->input[0])->value),
                  graph_arg(ARG_OUT, node->value), arg_f32(node->slope), arg_u32(count(graph, out))));
}

static void backward_relu(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out);
  kernel_run(graph->kernels, "relu_backward", strips(graph, out),
             ARGS(graph_arg(ARG_IN, node->value), graph_arg(ARG_IN, node->gradient),
                  graph_arg(ARG_INOUT, graph_node(graph, node->input[0])->gradient), arg_f32(node->slope),
                  arg_u32(count(graph, out)), arg_u32(node->adds[0])));
}

static void run_forward(struct graph *graph, tensor out, const char *kernel) {
  const struct node *node = graph_node(graph, out);
  kernel_run(graph->kernels, kernel, strips(graph, out),
             ARGS(graph_arg(ARG_IN, graph_node(graph, node->input[0])->value),
                  graph_arg(ARG_OUT, node->value), arg_u32(count(graph, out))));
}

static void run_backward(struct graph *graph, tensor out, const char *kernel, cl_mem seen) {
  const struct node *node = graph_node(graph, out);
  kernel_run(graph->kernels, kernel, strips(graph, out),
             ARGS(graph_arg(ARG_IN, seen), graph_arg(ARG_IN, node->gradient),
                  graph_arg(ARG_INOUT, graph_node(graph, node->input[0])->gradient),
                  arg_u32(count(graph, out)), arg_u32(node->adds[0])));
}

static void forward_softplus(struct graph *graph, tensor out) {
  run_forward(graph, out, "softplus_forward");
}

static void backward_softplus(struct graph *graph, tensor out) {
  run_backward(graph, out, "softplus_backward", graph_node(graph, graph_node(graph, out)->input[0])->value);
}

static void forward_sigmoid(struct graph *graph, tensor out) {
  run_forward(graph, out, "sigmoid_forward");
}

static void backward_sigmoid(struct graph *graph, tensor out) {
  run_backward(graph, out, "sigmoid_backward", graph_node(graph, out)->value);
}

static void forward_straight_through(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out);
  kernel_run(graph->kernels, "straight_through_forward", strips(graph, out),
             ARGS(graph_arg(ARG_IN, graph_node(graph, node->input[0])->value),
                  graph_arg(ARG_IN, graph_node(graph, node->input[1])->value),
                  graph_arg(ARG_OUT, node->value), arg_u32(count(graph, out))));
}

static void backward_straight_through(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out), *x = graph_node(graph, node->input[0]);
  kernel_run(graph->kernels, "straight_through_backward", strips(graph, out),
             ARGS(graph_arg(ARG_IN, x->value), graph_arg(ARG_IN, graph_node(graph, node->input[1])->value),
                  graph_arg(ARG_IN, node->gradient), graph_arg(ARG_INOUT, x->gradient), arg_f32(node->slope),
                  arg_u32(count(graph, out)), arg_u32(node->adds[0])));
}

const struct op_desc op_relu = {.name = "relu",
                                .shape = shape_relu,
                                .forward = forward_relu,
                                .backward = backward_relu,
                                .keeps_output = true,
                                .kernels = {"relu_forward", "relu_backward"}};

const struct op_desc op_softplus = {.name = "softplus",
                                    .shape = shape_same,
                                    .forward = forward_softplus,
                                    .backward = backward_softplus,
                                    .keeps_input = true,
                                    .kernels = {"softplus_forward", "softplus_backward"}};

const struct op_desc op_sigmoid = {.name = "sigmoid",
                                   .shape = shape_same,
                                   .forward = forward_sigmoid,
                                   .backward = backward_sigmoid,
                                   .keeps_output = true,
                                   .kernels = {"sigmoid_forward", "sigmoid_backward"}};

const struct op_desc op_straight_through = {
    .name = "straight_through",
    .shape = shape_straight_through,
    .forward = forward_straight_through,
    .backward = backward_straight_through,
    .keeps_input = true,
    .blocks = {false, true},
    .kernels = {"straight_through_forward", "straight_through_backward"}};

/* ---- building ------------------------------------------------------------------------------------------ */

tensor leaky_relu(struct graph *graph, tensor x, float slope) {
  struct node node = {.op = &op_relu, .input = {x}, .inputs = 1, .weight = -1, .bias = -1, .slope = slope};
  node.name = graph_name(graph, "%s.%d", slope > 0 ? "leaky_relu" : "relu", graph->nodes);
  return graph_append(graph, &node);
}

tensor relu(struct graph *graph, tensor x) {
  return leaky_relu(graph, x, 0);
}

tensor softplus(struct graph *graph, tensor x) {
  return graph_append_op(graph, &op_softplus, x);
}

tensor sigmoid(struct graph *graph, tensor x) {
  return graph_append_op(graph, &op_sigmoid, x);
}

tensor straight_through(struct graph *graph, tensor x, tensor threshold, float slope) {
  struct node node = {.op = &op_straight_through,
                      .input = {x, threshold},
                      .inputs = 2,
                      .weight = -1,
                      .bias = -1,
                      .slope = slope};
  node.name = graph_name(graph, "straight_through.%d", graph->nodes);
  return graph_append(graph, &node);
}
