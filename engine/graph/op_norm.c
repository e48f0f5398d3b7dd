/* Instance normalisation without affine, of planes; standardising of images, and back. Forward keeps what it
 * has found of every plane (mean, 1/deviation) or image (mean less the first pixel, deviation). */
#include "engine/graph/graph.h"

static bool shape_norm(struct graph *graph, tensor out, struct error *error) {
  struct node *node = graph_node(graph, out);
  node->shape = graph_node(graph, node->input[0])->shape;
  if (node->shape.height * node->shape.width > 1) return true;
  return fail(error, "a plane has one pixel; normalising needs at least 2");
}

static size_t planes(const struct graph *graph, const struct node *node) {
  return graph->images * (size_t)node->shape.channels;
}

static uint32_t pixels(const struct node *node) {
  return (uint32_t)node->shape.height * (uint32_t)node->shape.width;
}

static size_t kept_norm(const struct graph *graph, tensor out, size_t images) {
  return 2 * sizeof(float) * images * (size_t)graph->node[out.node].shape.channels;
}

#define NORM_EPSILON 1e-5f

static bool by_sample(const struct node *node) {
  return node->op == &op_normalise;
}

static void forward_norm(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out);
  kernel_run(graph->kernels, "norm_forward", planes(graph, node),
             ARGS(graph_arg(ARG_IN, graph_node(graph, node->input[0])->value),
                  graph_arg(ARG_OUT, node->value), arg_buffer(ARG_OUT, ELEMENT_C64, node->kept),
                  arg_u32(pixels(node)), arg_u32(by_sample(node)), arg_f32(by_sample(node) ? 0 : NORM_EPSILON)));
}

static void backward_norm(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out);
  kernel_run(graph->kernels, "norm_backward", planes(graph, node),
             ARGS(graph_arg(ARG_IN, node->value), graph_arg(ARG_IN, node->gradient),
                  arg_buffer(ARG_IN, ELEMENT_C64, node->kept),
                  graph_arg(ARG_INOUT, graph_node(graph, node->input[0])->gradient), arg_u32(pixels(node)),
                  arg_u32(by_sample(node)), arg_u32(node->adds[0])));
}

#define NORM                                                                                                 \
  .shape = shape_norm, .forward = forward_norm, .backward = backward_norm, .kept = kept_norm,                \
  .keeps_output = true, .kernels = {"norm_forward", "norm_backward"}

const struct op_desc op_norm = {.name = "norm", NORM};
const struct op_desc op_normalise = {.name = "normalise", NORM};

/* ---- standardising ------------------------------------------------------------------------------------- */

static bool shape_standardise(struct graph *graph, tensor out, struct error *error) {
  struct node *node = graph_node(graph, out);
  node->shape = graph_node(graph, node->input[0])->shape;
  if (graph_elements(graph, out) > 1) return true;
  return fail(error, "an image has one pixel; standardising needs at least 2");
}

static size_t kept_standardise(const struct graph *graph, tensor out, size_t images) {
  (void)graph, (void)out;
  return 2 * sizeof(float) * images;
}

static void forward_standardise(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out);
  kernel_run(graph->kernels, "standardise_forward", graph->images,
             ARGS(graph_arg(ARG_IN, graph_node(graph, node->input[0])->value),
                  graph_arg(ARG_OUT, node->value), arg_buffer(ARG_OUT, ELEMENT_C64, node->kept),
                  arg_u32((uint32_t)graph_elements(graph, out))));
}

static void backward_standardise(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out), *x = graph_node(graph, node->input[0]);
  kernel_run(graph->kernels, "standardise_backward", graph->images,
             ARGS(graph_arg(ARG_IN, x->value), graph_arg(ARG_IN, node->gradient),
                  arg_buffer(ARG_IN, ELEMENT_C64, node->kept), graph_arg(ARG_INOUT, x->gradient),
                  arg_u32((uint32_t)graph_elements(graph, out)), arg_u32(node->adds[0])));
}

