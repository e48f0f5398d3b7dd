/* Linear layers: every image's values, flattened in the order [channel][height][width], times the weight. */
#include "engine/base/round.h"
#include "engine/device/blas.h"
#include "engine/graph/graph.h"

#include <stdio.h>

static bool shape_linear(struct graph *graph, tensor out, struct error *error) {
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

enum { MULTIPLE = 16 }; /* kernels/linear.cl */

/* A work-group's warps, and the sums of each warp in units of 16 x 8. */
static const struct tile {
  int warps_a, warps_b, a_tiles, b_tiles;
} tiles[GRAPH_TILES] = {[TILE_FEW] = {1, 8, 2, 2}, [TILE_MANY] = {4, 4, 2, 4}};

static size_t rows_of(const struct tile *tile) {
  return (size_t)(tile->warps_a * tile->a_tiles * 16);
}

static size_t columns_of(const struct tile *tile) {
  return (size_t)(tile->warps_b * tile->b_tiles * 8);
}

static size_t group_of(const struct tile *tile) {
  return (size_t)(32 * tile->warps_a * tile->warps_b);
}

/* A short sum has few tiles: its spans are short too, or a few groups would do all, one product after the
 * other. */
static size_t span_of(size_t length) {
  return length > 4096 ? 512 : 64;
}

static bool takes_matrix(const struct graph *graph, const struct node *node) {
  return graph->products != PRODUCTS_LIBRARY && graph_elements(graph, node->input[0]) % MULTIPLE == 0;
}

static size_t work_linear(const struct graph *graph, tensor out, size_t images) {
  const struct node *node = &graph->node[out.node];
  if (!takes_matrix(graph, node)) return 0;
  size_t inputs = graph_elements(graph, node->input[0]), spans = divide_up(inputs, span_of(inputs));
  return sizeof(float) * spans * images * (size_t)node->shape.channels;
}

/* Whether the gradient of the input is summed in spans: where it is wide it has tiles enough. */
static bool splits_input(const struct graph *graph, const struct node *node) {
  return takes_matrix(graph, node) && graph_elements(graph, node->input[0]) <= 4096 &&
         (size_t)node->shape.channels > span_of((size_t)node->shape.channels);
}

static size_t scratch_linear(const struct graph *graph, tensor out, size_t images) {
  const struct node *node = &graph->node[out.node];
  if (!splits_input(graph, node) || !graph->node[node->input[0].node].needs_gradient) return 0;
  size_t outputs = (size_t)node->shape.channels, spans = divide_up(outputs, span_of(outputs));
  return sizeof(float) * spans * images * graph_elements(graph, node->input[0]);
}

/* Builds a kernel of linear.cl for a product. */
static bool open_variant(struct graph *graph, struct kernel_variant *variant, const char *name,
                         enum graph_product kind, enum graph_tile size, size_t group, struct error *error) {
  static const char *const factors[GRAPH_PRODUCTS] = {
      [PRODUCT_FORWARD] = "-DTF32=0 -DTURNED_A=0 -DTURNED_B=0",
      [PRODUCT_INPUT] = "-DTF32=1 -DTURNED_A=0 -DTURNED_B=1",
      [PRODUCT_WEIGHT] = "-DTF32=1 -DTURNED_A=1 -DTURNED_B=1"};
  const struct tile *tile = &tiles[size];
  char macros[256];
  snprintf(macros, sizeof macros, "%s -DPARTS=%d -DWARPS_A=%d -DWARPS_B=%d -DA_TILES=%d -DB_TILES=%d",
           factors[kind], graph->products == PRODUCTS_SPLIT ? 2 : 1, tile->warps_a, tile->warps_b,
           tile->a_tiles, tile->b_tiles);
  return kernel_variant_open(graph->kernels, variant, name, macros, group, error);
}

static bool open_products(struct graph *graph, enum graph_product kind, struct error *error) {
  for (int size = 0; size < GRAPH_TILES; size++)
    if (!open_variant(graph, &graph->product[kind][size], "linear_product", kind, (enum graph_tile)size,
                      group_of(&tiles[size]), error))
      return false;
  return true;
}

static bool open_linear(struct graph *graph, tensor out, struct error *error) {
  if (!takes_matrix(graph, graph_node(graph, out)) || graph->product_sum.kernel) return true;
  if (!open_products(graph, PRODUCT_FORWARD, error) ||
      !open_variant(graph, &graph->product_sum, "linear_sum", PRODUCT_FORWARD, TILE_FEW, 64, error))
    return false;
  return !graph->train ||
         (open_products(graph, PRODUCT_INPUT, error) && open_products(graph, PRODUCT_WEIGHT, error) &&
          open_variant(graph, &graph->product_gather, "linear_gather", PRODUCT_FORWARD, TILE_FEW, 64, error));
}

static void close_linear(struct graph *graph, tensor out) {
  (void)out;
  for (int kind = 0; kind < GRAPH_PRODUCTS; kind++)
    for (int size = 0; size < GRAPH_TILES; size++) kernel_variant_close(&graph->product[kind][size]);
  kernel_variant_close(&graph->product_sum);
  kernel_variant_close(&graph->product_gather);
}

/* C[m][n] = sum of A[m][k] B[n][k], stored as linear.cl says of the kind; of rows of `across` the first n. Sums over spans
 * of k start `stride` apart, from `at` on. */
static void spans_product(struct graph *graph, enum graph_product kind, cl_mem a, size_t m, cl_mem b, size_t n,
                          size_t across, size_t k, size_t span, cl_mem c, size_t at, size_t stride, bool add) {
  enum graph_tile size = m > 2 * rows_of(&tiles[TILE_FEW]) ? TILE_MANY : TILE_FEW;
  size_t groups =
      divide_up(m, rows_of(&tiles[size])) * divide_up(n, columns_of(&tiles[size])) * divide_up(k, span);
  kernel_variant_run(graph->kernels, &graph->product[kind][size], groups,
                     ARGS(graph_arg(ARG_IN, a), graph_arg(ARG_IN, b), graph_arg(ARG_INOUT, c),
                          arg_u32((uint32_t)m), arg_u32((uint32_t)n), arg_u32((uint32_t)across),
                          arg_u32((uint32_t)k), arg_u32((uint32_t)span), arg_u32((uint32_t)at), arg_u32((uint32_t)stride),
                          arg_u32(add)));
}

/* With the spans' sums one after the other. */
static void product(struct graph *graph, enum graph_product kind, cl_mem a, size_t m, cl_mem b, size_t n,
                    size_t across, size_t k, size_t span, cl_mem c, bool add) {
  spans_product(graph, kind, a, m, b, n, across, k, span, c, 0, m * across, add);
}

static void forward_matrix(struct graph *graph, const struct node *node) {
  size_t outputs = (size_t)node->shape.channels, inputs = graph_elements(graph, node->input[0]);
  product(graph, PRODUCT_FORWARD, graph_node(graph, node->input[0])->value, graph->images,
          graph->parameter[node->weight].value, outputs, outputs, inputs, span_of(inputs), node->work, false);
  kernel_variant_run(graph->kernels, &graph->product_sum, graph->images * outputs,
                     ARGS(graph_arg(ARG_IN, node->work),
                          graph_arg(ARG_IN, graph->parameter[node->bias].value),
                          graph_arg(ARG_OUT, node->value), arg_u32((uint32_t)outputs),
                          arg_u32((uint32_t)divide_up(inputs, span_of(inputs)))));
}

/* ---- forward, backward --------------------------------------------------------------------------------- */

static void forward_linear(struct graph *graph, tensor out) {
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
               (struct blas_factor){graph->parameter[node->weight].value, 0, true}, node->value, 0, true);
}

