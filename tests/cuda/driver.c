/* A stand-in for CUDA's driver for tests on any machine: memory of the device is a file in memory, and an
 * address is the process's own. It counts what is held. */
#include "driver.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes" /* CUDA's header has them, and is not here */

enum { GOOD, INVALID, OUT_OF_MEMORY };

static struct driver_state state = {.grain = 4096};

struct driver_state *driver_state(void) {
  return &state;
}

/* A test that starts another program names the call in its environment. */
bool driver_refuses(const char *call) {
  const char *named = getenv("L2SR_DRIVER_REFUSES");
  if (named && !strcmp(call, named)) return true;
  return state.refused && !strcmp(call, state.refused) && state.passes-- <= 0;
}

static int done(const char *call) {
  return driver_refuses(call) ? OUT_OF_MEMORY : GOOD;
}
#define DONE done(__func__)

/* Where a context is current. */
static int inside(const char *call) {
  return state.current ? done(call) : INVALID;
}
#define INSIDE inside(__func__)

int cuInit(unsigned flags) {
  return flags ? INVALID : DONE;
}

int cuDeviceGetCount(int *count) {
  *count = 2;
  return DONE;
}

int cuDeviceGet(int *device, int number) {
  *device = number + 10;
  return DONE;
}

/* OpenCL's device is the second of CUDA's. */
int cuDeviceGetUuid(unsigned char *uuid, int device) {
  memset(uuid, device, 16);
  return DONE;
}

int cuDevicePrimaryCtxRetain(void **context, int device) {
  int code = device == 11 ? DONE : INVALID;
  if (!code) *context = &state;
  if (!code) state.retained++;
  return code;
}

int cuDevicePrimaryCtxRelease_v2(int device) {
  if (device != 11 || !state.retained) return INVALID;
  state.retained--;
  return GOOD;
}

int cuCtxPushCurrent_v2(void *context) {
  int code = context == &state && state.retained ? DONE : INVALID;
  if (!code) state.current++;
  return code;
}

int cuCtxPopCurrent_v2(void **context) {
  if (!state.current) return INVALID;
  state.current--;
  *context = &state;
  return GOOD;
}

int cuCtxSynchronize(void) {
  int code = INSIDE;
  if (!code) state.waits++;
  return code;
}

int cuMemGetAllocationGranularity(size_t *bytes, const void *properties, int which) {
  (void)which;
  *bytes = state.grain;
  return properties ? DONE : INVALID;
}

int cuMemCreate(uint64_t *handle, size_t bytes, const void *properties, uint64_t flags) {
  int code = !bytes || bytes % state.grain || !properties || flags ? INVALID : DONE;
  if (code) return code;
  int file = memfd_create("memory", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, (off_t)bytes)) return OUT_OF_MEMORY;
  if (bytes > state.largest) state.largest = bytes;
  *handle = (uint64_t)file;
  state.handles++;
  return GOOD;
}

int cuMemRelease(uint64_t handle) {
  if (close((int)handle)) return INVALID;
  state.handles--;
  return GOOD;
}

int cuMemExportToShareableHandle(void *to, uint64_t handle, int kind, uint64_t flags) {
  int code = kind != 1 || flags ? INVALID : DONE;
  if (!code) *(int *)to = dup((int)handle);
  return code;
}

int cuMemImportFromShareableHandle(uint64_t *handle, void *from, int kind) {
  int code = kind != 1 ? INVALID : INSIDE;
  if (code) return code;
  *handle = (uint64_t)dup((int)(intptr_t)from);
  state.handles++;
  return GOOD;
}

/* Two processes of a test have the same device. */
int cuDeviceCanAccessPeer(int *can, int device, int other) {
  *can = device != other;
  return DONE;
}

int cuMemcpyDtoD_v2(uint64_t to, uint64_t from, size_t bytes) {
  int code = INSIDE;
  if (!code) memcpy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
  return code;
}

int cuMemAddressReserve(uint64_t *address, size_t bytes, size_t alignment, uint64_t near, uint64_t flags) {
  int code = alignment || near || flags ? INVALID : DONE;
  if (code) return code;
  void *reserved = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (reserved == MAP_FAILED) return OUT_OF_MEMORY;
  *address = (uint64_t)(uintptr_t)reserved;
  state.ranges++;
  return GOOD;
}

int cuMemAddressFree(uint64_t address, size_t bytes) {
  if (munmap((void *)(uintptr_t)address, bytes)) return INVALID;
  state.ranges--;
  return GOOD;
}

/* Nobody may read or write before cuMemSetAccess. */
int cuMemMap(uint64_t address, size_t bytes, size_t offset, uint64_t handle, uint64_t flags) {
  int code = offset || flags ? INVALID : INSIDE;
  void *place = (void *)(uintptr_t)address;
  if (code) return code;
  if (mmap(place, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, (int)handle, 0) == MAP_FAILED) return INVALID;
  state.maps++;
  return GOOD;
}

int cuMemSetAccess(uint64_t address, size_t bytes, const void *access, size_t count) {
  int code = !access || count != 1 ? INVALID : DONE;
  if (code) return code;
  return mprotect((void *)(uintptr_t)address, bytes, PROT_READ | PROT_WRITE) ? INVALID : GOOD;
}

int cuMemUnmap(uint64_t address, size_t bytes) {
  void *place = (void *)(uintptr_t)address;
  if (mmap(place, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
    return INVALID;
  state.maps--;
  return GOOD;
}

int cuGetErrorName(int code, const char **name) {
  *name = code == OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_INVALID_VALUE";
  return GOOD;
}
