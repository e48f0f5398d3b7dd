#include "systems/networks/net_pgmri.h"

#include "systems/networks/net_policy.h"

/* Place 0 of the public list; its norm, ReLU and pooling have no parameters. */
static tensor layer(struct graph *graph, tensor x, const char *name, int channels) {
  return relu(graph,
              instance_norm(graph, conv2d(graph, x, graph_name(graph, "%s.layers.0", name), channels, 3)));
}

tensor net_pgmri_maps(struct graph *graph, tensor reconstruction, int channels, int pools) {
  if (!net_policy_takes(graph, channels, pools)) return reconstruction;
  tensor x = layer(graph, pad_to_multiple(graph, reconstruction, 1 << pools), "channel_layer", channels);
  for (int i = 0; i < pools; i++)
    x = max_pool(graph, layer(graph, x, graph_name(graph, "down_sample_layers.%d", i), channels << (i + 1)));
  return x;
}

tensor net_pgmri_logits(struct graph *graph, tensor maps, int hidden, int lines) {
  tensor x = leaky_relu(graph, linear(graph, maps, "fc_out.0", hidden), 0.01f);
  x = leaky_relu(graph, linear(graph, x, "fc_out.2", hidden), 0.01f);
  return linear(graph, x, "fc_out.4", lines);
}
