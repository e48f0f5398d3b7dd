#include "systems/networks/net_tau.h"

#include "systems/networks/net_unet.h"
#include "systems/networks/op_coils.h"
#include "systems/networks/op_sampler.h"
#include "systems/sampling/geometry.h"

#include <math.h>

enum net_view_kind net_tau_view(const struct options *options) {
  return options->reconstruct.method == RECONSTRUCT_VARNET ? VIEW_COILS : (enum net_view_kind)options->network.input;
}

struct net_tau_setup net_tau_setup(const struct options *options, uint32_t budget) {
  return (struct net_tau_setup){.shape = scan_shape_of(options),
                                .hidden = (int)options->tau.hidden,
                                .points = geometry_chosen(options)->points,
                                .channels = (int)options->tau.channels,
                                .pools = (int)options->tau.pools,
                                .steps = options->tau.steps,
                                .budget = budget,
                                .seed = options->world.seed,
                                .slope = (float)options->tau.slope,
                                .view = net_tau_view(options),
                                .coils = 1,
                                .adaptive = options->tau.adaptive};
}

uint32_t net_tau_lines(uint32_t budget, uint32_t steps, uint32_t step) {
  uint64_t before = ((uint64_t)budget * step + steps - 1) / steps,
           after = ((uint64_t)budget * (step + 1) + steps - 1) / steps;
  return (uint32_t)(after - before);
}

static tensor plane(struct graph *graph, const char *name, int channels, const struct net_tau_setup *setup) {
  return graph_input(graph, name, channels, (int)setup->shape.height, (int)setup->shape.width);
}

static tensor layers(struct graph *graph, tensor x, const struct net_tau_setup *setup) {
  if (setup->points) return net_unet_named(graph, x, "unet.", setup->channels, setup->pools);
  for (int i = 0; i < TAU_LAYERS - 1; i++)
    x = relu(graph, linear(graph, x, graph_name(graph, "layers.%d", 2 * i), setup->hidden));
  return linear(graph, x, graph_name(graph, "layers.%d", 2 * (TAU_LAYERS - 1)), (int)setup->shape.actions);
}

static struct net_view add_view(struct graph *graph, struct net_tau *net, const struct net_tau_setup *setup,
                            tensor frequencies, tensor mask, uint32_t pass) {
  struct net_view view = net_view(graph, frequencies, mask, setup->view);
  net->observed[pass] = view.observed;
  if (setup->view != VIEW_COILS) return view;
  net->kept[pass] = multiply(graph, mask, net->inside);
  if (!setup->reconstruct) graph_output(graph, view.observed); /* what the sampler sees gives it no gradient */
  return view;
}

/* For a reconstruction in its own units the sampler sees the un-normalised transform, and acquired
 * frequencies as large (PROTOCOL 3.3). */
static tensor see_complex(struct graph *graph, const struct net_tau *net, const struct net_tau_setup *setup,
                          tensor image, const struct net_view *view, uint32_t step) {
  float factor = (float)sqrt((double)scan_shape_pixels(&setup->shape));
  return sampler_planes(graph, fourier(graph, scale(graph, image, factor)),
                        scale(graph, view->frequencies, factor), net->mask[step]);
}

/* Of several coils the sampler sees the zero-filled image, their root of the sum of squares, in place of each: what a
 * reconstruction is of, too. */
static tensor see_coils(struct graph *graph, const struct net_tau *net, tensor image, const struct net_view *view,
                        uint32_t step) {
  tensor zero_filled = coil_root(graph, inverse_fourier(graph, view->observed));
  tensor acquired = multiply(graph, fourier(graph, zero_filled), net->mask[step]);
  return sampler_planes(graph, fourier(graph, in_units(graph, image, net->units)), acquired, net->mask[step]);
}

