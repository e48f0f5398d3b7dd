/* Where single precision decides otherwise than double.
 *
 * The slope of a ReLU jumps at 0, that of a maximum where two pixels are equal. A value within rounding of
 * such an edge may lie on one side in single precision and on the other in the double precision of a
 * reference, and one such pixel moves whole gradients by half a percent (in PyTorch's single precision as
 * well). To compare gradients to more digits than that, the network is run once in double on the host, and
 * the few decisions that single precision took otherwise are turned to double's side before backward. */
#ifndef L2SR_SYSTEMS_DECISIONS_H
#define L2SR_SYSTEMS_DECISIONS_H

#include "engine/graph/graph.h"

struct decisions {
  size_t turned;
  double farthest; /* largest distance from its edge, in double, of a value that was turned */
};

/* The largest distance from its edge, of values of about 1, of a decision that single precision may take
 * otherwise than double: the error of a normalised value at a network's end. */
extern const double decisions_undecided;

/* After graph_forward of the graph's inputs, in their order, each [images][C][H][W]: writes what backward
 * will look at. Convolution, linear, norm, ReLU, pool, up-sample and concat; another operation is refused. */
bool decisions_turn(struct graph *graph, const float *const *inputs, struct decisions *decisions,
                    struct error *error);

#endif
