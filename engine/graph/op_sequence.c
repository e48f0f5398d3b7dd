/* Sequential sampling (PROTOCOL 3.3): a reconstruction in the units of what it was made from, the sampler's
 * input and output, and values that pass no gradient. */
#include "engine/base/round.h"
#include "engine/graph/graph.h"

enum { STRIP = 8 }; /* pixels a row of kernels/sequence.cl */

static struct node *input_of(struct graph *graph, const struct node *node, int k) {
  return graph_node(graph, node->input[k]);
}

static uint32_t entries(const struct graph *graph, tensor out) {
  return (uint32_t)graph_elements(graph, out);
}

static bool same_shape(const struct node *a, const struct node *b, struct error *error) {
  struct tensor_shape x = a->shape, y = b->shape;
  if (x.channels == y.channels && x.height == y.height && x.width == y.width) return true;
  return fail(error, "'%s' is %dx%dx%d; it must be %dx%dx%d, as '%s' is", b->name, y.channels, y.height,
              y.width, x.channels, x.height, x.width, a->name);
}

/* ---- no gradient --------------------------------------------------------------------------------------- */

static bool shape_detach(struct graph *graph, tensor out, struct error *error) {
  struct node *node = graph_node(graph, out);
  (void)error;
  node->shape = input_of(graph, node, 0)->shape;
  return true;
}

static void forward_detach(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out);
  device_copy(graph->device, input_of(graph, node, 0)->value, 0, node->value, 0,
              sizeof(float) * graph->images * graph_elements(graph, out));
}

static void no_backward(struct graph *graph, tensor out) {
  REQUIRE(false, "'%s' gives no gradient", graph_node(graph, out)->name);
}

/* ---- by the mean and deviation of another image -------------------------------------------------------- */

static bool shape_restore(struct graph *graph, tensor out, struct error *error) {
  struct node *node = graph_node(graph, out);
  node->shape = input_of(graph, node, 0)->shape;
  if (graph_elements(graph, out) < 2)
    return fail(error, "an image has one pixel; restoring needs at least 2");
  return same_shape(input_of(graph, node, 0), input_of(graph, node, 1), error);
}

static size_t kept_restore(const struct graph *graph, tensor out, size_t images) {
  (void)graph, (void)out;
  return 2 * sizeof(float) * images;
}

static void forward_restore(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out);
  kernel_run(graph->kernels, "restore_forward", graph->images,
             ARGS(graph_arg(ARG_IN, input_of(graph, node, 0)->value),
                  graph_arg(ARG_IN, input_of(graph, node, 1)->value), graph_arg(ARG_OUT, node->value),
                  arg_buffer(ARG_OUT, ELEMENT_C64, node->kept), arg_u32(entries(graph, out))));
}

static void backward_restore(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out), *x = input_of(graph, node, 0),
                    *like = input_of(graph, node, 1);
  struct arg statistics = arg_buffer(ARG_IN, ELEMENT_C64, node->kept);
  if (x->needs_gradient)
    kernel_run(graph->kernels, "restore_backward", graph->images,
               ARGS(graph_arg(ARG_IN, node->gradient), statistics, graph_arg(ARG_INOUT, x->gradient),
                    arg_u32(entries(graph, out)), arg_u32(node->adds[0])));
  if (like->needs_gradient)
    kernel_run(graph->kernels, "restore_backward_like", graph->images,
               ARGS(graph_arg(ARG_IN, x->value), graph_arg(ARG_IN, like->value),
                    graph_arg(ARG_IN, node->gradient), statistics, graph_arg(ARG_INOUT, like->gradient),
                    arg_u32(entries(graph, out)), arg_u32(node->adds[1])));
}

/* ---- the sampler's input ------------------------------------------------------------------------------- */

