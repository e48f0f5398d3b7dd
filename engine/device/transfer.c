#include "engine/base/arena.h"
#include "engine/device/profile.h"

#include <math.h>
#include <string.h>

void device_write(struct device *device, cl_mem buffer, size_t offset, size_t bytes, const void *from) {
  if (bytes)
    CL(device, clEnqueueWriteBuffer(device->queue, buffer, CL_TRUE, offset, bytes, from, 0, NULL, NULL));
}

void device_read(struct device *device, cl_mem buffer, size_t offset, size_t bytes, void *to) {
  double start = profile_clock(device);
  if (bytes)
    CL(device, clEnqueueReadBuffer(device->queue, buffer, CL_TRUE, offset, bytes, to, 0, NULL, NULL));
  profile_host(device, "read from the device", start);
}

void device_fetch(struct device *device, cl_mem buffer, size_t offset, size_t bytes, void *to) {
  if (bytes)
    CL(device, clEnqueueReadBuffer(device->queue, buffer, CL_FALSE, offset, bytes, to, 0, NULL, NULL));
}

void device_fill(struct device *device, cl_mem buffer, size_t offset, size_t bytes, uint32_t word) {
  size_t odd = bytes | offset, size = odd % 2 ? 1 : odd % 4 ? 2 : 4; /* bytes of the word that repeat */
  cl_event event = NULL;
  if (bytes)
    CL(device, clEnqueueFillBuffer(device->queue, buffer, &word, size, offset, bytes, 0, NULL, device->profile ? &event : NULL));
  if (event) profile_note(device, "fill", (struct profile_work){(double)bytes, 0}, event);
}

void device_fill_floats(struct device *device, cl_mem buffer, size_t count, float value) {
  uint32_t word;
  memcpy(&word, &value, sizeof word);
  device_fill(device, buffer, 0, sizeof value * count, word);
}

void device_copy(struct device *device, cl_mem from, size_t from_offset, cl_mem to, size_t to_offset,
                 size_t bytes) {
  bool there = from == to && from_offset == to_offset;
  cl_event event = NULL;
  if (bytes && !there)
    CL(device, clEnqueueCopyBuffer(device->queue, from, to, from_offset, to_offset, bytes, 0, NULL,
                                   device->profile ? &event : NULL));
  if (event) profile_note(device, "copy", (struct profile_work){2.0 * (double)bytes, 0}, event);
}

double device_distance(struct device *device, cl_mem found, cl_mem expected, size_t count) {
  struct arena *arena = arena_open();
  float *a = ARENA_NEW(arena, float, count), *b = ARENA_NEW(arena, float, count);
  double off = 0, all = 0;
  device_read(device, found, 0, sizeof(float) * count, a);
  device_read(device, expected, 0, sizeof(float) * count, b);
  for (size_t i = 0; i < count; i++) {
    off += pow((double)a[i] - b[i], 2);
    all += pow(b[i], 2);
  }
  arena_close(arena);
  return all > 0 ? sqrt(off / all) : sqrt(off);
}
