#include "systems/networks/op_sampler.h"

#include "engine/base/round.h"

enum { STRIP = 8 }; /* pixels a row of kernels/sequence.cl */

static bool shape_planes(struct graph *graph, tensor out, struct error *error) {
  struct node *node = graph_node(graph, out);
  const struct node *predicted = graph_source(graph, node, 0), *mask = graph_source(graph, node, 2);
  struct tensor_shape in = predicted->shape, own = mask->shape;
  if (in.channels != 2)
    return fail(error, "%d channels; complex frequencies have 2, real and imaginary", in.channels);
  if (own.channels != 1 || (own.height != 1 && own.height != in.height) || own.width != in.width)
    return fail(error, "the mask '%s' is %dx%dx%d; it must be 1x1x%d, as wide as the frequencies, or 1x%dx%d",
                mask->name, own.channels, own.height, own.width, in.width, in.height, in.width);
  node->shape = (struct tensor_shape){5, in.height, in.width};
  node->useful = 2 * in.height * in.width;
  return graph_same_shape(predicted, graph_source(graph, node, 1), error);
}

static size_t pixels(const struct node *node) {
  return (size_t)node->shape.height * (size_t)node->shape.width;
}

/* A line has as many values as the mask has entries: with a mask of points, the whole plane. */
static void forward_planes(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out);
  size_t width = graph_elements(graph, node->input[2]), height = pixels(node) / width;
  kernel_run(graph->kernels, "planes_forward", graph->images * height * divide_up(width, STRIP),
             ARGS(graph_arg(ARG_IN, graph_source(graph, node, 0)->value),
                  graph_arg(ARG_IN, graph_source(graph, node, 1)->value),
                  graph_arg(ARG_IN, graph_source(graph, node, 2)->value), graph_arg(ARG_OUT, node->value),
                  arg_u32((uint32_t)height), arg_u32((uint32_t)width)));
}

static void backward_planes(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out);
  kernel_run(graph->kernels, "planes_backward", graph->images * divide_up(2 * pixels(node), STRIP),
             ARGS(graph_arg(ARG_IN, node->gradient),
                  graph_arg(ARG_INOUT, graph_source(graph, node, 0)->gradient),
                  arg_u32((uint32_t)pixels(node)), arg_u32(node->adds[0])));
}

const struct op_desc op_planes = {.name = "planes",
                                  .shape = shape_planes,
                                  .forward = forward_planes,
                                  .backward = backward_planes,
                                  .blocks = {false, true, true},
                                  .kernels = {"planes_forward", "planes_backward"}};

tensor sampler_planes(struct graph *graph, tensor predicted, tensor acquired, tensor mask) {
  struct node node = {
      .op = &op_planes, .input = {predicted, acquired, mask}, .inputs = 3, .weight = -1, .bias = -1};
  node.name = graph_name(graph, "planes.%d", graph->nodes);
  return graph_append(graph, &node);
}
