#include "engine/device/blas.h"

#include "engine/base/lock.h"
#include "engine/device/profile.h"

#include <clblast_c.h>

static CLBlastTranspose transpose_of(struct blas_factor factor) {
  return factor.transposed == BLAS_ADJOINT ? CLBlastTransposeConjugate
         : factor.transposed               ? CLBlastTransposeYes
                                           : CLBlastTransposeNo;
}

static struct profile_work work_of(size_t m, size_t n, size_t k, size_t element, double operations, bool add) {
  size_t values = m * k + k * n + (add ? 2 : 1) * m * n;
  return (struct profile_work){(double)(element * values), operations * (double)m * (double)n * (double)k};
}

void blas_complex_product(struct device *device, size_t m, size_t n, size_t k, struct blas_factor a,
                          struct blas_factor b, cl_mem c, size_t c_offset) {
  HOLD(LOCK_PRODUCTS);
  cl_float2 one = {{1, 0}}, zero = {{0, 0}};
  cl_event before;
  profile_begin(device, &before);
  CL(device, (cl_int)CLBlastCgemm(CLBlastLayoutRowMajor, transpose_of(a), transpose_of(b), m, n, k, one,
                                  a.data, a.offset, a.transposed ? m : k, b.data, b.offset,
                                  b.transposed ? k : n, zero, c, c_offset, n, &device->queue, NULL));
  profile_end(device, "CLBlast Cgemm", work_of(m, n, k, sizeof(cl_float2), 8, false), before);
}

void blas_product(struct device *device, size_t m, size_t n, size_t k, struct blas_factor a,
                  struct blas_factor b, cl_mem c, size_t c_offset, bool add) {
  HOLD(LOCK_PRODUCTS);
  cl_event before;
  profile_begin(device, &before);
  CL(device, (cl_int)CLBlastSgemm(CLBlastLayoutRowMajor, transpose_of(a), transpose_of(b), m, n, k, 1, a.data,
                                  a.offset, a.transposed ? m : k, b.data, b.offset, b.transposed ? k : n,
                                  add ? 1 : 0, c, c_offset, n, &device->queue, NULL));
  profile_end(device, "CLBlast Sgemm", work_of(m, n, k, sizeof(cl_float), 2, add), before);
}
