/* Log-softmax over the actions that are free. */
#include "engine/graph/graph.h"

/* The output of an action that is not free: PROTOCOL 1.6. Its probability is exactly 0, its entropy no
 * NaN. */
#define BARRED (-1e10f)

static bool shape(struct graph *graph, tensor out, struct error *error) {
  struct node *node = graph_node(graph, out);
  const struct node *taken = graph_node(graph, node->input[1]);
  const struct tensor_shape *in = &graph_node(graph, node->input[0])->shape, *mask = &taken->shape;
  if (in->height != 1 || in->width != 1)
    return fail(error, "logits of %dx%dx%d; they must be actions x1x1", in->channels, in->height, in->width);
  if (mask->channels != in->channels || mask->height != 1 || mask->width != 1)
    return fail(error, "'%s' is %dx%dx%d; it must be %dx1x1, as the logits are", taken->name, mask->channels,
                mask->height, mask->width, in->channels);
  node->shape = *in;
  return true;
}

static void forward(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out);
  kernel_run(graph->kernels, "log_softmax_forward", graph->images,
             ARGS(graph_arg(ARG_IN, graph_node(graph, node->input[0])->value),
                  graph_arg(ARG_IN, graph_node(graph, node->input[1])->value),
                  graph_arg(ARG_OUT, node->value), arg_u32((uint32_t)node->shape.channels), arg_f32(BARRED)));
}

static void backward(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out);
  kernel_run(graph->kernels, "log_softmax_backward", graph->images,
             ARGS(graph_arg(ARG_IN, node->value), graph_arg(ARG_IN, graph_node(graph, node->input[1])->value),
                  graph_arg(ARG_IN, node->gradient),
                  graph_arg(ARG_INOUT, graph_node(graph, node->input[0])->gradient),
                  arg_u32((uint32_t)node->shape.channels), arg_u32(node->adds[0])));
}

const struct op_desc op_log_softmax = {.name = "log_softmax",
                                       .shape = shape,
                                       .forward = forward,
                                       .backward = backward,
                                       .keeps_input = true,
                                       .keeps_output = true,
                                       .blocks = {false, true},
                                       .kernels = {"log_softmax_forward", "log_softmax_backward"}};
