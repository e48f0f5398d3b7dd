#include "engine/fused/unet.h"

#include "engine/fused/unet_plan.h"

/* ---- parameters, in the order of the operations one by one ----------------------------------------------
 */

static void add_parameter(struct graph *graph, struct node *node, const char *name, size_t fan_in, int rank,
                          const size_t *size) {
  int place = graph_parameter(graph, name, fan_in, rank, size);
  if (node->weight < 0) node->weight = place;
}

static void add_block(struct graph *graph, struct node *node, const char *name, int inputs, int outputs) {
  for (int i = 0; i < 2; i++, inputs = outputs)
    add_parameter(graph, node, graph_name(graph, "%s.layers.%d.weight", name, 4 * i), 9 * (size_t)inputs, 4,
                  (size_t[]){(size_t)outputs, (size_t)inputs, 3, 3});
}

static void add_head(struct graph *graph, struct node *node, int channels) {
  const char *name = graph_name(graph, "%s.up_conv.%d.1", node->name, node->size - 1);
  size_t inputs = (size_t)channels;
  add_parameter(graph, node, graph_name(graph, "%s.weight", name), inputs, 4, (size_t[]){2, inputs, 1, 1});
  add_parameter(graph, node, graph_name(graph, "%s.bias", name), inputs, 1, (size_t[]){2});
}

static void add_parameters(struct graph *graph, struct node *node, int channels) {
  int pools = node->size;
  for (int i = 0; i < pools; i++)
    add_block(graph, node, graph_name(graph, "%s.down_sample_layers.%d", node->name, i),
              i ? channels << (i - 1) : 2, channels << i);
  add_block(graph, node, graph_name(graph, "%s.conv", node->name), channels << (pools - 1),
            channels << pools);
  for (int i = 0; i < pools; i++) {
    int out = channels << (pools - 1 - i);
    add_parameter(graph, node, graph_name(graph, "%s.up_transpose_conv.%d.layers.0.weight", node->name, i),
                  4 * (size_t)out, 4, (size_t[]){2 * (size_t)out, (size_t)out, 2, 2});
    add_block(graph, node,
              graph_name(graph, i < pools - 1 ? "%s.up_conv.%d" : "%s.up_conv.%d.0", node->name, i), 2 * out,
              out);
  }
  add_head(graph, node, channels);
}

/* ---- the row ------------------------------------------------------------------------------------------- */

static bool shape_unet(struct graph *graph, tensor out, struct error *error) {
  struct node *node = graph_node(graph, out);
  int channels = node->shape.channels;
  node->shape = graph_source(graph, node, 0)->shape;
  if (node->shape.channels != 2)
    return fail(error, "%d channels; a complex image has 2, real and imaginary", node->shape.channels);
  if (node->size < 1 || node->size > UNET_POOLS_MOST || channels < 1 ||
      channels > UNET_CHANNELS >> node->size)
    return fail(error,
                "%d channels and %d pools; in half precision it takes 1 to %d pools, and 1 to %d channels "
                "after the last",
                channels, node->size, UNET_POOLS_MOST, UNET_CHANNELS);
  add_parameters(graph, node, channels);
  return true;
}

static struct unet_places places_of(const struct graph *graph, tensor out, size_t images) {
  struct unet_plan plan;
  unet_plan_of(graph, &graph->node[out.node], &plan);
  return unet_places_of(&plan, images);
}

static size_t kept_unet(const struct graph *graph, tensor out, size_t images) {
  return places_of(graph, out, images).kept;
}

static size_t work_unet(const struct graph *graph, tensor out, size_t images) {
  return places_of(graph, out, images).work;
}

static size_t scratch_unet(const struct graph *graph, tensor out, size_t images) {
  return places_of(graph, out, images).scratch;
}

static double flops_unet(const struct graph *graph, tensor out) {
  const struct node *node = &graph->node[out.node];
  struct unet_plan plan;
  unet_plan_of(graph, node, &plan);
  double flops = 4.0 * plan.channels * (double)unet_pixels(&plan, 0);
  for (int l = 0; l < plan.layers; l++)
    flops += 2 * (double)graph->parameter[node->weight + plan.layer[l].parameter].count *
             (double)unet_pixels(&plan, unet_level(&plan, &plan.layer[l]));
  return flops;
}

static bool open_unet(struct graph *graph, tensor out, struct error *error) {
  return fused_unet_fits(graph->device, error) && unet_open(graph, out, error);
}

const struct op_desc op_fused_unet = {.name = "fused_unet",
                                      .shape = shape_unet,
                                      .open = open_unet,
                                      .close = unet_close,
                                      .forward = unet_forward,
                                      .backward = unet_backward,
                                      .flops = flops_unet,
                                      .kept = kept_unet,
                                      .work = work_unet,
                                      .scratch = scratch_unet,
                                      .keeps_input = true,
                                      .keeps_output = true};

tensor fused_unet(struct graph *graph, tensor x, const char *name, int channels, int pools) {
  struct node node = {
      .op = &op_fused_unet, .name = name, .input = {x}, .inputs = 1, .weight = -1, .bias = -1, .size = pools};
  node.shape.channels = channels;
  return graph_append(graph, &node);
}

bool fused_unet_fits(const struct device *device, struct error *error) {
  enum device_matrix matrix = device->facts.matrix;
  return matrix == MATRIX_NVIDIA || matrix == MATRIX_EMULATED ||
         fail(error, "%s has no matrix instructions that a U-Net in half precision knows: NVIDIA's",
              device->facts.name);
}
