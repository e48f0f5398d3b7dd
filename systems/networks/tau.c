#include "systems/networks/tau.h"

#include "engine/base/log.h"
#include "engine/base/random.h"
#include "systems/networks/checkpoint.h"
#include "systems/networks/networks.h"
#include "systems/sampling/geometry.h"

#include <string.h>

/* ---- opening ------------------------------------------------------------------------------------------- */

size_t tau_passes(const struct options *options) {
  return options->tau.adaptive ? options->tau.steps + 1 : 1;
}

/* Every image and step has the same numbers. */
static void write_noise(struct tau *tau, size_t batch, struct arena *arena) {
  size_t count = 5 * scan_shape_pixels(&tau->acquisition.shape);
  float *noise = ARENA_NEW(arena, float, count);
  struct random random;
  random_start(&random, tau->noise_seed, STREAM_START, UINT32_MAX);
  for (size_t i = 0; i < count; i++) noise[i] = (float)random_normal(&random);
  for (size_t image = 0; image < batch; image++)
    device_write(tau->device, graph_value(tau->graph, tau->net.noise), sizeof(float) * count * image,
                 sizeof(float) * count, noise);
}

static void write_taken(struct tau *tau, size_t batch, struct arena *arena) {
  size_t lines = tau->acquisition.shape.actions;
  float *rows = ARENA_NEW(arena, float, batch *lines);
  acquisition_initial_rows(&tau->acquisition, batch, rows);
  device_write(tau->device, graph_value(tau->graph, tau->net.taken), 0, sizeof(float) * batch * lines, rows);
}

/* What the scanner padded is no part of what is acquired (systems/scan/reconstruct.c: view_masks). */
static void write_inside(struct tau *tau, size_t batch, struct arena *arena) {
  const struct scan_shape *shape = &tau->acquisition.shape;
  size_t lines = shape->actions;
  float *rows = ARENA_NEW(arena, float, batch *lines);
  for (size_t i = 0; i < batch * lines; i++)
    rows[i] = !scan_shape_is_padded(shape, i % lines);
  device_write(tau->device, graph_value(tau->graph, tau->net.inside), 0, sizeof(float) * batch * lines, rows);
}

/* Sizes of a sampler: steps, hidden values and so on. */
static void build(struct tau *tau, const struct masks_setup *setup) {
  enum device_matrix matrix = setup->device->facts.matrix;
  const struct options *options = setup->options;
  struct net_tau_setup net = net_tau_setup(options, tau->acquisition.budget);
  net.hidden = (int)tau->hidden;
  net.steps = tau->steps;
  net.adaptive = tau->adaptive;
  net.apart = tau->points;
  net.coils = (int)tau->coils;
  graph_open(&tau->graph);
  network_keep_apart(tau->graph, setup->device);
  tau->net = net_tau(tau->graph, &net);
  if (matrix == MATRIX_NVIDIA || matrix == MATRIX_EMULATED)
    tau->graph->products =
        (enum block_precision)options->network.precision == BLOCK_F32 ? PRODUCTS_SPLIT : PRODUCTS_ROUNDED;
}

/* The U-Net of points looks from the planes to a value a point, as a reconstructor does to an image. */
static struct reconstructor_setup sampler_setup(const struct tau *tau, const struct masks_setup *setup) {
  return (struct reconstructor_setup){.device = setup->device,
                                      .kernels = setup->kernels,
                                      .shape = tau->acquisition.shape,
                                      .channels = tau->channels,
                                      .pools = tau->pools,
                                      .inputs = 5,
                                      .before = "unet.",
                                      .any_path = true,
                                      .precision = (enum block_precision)setup->options->network.precision,
                                      .batch = tau->batch,
                                      .train = tau->train,
                                      .input_gradient = tau->train && tau->adaptive,
                                      .passes = tau->train && tau->adaptive ? tau->steps : 1};
}

/* To scan with, as many images a pass as fit; training has planned for it (tau_measure). */
static bool open_sampler(struct tau *tau, const struct masks_setup *setup, struct error *error) {
  struct reconstructor_setup sampler = sampler_setup(tau, setup);
  if (!tau->points) return true;
  if (!reconstructor_open(&tau->sampler, &sampler, error)) return false;
  if (tau->sampler.batch < tau->batch && tau->train)
    return fail(error, "%s has room for %zu image%s a pass, and %zu were planned: lower network.batch",
                setup->device->facts.name, tau->sampler.batch, plural(tau->sampler.batch), tau->batch);
  tau->batch = tau->sampler.batch;
  return true;
}

static const char *encoder_of(const struct tau *tau) {
  static const char *const names[] = {
      [VIEW_MAGNITUDE] = "loupe_images", [VIEW_COMPLEX] = "view_frequencies", [VIEW_COILS] = "view_coils"};
  return names[tau->view];
}

