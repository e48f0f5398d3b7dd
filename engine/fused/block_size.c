/* The memory of the fused blocks: every buffer's bytes, before one is made. */
#include "engine/base/round.h"
#include "engine/fused/block_plan.h"

struct block_extent block_extent(int rows, int columns) {
  if (rows == 8 && columns == 8) return (struct block_extent){8, 8};
  return (struct block_extent){(int)round_up((size_t)rows, 16),
                               (int)round_up((size_t)columns, columns <= 16 ? 16 : 32)};
}

bool block_is_padded(const struct block_layer *layer) {
  return layer->own_rows != layer->rows || layer->own_columns != layer->columns;
}

/* A value beyond a map's own size: the most negative half, or of floats one whose product with a norm's scale
 * is finite. */
const char *block_own_macros(const struct blocks *blocks, const struct block_layer *layer) {
  struct block_extent half = block_extent(layer->own_rows / 2, layer->own_columns / 2);
  const char *beyond = blocks->precision == BLOCK_HALF ? " -DBEYOND=-65504.0f" : " -DBEYOND=-1e30f";
  return arena_text(blocks->arena, " -DOWN_ROWS=%d -DOWN_COLUMNS=%d -DHALF_ROWS=%d -DHALF_COLUMNS=%d%s",
                    layer->own_rows, layer->own_columns, half.rows, half.columns,
                    block_is_padded(layer) ? beyond : "");
}

/* Maps of 8x8 are computed two images at a time: room for an even number. */
size_t block_map_bytes(const struct blocks *blocks, int channels, int rows, int columns) {
  size_t element = blocks->precision == BLOCK_HALF ? 2 : 4, images = blocks->batch + blocks->batch % 2;
  return images * (size_t)(channels * rows * columns) * element;
}

size_t block_sums_bytes(const struct blocks *blocks, const struct block_layer *layer) {
  size_t bytes = (blocks->batch + blocks->batch % 2) * (size_t)layer->out * 16;
  return round_up(bytes, GRAPH_ALIGNMENT);
}

size_t block_weight_parts(const struct blocks *blocks) {
  return blocks->precision == BLOCK_F32 ? 2 : 1;
}

size_t block_packed_words(const struct block_layer *layer) {
  return round_up(layer->weight_words, GRAPH_ALIGNMENT / 4);
}

static int at_least(int a, int b) {
  return a > b ? a : b;
}

static bool size_maps(struct blocks *blocks, struct block_layer *layer, struct error *error) {
  const char *name = block_node(blocks->graph, layer->conv)->name;
  layer->weight_words = (size_t)layer->in * (size_t)layer->out * 9 / (layer->source == SOURCE_IMAGE ? 1 : 2);
  size_t map = block_map_bytes(blocks, layer->out, layer->rows, layer->columns);
  size_t widest = block_map_bytes(blocks, at_least(layer->in, layer->out), layer->rows, layer->columns);
  if (widest / sizeof(uint32_t) > UINT32_MAX)
    return fail(error,
                "maps of %s for %zu images are more than the 2^32 words that kernels count; ask for fewer",
                name, blocks->batch);
  layer->full_bytes = layer->store_full ? map : 0;
  struct block_extent half = block_extent(layer->own_rows / 2, layer->own_columns / 2);
  layer->pooled_bytes =
      layer->store_pooled ? block_map_bytes(blocks, layer->out, half.rows, half.columns) : 0;
  return true;
}

/* Every layer forward, and to train every layer but the first backward. */
static void size_packed(struct blocks *blocks) {
  for (int l = 0; l < blocks->layers; l++)
    blocks->packed_words += block_packed_words(&blocks->layer[l]) * (blocks->train && l ? 2 : 1);
  blocks->packed_bytes = 4 * block_weight_parts(blocks) * blocks->packed_words;
}

struct blocks *block_describe(struct arena *arena, const struct graph *graph, const struct device *device,
                              const struct block_setup *setup) {
  struct blocks *blocks = ARENA_NEW(arena, struct blocks, 1);
  *blocks = (struct blocks){.arena = arena,
                            .graph = (struct graph *)graph,
                            .device = (struct device *)device,
                            .precision = setup->precision,
                            .batch = setup->batch,
                            .train = setup->train,
                            .input_gradient = setup->input_gradient,
                            .passes = setup->passes ? setup->passes : 1};
  return blocks;
}

bool block_size(struct blocks *blocks, struct error *error) {
  if (!block_find(blocks, error)) return false;
  for (int l = 0; l < blocks->layers; l++) {
    struct block_layer *layer = &blocks->layer[l];
    layer->store_full |= blocks->train;
    layer->tile = block_in_waves(blocks, block_choose_tile(layer, blocks->precision, block_on_amd(blocks)));
    if (!size_maps(blocks, layer, error)) return false;
    blocks->sums_bytes += block_sums_bytes(blocks, layer);
  }
  size_packed(blocks);
  return !blocks->train || block_back_size(blocks, error);
}

/* Bytes of what all passes share, and of one pass. */
static size_t shared_bytes(const struct blocks *blocks) {
  size_t bytes = blocks->packed_bytes + block_frame_bytes(blocks);
  if (!blocks->train) return bytes;
  for (int l = 0; l < blocks->layers; l++)
    bytes += blocks->layer[l].gradient_bytes + blocks->layer[l].given_bytes;
  return bytes + blocks->sums_bytes + blocks->part_bytes + blocks->up_bytes + blocks->raw_bytes + blocks->totals_bytes +
         blocks->maps_bytes;
}

static size_t pass_bytes(const struct blocks *blocks) {
  size_t bytes = blocks->sums_bytes;
  for (int l = 0; l < blocks->layers; l++)
    bytes += blocks->layer[l].full_bytes + blocks->layer[l].pooled_bytes;
  return bytes;
}

bool blocks_measure(const struct graph *graph, const struct device *device, const struct block_setup *setup,
                    size_t *bytes, struct error *error) {
  struct arena *arena = arena_open();
  struct blocks *blocks = block_describe(arena, graph, device, setup);
  bool good = block_size(blocks, error);
  if (good) *bytes = shared_bytes(blocks) + blocks->passes * pass_bytes(blocks);
  arena_close(arena);
  return good;
}
