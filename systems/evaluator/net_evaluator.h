/* The evaluator (Zhang et al. 2019, PROTOCOL 4.3): from a reconstruction to how near every column of its
 * k-space is to the truth. It is opened as a policy (systems/networks/policy.h), whose logits are the
 * negatives: the column that is farthest is the most probable one. */
#ifndef L2SR_SYSTEMS_NET_EVALUATOR_H
#define L2SR_SYSTEMS_NET_EVALUATOR_H

#include "systems/networks/networks.h"

enum { EVALUATOR_WIDEST = 1024 }; /* columns, of kernels/evaluator.cl */

/* Operations that it alone has. The images of which k-space has one column: two planes, real and imaginary,
 * for each, of an image [1][height][width]. The 4x4 pixels around every second one, with zeros outside: [16
 * channels][height / 2] [width / 2]. The mean of every plane. */
extern const struct op_desc op_spectral, op_patches, op_plane_mean;

/* Appends it. reconstruction: [1][height][width], normalised; returns the logits [width][1][1]. */
tensor net_evaluator(struct graph *graph, tensor reconstruction, int channels);

extern const struct network_desc network_evaluator;

#endif
