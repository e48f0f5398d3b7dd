/* Operations of several coils, whose complex images are copies [2][height][width] of one image of the batch
 * (engine/graph/graph.h): what an image is in every coil, and back; what keeps to acquired frequencies. */
#ifndef L2SR_SYSTEMS_OP_COILS_H
#define L2SR_SYSTEMS_OP_COILS_H

#include "engine/graph/graph.h"

extern const struct op_desc op_coil_spread, op_coil_gather, op_coil_root, op_coil_unit, op_consistency,
    op_middle, op_units, op_row_consistency;
extern const struct op_desc *const op_coil_table[]; /* all of these, ended by NULL */

/* Every coil's map times the image, which has one copy. */
tensor coil_spread(struct graph *graph, tensor maps, tensor image);
/* The sum over coils of the maps' conjugates times the coils' images: the adjoint of spreading. */
tensor coil_gather(struct graph *graph, tensor maps, tensor coils);
/* Root of the sum of squares over coils and parts, [1][height][width]; gradient 0 at 0. */
tensor coil_root(struct graph *graph, tensor coils);
/* The coils over that root, without epsilon; 0, and no gradient, where it is 0. */
tensor coil_unit(struct graph *graph, tensor coils);
/* x - step mask (x - reference): frequencies of coils a step towards the acquired ones. The step is the
 * parameter NAME, one number, and starts at 1. The mask is of columns, [1][1][width], or of points,
 * [1][height][width]. */
tensor consistency(struct graph *graph, tensor x, tensor reference, tensor mask, const char *name);
/* x - F^-1 step mask F (x - reference) - maps image, of images of coils, with the Fourier transform F: a step towards
 * acquired frequencies that are whole columns, and the image in every coil taken off. Parameter and mask as above. */
struct row_inputs {
  tensor x, reference, mask; /* reference: F^-1 of the acquired frequencies */
  tensor maps, image;        /* the image has one copy */
};
tensor row_consistency(struct graph *graph, const struct row_inputs *inputs, const char *name);
/* Whether it takes this mask, and images of this width (kernels/rows.cl). */
bool row_consistency_fits(struct graph *graph, tensor x, tensor mask);
/* (x - units[0]) / units[1] of every image, units [2][1][1], which get no gradient; 0 where units[1] is 0. */
tensor in_units(struct graph *graph, tensor x, tensor units);
/* Of a mask of columns its middle: with runs of l columns before width / 2, and r from it on, that are
 * acquired, 1 for the n = max(2 min(l, r), 1) columns from (width - n + 1) / 2 on. Gets no gradient. */
tensor mask_middle(struct graph *graph, tensor mask);

#endif
