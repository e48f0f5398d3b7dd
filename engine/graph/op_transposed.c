/* Transposed convolution of 2x2, stride 2, without bias. */
#include "engine/base/round.h"
#include "engine/graph/graph.h"

static bool shape_transposed(struct graph *graph, tensor out, struct error *error) {
  struct node *node = graph_node(graph, out);
  struct tensor_shape in = graph_source(graph, node, 0)->shape;
  int channels = node->shape.channels;
  if (channels < 1) return fail(error, "%d output channels; there must be at least 1", channels);
  node->shape = (struct tensor_shape){channels, 2 * in.height, 2 * in.width};
  /* PyTorch takes the second size for the inputs. */
  node->weight = graph_parameter(graph, graph_name(graph, "%s.weight", node->name), 4 * (size_t)channels, 4,
                                 (size_t[]){(size_t)in.channels, (size_t)channels, 2, 2});
  return true;
}

struct sizes {
  size_t inputs, outputs, height, width; /* height and width of the input */
};

static struct sizes find_sizes(const struct graph *graph, const struct node *node) {
  struct tensor_shape in = graph->node[node->input[0].node].shape;
  return (struct sizes){(size_t)in.channels, (size_t)node->shape.channels, (size_t)in.height,
                        (size_t)in.width};
}

/* Strips of eight pixels of the input, of so many blocks of channels. */
static size_t strips(const struct graph *graph, const struct sizes *s, size_t blocks) {
  return graph->images * blocks * s->height * divide_up(s->width, 8);
}

#define SIZE_ARGS(s)                                                                                         \
  arg_u32((uint32_t)(s).inputs), arg_u32((uint32_t)(s).outputs), arg_u32((uint32_t)(s).height),              \
      arg_u32((uint32_t)(s).width)

static void forward_transposed(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out);
  const struct sizes s = find_sizes(graph, node);
  kernel_run(graph->kernels, "transposed_forward", strips(graph, &s, divide_up(s.outputs, 2)),
             ARGS(graph_arg(ARG_IN, graph_source(graph, node, 0)->value),
                  graph_arg(ARG_IN, graph->parameter[node->weight].value), graph_arg(ARG_OUT, node->value),
                  SIZE_ARGS(s)));
}

/* Pieces of all images' lines, for the weights' gradient: as in engine/graph/op_conv.c. */
static size_t wanted_parts(const struct sizes *s) {
  return divide_up(32768, s->inputs * s->outputs);
}

static size_t scratch_transposed(const struct graph *graph, tensor out, size_t images) {
  const struct sizes s = find_sizes(graph, &graph->node[out.node]);
  return 4 * sizeof(float) * graph_parts_most(graph, wanted_parts(&s), images * s.height, images) * s.inputs * s.outputs;
}

static void backward_weight(struct graph *graph, const struct node *node, const struct sizes *s) {
  const struct parameter *weight = &graph->parameter[node->weight];
  const struct graph_cut cut = graph_cut(graph, graph->images);
  size_t lines = graph->images * s->height, each = cut.each * s->height, parts = graph_parts(graph, wanted_parts(s), cut.each, each);
  kernel_run(graph->kernels, "transposed_weight", cut.shards * parts * s->inputs * s->outputs,
             ARGS(graph_arg(ARG_IN, graph_source(graph, node, 0)->value), graph_arg(ARG_IN, node->gradient),
                  graph_arg(ARG_OUT, node->scratch), SIZE_ARGS(*s), arg_u32((uint32_t)lines),
                  arg_u32((uint32_t)each), arg_u32((uint32_t)parts)));
  kernel_run(graph->kernels, "conv_weight_sum", cut.shards * weight->count,
             ARGS(graph_arg(ARG_IN, node->scratch), graph_shards(&cut, weight->count), arg_u32((uint32_t)parts),
                  arg_u32((uint32_t)weight->count), SHARD_ARGS(cut, weight)));
}

static void backward_transposed(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out), *x = graph_source(graph, node, 0);
  const struct sizes s = find_sizes(graph, node);
  backward_weight(graph, node, &s);
  if (x->needs_gradient)
    kernel_run(graph->kernels, "transposed_backward", strips(graph, &s, divide_up(s.inputs, 4)),
               ARGS(graph_arg(ARG_IN, node->gradient),
                    graph_arg(ARG_IN, graph->parameter[node->weight].value),
                    graph_arg(ARG_INOUT, x->gradient), SIZE_ARGS(s), arg_u32(node->adds[0])));
}

static double flops_transposed(const struct graph *graph, tensor out) {
  const struct sizes s = find_sizes(graph, &graph->node[out.node]);
  return 8.0 * (double)(s.inputs * s.outputs * s.height * s.width);
}

const struct op_desc op_transposed = {
    .name = "conv_transposed",
    .shape = shape_transposed,
    .forward = forward_transposed,
    .backward = backward_transposed,
    .flops = flops_transposed,
    .scratch = scratch_transposed,
    .keeps_input = true,
    .kernels = {"transposed_forward", "transposed_backward", "transposed_weight", "conv_weight_sum"}};

tensor conv_transposed(struct graph *graph, tensor x, const char *name, int channels) {
  struct node node = {
      .op = &op_transposed, .name = name, .input = {x}, .inputs = 1, .weight = -1, .bias = -1};
  node.shape.channels = channels;
  return graph_append(graph, &node);
}
