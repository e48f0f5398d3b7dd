#include "systems/networks/net_loupe.h"

#include "systems/sampling/geometry.h"

#include <math.h>
#include <stdlib.h>

static const float SHARPNESS = 5; /* of the probabilities: sigmoid(5 weight) */

bool loupe_encodes(const struct options *options) {
  return options->reconstruct.method == RECONSTRUCT_VARNET;
}

bool loupe_views(const struct options *options) {
  return !loupe_encodes(options) && (options->network.input == INPUT_COMPLEX || geometry_chosen(options)->points);
}

struct net_loupe_setup net_loupe_setup(const struct options *options, uint32_t budget) {
  return (struct net_loupe_setup){.shape = scan_shape_of(options),
                                  .points = geometry_chosen(options)->points,
                                  .budget = budget,
                                  .seed = options->world.seed,
                                  .slope = (float)options->loupe.slope,
                                  .views = loupe_views(options),
                                  .view = (enum net_view_kind)options->network.input};
}

/* The mask is read after the forward pass, and so are thresholds of a check. */
static void see(struct graph *graph, struct net_loupe *net, const struct net_loupe_setup *setup, tensor drawn,
                tensor chance, tensor threshold) {
  tensor mask = drawn;
  graph_output(graph, net->mask);
  if (setup->smooth) {
    graph_output(graph, threshold);
    mask = add(graph, net_view_smooth(graph, chance, threshold, setup->slope), net->taken);
  }
  net->frequencies = graph_input(graph, "frequencies", 2, (int)setup->shape.height, (int)setup->shape.width);
  net->observed = net_view(graph, net->frequencies, mask, setup->view).observed;
}

struct net_loupe net_loupe(struct graph *graph, const struct net_loupe_setup *setup) {
  int height = setup->points ? (int)setup->shape.height : 1, width = (int)setup->shape.width;
  struct net_loupe net = {.taken = graph_input(graph, "taken", 1, height, width),
                          .scan = graph_input(graph, "scan", 1, 1, 1)};
  tensor weight = learned(graph, "probability.weight", 1, height, width, 1 / (double)SHARPNESS);
  tensor chance = rescale(graph, sigmoid(graph, scale(graph, weight, SHARPNESS)), net.taken, setup->budget);
  tensor threshold = exact_threshold(graph, chance, net.taken, net.scan, setup->budget, setup->seed, 0);
  tensor drawn = add(graph, straight_through(graph, chance, threshold, setup->slope), net.taken);
  net.mask = setup->views ? detach(graph, drawn) : drawn;
  net.drawn = graph->nodes;
  if (setup->views) see(graph, &net, setup, drawn, chance, threshold);
  return net;
}

void net_loupe_chances(const float *weight, const uint8_t *taken, size_t lines, uint32_t budget,
                       double *chance) {
  double mean = 0, count = 0;
  for (size_t i = 0; i < lines; i++) {
    chance[i] = taken[i] ? 0 : 1 / (1 + exp(-SHARPNESS * (double)weight[i]));
    mean += chance[i];
    count += !taken[i];
  }
  mean /= count;
  double wanted = budget / count;
  for (size_t i = 0; i < lines; i++)
    if (!taken[i])
      chance[i] =
          wanted <= mean ? chance[i] * wanted / mean : 1 - (1 - chance[i]) * (1 - wanted) / (1 - mean);
}

static int compare_falling(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x < y) - (x > y);
}

/* Takes those above the last one taken, and the first of its equals. */
void net_loupe_best(const double *chance, const uint8_t *taken, size_t lines, uint32_t budget,
                    uint8_t *mask) {
  struct arena *arena = arena_open();
  double *falling = ARENA_NEW(arena, double, lines);
  size_t count = 0, left = budget;
  for (size_t i = 0; i < lines; i++)
    if (!taken[i]) falling[count++] = chance[i];
  qsort(falling, count, sizeof *falling, compare_falling);
  for (size_t i = 0; i < lines; i++) {
    mask[i] = taken[i] || (budget && chance[i] > falling[budget - 1]);
    left -= mask[i] && !taken[i];
  }
  for (size_t i = 0; i < lines && left; i++)
    if (!mask[i] && chance[i] == falling[budget - 1]) mask[i] = 1, left--;
  arena_close(arena);
}
