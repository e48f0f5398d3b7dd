#include "engine/fused/unet_plan.h"

#include "engine/base/round.h"

enum {
  SLICE = 8,
  GROUPS_WANTED = 264 /* of the weights' gradient: the same on every device, so that sums keep their order */
};

/* ---- maps and layers ----------------------------------------------------------------------------------- */

static int add_map(struct unet_plan *plan, int level, int own, bool plain) {
  struct unet_map *map = &plan->map[plan->maps];
  *map = (struct unet_map){.level = level,
                           .own = own,
                           .slices = (int)divide_up((size_t)own, SLICE),
                           .plain = plain,
                           .maker = -1,
                           .pool = -1,
                           .taker = -1};
  return plan->maps++;
}

static int add_layer(struct unet_plan *plan, int first, int second, int level, int channels, int parameter) {
  struct unet_layer *layer = &plan->layer[plan->layers];
  *layer = (struct unet_layer){.first = first, .second = second, .parameter = parameter};
  layer->rises = plan->map[first].level != level;
  layer->out = add_map(plan, level, channels, false);
  plan->map[layer->out].maker = plan->layers;
  plan->map[first].taker = plan->layers;
  if (second >= 0) {
    plan->map[second].taker = plan->layers;
    plan->map[second].offset = plan->map[first].slices;
  }
  plan->layers++;
  return layer->out;
}

static int add_block(struct unet_plan *plan, int first, int second, int level, int parameter) {
  int channels = plan->channels << level;
  int map = add_layer(plan, first, second, level, channels, parameter);
  return add_layer(plan, map, -1, level, channels, parameter + 1);
}

static void add_all(struct unet_plan *plan) {
  int skip[UNET_POOLS_MOST], pools = plan->pools, map = add_map(plan, 0, 2, true);
  for (int l = 0; l < pools; l++) {
    skip[l] = add_block(plan, map, -1, l, 2 * l);
    map = plan->map[skip[l]].pool = add_map(plan, l + 1, plan->channels << l, true);
  }
  map = add_block(plan, map, -1, pools, 2 * pools);
  for (int i = 0; i < pools; i++) {
    int level = pools - 1 - i, parameter = 2 * pools + 2 + 3 * i;
    map = add_layer(plan, map, -1, level, plan->channels << level, parameter);
    map = add_block(plan, map, skip[level], level, parameter + 1);
  }
}

size_t unet_pixels(const struct unet_plan *plan, int level) {
  return (size_t)(plan->rows >> level) * (size_t)(plan->columns >> level);
}

int unet_in_slices(const struct unet_plan *plan, const struct unet_layer *layer) {
  return plan->map[layer->first].slices + (layer->second >= 0 ? plan->map[layer->second].slices : 0);
}

int unet_level(const struct unet_plan *plan, const struct unet_layer *layer) {
  return plan->map[layer->first].level;
}

/* ---- tiles --------------------------------------------------------------------------------------------- */

static int divisor_of(int a, int b, int most) {
  int d = most;
  while (a % d || b % d) d--;
  return d;
}

/* Small maps want many small groups, and few slices at a time leave registers for the next ones to be on their way: measured
 * on an NVIDIA H200, 18 channels of 320x320 and four slices, of the ways back. Forward's tiles follow from registers: three
 * groups share a unit where few numbers are summed. */
enum { SMALL_MAP = 40, MIDDLE_MAP = 80, LARGE_MAP = 160 /* columns */ };
enum { STAGED = 12 }; /* rows of pixels times slices that a warp leaves in local memory, 256 bytes each and gaps */

static struct unet_tile some_tile(int in, int slices, int groups, int tiles_out) {
  return (struct unet_tile){.slices = slices,
                            .chunks = in / slices,
                            .tiles_out = tiles_out,
                            .warps_out = groups % 4 == 0 && tiles_out <= 5 ? 4 : groups % 2 == 0 ? 2 : 1};
}

