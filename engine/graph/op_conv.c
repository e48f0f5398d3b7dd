/* 2D convolution: 3x3 or 1x1, zeros outside, stride 1; with a bias or without. */
#include "engine/base/round.h"
#include "engine/graph/graph.h"

static bool shape_conv(struct graph *graph, tensor out, struct error *error) {
  struct node *node = graph_node(graph, out);
  const struct tensor_shape *in = &graph_node(graph, node->input[0])->shape;
  int channels = node->shape.channels;
  size_t taps = (size_t)node->size * (size_t)node->size, inputs = (size_t)in->channels;
  if (node->size != 1 && node->size != 3) return fail(error, "the size is %d; it must be 1 or 3", node->size);
  if (channels < 1) return fail(error, "%d output channels; there must be at least 1", channels);
  node->shape = (struct tensor_shape){channels, in->height, in->width};
  node->weight =
      graph_parameter(graph, graph_name(graph, "%s.weight", node->name), taps * inputs, 4,
                      (size_t[]){(size_t)channels, inputs, (size_t)node->size, (size_t)node->size});
  if (node->plain) return true;
  node->bias = graph_parameter(graph, graph_name(graph, "%s.bias", node->name), taps * inputs, 1,
                               (size_t[]){(size_t)channels});
  return true;
}

struct sizes {
  size_t inputs, outputs, height, width, size;
};

static struct sizes find_sizes(const struct graph *graph, tensor out) {
  const struct node *node = &graph->node[out.node];
  return (struct sizes){(size_t)graph->node[node->input[0].node].shape.channels, (size_t)node->shape.channels,
                        (size_t)node->shape.height, (size_t)node->shape.width, (size_t)node->size};
}

/* Work-items of conv_forward and conv_backward: tiles of 4 channels, 2 lines and 8 pixels. */
static size_t tiles(const struct graph *graph, const struct sizes *s, size_t channels) {
  return graph->images * divide_up(channels, 4) * divide_up(s->height, 2) * divide_up(s->width, 8);
}

#define SIZE_ARGS(s)                                                                                         \
  arg_u32((uint32_t)(s).inputs), arg_u32((uint32_t)(s).outputs), arg_u32((uint32_t)(s).height),              \
      arg_u32((uint32_t)(s).width), arg_u32((uint32_t)(s).size)

static void forward_conv(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out);
  struct sizes s = find_sizes(graph, out);
  kernel_run(graph->kernels, "conv_forward", tiles(graph, &s, s.outputs),
             ARGS(graph_arg(ARG_IN, graph_node(graph, node->input[0])->value),
                  graph_arg(ARG_IN, graph->parameter[node->weight].value),
                  graph_arg(ARG_IN, graph->parameter[node->plain ? node->weight : node->bias].value),
                  graph_arg(ARG_OUT, node->value), SIZE_ARGS(s), arg_u32(!node->plain)));
}

/* The number of pieces that the lines of a whole batch are cut into for the weights' gradient: enough work
 * for a GPU, few enough that the partial sums stay small. Every GPU has the same, so that sums keep
 * their order. */
static size_t wanted_parts(const struct sizes *s) {
  return divide_up(32768, s->inputs * divide_up(s->outputs, 2));
}

enum { PIECE_LINES = 16 }; /* of a CPU, which would spend its time on the sums of smaller pieces */

/* Pieces of a shard of so many lines, at most. */
static size_t most_parts(const struct graph *graph, size_t lines) {
  return graph->device->facts.kind & CL_DEVICE_TYPE_CPU ? divide_up(lines, PIECE_LINES) : lines;
}

static size_t scratch_conv(const struct graph *graph, tensor out, size_t images) {
  struct sizes s = find_sizes(graph, out);
  return sizeof(float) * graph_parts_most(graph, wanted_parts(&s), images * s.height, images) * s.outputs * s.inputs * s.size * s.size;
}

static void backward_weight(struct graph *graph, const struct node *node, const struct sizes *s) {
  const struct parameter *weight = &graph->parameter[node->weight];
  const struct graph_cut cut = graph_cut(graph, graph->images);
  size_t lines = graph->images * s->height, each = cut.each * s->height;
  size_t parts = graph_parts(graph, wanted_parts(s), cut.each, most_parts(graph, each));
  kernel_run(graph->kernels, "conv_weight", cut.shards * parts * divide_up(s->outputs, 2) * s->inputs,
             ARGS(graph_arg(ARG_IN, graph_node(graph, node->input[0])->value),
                  graph_arg(ARG_IN, node->gradient), graph_arg(ARG_OUT, node->scratch), SIZE_ARGS(*s),
                  arg_u32((uint32_t)lines), arg_u32((uint32_t)each), arg_u32((uint32_t)parts)));
  kernel_run(graph->kernels, "conv_weight_sum", cut.shards * weight->count,
             ARGS(graph_arg(ARG_IN, node->scratch), graph_shards(&cut, weight->count), arg_u32((uint32_t)parts),
                  arg_u32((uint32_t)weight->count), SHARD_ARGS(cut, weight)));
}

static void backward_bias(struct graph *graph, const struct node *node, const struct sizes *s) {
  const struct graph_cut cut = graph_cut(graph, graph->images);
  kernel_run(graph->kernels, "conv_bias", cut.shards * s->outputs,
             ARGS(graph_arg(ARG_IN, node->gradient), graph_shards(&cut, (size_t)s->outputs), arg_u32((uint32_t)graph->images),
                  arg_u32((uint32_t)cut.each), arg_u32((uint32_t)s->outputs), arg_u32((uint32_t)(s->height * s->width)),
                  SHARD_ARGS(cut, &graph->parameter[node->bias])));
}

static void backward_conv(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out), *x = graph_node(graph, node->input[0]);
  struct sizes s = find_sizes(graph, out);
  backward_weight(graph, node, &s);
  if (!node->bias_cancels && !node->plain) backward_bias(graph, node, &s);
  if (x->needs_gradient)
    kernel_run(graph->kernels, "conv_backward", tiles(graph, &s, s.inputs),
               ARGS(graph_arg(ARG_IN, node->gradient),
                    graph_arg(ARG_IN, graph->parameter[node->weight].value),
                    graph_arg(ARG_INOUT, x->gradient), SIZE_ARGS(s), arg_u32(node->adds[0])));
}

static double flops_conv(const struct graph *graph, tensor out) {
  struct sizes s = find_sizes(graph, out);
  return 2.0 * (double)(s.size * s.size * s.inputs * s.outputs * s.height * s.width);
}

const struct op_desc op_conv = {
    .name = "conv2d",
    .shape = shape_conv,
    .forward = forward_conv,
    .backward = backward_conv,
    .flops = flops_conv,
    .scratch = scratch_conv,
    .keeps_input = true,
    .kernels = {"conv_forward", "conv_backward", "conv_weight", "conv_weight_sum", "conv_bias"}};

/* ---- building ------------------------------------------------------------------------------------------ */

static tensor append(struct graph *graph, tensor x, const char *name, int channels, int size, bool plain) {
  struct node node = {
      .op = &op_conv, .name = name, .input = {x}, .inputs = 1, .weight = -1, .bias = -1, .plain = plain};
  node.shape.channels = channels;
  node.size = size;
  return graph_append(graph, &node);
}

tensor conv2d(struct graph *graph, tensor x, const char *name, int channels, int size) {
  return append(graph, x, name, channels, size, false);
}

tensor conv2d_plain(struct graph *graph, tensor x, const char *name, int channels, int size) {
  return append(graph, x, name, channels, size, true);
}
