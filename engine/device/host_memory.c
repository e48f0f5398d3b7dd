#include "engine/device/host_memory.h"

#include "engine/device/room.h"

bool host_memory_open(struct host_memory *memory, struct device *device, size_t bytes, const char *what,
                      const char *advice, struct error *error) {
  cl_int code;
  if (!room_for(bytes + room_for_kernels(), what, error)) return false;
  memory->buffer =
      clCreateBuffer(device->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes, NULL, &code);
  if (code == CL_SUCCESS)
    memory->data = clEnqueueMapBuffer(device->queue, memory->buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                      bytes, 0, NULL, NULL, &code);
  if (code == CL_SUCCESS) return true;
  if (memory->buffer) clReleaseMemObject(memory->buffer);
  *memory = (struct host_memory){0};
  return fail_memory(error, "no pinned host memory for %s: %zu bytes (%s); %s", what, bytes, device_code_name(code),
                     advice);
}

void host_memory_close(struct host_memory *memory, struct device *device) {
  if (!memory->buffer) return;
  clEnqueueUnmapMemObject(device->queue, memory->buffer, memory->data, 0, NULL, NULL);
  clFinish(device->queue);
  clReleaseMemObject(memory->buffer);
  *memory = (struct host_memory){0};
}
