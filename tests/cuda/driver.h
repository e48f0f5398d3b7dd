/* What the stand-ins for CUDA's and OpenCL's drivers (driver.c, opencl.c) count, and what a test asks of
 * them. */
#ifndef L2SR_TESTS_DRIVER_H
#define L2SR_TESTS_DRIVER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct driver_state {
  size_t grain;                                  /* bytes that memory has a multiple of */
  const char *refused;                           /* the name of a call that is refused; NULL: none */
  long passes;                                   /* so many of its calls are not */
  long retained, current, handles, ranges, maps; /* held now */
  atomic_long imports;                           /* the same; PoCL lets them go in a thread of its own */
  long waits, contexts, acquired;                /* calls so far */
  size_t largest;                                /* bytes of the largest memory that was made */
  size_t read;                                   /* bytes that went to the host */
};

bool driver_refuses(const char *call);
struct driver_state *driver_state(void);

#endif