const struct op_desc op_standardise = {.name = "standardise",
                                       .shape = shape_standardise,
                                       .forward = forward_standardise,
                                       .backward = backward_standardise,
                                       .kept = kept_standardise,
                                       .keeps_input = true,
                                       .kernels = {"standardise_forward", "standardise_backward"}};

/* ---- by the mean and deviation of another image -------------------------------------------------------- */

/* Parts of an image that are restored by their own mean and deviation: its planes, or the whole. */
static size_t parts(const struct node *node) {
  return node->op == &op_restore_planes ? (size_t)node->shape.channels : 1;
}

static size_t restored(const struct graph *graph, tensor out) {
  return graph_elements(graph, out) / parts(&graph->node[out.node]);
}

static bool shape_restore(struct graph *graph, tensor out, struct error *error) {
  struct node *node = graph_node(graph, out);
  node->shape = graph_source(graph, node, 0)->shape;
  if (restored(graph, out) < 2)
    return fail(error, "an image has one pixel; restoring needs at least 2");
  return graph_same_shape(graph_source(graph, node, 0), graph_source(graph, node, 1), error);
}

static size_t kept_restore(const struct graph *graph, tensor out, size_t images) {
  return 2 * sizeof(float) * images * parts(&graph->node[out.node]);
}

static void forward_restore(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out);
  kernel_run(graph->kernels, "restore_forward", graph->images * parts(node),
             ARGS(graph_arg(ARG_IN, graph_source(graph, node, 0)->value),
                  graph_arg(ARG_IN, graph_source(graph, node, 1)->value), graph_arg(ARG_OUT, node->value),
                  arg_buffer(ARG_OUT, ELEMENT_C64, node->kept),
                  arg_u32((uint32_t)restored(graph, out))));
}

static void backward_restore(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out), *x = graph_source(graph, node, 0),
                    *like = graph_source(graph, node, 1);
  struct arg statistics = arg_buffer(ARG_IN, ELEMENT_C64, node->kept);
  if (x->needs_gradient)
    kernel_run(graph->kernels, "restore_backward", graph->images * parts(node),
               ARGS(graph_arg(ARG_IN, node->gradient), statistics, graph_arg(ARG_INOUT, x->gradient),
                    arg_u32((uint32_t)restored(graph, out)), arg_u32(node->adds[0])));
  if (like->needs_gradient)
    kernel_run(graph->kernels, "restore_backward_like", graph->images * parts(node),
               ARGS(graph_arg(ARG_IN, x->value), graph_arg(ARG_IN, like->value),
                    graph_arg(ARG_IN, node->gradient), statistics, graph_arg(ARG_INOUT, like->gradient),
                    arg_u32((uint32_t)restored(graph, out)), arg_u32(node->adds[1])));
}

#define RESTORE                                                                                              \
  .shape = shape_restore, .forward = forward_restore, .backward = backward_restore, .kept = kept_restore,    \
  .keeps_input = true, .kernels = {"restore_forward", "restore_backward", "restore_backward_like"}

const struct op_desc op_restore = {.name = "restore", RESTORE};
const struct op_desc op_restore_planes = {.name = "restore_planes", RESTORE};

/* ---- building ------------------------------------------------------------------------------------------ */

tensor instance_norm(struct graph *graph, tensor x) {
  return graph_append_op(graph, &op_norm, x);
}

tensor standardise_image(struct graph *graph, tensor x) {
  return graph_append_op(graph, &op_standardise, x);
}

tensor normalise_planes(struct graph *graph, tensor x) {
  return graph_append_op(graph, &op_normalise, x);
}

tensor restore_planes(struct graph *graph, tensor x, tensor like) {
  return graph_append_pair(graph, &op_restore_planes, x, like);
}

tensor restore_image(struct graph *graph, tensor x, tensor like) {
  return graph_append_pair(graph, &op_restore, x, like);
}
