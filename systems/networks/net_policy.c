#include "systems/networks/net_policy.h"

#include <math.h>

enum { POOLS_MOST = 12 };

#define ENCODER "features_extractor.extractors.reconstruction_input"

static bool check(struct graph *graph, int channels, int pools) {
  if (channels < 1 || pools < 1 || pools > POOLS_MOST)
    return fail(&graph->first,
                "policy with %d channels and %d pools; it takes 1 channel or more and 1 to %d pools",
                channels, pools, POOLS_MOST);
  return true;
}

bool net_policy_takes(struct graph *graph, int channels, int pools) {
  if (!graph->failed) graph->failed = !check(graph, channels, pools);
  return !graph->failed;
}

/* Place 0 of the public list; its norm, ReLU and pooling have no parameters. */
static tensor layer(struct graph *graph, tensor x, const char *name, int channels) {
  tensor raw = conv2d(graph, x, graph_name(graph, ENCODER ".%s.layers.0", name), channels, 3);
  return relu(graph, instance_norm(graph, graph_orthogonal(graph, raw, sqrt(2))));
}

tensor net_policy_maps(struct graph *graph, tensor observation, int channels, int pools) {
  if (!net_policy_takes(graph, channels, pools)) return observation;
  tensor x = layer(graph, pad_to_multiple(graph, observation, 1 << pools), "channel_layer", channels);
  for (int i = 0; i < pools; i++)
    x = max_pool(graph, layer(graph, x, graph_name(graph, "down_sample_layers.%d", i), channels << (i + 1)));
  return x;
}

static tensor dense(struct graph *graph, tensor x, int place, int outputs) {
  return graph_orthogonal(graph, linear(graph, x, graph_name(graph, ENCODER ".fc_out.%d", place), outputs),
                          sqrt(2));
}

struct net_policy_heads net_policy_heads(struct graph *graph, tensor maps, tensor mask, int hidden) {
  struct net_policy_heads heads = {maps, maps};
  if (graph->failed) return heads;
  int lines = graph_node(graph, mask)->shape.channels;
  tensor x = leaky_relu(graph, dense(graph, maps, 0, hidden), 0.01f);
  x = leaky_relu(graph, dense(graph, x, 2, hidden), 0.01f);
  heads.logits = dense(graph, x, 4, lines);
  graph_output(graph, heads.logits);
  heads.value = graph_orthogonal(graph, linear(graph, concat(graph, mask, heads.logits), "value_net", 1), 1);
  return heads;
}
