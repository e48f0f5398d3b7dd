/* The blocks of a network: which chains of its nodes the fused path takes, and what refuses it. */
#include "engine/fused/block_plan.h"

#include "engine/base/round.h"

const struct node *block_node(const struct graph *graph, int i) {
  return &graph->node[i];
}

static int input_of(const struct graph *graph, int i, int which) {
  return block_node(graph, i)->input[which].node;
}

static bool is_op(const struct graph *graph, int i, const struct op_desc *op) {
  return block_node(graph, i)->op == op;
}

static bool is_plain_relu(const struct graph *graph, int i) {
  return is_op(graph, i, &op_relu) && block_node(graph, i)->slope == 0;
}

static int layer_of(const struct blocks *blocks, int relu) {
  for (int l = 0; l < blocks->layers; l++)
    if (blocks->layer[l].relu == relu) return l;
  return -1;
}

/* The layer whose normalised output node i is, marking which map it must store. */
static int take_full(struct blocks *blocks, int i) {
  int l = is_plain_relu(blocks->graph, i) ? layer_of(blocks, i) : -1;
  if (l >= 0) blocks->layer[l].store_full = true;
  return l;
}

/* The image that a layer takes, perhaps padded, or NULL. */
static const struct node *image_of(const struct graph *graph, int from) {
  const struct node *node = block_node(graph, is_op(graph, from, &op_pad) ? input_of(graph, from, 0) : from);
  return node->op ? NULL : node;
}

static bool find_source(struct blocks *blocks, struct block_layer *layer, struct error *error) {
  const struct graph *graph = blocks->graph;
  int from = input_of(graph, layer->conv, 0);
  const struct node *image = image_of(graph, from);
  layer->first = layer->second = -1;
  if (image) {
    layer->source = SOURCE_IMAGE;
    layer->in = layer->own_in;
    return layer->in <= INPUTS_MOST ? true
                                    : fail(error, "input %s has %d channels; the fused path takes one to %d",
                                           image->name, layer->in, INPUTS_MOST);
  }
  layer->source = SOURCE_BLOCK;
  if (is_op(graph, from, &op_pool)) {
    int relu = input_of(graph, from, 0);
    layer->first = is_plain_relu(graph, relu) ? layer_of(blocks, relu) : -1;
    layer->first_pooled = true;
    if (layer->first >= 0) blocks->layer[layer->first].store_pooled = true;
  } else if (is_op(graph, from, &op_concat) && is_op(graph, input_of(graph, from, 0), &op_up_sample)) {
    layer->source = SOURCE_UP;
    layer->first = take_full(blocks, input_of(graph, input_of(graph, from, 0), 0));
    layer->second = take_full(blocks, input_of(graph, from, 1));
    if (layer->first >= 0) layer->up_channels = blocks->layer[layer->first].out;
  } else {
    layer->first = take_full(blocks, from);
  }
  bool found = layer->first >= 0 && (layer->source != SOURCE_UP || layer->second >= 0);
  return found ? true
               : fail(error,
                      "the input of %s is no block, pooled block or up-sampled block joined with another",
                      block_node(graph, layer->conv)->name);
}

/* A map with fewer channels than are computed. */
static bool is_padded(const struct blocks *blocks, int l) {
  return blocks->layer[l].own_out != blocks->layer[l].out;
}

static bool check_layer(const struct blocks *blocks, const struct block_layer *layer, struct error *error) {
  const char *name = block_node(blocks->graph, layer->conv)->name;
  bool joins = layer->source == SOURCE_UP;
  if (joins &&
      (layer->own_in != layer->in || is_padded(blocks, layer->first) || is_padded(blocks, layer->second)))
    return fail(error,
                "%s has %d to %d channels; where blocks are joined the fused path takes multiples of 16",
                name, layer->own_in, layer->own_out);
  return true;
}

