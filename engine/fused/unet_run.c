/* Runs a fused U-Net forward and back: all that a node keeps lies in three buffers, of which kernels get
 * offsets. */
#include "engine/base/round.h"
#include "engine/fused/unet_plan.h"

/* One run of a node. */
struct pass {
  struct graph *graph;
  struct node *node;
  const struct unet *unet;
  const struct unet_plan *plan;
  struct unet_places places;
  size_t room, images; /* that the buffers are for; that are run */
};

static struct pass pass_of(struct graph *graph, tensor out) {
  struct node *node = graph_node(graph, out);
  const struct unet *unet = node->opened;
  size_t room = graph->batch * (size_t)node->copies;
  return (struct pass){graph, node,         unet, &unet->plan, unet_places_of(&unet->plan, room),
                       room,  graph->images};
}

/* ---- arguments ----------------------------------------------------------------------------------------- */

/* Maps: a node's lie in one buffer, of which every launch takes others. */
static struct arg vectors(enum arg_kind kind, cl_mem buffer) {
  return arg_some(arg_buffer(kind, ELEMENT_U128, buffer), BYTES_UNKNOWN);
}

static struct arg words(enum arg_kind kind, cl_mem buffer) {
  return arg_buffer(kind, ELEMENT_U32, buffer);
}

static struct arg sums(enum arg_kind kind, cl_mem buffer) {
  return arg_buffer(kind, ELEMENT_I64, buffer);
}

static struct arg floats(enum arg_kind kind, cl_mem buffer) {
  return arg_buffer(kind, ELEMENT_F32, buffer);
}

static struct arg parameter(const struct pass *pass, int place, bool gradient) {
  const struct parameter *parameter = &pass->graph->parameter[pass->node->weight + place];
  return floats(gradient ? ARG_INOUT : ARG_IN, gradient ? parameter->gradient : parameter->value);
}

static struct arg input_of(const struct pass *pass) {
  return floats(ARG_IN, graph_source(pass->graph, pass->node, 0)->value);
}

static int head_of(const struct pass *pass) {
  return 5 * pass->plan->pools + 2;
}

static struct arg channels_of(const struct pass *pass) {
  return arg_u32((uint32_t)pass->plan->channels);
}

/* Where map m lies in what is kept, and its sums, which stand alike in the sums of the way back. */
static uint32_t map_at(const struct pass *pass, int m) {
  return m < 0 ? 0 : (uint32_t)(pass->plan->map[m].at * pass->room);
}

static uint32_t sums_at(const struct pass *pass, int m) {
  return m < 0 ? 0 : (uint32_t)(2 * pass->plan->map[m].sums * pass->room);
}

/* Where the gradient of map m starts in the scratch memory; its pixels may have slices before it. */
static uint32_t gradient_at(const struct pass *pass, int m) {
  const struct unet_plan *plan = pass->plan;
  const struct unet_map *map = &plan->map[m];
  size_t at = map->pool >= 0   ? map->joined
              : map->taker < 0 ? plan->last_gradient
                               : plan->layer[map->taker].given;
  return pass->places.gradients + (uint32_t)(at * pass->room);
}

static void launch(const struct pass *pass, const struct kernel_variant *variant, size_t rows,
                   const struct arg *args) {
  kernel_variant_run(pass->graph->kernels, variant, rows, args);
}

/* A profile tells layers apart by their parameters' names. */
static void tell_layer(const struct pass *pass, int l) {
  const struct parameter *weight = &pass->graph->parameter[pass->node->weight + pass->plan->layer[l].parameter];
  struct device *device = pass->graph->device;
  device->label = weight->name;
  device->operations = 2.0 * (double)weight->count * (double)unet_pixels(pass->plan, unet_level(pass->plan, &pass->plan->layer[l])) *
                       (double)pass->images;
}

/* ---- forward ------------------------------------------------------------------------------------------- */

/* The two halves of the table, forward and backward, are two buffers. */
static void pack(const struct pass *pass, bool back) {
  const struct unet_plan *plan = pass->plan;
  const struct node *node = pass->node;
  launch(pass, &pass->unet->pack, (back ? plan->back_words : plan->words) / 2,
         ARGS(floats(ARG_IN, pass->graph->values), words(ARG_IN, pass->unet->table[back]),
              words(ARG_OUT, back ? node->scratch : node->work), arg_u32((uint32_t)plan->layers),
              arg_u32((uint32_t)pass->graph->parameter[node->weight].offset),
              arg_u32(back ? pass->places.packed : 0)));
}

