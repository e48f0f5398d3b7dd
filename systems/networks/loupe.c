#include "systems/networks/loupe.h"

#include "components/components.h"
#include "kernels/kernels.h"
#include "systems/networks/checkpoint.h"
#include "systems/networks/networks.h"
#include "systems/sampling/geometry.h"

#include <string.h>

/* ---- opening ------------------------------------------------------------------------------------------- */

static void write_taken(struct loupe *loupe, size_t batch, struct arena *arena) {
  size_t lines = loupe->acquisition.shape.actions;
  float *rows = ARENA_NEW(arena, float, batch *lines);
  acquisition_initial_rows(&loupe->acquisition, batch, rows);
  device_write(loupe->device, graph_value(loupe->graph, loupe->net.taken), 0, sizeof(float) * batch * lines,
               rows);
}

static void build(struct loupe *loupe, const struct options *options) {
  struct net_loupe_setup net = net_loupe_setup(options, loupe->acquisition.budget);
  graph_open(&loupe->graph);
  network_keep_apart(loupe->graph, loupe->device);
  loupe->net = net_loupe(loupe->graph, &net);
}

/* Parameters, their gradients and an optimiser's two moments; activations of an image. */
bool loupe_measure(const struct masks_setup *setup, struct network_need *need, struct error *error) {
  struct loupe loupe = {.acquisition = setup->acquisition};
  build(&loupe, setup->options);
  bool good = graph_good(loupe.graph, error);
  if (good) {
    need->desc = &network_loupe;
    need->bytes = 4 * sizeof(float) * loupe.graph->elements;
    need->image = graph_measure(loupe.graph, 1, true, false);
  }
  graph_close(loupe.graph);
  return good;
}

static bool open_graph(struct loupe *loupe, const struct masks_setup *setup, struct error *error) {
  const struct options *options = setup->options;
  struct graph_setup plan = {
      .device = setup->device, .kernels = setup->kernels, .batch = setup->batch, .train = true};
  build(loupe, options);
  if (!graph_plan(loupe->graph, &plan, error)) return fail_in(error, "LOUPE's mask");
  graph_start(loupe->graph, options->world.seed);
  const struct scan_shape *shape = &loupe->acquisition.shape;
  const char *observes = loupe->views                                    ? "view_frequencies"
                         : loupe_encodes(options)                        ? "view_coils_back"
                         : observe_fft_fits(shape->height, shape->width) ? "observe_back_fft"
                                                                         : "observe_back_direct";
  return kernel_need(setup->kernels, "loupe_number", error) &&
         kernel_need(setup->kernels, "loupe_keep", error) && kernel_need(setup->kernels, observes, error);
}

bool loupe_open(struct loupe *loupe, const struct masks_setup *setup, struct error *error) {
  const struct options *options = setup->options;
  struct arena *arena = arena_open();
  struct optimiser_setup optimiser =
      optimise_defaults((enum optimiser_kind)options->train.optimiser, options->train.rate);
  *loupe = (struct loupe){.device = setup->device,
                          .kernels = setup->kernels,
                          .acquisition = setup->acquisition,
                          .each = options->loupe.masks == LOUPE_SAMPLE,
                          .views = loupe_views(options)};
  optimiser.clip = options->train.clip;
  bool good =
      open_graph(loupe, setup, error) && optimise_open(&loupe->optimiser, loupe->graph, &optimiser, error);
  if (good) write_taken(loupe, setup->batch, arena);
  arena_close(arena);
  if (!good) loupe_close(loupe);
  return good;
}

void loupe_close(struct loupe *loupe) {
  if (loupe->optimiser.device) optimise_close(&loupe->optimiser);
  graph_close(loupe->graph);
  *loupe = (struct loupe){0};
}

/* ---- running ------------------------------------------------------------------------------------------- */

void loupe_number(struct loupe *loupe, uint32_t number, uint32_t first) {
  loupe->number = loupe->each ? first : number;
  loupe->stride = loupe->each;
}