static bool plan(struct tau *tau, const struct masks_setup *setup, struct error *error) {
  struct graph_setup graph = {
      .device = setup->device, .kernels = setup->kernels, .batch = tau->batch, .train = setup->train};
  build(tau, setup);
  tau->slice = device_buffer(setup->device, sizeof(uint32_t) * tau->batch, "slices", error);
  return tau->slice && graph_plan(tau->graph, &graph, error) &&
         kernel_need(setup->kernels, encoder_of(tau), error) &&
         (tau->view != VIEW_COILS || kernel_need(setup->kernels, "view_units", error)) &&
         kernel_need(setup->kernels, "loupe_number", error) &&
         kernel_need(setup->kernels, "loupe_keep", error) &&
         kernel_need(setup->kernels, "sequence_rank", error);
}

static bool check_lines(const struct tau *tau, struct error *error) {
  const struct acquisition *scan = &tau->acquisition;
  if (scan->budget >= tau->steps) return true;
  return fail_usage(error,
                    "tau.steps is %u and %u %s%s acquired (x%u %s): every step takes one at least; lower "
                    "tau.steps or raise the budget",
                    tau->steps, scan->budget, geometry_of(scan)->one, scan->budget == 1 ? " is" : "s are",
                    scan->acceleration, scan->horizon);
}

/* The plan's buffers; of what the sampler is, the fields are set. */
static bool open_planned(struct tau *tau, const struct masks_setup *setup, struct error *error) {
  struct arena *arena = arena_open();
  bool good = check_lines(tau, error) && ((open_sampler(tau, setup, error) && plan(tau, setup, error)) ||
                                          fail_in(error, "the sampler of tau_step"));
  if (good) write_taken(tau, tau->batch, arena);
  if (good && !tau->adaptive) write_noise(tau, tau->batch, arena);
  if (good && tau->view == VIEW_COILS) write_inside(tau, tau->batch, arena);
  arena_close(arena);
  return good;
}

static struct tau describe(const struct masks_setup *setup) {
  const struct options *options = setup->options;
  return (struct tau){.device = setup->device,
                      .kernels = setup->kernels,
                      .acquisition = setup->acquisition,
                      .plane = sizeof(float) * scan_shape_pixels(&setup->acquisition.shape),
                      .batch = setup->batch,
                      .steps = options->tau.steps,
                      .hidden = options->tau.hidden,
                      .channels = options->tau.channels,
                      .pools = options->tau.pools,
                      .points = geometry_of(&setup->acquisition)->points,
                      .adaptive = options->tau.adaptive,
                      .train = setup->train,
                      .view = net_tau_view(options),
                      .coils = setup->coils ? setup->coils : 1,
                      .noise_seed = options->world.seed};
}

/* In training both work on the same images at every pass; else a pass serves many parts. */
static void share_buffers(struct tau *tau) {
  const struct graph *graph = tau->graph;
  if (!tau->train || !tau->adaptive) return;
  for (uint32_t part = 0; part <= tau->steps; part++) {
    struct path_ends ends = {.input = graph_value(graph, tau->net.observed[part])};
    if (part) ends.input_gradient = graph_gradient(graph, tau->net.observed[part]);
    if (part < tau->steps) {
      ends.output = graph_value(graph, tau->net.reconstruction[part]);
      ends.output_gradient = graph_gradient(graph, tau->net.reconstruction[part]);
    }
    reconstructor_share(tau->reconstructor, part, &ends);
  }
  reconstructor_select(tau->reconstructor, 0);
}

struct graph *tau_parameters(const struct tau *tau) {
  return tau->points ? tau->sampler.graph : tau->graph;
}

void tau_watch(struct tau *tau) {
  watch_graph(&tau->watch, tau_parameters(tau), SAMPLER_parameters);
}

static void tau_changed(struct tau *tau) {
  if (tau->points) reconstructor_changed(&tau->sampler);
}

bool tau_open(struct tau *tau, const struct masks_setup *setup, struct reconstructor *reconstructor,
              struct error *error) {
  const struct options *options = setup->options;
  struct optimiser_setup optimiser =
      optimise_defaults((enum optimiser_kind)options->train.optimiser, options->train.rate);
  *tau = describe(setup);
  tau->reconstructor = reconstructor;
  optimiser.clip = options->train.clip;
  if (open_planned(tau, setup, error) &&
      (!setup->train || optimise_open(&tau->optimiser, tau_parameters(tau), &optimiser, error))) {
    graph_start(tau_parameters(tau), options->world.seed);
    tau_changed(tau);
    share_buffers(tau);
    return true;
  }
  tau_close(tau);
  return false;
}