static size_t tiles_of(const struct pass *pass, const struct unet_layer *layer,
                       const struct unet_tile *tile) {
  int level = unet_level(pass->plan, layer);
  return pass->images * divide_up((size_t)(pass->plan->rows >> level), (size_t)tile->y) *
         divide_up((size_t)(pass->plan->columns >> level), (size_t)tile->x);
}

/* The planes' own statistics, the first map, and sums of 0. */
static void enter(const struct pass *pass) {
  const struct node *node = pass->node;
  const struct unet *unet = pass->unet;
  size_t planes = 2 * pass->images;
  launch(pass, &unet->moments, planes * UNET_SHARES,
         ARGS(input_of(pass), floats(ARG_OUT, node->work), sums(ARG_OUT, node->kept), arg_u32(pass->places.moments),
              arg_u32(pass->places.sums), arg_u32((uint32_t)(2 * pass->plan->sums * pass->room))));
  launch(pass, &unet->statistics, planes,
         ARGS(floats(ARG_IN, node->work), floats(ARG_OUT, node->kept), arg_u32(pass->places.moments),
              arg_u32(pass->places.statistics)));
  launch(pass, &unet->enter, pass->images * divide_up(unet_pixels(pass->plan, 0), UNET_GROUP),
         ARGS(input_of(pass), floats(ARG_IN, node->kept), vectors(ARG_OUT, node->kept),
              arg_u32(pass->places.statistics), arg_u32(map_at(pass, 0))));
}

static void run_layer(const struct pass *pass, int l, uint32_t weights_at) {
  const struct unet_layer *layer = &pass->plan->layer[l];
  cl_mem kept = pass->node->kept;
  uint32_t sums_start = pass->places.sums;
  launch(pass, &pass->unet->forward[l],
         tiles_of(pass, layer, &layer->forward) * (size_t)layer->forward.groups_out,
         ARGS(vectors(ARG_IN, kept), vectors(ARG_IN, kept), sums(ARG_IN, kept), sums(ARG_IN, kept),
              words(ARG_IN, pass->node->work), words(ARG_OUT, kept), sums(ARG_INOUT, kept),
              arg_u32(map_at(pass, layer->first)), arg_u32(map_at(pass, layer->second)),
              arg_u32(sums_start + sums_at(pass, layer->first)),
              arg_u32(sums_start + sums_at(pass, layer->second)), arg_u32(weights_at),
              arg_u32(4 * map_at(pass, layer->out)), arg_u32(0), arg_u32(0),
              arg_u32(sums_start + sums_at(pass, layer->out))));
}

static void run_pool(const struct pass *pass, int m) {
  const struct unet_map *map = &pass->plan->map[m];
  cl_mem kept = pass->node->kept;
  if (map->pool < 0) return;
  launch(pass, &pass->unet->pool[m], pass->images * UNET_SHARES,
         ARGS(vectors(ARG_IN, kept), sums(ARG_IN, kept), vectors(ARG_OUT, kept), arg_u32(map_at(pass, m)),
              arg_u32(pass->places.sums + sums_at(pass, m)), arg_u32(map_at(pass, map->pool))));
}

static void leave(const struct pass *pass) {
  const struct unet_plan *plan = pass->plan;
  cl_mem kept = pass->node->kept;
  int last = plan->maps - 1;
  launch(pass, &pass->unet->leave,
         pass->images * divide_up((size_t)plan->own_rows * (size_t)plan->own_columns, UNET_GROUP),
         ARGS(vectors(ARG_IN, kept), sums(ARG_IN, kept), floats(ARG_IN, kept),
              parameter(pass, head_of(pass), false), parameter(pass, head_of(pass) + 1, false),
              floats(ARG_OUT, pass->node->value), arg_u32(map_at(pass, last)),
              arg_u32(pass->places.sums + sums_at(pass, last)), arg_u32(pass->places.statistics),
              channels_of(pass)));
}

void unet_forward(struct graph *graph, tensor out) {
  struct pass pass = pass_of(graph, out);
  size_t weights_at = 0;
  pack(&pass, false);
  enter(&pass);
  for (int l = 0; l < pass.plan->layers; l++) {
    const struct unet_layer *layer = &pass.plan->layer[l];
    tell_layer(&pass, l);
    run_layer(&pass, l, (uint32_t)weights_at);
    run_pool(&pass, layer->out);
    weights_at += layer->words;
  }
  leave(&pass);
}

/* ---- backward ------------------------------------------------------------------------------------------ */

static void add_totals(const struct pass *pass, uint32_t to) {
  launch(pass, &pass->unet->totals, 2 * pass->images,
         ARGS(floats(ARG_IN, pass->node->scratch), floats(ARG_OUT, pass->node->scratch),
              arg_u32(pass->places.sharing), arg_u32(to)));
}

