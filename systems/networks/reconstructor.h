/* The network that makes an image of a zero-filled one, behind one interface for train, evaluate and render:
 * the U-Net of systems/networks/net_unet.h on the fused path (engine/fused/block.h) where the device and the
 * sizes allow, else on the portable graph. Of complex images a small graph beside either adds the network's
 * output to the magnitude. */
#ifndef L2SR_SYSTEMS_RECONSTRUCTOR_H
#define L2SR_SYSTEMS_RECONSTRUCTOR_H

#include "engine/ecs/world.h"
#include "systems/networks/net_varnet.h"
#include "systems/networks/network.h"

struct reconstructor_setup {
  struct device *device;
  struct kernels *kernels;
  struct scan_shape shape;
  uint32_t channels, pools;
  bool complex;  /* the input is a complex image, in its own units, and so is the output; else both are
                    normalised */
  bool absolute; /* complex: the output is an absolute value (LOUPE's) */
  double scale;  /* complex: by which images were divided (data.scale): a checkpoint is of these units */
  struct net_varnet_setup varnet; /* the variational network, whose images are normalised; cascades 0: a U-Net */
  uint32_t inputs;    /* channels of what is no image, of which the output is a value a pixel; 0: an image */
  const char *before; /* in front of the parameters' names; NULL: nothing */
  bool any_path;      /* the portable path in f32 where the fused one does not run, whatever the precision */
  enum block_precision precision;
  size_t batch; /* images a pass at most */
  bool train;
  bool input_gradient; /* also that of the input, to train what made it */
  size_t passes;       /* forward passes side by side, of which each may be run backward; 0: one */
  bool planned;        /* it stood beside another, which has told its memory */
  struct network_need beside[NETWORK_NEEDS + 1]; /* what is opened after it */
};

/* A setup as the scene has it, with `most` images a pass at most. */
struct reconstructor_setup reconstructor_setup_of(struct device *device, struct kernels *kernels,
                                                  const struct options *options, size_t most);
/* Sets it for slices with so many coils at most; 0: there are none. A network of images does not ask. */
void reconstructor_set_coils(struct reconstructor_setup *setup, size_t coils);

struct reconstructor_sum { /* complex: from the network's output and input to the image */
  struct graph *graph;
  tensor image, residual, out;
};

struct reconstructor {
  struct reconstructor_setup setup;
  struct network network;
  size_t batch;          /* images a pass */
  size_t pixels;         /* of an image */
  struct graph *graph;   /* owns the parameters, and their gradients to train */
  struct blocks *blocks; /* NULL: the portable graph computes */
  struct reconstructor_sum sum[PATH_PASSES];
  cl_mem level; /* fused: the bits of a shard's magnitude, whose power of two reconstructor_backward_level multiplies by */
  struct net_varnet varnet; /* its places in the graphs of all passes */
  tensor units;             /* varnet: mean and deviation of the slice, in which the output is told */
  struct graph *view; /* complex: from frequencies to the input */
  tensor frequencies, viewed;
  /* The selected pass: */
  cl_mem input, output;   /* [batch][1][height][width], complex: input [batch][2][height][width], or
                             setup.inputs channels; f32;   the caller writes the one and reads the other */
  cl_mem output_gradient; /* as the output, to train */
  cl_mem input_gradient;  /* where the setup asks for it: read after reconstructor_backward */
  struct watch watch;
};

/* Refuses as network_open. The parameters are not set: graph_start or a checkpoint follows, then
 * reconstructor_changed. Must not move while it is open. */
bool reconstructor_open(struct reconstructor *reconstructor, const struct reconstructor_setup *setup,
                        struct error *error);
void reconstructor_close(struct reconstructor *reconstructor);
/* Whether it, or the U-Nets of a variational network, run on the fused path. */
bool reconstructor_fused(const struct reconstructor *reconstructor);
/* What it would take: the network of a checkpoint, or path NULL: of the setup. */
bool reconstructor_measure(const struct reconstructor_setup *setup, const char *path, struct network_need *need,
                           struct error *error);

/* After opening: the pass works on buffers of the caller's that outlive it and have room for the batch, in
 * place of its own; NULL: on that of before. Where it cannot, nothing changes: values are the caller's to
 * copy. A pass must be selected anew. */
void reconstructor_share(struct reconstructor *reconstructor, size_t pass, const struct path_ends *ends);

/* Selects the pass that is read, written and run from here on. */
void reconstructor_select(struct reconstructor *reconstructor, size_t pass);

/* The ports of the selected pass become the columns of BATCH. */
void reconstructor_bind(struct reconstructor *reconstructor, struct world *world);
/* Complex: where acquired frequencies are written, [images][2][height][width], for reconstructor_view. */
cl_mem reconstructor_frequencies(const struct reconstructor *reconstructor);

/* Of a variational network's selected pass the inputs beside reconstructor.input, the frequencies of all coils
 * [images][coils][2][height][width]: mask [images][entries], units [images][2], and maps as frequencies; NULL: it has none.
 * mask_gradient: as mask, where the setup asks for the gradient of the input. */
struct reconstructor_inputs {
  cl_mem mask, units, maps, mask_gradient;
};
struct reconstructor_inputs reconstructor_inputs(const struct reconstructor *reconstructor);

/* All enqueue. */
/* Complex: the input from the acquired frequencies, 0 elsewhere. */
void reconstructor_view(struct reconstructor *reconstructor, size_t images);
void reconstructor_forward(struct reconstructor *reconstructor, size_t images);
/* Goes back from output_gradient of the images of the last forward; adds into the gradients of the parameters. */
void reconstructor_backward(struct reconstructor *reconstructor, size_t images, size_t of);
/* Goes back from a gradient of any size, which need not be a mean loss's; without `input` the gradient of the
 * input means nothing. */
void reconstructor_backward_level(struct reconstructor *reconstructor, size_t images, bool input);
void reconstructor_changed(struct reconstructor *reconstructor); /* after the parameters changed */

/* Sizes as attributes and parameters in group "param" of a checkpoint. */
bool reconstructor_write(const struct reconstructor *reconstructor, struct store *store, struct error *error);

/* Whether the checkpoint's attributes are those of this network, as they must be where its training goes on.
 */
bool reconstructor_same(const struct reconstructor *reconstructor, struct store *store, struct error *error);
/* Whether the group holds the parameters of such a network; nothing is opened on the device. */
bool reconstructor_stored(const struct reconstructor_setup *setup, struct store *store, const char *group,
                          struct error *error);

/* Opens the network of a checkpoint: channels, pools and whether it is absolute come from its attributes. */
bool reconstructor_load(struct reconstructor *reconstructor, const char *path,
                        const struct reconstructor_setup *setup, struct error *error);
/* Refuses a checkpoint whose network is not that of the setup: its kind, sizes, parameters. Opens nothing on
 * the device. */
bool reconstructor_fits(const struct reconstructor_setup *setup, const char *path, struct error *error);
/* As reconstructor_load; path NULL: opens that of the setup, with new parameters. */
bool reconstructor_begin(struct reconstructor *reconstructor, const char *path,
                         const struct reconstructor_setup *setup, uint32_t seed, struct error *error);

#endif
