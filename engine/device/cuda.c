#include "engine/device/cuda.h"

#include "engine/base/lock.h"

#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

/* ---- what CUDA's and OpenCL's headers would declare ---------------------------------------------------- */

typedef int cu_result, cu_device;
typedef void *cu_context;

enum { CU_PINNED = 1, CU_POSIX_FD = 1, CU_ON_DEVICE = 1, CU_READ_WRITE = 3, CU_OUT_OF_MEMORY = 2 };

struct cu_location {
  int kind, number;
};
struct cu_properties {
  int kind, handles;
  struct cu_location location;
  void *windows;
  unsigned char flags[8];
};
struct cu_access {
  struct cu_location location;
  int flags;
};

enum { CL_UUID = 0x106A, CL_OPAQUE_FD = 0x2060, CL_DEVICES = 0x2051 };
typedef cl_mem cl_create(cl_context context, const cl_ulong *properties, cl_mem_flags flags, size_t bytes,
                         void *host, cl_int *code);
typedef cl_int cl_acquire(cl_command_queue queue, cl_uint count, const cl_mem *memory, cl_uint waits,
                          const cl_event *events, cl_event *event);

/* X(type of the result, name here, symbol, arguments) */
#define CALLS(X)                                                                                             \
  X(init, "cuInit", unsigned flags)                                                                          \
  X(count, "cuDeviceGetCount", int *count)                                                                   \
  X(device_of, "cuDeviceGet", cu_device *device, int number)                                                 \
  X(uuid, "cuDeviceGetUuid", unsigned char *uuid, cu_device device)                                          \
  X(retain, "cuDevicePrimaryCtxRetain", cu_context *context, cu_device device)                               \
  X(release, "cuDevicePrimaryCtxRelease_v2", cu_device device)                                               \
  X(push, "cuCtxPushCurrent_v2", cu_context context)                                                         \
  X(pop, "cuCtxPopCurrent_v2", cu_context *context)                                                          \
  X(synchronise, "cuCtxSynchronize", void)                                                                   \
  X(granularity, "cuMemGetAllocationGranularity", size_t *bytes, const struct cu_properties *properties,     \
    int which)                                                                                               \
  X(create, "cuMemCreate", uint64_t *handle, size_t bytes, const struct cu_properties *properties,           \
    uint64_t flags)                                                                                          \
  X(export, "cuMemExportToShareableHandle", void *to, uint64_t handle, int kind, uint64_t flags)             \
  X(reserve, "cuMemAddressReserve", uint64_t *address, size_t bytes, size_t alignment, uint64_t near,        \
    uint64_t flags)                                                                                          \
  X(map, "cuMemMap", uint64_t address, size_t bytes, size_t offset, uint64_t handle, uint64_t flags)         \
  X(access, "cuMemSetAccess", uint64_t address, size_t bytes, const struct cu_access *access, size_t count)  \
  X(unmap, "cuMemUnmap", uint64_t address, size_t bytes)                                                     \
  X(forget, "cuMemRelease", uint64_t handle)                                                                 \
  X(unreserve, "cuMemAddressFree", uint64_t address, size_t bytes)                                           \
  X(borrow, "cuMemImportFromShareableHandle", uint64_t *handle, void *from, int kind)                        \
  X(reaches, "cuDeviceCanAccessPeer", int *can, cu_device device, cu_device other)                           \
  X(copy, "cuMemcpyDtoD_v2", uint64_t to, uint64_t from, size_t bytes)                                       \
  X(name, "cuGetErrorName", cu_result code, const char **name)

struct cuda {
  struct device *device;
  cu_device own;
  int number;
  cu_context context;
  struct cu_properties properties;
  size_t grain;
  cl_create *import;
  cl_acquire *acquire; /* NULL: the driver wants none */
#define POINTER(name, symbol, ...) cu_result (*name)(__VA_ARGS__);
  CALLS(POINTER)
};

static bool refuse(const struct cuda *cuda, const char *what, cu_result code, struct error *error) {
  const char *name = NULL;
  cuda->name(code, &name);
  return fail_as(error, code == CU_OUT_OF_MEMORY ? ERROR_MEMORY : ERROR_DEVICE,
                 "CUDA refuses %s on %s: %s (%d)", what, cuda->device->facts.name, name ? name : "an error",
                 code);
}

/* ---- the driver's functions ---------------------------------------------------------------------------- */

/* A symbol as a pointer to a function, which C converts from no pointer to data. */
static bool find(void *library, const char *symbol, void *pointer) {
  void *found = dlsym(library, symbol);
  memcpy(pointer, &found, sizeof found);
  return found;
}

static bool load_calls(struct cuda *cuda, struct error *error) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  const char *missing = NULL;
  if (!library) return fail_as(error, ERROR_NO_DEVICE, "cannot open CUDA's library: %s", dlerror());
