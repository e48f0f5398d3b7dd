/* Backward through the fused blocks: data gradients by the forward kernel with turned weights, weights'
 * gradients by block_weights, and what stands between blocks by block_merge.cl. */
#include "engine/base/round.h"
#include "engine/fused/block_plan.h"

#include <math.h>

/* ---- who takes a layer's map --------------------------------------------------------------------------- */

static bool find_consumers(struct blocks *blocks, struct error *error) {
  for (int l = 0; l < blocks->layers; l++) {
    struct block_layer *layer = &blocks->layer[l];
    layer->plain = layer->pool = layer->join = layer->up = -1;
    for (int c = l + 1; c < blocks->layers; c++) {
      const struct block_layer *consumer = &blocks->layer[c];
      if (consumer->second == l) layer->join = c;
      if (consumer->first != l) continue;
      if (consumer->source == SOURCE_UP)
        layer->up = c;
      else
        *(consumer->first_pooled ? &layer->pool : &layer->plain) = c;
    }
    if (l == blocks->layers - 1 && blocks->end == END_MAPS) layer->pool = LAYERS_MOST;
    int ways = (layer->plain >= 0) + (layer->up >= 0) + (layer->pool >= 0 || layer->join >= 0) +
               (l == blocks->layers - 1 && blocks->end == END_IMAGE);
    if (ways != 1)
      return fail(error, "the map of %s has consumers that the fused path cannot train through",
                  block_node(blocks->graph, layer->conv)->name);
    layer->normed = layer->pool >= 0 && layer->join < 0;
  }
  return true;
}

/* ---- tiles --------------------------------------------------------------------------------------------- */

static int at_most(int a, int b) {
  return a < b ? a : b;
}

/* Maps of halves as they come (kernels/block_weights_half.cl). */
static bool takes_halves(const struct blocks *blocks) {
  return blocks->precision == BLOCK_HALF && !block_on_amd(blocks);
}

static struct block_tile back_tile(const struct blocks *blocks, const struct block_layer *layer) {
  int outs = layer->in / 16, wide = layer->columns >= 32 ? 32 : 16;
  struct block_tile tile = {wide, layer->columns >= 64 ? 16 : 8, 8, at_most(4, outs), 1, 0, 1, 1, 128};
  if (blocks->precision == BLOCK_F32)
    tile = (struct block_tile){wide, 8, 4, at_most(2, outs), 1, 0, 1, 1, wide == 16 ? 168 : 128};
  else if (blocks->precision == BLOCK_MIXED && layer->columns >= 128)
    tile.registers = 168;
  else if (takes_halves(blocks) && layer->columns % 64 == 0)
    tile = (struct block_tile){64, 8, 8, at_most(2, outs), 1, 0, 1, 1, 128};
  while (outs % tile.warps_out) tile.warps_out--;
  if (layer->columns == 8) tile.images = 2;
  return tile;
}

/* A gradient that needs no norm is multiplied as the forward pass multiplies, with the channels exchanged. */
static struct block_tile normed_tile(const struct blocks *blocks, const struct block_layer *layer) {
  struct block_layer turned = *layer;
  turned.source = SOURCE_BLOCK;
  turned.in = layer->out;
  turned.out = layer->in;
  turned.store_pooled = false;
  return block_choose_tile(&turned, blocks->precision, false);
}

bool block_keeps_raw(const struct blocks *blocks, const struct block_layer *layer) {
  return takes_halves(blocks) && !layer->normed;
}

enum { HALF_STAGES_MOST = 6, HALF_LOCAL = 12288 /* words of local memory */, HALF_ROWS = 4 /* of a stage */ };
enum { UNIT_WARPS = 16 /* that share a unit's registers */ };

/* Words from plane to plane, as kernels/block_weights_half.cl has them. */
static int half_plane(int words) {
  return (words + 15) / 32 * 32 + 16;
}

