/* Pooling by maximum and mean, bilinear up-sampling and concatenation of channels. */
#include "engine/base/round.h"
#include "engine/graph/graph.h"

static const struct node *input_of(struct graph *graph, const struct node *node, int k) {
  return graph_node(graph, node->input[k]);
}

/* Planes of the node's input. */
static size_t planes(const struct graph *graph, const struct node *node) {
  return graph->images * (size_t)graph->node[node->input[0].node].shape.channels;
}

#define PLANE_ARGS(shape) arg_u32((uint32_t)(shape).height), arg_u32((uint32_t)(shape).width)

/* ---- max pool ------------------------------------------------------------------------------------------ */

static bool shape_pool(struct graph *graph, tensor out, struct error *error) {
  struct node *node = graph_node(graph, out);
  struct tensor_shape in = input_of(graph, node, 0)->shape;
  if (in.height < 2 || in.width < 2)
    return fail(error, "%dx%d cannot be halved; height and width must be at least 2", in.height, in.width);
  node->shape = (struct tensor_shape){in.channels, in.height / 2, in.width / 2};
  return true;
}

static void forward_pool(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out), *x = input_of(graph, node, 0);
  size_t strips = divide_up((size_t)node->shape.width, 4);
  kernel_run(graph->kernels, "pool_forward", planes(graph, node) * (size_t)node->shape.height * strips,
             ARGS(graph_arg(ARG_IN, x->value), graph_arg(ARG_OUT, node->value), PLANE_ARGS(x->shape)));
}

static void backward_pool(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out), *x = input_of(graph, node, 0);
  size_t corners =
      divide_up((size_t)x->shape.height, 2) * divide_up((size_t)x->shape.width, 8); /* an item takes four */
  kernel_run(graph->kernels, "pool_backward", planes(graph, node) * corners,
             ARGS(graph_arg(ARG_IN, x->value), graph_arg(ARG_IN, node->gradient),
                  graph_arg(ARG_INOUT, x->gradient), PLANE_ARGS(x->shape), arg_u32(node->adds[0])));
}

/* ---- average pool -------------------------------------------------------------------------------------- */

static void forward_average(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out), *x = input_of(graph, node, 0);
  size_t strips = divide_up((size_t)node->shape.width, 4);
  kernel_run(graph->kernels, "average_forward", planes(graph, node) * (size_t)node->shape.height * strips,
             ARGS(graph_arg(ARG_IN, x->value), graph_arg(ARG_OUT, node->value), PLANE_ARGS(x->shape)));
}

static void backward_average(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out), *x = input_of(graph, node, 0);
  size_t strips = divide_up((size_t)x->shape.width, 8);
  kernel_run(graph->kernels, "average_backward", planes(graph, node) * (size_t)x->shape.height * strips,
             ARGS(graph_arg(ARG_IN, node->gradient), graph_arg(ARG_INOUT, x->gradient), PLANE_ARGS(x->shape),
                  arg_u32(node->adds[0])));
}

/* ---- up-sampling --------------------------------------------------------------------------------------- */

static bool shape_up_sample(struct graph *graph, tensor out, struct error *error) {
  struct node *node = graph_node(graph, out);
  struct tensor_shape in = input_of(graph, node, 0)->shape;
  (void)error;
  node->shape = (struct tensor_shape){in.channels, 2 * in.height, 2 * in.width};
  return true;
}

static size_t input_strips(const struct graph *graph, const struct node *node, const struct node *x) {
  return planes(graph, node) * (size_t)x->shape.height * divide_up((size_t)x->shape.width, 4);
}

static void forward_up_sample(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out), *x = input_of(graph, node, 0);
  kernel_run(graph->kernels, "up_sample_forward", input_strips(graph, node, x),
             ARGS(graph_arg(ARG_IN, x->value), graph_arg(ARG_OUT, node->value), PLANE_ARGS(x->shape)));
}

