#include "systems/networks/net_view.h"

struct net_view net_view(struct graph *graph, tensor frequencies, tensor mask, enum net_view_kind kind) {
  struct net_view view = {.frequencies = multiply(graph, frequencies, mask)};
  if (kind == VIEW_COILS) return (struct net_view){.frequencies = view.frequencies, .observed = view.frequencies};
  view.image = view.observed = inverse_fourier(graph, view.frequencies);
  if (kind == VIEW_COMPLEX) return view;
  view.image = magnitude(graph, view.image);
  view.observed = standardise_image(graph, view.image);
  return view;
}

tensor net_view_smooth(struct graph *graph, tensor chance, tensor threshold, float slope) {
  return sigmoid(graph, scale(graph, add(graph, chance, scale(graph, threshold, -1)), slope));
}
