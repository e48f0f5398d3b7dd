/* The policy of PG-MRI (PROTOCOL 2) with the parameter names of the public implementation: the encoder of
 * systems/networks/net_policy.h without a critic, which does not see the mask, in the same two parts. Weights start as
 * PyTorch's. */
#ifndef L2SR_SYSTEMS_NET_PGMRI_H
#define L2SR_SYSTEMS_NET_PGMRI_H

#include "engine/graph/graph.h"

/* Reconstruction, in normalised units, to pooled maps. */
tensor net_pgmri_maps(struct graph *graph, tensor reconstruction, int channels, int pools);

/* Pooled maps, flattened, through two hidden layers of `hidden` to one logit for each of the lines. */
tensor net_pgmri_logits(struct graph *graph, tensor maps, int hidden, int lines);

#endif
