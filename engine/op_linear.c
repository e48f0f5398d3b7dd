/* Linear layers: every image's values, flattened in the order [channel][height][width], times the weight. */
#include "engine/blas.h"
#include "engine/graph.h"
#include "engine/round.h"

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

/* ---- by matrix instructions ---------------------------------------------------------------------------- */

enum { SPAN = 512, GROUP = 32, TILE_IMAGES = 32, TILE_OUTPUTS = 64 }; /* kernels/linear.cl */

static bool takes_matrix(const struct graph *graph, const struct node *node) {
  return graph->products != PRODUCTS_LIBRARY && graph_elements(graph, node->input[0]) % 16 == 0;
}

static size_t work(const struct graph *graph, tensor out, size_t images) {
  const struct node *node = &graph->node[out.node];
  if (!takes_matrix(graph, node)) return 0;
  size_t spans = divide_up(graph_elements(graph, node->input[0]), SPAN);
  return sizeof(float) * spans * images * (size_t)node->shape.channels;
}

static void forward_matrix(struct graph *graph, const struct node *node) {
  size_t outputs = (size_t)node->shape.channels, inputs = graph_elements(graph, node->input[0]);
  size_t spans = divide_up(inputs, SPAN), images = graph->images;
  size_t tiles = divide_up(images, TILE_IMAGES) * divide_up(outputs, TILE_OUTPUTS) * spans;
  kernel_variant_run(graph->kernels, &graph->product, tiles,
                     ARGS(graph_arg(ARG_IN, graph_node(graph, node->input[0])->value),
                          graph_arg(ARG_IN, graph->parameter[node->weight].value),
                          graph_arg(ARG_OUT, node->work), arg_u32((uint32_t)inputs),
                          arg_u32((uint32_t)outputs), arg_u32((uint32_t)images), arg_u32(SPAN)));
  kernel_variant_run(graph->kernels, &graph->product_sum, images * outputs,
                     ARGS(graph_arg(ARG_IN, node->work),
                          graph_arg(ARG_IN, graph->parameter[node->bias].value),
                          graph_arg(ARG_OUT, node->value), arg_u32((uint32_t)outputs),
                          arg_u32((uint32_t)spans)));
}

static bool open(struct graph *graph, tensor out, struct error *error) {
  if (!takes_matrix(graph, graph_node(graph, out)) || graph->product.kernel) return true;
  const char *macros = graph->products == PRODUCTS_HALF ? "-DPARTS=1" : "-DPARTS=2";
  return kernel_variant_open(graph->kernels, &graph->product, "linear_product", macros, GROUP, error) &&
         kernel_variant_open(graph->kernels, &graph->product_sum, "linear_sum", macros, 64, error);
}

static void close(struct graph *graph, tensor out) {
  (void)out;
  kernel_variant_close(&graph->product);
  kernel_variant_close(&graph->product_sum);
}

/* ---- forward, backward --------------------------------------------------------------------------------- */

static void forward(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out);
  size_t outputs = (size_t)node->shape.channels, inputs = graph_elements(graph, node->input[0]);
  if (takes_matrix(graph, node)) {
    forward_matrix(graph, node);
    return;
  }
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
                                  .work = work,
                                  .open = open,
                                  .close = close,
                                  .keeps_input = true,
                                  .kernels = {"linear_bias", "linear_bias_backward"}};
