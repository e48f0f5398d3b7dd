/* A U-Net of complex images as one operation of a graph, in half precision by matrix instructions
 * (kernels/unet.cl): what the variational network of the literature has in every cascade. Planes are
 * normalised by mean and sample deviation, padded by zeros, go through blocks of 3x3 convolution, instance
 * norm and leaky ReLU of slope 0.2, with average pooling down and transposed convolutions up, and get their
 * units back.
 *
 * Maps are kept as halves, sums are 32-bit floats: an image is within 1e-3 of the same operations one by one, gradients of
 * random numbers within 2e-1 where four pools follow each other, 1e-1 of one (tests/test_unet.c). Channels are padded to multiples of eight in memory alone. */
#ifndef L2SR_ENGINE_UNET_H
#define L2SR_ENGINE_UNET_H

#include "engine/graph/graph.h"

extern const struct op_desc op_fused_unet;

/* Of complex images [2][height][width], with `channels` after the first block, doubled by each of `pools`
 * poolings. Its parameters are those of the same operations one by one, in that order, named as the public
 * implementation does: NAME.down_sample_layers.0.layers.0.weight and so on. */
tensor fused_unet(struct graph *graph, tensor x, const char *name, int channels, int pools);
/* Whether the device has what it needs; the text says what is not. */
bool fused_unet_fits(const struct device *device, struct error *error);

#endif
