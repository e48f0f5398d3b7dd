/* The reconstructor: the U-Net of PROTOCOL 1.8 with the parameter names of the public implementation. */
#ifndef L2SR_SYSTEMS_NET_UNET_H
#define L2SR_SYSTEMS_NET_UNET_H

#include "engine/graph/graph.h"

/* Appends the network: `channels` after the first block, doubled at each of the `pools` poolings. Of an input
 * of one channel the output is the normalised image; of a complex one, two channels, it is what net_unet_sum
 * adds to, and starts near 0. Height and width that do not halve `pools` times are padded first, and the last
 * block's output is cut to them (graph.h: pad_to_multiple). */
tensor net_unet(struct graph *graph, tensor x, int channels, int pools);
/* The same, `before` in front of the names of its parameters; an input of other channels is no image, and the
 * output one value a pixel. */
tensor net_unet_named(struct graph *graph, tensor x, const char *before, int channels, int pools);
/* The reconstruction from complex images [2][height][width] (PROTOCOL 3.2), in their units: the network's
 * output, added to their magnitude; absolute: of that the absolute value. */
tensor net_unet_sum(struct graph *graph, tensor residual, tensor image, bool absolute);

#endif
