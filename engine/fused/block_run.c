#include "engine/base/round.h"
#include "engine/fused/block_plan.h"

const char *block_precision_name(enum block_precision precision) {
  static const char *const names[] = {"f32", "mixed", "half"};
  return names[precision];
}

/* ---- tiles --------------------------------------------------------------------------------------------- */

static int at_most(int a, int b) {
  return a < b ? a : b;
}

/* Split operands: registers for both parts, so strips of four rows. */
static struct block_tile tile_f32(const struct block_layer *layer) {
  bool first_block = layer->columns >= 128 && layer->source == SOURCE_BLOCK && layer->out == 16;
  struct block_tile tile = {32, first_block ? 16 : 8, 4, at_most(2, layer->out / 16), 1, 0, 1, 1, 128};
  if (first_block) tile.warps_out = 1;
  if (layer->columns <= 16) {
    tile.x = 16;
    tile.registers = 168;
  }
  return tile;
}

static struct block_tile tile_mixed(const struct block_layer *layer) {
  int four = at_most(4, layer->out / 16);
  struct block_tile tile = {32, 8, 8, four, 1, 0, 1, 1, 128};
  if (layer->columns >= 128) tile.y = 16, tile.warps_out = at_most(2, four);
  if (layer->columns == 64 && layer->out == 16) tile.y = 16;
  if (layer->columns <= 16) tile.x = 16;
  return tile;
}

/* Half storage, joined maps. */
static struct block_tile tile_half_up(const struct block_layer *layer) {
  int four = at_most(4, layer->out / 16), two = at_most(2, four);
  if (layer->columns <= 16)
    return (struct block_tile){16, layer->rows == 16 ? 16 : 8, 8, four, 1, 0, 1, 1, 128};
  if (layer->columns == 32) return (struct block_tile){32, 16, 8, two, 1, 1, 2, 1, 128};
  bool fits = layer->columns % 64 == 0;
  if (layer->columns >= 128 && fits) return (struct block_tile){64, 16, 8, 1, 1, 1, 2, 2, 128};
  return (struct block_tile){fits ? 64 : 32, 16, 8, 1, 1, 1, 2, 1, fits ? 128 : 168};
}

/* Half storage: asynchronous copies where a layer is bound by memory. Measured on an NVIDIA H200. */
static struct block_tile tile_half(const struct block_layer *layer) {
  int four = at_most(4, layer->out / 16), two = at_most(2, four);
  if (layer->source == SOURCE_UP) return tile_half_up(layer);
  if (layer->columns <= 16) return (struct block_tile){16, 8, 8, four, 1, 0, 1, 1, 128};
  if (layer->columns >= 128) {
    if (layer->out == 16) return (struct block_tile){64, 8, 8, 1, 1, 1, 2, 4, 168};
    return (struct block_tile){32, 8, 8, two, 1, 1, 2, layer->in == 16 ? 4 : 1, 168};
  }
  if (layer->columns == 64) {
    if (layer->out == 16) return (struct block_tile){64, 8, 8, 1, 1, 1, 2, 2, 128};
    if (layer->out == 32 && layer->in == 16) return (struct block_tile){32, 8, 8, 2, 1, 1, 2, 4, 168};
    if (layer->out == 32) return (struct block_tile){64, 8, 8, 2, 1, 1, 2, 2, 128};
    return (struct block_tile){32, 8, 8, four, 1, 0, 1, 1, 128};
  }
  if (layer->out == 32) return (struct block_tile){32, 16, 8, 2, 1, 1, 2, 1, 128};
  return (struct block_tile){32, 8, 8, four, 1, layer->in == 32, layer->in == 32 ? 2 : 1, 1, 128};
}

/* Asynchronous copies are NVIDIA's (kernels/common.h); with half storage AMD takes the tiles of BLOCK_MIXED.
 */
