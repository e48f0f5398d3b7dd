#include "systems/networks/net_varnet.h"

#include "components/scan_shape.h"
#include "engine/fused/block.h"
#include "engine/fused/unet.h"
#include "systems/networks/op_coils.h"

enum {
  POOLS_MOST = 12,
  SIDE = 16
}; /* images are padded to multiples of this, as the public implementation does */

static const float slope = 0.2f;

struct net_varnet_setup net_varnet_setup(const struct options *options, size_t coils) {
  const struct scan_shape shape = scan_shape_of(options);
  return (struct net_varnet_setup){.height = (int)shape.height,
                                   .width = (int)shape.width,
                                   .coils = coils ? (int)coils : 1,
                                   .cascades = (int)options->varnet.cascades,
                                   .channels = (int)options->varnet.channels,
                                   .pools = (int)options->varnet.pools,
                                   .sense_channels = (int)options->varnet.sense_channels,
                                   .sense_pools = (int)options->varnet.sense_pools,
                                   .maps = options->varnet.sense == SENSE_MAPS,
                                   .points = scan_geometry(options) == GEOMETRY_POINTS,
                                   .half = options->network.precision == BLOCK_HALF};
}

/* Twice 3x3 convolution, instance norm, leaky ReLU; the other places of the public list have no parameters.
 */
static tensor block(struct graph *graph, tensor x, const char *name, int channels) {
  for (int i = 0; i < 2; i++)
    x = leaky_relu(graph,
                   instance_norm(graph, conv2d_plain(graph, x, graph_name(graph, "%s.layers.%d", name, 4 * i),
                                                     channels, 3)),
                   slope);
  return x;
}

/* Twice the size and half the channels. */
static tensor rise(struct graph *graph, tensor x, const char *name, int channels) {
  x = conv_transposed(graph, x, graph_name(graph, "%s.layers.0", name), channels);
  return leaky_relu(graph, instance_norm(graph, x), slope);
}

/* From complex images to complex images. The last block stands in a list with the convolution that follows
 * it. */
static tensor unet(struct graph *graph, tensor x, const char *name, int channels, int pools) {
  tensor skip[POOLS_MOST];
  for (int i = 0; i < pools; i++) {
    x = skip[i] = block(graph, x, graph_name(graph, "%s.down_sample_layers.%d", name, i), channels << i);
    x = average_pool(graph, x);
  }
  x = block(graph, x, graph_name(graph, "%s.conv", name), channels << pools);
  for (int i = 0; i < pools; i++) {
    int out = channels << (pools - 1 - i);
    x = rise(graph, x, graph_name(graph, "%s.up_transpose_conv.%d", name, i), out);
    x = concat(graph, x, skip[pools - 1 - i]);
    x = block(graph, x, graph_name(graph, i < pools - 1 ? "%s.up_conv.%d" : "%s.up_conv.%d.0", name, i), out);
  }
  return conv2d(graph, x, graph_name(graph, "%s.up_conv.%d.1", name, pools - 1), 2, 1);
}

/* The same on planes of mean 0 and deviation 1, padded so that they halve. */
tensor net_norm_unet(struct graph *graph, tensor x, const char *name, int channels, int pools, bool half) {
  int multiple = 1 << pools > SIDE ? 1 << pools : SIDE;
  if (half) return fused_unet(graph, x, graph_name(graph, "%s.unet", name), channels, pools);
  tensor out = pad_to_multiple(graph, normalise_planes(graph, x), multiple);
  out = unet(graph, out, graph_name(graph, "%s.unet", name), channels, pools);
  return restore_planes(graph, crop_to(graph, out, x), x);
}

static tensor find_maps(struct graph *graph, const struct net_varnet_setup *setup,
                        const struct net_varnet *net) {
  tensor middle = multiply(graph, net->frequencies, mask_middle(graph, net->mask));
  tensor images = inverse_fourier(graph, middle);
  return coil_unit(graph,
                   net_norm_unet(graph, images, "sens_net.norm_unet", setup->sense_channels, setup->sense_pools,
                             setup->half));
}