/* One layer for every conv -> norm -> relu; the three nodes follow each other in the list. */
static bool find_layers(struct blocks *blocks, struct error *error) {
  const struct graph *graph = blocks->graph;
  for (int i = 0; i < graph->nodes; i++) {
    if (!is_op(graph, i, &op_conv) || block_node(graph, i)->size != 3 || block_node(graph, i)->plain) continue;
    bool chain = i + 2 < graph->nodes && is_op(graph, i + 1, &op_norm) && input_of(graph, i + 1, 0) == i &&
                 is_plain_relu(graph, i + 2) && input_of(graph, i + 2, 0) == i + 1;
    if (!chain)
      return fail(error, "%s is not followed by instance norm and ReLU", block_node(graph, i)->name);
    if (blocks->layers == LAYERS_MOST) return fail(error, "more than %d layers", LAYERS_MOST);
    struct block_layer *layer = &blocks->layer[blocks->layers];
    struct tensor_shape in = block_node(graph, input_of(graph, i, 0))->shape,
                        out = block_node(graph, i)->shape;
    struct block_extent extent = block_extent(out.height, out.width);
    *layer = (struct block_layer){.conv = i,
                                  .relu = i + 2,
                                  .own_in = in.channels,
                                  .own_out = out.channels,
                                  .in = (int)round_up((size_t)in.channels, 16),
                                  .out = (int)round_up((size_t)out.channels, 16),
                                  .rows = extent.rows,
                                  .columns = extent.columns,
                                  .own_rows = out.height,
                                  .own_columns = out.width};
    if (!find_source(blocks, layer, error) || !check_layer(blocks, layer, error)) return false;
    blocks->layers++;
  }
  return blocks->layers ? true : fail(error, "no 3x3 convolution in the network");
}

/* The pooled map of the last block. */
static bool find_maps(struct blocks *blocks, struct error *error) {
  const struct graph *graph = blocks->graph;
  struct block_layer *last = &blocks->layer[blocks->layers - 1];
  blocks->end = END_MAPS;
  for (int i = last->relu + 1; i < graph->nodes; i++)
    if (is_op(graph, i, &op_pool) && input_of(graph, i, 0) == last->relu) last->store_pooled = true;
  if (last->own_out != last->out)
    return fail(error, "the last block has %d channels; the fused path takes a multiple of 16 there",
                last->own_out);
  return last->store_pooled ? true
                            : fail(error, "the network ends neither in three 1x1 convolutions to one channel "
                                          "nor in a pooled block");
}

/* The last three nodes: 1x1 convolutions from the last block to one channel, of which what was padded is cut. */
static bool find_tail(struct blocks *blocks, struct error *error) {
  const struct graph *graph = blocks->graph;
  for (int k = 0; k < 3; k++) {
    int i = graph->nodes - 3 + k;
    bool good = i >= 0 && is_op(graph, i, &op_conv) && block_node(graph, i)->size == 1 &&
                (k == 0 || input_of(graph, i, 0) == i - 1) &&
                (k == 0 || block_node(graph, i)->shape.channels == 1);
    if (!good) return find_maps(blocks, error);
    blocks->tail[k] = i;
  }
  int from = input_of(graph, blocks->tail[0], 0);
  int last = take_full(blocks, is_op(graph, from, &op_crop) ? input_of(graph, from, 0) : from);
  if (blocks->layer[blocks->layers - 1].own_out % 16)
    return fail(error, "the last block has %d channels; the fused path takes a multiple of 16 there",
                blocks->layer[blocks->layers - 1].own_out);
  return last == blocks->layers - 1 ? true : fail(error, "the 1x1 convolutions do not follow the last block");
}

static bool check_pools(const struct blocks *blocks, struct error *error) {
  for (int l = 0; l < blocks->layers; l++) {
    const struct block_layer *layer = &blocks->layer[l];
    if (layer->store_pooled && (layer->own_rows % 2 || layer->own_columns % 2))
      return fail(error, "%s is pooled from %dx%d pixels; the fused path pools even numbers",
                  block_node(blocks->graph, layer->conv)->name, layer->own_rows, layer->own_columns);
  }
  return true;
}

bool block_find(struct blocks *blocks, struct error *error) {
  if (blocks->device->facts.matrix == MATRIX_NONE)
    return fail(error,
                "%s has no matrix instructions that the fused path knows: NVIDIA's, or AMD's of gfx11 in "
                "waves of 32, of gfx90a and gfx942 in waves of 64",
                blocks->device->facts.name);
  return find_layers(blocks, error) && find_tail(blocks, error) && check_pools(blocks, error) && block_frame_find(blocks, error);
}

bool blocks_fit(const struct graph *graph, const struct device *device, struct error *error) {
  struct arena *arena = arena_open();
  struct blocks *blocks = ARENA_NEW(arena, struct blocks, 1);
  blocks->graph = (struct graph *)graph; /* only read */
  blocks->device = (struct device *)device;
  bool fits = block_find(blocks, error);
  arena_close(arena);
  return fits;
}