/* A warp has `want` rows of 8x2 pixels. */
static void shape_tile(struct unet_tile *tile, int groups, int columns, int want) {
  int row_tiles = 8 / tile->warps_out * want;
  tile->groups_out = groups / tile->warps_out;
  tile->x = row_tiles >= 16 && columns % 32 == 0 ? 32 : row_tiles >= 8 ? 16 : 8;
  if (row_tiles == 32) tile->x = 32;
  if ((tile->x + 2) * tile->slices > UNET_GROUP) tile->x = 16; /* a work-item has a place of every line */
  tile->y = 16 * row_tiles / tile->x;
}

/* Of `in` slices to `out` slices, whose parts lie side by side `spread` times. */
static struct unet_tile forward_tile(int taps, int columns, int in_first, int in_second, int out, int spread) {
  int tiles_out = divisor_of(out, out, columns <= SMALL_MAP ? 3 : 9), groups = out * spread / tiles_out;
  struct unet_tile tile = some_tile(in_first + in_second, divisor_of(in_first, in_second, taps == 9 ? 5 : 9), groups, tiles_out);
  int want = columns > LARGE_MAP ? 2 : 1;
  if (taps == 1) want = columns >= LARGE_MAP ? 4 : columns >= MIDDLE_MAP ? 2 : 1;
  while (want > 1 && want * tile.tiles_out > STAGED) want /= 2;
  shape_tile(&tile, groups, columns, want);
  return tile;
}

/* The data gradient's. */
static struct unet_tile back_tile(int taps, int columns, int in, int out) {
  int tiles_out = divisor_of(out, out, columns <= SMALL_MAP ? 3 : 9), groups = out / tiles_out;
  struct unet_tile tile = some_tile(in, divisor_of(in, 0, 4), groups, tiles_out);
  int want = columns <= (taps == 9 ? MIDDLE_MAP : SMALL_MAP) ? 1 : tiles_out <= 3 ? 4 : 2;
  if (want == 4 && taps == 9 && tile.slices > 3) want = 2;
  shape_tile(&tile, groups, columns, want);
  return tile;
}

static struct unet_tile weights_tile(int taps, int columns, int in_first, int in_second, int out, int fold) {
  struct unet_tile tile = {.slices = divisor_of(in_first, in_second, taps == 9 ? 5 : 9), .warps_out = 1};
  int most = taps == 1 ? 9 : tile.slices > 3 ? 5 : columns <= MIDDLE_MAP ? 3 : 9;
  tile.tiles_out = divisor_of(out, out, most);
  tile.chunks = (in_first + in_second) / tile.slices;
  tile.groups_out = out * fold / tile.tiles_out;
  tile.alone = taps == 9 && tile.tiles_out > 4;
  tile.x = columns < 32 ? 8 : 16;
  tile.y = 8;
  return tile;
}

static void choose_tiles(const struct unet_plan *plan, struct unet_layer *layer) {
  const struct unet_map *first = &plan->map[layer->first], *out = &plan->map[layer->out];
  int second = layer->second >= 0 ? plan->map[layer->second].slices : 0, taps = layer->rises ? 1 : 9;
  int columns = plan->columns >> first->level, parts = layer->rises ? 4 : 1;
  layer->forward = forward_tile(taps, columns, first->slices, second, out->slices, parts);
  layer->back = back_tile(taps, columns, out->slices, first->slices + second);
  layer->back.chunks *= parts;
  layer->weights = weights_tile(taps, columns, first->slices, second, out->slices, parts);
}

/* ---- where things lie ---------------------------------------------------------------------------------- */

static size_t packed_words(int taps, const struct unet_tile *tile) {
  size_t pairs = divide_up((size_t)(taps * tile->slices), 4); /* of steps */
  return (size_t)tile->chunks * pairs * (size_t)(tile->groups_out * tile->warps_out * tile->tiles_out) * 128;
}

size_t unet_shares(const struct unet_plan *plan, const struct unet_layer *layer, size_t images) {
  const struct unet_tile *tile = &layer->weights;
  int level = unet_level(plan, layer);
  size_t rows = (size_t)(plan->rows >> level), columns = (size_t)(plan->columns >> level);
  size_t tiles = images * divide_up(rows, (size_t)tile->y) * divide_up(columns, (size_t)tile->x);
  size_t shares = GROUPS_WANTED / (tile->alone ? 2 : 1) / (size_t)(tile->chunks * tile->groups_out);
  return shares < 1 ? 1 : shares > tiles ? tiles : shares;
}

