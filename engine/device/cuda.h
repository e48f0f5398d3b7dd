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
  bool own; /* on this device, not another process's */
};

/* Lives in the arena, and until the device is closed at the longest. The device's context and 2 MiB of shared
 * memory stay until the process ends: cuda.c says why. */
bool cuda_open(struct cuda **cuda, struct device *device, struct arena *arena, struct error *error);
void cuda_close(struct cuda *cuda);       /* NULL: there is none */
enum { CUDA_UUID = 16 };
/* The device's identity, by which CUDA and OpenCL both know it; 0 where OpenCL has none. */
void cuda_uuid(const struct device *device, unsigned char uuid[CUDA_UUID]);
int cuda_number(const struct cuda *cuda); /* of the device among those that CUDA shows this process */

/* `memory` has none. Its list of pieces lives in the arena. */
bool cuda_memory_open(struct cuda *cuda, struct cuda_memory *memory, size_t bytes, const char *what,
                      struct arena *arena, struct error *error);
cl_mem cuda_memory_buffer(const struct cuda_memory *memory); /* NULL: it is in several */
/* Enqueues a copy into all pieces. */
void cuda_memory_fill(struct cuda *cuda, const struct cuda_memory *memory, cl_mem from, size_t bytes);
/* An open file by which another process takes such memory, of at most 510 MiB; the caller closes it. */
bool cuda_memory_lend(struct cuda *cuda, const struct cuda_memory *memory, int *file, struct error *error);
/* Maps what another process has lent, so many bytes of the device of that identity, for CUDA alone; the file stays the
 * caller's. Refuses a device whose memory this one cannot read. */
bool cuda_memory_borrow(struct cuda *cuda, struct cuda_memory *memory, const unsigned char uuid[CUDA_UUID], size_t bytes, int file,
                        struct arena *arena, struct error *error);
/* Copies between addresses, whichever device they are of, and waits for it. */
bool cuda_copy(struct cuda *cuda, uint64_t to, uint64_t from, size_t bytes, struct error *error);
/* Nobody uses the buffers or the address any more. */
void cuda_memory_close(struct cuda *cuda, struct cuda_memory *memory);

/* Waits for what CUDA has under way in the primary context. */
bool cuda_wait(struct cuda *cuda, struct error *error);

#endif