static void half_tile(const struct block_layer *layer, struct block_weights *call) {
  call->in_block = layer->in % 32 ? 16 : 32;
  call->out_block = layer->out % 32 ? 16 : 32;
  int blocks = call->in_block / 16 * call->out_block / 16, strips = blocks == 4 ? 2 : 4;
  bool whole = layer->columns == 8;
  call->tile_x = whole ? 8 : at_most(16 * strips, layer->columns);
  while (layer->columns % call->tile_x) call->tile_x /= 2;
  call->tile_y = whole ? 8 : 16;
  call->warps = blocks * (whole ? 1 : call->tile_x / 16);
  int in_rows = whole ? 10 : HALF_ROWS, out_rows = whole ? 8 : HALF_ROWS;
  int stage = call->in_block / 2 * half_plane(in_rows * call->tile_x) +
              call->out_block / 2 * half_plane(out_rows * (call->tile_x + 8));
  call->stages = at_most(HALF_STAGES_MOST, HALF_LOCAL / stage);
  if (call->stages < 2) call->stages = 2; /* more local memory than OpenCL tells of; so have forward layers */
}

static void weights_tile(const struct blocks *blocks, const struct block_layer *layer,
                         struct block_weights *call) {
  if (takes_halves(blocks)) {
    half_tile(layer, call);
    return;
  }
  bool half = blocks->precision == BLOCK_HALF, in32 = layer->in % 32 == 0, out32 = layer->out % 32 == 0;
  call->warps = 8;
  call->in_block = in32 && (out32 || half) ? 32 : 16;
  call->out_block =
      out32 && (in32 || half) && !block_on_amd(blocks) ? 32 : 16; /* AMD: registers do not suffice */
  call->tile_x = layer->columns >= 32 ? 32 : layer->columns;
  bool large = call->in_block * call->out_block >= 512;
  call->tile_y = call->tile_x <= 16 && large ? 8 : large || !half ? 4 : 8;
}

static const char *weights_macros(const struct blocks *blocks, const struct block_layer *layer,
                                  const struct block_weights *call) {
  int pixels = layer->own_rows * layer->own_columns, sum_pixels = layer->first_pooled ? 4 * pixels : pixels;
  if (takes_halves(blocks))
    return arena_text(blocks->arena,
                      "-DIN=%d -DOUT=%d -DROWS=%d -DCOLUMNS=%d -DTILE_X=%d -DTILE_Y=%d -DIN_BLOCK=%d -DOUT_BLOCK=%d "
                      "-DSTEP_ROWS=%d -DSTAGES=%d -DFLYING=%d -DUP=%d -DSUM_PIXELS=%d%s",
                      layer->in, layer->out, layer->rows, layer->columns, call->tile_x, call->tile_y, call->in_block,
                      call->out_block, HALF_ROWS, call->stages, call->stages - 2, layer->up_channels, sum_pixels,
                      block_cap(blocks, 128));
  int pitch = call->tile_x + 2, in_plane = call->tile_x * call->tile_y, out_plane = (call->tile_y + 2) * pitch;
  while (in_plane % 32 != 8) in_plane++;
  while (out_plane % 32 != 8) out_plane++;
  return arena_text(
      blocks->arena,
      "-DIN=%d -DOUT=%d -DROWS=%d -DCOLUMNS=%d -DTILE_X=%d -DTILE_Y=%d -DIN_BLOCK=%d -DOUT_BLOCK=%d "
      "-DUP=%d -DSUM_PIXELS=%d -DIN_PLANE=%d -DOUT_PLANE=%d -DPITCH=%d -DNORMED=%d -DPRECISION=%d%s%s",
      layer->in, layer->out, layer->rows, layer->columns, call->tile_x, call->tile_y, call->in_block,
      call->out_block, layer->up_channels, sum_pixels, in_plane, out_plane,
      pitch, layer->normed, (int)blocks->precision, block_own_macros(blocks, layer),
      block_cap(blocks, blocks->precision == BLOCK_F32 ? 168 : 128));
}

static size_t weights_tiles(const struct block_layer *layer, const struct block_weights *call,
                            size_t images) {
  return images * (size_t)((layer->columns / call->tile_x) * (layer->rows / call->tile_y));
}