void tau_close(struct tau *tau) {
  if (tau->optimiser.device) optimise_close(&tau->optimiser);
  if (tau->graph) device_release(tau->device, tau->slice, sizeof(uint32_t) * tau->batch);
  graph_close(tau->graph);
  reconstructor_close(&tau->sampler);
  reconstructor_close(&tau->own);
  *tau = (struct tau){0};
}

/* Parameters, their gradients and an optimiser's two moments; activations of an image. Of points with what
 * their U-Net takes. */
bool tau_measure(const struct masks_setup *setup, struct network_need *need, struct error *error) {
  struct tau tau = describe(setup);
  struct reconstructor_setup sampler = sampler_setup(&tau, setup);
  build(&tau, setup);
  bool good = graph_good(tau.graph, error) &&
              (!tau.points || reconstructor_measure(&sampler, NULL, need, error));
  if (good) {
    need->batch = 0;
    need->desc = network_of_sampler(tau.points);
    need->bytes += 4 * sizeof(float) * tau.graph->elements;
    need->image += graph_measure(tau.graph, 1, true, false);
  }
  graph_close(tau.graph);
  return good;
}

/* ---- files --------------------------------------------------------------------------------------------- */

struct network_facts tau_facts(const struct tau *tau) {
  const struct acquisition *scan = &tau->acquisition;
  struct network_facts facts = {.channels = tau->channels,
                                .pools = tau->pools,
                                .hidden = tau->hidden,
                                .steps = tau->steps,
                                .adaptive = tau->adaptive,
                                .noise_seed = tau->noise_seed,
                                .initial_lines = scan->initial_lines,
                                .budget = scan->budget};
  strcpy(facts.geometry, geometry_of(scan)->name);
  return facts;
}

static bool read_parameters(struct tau *tau, struct store *store, struct error *error) {
  bool good = checkpoint_read_parameters(store, "sampler", tau_parameters(tau), error);
  if (good) tau_changed(tau);
  return good;
}

static bool check_scans(const struct tau *tau, const struct network_facts *facts, struct error *error) {
  const struct acquisition *scan = &tau->acquisition;
  if (facts->initial_lines == scan->initial_lines && facts->budget == scan->budget) return true;
  return fail(error,
              "it was trained for scans of %.0f initial and %.0f acquired %s%s; x%u %s has %u and %u: use the "
              "checkpoint that was trained for this acquisition",
              facts->initial_lines, facts->budget, geometry_of(scan)->one, plural((size_t)facts->budget), scan->acceleration, scan->horizon,
              scan->initial_lines, scan->budget);
}

static bool read_facts(struct tau *tau, struct store *store, struct error *error) {
  struct network_facts values = tau_facts(tau);
  if (!facts_read(network_of_sampler(tau->points)->facts, &values, store, error)) return false;
  tau->steps = (uint32_t)values.steps;
  tau->hidden = (uint32_t)values.hidden;
  tau->channels = (uint32_t)values.channels;
  tau->pools = (uint32_t)values.pools;
  tau->adaptive = values.adaptive != 0;
  tau->noise_seed = (uint32_t)values.noise_seed;
  return check_scans(tau, &values, error);
}

/* Before memory is taken for what the attributes say. */
static bool is_stored(struct tau *tau, const struct masks_setup *setup, struct store *store,
                      struct error *error) {
  struct reconstructor_setup sampler = sampler_setup(tau, setup);
  if (tau->points) return reconstructor_stored(&sampler, store, "sampler", error);
  build(tau, setup);
  bool good =
      graph_good(tau->graph, error) && checkpoint_check_parameters(store, "sampler", tau->graph, error);
  graph_close(tau->graph);
  tau->graph = NULL;
  return good;
}

/* After its reconstructor, whose images are of the size. */
static bool load(struct tau *tau, struct store *store, const struct masks_setup *setup, struct error *error) {
  tau->batch = tau->own.batch;
  return read_facts(tau, store, error) && check_lines(tau, error) && is_stored(tau, setup, store, error) &&
         open_planned(tau, setup, error) && read_parameters(tau, store, error);
}

bool tau_load(struct tau *tau, const char *path, const struct masks_setup *setup, struct error *error) {
  struct reconstructor_setup own =
      reconstructor_setup_of(setup->device, setup->kernels, setup->options, setup->batch);
  struct store *store;
  *tau = describe(setup);
  tau->reconstructor = &tau->own;
  reconstructor_set_coils(&own, setup->coils);
  bool good = store_open(&store, path, error);
  if (good) {
    good = (facts_kind(network_of_sampler(tau->points)->facts, store, error) || fail_in(error, "%s", path)) &&
           reconstructor_load(&tau->own, path, &own, error) &&
           (load(tau, store, setup, error) || fail_in(error, "%s", path));
    store_close(store);
  }
  if (!good) tau_close(tau);
  return good;
}
