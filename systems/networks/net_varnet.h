/* The end-to-end variational network (A. Sriram et al. 2020, arXiv 2004.06688) with the parameter names of
 * the public implementation: cascades that take a step towards the acquired frequencies of all coils and one
 * that a U-Net of the coils' combined image learns; with a network of their sensitivities, or maps that are
 * given. */
#ifndef L2SR_SYSTEMS_NET_VARNET_H
#define L2SR_SYSTEMS_NET_VARNET_H

#include "components/options.h"
#include "engine/graph/graph.h"

struct net_varnet_setup {
  int height, width, coils;
  int cascades, channels,
      pools; /* of a cascade's U-Net: channels after the first block, doubled at each pooling */
  int sense_channels, sense_pools; /* of the sensitivities' */
  bool maps;                       /* they are an input, and have no network */
  bool points;                     /* the mask is of points, not of columns */
  bool half;                       /* U-Nets are fused, in half precision (engine/fused/unet.h) */
};

struct net_varnet {
  tensor frequencies; /* input, of every coil [2][height][width]: those that are acquired, 0 elsewhere */
  tensor mask;        /* input, 1 where they are: [1][1][width], or [1][height][width] */
  tensor maps;        /* of every coil [2][height][width]; an input where the setup says so */
  tensor out; /* [1][height][width]: root of the sum of squares over coils, in the units of the input */
};

/* A setup as the scene has it, of so many coils. */
struct net_varnet_setup net_varnet_setup(const struct options *options, size_t coils);

/* Appends the network. The network of sensitivities looks at the columns that are acquired without a gap
 * around the middle (mask_middle), and so needs a mask of columns. */
struct net_varnet net_varnet(struct graph *graph, const struct net_varnet_setup *setup);
/* The same of frequencies and a mask that nodes of the graph make, for a setup that net_varnet would take. Its gradient
 * goes back to both, but not through which columns are the middle. */
struct net_varnet net_varnet_of(struct graph *graph, const struct net_varnet_setup *setup, tensor frequencies,
                                tensor mask);

/* The U-Net of a cascade or of the sensitivities, of complex images: planes normalised and padded, and both undone. half:
 * as one operation, in half precision. */
tensor net_norm_unet(struct graph *graph, tensor x, const char *name, int channels, int pools, bool half);

#endif