#define LOAD(name, symbol, ...)                                                                              \
  if (!find(library, symbol, &cuda->name)) missing = symbol;
  CALLS(LOAD)
  return !missing || fail_as(error, ERROR_NO_DEVICE,
                             "CUDA's library has no %s; take a driver of CUDA 11.2 or newer", missing);
}

static bool load_import(struct cuda *cuda, struct error *error) {
  void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
  cl_platform_id platform = NULL;
  if (!library || !find(library, "clCreateBufferWithProperties", &cuda->import))
    return fail_as(error, ERROR_NO_DEVICE,
                   "OpenCL's loader has no clCreateBufferWithProperties; take one of OpenCL 3.0");
  clGetDeviceInfo(cuda->device->id, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL);
  void *acquire = clGetExtensionFunctionAddressForPlatform(platform, "clEnqueueAcquireExternalMemObjectsKHR");
  memcpy(&cuda->acquire, &acquire, sizeof acquire);
  return true;
}

/* The device of that identity and CUDA's number of it; the number is *count where there is none. */
static cu_result find_uuid(struct cuda *cuda, const unsigned char uuid[CUDA_UUID], cu_device *device, int *number, int *count) {
  unsigned char found[CUDA_UUID] = {0};
  cu_result code = cuda->count(count);
  for (*number = 0; !code && *number < *count; ++*number)
    if (!cuda->device_of(device, *number) && !cuda->uuid(found, *device) && !memcmp(found, uuid, CUDA_UUID)) break;
  return code;
}

void cuda_uuid(const struct device *device, unsigned char uuid[CUDA_UUID]) {
  memset(uuid, 0, CUDA_UUID);
  clGetDeviceInfo(device->id, CL_UUID, CUDA_UUID, uuid, NULL);
}

/* CUDA's number of the device that OpenCL has open. */
static bool find_device(struct cuda *cuda, struct error *error) {
  unsigned char wanted[CUDA_UUID];
  int count = 0;
  cu_result code = cuda->init(0);
  cuda_uuid(cuda->device, wanted);
  if (!code) code = find_uuid(cuda, wanted, &cuda->own, &cuda->number, &count);
  if (code) return refuse(cuda, "to list its devices", code, error);
  return cuda->number < count ||
         fail_as(error, ERROR_NO_DEVICE,
                 "none of the %d devices that CUDA shows is %s; does CUDA_VISIBLE_DEVICES leave it out?",
                 count, cuda->device->facts.name);
}

static bool find_granularity(struct cuda *cuda, struct error *error) {
  cuda->properties = (struct cu_properties){
      .kind = CU_PINNED, .handles = CU_POSIX_FD, .location = {CU_ON_DEVICE, cuda->own}};
  cu_result code = cuda->retain(&cuda->context, cuda->own);
  if (code) return refuse(cuda, "its primary context", code, error);
  code = cuda->granularity(&cuda->grain, &cuda->properties, 0);
  if (!code) return true;
  cuda->release(cuda->own);
  return refuse(cuda, "memory to share", code, error);
}

int cuda_number(const struct cuda *cuda) {
  return cuda->number;
}

/* ---- memory -------------------------------------------------------------------------------------------- */

/* OpenCL owns the descriptor from then on. */
static cl_int import(struct cuda *cuda, struct cuda_piece *piece, int descriptor) {
  struct device *device = cuda->device;
  const cl_ulong properties[] = {
      CL_OPAQUE_FD, (cl_ulong)descriptor, CL_DEVICES, (cl_ulong)(uintptr_t)device->id, 0, 0};
  cl_int code = CL_SUCCESS;
  piece->buffer = cuda->import(device->context, properties, CL_MEM_READ_WRITE, piece->bytes, NULL, &code);
  if (code != CL_SUCCESS) {
    close(descriptor);
    piece->buffer = NULL;
  } else if (cuda->acquire)
    CL(device, cuda->acquire(device->queue, 1, &piece->buffer, 0, NULL, NULL));
  return code;
}

static bool make_piece(struct cuda *cuda, struct cuda_piece *piece, uint64_t address, const char *what,
                       struct error *error) {
  struct cu_access access = {cuda->properties.location, CU_READ_WRITE};
  int descriptor = -1;
  cu_result code = cuda->create(&piece->handle, piece->bytes, &cuda->properties, 0);
  if (code) return refuse(cuda, what, code, error);
  piece->made = true;
  code = cuda->map(address, piece->bytes, 0, piece->handle, 0);
  piece->mapped = !code;
  if (!code) code = cuda->access(address, piece->bytes, &access, 1);
  if (!code) code = cuda->export(&descriptor, piece->handle, CU_POSIX_FD, 0);
  if (code) return refuse(cuda, what, code, error);
  cl_int refused = import(cuda, piece, descriptor);
  return refused == CL_SUCCESS ||
         fail_as(error, ERROR_DEVICE, "OpenCL does not import CUDA's memory for %s on %s: %s (%d)", what,
                 cuda->device->facts.name, device_code_name(refused), refused);
}

