/* The network that makes an image of a zero-filled one, behind one interface for train, evaluate and render:
 * the U-Net of systems/net_unet.h on the fused path (engine/block.h) where the device and the sizes allow,
 * else on the portable graph. */
#ifndef L2SR_SYSTEMS_RECONSTRUCTOR_H
#define L2SR_SYSTEMS_RECONSTRUCTOR_H

#include "engine/block.h"
#include "engine/store.h"

struct reconstructor_setup {
  struct device *device;
  struct kernels *kernels;
  size_t size; /* N */
  uint32_t channels, pools;
  enum block_precision precision;
  size_t batch; /* images a pass at most */
  bool train;
  bool input_gradient; /* also that of the input, to train what made it */
  size_t passes;       /* forward passes side by side, of which each may be run backward; 0: one */
  size_t beside, beside_image; /* bytes that training takes beside the network: in all, and an image a pass */
};

enum { RECONSTRUCTOR_PASSES = 9 };

struct reconstructor_pass {
  struct graph *graph; /* of the portable path; the first is the reconstructor's own */
  cl_mem input, output, output_gradient, input_gradient;
};

struct reconstructor {
  struct reconstructor_setup setup;
  size_t batch;        /* images a pass: the setup's, or to train what fits the device */
  struct graph *graph; /* owns the parameters, and their gradients to train */
  tensor in, out;
  bool fused;             /* input and output are own buffers; else the graph's */
  struct blocks *blocks;  /* NULL: the portable graph computes */
  struct reconstructor_pass pass[RECONSTRUCTOR_PASSES];
  size_t passes, selected;
  cl_mem level; /* the bits of a magnitude, whose power of two reconstructor_backward_level multiplies by */
  /* Of the selected pass: */
  cl_mem input, output;   /* [batch][1][N][N], f32; the caller writes the one and reads the other */
  cl_mem output_gradient; /* the same, to train */
  cl_mem input_gradient;  /* where the setup asks for it: read after reconstructor_backward */
};

/* Refuses sizes that the network does not take, and a precision other than f32 where the fused path does not
 * run, with the reason; and what leaves no room for one image. Where AMD's kernels do not build, f32 takes
 * the portable path with a warning. The parameters are not set: graph_start or a checkpoint follows, then
 * reconstructor_changed. */
bool reconstructor_open(struct reconstructor *reconstructor, const struct reconstructor_setup *setup,
                        struct error *error);
void reconstructor_close(struct reconstructor *reconstructor);

/* What is read, written and run from here on is of this pass. */
void reconstructor_select(struct reconstructor *reconstructor, size_t pass);

/* All enqueue. */
void reconstructor_forward(struct reconstructor *reconstructor, size_t images);
/* From output_gradient of the images of the last forward; adds into the gradients of the parameters. */
void reconstructor_backward(struct reconstructor *reconstructor, size_t images);
/* The same from a gradient of any size, which need not be a mean loss's; without `input` the gradient of the input
 * means nothing. */
void reconstructor_backward_level(struct reconstructor *reconstructor, size_t images, bool input);
void reconstructor_changed(struct reconstructor *reconstructor); /* after the parameters changed */

/* Sizes as attributes and parameters in group "param" of a checkpoint. */
bool reconstructor_write(const struct reconstructor *reconstructor, struct store *store, struct error *error);

/* Opens the network of a checkpoint: channels and pools come from its attributes. Refused when it was trained
 * for another N. */
bool reconstructor_load(struct reconstructor *reconstructor, const char *path,
                        const struct reconstructor_setup *setup, struct error *error);

#endif