/* One product for every shard. */
static void shards_product(struct graph *graph, const struct graph_cut *cut, const struct node *node, cl_mem input) {
  const struct parameter *weight = &graph->parameter[node->weight];
  size_t outputs = (size_t)node->shape.channels, inputs = graph_elements(graph, node->input[0]);
  for (size_t s = 0; s < cut->shards; s++) {
    size_t first = s * cut->each, left = graph->images - first;
    blas_product(graph->device, outputs, inputs, left < cut->each ? left : cut->each,
                 (struct blas_factor){node->gradient, first * outputs, true},
                 (struct blas_factor){input, first * inputs, false}, cut->gradients,
                 graph_at(cut, weight) + s * cut->stride, true);
  }
}

static void backward_weight(struct graph *graph, const struct node *node) {
  const struct graph_cut cut = graph_cut(graph, graph->images);
  cl_mem input = graph_node(graph, node->input[0])->value;
  size_t outputs = (size_t)node->shape.channels, inputs = graph_elements(graph, node->input[0]);
  if (takes_matrix(graph, node))
    spans_product(graph, PRODUCT_WEIGHT, node->gradient, outputs, input, inputs, inputs, graph->images, cut.each,
                  cut.gradients, graph_at(&cut, &graph->parameter[node->weight]), cut.stride, true);
  else
    shards_product(graph, &cut, node, input);
}

