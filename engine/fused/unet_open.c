/* The kernels of a fused U-Net: one for every layer, specialised by its sizes. */
#include "engine/fused/unet_plan.h"

/* ---- the table of packed weights ------------------------------------------------------------------------
 */

static size_t offset_of(const struct graph *graph, const struct node *node, int parameter) {
  return graph->parameter[node->weight + parameter].offset - graph->parameter[node->weight].offset;
}

static void note_layer(const struct graph *graph, const struct node *node, const struct unet_plan *plan,
                       const struct unet_layer *layer, bool back, size_t word, uint32_t *row) {
  const struct unet_map *first = &plan->map[layer->first], *out = &plan->map[layer->out],
                        *second = layer->second >= 0 ? &plan->map[layer->second] : NULL;
  const struct unet_tile *tile = back ? &layer->back : &layer->forward;
  row[0] = (uint32_t)word;
  row[1] = (uint32_t)(back ? layer->back_words : layer->words);
  row[2] = (layer->rises ? 2 : 0) + (back ? 1 : 0);
  row[3] = (uint32_t)tile->slices;
  row[4] = (uint32_t)((layer->rises ? 1 : 9) * tile->slices + 3) / 4;
  row[5] = (uint32_t)(tile->groups_out * tile->warps_out * tile->tiles_out);
  row[6] = (uint32_t)offset_of(graph, node, layer->parameter);
  row[7] = (uint32_t)first->own;
  row[8] = (uint32_t)first->slices;
  row[9] = second ? (uint32_t)second->own : 0;
  row[10] = (uint32_t)out->own;
  row[11] = (uint32_t)out->slices;
}

static bool open_table(struct graph *graph, const struct node *node, struct unet *unet, bool back,
                       struct error *error) {
  const struct unet_plan *plan = &unet->plan;
  uint32_t table[UNET_LAYERS * UNET_TABLE] = {0};
  size_t word = 0;
  for (int l = 0; l < plan->layers; l++) {
    note_layer(graph, node, plan, &plan->layer[l], back, word, table + l * UNET_TABLE);
    word += table[l * UNET_TABLE + 1];
  }
  unet->table_bytes = sizeof *table * (size_t)(plan->layers * UNET_TABLE);
  unet->table[back] =
      device_buffer(graph->device, unet->table_bytes, "the table of a U-Net's weights", error);
  if (!unet->table[back]) return false;
  device_write(graph->device, unet->table[back], 0, unet->table_bytes, table);
  return true;
}

/* ---- layers -------------------------------------------------------------------------------------------- */

enum way { FORWARD, BACK, WEIGHTS };

/* Two groups share a unit's registers, but for those that are meant to be alone, and for large tiles of many slices, which
 * would spill them: such maps have few tiles. Forward three do where few numbers are summed. */
static const char *cap_of(const struct graph *graph, const struct unet_tile *tile, enum way way) {
  if (graph->device->facts.matrix != MATRIX_NVIDIA) return "";
  bool large = tile->tiles_out > 5 && tile->x * tile->y >= 256;
  bool few = way == FORWARD && tile->x * tile->y * 8 * tile->tiles_out * tile->warps_out <= 24 * UNET_GROUP;
  return tile->alone || large ? " -cl-nv-maxrregcount=168" : few ? " -cl-nv-maxrregcount=80" : " -cl-nv-maxrregcount=128";
}

