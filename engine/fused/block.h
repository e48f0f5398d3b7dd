/* The fused path of a network: chains of 3x3 convolution, instance norm and ReLU as one kernel a layer, with
 * pooling on the store and up-sampling and concatenation on the load (kernels/block.cl).
 *
 * Works on any graph made of such blocks that starts from a few channels and ends in three 1x1
 * convolutions to one channel (the U-Net) or in a pooled block (an encoder; what follows in the graph is the
 * graph's own: graph_give), whose pooled maps have even sides, which a U-Net has by padding its images; on
 * devices with the matrix instructions: NVIDIA's, and AMD's of gfx11, gfx90a and gfx942, whose kernels have not run
 * on a card yet. blocks_fit says why not. The parameters are the graph's own: blocks_pack takes them over after
 * they have changed. */
#ifndef L2SR_ENGINE_BLOCK_H
#define L2SR_ENGINE_BLOCK_H

#include "engine/graph/graph.h"

enum block_precision {
  BLOCK_F32,   /* f32 storage, operands split into two halves, three products: error about 1e-5 */
  BLOCK_MIXED, /* f32 storage, half operands, f32 accumulation: TF32-grade */
  BLOCK_HALF   /* half storage, f32 accumulation and sums */
};

const char *block_precision_name(enum block_precision precision);

struct blocks; /* opaque: block.c */

/* Whether the graph and the device are of that kind; the text says what is not. */
bool blocks_fit(const struct graph *graph, const struct device *device, struct error *error);
/* The graph must be planned: its parameters are read. `batch` images at most a call. */
struct block_setup {
  size_t batch;
  enum block_precision precision;
  bool train; /* also backward; the graph must be planned to train (its own batch may be 1) */
  bool input_gradient; /* and blocks_input_gradient */
  size_t passes;       /* forward passes whose activations are kept side by side; 0: one */
};
bool blocks_open(struct blocks **blocks, struct graph *graph, struct device *device, struct kernels *kernels,
                 const struct block_setup *setup, struct error *error);
void blocks_close(struct blocks *blocks);
/* The bytes that blocks of that setup would take, but for some words. Refuses what blocks_fit does. */
bool blocks_measure(const struct graph *graph, const struct device *device, const struct block_setup *setup,
                    size_t *bytes, struct error *error);
void blocks_pack(struct blocks *blocks);
/* Chooses the pass that forward and backward are of from here on. A pass is run backward any time after its
 * forward, whatever others ran between; all passes share the memory that backward works in. */
void blocks_select(struct blocks *blocks, size_t pass);
/* [images][channels][H][W] in; out [images][1][H][W], or an encoder's maps, [images][C][h][w]; f32; enqueues.
 * With an odd number of images the buffers must hold one more: maps of 8x8 are computed two images at a time.
 */
void blocks_forward(struct blocks *blocks, cl_mem input, cl_mem output, size_t images);
/* An encoder's forward pass in parts: images [place, place + images) of the input, whose activations stay for
 * one blocks_backward of all; part 0 comes first, and place and images are even. The output starts at image
 * 0. */
void blocks_forward_part(struct blocks *blocks, cl_mem input, size_t place, cl_mem output, size_t images);
/* The maps of images that forward passes have left; the same numbers as theirs. */
void blocks_maps(struct blocks *blocks, cl_mem output, size_t place, size_t images);
/* After blocks_forward of the same input: from the gradient of the output to the parameters, whose gradients
 * are added to. Enqueues. Within, gradients are multiplied by the power of two next to `scale`, so that halves
 * and fixed-point sums keep their digits: give one over the usual size of an output's gradient, as the number
 * of pixels that a mean loss was taken over. */
void blocks_backward(struct blocks *blocks, cl_mem input, cl_mem output_gradient, size_t images,
                     double scale);
/* The three 1x1 convolutions in one: a weight for each channel of the last block, and how many these are.
 * blocks_backward multiplies a gradient of the output by them first. */
cl_mem blocks_tail(const struct blocks *blocks, size_t *channels);
/* After blocks_backward of so many images: the gradient of the input, of its shape. Enqueues. */
void blocks_input_gradient(struct blocks *blocks, cl_mem input_gradient, size_t images);

#endif