struct block_tile block_choose_tile(const struct block_layer *layer, enum block_precision precision,
                                    bool amd) {
  static struct block_tile (*const by_precision[])(const struct block_layer *) = {tile_f32, tile_mixed,
                                                                                  tile_half};
  if (layer->source == SOURCE_IMAGE)
    return (struct block_tile){layer->columns >= 32 ? 32 : 16,
                               layer->rows >= 16 ? 16 : 8,
                               8,
                               at_most(4, layer->out / 16),
                               1,
                               0,
                               1,
                               1,
                               0};
  struct block_tile tile = by_precision[amd && precision == BLOCK_HALF ? BLOCK_MIXED : precision](layer);
  if (layer->columns == 8) tile.images = 2;
  if (layer->columns > 16 && layer->columns % tile.x) tile.x = 32; /* 96 columns, or 160 */
  while (layer->rows % (tile.y * tile.tiles)) tile.tiles /= 2;
  return tile;
}

/* Words from row to row and plane to plane: fragment reads then meet no bank twice. */
static void choose_pitch(const struct block_tile *tile, int *pitch, int *plane) {
  *pitch = tile->staged ? tile->x + 8 : tile->x == 16 ? 22 : tile->x + 2;
  *plane = (tile->y + 2) * *pitch;
  while (*plane % 4 || (*plane % 32 != 8 && *plane % 32 != 24)) ++*plane;
}

/* ---- opening ------------------------------------------------------------------------------------------- */

bool block_on_amd(const struct blocks *blocks) {
  enum device_matrix matrix = blocks->device->facts.matrix;
  return device_on_cdna(blocks->device) || matrix == MATRIX_AMD || matrix == MATRIX_AMD_EMULATED;
}

struct block_tile block_in_waves(const struct blocks *blocks, struct block_tile tile) {
  if (device_on_cdna(blocks->device) && block_group(&tile) % 64) tile.strip /= 2;
  return tile;
}

const char *block_cap(const struct blocks *blocks, int registers) {
  bool capped = registers && blocks->device->facts.matrix == MATRIX_NVIDIA;
  return capped ? arena_text(blocks->arena, " -cl-nv-maxrregcount=%d", registers) : "";
}

const char *block_macros(const struct blocks *blocks, const struct block_layer *layer,
                         const struct block_tile *tile, enum block_source source, bool target_sums) {
  int pitch, plane, pixels = layer->own_rows * layer->own_columns;
  bool back = source == SOURCE_GRADIENT;
  choose_pitch(tile, &pitch, &plane);
  return arena_text(
      blocks->arena,
      "-DCIN=%d -DCOUT=%d -DROWS=%d -DCOLUMNS=%d -DTILE_X=%d -DTILE_Y=%d -DSTRIP=%d -DWARPS_OUT=%d "
      "-DIMAGES=%d -DSOURCE=%d -DUP_CHANNELS=%d -DSUM_PIXELS=%d -DUP_PIXELS=%d -DSTORE_FULL=%d "
      "-DSTORE_POOLED=%d -DTARGET_SUMS=%d -DNORMED=%d -DKEEP_RAW=%d -DPRECISION=%d -DPITCH=%d -DPLANE=%d -DSTAGED=%d "
      "-DSTAGES=%d -DTILES=%d%s%s",
      back ? layer->out : layer->in, back ? layer->in : layer->out, layer->rows, layer->columns, tile->x,
      tile->y, tile->strip, tile->warps_out, tile->images, (int)source, layer->up_channels,
      layer->first_pooled ? 4 * pixels : pixels, pixels / 4, layer->store_full, layer->store_pooled,
      target_sums, layer->normed, back && block_keeps_raw(blocks, layer), (int)blocks->precision, pitch, plane, tile->staged, tile->stages,
      tile->tiles, block_own_macros(blocks, layer), block_cap(blocks, tile->registers));
}

size_t block_group(const struct block_tile *tile) {
  return (size_t)(tile->x / 16 * (tile->y / tile->strip) * tile->warps_out * 32);
}

size_t block_groups(const struct block_tile *tile, int outs, int rows, int columns, size_t images) {
  size_t out_groups = (size_t)(outs / (16 * tile->warps_out));
  if (tile->images == 2) return (images + 1) / 2 * out_groups;
  return images * out_groups * (size_t)((columns / tile->x) * (rows / tile->y) / tile->tiles);
}

