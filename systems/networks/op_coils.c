#include "systems/networks/op_coils.h"

#include "engine/base/round.h"
#include "kernels/kernels.h"

enum {
  STRIP = 8,
  STEP_PARTS = 512
}; /* values a row of kernels/coils.cl; partial sums of a step's gradient */

enum { FORM_FORWARD, FORM_VALUES, FORM_REFERENCE }; /* kernels/rows.cl */

static uint32_t pixels(const struct node *node) {
  return (uint32_t)node->shape.height * (uint32_t)node->shape.width;
}

static size_t strips(const struct node *node) {
  return divide_up(pixels(node), STRIP);
}

static bool is_complex(const struct node *node, struct error *error) {
  return node->shape.channels == 2 ||
         fail(error, "'%s' has %d channels; a complex image has 2, real and imaginary", node->name,
              node->shape.channels);
}

static bool check_maps(struct graph *graph, const struct node *node, struct error *error) {
  const struct node *maps = graph_source(graph, node, 0), *other = graph_source(graph, node, 1);
  return is_complex(maps, error) && graph_same_shape(maps, other, error);
}

static bool check_copies(const struct node *node, int copies, struct error *error) {
  return node->copies == copies ||
         fail(error, "'%s' has %d copies an image; it must have %d", node->name, node->copies, copies);
}

/* ---- an image in every coil, and back ------------------------------------------------------------------ */

/* `factor` times the maps times the values, or the values' sum over coils times the maps' conjugates. */
struct way {
  cl_mem maps, values, to;
  float factor;
  bool add; /* to what is there */
};

static void expand(struct graph *graph, const struct node *coils, const struct way *way, bool conjugate) {
  kernel_run(graph->kernels, "coils_spread", graph->images * (size_t)coils->copies * strips(coils),
             ARGS(graph_arg(ARG_IN, way->maps), graph_arg(ARG_IN, way->values), graph_arg(ARG_INOUT, way->to),
                  arg_u32((uint32_t)coils->copies), arg_u32(pixels(coils)), arg_u32(conjugate), arg_f32(way->factor),
                  arg_u32(way->add)));
}

static void gather(struct graph *graph, const struct node *coils, const struct way *way) {
  kernel_run(graph->kernels, "coils_gather", graph->images * strips(coils),
             ARGS(graph_arg(ARG_IN, way->maps), graph_arg(ARG_IN, way->values), graph_arg(ARG_INOUT, way->to),
                  arg_u32((uint32_t)coils->copies), arg_u32(pixels(coils)), arg_f32(way->factor), arg_u32(way->add)));
}

static bool shape_expand(struct graph *graph, tensor out, struct error *error) {
  struct node *node = graph_node(graph, out);
  node->shape = graph_source(graph, node, 0)->shape;
  return check_maps(graph, node, error) && check_copies(graph_source(graph, node, 1), 1, error);
}

static void forward_expand(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out);
  expand(graph, node,
         &(struct way){graph_source(graph, node, 0)->value, graph_source(graph, node, 1)->value, node->value, 1, false}, false);
}

static void backward_expand(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out), *maps = graph_source(graph, node, 0),
                    *image = graph_source(graph, node, 1);
  if (maps->needs_gradient)
    expand(graph, node, &(struct way){node->gradient, image->value, maps->gradient, 1, node->adds[0]}, true);
  if (image->needs_gradient)
    gather(graph, node, &(struct way){maps->value, node->gradient, image->gradient, 1, node->adds[1]});
}

static bool shape_gather(struct graph *graph, tensor out, struct error *error) {
  struct node *node = graph_node(graph, out);
  const struct node *maps = graph_source(graph, node, 0);
  node->shape = maps->shape;
  node->copies = 1;
  return check_maps(graph, node, error) && check_copies(graph_source(graph, node, 1), maps->copies, error);
}

static void forward_gather(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out), *maps = graph_source(graph, node, 0);
  gather(graph, maps, &(struct way){maps->value, graph_source(graph, node, 1)->value, node->value, 1, false});
}