/* From 256 grains (512 MiB) on, memory may have pages of that size: on two H200 of one machine OpenCL's
 * driver 580 ended the process where it imported such memory, with 510 MiB it did not. */
enum { MOST_GRAINS = 255 };

static bool make(struct cuda *cuda, struct cuda_memory *memory, const char *what, struct error *error) {
  size_t most = MOST_GRAINS * cuda->grain, at = 0;
  cu_result code = cuda->reserve(&memory->address, memory->bytes, 0, 0, 0);
  if (code) {
    memory->address = 0;
    return refuse(cuda, what, code, error);
  }
  for (size_t i = 0; i < memory->count; i++, at += most) {
    struct cuda_piece *piece = &memory->pieces[i];
    piece->bytes = memory->bytes - at < most ? memory->bytes - at : most;
    if (!make_piece(cuda, piece, memory->address + at, what, error)) return false;
  }
  return true;
}

bool cuda_memory_open(struct cuda *cuda, struct cuda_memory *memory, size_t bytes, const char *what,
                      struct arena *arena, struct error *error) {
  cu_context before;
  size_t grains = (bytes + cuda->grain - 1) / cuda->grain, count = (grains + MOST_GRAINS - 1) / MOST_GRAINS;
  cu_result code = cuda->push(cuda->context);
  if (code) return refuse(cuda, "its primary context", code, error);
  *memory = (struct cuda_memory){
      .bytes = grains * cuda->grain, .count = count, .pieces = ARENA_NEW(arena, struct cuda_piece, count)};
  bool good = make(cuda, memory, what, error);
  cuda->pop(&before);
  memory->own = true;
  cuda->device->bytes += memory->bytes;
  if (!good) cuda_memory_close(cuda, memory);
  return good;
}

cl_mem cuda_memory_buffer(const struct cuda_memory *memory) {
  return memory->count == 1 ? memory->pieces->buffer : NULL;
}

void cuda_memory_fill(struct cuda *cuda, const struct cuda_memory *memory, cl_mem from, size_t bytes) {
  size_t at = 0;
  for (size_t i = 0; i < memory->count; i++) {
    size_t left = bytes - at, room = memory->pieces[i].bytes;
    device_copy(cuda->device, from, at, memory->pieces[i].buffer, 0, left < room ? left : room);
    at += room;
  }
}

/* At any stage of opening. */
void cuda_memory_close(struct cuda *cuda, struct cuda_memory *memory) {
  cu_context before;
  uint64_t at = memory->address;
  if (!memory->count) return;
  clFinish(cuda->device->queue); /* what is enqueued on its buffers, as that they are acquired */
  bool inside = !cuda->push(cuda->context);
  for (size_t i = 0; i < memory->count; i++) {
    struct cuda_piece *piece = &memory->pieces[i];
    if (piece->buffer) clReleaseMemObject(piece->buffer);
    if (piece->mapped) cuda->unmap(at, piece->bytes);
    if (piece->made) cuda->forget(piece->handle);
    at += piece->bytes;
  }
  if (memory->address) cuda->unreserve(memory->address, memory->bytes);
  if (inside) cuda->pop(&before);
  if (memory->own) cuda->device->bytes -= memory->bytes;
  *memory = (struct cuda_memory){0};
}

/* ---- memory of other processes ------------------------------------------------------------------------- */

bool cuda_memory_lend(struct cuda *cuda, const struct cuda_memory *memory, int *file, struct error *error) {
  if (memory->count > 1)
    return fail(error, "they are %zu MiB, and a rank lends at most %zu", memory->bytes >> 20, MOST_GRAINS * cuda->grain >> 20);
  cu_result code = cuda->export(file, memory->pieces->handle, CU_POSIX_FD, 0);
  return !code || refuse(cuda, "to lend memory", code, error);
}

/* Whether what the device of that identity holds can be read by this one. */
static bool is_reached(struct cuda *cuda, const unsigned char uuid[CUDA_UUID], struct error *error) {
  cu_device other;
  int number, count = 0;
  cu_result code = find_uuid(cuda, uuid, &other, &number, &count);
  if (code) return refuse(cuda, "to list its devices", code, error);
  if (number == count)
    return fail(error, "none of the %d devices that CUDA shows is the other rank's; does CUDA_VISIBLE_DEVICES leave it out?", count);
  int can = other == cuda->own;
  if (!can) code = cuda->reaches(&can, cuda->own, other);
  if (code) return refuse(cuda, "to tell which devices it reaches", code, error);
  return can || fail(error, "%s, device %d of CUDA's, cannot read the memory of device %d", cuda->device->facts.name, cuda->number,
                     number);
}