/* ---- sizes --------------------------------------------------------------------------------------------- */

static void take_at_least(size_t *bytes, size_t wanted) {
  if (*bytes < wanted) *bytes = wanted;
}

static void size_weights_launch(struct blocks *blocks, struct block_layer *layer) {
  struct block_weights *call = &layer->weights_run;
  weights_tile(blocks, layer, call);
  size_t groups = (size_t)((layer->in / call->in_block) * (layer->out / call->out_block));
  size_t filled = UNIT_WARPS / (size_t)call->warps * blocks->device->facts.units / groups;
  call->parts = filled ? filled : 1;
  size_t most = graph_parts_most(blocks->graph, call->parts, weights_tiles(layer, call, blocks->batch), blocks->batch);
  take_at_least(&blocks->part_bytes, most * (size_t)(layer->in * layer->out * 9) * 4);
}

/* Whether its data gradient is the gradient of its source's activation itself. */
static bool is_direct(const struct block_layer *layer) {
  return layer->source == SOURCE_BLOCK && !layer->first_pooled;
}

static void size_layer(struct blocks *blocks, struct block_layer *layer) {
  layer->gradient_bytes = block_map_bytes(blocks, layer->out, layer->rows, layer->columns);
  if (layer->source == SOURCE_IMAGE) {
    take_at_least(&blocks->part_bytes, blocks->batch * (size_t)(layer->in * layer->out * 9) * 4);
    return;
  }
  size_weights_launch(blocks, layer);
  if (layer->source == SOURCE_UP)
    take_at_least(&blocks->up_bytes,
                  block_map_bytes(blocks, layer->up_channels, layer->rows, layer->columns));
  if (block_keeps_raw(blocks, layer)) take_at_least(&blocks->raw_bytes, layer->gradient_bytes);
  if (!is_direct(layer)) layer->given_bytes = block_map_bytes(blocks, layer->in, layer->rows, layer->columns);
}

bool block_back_size(struct blocks *blocks, struct error *error) {
  const struct block_layer *last = &blocks->layer[blocks->layers - 1];
  if (!find_consumers(blocks, error)) return false;
  for (int l = 0; l < blocks->layers; l++) size_layer(blocks, &blocks->layer[l]);
  if (blocks->end == END_MAPS)
    blocks->maps_bytes = last->pooled_bytes;
  else
    blocks->totals_bytes = 4 * blocks->batch * ((size_t)last->out + 1);
  return true;
}

/* ---- opening ------------------------------------------------------------------------------------------- */

static bool open_weights_launch(struct blocks *blocks, struct block_layer *layer, struct error *error) {
  struct block_weights *call = &layer->weights_run;
  return kernel_variant_open(blocks->kernels, &call->run,
                             takes_halves(blocks) ? "block_weights_half" : "block_weights",
                             weights_macros(blocks, layer, call), 32 * (size_t)call->warps, error);
}

/* A group takes a plane of a map: small ones are not worth many work-items. */
static size_t merge_group(int rows, int columns) {
  return rows * columns <= 1024 ? 64 : 256;
}

static const char *merge_macros(const struct blocks *blocks, const struct block_layer *layer, int channels,
                                int joined, int first, bool has_pooled) {
  struct block_extent fine = block_extent(2 * layer->own_rows, 2 * layer->own_columns);
  return arena_text(blocks->arena,
                    "-DCHANNELS=%d -DROWS=%d -DCOLUMNS=%d -DJOINED=%d -DFIRST=%d -DHAS_POOLED=%d "
                    "-DFINE_ROWS=%d -DFINE_COLUMNS=%d -DPRECISION=%d -DGROUP=%zu%s",
                    channels, layer->rows, layer->columns, joined, first, has_pooled, fine.rows, fine.columns,
                    (int)blocks->precision, merge_group(layer->rows, layer->columns),
                    block_own_macros(blocks, layer));
}

