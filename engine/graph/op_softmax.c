/* Log-softmax over the entries that are not taken, and their shares of the largest softplus. */
#include "engine/graph/graph.h"

/* The output of an entry that is taken: its probability is exactly 0, its entropy no NaN. */
#define BARRED (-1e10f)

static bool shape_log_softmax(struct graph *graph, tensor out, struct error *error) {
  struct node *node = graph_node(graph, out);
  const struct node *taken = graph_node(graph, node->input[1]);
  const struct tensor_shape *in = &graph_node(graph, node->input[0])->shape, *own = &taken->shape;
  if (in->height != 1 || in->width != 1)
    return fail(error, "logits of %dx%dx%d; their height and width must be 1", in->channels, in->height,
                in->width);
  if (own->channels != in->channels || own->height != 1 || own->width != 1)
    return fail(error, "'%s' is %dx%dx%d; it must be %dx1x1, as the logits are", taken->name, own->channels,
                own->height, own->width, in->channels);
  node->shape = *in;
  return true;
}

static void forward_log_softmax(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out);
  kernel_run(graph->kernels, "log_softmax_forward", graph->images,
             ARGS(graph_arg(ARG_IN, graph_node(graph, node->input[0])->value),
                  graph_arg(ARG_IN, graph_node(graph, node->input[1])->value),
                  graph_arg(ARG_OUT, node->value), arg_u32((uint32_t)node->shape.channels), arg_f32(BARRED)));
}

static void backward_log_softmax(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out);
  kernel_run(graph->kernels, "log_softmax_backward", graph->images,
             ARGS(graph_arg(ARG_IN, node->value), graph_arg(ARG_IN, graph_node(graph, node->input[1])->value),
                  graph_arg(ARG_IN, node->gradient),
                  graph_arg(ARG_INOUT, graph_node(graph, node->input[0])->gradient),
                  arg_u32((uint32_t)node->shape.channels), arg_u32(node->adds[0])));
}

const struct op_desc op_log_softmax = {.name = "log_softmax",
                                       .shape = shape_log_softmax,
                                       .forward = forward_log_softmax,
                                       .backward = backward_log_softmax,
                                       .keeps_input = true,
                                       .keeps_output = true,
                                       .blocks = {false, true},
                                       .kernels = {"log_softmax_forward", "log_softmax_backward"}};

/* ---- softplus over the largest ------------------------------------------------------------------------- */

static bool shape_share(struct graph *graph, tensor out, struct error *error) {
  struct node *node = graph_node(graph, out);
  size_t values = graph_elements(graph, node->input[0]);
  node->shape = graph_source(graph, node, 1)->shape;
  if (values == graph_elements(graph, out)) return true;
  return fail(error, "%zu values; '%s' has %zu, there must be as many", values,
              graph_source(graph, node, 1)->name, graph_elements(graph, out));
}

static void forward_share(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out);
  kernel_run(graph->kernels, "share_forward", graph->images,
             ARGS(graph_arg(ARG_IN, graph_source(graph, node, 0)->value),
                  graph_arg(ARG_IN, graph_source(graph, node, 1)->value), graph_arg(ARG_OUT, node->value),
                  arg_u32((uint32_t)graph_elements(graph, out))));
}

static void backward_share(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out), *x = graph_source(graph, node, 0);
  kernel_run(graph->kernels, "share_backward", graph->images,
             ARGS(graph_arg(ARG_IN, x->value), graph_arg(ARG_IN, graph_source(graph, node, 1)->value),
                  graph_arg(ARG_IN, node->gradient), graph_arg(ARG_INOUT, x->gradient),
                  arg_u32((uint32_t)graph_elements(graph, out)), arg_u32(node->adds[0])));
}

const struct op_desc op_share = {.name = "share",
                                 .shape = shape_share,
                                 .forward = forward_share,
                                 .backward = backward_share,
                                 .keeps_input = true,
                                 .blocks = {false, true},
                                 .kernels = {"share_forward", "share_backward"}};

/* ---- building ------------------------------------------------------------------------------------------ */

tensor log_softmax(struct graph *graph, tensor x, tensor taken) {
  return graph_append_pair(graph, &op_log_softmax, x, taken);
}

tensor softplus_share(struct graph *graph, tensor x, tensor taken) {
  return graph_append_pair(graph, &op_share, x, taken);
}
