/* Data consistency of images whose acquired frequencies are columns (kernels/rows.cl). */
#include "engine/base/round.h"
#include "kernels/kernels.h"
#include "systems/networks/op_coils.h"

enum { ROW_PARTS = 512, FORM_FORWARD = 0, FORM_VALUES, FORM_REFERENCE }; /* groups of rows_products; kernels/rows.cl */
enum { VALUES, REFERENCE, MASK, MAPS, IMAGE, INPUTS };

/* Of an image, all coils. */
static size_t lines(const struct node *node) {
  return (size_t)node->copies * (size_t)node->shape.height;
}

static size_t width(const struct node *node) {
  return (size_t)node->shape.width;
}

static bool shape_rows(struct graph *graph, tensor out, struct error *error) {
  struct node *node = graph_node(graph, out);
  const struct node *x = graph_source(graph, node, VALUES), *mask = graph_source(graph, node, MASK),
                    *image = graph_source(graph, node, IMAGE);
  node->shape = x->shape;
  if (x->shape.channels != 2)
    return fail(error, "'%s' has %d channels; a complex image has 2, real and imaginary", x->name, x->shape.channels);
  if (mask->shape.channels != 1 || mask->shape.height != 1 || mask->shape.width != x->shape.width)
    return fail(error, "the mask '%s' is %dx%dx%d; it must be 1x1x%d, as wide as the images", mask->name, mask->shape.channels,
                mask->shape.height, mask->shape.width, x->shape.width);
  for (int k = REFERENCE; k < INPUTS; k++) {
    const struct node *input = graph_source(graph, node, k);
    int copies = k == MASK || k == IMAGE ? 1 : x->copies;
    if (input->copies != copies)
      return fail(error, "'%s' has %d copies an image; it must have %d", input->name, input->copies, copies);
  }
  node->weight = graph_parameter(graph, node->name, 1, 1, (size_t[]){1});
  return graph_same_shape(x, graph_source(graph, node, REFERENCE), error) &&
         graph_same_shape(x, graph_source(graph, node, MAPS), error) && graph_same_shape(x, image, error);
}

static bool open_rows(struct graph *graph, tensor out, struct error *error) {
  const struct node *node = graph_node(graph, out);
  size_t own = kernels_width(graph->kernels);
  return (own == width(node) && rows_fit(1, own)) ||
         fail(error, "'%s' is of %d columns, the kernels are of %zu; both must be one product of two factors in 2 to 32",
              node->name, node->shape.width, own);
}

static struct arg value_of(struct graph *graph, const struct node *node, int k) {
  return graph_arg(ARG_IN, graph_source(graph, node, k)->value);
}

static struct arg step_of(const struct graph *graph, const struct node *node) {
  return graph_arg(ARG_IN, graph->parameter[node->weight].value);
}

/* `values` is the gradient where the form is that of one. */
static void run_rows(struct graph *graph, const struct node *node, uint32_t form, cl_mem values, cl_mem to, bool add) {
  size_t all = graph->images * lines(node);
  kernel_run(graph->kernels, "rows_consistency", divide_up(all, rows_lines(width(node))),
             ARGS(graph_arg(ARG_IN, values), value_of(graph, node, REFERENCE), value_of(graph, node, MASK), step_of(graph, node),
                  value_of(graph, node, MAPS), value_of(graph, node, IMAGE), graph_arg(ARG_INOUT, to),
                  arg_u32((uint32_t)node->copies), arg_u32((uint32_t)node->shape.height), arg_u32((uint32_t)all), arg_u32(form),
                  arg_u32(add)));
}

static void forward_rows(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out);
  run_rows(graph, node, FORM_FORWARD, graph_source(graph, node, VALUES)->value, node->value, false);
}

/* Pieces of an image's lines. */
static size_t parts_of(const struct graph *graph, const struct node *node, size_t images) {
  return graph_parts(graph, ROW_PARTS, images, images * divide_up(lines(node), rows_lines(width(node)))) / images + 1;
}