static void backward_gather(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out), *maps = graph_source(graph, node, 0),
                    *coils = graph_source(graph, node, 1);
  if (maps->needs_gradient)
    expand(graph, maps, &(struct way){coils->value, node->gradient, maps->gradient, 1, node->adds[0]}, true);
  if (coils->needs_gradient)
    expand(graph, maps, &(struct way){maps->value, node->gradient, coils->gradient, 1, node->adds[1]}, false);
}

/* ---- root of the sum of squares ------------------------------------------------------------------------ */

static uint32_t planes(const struct node *coils) {
  return (uint32_t)(coils->copies * coils->shape.channels);
}

static bool shape_root(struct graph *graph, tensor out, struct error *error) {
  struct node *node = graph_node(graph, out);
  const struct node *coils = graph_source(graph, node, 0);
  (void)error;
  node->shape = (struct tensor_shape){1, coils->shape.height, coils->shape.width};
  node->copies = 1;
  return true;
}

static bool shape_unit(struct graph *graph, tensor out, struct error *error) {
  struct node *node = graph_node(graph, out);
  (void)error;
  node->shape = graph_source(graph, node, 0)->shape;
  return true;
}

static void run_forward(struct graph *graph, tensor out, const char *kernel) {
  const struct node *node = graph_node(graph, out), *coils = graph_source(graph, node, 0);
  kernel_run(graph->kernels, kernel, graph->images * strips(coils),
             ARGS(graph_arg(ARG_IN, coils->value), graph_arg(ARG_OUT, node->value), arg_u32(planes(coils)),
                  arg_u32(pixels(coils))));
}

static void run_backward(struct graph *graph, tensor out, const char *kernel) {
  const struct node *node = graph_node(graph, out), *coils = graph_source(graph, node, 0);
  kernel_run(graph->kernels, kernel, graph->images * strips(coils),
             ARGS(graph_arg(ARG_IN, coils->value), graph_arg(ARG_IN, node->gradient),
                  graph_arg(ARG_INOUT, coils->gradient), arg_u32(planes(coils)), arg_u32(pixels(coils)),
                  arg_u32(node->adds[0])));
}

static void forward_root(struct graph *graph, tensor out) {
  run_forward(graph, out, "planes_root");
}

static void backward_root(struct graph *graph, tensor out) {
  run_backward(graph, out, "planes_root_backward");
}

static void forward_unit(struct graph *graph, tensor out) {
  run_forward(graph, out, "planes_unit");
}

static void backward_unit(struct graph *graph, tensor out) {
  run_backward(graph, out, "planes_unit_backward");
}

/* ---- acquired frequencies ------------------------------------------------------------------------------ */

static bool shape_consistency(struct graph *graph, tensor out, struct error *error) {
  struct node *node = graph_node(graph, out);
  const struct node *x = graph_source(graph, node, 0), *reference = graph_source(graph, node, 1),
                    *mask = graph_source(graph, node, 2);
  struct tensor_shape in = x->shape, own = mask->shape;
  node->shape = in;
  if (own.channels != 1 || (own.height != 1 && own.height != in.height) || own.width != in.width)
    return fail(error, "the mask '%s' is %dx%dx%d; it must be 1x1x%d, as wide as the frequencies, or 1x%dx%d",
                mask->name, own.channels, own.height, own.width, in.width, in.height, in.width);
  node->weight = graph_parameter(graph, node->name, 1, 1, (size_t[]){1});
  return graph_same_shape(x, reference, error) && check_copies(reference, x->copies, error) &&
         check_copies(mask, 1, error);
}

/* Lines of an image that are as long as the mask: with one of points, planes. */
static uint32_t lines(const struct graph *graph, const struct node *node) {
  return planes(node) * pixels(node) / (uint32_t)graph_elements(graph, node->input[2]);
}

static uint32_t width(const struct graph *graph, const struct node *node) {
  return (uint32_t)graph_elements(graph, node->input[2]);
}

static size_t line_strips(const struct graph *graph, const struct node *node) {
  return graph->images * lines(graph, node) * divide_up(width(graph, node), STRIP);
}

#define LINE_ARGS arg_u32(lines(graph, node)), arg_u32(width(graph, node))

static struct arg step_of(const struct graph *graph, const struct node *node) {
  return graph_arg(ARG_IN, graph->parameter[node->weight].value);
}

static struct arg value_of(struct graph *graph, const struct node *node, int k) {
  return graph_arg(ARG_IN, graph_source(graph, node, k)->value);
}