/* The frequencies of the last reconstruction, which is real, in the units of what it was made from. */
static tensor see(struct graph *graph, struct net_tau *net, const struct net_tau_setup *setup,
                  const struct net_view *view, uint32_t step) {
  if (!setup->adaptive) return net->noise;
  tensor *from = &net->reconstruction[step];
  *from = setup->reconstruct ? setup->reconstruct(graph, net, step)
                             : plane(graph, graph_name(graph, "reconstruction.%u", step), 1, setup);
  if (!setup->reconstruct) graph_want(graph, *from);
  if (setup->view == VIEW_COMPLEX) return see_complex(graph, net, setup, *from, view, step);
  if (setup->view == VIEW_COILS) return see_coils(graph, net, *from, view, step);
  tensor predicted = fourier(graph, restore_image(graph, *from, view->image));
  return sampler_planes(graph, predicted, view->frequencies, net->mask[step]);
}

/* Whether an image of the lines after the step is looked at. */
static bool is_seen(const struct net_tau_setup *setup, uint32_t step) {
  return setup->adaptive || step + 1 == setup->steps;
}

/* The sampler's output is an input of its own here: the caller's part ends before it. */
static tensor score(struct graph *graph, struct net_tau *net, const struct net_tau_setup *setup, tensor seen,
                    uint32_t step) {
  if (!setup->apart) return layers(graph, seen, setup);
  net->planes[step] = seen;
  net->cut[step] = graph->nodes;
  net->scores[step] = plane(graph, graph_name(graph, "scores.%u", step), 1, setup);
  graph_want(graph, net->scores[step]);
  return net->scores[step];
}

/* The lines of a step, as a mask with those before. */
static tensor draw(struct graph *graph, struct net_tau *net, const struct net_tau_setup *setup, tensor seen,
                   uint32_t step) {
  tensor before = net->mask[step];
  uint32_t budget = net_tau_lines(setup->budget, setup->steps, step);
  tensor scores = score(graph, net, setup, seen, step);
  tensor chance = rescale(graph, softplus_share(graph, scores, before), before, budget);
  tensor threshold = exact_threshold(graph, chance, before, net->scan, budget, setup->seed, step);
  tensor drawn = straight_through(graph, chance, threshold, setup->slope);
  tensor after = add(graph, drawn, before);
  net->mask[step + 1] = detach(graph, after);
  graph_output(graph, net->mask[step + 1]);
  if (setup->smooth) graph_output(graph, threshold);
  if (!setup->smooth || !is_seen(setup, step)) return after;
  return add(graph, net_view_smooth(graph, chance, threshold, setup->slope), before);
}

static struct net_tau inputs(struct graph *graph, const struct net_tau_setup *setup) {
  int rows = setup->points ? (int)setup->shape.height : 1, width = (int)setup->shape.width;
  bool coils = setup->view == VIEW_COILS;
  struct net_tau net = {
      .image = graph_input_copies(graph, setup->view == VIEW_MAGNITUDE ? "image" : "frequencies",
                                  coils ? setup->coils : 1, 2, (int)setup->shape.height, width),
      .taken = graph_input(graph, "taken", 1, rows, width),
      .scan = graph_input(graph, "scan", 1, 1, 1)};
  if (coils) net.inside = graph_input(graph, "inside", 1, rows, width);
  if (coils) net.units = graph_input(graph, "units", 2, 1, 1);
  return net;
}

struct net_tau net_tau(struct graph *graph, const struct net_tau_setup *setup) {
  struct net_tau net = inputs(graph, setup);
  struct net_view view = {{0}, {0}, {0}};
  graph_share(graph);
  if (!setup->adaptive) net.noise = plane(graph, "noise", 5, setup);
  tensor frequencies = setup->view == VIEW_MAGNITUDE ? fourier(graph, net.image) : net.image;
  net.mask[0] = net.taken;
  if (setup->adaptive) view = add_view(graph, &net, setup, frequencies, net.taken, 0);
  net.end[0] = graph->nodes;
  for (uint32_t step = 0; step < setup->steps; step++) {
    tensor mask = draw(graph, &net, setup, see(graph, &net, setup, &view, step), step);
    if (is_seen(setup, step)) view = add_view(graph, &net, setup, frequencies, mask, step + 1);
    net.end[step + 1] = graph->nodes;
  }
  return net;
}
