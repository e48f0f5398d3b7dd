/* Stands before OpenCL's loader: says that every device is a GPU of NVIDIA's with CUDA's memory, and imports
 * the files that driver.c exports. A program links it before the loader. */
#undef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 300
#include "driver.h"

#include <CL/cl.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { UUID = 0x106A, OPAQUE_FD = 0x2060, SECOND_DEVICE = 11 };

static void *next(const char *name) {
  void *found = dlsym(RTLD_NEXT, name);
  if (!found) abort();
  return found;
}
#define NEXT(name, to) memcpy(&(to), &(void *){next(name)}, sizeof(to))

static cl_int give(const void *value, size_t bytes, size_t room, void *to, size_t *size) {
  if (to && room < bytes) return CL_INVALID_VALUE;
  if (to) memcpy(to, value, bytes);
  if (size) *size = bytes;
  return CL_SUCCESS;
}

cl_int clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t room, void *to, size_t *size) {
  static const char vendor[] = "NVIDIA Corporation";
  const cl_device_type type = CL_DEVICE_TYPE_GPU;
  unsigned char uuid[16];
  cl_int (*call)(cl_device_id, cl_device_info, size_t, void *, size_t *);
  memset(uuid, SECOND_DEVICE, sizeof uuid);
  NEXT("clGetDeviceInfo", call);
  switch (what) {
  case CL_DEVICE_TYPE: return give(&type, sizeof type, room, to, size);
  case CL_DEVICE_VENDOR: return give(vendor, sizeof vendor, room, to, size);
  case UUID: return give(uuid, sizeof uuid, room, to, size);
  default: return call(device, what, room, to, size);
  }
}

cl_context clCreateContext(const cl_context_properties *properties, cl_uint count,
                           const cl_device_id *devices,
                           void(CL_CALLBACK *note)(const char *, const void *, size_t, void *), void *user,
                           cl_int *code) {
  cl_context (*call)(const cl_context_properties *, cl_uint, const cl_device_id *,
                     void(CL_CALLBACK *)(const char *, const void *, size_t, void *), void *, cl_int *);
  NEXT("clCreateContext", call);
  driver_state()->contexts++;
  return call(properties, count, devices, note, user, code);
}

struct imported {
  void *place;
  size_t bytes;
};

static void CL_CALLBACK forget(cl_mem buffer, void *user) {
  struct imported *imported = user;
  (void)buffer;
  munmap(imported->place, imported->bytes);
  free(imported);
  driver_state()->imports--;
}

cl_mem clCreateBufferWithProperties(cl_context context, const cl_mem_properties *properties,
                                    cl_mem_flags flags, size_t bytes, void *host, cl_int *code) {
  int file = (int)properties[1];
  *code = CL_INVALID_VALUE;
  if (properties[0] != OPAQUE_FD || host || driver_refuses(__func__)) return NULL;
  void *place = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (place == MAP_FAILED) return NULL;
  cl_mem buffer = clCreateBuffer(context, flags | CL_MEM_USE_HOST_PTR, bytes, place, code);
  if (*code != CL_SUCCESS) return NULL;
  close(file);
  struct imported *imported = malloc(sizeof *imported);
  *imported = (struct imported){place, bytes};
  clSetMemObjectDestructorCallback(buffer, forget, imported);
  driver_state()->imports++;
  return buffer;
}

static cl_int acquire(cl_command_queue queue, cl_uint count, const cl_mem *memory, cl_uint waits,
                      const cl_event *events, cl_event *event) {
  if (!queue || count != 1 || !memory || waits || events || event) return CL_INVALID_VALUE;
  driver_state()->acquired++;
  return CL_SUCCESS;
}

void *clGetExtensionFunctionAddressForPlatform(cl_platform_id platform, const char *name) {
  void *(*call)(cl_platform_id, const char *);
  cl_int (*ours)(cl_command_queue, cl_uint, const cl_mem *, cl_uint, const cl_event *, cl_event *) = acquire;
  void *found;
  memcpy(&found, &ours, sizeof found);
  NEXT("clGetExtensionFunctionAddressForPlatform", call);
  return strcmp(name, "clEnqueueAcquireExternalMemObjectsKHR") ? call(platform, name) : found;
}

cl_int clEnqueueReadBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocks, size_t offset, size_t bytes,
                           void *to, cl_uint waits, const cl_event *events, cl_event *event) {
  cl_int (*call)(cl_command_queue, cl_mem, cl_bool, size_t, size_t, void *, cl_uint, const cl_event *,
                 cl_event *);
  NEXT("clEnqueueReadBuffer", call);
  driver_state()->read += bytes;
  return call(queue, buffer, blocks, offset, bytes, to, waits, events, event);
}

/* So that the library finds the import above. */
void *dlopen(const char *name, int flags) {
  void *(*call)(const char *, int);
  NEXT("dlopen", call);
  return call(name && !strcmp(name, "libOpenCL.so.1") ? NULL : name, flags);
}
