/* The policy and its critic: the encoder of PROTOCOL 1.6 with the parameter names of the public
 * implementation, in two parts that another path may take over one by one. Weights start orthogonal, as in
 * stable-baselines3. */
#ifndef L2SR_SYSTEMS_NET_POLICY_H
#define L2SR_SYSTEMS_NET_POLICY_H

#include "engine/graph/graph.h"

/* Whether there are such networks; if not the graph has failed and says why. */
bool net_policy_takes(struct graph *graph, int channels, int pools);

/* Observation to pooled maps: `channels` after the first convolution, doubled before each of the `pools`
 * poolings. Height and width that do not halve so often are padded first (graph.h: pad_to_multiple). */
tensor net_policy_maps(struct graph *graph, tensor observation, int channels, int pools);

struct net_policy_heads {
  tensor logits; /* one for every line, acquired or not: kernels/policy.cl leaves those out */
  tensor value;  /* the critic's, from the mask and the logits */
};

/* Pooled maps, flattened, through two hidden layers of `hidden` to one logit for each entry of the mask. */
struct net_policy_heads net_policy_heads(struct graph *graph, tensor maps, tensor mask, int hidden);

#endif
