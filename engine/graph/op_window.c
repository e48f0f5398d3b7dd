/* Planes with zeros around them, and cut again. */
#include "engine/base/round.h"
#include "engine/graph/graph.h"

/* Lines or columns before the smaller of two sides in the larger one: half of what it lacks, rounded down. */
static int before(int larger, int smaller) {
  return (larger - smaller) / 2;
}

/* Moves planes of one shape into those of another, both around one middle; where the input has no pixel, 0.
 */
static void move(struct graph *graph, cl_mem input, struct tensor_shape from, cl_mem output,
                 struct tensor_shape to, bool add) {
  int top = to.height > from.height ? before(to.height, from.height) : -before(from.height, to.height);
  int left = to.width > from.width ? before(to.width, from.width) : -before(from.width, to.width);
  size_t lines = graph->images * (size_t)to.channels * (size_t)to.height;
  kernel_run(graph->kernels, "window_copy", lines * divide_up((size_t)to.width, 4),
             ARGS(graph_arg(ARG_IN, input), graph_arg(ARG_INOUT, output), arg_u32((uint32_t)from.height),
                  arg_u32((uint32_t)from.width), arg_u32((uint32_t)to.height), arg_u32((uint32_t)to.width),
                  arg_u32((uint32_t)top), arg_u32((uint32_t)left), arg_u32(add)));
}

static void forward_window(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out), *x = graph_source(graph, node, 0);
  move(graph, x->value, x->shape, node->value, node->shape, false);
}

/* The transposed map: what was padded is cut, what was cut gets zeros. */
static void backward_window(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out), *x = graph_source(graph, node, 0);
  move(graph, node->gradient, node->shape, x->gradient, x->shape, node->adds[0]);
}

static bool shape_pad(struct graph *graph, tensor out, struct error *error) {
  struct node *node = graph_node(graph, out);
  struct tensor_shape in = graph_source(graph, node, 0)->shape;
  node->shape.channels = in.channels;
  if (node->shape.height >= in.height && node->shape.width >= in.width) return true;
  return fail(error, "%dx%d is padded to %dx%d; height and width must be as large at least", in.height,
              in.width, node->shape.height, node->shape.width);
}

static bool shape_crop(struct graph *graph, tensor out, struct error *error) {
  struct node *node = graph_node(graph, out);
  struct tensor_shape in = graph_source(graph, node, 0)->shape, to = node->shape;
  node->shape.channels = in.channels;
  if (to.height > 0 && to.width > 0 && to.height <= in.height && to.width <= in.width) return true;
  return fail(error, "%dx%d is cut to %dx%d; height and width must be 1 at least, and no larger", in.height,
              in.width, to.height, to.width);
}

#define WINDOW .forward = forward_window, .backward = backward_window, .kernels = {"window_copy"}

const struct op_desc op_pad = {.name = "pad", .shape = shape_pad, WINDOW};
const struct op_desc op_crop = {.name = "crop", .shape = shape_crop, WINDOW};

static tensor append(struct graph *graph, const struct op_desc *op, tensor x, int height, int width) {
  struct node node = {
      .op = op, .input = {x}, .inputs = 1, .shape = {0, height, width}, .weight = -1, .bias = -1};
  node.name = graph_name(graph, "%s.%d", op->name, graph->nodes);
  return graph_append(graph, &node);
}

tensor pad(struct graph *graph, tensor x, int height, int width) {
  return append(graph, &op_pad, x, height, width);
}

tensor crop(struct graph *graph, tensor x, int height, int width) {
  return append(graph, &op_crop, x, height, width);
}

tensor pad_to_multiple(struct graph *graph, tensor x, int multiple) {
  if (graph->failed) return x;
  struct tensor_shape in = graph_node(graph, x)->shape;
  int height = (int)round_up((size_t)in.height, (size_t)multiple);
  int width = (int)round_up((size_t)in.width, (size_t)multiple);
  return height == in.height && width == in.width ? x : pad(graph, x, height, width);
}

tensor crop_to(struct graph *graph, tensor x, tensor like) {
  if (graph->failed) return x;
  struct tensor_shape in = graph_node(graph, x)->shape, to = graph_node(graph, like)->shape;
  return in.height == to.height && in.width == to.width ? x : crop(graph, x, to.height, to.width);
}
