/* An operation of MRI's own: what a sampler of tau-step sampling sees (PROTOCOL 3.3). */
#ifndef L2SR_SYSTEMS_OP_SAMPLER_H
#define L2SR_SYSTEMS_OP_SAMPLER_H

#include "engine/graph/graph.h"

extern const struct op_desc op_planes;

/* The input of a sampler, five planes: the real and imaginary part of predicted and of acquired frequencies,
 * both [2][height][width], and the mask: of columns, the same on every line, or of points. Only the predicted
 * frequencies get a gradient. */
tensor sampler_planes(struct graph *graph, tensor predicted, tensor acquired, tensor mask);

#endif
