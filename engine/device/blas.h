/* Dense products by CLBlast. */
#ifndef L2SR_ENGINE_BLAS_H
#define L2SR_ENGINE_BLAS_H

#include "engine/device/device.h"

enum { BLAS_ADJOINT = 2 }; /* transposed and conjugated, of complex matrices alone */

/* C = A B for row-major complex matrices: A is m x k, B is k x n, C is m x n; either factor may be taken
 * transposed as stored (then A is stored k x m, B n x k). Offsets in elements. Enqueues. */
struct blas_factor {
  cl_mem data;
  size_t offset;
  int transposed; /* false, true or BLAS_ADJOINT */
};
void blas_complex_product(struct device *device, size_t m, size_t n, size_t k, struct blas_factor a,
                          struct blas_factor b, cl_mem c, size_t c_offset);

/* C = A B for real matrices; `add` adds the product to C. */
void blas_product(struct device *device, size_t m, size_t n, size_t k, struct blas_factor a,
                  struct blas_factor b, cl_mem c, size_t c_offset, bool add);

#endif