/* The kernel that forms the gradient of the layer's activation, where its consumer's does not. */
static bool open_collect(struct blocks *blocks, struct block_layer *layer, struct error *error) {
  const struct block_layer *up = layer->up >= 0 ? &blocks->layer[layer->up] : NULL;
  const struct block_layer *join = layer->join >= 0 ? &blocks->layer[layer->join] : NULL;
  if (layer->plain >= 0) return true;
  int joined = up ? up->in : join ? join->in : layer->out, first = join ? join->up_channels : 0;
  const char *name = up              ? "block_down"
                     : layer->normed ? "block_unpool"
                     : join          ? "block_join"
                                     : "block_head_back";
  const char *macros = merge_macros(blocks, layer, layer->out, joined, first, layer->pool >= 0);
  return kernel_variant_open(blocks->kernels, &layer->collect, name, macros,
                             merge_group(layer->rows, layer->columns), error);
}

static bool open_weights(struct blocks *blocks, struct block_layer *layer, struct error *error) {
  if (layer->source == SOURCE_IMAGE) {
    const char *sizes = merge_macros(blocks, layer, layer->out, layer->out, 0, false);
    const char *macros = arena_text(blocks->arena, "%s -DNORMED=%d -DOWN=%d -DINPUTS=%d", sizes,
                                    layer->normed, layer->own_out, layer->in);
    if (blocks->input_gradient && !kernel_variant_open(blocks->kernels, &blocks->image_gradient,
                                                       "block_image_gradient", macros, 64, error))
      return false;
    return kernel_variant_open(blocks->kernels, &layer->image_run, "block_weights_image", macros,
                               merge_group(layer->rows, layer->columns), error);
  }
  if (layer->source == SOURCE_BLOCK) return open_weights_launch(blocks, layer, error);
  const char *macros = merge_macros(blocks, layer, layer->up_channels, layer->in, 0, false);
  return kernel_variant_open(blocks->kernels, &layer->up_run, "block_up", macros,
                             merge_group(layer->rows, layer->columns), error) &&
         open_weights_launch(blocks, layer, error);
}

/* The data gradient: into the source's own gradient when this layer is its only consumer, else into `given`.
 */
static bool open_gradient(struct blocks *blocks, struct block_layer *layer, struct error *error) {
  if (layer->source == SOURCE_IMAGE) return true;
  const char *name = block_node(blocks->graph, layer->conv)->name;
  bool direct = is_direct(layer);
  bool copies = layer->normed && blocks->precision == BLOCK_HALF && !block_on_amd(blocks);
  layer->back_tile = copies ? normed_tile(blocks, layer) : block_in_waves(blocks, back_tile(blocks, layer));
  const char *macros = block_macros(blocks, layer, &layer->back_tile, SOURCE_GRADIENT, direct);
  if (!direct && !(layer->given = device_buffer(blocks->device, layer->given_bytes, name, error)))
    return false;
  return kernel_variant_open(blocks->kernels, &layer->gradient_run, "block_gradient", macros,
                             block_group(&layer->back_tile), error);
}

static bool open_layer(struct blocks *blocks, struct block_layer *layer, struct error *error) {
  layer->gradient = device_buffer(blocks->device, layer->gradient_bytes,
                                  block_node(blocks->graph, layer->conv)->name, error);
  return layer->gradient && open_collect(blocks, layer, error) && open_weights(blocks, layer, error) &&
         open_gradient(blocks, layer, error);
}

bool block_maps_open(struct blocks *blocks, struct kernel_variant *run, const char *name,
                     struct error *error) {
  const struct block_layer *last = &blocks->layer[blocks->layers - 1];
  const char *macros = merge_macros(blocks, last, last->out, last->out, 0, false);
  return kernel_variant_open(blocks->kernels, run, name, macros, merge_group(last->rows, last->columns),
                             error);
}

