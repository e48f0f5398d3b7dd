#include "engine/device/blas.h"

#include "engine/base/lock.h"

#include <clblast_c.h>

static CLBlastTranspose transpose_of(struct blas_factor factor) {
  return factor.transposed == BLAS_ADJOINT ? CLBlastTransposeConjugate
         : factor.transposed               ? CLBlastTransposeYes
                                           : CLBlastTransposeNo;
}

void blas_complex_product(struct device *device, size_t m, size_t n, size_t k, struct blas_factor a,
                          struct blas_factor b, cl_mem c, size_t c_offset) {
  HOLD(LOCK_PRODUCTS);
  cl_float2 one = {{1, 0}}, zero = {{0, 0}};
  CL(device, (cl_int)CLBlastCgemm(CLBlastLayoutRowMajor, transpose_of(a), transpose_of(b), m, n, k, one,
                                  a.data, a.offset, a.transposed ? m : k, b.data, b.offset,
                                  b.transposed ? k : n, zero, c, c_offset, n, &device->queue, NULL));
}

void blas_product(struct device *device, size_t m, size_t n, size_t k, struct blas_factor a,
                  struct blas_factor b, cl_mem c, size_t c_offset, bool add) {
  HOLD(LOCK_PRODUCTS);
  CL(device, (cl_int)CLBlastSgemm(CLBlastLayoutRowMajor, transpose_of(a), transpose_of(b), m, n, k, 1, a.data,
                                  a.offset, a.transposed ? m : k, b.data, b.offset, b.transposed ? k : n,
                                  add ? 1 : 0, c, c_offset, n, &device->queue, NULL));
}
