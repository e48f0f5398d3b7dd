#include "systems/evaluator/net_evaluator.h"

#include "systems/sampling/geometry.h"

#include <stddef.h>

/* ---- operations ---------------------------------------------------------------------------------------- */

static size_t plane_of(const struct node *node) {
  return (size_t)node->shape.height * (size_t)node->shape.width;
}

static size_t planes_of(const struct graph *graph, const struct node *node) {
  return graph->images * (size_t)node->shape.channels;
}

static void run_forward(struct graph *graph, tensor out, size_t rows) {
  const struct node *node = graph_node(graph, out), *x = graph_source(graph, node, 0);
  kernel_run(graph->kernels, node->op->kernels[0], rows,
             ARGS(graph_arg(ARG_IN, x->value), graph_arg(ARG_OUT, node->value),
                  arg_u32((uint32_t)x->shape.height), arg_u32((uint32_t)x->shape.width)));
}

static void run_backward(struct graph *graph, tensor out, size_t rows) {
  const struct node *node = graph_node(graph, out), *x = graph_source(graph, node, 0);
  kernel_run(graph->kernels, node->op->kernels[1], rows,
             ARGS(graph_arg(ARG_IN, node->gradient), graph_arg(ARG_INOUT, x->gradient),
                  arg_u32((uint32_t)x->shape.height), arg_u32((uint32_t)x->shape.width),
                  arg_u32(node->adds[0])));
}

static bool shape_spectral(struct graph *graph, tensor out, struct error *error) {
  struct node *node = graph_node(graph, out);
  struct tensor_shape in = graph_source(graph, node, 0)->shape;
  node->shape = (struct tensor_shape){2 * in.width, in.height, in.width};
  if (in.channels == 1 && in.width <= EVALUATOR_WIDEST) return true;
  return fail(error,
              "%d channels of %d columns; columns of k-space are told apart in one channel of %d at most",
              in.channels, in.width, EVALUATOR_WIDEST);
}

static size_t lines_of(const struct graph *graph, tensor out) {
  return graph->images * (size_t)graph->node[out.node].shape.height;
}

static void forward_spectral(struct graph *graph, tensor out) {
  run_forward(graph, out, lines_of(graph, out));
}

static void backward_spectral(struct graph *graph, tensor out) {
  run_backward(graph, out, lines_of(graph, out));
}

const struct op_desc op_spectral = {.name = "spectral",
                                    .shape = shape_spectral,
                                    .forward = forward_spectral,
                                    .backward = backward_spectral,
                                    .kernels = {"spectral_forward", "spectral_backward"}};

static bool shape_patches(struct graph *graph, tensor out, struct error *error) {
  struct node *node = graph_node(graph, out);
  struct tensor_shape in = graph_source(graph, node, 0)->shape;
  node->shape = (struct tensor_shape){16 * in.channels, in.height / 2, in.width / 2};
  return (in.height > 1 && in.width > 1) ||
         fail(error, "%dx%d is halved; height and width must be 2 at least", in.height, in.width);
}

static void forward_patches(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out), *x = graph_source(graph, node, 0);
  run_forward(graph, out, planes_of(graph, x) * plane_of(node));
}

static void backward_patches(struct graph *graph, tensor out) {
  const struct node *x = graph_source(graph, graph_node(graph, out), 0);
  run_backward(graph, out, planes_of(graph, x) * plane_of(x));
}

const struct op_desc op_patches = {.name = "patches",
                                   .shape = shape_patches,
                                   .forward = forward_patches,
                                   .backward = backward_patches,
                                   .kernels = {"patches_forward", "patches_backward"}};

static bool shape_mean(struct graph *graph, tensor out, struct error *error) {
  struct node *node = graph_node(graph, out);
  (void)error;
  node->shape = (struct tensor_shape){graph_source(graph, node, 0)->shape.channels, 1, 1};
  return true;
}

static void forward_mean(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out), *x = graph_source(graph, node, 0);
  kernel_run(
      graph->kernels, "plane_mean_forward", planes_of(graph, x),
      ARGS(graph_arg(ARG_IN, x->value), graph_arg(ARG_OUT, node->value), arg_u32((uint32_t)plane_of(x))));
}