/* The way back into the last block. */
static bool open_end(struct blocks *blocks, struct error *error) {
  if (blocks->end == END_MAPS) {
    blocks->maps_gradient = device_buffer(blocks->device, blocks->maps_bytes, "the maps' gradient", error);
    return blocks->maps_gradient && block_maps_open(blocks, &blocks->fold_back, "block_maps_back", error);
  }
  blocks->totals =
      device_buffer(blocks->device, blocks->totals_bytes, "totals of the 1x1 convolutions", error);
  return blocks->totals && block_maps_open(blocks, &blocks->fold_back, "block_fold_back", error);
}

static bool open_backs(struct blocks *blocks, struct error *error) {
  cl_mem piece[LAYERS_MOST] = {NULL};
  blocks->backs = device_buffer(blocks->device, blocks->sums_bytes, "the sums of backward norms", error);
  bool good = blocks->backs && block_pieces(blocks, blocks->backs, piece, error);
  for (int l = 0; l < blocks->layers; l++) blocks->layer[l].back = piece[l];
  return good;
}

static bool open_shared(struct blocks *blocks, struct error *error) {
  const struct block_layer *last = &blocks->layer[blocks->layers - 1];
  const char *macros = merge_macros(blocks, last, last->out, last->out, 0, false);
  return open_backs(blocks, error) &&
         (blocks->part =
              device_buffer(blocks->device, blocks->part_bytes, "partial gradients of weights", error)) &&
         (blocks->up = device_buffer(blocks->device, blocks->up_bytes, "an up-sampled activation", error)) &&
         (blocks->raw = device_buffer(blocks->device, blocks->raw_bytes, "the gradient of a raw output", error)) &&
         open_end(blocks, error) &&
         kernel_variant_open(blocks->kernels, &blocks->reduce, "block_reduce", macros, 64, error);
}

bool block_back_open(struct blocks *blocks, struct error *error) {
  bool good = true;
  for (int l = 0; good && l < blocks->layers; l++) good = open_layer(blocks, &blocks->layer[l], error);
  return good && open_shared(blocks, error);
}

static void close_layer(struct blocks *blocks, struct block_layer *layer) {
  struct kernel_variant *variants[] = {&layer->gradient_run, &layer->collect, &layer->up_run,
                                       &layer->image_run, &layer->weights_run.run};
  for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) kernel_variant_close(variants[i]);
  if (layer->back) clReleaseMemObject(layer->back);
  device_release(blocks->device, layer->gradient, layer->gradient_bytes);
  device_release(blocks->device, layer->given, layer->given_bytes);
}

void block_back_close(struct blocks *blocks) {
  for (int l = 0; l < blocks->layers; l++) close_layer(blocks, &blocks->layer[l]);
  kernel_variant_close(&blocks->fold_back);
  kernel_variant_close(&blocks->reduce);
  kernel_variant_close(&blocks->image_gradient);
  device_release(blocks->device, blocks->backs, blocks->sums_bytes);
  device_release(blocks->device, blocks->part, blocks->part_bytes);
  device_release(blocks->device, blocks->up, blocks->up_bytes);
  device_release(blocks->device, blocks->raw, blocks->raw_bytes);
  device_release(blocks->device, blocks->totals, blocks->totals_bytes);
  device_release(blocks->device, blocks->maps_gradient, blocks->maps_bytes);
}

/* ---- running ------------------------------------------------------------------------------------------- */

static struct arg words(enum arg_kind kind, cl_mem buffer) {
  return arg_buffer(kind, ELEMENT_U32, buffer);
}

static struct arg sums(enum arg_kind kind, cl_mem buffer) {
  return arg_buffer(kind, ELEMENT_I64, buffer);
}

static struct arg floats(enum arg_kind kind, cl_mem buffer) {
  return arg_buffer(kind, ELEMENT_F32, buffer);
}

size_t block_planes(const struct blocks *blocks, int channels, size_t images) {
  return images * (size_t)channels / (blocks->precision == BLOCK_HALF ? 2 : 1);
}