void loupe_bind(struct loupe *loupe, struct world *world) {
  size_t rows = loupe->graph->batch;
  world_bind(world, BATCH_drawn, graph_value(loupe->graph, loupe->net.mask), rows);
  if (!loupe->views) /* else the graph goes on from the mask, and keeps no gradient of it */
    world_bind(world, BATCH_drawn_gradient, graph_gradient(loupe->graph, loupe->net.mask), rows);
  watch_graph(&loupe->watch, loupe->graph, SAMPLER_parameters);
}

static void number(struct loupe *loupe, uint32_t first, uint32_t stride, size_t images) {
  graph_set_images(loupe->graph, images);
  kernel_run(loupe->kernels, "loupe_number", images,
             ARGS(arg_buffer(ARG_OUT, ELEMENT_U32, graph_value(loupe->graph, loupe->net.scan)),
                  arg_u32(first), arg_u32(stride)));
}

void loupe_forward(struct loupe *loupe, size_t images) {
  number(loupe, loupe->number, loupe->stride, images);
  graph_forward_part(loupe->graph, 0, loupe->net.drawn);
}

/* Their numbers are above those of training (systems/methods/epoch.h). */
void loupe_forward_validation(struct loupe *loupe, size_t row, size_t images) {
  number(loupe, 0x80000000u + (uint32_t)row, 1, images);
  graph_forward_part(loupe->graph, 0, loupe->net.drawn);
}

void loupe_forward_views(struct loupe *loupe, size_t images) {
  number(loupe, loupe->number, loupe->stride, images);
  graph_forward(loupe->graph);
}

cl_mem loupe_frequencies(const struct loupe *loupe) {
  return graph_value(loupe->graph, loupe->net.frequencies);
}

cl_mem loupe_observed(const struct loupe *loupe) {
  return graph_value(loupe->graph, loupe->net.observed);
}

cl_mem loupe_observed_gradient(const struct loupe *loupe) {
  return graph_gradient(loupe->graph, loupe->net.observed);
}

size_t loupe_observed_bytes(const struct loupe *loupe, size_t images) {
  return sizeof(float) * images * graph_elements(loupe->graph, loupe->net.observed);
}

void loupe_backward(struct loupe *loupe) {
  watch_touch(&loupe->watch, loupe->views ? 0 : SET(BATCH_drawn_gradient), 0);
  graph_backward(loupe->graph);
}

/* ---- files --------------------------------------------------------------------------------------------- */

struct network_facts loupe_facts(const struct loupe *loupe) {
  struct network_facts facts = {0};
  strcpy(facts.geometry, geometry_of(&loupe->acquisition)->name);
  return facts;
}

bool loupe_write(const struct loupe *loupe, struct store *store, struct error *error) {
  struct arena *arena = arena_open();
  const struct geometry *geometry = geometry_of(&loupe->acquisition);
  const struct scan_shape *scan = &loupe->acquisition.shape;
  size_t lines = scan->actions, shape[] = {geometry->points ? scan->height : lines, scan->width};
  int rank = geometry->points ? 2 : 1;
  uint8_t *taken = ARENA_NEW(arena, uint8_t, lines), *mask = ARENA_NEW(arena, uint8_t, lines);
  float *weight = ARENA_NEW(arena, float, lines);
  double *chance = ARENA_NEW(arena, double, lines);
  device_read(loupe->device, loupe->graph->parameter[0].value, 0, sizeof(float) * lines, weight);
  acquisition_initial(&loupe->acquisition, taken);
  net_loupe_chances(weight, taken, lines, loupe->acquisition.budget, chance);
  net_loupe_best(chance, taken, lines, loupe->acquisition.budget, mask);
  bool good = store_write(store, "probability", STORE_F64, rank, shape, chance, false, error) &&
              store_write(store, "mask", STORE_U8, rank, shape, mask, false, error);
  arena_close(arena);
  return good;
}
