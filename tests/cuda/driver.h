/* What the stand-ins for CUDA's and OpenCL's drivers (driver.c, opencl.c) count, and what a test asks of
 * them. */
#ifndef L2SR_TESTS_DRIVER_H
#define L2SR_TESTS_DRIVER_H

#include <stddef.h>
#include <stdint.h>

struct driver_state {
  size_t grain;                                           /* bytes that memory has a multiple of */
  const char *refused;                                    /* the name of a call that is refused; NULL: none */
  long retained, current, handles, ranges, maps, imports; /* held now */
  long waits, contexts;                                   /* so far: cuCtxSynchronize, clCreateContext */
  size_t largest;                                         /* bytes of the largest memory that was made */
};

struct driver_state *driver_state(void);

#endif