static void collect_gradient(struct blocks *blocks, const struct block_layer *layer, cl_mem output_gradient,
                             float scale, size_t images) {
  size_t rows = block_planes(blocks, layer->out, images);
  if (layer->plain >= 0) return;
  if (layer->up >= 0) {
    kernel_variant_run(blocks->kernels, &layer->collect, rows,
                       ARGS(words(ARG_IN, blocks->layer[layer->up].given), words(ARG_IN, layer->full),
                            sums(ARG_IN, layer->sums), words(ARG_OUT, layer->gradient),
                            sums(ARG_INOUT, layer->back)));
  } else if (layer->normed) {
    cl_mem pooled = layer->pool == LAYERS_MOST ? blocks->maps_gradient : blocks->layer[layer->pool].given;
    kernel_variant_run(blocks->kernels, &layer->collect, rows,
                       ARGS(words(ARG_IN, pooled), words(ARG_IN, layer->pooled), words(ARG_IN, layer->full),
                            sums(ARG_IN, layer->sums), words(ARG_OUT, layer->gradient),
                            sums(ARG_INOUT, layer->back)));
  } else if (layer->join >= 0) {
    cl_mem pooled = layer->pool >= 0 ? blocks->layer[layer->pool].given : blocks->nothing;
    kernel_variant_run(blocks->kernels, &layer->collect, rows,
                       ARGS(words(ARG_IN, blocks->layer[layer->join].given), words(ARG_IN, pooled),
                            words(ARG_IN, layer->full), sums(ARG_IN, layer->sums),
                            words(ARG_OUT, layer->gradient), sums(ARG_INOUT, layer->back)));
  } else {
    kernel_variant_run(blocks->kernels, &layer->collect, rows,
                       ARGS(floats(ARG_IN, output_gradient), floats(ARG_IN, blocks->folded),
                            words(ARG_IN, layer->full), sums(ARG_IN, layer->sums),
                            words(ARG_OUT, layer->gradient), sums(ARG_INOUT, layer->back),
                            floats(ARG_OUT, blocks->totals), arg_f32(scale)));
  }
}

/* What all layers share: of it a launch takes so many numbers, or the layer's map. */
static struct arg part_of(const struct blocks *blocks, enum arg_kind kind, size_t count) {
  return arg_some(floats(kind, blocks->part), sizeof(float) * count);
}

static struct arg up_of(const struct blocks *blocks, const struct block_layer *layer, enum arg_kind kind) {
  return arg_some(words(kind, blocks->up), block_map_bytes(blocks, layer->up_channels, layer->rows, layer->columns));
}

static struct arg raw_of(const struct blocks *blocks, const struct block_layer *layer, enum arg_kind kind) {
  return arg_some(words(kind, blocks->raw), layer->gradient_bytes);
}

static size_t weights_of(const struct block_layer *layer) {
  return (size_t)(layer->in * layer->out * 9);
}

/* Of so many parts, `each` of a shard. */
static void reduce_weights(struct blocks *blocks, const struct block_layer *layer, const struct graph_cut *cut, size_t parts,
                           size_t each, float factor) {
  const struct graph *graph = blocks->graph;
  const struct parameter *weight = &graph->parameter[block_node(graph, layer->conv)->weight];
  size_t count = weights_of(layer);
  kernel_variant_run(blocks->kernels, &blocks->reduce, cut->shards * count,
                     ARGS(part_of(blocks, ARG_IN, cut->shards * count * each), graph_shards(cut, count), arg_u32((uint32_t)parts),
                          arg_u32((uint32_t)each), arg_f32(factor), arg_u32((uint32_t)count), arg_u32((uint32_t)layer->in),
                          arg_u32((uint32_t)layer->own_in), arg_u32((uint32_t)layer->own_out), SHARD_ARGS(*cut, weight)));
}

/* Runs the gradient of the first layer's weights, from the input itself. A group takes one channel where
 * there are more than two. */
