/* Host memory that the device reads and writes without the driver's detour. */
#ifndef L2SR_ENGINE_HOST_MEMORY_H
#define L2SR_ENGINE_HOST_MEMORY_H

#include "engine/device/device.h"

struct host_memory {
  cl_mem buffer; /* NULL: there is none */
  void *data;
};

/* `what` it is for, in words; `advice` where there is none: what to do. */
bool host_memory_open(struct host_memory *memory, struct device *device, size_t bytes, const char *what,
                      const char *advice, struct error *error);
void host_memory_close(struct host_memory *memory, struct device *device); /* one that was never opened is allowed */

#endif