static bool shape_planes(struct graph *graph, tensor out, struct error *error) {
  struct node *node = graph_node(graph, out);
  const struct node *predicted = input_of(graph, node, 0), *mask = input_of(graph, node, 2);
  struct tensor_shape in = predicted->shape, own = mask->shape;
  if (in.channels != 2)
    return fail(error, "%d channels; complex frequencies have 2, real and imaginary", in.channels);
  if (own.channels != 1 || (own.height != 1 && own.height != in.height) || own.width != in.width)
    return fail(error, "the mask '%s' is %dx%dx%d; it must be 1x1x%d, as wide as the frequencies, or 1x%dx%d",
                mask->name, own.channels, own.height, own.width, in.width, in.height, in.width);
  node->shape = (struct tensor_shape){5, in.height, in.width};
  node->useful = 2 * in.height * in.width;
  return same_shape(predicted, input_of(graph, node, 1), error);
}

static size_t pixels(const struct node *node) {
  return (size_t)node->shape.height * (size_t)node->shape.width;
}

/* A line has as many values as the mask has entries: with a mask of points, the whole plane. */
static void forward_planes(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out);
  size_t width = graph_elements(graph, node->input[2]), height = pixels(node) / width;
  kernel_run(graph->kernels, "planes_forward", graph->images * height * divide_up(width, STRIP),
             ARGS(graph_arg(ARG_IN, input_of(graph, node, 0)->value),
                  graph_arg(ARG_IN, input_of(graph, node, 1)->value),
                  graph_arg(ARG_IN, input_of(graph, node, 2)->value), graph_arg(ARG_OUT, node->value),
                  arg_u32((uint32_t)height), arg_u32((uint32_t)width)));
}

static void backward_planes(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out);
  kernel_run(graph->kernels, "planes_backward", graph->images * divide_up(2 * pixels(node), STRIP),
             ARGS(graph_arg(ARG_IN, node->gradient), graph_arg(ARG_INOUT, input_of(graph, node, 0)->gradient),
                  arg_u32((uint32_t)pixels(node)), arg_u32(node->adds[0])));
}

/* ---- softplus over the largest ------------------------------------------------------------------------- */

static bool shape_share(struct graph *graph, tensor out, struct error *error) {
  struct node *node = graph_node(graph, out);
  size_t values = graph_elements(graph, node->input[0]);
  node->shape = input_of(graph, node, 1)->shape;
  if (values == graph_elements(graph, out)) return true;
  return fail(error, "%zu values; '%s' has %zu, there must be as many", values,
              input_of(graph, node, 1)->name, graph_elements(graph, out));
}

static void forward_share(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out);
  kernel_run(graph->kernels, "share_forward", graph->images,
             ARGS(graph_arg(ARG_IN, input_of(graph, node, 0)->value),
                  graph_arg(ARG_IN, input_of(graph, node, 1)->value), graph_arg(ARG_OUT, node->value),
                  arg_u32(entries(graph, out))));
}

static void backward_share(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out), *x = input_of(graph, node, 0);
  kernel_run(graph->kernels, "share_backward", graph->images,
             ARGS(graph_arg(ARG_IN, x->value), graph_arg(ARG_IN, input_of(graph, node, 1)->value),
                  graph_arg(ARG_IN, node->gradient), graph_arg(ARG_INOUT, x->gradient),
                  arg_u32(entries(graph, out)), arg_u32(node->adds[0])));
}

const struct op_desc op_detach = {.name = "detach",
                                  .shape = shape_detach,
                                  .forward = forward_detach,
                                  .backward = no_backward,
                                  .blocks = {true}};

const struct op_desc op_restore = {
    .name = "restore",
    .shape = shape_restore,
    .forward = forward_restore,
    .backward = backward_restore,
    .kept = kept_restore,
    .keeps_input = true,
    .kernels = {"restore_forward", "restore_backward", "restore_backward_like"}};

const struct op_desc op_planes = {.name = "planes",
                                  .shape = shape_planes,
                                  .forward = forward_planes,
                                  .backward = backward_planes,
                                  .blocks = {false, true, true},
                                  .kernels = {"planes_forward", "planes_backward"}};

const struct op_desc op_share = {.name = "share",
                                 .shape = shape_share,
                                 .forward = forward_share,
                                 .backward = backward_share,
                                 .keeps_input = true,
                                 .blocks = {false, true},
                                 .kernels = {"share_forward", "share_backward"}};