static void run_image_weights(struct blocks *blocks, const struct block_layer *layer, cl_mem input,
                              const struct graph_cut *cut, float factor, size_t images) {
  size_t shares = layer->in > 2 ? (size_t)layer->in : 1;
  kernel_variant_run(blocks->kernels, &layer->image_run, block_planes(blocks, layer->out, images) * shares,
                     ARGS(floats(ARG_IN, input), words(ARG_IN, layer->gradient), words(ARG_IN, layer->full),
                          sums(ARG_IN, layer->sums), sums(ARG_IN, layer->back),
                          part_of(blocks, ARG_OUT, images * weights_of(layer))));
  reduce_weights(blocks, layer, cut, images, cut->each, factor);
}

static void run_weights(struct blocks *blocks, const struct block_layer *layer, const struct graph_cut *cut, float factor,
                        size_t images) {
  const struct block_layer *first = &blocks->layer[layer->first];
  const struct block_layer *second = layer->second >= 0 ? &blocks->layer[layer->second] : NULL;
  const struct block_weights *call = &layer->weights_run;
  cl_mem activation = layer->first_pooled ? first->pooled : first->full;
  size_t each = weights_tiles(layer, call, cut->each), parts = graph_parts(blocks->graph, call->parts, cut->each, each);
  size_t groups = cut->shards * parts * (size_t)((layer->in / call->in_block) * (layer->out / call->out_block));
  if (second)
    kernel_variant_run(
        blocks->kernels, &layer->up_run, block_planes(blocks, layer->up_channels, images),
        ARGS(words(ARG_IN, first->full), sums(ARG_IN, first->sums), up_of(blocks, layer, ARG_OUT)));
  const struct arg maps[] = {second ? up_of(blocks, layer, ARG_IN) : words(ARG_IN, activation),
                             words(ARG_IN, second ? second->full : blocks->nothing),
                             sums(ARG_IN, second ? second->sums : first->sums), words(ARG_IN, layer->gradient)};
  const struct arg shares[] = {part_of(blocks, ARG_OUT, cut->shards * parts * weights_of(layer)),
                               arg_u32((uint32_t)weights_tiles(layer, call, images)), arg_u32((uint32_t)each),
                               arg_u32((uint32_t)parts)};
  if (takes_halves(blocks))
    kernel_variant_run(blocks->kernels, &call->run, groups,
                       ARGS(maps[0], maps[1], maps[2], layer->normed ? maps[3] : raw_of(blocks, layer, ARG_IN), shares[0],
                            shares[1], shares[2], shares[3]));
  else
    kernel_variant_run(blocks->kernels, &call->run, groups,
                       ARGS(maps[0], maps[1], maps[2], maps[3], words(ARG_IN, layer->full), sums(ARG_IN, layer->sums),
                            sums(ARG_IN, layer->back), shares[0], shares[1], shares[2], shares[3]));
  reduce_weights(blocks, layer, cut, cut->shards * parts, parts, factor);
}

static void run_gradient(struct blocks *blocks, const struct block_layer *layer, size_t images) {
  if (layer->source == SOURCE_IMAGE) return;
  const struct block_layer *first = &blocks->layer[layer->first];
  bool direct = !layer->given;
  kernel_variant_run(blocks->kernels, &layer->gradient_run,
                     block_groups(&layer->back_tile, layer->in, layer->rows, layer->columns, images),
                     ARGS(words(ARG_IN, layer->gradient), words(ARG_IN, layer->full),
                          sums(ARG_IN, layer->sums), sums(ARG_IN, layer->back),
                          arg_buffer(ARG_IN, ELEMENT_U128, layer->back_weights),
                          words(ARG_OUT, direct ? first->gradient : layer->given),
                          words(ARG_IN, direct ? first->full : blocks->nothing),
                          sums(ARG_IN, direct ? first->sums : blocks->nothing),
                          sums(ARG_INOUT, direct ? first->back : blocks->nothing),
                          block_keeps_raw(blocks, layer) ? raw_of(blocks, layer, ARG_OUT) : words(ARG_OUT, blocks->nothing)));
}

static struct arg place_of(const struct blocks *blocks, const struct graph_cut *cut, int node, bool bias) {
  const struct node *conv = block_node(blocks->graph, node);
  return arg_u32((uint32_t)graph_at(cut, &blocks->graph->parameter[bias ? conv->bias : conv->weight]));
}

