/* Memory of a device of NVIDIA's that OpenCL and CUDA both see: CUDA makes it, OpenCL imports it.
 *
 * CUDA's library is opened when such memory is first asked for; nothing is linked with it. Addresses are of
 * the device's primary context, which is the one of CUDA's runtime, and so of what is built on it. */
#ifndef L2SR_ENGINE_CUDA_H
#define L2SR_ENGINE_CUDA_H

#include "engine/base/arena.h"
#include "engine/device/device.h"

struct cuda;

struct cuda_piece {
  cl_mem buffer;
  uint64_t handle;
  size_t bytes;
  bool made, mapped;
};

/* To CUDA one range of addresses, to OpenCL a buffer a piece. */
struct cuda_memory {
  struct cuda_piece *pieces;
  size_t count; /* 0: there is none */
  uint64_t address;
  size_t bytes;
};

/* Lives in the arena, and until the device is closed at the longest. The device's context and 2 MiB of shared
 * memory stay until the process ends: cuda.c says why. */
bool cuda_open(struct cuda **cuda, struct device *device, struct arena *arena, struct error *error);
void cuda_close(struct cuda *cuda);       /* NULL: there is none */
int cuda_number(const struct cuda *cuda); /* of the device among those that CUDA shows this process */

/* `memory` has none. Its list of pieces lives in the arena. */
bool cuda_memory_open(struct cuda *cuda, struct cuda_memory *memory, size_t bytes, const char *what,
                      struct arena *arena, struct error *error);
cl_mem cuda_memory_buffer(const struct cuda_memory *memory); /* NULL: it is in several */
/* Enqueues a copy into all pieces. */
void cuda_memory_fill(struct cuda *cuda, const struct cuda_memory *memory, cl_mem from, size_t bytes);
/* Nobody uses the buffers or the address any more. */
void cuda_memory_close(struct cuda *cuda, struct cuda_memory *memory);

/* Waits for what CUDA has under way in the primary context. */
bool cuda_wait(struct cuda *cuda, struct error *error);

#endif