static void forward_consistency(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out);
  kernel_run(graph->kernels, "consistency_forward", line_strips(graph, node),
             ARGS(value_of(graph, node, 0), value_of(graph, node, 1), value_of(graph, node, 2),
                  step_of(graph, node), graph_arg(ARG_OUT, node->value), LINE_ARGS));
}

static size_t scratch_consistency(const struct graph *graph, tensor out, size_t images) {
  size_t most = images * lines(graph, &graph->node[out.node]);
  return sizeof(float) * graph_parts_most(graph, STEP_PARTS, most, images);
}

static void backward_step(struct graph *graph, const struct node *node) {
  const struct graph_cut cut = graph_cut(graph, graph->images);
  size_t each = cut.each * lines(graph, node), parts = graph_parts(graph, STEP_PARTS, cut.each, each);
  kernel_run(graph->kernels, "consistency_step", cut.shards * parts,
             ARGS(value_of(graph, node, 0), value_of(graph, node, 1), value_of(graph, node, 2),
                  graph_arg(ARG_IN, node->gradient), graph_arg(ARG_OUT, node->scratch), LINE_ARGS,
                  arg_u32((uint32_t)graph->images * lines(graph, node)), arg_u32((uint32_t)each),
                  arg_u32((uint32_t)parts)));
  kernel_run(graph->kernels, "conv_weight_sum", cut.shards,
             ARGS(graph_arg(ARG_IN, node->scratch), graph_shards(&cut, 1), arg_u32((uint32_t)parts),
                  arg_u32(1), SHARD_ARGS(cut, &graph->parameter[node->weight])));
}

static void backward_values(struct graph *graph, const struct node *node, int k) {
  const struct node *to = graph_source(graph, node, k);
  if (!to->needs_gradient) return;
  kernel_run(graph->kernels, "consistency_backward", line_strips(graph, node),
             ARGS(value_of(graph, node, 2), step_of(graph, node), graph_arg(ARG_IN, node->gradient),
                  graph_arg(ARG_INOUT, to->gradient), LINE_ARGS, arg_u32((uint32_t)k),
                  arg_u32(node->adds[k])));
}

static void backward_consistency(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out), *mask = graph_source(graph, node, 2);
  backward_step(graph, node);
  for (int k = 0; k < 2; k++) backward_values(graph, node, k);
  if (mask->needs_gradient)
    kernel_run(graph->kernels, "consistency_mask", graph->images * width(graph, node),
               ARGS(value_of(graph, node, 0), value_of(graph, node, 1), step_of(graph, node),
                    graph_arg(ARG_IN, node->gradient), graph_arg(ARG_INOUT, mask->gradient), LINE_ARGS,
                    arg_u32(node->adds[2])));
}

/* ---- acquired columns, of images (kernels/rows.cl) --------------------------------------------------------------- */

enum { VALUES, REFERENCE, MASK, MAPS, IMAGE, INPUTS };

/* Of an image, all coils. */
static size_t coil_rows(const struct node *node) {
  return (size_t)node->copies * (size_t)node->shape.height;
}

static size_t columns(const struct node *node) {
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
  size_t own = kernels_width(graph->kernels), local = rows_local(own);
  if (local > graph->device->facts.declared)
    return fail(error, "'%s' takes %zu bytes of local memory for lines of %zu columns, and a kernel of %s may have %llu; name another device, or "
                "fewer columns (data.size)", node->name, local, own, graph->device->facts.name, (unsigned long long)graph->device->facts.declared);
  return (own == columns(node) && rows_fit(1, own)) ||
         fail(error, "'%s' is of %d columns, the kernels are of %zu; both must be one product of two factors in 2 to 32",
              node->name, node->shape.width, own);
}