static void fold_back(struct blocks *blocks, const struct graph_cut *cut, float factor, size_t images) {
  const int *tail = blocks->tail;
  kernel_variant_run(
      blocks->kernels, &blocks->fold_back, cut->shards,
      ARGS(floats(ARG_IN, blocks->totals), block_parameter(blocks, tail[0], false),
           block_parameter(blocks, tail[0], true), block_parameter(blocks, tail[1], false),
           block_parameter(blocks, tail[1], true), block_parameter(blocks, tail[2], false),
           floats(ARG_INOUT, cut->gradients), place_of(blocks, cut, tail[0], false), place_of(blocks, cut, tail[0], true),
           place_of(blocks, cut, tail[1], false), place_of(blocks, cut, tail[1], true),
           place_of(blocks, cut, tail[2], false), place_of(blocks, cut, tail[2], true), arg_u32((uint32_t)cut->stride),
           arg_u32((uint32_t)images), arg_u32((uint32_t)cut->each), arg_u32((uint32_t)block_node(blocks->graph, tail[0])->shape.channels),
           arg_f32(factor)));
}

static void take_maps_gradient(struct blocks *blocks, cl_mem output_gradient, float scale, size_t images) {
  const struct block_layer *last = &blocks->layer[blocks->layers - 1];
  kernel_variant_run(
      blocks->kernels, &blocks->fold_back, block_planes(blocks, last->out, images),
      ARGS(floats(ARG_IN, output_gradient), words(ARG_OUT, blocks->maps_gradient), arg_f32(scale)));
}

void blocks_backward(struct blocks *blocks, cl_mem input, cl_mem output_gradient, size_t images,
                     double wanted_scale) {
  REQUIRE(blocks->train, "these blocks were opened for inference (%s)",
          block_precision_name(blocks->precision));
  const struct graph_cut cut = graph_cut(blocks->graph, images);
  float scale = ldexpf(1, ilogb(wanted_scale)), factor = blocks->factor = 1 / scale;
  device_fill(blocks->device, blocks->backs, 0, blocks->sums_bytes, 0);
  input = block_frame_in(blocks, input, blocks->frame.input, blocks->layer[0].own_in, images);
  output_gradient = block_frame_in(blocks, output_gradient, blocks->frame.gradient, 1, images);
  if (blocks->end == END_MAPS) take_maps_gradient(blocks, output_gradient, scale, images);
  for (int l = blocks->layers - 1; l >= 0; l--) {
    const struct block_layer *layer = &blocks->layer[l];
    block_tell(blocks, layer, images);
    collect_gradient(blocks, layer, output_gradient, scale, images);
    run_gradient(blocks, layer, images);
    if (layer->source == SOURCE_IMAGE)
      run_image_weights(blocks, layer, input, &cut, factor, images);
    else
      run_weights(blocks, layer, &cut, factor, images);
  }
  block_tell(blocks, NULL, 0);
  if (blocks->end == END_IMAGE) fold_back(blocks, &cut, factor, images);
}

void blocks_input_gradient(struct blocks *blocks, cl_mem input_gradient, size_t images) {
  const struct block_layer *layer = &blocks->layer[0];
  REQUIRE(blocks->input_gradient && layer->source == SOURCE_IMAGE,
          "these blocks give no gradient of their input");
  cl_mem framed = blocks->frame.input_gradient;
  kernel_variant_run(
      blocks->kernels, &blocks->image_gradient,
      images * (size_t)layer->own_rows * divide_up((size_t)layer->own_columns, 4),
      ARGS(words(ARG_IN, layer->gradient), words(ARG_IN, layer->full), sums(ARG_IN, layer->sums),
           sums(ARG_IN, layer->back), block_parameter(blocks, layer->conv, false),
           floats(ARG_OUT, block_frame_to(blocks, input_gradient, framed)), arg_f32(blocks->factor)));
  block_frame_out(blocks, input_gradient, framed, layer->own_in, images);
}
