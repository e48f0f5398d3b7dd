/* Draws of exactly so many entries: probabilities rescaled to that sum, and thresholds at which a step draws
 * it. */
#include "engine/graph/graph.h"

/* The most entries of an exact draw by one table of chances (kernels/exact.cl); more entries are drawn by a
 * tree of blocks (kernels/tree.cl). */
enum { ENTRIES_MOST = 512, BLOCK = 64 };

static uint32_t entries(const struct graph *graph, tensor out) {
  return (uint32_t)graph_elements(graph, out);
}

/* ---- rescaling to a budget ----------------------------------------------------------------------------- */

static bool shape_budget(struct graph *graph, tensor out, struct error *error) {
  struct node *node = graph_node(graph, out);
  node->shape = graph_source(graph, node, 0)->shape;
  if (node->budget > graph_elements(graph, out))
    return fail(error, "a budget of %u for %u entries; lower it", node->budget, entries(graph, out));
  return graph_same_shape(graph_source(graph, node, 0), graph_source(graph, node, 1), error);
}

static void forward_rescale(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out);
  kernel_run(graph->kernels, "rescale_forward", graph->images,
             ARGS(graph_arg(ARG_IN, graph_source(graph, node, 0)->value),
                  graph_arg(ARG_IN, graph_source(graph, node, 1)->value), graph_arg(ARG_OUT, node->value),
                  arg_u32(entries(graph, out)), arg_u32(node->budget)));
}

static void backward_rescale(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out), *x = graph_source(graph, node, 0);
  kernel_run(graph->kernels, "rescale_backward", graph->images,
             ARGS(graph_arg(ARG_IN, x->value), graph_arg(ARG_IN, graph_source(graph, node, 1)->value),
                  graph_arg(ARG_IN, node->gradient), graph_arg(ARG_INOUT, x->gradient),
                  arg_u32(entries(graph, out)), arg_u32(node->budget), arg_u32(node->adds[0])));
}

/* ---- thresholds of an exact draw ----------------------------------------------------------------------- */

static bool shape_exact(struct graph *graph, tensor out, struct error *error) {
  const struct node *node = graph_node(graph, out), *number = graph_source(graph, node, 2);
  struct tensor_shape shape = number->shape;
  if (shape.channels * shape.height * shape.width != 1)
    return fail(error, "the numbers '%s' are %dx%dx%d; they must be 1x1x1, one an image", number->name,
                shape.channels, shape.height, shape.width);
  return shape_budget(graph, out, error);
}

static bool by_tree(const struct graph *graph, tensor out) {
  return graph_elements(graph, out) > ENTRIES_MOST;
}

/* The tree has 2^levels blocks. */
static uint32_t tree_levels(const struct graph *graph, tensor out) {
  uint32_t levels = 0;
  while ((size_t)BLOCK << levels < graph_elements(graph, out)) levels++;
  return levels;
}

/* Numbers of a tree, those of its nodes below the root, as kernels/tree.cl says. */
static size_t tree_size(uint32_t levels) {
  size_t size = 0;
  for (uint32_t level = 0; level < levels; level++) {
    size_t entries = (size_t)BLOCK << level, window = (level % 2 ? 114u : 80u) << level / 2;
    size += ((size_t)1 << (levels - level)) * (4 + (entries < window ? entries : window) + 1);
  }
  return size;
}

/* The chances of every number of the entries that are left, or the tree's. */
static size_t work_exact(const struct graph *graph, tensor out, size_t images) {
  size_t table = graph_elements(graph, out) * ((size_t)graph->node[out.node].budget + 1);
  return sizeof(float) * images * (by_tree(graph, out) ? tree_size(tree_levels(graph, out)) : table);
}

/* The most probable entries instead of a draw. */
static void forward_best(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out);
  kernel_run(graph->kernels, "exact_best", graph->images,
             ARGS(graph_arg(ARG_IN, graph_source(graph, node, 0)->value),
                  graph_arg(ARG_IN, graph_source(graph, node, 1)->value), graph_arg(ARG_OUT, node->value),
                  arg_u32(entries(graph, out)), arg_u32(node->budget)));
}

