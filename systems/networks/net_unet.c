#include "systems/networks/net_unet.h"

enum { POOLS_MOST = 12 };

/* Twice 3x3 convolution, instance norm, ReLU; the places 2, 3, 6 and 7 of the public list hold what has no
 * parameters. */
static tensor block(struct graph *graph, tensor x, const char *name, int channels) {
  for (int i = 0; i < 2; i++)
    x = relu(graph, instance_norm(graph, conv2d(graph, x, graph_name(graph, "%s.layers.%d", name, 4 * i),
                                                channels, 3)));
  return x;
}

static bool check(struct graph *graph, int channels, int pools) {
  if (graph->failed) return false;
  if (channels < 2 || pools < 1 || pools > POOLS_MOST)
    return fail(&graph->first,
                "U-Net with %d channels and %d pools; it takes 2 channels or more and 1 to %d pools",
                channels, pools, POOLS_MOST);
  return true;
}

tensor net_unet_named(struct graph *graph, tensor x, const char *before, int channels, int pools) {
  tensor skip[POOLS_MOST];
  if (!check(graph, channels, pools)) {
    graph->failed = true;
    return x;
  }
  bool complex = graph_node(graph, x)->shape.channels == 2;
  tensor image = x;
  x = pad_to_multiple(graph, x, 1 << pools); /* or up-sampling would come back smaller than what it is joined with */
  for (int i = 0; i < pools; i++) {
    x = skip[i] = block(graph, x, graph_name(graph, "%sdown_sample_layers.%d", before, i), channels << i);
    x = max_pool(graph, x);
  }
  x = block(graph, x, graph_name(graph, "%sconv", before), channels << (pools - 1));
  for (int i = 0; i < pools; i++) {
    int out = i < pools - 1 ? channels << (pools - 2 - i) : channels;
    x = concat(graph, up_sample(graph, x), skip[pools - 1 - i]);
    x = block(graph, x, graph_name(graph, "%sup_sample_layers.%d", before, i), out);
  }
  x = crop_to(graph, x, image);
  x = conv2d(graph, x, graph_name(graph, "%sconv2.0", before), channels / 2, 1);
  x = conv2d(graph, x, graph_name(graph, "%sconv2.1", before), 1, 1);
  x = conv2d(graph, x, graph_name(graph, "%sconv2.2", before), 1, 1);
  return complex ? graph_normal(graph, x, 0.001) : x;
}

tensor net_unet(struct graph *graph, tensor x, int channels, int pools) {
  return net_unet_named(graph, x, "", channels, pools);
}

/* |x| as two ReLUs. */
tensor net_unet_sum(struct graph *graph, tensor residual, tensor image, bool absolute) {
  tensor sum = add(graph, residual, magnitude(graph, image));
  return absolute ? add(graph, relu(graph, sum), relu(graph, scale(graph, sum, -1))) : sum;
}