static bool open_layer(struct blocks *blocks, struct block_layer *layer, struct error *error) {
  const char *macros = block_macros(blocks, layer, &layer->tile, layer->source, false);
  return kernel_variant_open(blocks->kernels, &layer->forward, "block_forward", macros,
                             block_group(&layer->tile), error);
}

bool block_pieces(struct blocks *blocks, cl_mem whole, cl_mem *piece, struct error *error) {
  size_t offset = 0;
  for (int l = 0; l < blocks->layers; l++) {
    cl_buffer_region region = {offset, block_sums_bytes(blocks, &blocks->layer[l])};
    cl_int code;
    piece[l] = clCreateSubBuffer(whole, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
    if (code != CL_SUCCESS)
      return fail_as(error, ERROR_DEVICE, "no piece of the sums: %s (%d)", device_code_name(code), code);
    offset += region.size;
  }
  return true;
}

/* Memory may hold more rows and columns of a pooled map than the kernels write: BEYOND of block_own_macros.
 */
static void fill_beyond(const struct blocks *blocks, cl_mem pooled, size_t bytes) {
  if (blocks->precision == BLOCK_HALF)
    device_fill(blocks->device, pooled, 0, bytes, UINT32_C(0xFBFFFBFF));
  else
    device_fill_floats(blocks->device, pooled, bytes / sizeof(float), -1e30F);
}

static bool open_pass(struct blocks *blocks, struct block_pass *pass, struct error *error) {
  for (int l = 0; l < blocks->layers; l++) {
    const struct block_layer *layer = &blocks->layer[l];
    const char *name = block_node(blocks->graph, layer->conv)->name;
    if (!(pass->full[l] = device_buffer(blocks->device, layer->full_bytes, name, error)) ||
        !(pass->pooled[l] = device_buffer(blocks->device, layer->pooled_bytes, name, error)))
      return false;
    if (layer->store_pooled) fill_beyond(blocks, pass->pooled[l], layer->pooled_bytes);
  }
  pass->sums = device_buffer(blocks->device, blocks->sums_bytes, "the sums of instance norms", error);
  return pass->sums && block_pieces(blocks, pass->sums, pass->piece, error);
}

static bool open_passes(struct blocks *blocks, struct error *error) {
  blocks->pass = ARENA_NEW(blocks->arena, struct block_pass, blocks->passes);
  for (size_t p = 0; p < blocks->passes; p++)
    if (!open_pass(blocks, &blocks->pass[p], error)) return false;
  blocks_select(blocks, 0);
  return true;
}

static void close_pass(struct blocks *blocks, struct block_pass *pass) {
  for (int l = 0; l < blocks->layers; l++) {
    if (pass->piece[l]) clReleaseMemObject(pass->piece[l]);
    device_release(blocks->device, pass->full[l], blocks->layer[l].full_bytes);
    device_release(blocks->device, pass->pooled[l], blocks->layer[l].pooled_bytes);
  }
  device_release(blocks->device, pass->sums, blocks->sums_bytes);
}

cl_mem blocks_tail(const struct blocks *blocks, size_t *channels) {
  REQUIRE(blocks->end == END_IMAGE, "these blocks end in maps");
  *channels = (size_t)blocks->layer[blocks->layers - 1].out;
  return blocks->folded;
}

void blocks_select(struct blocks *blocks, size_t number) {
  REQUIRE(number < blocks->passes, "pass %zu; the blocks were opened for %zu", number, blocks->passes);
  const struct block_pass *pass = &blocks->pass[number];
  blocks->sums = pass->sums;
  for (int l = 0; l < blocks->layers; l++) {
    struct block_layer *layer = &blocks->layer[l];
    layer->full = pass->full[l];
    layer->pooled = pass->pooled[l];
    layer->sums = pass->piece[l];
  }
}

/* ---- packed weights: one buffer, one launch ------------------------------------------------------------ */

enum { PACK_FIELDS = 8, PACK_IMAGE = 0, PACK_FORWARD = 1, PACK_BACKWARD = 2 }; /* kernels/block_pack.cl */

/* Notes one packed layer in the table and moves on by its words. */
static void note_packed(const struct blocks *blocks, const struct block_layer *layer, bool back,
                        uint32_t *table, int row, size_t *word) {
  const struct parameter *weight = &blocks->graph->parameter[block_node(blocks->graph, layer->conv)->weight];
  uint32_t kind = back ? PACK_BACKWARD : layer->source == SOURCE_IMAGE ? PACK_IMAGE : PACK_FORWARD;
  uint32_t facts[PACK_FIELDS] = {(uint32_t)*word,
                                 (uint32_t)layer->weight_words,
                                 (uint32_t)(back ? layer->out : layer->in),
                                 (uint32_t)(back ? layer->in : layer->out),
                                 (uint32_t)weight->offset,
                                 kind,
                                 (uint32_t)(back ? layer->own_out : layer->own_in),
                                 (uint32_t)(back ? layer->own_in : layer->own_out)};
  for (int f = 0; f < PACK_FIELDS; f++) table[row * PACK_FIELDS + f] = facts[f];
  *word += block_packed_words(layer);
}

static bool cut_packed(struct blocks *blocks, const uint32_t *facts, cl_mem *piece, struct error *error) {
  size_t parts = block_weight_parts(blocks);
  cl_buffer_region region = {4 * parts * facts[0], 4 * parts * facts[1]};
  cl_int code;
  *piece = clCreateSubBuffer(blocks->packed, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
  return code == CL_SUCCESS
             ? true
             : fail_as(error, ERROR_DEVICE, "no piece of the weights: %s (%d)", device_code_name(code), code);
}

/* Every layer forward, and to train every layer but the first backward. */
static bool open_packed(struct blocks *blocks, struct error *error) {
  uint32_t table[2 * LAYERS_MOST * PACK_FIELDS];
  int rows = 0, count = blocks->layers;
  size_t word = 0;
  for (int l = 0; l < count; l++) note_packed(blocks, &blocks->layer[l], false, table, rows++, &word);
  for (int l = 1; blocks->train && l < count; l++)
    note_packed(blocks, &blocks->layer[l], true, table, rows++, &word);
  blocks->table_bytes = sizeof *table * (size_t)(rows * PACK_FIELDS);
  blocks->packed = device_buffer(blocks->device, blocks->packed_bytes, "the packed weights", error);
  blocks->table =
      blocks->packed ? device_buffer(blocks->device, blocks->table_bytes, "their table", error) : NULL;
  if (!blocks->table) return false;
  device_write(blocks->device, blocks->table, 0, blocks->table_bytes, table);
  for (int r = 0; r < rows; r++) {
    struct block_layer *layer = &blocks->layer[r < count ? r : r - count + 1];
    if (!cut_packed(blocks, table + r * PACK_FIELDS, r < count ? &layer->weights : &layer->back_weights,
                    error))
      return false;
  }
  const char *macros = arena_text(blocks->arena, "-DPRECISION=%d", (int)blocks->precision);
  return kernel_variant_open(blocks->kernels, &blocks->pack, "block_pack", macros, 64, error);
}

static bool open_head(struct blocks *blocks, struct error *error) {
  const struct block_layer *last = &blocks->layer[blocks->layers - 1];
  blocks->nothing = device_buffer(blocks->device, 16, "an unused argument", error);
  if (!blocks->nothing) return false;
  if (blocks->end == END_MAPS) return block_maps_open(blocks, &blocks->head, "block_maps", error);
  const char *macros = block_macros(blocks, last, &last->tile, last->source, false);
  blocks->folded = device_buffer(blocks->device, 4 * ((size_t)last->out + 1), "the 1x1 convolutions", error);
  return blocks->folded &&
         kernel_variant_open(blocks->kernels, &blocks->fold, "block_fold", macros, 64, error) &&
         kernel_variant_open(blocks->kernels, &blocks->head, "block_head", macros, 256, error);
}

bool blocks_open(struct blocks **out, struct graph *graph, struct device *device, struct kernels *kernels,
                 const struct block_setup *setup, struct error *error) {
  struct blocks *blocks = block_describe(arena_open(), graph, device, setup);
  blocks->kernels = kernels;
  bool good = block_size(blocks, error);
  for (int l = 0; good && l < blocks->layers; l++) good = open_layer(blocks, &blocks->layer[l], error);
  good = good && block_frame_open(blocks, error) && open_packed(blocks, error) && open_passes(blocks, error) && open_head(blocks, error) &&
         (!setup->train || block_back_open(blocks, error));
  if (!good) {
    blocks_close(blocks);
    return false;
  }
  *out = blocks;
  blocks_pack(blocks);
  return true;
}

void blocks_close(struct blocks *blocks) {
  if (!blocks) return;
  struct device *device = blocks->device;
  if (blocks->train) block_back_close(blocks);
  for (int l = 0; l < blocks->layers; l++) {
    struct block_layer *layer = &blocks->layer[l];
    kernel_variant_close(&layer->forward);
    cl_mem pieces[] = {layer->weights, layer->back_weights};
    for (int p = 0; p < 2; p++)
      if (pieces[p]) clReleaseMemObject(pieces[p]);
  }
  for (size_t p = 0; blocks->pass && p < blocks->passes; p++) close_pass(blocks, &blocks->pass[p]);
  kernel_variant_close(&blocks->fold);
  kernel_variant_close(&blocks->head);
  kernel_variant_close(&blocks->pack);
  device_release(device, blocks->packed, blocks->packed_bytes);
  device_release(device, blocks->table, blocks->table_bytes);
  if (blocks->folded)
    device_release(device, blocks->folded, 4 * ((size_t)blocks->layer[blocks->layers - 1].out + 1));
  device_release(device, blocks->nothing, 16);
  block_frame_close(blocks);
  arena_close(blocks->arena);
}

/* ---- running ------------------------------------------------------------------------------------------- */

static struct arg words(enum arg_kind kind, cl_mem buffer) {
  return arg_buffer(kind, ELEMENT_U32, buffer);
}

struct arg block_parameter(const struct blocks *blocks, int node, bool bias) {
  const struct node *conv = block_node(blocks->graph, node);
  const struct parameter *parameter = &blocks->graph->parameter[bias ? conv->bias : conv->weight];
  return arg_buffer(ARG_IN, ELEMENT_F32, parameter->value);
}

static struct arg parameter(const struct blocks *blocks, int node, bool bias) {
  return block_parameter(blocks, node, bias);
}

void blocks_pack(struct blocks *blocks) {
  uint32_t rows = (uint32_t)(blocks->table_bytes / (PACK_FIELDS * sizeof(uint32_t)));
  kernel_variant_run(blocks->kernels, &blocks->pack, blocks->packed_words,
                     ARGS(arg_buffer(ARG_IN, ELEMENT_F32, blocks->graph->values),
                          words(ARG_IN, blocks->table), words(ARG_OUT, blocks->packed), arg_u32(rows)));
  if (blocks->end == END_MAPS) return;
  const int *tail = blocks->tail;
  kernel_variant_run(blocks->kernels, &blocks->fold, 1,
                     ARGS(parameter(blocks, tail[0], false), parameter(blocks, tail[0], true),
                          parameter(blocks, tail[1], false), parameter(blocks, tail[1], true),
                          parameter(blocks, tail[2], false), parameter(blocks, tail[2], true),
                          arg_buffer(ARG_OUT, ELEMENT_F32, blocks->folded),
                          arg_u32((uint32_t)block_node(blocks->graph, tail[0])->shape.channels)));
}

/* A profile tells layers apart by their nodes' names. */
void block_tell(struct blocks *blocks, const struct block_layer *layer, size_t images) {
  struct device *device = blocks->device;
  device->label = layer ? block_node(blocks->graph, layer->conv)->name : "";
  device->operations = device->largest = 0;
  if (!layer || !device->profile) return;
  device->operations = 18.0 * layer->own_in * layer->own_out * layer->own_rows * layer->own_columns * (double)images;
  device->largest = (double)block_map_bytes(blocks, layer->in > layer->out ? layer->in : layer->out, layer->rows, layer->columns) *
                    (double)images / (double)blocks->batch;
}

static void run_layer(struct blocks *blocks, const struct block_layer *layer, cl_mem input, size_t place,
                      size_t images) {
  const struct block_layer *first = layer->first >= 0 ? &blocks->layer[layer->first] : NULL;
  const struct block_layer *second = layer->second >= 0 ? &blocks->layer[layer->second] : NULL;
  cl_mem from = first ? layer->first_pooled ? first->pooled : first->full : input;
  kernel_variant_run(blocks->kernels, &layer->forward,
                     block_groups(&layer->tile, layer->out, layer->rows, layer->columns, images),
                     ARGS(words(ARG_IN, from),
                          arg_buffer(ARG_IN, ELEMENT_I64, first ? first->sums : blocks->nothing),
                          words(ARG_IN, second ? second->full : blocks->nothing),
                          arg_buffer(ARG_IN, ELEMENT_I64, second ? second->sums : blocks->nothing),
                          arg_buffer(ARG_IN, ELEMENT_U128, layer->weights), words(ARG_OUT, layer->full),
                          words(ARG_OUT, layer->pooled), arg_buffer(ARG_INOUT, ELEMENT_I64, layer->sums),
                          arg_u32((uint32_t)place)));
}

static void run_layers(struct blocks *blocks, cl_mem input, size_t place, size_t images) {
  REQUIRE(place + images <= blocks->batch, "%zu images; the blocks were opened for %zu", place + images,
          blocks->batch);
  if (!place) device_fill(blocks->device, blocks->sums, 0, blocks->sums_bytes, 0);
  for (int l = 0; l < blocks->layers; l++) {
    block_tell(blocks, &blocks->layer[l], images);
    run_layer(blocks, &blocks->layer[l], input, place, images);
  }
  block_tell(blocks, NULL, 0);
}

void blocks_maps(struct blocks *blocks, cl_mem output, size_t place, size_t images) {
  const struct block_layer *last = &blocks->layer[blocks->layers - 1];
  kernel_variant_run(blocks->kernels, &blocks->head, block_planes(blocks, last->out, images),
                     ARGS(words(ARG_IN, last->pooled), arg_buffer(ARG_IN, ELEMENT_I64, last->sums),
                          arg_buffer(ARG_OUT, ELEMENT_F32, output), arg_u32((uint32_t)place)));
}

void blocks_forward_part(struct blocks *blocks, cl_mem input, size_t place, cl_mem output, size_t images) {
  REQUIRE(blocks->end == END_MAPS && place % 2 == 0 && images % 2 == 0,
          "parts are even numbers of images of an encoder; %zu from %zu on", images, place);
  run_layers(blocks, input, place, images);
  blocks_maps(blocks, output, place, images);
}

void blocks_forward(struct blocks *blocks, cl_mem input, cl_mem output, size_t images) {
  const struct block_layer *last = &blocks->layer[blocks->layers - 1];
  const struct block_frame *frame = &blocks->frame;
  run_layers(blocks, block_frame_in(blocks, input, frame->input, blocks->layer[0].own_in, images), 0, images);
  if (blocks->end == END_MAPS) {
    blocks_maps(blocks, output, 0, images);
    return;
  }
  size_t groups = images * round_up((size_t)last->own_rows * round_up((size_t)last->own_columns, 4), 1024) / 1024;
  kernel_variant_run(blocks->kernels, &blocks->head, groups,
                     ARGS(words(ARG_IN, last->full), arg_buffer(ARG_IN, ELEMENT_I64, last->sums),
                          arg_buffer(ARG_IN, ELEMENT_F32, blocks->folded),
                          arg_buffer(ARG_OUT, ELEMENT_F128, block_frame_to(blocks, output, frame->output))));
  block_frame_out(blocks, output, frame->output, 1, images);
}
