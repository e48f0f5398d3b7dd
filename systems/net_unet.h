/* The reconstructor: the U-Net of PROTOCOL 1.8 with the parameter names of the public implementation. */
#ifndef L2SR_SYSTEMS_NET_UNET_H
#define L2SR_SYSTEMS_NET_UNET_H

#include "components/options.h"
#include "engine/graph.h"

/* Appends the network: `channels` after the first block, doubled at each of the `pools` poolings. The input
 * has one channel, the output is the normalised image. Height and width must halve `pools` times. */
tensor net_unet(struct graph *graph, tensor x, int channels, int pools);

/* Refuses sizes of options that no network has, as wrong usage; before anything is loaded. */
bool net_unet_check(const struct options *options, struct error *error);

#endif