static void place_layer(struct unet_plan *plan, struct unet_layer *layer) {
  int taps = layer->rises ? 1 : 9, in = unet_in_slices(plan, layer), out = plan->map[layer->out].slices;
  choose_tiles(plan, layer);
  layer->words = packed_words(taps, &layer->forward);
  layer->back_words = packed_words(taps, &layer->back);
  layer->given = plan->gradients;
  plan->gradients += unet_pixels(plan, unet_level(plan, layer)) * (size_t)in;
  plan->words += layer->words;
  plan->back_words += layer->back_words;
  size_t count = (size_t)(in * out) * SLICE * SLICE * (layer->rises ? 4 : 9);
  size_t part = count * unet_shares(plan, layer, UINT32_MAX);
  if (part > plan->part) plan->part = part;
}

static void place_map(struct unet_plan *plan, struct unet_map *map) {
  size_t vectors = unet_pixels(plan, map->level) * (size_t)map->slices;
  map->at = plan->vectors;
  map->sums = plan->sums;
  plan->vectors += vectors;
  plan->sums += (size_t)(SLICE * map->slices);
  if (map->pool < 0) return;
  map->joined = plan->gradients;
  plan->gradients += vectors;
}

void unet_plan_of(const struct graph *graph, const struct node *node, struct unet_plan *plan) {
  struct tensor_shape in = node->shape;
  size_t unit = node->size > 4 ? (size_t)1 << node->size : UNET_SIDE;
  *plan = (struct unet_plan){.pools = node->size,
                             .channels = (int)graph->parameter[node->weight].size[0],
                             .rows = (int)round_up((size_t)in.height, unit),
                             .columns = (int)round_up((size_t)in.width, unit),
                             .own_rows = in.height,
                             .own_columns = in.width};
  plan->top = (plan->rows - in.height) / 2;
  plan->left = (plan->columns - in.width) / 2;
  add_all(plan);
  for (int m = 0; m < plan->maps; m++) place_map(plan, &plan->map[m]);
  for (int l = 0; l < plan->layers; l++) place_layer(plan, &plan->layer[l]);
  plan->last_gradient = plan->gradients;
  plan->gradients += unet_pixels(plan, 0) * (size_t)plan->map[plan->maps - 1].slices;
}

/* Takes `bytes` after those taken, and returns where they start in elements of so many bytes. */
static uint32_t take(size_t *taken, size_t bytes, size_t element) {
  size_t start = *taken;
  *taken += round_up(bytes, 16);
  return (uint32_t)(start / element);
}

struct unet_places unet_places_of(const struct unet_plan *plan, size_t images) {
  struct unet_places places = {0};
  size_t planes = 2 * images, last = (size_t)plan->map[plan->maps - 1].slices * SLICE;
  take(&places.kept, 16 * plan->vectors * images, 16);
  places.sums = take(&places.kept, 16 * plan->sums * images, 8);
  places.statistics = take(&places.kept, 16 * planes, 4);
  take(&places.work, 4 * plan->words, 4);
  places.moments = take(&places.work, 16 * planes * UNET_SHARES, 4);
  take(&places.scratch, 4 * plan->part, 4);
  places.gradients = take(&places.scratch, 16 * plan->gradients * images, 16);
  places.back = take(&places.scratch, 16 * plan->sums * images, 8);
  places.packed = take(&places.scratch, 4 * plan->back_words, 4);
  places.leaving = take(&places.scratch, 4 * images * UNET_SHARES * (2 * last + 2), 4);
  places.sharing = take(&places.scratch, 8 * planes * UNET_SHARES, 4);
  places.totals = take(&places.scratch, 8 * planes, 4);
  places.totals_in = take(&places.scratch, 8 * planes, 4);
  places.level = take(&places.scratch, 4, 4);
  return places;
}
