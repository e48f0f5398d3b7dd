/* Orthogonal matrices drawn uniformly: how the weights of deep networks may start (Saxe et al. 2014). */
#ifndef L2SR_ENGINE_ORTHOGONAL_H
#define L2SR_ENGINE_ORTHOGONAL_H

#include "engine/base/random.h"

/* Fills `to` [rows][columns] with gain times orthonormal rows, or orthonormal columns where there are fewer
 * columns: the Q of a matrix of normal numbers whose R has a positive diagonal. */
void orthogonal_fill(struct random *random, size_t rows, size_t columns, double gain, float *to);

#endif