static void backward_mean(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out), *x = graph_source(graph, node, 0);
  kernel_run(graph->kernels, "plane_mean_backward", planes_of(graph, x) * plane_of(x),
             ARGS(graph_arg(ARG_IN, node->gradient), graph_arg(ARG_INOUT, x->gradient),
                  arg_u32((uint32_t)plane_of(x)), arg_u32(node->adds[0])));
}

const struct op_desc op_plane_mean = {.name = "plane_mean",
                                      .shape = shape_mean,
                                      .forward = forward_mean,
                                      .backward = backward_mean,
                                      .kernels = {"plane_mean_forward", "plane_mean_backward"}};

/* ---- the network --------------------------------------------------------------------------------------- */

enum { LAYERS = 4 };

/* A convolution of 4x4 with stride 2: as one of 1x1 on patches its weights lie as PyTorch's do. */
static tensor halve(struct graph *graph, tensor x, int layer, int channels) {
  const double deviation = 0.02;
  tensor patches = graph_append_op(graph, &op_patches, x);
  tensor maps = graph_normal(graph, conv2d(graph, patches, graph_name(graph, "conv.%d", layer), channels, 1),
                             deviation);
  return leaky_relu(graph, layer ? instance_norm(graph, maps) : maps, 0.2f);
}

tensor net_evaluator(struct graph *graph, tensor reconstruction, int channels) {
  tensor x = graph_append_op(graph, &op_spectral, reconstruction);
  if (graph->failed) return reconstruction;
  int width = graph_node(graph, reconstruction)->shape.width;
  for (int layer = 0; layer < LAYERS; layer++)
    x = halve(graph, x, layer, channels << (layer < 2 ? layer : 2));
  tensor scores = conv2d(graph, graph_append_op(graph, &op_plane_mean, x), "score", width, 1);
  return scale(graph, graph_normal(graph, scores, 0.02), -1);
}

/* ---- the row ------------------------------------------------------------------------------------------- */

#define PLACE(member) .place = offsetof(struct network_facts, member)
#define WHOLE(attribute, member, least, most)                                                                \
  { .name = attribute, .kind = FACT_WHOLE, PLACE(member), .low = least, .high = most, .key = NULL }

static const struct fact facts[] = {
    {.name = "sampler",
     .kind = FACT_NAME,
     .text = "evaluator",
     .what = "an evaluator",
     .make = "train one with train.method evaluator"},
    {.name = "scan_geometry", .kind = FACT_TEXT, PLACE(geometry)},
    {.name = "sampler_size", .kind = FACT_SIDES, PLACE(shape), .low = 1, .high = 65536, .key = "data.size"},
    WHOLE("sampler_channels", channels, 1, 1024),
    {.name = NULL}};

static bool append(struct graph *graph, const struct options *options, struct error *error) {
  const struct scan_shape shape = scan_shape_of(options);
  if (!geometry_chosen(options)->columns)
    return fail_usage(
        error,
        "train.method is evaluator, which tells columns of k-space apart, and acquisition.geometry is "
        "%s; set it to lines, or train.method to l2s or ddqn",
        geometry_chosen(options)->name);
  net_evaluator(graph, graph_input(graph, "reconstruction", 1, (int)shape.height, (int)shape.width),
                (int)options->evaluator.channels);
  return true;
}

const struct network_desc network_evaluator = {
    .name = "evaluator",
    .dense = true,
    .doc = "evaluator: how near every column of a reconstruction's k-space is to the truth, in single precision",
    .paper = "PROTOCOL 4.3; Z. Zhang et al. 2019, arXiv 1902.03051",
    .in = SET(BATCH_observation) | SET(BATCH_taken) | SET(BATCH_logits_gradient),
    .out = SET(BATCH_logits),
    .facts = facts,
    .group = "sampler",
    .keys = {"evaluator.channels", "data.size"},
    .batch = offsetof(struct options, policy.batch),
    .append = append};