static void backward_up_sample(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out), *x = input_of(graph, node, 0);
  kernel_run(graph->kernels, "up_sample_backward", input_strips(graph, node, x),
             ARGS(graph_arg(ARG_IN, node->gradient), graph_arg(ARG_INOUT, x->gradient), PLANE_ARGS(x->shape),
                  arg_u32(node->adds[0])));
}

/* ---- concatenation ------------------------------------------------------------------------------------- */

static bool shape_concat(struct graph *graph, tensor out, struct error *error) {
  struct node *node = graph_node(graph, out);
  struct tensor_shape a = input_of(graph, node, 0)->shape, b = input_of(graph, node, 1)->shape;
  if (a.height != b.height || a.width != b.width)
    return fail(error, "%dx%d does not match the %dx%d of '%s'; height and width must agree", a.height,
                a.width, b.height, b.width, input_of(graph, node, 1)->name);
  node->shape = (struct tensor_shape){a.channels + b.channels, a.height, a.width};
  return true;
}

/* Where a block of each image lies: values an image, first value. */
struct place {
  cl_mem buffer;
  size_t image, start;
};

static void copy(struct graph *graph, size_t count, struct place from, struct place to, bool add) {
  kernel_run(graph->kernels, "concat_copy", graph->images * divide_up(count, 8),
             ARGS(graph_arg(ARG_IN, from.buffer), graph_arg(ARG_INOUT, to.buffer), arg_u32((uint32_t)count),
                  arg_u32((uint32_t)from.image), arg_u32((uint32_t)from.start), arg_u32((uint32_t)to.image),
                  arg_u32((uint32_t)to.start), arg_u32(add)));
}

static void forward_concat(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out);
  size_t all = graph_elements(graph, out), start = 0;
  for (int k = 0; k < 2; k++) {
    size_t count = graph_elements(graph, node->input[k]);
    copy(graph, count, (struct place){input_of(graph, node, k)->value, count, 0},
         (struct place){node->value, all, start}, false);
    start += count;
  }
}

static void backward_concat(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out);
  size_t all = graph_elements(graph, out), start = 0;
  for (int k = 0; k < 2; k++) {
    const struct node *x = input_of(graph, node, k);
    size_t count = graph_elements(graph, node->input[k]);
    if (x->needs_gradient)
      copy(graph, count, (struct place){node->gradient, all, start}, (struct place){x->gradient, count, 0},
           node->adds[k]);
    start += count;
  }
}

const struct op_desc op_pool = {.name = "max_pool",
                                .shape = shape_pool,
                                .forward = forward_pool,
                                .backward = backward_pool,
                                .keeps_input = true,
                                .kernels = {"pool_forward", "pool_backward"}};

const struct op_desc op_average = {.name = "average_pool",
                                   .shape = shape_pool,
                                   .forward = forward_average,
                                   .backward = backward_average,
                                   .kernels = {"average_forward", "average_backward"}};

const struct op_desc op_up_sample = {.name = "up_sample",
                                     .shape = shape_up_sample,
                                     .forward = forward_up_sample,
                                     .backward = backward_up_sample,
                                     .kernels = {"up_sample_forward", "up_sample_backward"}};

const struct op_desc op_concat = {.name = "concat",
                                  .shape = shape_concat,
                                  .forward = forward_concat,
                                  .backward = backward_concat,
                                  .kernels = {"concat_copy"}};

/* ---- building ------------------------------------------------------------------------------------------ */

tensor max_pool(struct graph *graph, tensor x) {
  return graph_append_op(graph, &op_pool, x);
}

tensor average_pool(struct graph *graph, tensor x) {
  return graph_append_op(graph, &op_average, x);
}

tensor up_sample(struct graph *graph, tensor x) {
  return graph_append_op(graph, &op_up_sample, x);
}

tensor concat(struct graph *graph, tensor a, tensor b) {
  return graph_append_pair(graph, &op_concat, a, b);
}
