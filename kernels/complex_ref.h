/* Complex values of kernels' arrays (C64), for their references in double precision. */
#ifndef L2SR_KERNELS_COMPLEX_REF_H
#define L2SR_KERNELS_COMPLEX_REF_H

#include <complex.h>
#include <stddef.h>

typedef double complex value;

static inline value get(const void *values, size_t i) {
  const float *pair = (const float *)values + 2 * i;
  return pair[0] + I * pair[1];
}

static inline void put(void *values, size_t i, value to) {
  float *pair = (float *)values + 2 * i;
  pair[0] = (float)creal(to);
  pair[1] = (float)cimag(to);
}

#endif