/* `values` is the gradient where the form is that of one. */
static void run_rows(struct graph *graph, const struct node *node, uint32_t form, cl_mem values, cl_mem to, bool add) {
  size_t all = graph->images * coil_rows(node);
  kernel_run(graph->kernels, "rows_consistency", divide_up(all, rows_lines(columns(node))),
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
  return graph_parts(graph, STEP_PARTS, images, images * divide_up(coil_rows(node), rows_lines(columns(node)))) / images + 1;
}

static size_t scratch_rows(const struct graph *graph, tensor out, size_t images) {
  const struct node *node = &graph->node[out.node];
  size_t chunks = divide_up(coil_rows(node), rows_lines(columns(node))), most = graph_parts_most(graph, STEP_PARTS, images * chunks, images);
  return sizeof(float) * (2 * images + (most + images) * columns(node));
}

/* The gradient of the step, and of the mask: the same products of frequencies of every column. */
static void backward_products(struct graph *graph, const struct node *node) {
  const struct graph_cut cut = graph_cut(graph, graph->images);
  const struct node *mask = graph_source(graph, node, MASK);
  size_t parts = parts_of(graph, node, cut.each), first = cut.shards * cut.each;
  struct arg own = arg_u32((uint32_t)columns(node)), pieces = arg_u32((uint32_t)parts), start = arg_u32((uint32_t)first);
  kernel_run(graph->kernels, "rows_products", graph->images * parts,
             ARGS(value_of(graph, node, VALUES), value_of(graph, node, REFERENCE), graph_arg(ARG_IN, node->gradient),
                  graph_arg(ARG_INOUT, node->scratch), arg_u32((uint32_t)node->shape.height), arg_u32((uint32_t)coil_rows(node)),
                  pieces, start));
  kernel_run(graph->kernels, "rows_step", first,
             ARGS(value_of(graph, node, MASK), graph_arg(ARG_INOUT, node->scratch), arg_u32((uint32_t)graph->images), own, pieces,
                  start));
  kernel_run(graph->kernels, "conv_weight_sum", cut.shards,
             ARGS(graph_arg(ARG_IN, node->scratch), graph_shards(&cut, 1), arg_u32((uint32_t)cut.each), arg_u32(1),
                  SHARD_ARGS(cut, &graph->parameter[node->weight])));
  if (mask->needs_gradient)
    kernel_run(graph->kernels, "rows_mask", graph->images * columns(node),
               ARGS(graph_arg(ARG_IN, node->scratch), step_of(graph, node), graph_arg(ARG_INOUT, mask->gradient), own, pieces, start,
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
    expand(graph, maps, &(struct way){node->gradient, image->value, maps->gradient, -1, node->adds[MAPS]}, true);
  if (image->needs_gradient)
    gather(graph, maps, &(struct way){maps->value, node->gradient, image->gradient, -1, node->adds[IMAGE]});
}

/* ---- middle of a mask ------------------------------------------------------------------------------------------- */

static bool shape_middle(struct graph *graph, tensor out, struct error *error) {
  struct node *node = graph_node(graph, out);
  node->shape = graph_source(graph, node, 0)->shape;
  if (node->shape.channels == 1 && node->shape.height == 1) return true;
  return fail(error, "a mask of %dx%dx%d; its middle is known of columns, 1x1x%d", node->shape.channels,
              node->shape.height, node->shape.width, node->shape.width);
}

static void forward_middle(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out);
  kernel_run(graph->kernels, "mask_middle", graph->images,
             ARGS(value_of(graph, node, 0), graph_arg(ARG_OUT, node->value), arg_u32(pixels(node))));
}

static void backward_middle(struct graph *graph, tensor out) {
  REQUIRE(false, "'%s' gives no gradient", graph_node(graph, out)->name);
}

/* ---- units -------------------------------------------------------------------------------------------- */

static bool shape_units(struct graph *graph, tensor out, struct error *error) {
  struct node *node = graph_node(graph, out);
  node->shape = graph_source(graph, node, 0)->shape;
  return node->shape.channels == 1 && graph_elements(graph, node->input[1]) == 2
             ? true
             : fail(error, "it wants an image of one channel and two units, not %d channels and %zu units",
                    node->shape.channels, graph_elements(graph, node->input[1]));
}

static struct arg units_of(struct graph *graph, const struct node *node) {
  return arg_buffer(ARG_IN, ELEMENT_C64, graph_source(graph, node, 1)->value);
}

static void forward_units(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out);
  kernel_run(graph->kernels, "units_forward", graph->images * strips(node),
             ARGS(value_of(graph, node, 0), units_of(graph, node), graph_arg(ARG_OUT, node->value),
                  arg_u32(pixels(node))));
}

static void backward_units(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out);
  kernel_run(graph->kernels, "units_backward", graph->images * strips(node),
             ARGS(units_of(graph, node), graph_arg(ARG_IN, node->gradient),
                  graph_arg(ARG_INOUT, graph_source(graph, node, 0)->gradient), arg_u32(pixels(node)),
                  arg_u32(node->adds[0])));
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

const struct op_desc op_coil_spread = {.name = "coil_spread",
                                       .shape = shape_expand,
                                       .forward = forward_expand,
                                       .backward = backward_expand,
                                       .keeps_input = true,
                                       .mixes = true,
                                       .kernels = {"coils_spread", "coils_gather"}};

const struct op_desc op_coil_gather = {.name = "coil_gather",
                                       .shape = shape_gather,
                                       .forward = forward_gather,
                                       .backward = backward_gather,
                                       .keeps_input = true,
                                       .mixes = true,
                                       .kernels = {"coils_spread", "coils_gather"}};

const struct op_desc op_coil_root = {.name = "coil_root",
                                     .shape = shape_root,
                                     .forward = forward_root,
                                     .backward = backward_root,
                                     .keeps_input = true,
                                     .mixes = true,
                                     .kernels = {"planes_root", "planes_root_backward"}};

const struct op_desc op_coil_unit = {.name = "coil_unit",
                                     .shape = shape_unit,
                                     .forward = forward_unit,
                                     .backward = backward_unit,
                                     .keeps_input = true,
                                     .mixes = true,
                                     .kernels = {"planes_unit", "planes_unit_backward"}};

const struct op_desc op_consistency = {.name = "consistency",
                                       .shape = shape_consistency,
                                       .forward = forward_consistency,
                                       .backward = backward_consistency,
                                       .scratch = scratch_consistency,
                                       .keeps_input = true,
                                       .mixes = true,
                                       .kernels = {"consistency_forward", "consistency_backward",
                                                   "consistency_step", "consistency_mask",
                                                   "conv_weight_sum"}};

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

const struct op_desc op_middle = {.name = "mask_middle",
                                  .shape = shape_middle,
                                  .forward = forward_middle,
                                  .backward = backward_middle,
                                  .blocks = {true},
                                  .kernels = {"mask_middle"}};

const struct op_desc op_units = {.name = "in_units",
                                 .shape = shape_units,
                                 .forward = forward_units,
                                 .backward = backward_units,
                                 .keeps_input = true,
                                 .blocks = {false, true},
                                 .kernels = {"units_forward", "units_backward"}};

const struct op_desc *const op_coil_table[] = {&op_coil_spread, &op_coil_gather, &op_coil_root, &op_coil_unit,
                                               &op_consistency, &op_middle,      &op_units,     &op_row_consistency, NULL};

/* ---- building ------------------------------------------------------------------------------------------ */

tensor coil_spread(struct graph *graph, tensor maps, tensor image) {
  return graph_append_pair(graph, &op_coil_spread, maps, image);
}

tensor coil_gather(struct graph *graph, tensor maps, tensor coils) {
  return graph_append_pair(graph, &op_coil_gather, maps, coils);
}

tensor coil_root(struct graph *graph, tensor coils) {
  return graph_append_op(graph, &op_coil_root, coils);
}

tensor coil_unit(struct graph *graph, tensor coils) {
  return graph_append_op(graph, &op_coil_unit, coils);
}

tensor consistency(struct graph *graph, tensor x, tensor reference, tensor mask, const char *name) {
  struct node node = {.op = &op_consistency,
                      .name = name,
                      .input = {x, reference, mask},
                      .inputs = 3,
                      .weight = -1,
                      .bias = -1};
  return graph_start_at(graph, graph_append(graph, &node), 1);
}

bool row_consistency_fits(struct graph *graph, tensor x, tensor mask) {
  return graph_node(graph, mask)->shape.height == 1 && rows_fit(1, columns(graph_node(graph, x)));
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

tensor in_units(struct graph *graph, tensor x, tensor units) {
  return graph_append_pair(graph, &op_units, x, units);
}

tensor mask_middle(struct graph *graph, tensor mask) {
  return graph_append_op(graph, &op_middle, mask);
}