static void backward_spans(struct graph *graph, const struct node *node) {
  const struct node *x = graph_node(graph, node->input[0]);
  size_t outputs = (size_t)node->shape.channels, inputs = graph_elements(graph, node->input[0]);
  product(graph, PRODUCT_INPUT, node->gradient, graph->images, graph->parameter[node->weight].value, inputs,
          inputs, outputs, span_of(outputs), node->scratch, false);
  kernel_variant_run(graph->kernels, &graph->product_gather, graph->images * inputs,
                     ARGS(graph_arg(ARG_IN, node->scratch), graph_arg(ARG_INOUT, x->gradient),
                          arg_u32((uint32_t)divide_up(outputs, span_of(outputs))), arg_u32(node->adds[0])));
}

static void backward_input(struct graph *graph, const struct node *node) {
  const struct node *x = graph_node(graph, node->input[0]);
  cl_mem weight = graph->parameter[node->weight].value;
  size_t outputs = (size_t)node->shape.channels, inputs = graph_elements(graph, node->input[0]);
  size_t useful = x->useful ? (size_t)x->useful : inputs;
  if (splits_input(graph, node) && outputs % MULTIPLE == 0)
    backward_spans(graph, node);
  else if (takes_matrix(graph, node) && outputs % MULTIPLE == 0)
    product(graph, PRODUCT_INPUT, node->gradient, graph->images, weight, useful, inputs, outputs, outputs,
            x->gradient, node->adds[0]);
  else
    blas_product(graph->device, graph->images, inputs, outputs,
                 (struct blas_factor){node->gradient, 0, false}, (struct blas_factor){weight, 0, false},
                 x->gradient, 0, node->adds[0]);
}

static void backward_linear(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out);
  size_t outputs = (size_t)node->shape.channels;
  const struct graph_cut cut = graph_cut(graph, graph->images);
  backward_weight(graph, node);
  kernel_run(graph->kernels, "linear_bias_backward", cut.shards * outputs,
             ARGS(graph_arg(ARG_IN, node->gradient), graph_shards(&cut, outputs), arg_u32((uint32_t)graph->images),
                  arg_u32((uint32_t)cut.each), arg_u32((uint32_t)outputs), SHARD_ARGS(cut, &graph->parameter[node->bias])));
  if (graph_node(graph, node->input[0])->needs_gradient) backward_input(graph, node);
}

static double flops_linear(const struct graph *graph, tensor out) {
  const struct node *node = &graph->node[out.node];
  return 2.0 * (double)graph_elements(graph, node->input[0]) * node->shape.channels;
}

const struct op_desc op_linear = {.name = "linear",
                                  .shape = shape_linear,
                                  .forward = forward_linear,
                                  .backward = backward_linear,
                                  .flops = flops_linear,
                                  .work = work_linear,
                                  .scratch = scratch_linear,
                                  .open = open_linear,
                                  .close = close_linear,
                                  .keeps_input = true,
                                  .kernels = {"linear_bias", "linear_bias_backward"}};

/* ---- building ------------------------------------------------------------------------------------------ */

tensor linear(struct graph *graph, tensor x, const char *name, int outputs) {
  struct node node = {.op = &op_linear, .name = name, .input = {x}, .inputs = 1, .weight = -1, .bias = -1};
  node.shape.channels = outputs;
  return graph_append(graph, &node);
}