/* The way back into the last map: level, what the units are due, the 1x1 convolution. */
static void leave_back(const struct pass *pass) {
  const struct unet_places *places = &pass->places;
  cl_mem kept = pass->node->kept, scratch = pass->node->scratch, gradient = pass->node->gradient;
  int last = pass->plan->maps - 1, head = head_of(pass);
  launch(pass, &pass->unet->leave_sums, 2 * pass->images * UNET_SHARES,
         ARGS(floats(ARG_IN, pass->node->value), floats(ARG_IN, gradient), floats(ARG_IN, kept),
              floats(ARG_OUT, scratch), words(ARG_INOUT, scratch), arg_u32(places->statistics),
              arg_u32(places->sharing), arg_u32(places->level)));
  add_totals(pass, places->totals);
  launch(pass, &pass->unet->leave_back, pass->images * UNET_SHARES,
         ARGS(vectors(ARG_IN, kept), sums(ARG_IN, kept), floats(ARG_IN, kept), parameter(pass, head, false),
              floats(ARG_IN, gradient), words(ARG_IN, scratch), vectors(ARG_OUT, scratch),
              floats(ARG_OUT, scratch), arg_u32(map_at(pass, last)),
              arg_u32(places->sums + sums_at(pass, last)), arg_u32(places->statistics),
              arg_u32(places->level), arg_u32(gradient_at(pass, last)), arg_u32(places->leaving),
              channels_of(pass)));
  launch(pass, &pass->unet->leave_add, 2 * (size_t)pass->plan->channels + 2,
         ARGS(floats(ARG_IN, scratch), parameter(pass, head, true), parameter(pass, head + 1, true),
              arg_u32(places->leaving), arg_u32((uint32_t)pass->images * UNET_SHARES), channels_of(pass)));
}

/* The sums of the last map's norm on the way back, and of one that is pooled too, whose two gradients become
 * one first. */
static void run_back_sums(const struct pass *pass, int m) {
  const struct unet_map *map = &pass->plan->map[m];
  cl_mem kept = pass->node->kept, scratch = pass->node->scratch;
  bool pooled = map->pool >= 0;
  if (!pooled && map->taker >= 0) return;
  uint32_t joined = pass->places.gradients;
  if (pooled) joined += (uint32_t)(pass->plan->layer[map->taker].given * pass->room);
  launch(pass, &pass->unet->back_sums[m], pass->images * UNET_SHARES,
         ARGS(vectors(ARG_IN, kept), sums(ARG_IN, kept), vectors(ARG_IN, scratch), vectors(ARG_OUT, scratch),
              sums(ARG_INOUT, scratch), arg_u32(map_at(pass, m)),
              arg_u32(pass->places.sums + sums_at(pass, m)), arg_u32(pooled ? joined : gradient_at(pass, m)),
              arg_u32(pooled ? gradient_at(pass, map->pool) : 0), arg_u32(gradient_at(pass, m)),
              arg_u32(pass->places.back + sums_at(pass, m))));
}

/* Work-items that add the shares of a weight: few weights have many shares. */
static uint32_t ways_of(size_t shares) {
  return shares >= 128 ? 32 : shares >= 16 ? 8 : 1;
}

static void run_reduce(const struct pass *pass, const struct unet_layer *layer, size_t shares) {
  const struct unet_map *first = &pass->plan->map[layer->first], *out = &pass->plan->map[layer->out];
  uint32_t inputs = (uint32_t)(first->own + (layer->second >= 0 ? pass->plan->map[layer->second].own : 0));
  cl_mem scratch = pass->node->scratch;
  launch(pass, &pass->unet->reduce, ways_of(shares) * pass->graph->parameter[pass->node->weight + layer->parameter].count,
         ARGS(floats(ARG_IN, scratch), words(ARG_IN, scratch), parameter(pass, layer->parameter, true),
              arg_u32(pass->places.level), arg_u32((uint32_t)shares), arg_u32(ways_of(shares)), arg_u32(layer->rises ? 4 : 9),
              arg_u32((uint32_t)first->own), arg_u32(8 * (uint32_t)first->slices), arg_u32(inputs),
              arg_u32(8 * (uint32_t)unet_in_slices(pass->plan, layer)), arg_u32((uint32_t)out->own),
              arg_u32(8 * (uint32_t)out->slices)));
}