/* Macros of kernels/unet.cl. */
static const char *layer_macros(const struct graph *graph, const struct unet *unet,
                                const struct unet_layer *layer, enum way way) {
  const struct unet_plan *plan = &unet->plan;
  const struct unet_map *first = &plan->map[layer->first], *out = &plan->map[layer->out];
  const struct unet_tile *tile = way == FORWARD ? &layer->forward
                                 : way == BACK  ? &layer->back
                                                : &layer->weights;
  int second = layer->second >= 0 ? plan->map[layer->second].slices : 0, taker = out->taker;
  bool joined = taker >= 0 && out->pool < 0;
  const struct unet_layer *takes = joined ? &plan->layer[taker] : NULL;
  return arena_text(unet->arena,
                    "-DROWS=%d -DCOLUMNS=%d -DTAPS=%d -DSLICES=%d -DCHUNKS=%d -DFIRST_SLICES=%d "
                    "-DSECOND_SLICES=%d -DIN_FIRST=%d "
                    "-DIN_SECOND=%d -DPLAIN=%d -DBACKWARD=%d -DGRADIENT_STRIDE=%d -DGRADIENT_OFFSET=%d "
                    "-DFOLD=%d -DOUT_SLICES=%d "
                    "-DSPREAD=%d -DTARGET_SLICES=%d -DTILE_X=%d -DTILE_Y=%d -DTILES_OUT=%d -DWARPS_OUT=%d%s",
                    plan->rows >> first->level, plan->columns >> first->level, layer->rises ? 1 : 9,
                    tile->slices, tile->chunks, way == FORWARD ? first->slices : out->slices,
                    way == FORWARD ? second : 0, first->slices, second, way != BACK && first->plain, (int)way,
                    takes ? unet_in_slices(plan, takes) : out->slices, takes ? out->offset : 0,
                    way != FORWARD && layer->rises, way == BACK ? first->slices + second : out->slices,
                    way == FORWARD && layer->rises, way == BACK && !first->plain ? first->slices : 0, tile->x,
                    tile->y, tile->tiles_out, tile->warps_out, cap_of(graph, tile, way));
}

static bool open_layer(struct graph *graph, struct unet *unet, int l, struct error *error) {
  const struct unet_layer *layer = &unet->plan.layer[l];
  return kernel_variant_open(graph->kernels, &unet->forward[l], "unet_conv",
                             layer_macros(graph, unet, layer, FORWARD), UNET_GROUP, error) &&
         (!graph->train ||
          (kernel_variant_open(graph->kernels, &unet->back[l], "unet_conv",
                               layer_macros(graph, unet, layer, BACK), UNET_GROUP, error) &&
           kernel_variant_open(graph->kernels, &unet->weights[l], "unet_weights",
                               layer_macros(graph, unet, layer, WEIGHTS), UNET_GROUP, error)));
}

/* Macros of kernels/unet_sums.cl. */
static const char *sums_macros(const struct unet *unet, const struct unet_map *map, bool joins) {
  const struct unet_plan *plan = &unet->plan;
  return arena_text(
      unet->arena, "-DROWS=%d -DCOLUMNS=%d -DSLICES=%d -DJOINS=%d -DSTRIDE=%d -DOFFSET=%d -DSHARES=%d",
      plan->rows >> map->level, plan->columns >> map->level, map->slices, joins,
      joins ? unet_in_slices(plan, &plan->layer[map->taker]) : map->slices, map->offset, UNET_SHARES);
}

/* Forward a map's sums leave with the product that makes it; back, those of a map that is pooled, or is the
 * last, are left to take. */
static bool open_map(struct graph *graph, struct unet *unet, int m, struct error *error) {
  const struct unet_map *map = &unet->plan.map[m];
  bool pooled = map->pool >= 0, alone = pooled || map->taker < 0;
  return (!pooled || kernel_variant_open(graph->kernels, &unet->pool[m], "unet_pool",
                                         sums_macros(unet, map, true), UNET_GROUP, error)) &&
         (!graph->train || !alone ||
          kernel_variant_open(graph->kernels, &unet->back_sums[m], "unet_sums",
                              sums_macros(unet, map, pooled), UNET_GROUP, error));
}

/* ---- the ends ------------------------------------------------------------------------------------------ */