static bool map_borrowed(struct cuda *cuda, struct cuda_memory *memory, int file, struct error *error) {
  struct cu_access access = {cuda->properties.location, CU_READ_WRITE};
  struct cuda_piece *piece = memory->pieces;
  cu_result code = cuda->borrow(&piece->handle, (void *)(intptr_t)file, CU_POSIX_FD);
  piece->made = !code;
  if (!code) code = cuda->reserve(&memory->address, memory->bytes, 0, 0, 0);
  if (code) memory->address = 0;
  if (!code) code = cuda->map(memory->address, memory->bytes, 0, piece->handle, 0);
  piece->mapped = !code;
  if (!code) code = cuda->access(memory->address, memory->bytes, &access, 1);
  return !code || refuse(cuda, "another process's memory", code, error);
}

bool cuda_memory_borrow(struct cuda *cuda, struct cuda_memory *memory, const unsigned char uuid[CUDA_UUID], size_t bytes, int file,
                        struct arena *arena, struct error *error) {
  cu_context before;
  if (!is_reached(cuda, uuid, error)) return false;
  cu_result code = cuda->push(cuda->context);
  if (code) return refuse(cuda, "its primary context", code, error);
  *memory = (struct cuda_memory){
      .bytes = (bytes + cuda->grain - 1) / cuda->grain * cuda->grain, .count = 1, .pieces = ARENA_NEW(arena, struct cuda_piece, 1)};
  memory->pieces->bytes = memory->bytes;
  bool good = map_borrowed(cuda, memory, file, error);
  cuda->pop(&before);
  if (!good) cuda_memory_close(cuda, memory);
  return good;
}

bool cuda_copy(struct cuda *cuda, uint64_t to, uint64_t from, size_t bytes, struct error *error) {
  cu_context before;
  cu_result code = cuda->push(cuda->context);
  if (!code) {
    code = cuda->copy(to, from, bytes);
    if (!code) code = cuda->synchronise();
    cuda->pop(&before);
  }
  return !code || refuse(cuda, "to copy between devices", code, error);
}

bool cuda_wait(struct cuda *cuda, struct error *error) {
  cu_context before;
  cu_result code = cuda->push(cuda->context);
  if (!code) {
    code = cuda->synchronise();
    cuda->pop(&before);
  }
  return !code || refuse(cuda, "to wait for what is under way", code, error);
}

/* ---- what stays ---------------------------------------------------------------------------------------- */

/* With NVIDIA's driver 580 a process hung when it closed its only handle whose arrays were CUDA's memory.
 * While another such handle was open none hung, nor did processes that ended without releasing anything. So
 * contexts that have imported such memory stay (`device_close`), and of each device a little of it and a
 * reference to its primary context. */
struct kept {
  struct arena *arena; /* owns this */
  cl_device_id id;
  struct cuda_memory memory;
  struct kept *next;
};

static struct kept *all_kept; /* LOCK_DEVICES guards it */

/* Keeps a little memory in the context of the device that is the first to share its own. */
static bool keep_memory(struct cuda *cuda, struct error *error) {
  HOLD(LOCK_DEVICES);
  for (const struct kept *kept = all_kept; kept; kept = kept->next)
    if (kept->id == cuda->device->id) return true;
  cu_result code = cuda->retain(&cuda->context, cuda->own);
  if (code) return refuse(cuda, "its primary context", code, error);
  struct arena *arena = arena_open();
  struct kept *kept = ARENA_NEW(arena, struct kept, 1);
  *kept = (struct kept){.arena = arena, .id = cuda->device->id, .next = all_kept};
  if (cuda_memory_open(cuda, &kept->memory, 1, "a context that stays", arena, error)) {
    all_kept = kept;
    return true;
  }
  cuda->release(cuda->own);
  arena_close(arena);
  return false;
}

/* ---- opening and closing ------------------------------------------------------------------------------- */

bool cuda_open(struct cuda **opened, struct device *device, struct arena *arena, struct error *error) {
  if (device->facts.maker != MAKER_NVIDIA)
    return fail_as(error, ERROR_NO_DEVICE,
                   "%s is no device of NVIDIA's, and CUDA sees no other; take arrays in host memory, "
                   "or as OpenCL's",
                   device->facts.name);
  struct cuda *cuda = ARENA_NEW(arena, struct cuda, 1);
  *cuda = (struct cuda){.device = device};
  if (!load_calls(cuda, error) || !load_import(cuda, error) || !find_device(cuda, error) ||
      !find_granularity(cuda, error))
    return false;
  if (!keep_memory(cuda, error)) {
    cuda_close(cuda);
    return false;
  }
  device->stays = true;
  *opened = cuda;
  return true;
}

void cuda_close(struct cuda *cuda) {
  if (cuda) cuda->release(cuda->own);
}