static size_t scratch_rows(const struct graph *graph, tensor out, size_t images) {
  const struct node *node = &graph->node[out.node];
  size_t chunks = divide_up(lines(node), rows_lines(width(node))), most = graph_parts_most(graph, ROW_PARTS, images * chunks, images);
  return sizeof(float) * (2 * images + (most + images) * width(node));
}

/* The gradient of the step, and of the mask: the same products of frequencies of every column. */
static void backward_products(struct graph *graph, const struct node *node) {
  const struct graph_cut cut = graph_cut(graph, graph->images);
  const struct node *mask = graph_source(graph, node, MASK);
  size_t parts = parts_of(graph, node, cut.each), first = cut.shards * cut.each;
  struct arg pieces = arg_u32((uint32_t)parts), start = arg_u32((uint32_t)first);
  kernel_run(graph->kernels, "rows_products", graph->images * parts,
             ARGS(value_of(graph, node, VALUES), value_of(graph, node, REFERENCE), graph_arg(ARG_IN, node->gradient),
                  graph_arg(ARG_INOUT, node->scratch), arg_u32((uint32_t)node->shape.height), arg_u32((uint32_t)lines(node)),
                  pieces, start));
  kernel_run(graph->kernels, "rows_step", first,
             ARGS(value_of(graph, node, MASK), graph_arg(ARG_INOUT, node->scratch), arg_u32((uint32_t)graph->images), pieces,
                  start));
  kernel_run(graph->kernels, "conv_weight_sum", cut.shards,
             ARGS(graph_arg(ARG_IN, node->scratch), graph_shards(&cut, 1), arg_u32((uint32_t)cut.each), arg_u32(1),
                  SHARD_ARGS(cut, &graph->parameter[node->weight])));
  if (mask->needs_gradient)
    kernel_run(graph->kernels, "rows_mask", graph->images * width(node),
               ARGS(graph_arg(ARG_IN, node->scratch), step_of(graph, node), graph_arg(ARG_INOUT, mask->gradient), pieces, start,
                    arg_u32(node->adds[MASK])));
}

static void backward_rows(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out), *maps = graph_source(graph, node, MAPS),
                    *image = graph_source(graph, node, IMAGE);
  backward_products(graph, node);
  for (int k = VALUES; k <= REFERENCE; k++) {
    const struct node *to = graph_source(graph, node, k);
    if (to->needs_gradient)
      run_rows(graph, node, k == VALUES ? FORM_VALUES : FORM_REFERENCE, node->gradient, to->gradient, node->adds[k]);
  }
  if (maps->needs_gradient)
    coil_expand(graph, maps, &(struct coil_way){node->gradient, image->value, maps->gradient, -1, node->adds[MAPS]}, true);
  if (image->needs_gradient)
    coil_sum(graph, maps, &(struct coil_way){maps->value, node->gradient, image->gradient, -1, node->adds[IMAGE]});
}

const struct op_desc op_row_consistency = {.name = "row_consistency",
                                           .shape = shape_rows,
                                           .open = open_rows,
                                           .forward = forward_rows,
                                           .backward = backward_rows,
                                           .scratch = scratch_rows,
                                           .keeps_input = true,
                                           .mixes = true,
                                           .kernels = {"rows_consistency", "rows_products", "rows_step", "rows_mask",
                                                       "coils_spread", "coils_gather", "conv_weight_sum"}};

bool row_consistency_fits(struct graph *graph, tensor x, tensor mask) {
  return graph_node(graph, mask)->shape.height == 1 && rows_fit(1, width(graph_node(graph, x)));
}

tensor row_consistency(struct graph *graph, const struct row_inputs *inputs, const char *name) {
  struct node node = {.op = &op_row_consistency,
                      .name = name,
                      .input = {inputs->x, inputs->reference, inputs->mask, inputs->maps, inputs->image},
                      .inputs = INPUTS,
                      .weight = -1,
                      .bias = -1};
  return graph_start_at(graph, graph_append(graph, &node), 1);
}
