/* A network as it runs: on the fused path (block.h) where it was opened, else on the portable graph. Where
 * the graph goes on after what the fused path computes, the graph runs those heads on either path. Whoever
 * opens it owns what stands here. */
#ifndef L2SR_ENGINE_PATH_H
#define L2SR_ENGINE_PATH_H

#include "engine/fused/block.h"

enum { PATH_PASSES = 9 };

struct path_ends {
  cl_mem input, output, output_gradient, input_gradient;
};

struct path_pass {
  struct graph *graph; /* the first is the network's own */
  struct path_ends ends;
  struct path_ends own; /* of the fused path: buffers that no one has lent */
};

struct path {
  size_t batch;          /* images a pass at most */
  struct graph *graph;   /* owns the parameters, and their gradients to train */
  bool heads;            /* the graph goes on after what the fused path computes */
  struct blocks *blocks; /* NULL: the portable graph computes */
  struct path_pass pass[PATH_PASSES];
  size_t passes, selected;
};

void path_select(struct path *path, size_t pass); /* what runs from here on is of this pass */

/* All enqueue. */
void path_forward(struct path *path, size_t images);
void path_forward_heads(struct path *path, size_t images); /* of values that are there */
/* Goes back from the output's gradient of the images of the last forward; adds into the gradients of the parameters.
 * scale: about one over the gradient's size. input: the gradient of the input too. */
void path_backward(struct path *path, size_t images, double scale, bool input);
void path_changed(struct path *path); /* after the parameters changed */

#endif