static void forward_table(struct graph *graph, tensor out, uint32_t words) {
  const struct node *node = graph_node(graph, out);
  kernel_run(graph->kernels, "exact_draw", graph->images,
             ARGS(graph_arg(ARG_IN, graph_source(graph, node, 0)->value),
                  graph_arg(ARG_IN, graph_source(graph, node, 1)->value),
                  arg_buffer(ARG_IN, ELEMENT_U32, graph_source(graph, node, 2)->value),
                  graph_arg(ARG_OUT, node->value), graph_arg(ARG_OUT, node->work),
                  arg_u32(entries(graph, out)), arg_u32(node->budget), arg_u32(node->seed),
                  arg_u32(node->step * words)));
}

/* Up the tree, down the tree, and what every block draws. */
static void forward_tree(struct graph *graph, tensor out, uint32_t words) {
  const struct node *node = graph_node(graph, out);
  struct arg chance = graph_arg(ARG_IN, graph_source(graph, node, 0)->value),
             taken = graph_arg(ARG_IN, graph_source(graph, node, 1)->value),
             number = arg_buffer(ARG_IN, ELEMENT_U32, graph_source(graph, node, 2)->value);
  uint32_t levels = tree_levels(graph, out);
  size_t images = graph->images;
  kernel_run(
      graph->kernels, "tree_leaves", images << levels,
      ARGS(chance, taken, graph_arg(ARG_OUT, node->work), arg_u32(entries(graph, out)), arg_u32(levels)));
  for (uint32_t level = 1; level < levels; level++)
    kernel_run(graph->kernels, "tree_join", images << (levels - level),
               ARGS(graph_arg(ARG_INOUT, node->work), arg_u32(levels), arg_u32(level)));
  kernel_run(graph->kernels, "tree_split", images,
             ARGS(number, graph_arg(ARG_INOUT, node->work), arg_u32(node->budget), arg_u32(levels),
                  arg_u32(node->seed), arg_u32(node->step * words)));
  kernel_run(graph->kernels, "tree_draw", images << levels,
             ARGS(chance, taken, number, graph_arg(ARG_IN, node->work), graph_arg(ARG_OUT, node->value),
                  arg_u32(entries(graph, out)), arg_u32(levels), arg_u32(node->seed),
                  arg_u32(node->step * words)));
}

static void forward_exact(struct graph *graph, tensor out) {
  uint32_t words = (entries(graph, out) + 1) / 2; /* random words of a draw */
  if (graph->best)
    forward_best(graph, out);
  else if (by_tree(graph, out))
    forward_tree(graph, out, words);
  else
    forward_table(graph, out, words);
}

static void no_backward(struct graph *graph, tensor out) {
  REQUIRE(false, "'%s' gives no gradient", graph_node(graph, out)->name);
}

const struct op_desc op_rescale = {.name = "rescale",
                                   .shape = shape_budget,
                                   .forward = forward_rescale,
                                   .backward = backward_rescale,
                                   .keeps_input = true,
                                   .blocks = {false, true},
                                   .kernels = {"rescale_forward", "rescale_backward"}};

const struct op_desc op_exact_threshold = {
    .name = "exact_threshold",
    .shape = shape_exact,
    .forward = forward_exact,
    .backward = no_backward,
    .work = work_exact,
    .blocks = {true, true, true},
    .kernels = {"exact_draw", "exact_best", "tree_leaves", "tree_join", "tree_split", "tree_draw"}};

/* ---- building ------------------------------------------------------------------------------------------ */

tensor rescale(struct graph *graph, tensor x, tensor taken, uint32_t budget) {
  struct node node = {.op = &op_rescale, .input = {x, taken}, .inputs = 2, .weight = -1, .bias = -1};
  node.name = graph_name(graph, "rescale.%d", graph->nodes);
  node.budget = budget;
  return graph_append(graph, &node);
}

tensor exact_threshold(struct graph *graph, tensor x, tensor taken, tensor number, uint32_t budget,
                       uint32_t seed, uint32_t step) {
  struct node node = {
      .op = &op_exact_threshold, .input = {x, taken, number}, .inputs = 3, .weight = -1, .bias = -1};
  node.name = graph_name(graph, "exact_threshold.%d", graph->nodes);
  node.budget = budget;
  node.seed = seed;
  node.step = step;
  return graph_append(graph, &node);
}