/* U(S* x) of the images x of coils. */
static tensor refine(struct graph *graph, const struct net_varnet_setup *setup, const struct net_varnet *net, tensor x,
                     const char *name) {
  return net_norm_unet(graph, coil_gather(graph, net->maps, x), graph_name(graph, "%s.model", name), setup->channels,
                       setup->pools, setup->half);
}

/* x - step mask (x - acquired) - F S U(S* F^-1 x). */
static tensor cascade(struct graph *graph, const struct net_varnet_setup *setup, const struct net_varnet *net,
                      tensor x, int i) {
  const char *name = graph_name(graph, "cascades.%d", i);
  tensor image = refine(graph, setup, net, inverse_fourier(graph, x), name);
  tensor model = fourier(graph, coil_spread(graph, net->maps, scale(graph, image, -1)));
  return add(graph,
             consistency(graph, x, net->frequencies, net->mask, graph_name(graph, "%s.dc_weight", name)),
             model);
}

/* All cascades. With F^-1 before each and F after it they take and give images; where the mask is of columns, what is left of
 * both transforms is along rows. */
static tensor cascades(struct graph *graph, const struct net_varnet_setup *setup, const struct net_varnet *net) {
  tensor x = net->frequencies;
  if (!row_consistency_fits(graph, x, net->mask)) {
    for (int i = 0; i < setup->cascades; i++) x = cascade(graph, setup, net, x, i);
    return inverse_fourier(graph, x);
  }
  tensor acquired = x = inverse_fourier(graph, x);
  for (int i = 0; i < setup->cascades; i++) {
    const char *name = graph_name(graph, "cascades.%d", i);
    tensor image = refine(graph, setup, net, x, name);
    x = row_consistency(graph, &(struct row_inputs){x, acquired, net->mask, net->maps, image},
                        graph_name(graph, "%s.dc_weight", name));
  }
  return x;
}

static bool check_unet(const char *whose, int channels, int pools, struct error *error) {
  return (channels >= 1 && pools >= 1 && pools <= POOLS_MOST) ||
         fail(error, "%s with %d channels and %d pools; it takes 1 channel or more and 1 to %d pools", whose,
              channels, pools, POOLS_MOST);
}

static bool check(struct graph *graph, const struct net_varnet_setup *setup) {
  struct error *error = &graph->first;
  if (graph->failed) return false;
  if (setup->coils < 1 || setup->cascades < 1)
    return fail(error,
                "a variational network of %d coils and %d cascades; there must be one of both at least",
                setup->coils, setup->cascades);
  if (setup->points && !setup->maps)
    return fail(
        error,
        "the network of sensitivities knows the middle of columns; with points or spokes give it maps");
  return check_unet("a cascade's U-Net", setup->channels, setup->pools, error) &&
         (setup->maps ||
          check_unet("the sensitivities' U-Net", setup->sense_channels, setup->sense_pools, error));
}

struct net_varnet net_varnet(struct graph *graph, const struct net_varnet_setup *setup) {
  int height = setup->height, width = setup->width;
  if (!check(graph, setup)) {
    graph->failed = true;
    return (struct net_varnet){{0}, {0}, {0}, {0}};
  }
  tensor frequencies = graph_input_copies(graph, "frequencies", setup->coils, 2, height, width);
  return net_varnet_of(graph, setup, frequencies, graph_input(graph, "mask", 1, setup->points ? height : 1, width));
}

struct net_varnet net_varnet_of(struct graph *graph, const struct net_varnet_setup *setup, tensor frequencies,
                                tensor mask) {
  struct net_varnet net = {.frequencies = frequencies, .mask = mask};
  net.maps = setup->maps ? graph_input_copies(graph, "maps", setup->coils, 2, setup->height, setup->width)
                         : find_maps(graph, setup, &net);
  net.out = coil_root(graph, cascades(graph, setup, &net));
  return net;
}