static void run_weights(const struct pass *pass, int l) {
  const struct unet_layer *layer = &pass->plan->layer[l];
  const struct unet_tile *tile = &layer->weights;
  cl_mem kept = pass->node->kept, scratch = pass->node->scratch;
  size_t shares = unet_shares(pass->plan, layer, pass->images);
  uint32_t sums_start = pass->places.sums, own = sums_at(pass, layer->out);
  launch(pass, &pass->unet->weights[l], shares * (size_t)(tile->chunks * tile->groups_out),
         ARGS(vectors(ARG_IN, kept), sums(ARG_IN, kept), vectors(ARG_IN, scratch), sums(ARG_IN, scratch),
              floats(ARG_OUT, scratch), arg_u32(map_at(pass, layer->first)),
              arg_u32(map_at(pass, layer->second)), arg_u32(sums_start + sums_at(pass, layer->first)),
              arg_u32(sums_start + sums_at(pass, layer->second)), arg_u32(gradient_at(pass, layer->out)),
              arg_u32(map_at(pass, layer->out)), arg_u32(sums_start + own), arg_u32(pass->places.back + own),
              arg_u32((uint32_t)pass->images), arg_u32((uint32_t)shares)));
  run_reduce(pass, layer, shares);
}

static void run_gradient(const struct pass *pass, int l, size_t weights_at) {
  const struct unet_layer *layer = &pass->plan->layer[l];
  cl_mem kept = pass->node->kept, scratch = pass->node->scratch;
  uint32_t own = sums_at(pass, layer->out);
  launch(pass, &pass->unet->back[l], tiles_of(pass, layer, &layer->back) * (size_t)layer->back.groups_out,
         ARGS(vectors(ARG_IN, scratch), vectors(ARG_IN, kept), sums(ARG_IN, kept), sums(ARG_IN, scratch),
              words(ARG_IN, scratch), words(ARG_OUT, scratch), sums(ARG_INOUT, scratch),
              arg_u32(gradient_at(pass, layer->out)), arg_u32(map_at(pass, layer->out)),
              arg_u32(pass->places.sums + own), arg_u32(pass->places.back + own),
              arg_u32(pass->places.packed + (uint32_t)weights_at),
              arg_u32(4 * (pass->places.gradients + (uint32_t)(layer->given * pass->room))),
              arg_u32(map_at(pass, layer->first)), arg_u32(pass->places.sums + sums_at(pass, layer->first)),
              arg_u32(pass->places.back + sums_at(pass, layer->first))));
}

static void enter_back(const struct pass *pass) {
  const struct unet_places *places = &pass->places;
  const struct unet_plan *plan = pass->plan;
  cl_mem kept = pass->node->kept, scratch = pass->node->scratch;
  launch(pass, &pass->unet->enter_sums, 2 * pass->images * UNET_SHARES,
         ARGS(input_of(pass), floats(ARG_IN, kept), vectors(ARG_IN, scratch), floats(ARG_OUT, scratch),
              arg_u32(places->statistics), arg_u32(gradient_at(pass, 0)), arg_u32(places->sharing)));
  add_totals(pass, places->totals_in);
  launch(pass, &pass->unet->enter_back,
         2 * pass->images * divide_up((size_t)plan->own_rows * (size_t)plan->own_columns, UNET_GROUP),
         ARGS(input_of(pass), floats(ARG_IN, kept), vectors(ARG_IN, scratch), floats(ARG_IN, scratch),
              words(ARG_IN, scratch), floats(ARG_INOUT, graph_source(pass->graph, pass->node, 0)->gradient),
              arg_u32(places->statistics), arg_u32(gradient_at(pass, 0)), arg_u32(places->totals),
              arg_u32(places->totals_in), arg_u32(places->level), arg_u32(pass->node->adds[0])));
}

void unet_backward(struct graph *graph, tensor out) {
  struct pass pass = pass_of(graph, out);
  const struct unet_plan *plan = pass.plan;
  bool input = graph_source(graph, pass.node, 0)->needs_gradient;
  size_t weights_at = plan->back_words;
  pack(&pass, true);
  device_fill(graph->device, pass.node->scratch, 8 * (size_t)pass.places.back, 16 * plan->sums * pass.room,
              0);
  device_fill(graph->device, pass.node->scratch, 4 * (size_t)pass.places.level, 4, 0);
  leave_back(&pass);
  for (int l = plan->layers - 1; l >= 0; l--) {
    weights_at -= plan->layer[l].back_words;
    tell_layer(&pass, l);
    run_back_sums(&pass, plan->layer[l].out);
    run_weights(&pass, l);
    if (l || input) run_gradient(&pass, l, weights_at);
  }
  if (input) enter_back(&pass);
}
