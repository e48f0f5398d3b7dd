/* Memory of a device of NVIDIA's that OpenCL and CUDA both see: CUDA makes it, OpenCL imports it.
 *
 * CUDA's library is opened when such memory is first asked for; nothing is linked with it. Addresses are of
 * the device's primary context, which is the one of CUDA's runtime, and so of what is built on it. */
#ifndef L2SR_ENGINE_CUDA_H
#define L2SR_ENGINE_CUDA_H

#include "engine/base/arena.h"
#include "engine/device/device.h"

struct cuda;

struct cuda_memory {
  cl_mem buffer; /* NULL: there is none */
  uint64_t address, handle;
  size_t bytes;
};

/* Lives in the arena, and until the device is closed at the longest. The device's context and 2 MiB of shared memory
 * stay until the process ends: cuda.c says why. */
bool cuda_open(struct cuda **cuda, struct device *device, struct arena *arena, struct error *error);
void cuda_close(struct cuda *cuda);       /* NULL: there is none */
int cuda_number(const struct cuda *cuda); /* of the device among those that CUDA shows this process */

bool cuda_memory_open(struct cuda *cuda, struct cuda_memory *memory, size_t bytes, const char *what,
                      struct error *error);
/* Nobody uses the buffer or the address any more. */
void cuda_memory_close(struct cuda *cuda, struct cuda_memory *memory);

/* Waits for what CUDA has under way in the primary context. */
bool cuda_wait(struct cuda *cuda, struct error *error);

#endif
