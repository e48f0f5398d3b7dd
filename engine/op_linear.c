/* Linear layers: every image's values, flattened in the order [channel][height][width], times the weight. */
#include "engine/blas.h"
#include "engine/graph.h"

static bool shape(struct graph *graph, tensor out, struct error *error) {
  struct node *node = graph_node(graph, out);
  int outputs = node->shape.channels;
  size_t inputs = graph_elements(graph, node->input[0]);
  if (outputs < 1) return fail(error, "%d outputs; there must be at least 1", outputs);
  node->shape = (struct tensor_shape){outputs, 1, 1};
  node->weight = graph_parameter(graph, graph_name(graph, "%s.weight", node->name), inputs, 2,
                                 (size_t[]){(size_t)outputs, inputs});
  node->bias = graph_parameter(graph, graph_name(graph, "%s.bias", node->name), inputs, 1,
                               (size_t[]){(size_t)outputs});
  return true;
}

static void forward(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out);
  size_t outputs = (size_t)node->shape.channels, inputs = graph_elements(graph, node->input[0]);
  kernel_run(graph->kernels, "linear_bias", graph->images * outputs,
             ARGS(graph_arg(ARG_IN, graph->parameter[node->bias].value), graph_arg(ARG_OUT, node->value),
                  arg_u32((uint32_t)outputs)));
  blas_product(graph->device, graph->images, outputs, inputs,
               (struct blas_factor){graph_node(graph, node->input[0])->value, 0, false},
               (struct blas_factor){graph->parameter[node->weight].value, 0, true}, node->value, true);
}

static void backward(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out), *x = graph_node(graph, node->input[0]);
  const struct parameter *weight = &graph->parameter[node->weight], *bias = &graph->parameter[node->bias];
  size_t outputs = (size_t)node->shape.channels, inputs = graph_elements(graph, node->input[0]);
  blas_product(graph->device, outputs, inputs, graph->images, (struct blas_factor){node->gradient, 0, true},
               (struct blas_factor){x->value, 0, false}, weight->gradient, true);
  kernel_run(graph->kernels, "linear_bias_backward", outputs,
             ARGS(graph_arg(ARG_IN, node->gradient), graph_arg(ARG_INOUT, bias->gradient),
                  arg_u32((uint32_t)graph->images)));
  if (x->needs_gradient)
    blas_product(graph->device, graph->images, inputs, outputs,
                 (struct blas_factor){node->gradient, 0, false},
                 (struct blas_factor){weight->value, 0, false}, x->gradient, node->adds[0]);
}

static double flops(const struct graph *graph, tensor out) {
  const struct node *node = &graph->node[out.node];
  return 2.0 * (double)graph_elements(graph, node->input[0]) * node->shape.channels;
}

const struct op_desc op_linear = {.name = "linear",
                                  .shape = shape,
                                  .forward = forward,
                                  .backward = backward,
                                  .flops = flops,
                                  .keeps_input = true,
                                  .kernels = {"linear_bias", "linear_bias_backward"}};
