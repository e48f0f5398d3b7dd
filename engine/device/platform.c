/* What is there before a device: the drivers, their platforms, and the names of OpenCL's codes. */
#include "engine/base/lock.h"
#include "engine/device/device.h"
#include "engine/device/room.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 16 };

const char *device_code_name(cl_int code) {
  static const struct {
    cl_int code;
    const char *name;
  } names[] = {
      {CL_DEVICE_NOT_FOUND, "CL_DEVICE_NOT_FOUND"},
      {CL_DEVICE_NOT_AVAILABLE, "CL_DEVICE_NOT_AVAILABLE"},
      {CL_MEM_OBJECT_ALLOCATION_FAILURE, "CL_MEM_OBJECT_ALLOCATION_FAILURE (device memory is full)"},
      {CL_OUT_OF_RESOURCES, "CL_OUT_OF_RESOURCES"},
      {CL_OUT_OF_HOST_MEMORY, "CL_OUT_OF_HOST_MEMORY"},
      {CL_BUILD_PROGRAM_FAILURE, "CL_BUILD_PROGRAM_FAILURE"},
      {CL_INVALID_VALUE, "CL_INVALID_VALUE"},
      {CL_INVALID_BUFFER_SIZE, "CL_INVALID_BUFFER_SIZE"},
      {CL_INVALID_MEM_OBJECT, "CL_INVALID_MEM_OBJECT"},
      {CL_INVALID_BINARY, "CL_INVALID_BINARY"},
      {CL_INVALID_KERNEL_NAME, "CL_INVALID_KERNEL_NAME"},
      {CL_INVALID_KERNEL_ARGS, "CL_INVALID_KERNEL_ARGS"},
      {CL_INVALID_ARG_SIZE, "CL_INVALID_ARG_SIZE"},
      {CL_INVALID_WORK_GROUP_SIZE, "CL_INVALID_WORK_GROUP_SIZE"},
      {CL_INVALID_WORK_ITEM_SIZE, "CL_INVALID_WORK_ITEM_SIZE"},
      {CL_KERNEL_ARG_INFO_NOT_AVAILABLE, "CL_KERNEL_ARG_INFO_NOT_AVAILABLE"},
      {-1001, "no OpenCL platform is installed"},
      {-9999, "the driver reports an illegal access inside a kernel"},
  };
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (names[i].code == code) return names[i].name;
  return "an OpenCL error";
}

static struct {
  bool are_loaded, have_threads;
} drivers; /* OpenCL's, once in a process; LOCK_DEVICES guards it */

bool device_load(size_t later, struct error *error) {
  HOLD(LOCK_DEVICES);
  return drivers.are_loaded || (drivers.are_loaded = room_for_drivers(later, error));
}

/* PoCL starts its threads when its devices are asked for. */
bool device_may_list(cl_platform_id platform, struct error *error) {
  HOLD(LOCK_DEVICES);
  char name[128] = "";
  clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name - 1, name, NULL);
  if (drivers.have_threads || !strstr(name, "Portable Computing Language")) return true;
  return drivers.have_threads = room_for_pocl(error);
}

/* ---- platforms ----------------------------------------------------------------------------------------- */

static const char *set_variable(const char *name) {
  const char *value = getenv(name);
  return value && *value ? value : NULL;
}

void device_pocl_cache(char *text, size_t size) {
  const char *own = set_variable("POCL_CACHE_DIR"), *cache = set_variable("XDG_CACHE_HOME");
  const char *home = set_variable("HOME");
  if (own)
    snprintf(text, size, "%s", own);
  else
    snprintf(text, size, "%s%s/pocl/kcache",
             cache  ? cache
             : home ? home
                    : "",
             cache || !home ? "" : "/.cache");
}

static void write_cause(char *text, size_t size, const char *platform) {
  char cache[256];
  device_pocl_cache(cache, sizeof cache);
  if (strstr(platform, "Portable Computing Language"))
    snprintf(
        text, size,
        "perhaps it cannot write its kernel cache %s: set POCL_CACHE_DIR to a folder that can be written",
        cache);
  else
    snprintf(text, size,
             "perhaps there is no card of its kind, or this user may not open it: look at /dev/dri and "
             "/dev/nvidia*, whose groups are often render and video");
}

size_t device_platforms(device_see_platform *see, void *context) {
  HOLD(LOCK_DEVICES);
  cl_platform_id platforms[MOST];
  cl_uint count = 0;
  struct error ignored; /* device_open tells it */
  size_t seen = 0;
  if (!device_load(0, &ignored)) return 0;
  if (clGetPlatformIDs(MOST, platforms, &count) != CL_SUCCESS) return 0;
  if (count > MOST) count = MOST;
  for (cl_uint i = 0; i < count; i++) {
    char name[128] = "", cause[512];
    if (!device_may_list(platforms[i], &ignored)) continue;
    cl_uint devices = 0;
    clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof name - 1, name, NULL);
    cl_int code = clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 0, NULL, &devices);
    write_cause(cause, sizeof cause, name);
    see(name, code == CL_SUCCESS && !devices ? CL_DEVICE_NOT_FOUND : code, cause, context);
    seen++;
  }
  return seen;
}

static void say_platform(const char *name, cl_int code, const char *cause, void *context) {
  struct error *error = context;
  size_t used = strlen(error->text);
  snprintf(error->text + used, sizeof error->text - used,
           "%sthe OpenCL platform %s is there but gives no device (%s); %s", used ? "; " : "", name,
           device_code_name(code), cause);
}

bool device_none(struct error *error) {
  struct error platforms = {0};
  char limits[256];
  room_limits(limits, sizeof limits);
  if (device_platforms(say_platform, &platforms))
    return fail_as(error, ERROR_NO_DEVICE, "%.1200s%s", platforms.text, limits);
  const char *vendors = set_variable("OCL_ICD_VENDORS");
  return fail_as(
      error, ERROR_NO_DEVICE,
      "no OpenCL platform found%s%s; install a driver (for the CPU: apt-get install pocl-opencl-icd)%s%s",
      vendors ? " in OCL_ICD_VENDORS=" : "", vendors ? vendors : "",
      vendors ? " or unset OCL_ICD_VENDORS, which takes the place of /etc/OpenCL/vendors" : "", limits);
}