/* All of one program; the packing's has no macros. */
static bool open_ends(struct graph *graph, struct unet *unet, struct error *error) {
  const struct {
    struct kernel_variant *variant;
    const char *name;
    size_t group;
    bool train;
  } end[] = {{&unet->moments, "unet_moments", UNET_GROUP, false},
             {&unet->statistics, "unet_statistics", UNET_SHARES, false},
             {&unet->enter, "unet_enter", UNET_GROUP, false},
             {&unet->leave, "unet_leave", UNET_GROUP, false},
             {&unet->leave_sums, "unet_leave_sums", UNET_GROUP, true},
             {&unet->totals, "unet_totals", UNET_SHARES, true},
             {&unet->leave_back, "unet_leave_back", UNET_GROUP, true},
             {&unet->leave_add, "unet_leave_add", UNET_SHARES, true},
             {&unet->enter_sums, "unet_enter_sums", UNET_GROUP, true},
             {&unet->enter_back, "unet_enter_back", UNET_GROUP, true},
             {&unet->reduce, "unet_reduce", UNET_GROUP, true}};
  const struct unet_plan *plan = &unet->plan;
  const char *macros = arena_text(
      unet->arena,
      "-DROWS=%d -DCOLUMNS=%d -DSLICES=%d -DOWN_ROWS=%d -DOWN_COLUMNS=%d -DTOP=%d -DLEFT=%d -DSHARES=%d",
      plan->rows, plan->columns, plan->map[plan->maps - 1].slices, plan->own_rows, plan->own_columns,
      plan->top, plan->left, UNET_SHARES);
  for (size_t i = 0; i < sizeof end / sizeof *end; i++)
    if ((graph->train || !end[i].train) &&
        !kernel_variant_open(graph->kernels, end[i].variant, end[i].name, macros, end[i].group, error))
      return false;
  return kernel_variant_open(graph->kernels, &unet->pack, "unet_pack", "", UNET_GROUP, error);
}

/* ---- one for all nodes of the same sizes ----------------------------------------------------------------
 */

static struct unet *find_alike(const struct graph *graph, const struct node *node) {
  for (const struct node *other = graph->node; other < node; other++) {
    struct tensor_shape a = other->shape, b = node->shape;
    if (other->op == node->op && other->opened && other->size == node->size && a.height == b.height &&
        a.width == b.width &&
        graph->parameter[other->weight].size[0] == graph->parameter[node->weight].size[0])
      return other->opened;
  }
  return NULL;
}

static bool open_new(struct graph *graph, const struct node *node, struct unet *unet, struct error *error) {
  bool good = open_table(graph, node, unet, false, error) && open_table(graph, node, unet, true, error) &&
              open_ends(graph, unet, error);
  for (int l = 0; good && l < unet->plan.layers; l++) good = open_layer(graph, unet, l, error);
  for (int m = 0; good && m < unet->plan.maps; m++) good = open_map(graph, unet, m, error);
  return good;
}

/* Its sums over images have one order, whatever shards they are of. */
static bool check_shards(const struct graph *graph, struct error *error) {
  if (graph->shards.held <= 1) return true;
  return fail_usage(error,
                    "network.precision is half: a variational network's gradients are not kept apart by shards there, and a rank has "
                    "%u; set train.shards to the number of ranks, train.reduce to free, or network.precision to f32",
                    graph->shards.held);
}

bool unet_open(struct graph *graph, tensor out, struct error *error) {
  struct node *node = graph_node(graph, out);
  if (!check_shards(graph, error)) return false;
  struct unet *unet = find_alike(graph, node);
  node->opened = unet ? unet : (unet = ARENA_NEW(graph->arena, struct unet, 1));
  if (unet->users++) return true;
  unet->arena = graph->arena;
  unet_plan_of(graph, node, &unet->plan);
  return open_new(graph, node, unet, error);
}

static void close_variants(struct kernel_variant *variants, size_t count) {
  for (size_t i = 0; i < count; i++) kernel_variant_close(&variants[i]);
}

void unet_close(struct graph *graph, tensor out) {
  struct node *node = graph_node(graph, out);
  struct unet *unet = node->opened;
  node->opened = NULL;
  if (!unet || --unet->users) return;
  struct kernel_variant *ends[] = {&unet->pack,      &unet->moments,    &unet->statistics, &unet->enter,
                                   &unet->leave,     &unet->leave_sums, &unet->totals,     &unet->leave_back,
                                   &unet->leave_add, &unet->enter_sums, &unet->enter_back, &unet->reduce};
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) kernel_variant_close(ends[i]);
  close_variants(unet->forward, UNET_LAYERS);
  close_variants(unet->back, UNET_LAYERS);
  close_variants(unet->weights, UNET_LAYERS);
  close_variants(unet->back_sums, UNET_MAPS);
  close_variants(unet->pool, UNET_MAPS);
  for (int way = 0; way < 2; way++) device_release(graph->device, unet->table[way], unet->table_bytes);
}
