#include "engine/device/device.h"

#include "engine/base/arena.h"
#include "engine/base/lock.h"
#include "engine/device/blas_cache.h"
#include "engine/device/fft_library.h"
#include "engine/device/room.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MOST = 64 };

struct kept_program {
  struct kept_program *next;
  const char *key;
  cl_program program;
};

struct found {
  cl_device_id id;
  cl_platform_id platform;
};

static enum error_code kind_of(cl_int code) {
  bool memory = code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_HOST_MEMORY;
  return memory ? ERROR_MEMORY : ERROR_DEVICE;
}

static void read_text(cl_device_id id, cl_device_info what, char *text, size_t size) {
  text[0] = 0;
  clGetDeviceInfo(id, what, size - 1, text, NULL);
  text[size - 1] = 0;
  size_t start = strspn(text, " ");
  memmove(text, text + start, strlen(text + start) + 1);
}

static enum device_maker read_maker(const char *vendor) {
  if (strstr(vendor, "NVIDIA")) return MAKER_NVIDIA;
  if (strstr(vendor, "Advanced Micro") || strstr(vendor, "AMD")) return MAKER_AMD;
  return strstr(vendor, "Intel") ? MAKER_INTEL : MAKER_OTHER;
}

/* gfx11 alone has the instructions that kernels/common.h names, data-centre cards those of kernels/cdna.h: gfx12's take
 * other operands, others have none. The driver says how wide its waves are (cl_amd_device_attribute_query). */
static enum device_matrix amd_matrix(cl_device_id id, const char *name) {
  enum { WAVEFRONT_WIDTH_AMD = 0x4043 };
  cl_uint width = 0;
  if (clGetDeviceInfo(id, WAVEFRONT_WIDTH_AMD, sizeof width, &width, NULL) != CL_SUCCESS) return MATRIX_NONE;
  if (!strncmp(name, "gfx11", 5) && width == 32) return MATRIX_AMD;
  bool cdna = !strncmp(name, "gfx90a", 6) || !strncmp(name, "gfx942", 6);
  return cdna && width == 64 ? MATRIX_CDNA : MATRIX_NONE;
}

bool device_on_cdna(const struct device *device) {
  return device->facts.matrix == MATRIX_CDNA || device->facts.matrix == MATRIX_CDNA_EMULATED;
}

/* NVIDIA's driver says 48 KiB; of compute capabilities 9 and 10 it takes 226 KiB that are declared (measured on 9). */
static cl_ulong read_declared(cl_device_id id, const struct device_facts *facts) {
  enum { MAJOR = 0x4000 }; /* CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV */
  cl_uint major = 0;
  if (facts->maker == MAKER_NVIDIA) clGetDeviceInfo(id, MAJOR, sizeof major, &major, NULL);
  return major == 9 || major == 10 ? 226 << 10 : facts->local;
}

static void read_facts(const struct found *found, struct device_facts *facts) {
  cl_device_id id = found->id;
  cl_uint bits = 0;
  memset(facts, 0, sizeof *facts);
  read_text(id, CL_DEVICE_NAME, facts->name, sizeof facts->name);
  read_text(id, CL_DEVICE_VENDOR, facts->vendor, sizeof facts->vendor);
  read_text(id, CL_DEVICE_VERSION, facts->version, sizeof facts->version);
  read_text(id, CL_DRIVER_VERSION, facts->driver, sizeof facts->driver);
  clGetPlatformInfo(found->platform, CL_PLATFORM_NAME, sizeof facts->platform - 1, facts->platform, NULL);
  clGetDeviceInfo(id, CL_DEVICE_TYPE, sizeof facts->kind, &facts->kind, NULL);
  clGetDeviceInfo(id, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof facts->memory, &facts->memory, NULL);
  clGetDeviceInfo(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof facts->largest, &facts->largest, NULL);
  clGetDeviceInfo(id, CL_DEVICE_LOCAL_MEM_SIZE, sizeof facts->local, &facts->local, NULL);
  clGetDeviceInfo(id, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof facts->units, &facts->units, NULL);
  clGetDeviceInfo(id, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof facts->group, &facts->group, NULL);
  clGetDeviceInfo(id, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof bits, &bits, NULL);
  facts->alignment = bits / 8;
  facts->keeps_programs = strstr(facts->platform, "Portable Computing Language") != NULL;
  facts->declared = facts->local;
  if (!(facts->kind & CL_DEVICE_TYPE_GPU)) return; /* a CPU may be "AuthenticAMD": no fast path of a GPU */
  facts->maker = read_maker(facts->vendor);
  if (facts->maker == MAKER_OTHER && strstr(facts->platform, "NVIDIA")) facts->maker = MAKER_NVIDIA;
  if (facts->maker == MAKER_NVIDIA) facts->matrix = MATRIX_NVIDIA;
  facts->declared = read_declared(id, facts);
  if (facts->maker == MAKER_AMD) facts->matrix = amd_matrix(id, facts->name);
  if (facts->maker == MAKER_NVIDIA) facts->largest = facts->memory; /* says a quarter, gives all (measured) */
}

/* Of loops: llvmpipe of Mesa 22.3 (Debian 12) ends them, of 25.0 (Debian 13) does not. */
static void say_limits(const struct device_facts *facts) {
  static atomic_flag said = ATOMIC_FLAG_INIT;
  if (strncmp(facts->name, "llvmpipe", 8) || atoi(facts->driver) >= 25 || atomic_flag_test_and_set(&said)) return;
  log_warning("%s of Mesa %s ends the loops of a kernel after 65535 turns without an error: what is larger than `l2sr "
              "verify` tries may come out wrong; Mesa 25 and PoCL do not (apt-get install pocl-opencl-icd)",
              facts->name, facts->driver);
}

static void add_devices(cl_platform_id platform, struct found list[MOST], size_t *count) {
  cl_device_id ids[16];
  cl_uint id_count = 0;
  if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 16, ids, &id_count) != CL_SUCCESS) return;
  for (cl_uint i = 0; i < id_count && i < 16 && *count < MOST; i++)
    list[(*count)++] = (struct found){ids[i], platform};
}

/* left_out: why devices are missing for which the process has no room; its code is ERROR_NONE where none are. */
static size_t find_devices(struct found list[MOST], struct error *left_out) {
  HOLD(LOCK_DEVICES);
  cl_platform_id platforms[16];
  cl_uint platform_count = 0;
  size_t count = 0;
  *left_out = (struct error){.code = ERROR_NONE};
  if (!device_load(0, left_out)) return 0;
  if (clGetPlatformIDs(16, platforms, &platform_count) != CL_SUCCESS) return 0;
  if (platform_count > 16) platform_count = 16;
  for (cl_uint p = 0; p < platform_count; p++)
    if (device_may_list(platforms[p], left_out)) add_devices(platforms[p], list, &count);
  return count;
}

size_t device_list(device_see *see, void *context) {
  struct found list[MOST];
  struct error ignored; /* device_open tells it */
  size_t count = find_devices(list, &ignored);
  for (size_t i = 0; i < count; i++) {
    struct device_facts facts;
    read_facts(&list[i], &facts);
    see(i, &facts, context);
  }
  return count;
}

static bool holds(const char *text, const char *part) {
  size_t length = strlen(part);
  for (; *text; text++)
    if (!strncasecmp(text, part, length)) return true;
  return false;
}

static bool is_kind(const char *select, cl_device_type kind) {
  return (!strcasecmp(select, "gpu") && (kind & CL_DEVICE_TYPE_GPU)) ||
         (!strcasecmp(select, "cpu") && (kind & CL_DEVICE_TYPE_CPU)) ||
         (!strcasecmp(select, "accelerator") && (kind & CL_DEVICE_TYPE_ACCELERATOR));
}

static bool matches(const char *select, size_t index, const struct device_facts *facts) {
  char *end;
  unsigned long place = strtoul(select, &end, 10);
  if (isdigit((unsigned char)*select) && !*end) return place == index;
  if (!strcasecmp(select, "gpu") || !strcasecmp(select, "cpu") || !strcasecmp(select, "accelerator"))
    return is_kind(select, facts->kind);
  return holds(facts->name, select) || holds(facts->vendor, select) || holds(facts->platform, select);
}

static bool select_device(const char *select, struct found *chosen, struct device_facts *facts,
                          struct error *error) {
  struct found list[MOST];
  struct error left_out;
  size_t count = find_devices(list, &left_out);
  if (!count && left_out.code == ERROR_NONE) return device_none(error);
  if (!*select && getenv("L2SR_DEVICE")) select = getenv("L2SR_DEVICE");
  const char *choices[] = {*select ? select : "gpu", *select ? NULL : "accelerator", *select ? NULL : "0"};
  for (size_t w = 0; w < 3 && choices[w]; w++)
    for (size_t i = 0; i < count; i++) {
      read_facts(&list[i], facts);
      *chosen = list[i];
      if (matches(choices[w], i, facts)) return true;
    }
  if (left_out.code != ERROR_NONE) {
    *error = left_out;
    return false;
  }
  char names[512];
  size_t used = 0;
  names[0] = 0;
  for (size_t i = 0; i < count && used < sizeof names; i++) {
    read_facts(&list[i], facts);
    used += (size_t)snprintf(names + used, sizeof names - used, "%s%zu: %s", i ? "; " : "", i, facts->name);
  }
  return fail_as(error, ERROR_NO_DEVICE, "no OpenCL device matches '%s'; there are: %s", select, names);
}

bool device_named(const char *select, struct error *error) {
  struct found chosen;
  struct device_facts facts;
  return select_device(select, &chosen, &facts, error);
}

/* ---- open devices -------------------------------------------------------------------------------------- */

static unsigned devices; /* the process has one count; LOCK_DEVICES guards it */

/* Contexts that stay, and which no open device has. */
struct parked {
  struct arena *arena; /* owns this */
  cl_device_id id;
  cl_context context;
  struct parked *next;
};

static struct parked *parked; /* LOCK_DEVICES guards it */

static void park(cl_device_id id, cl_context context) {
  struct arena *arena = arena_open();
  struct parked *place = ARENA_NEW(arena, struct parked, 1);
  *place = (struct parked){arena, id, context, parked};
  parked = place;
}

static cl_context take_parked(cl_device_id id) {
  struct parked **place = &parked;
  while (*place && (*place)->id != id) place = &(*place)->next;
  struct parked *found = *place;
  if (!found) return NULL;
  cl_context context = found->context;
  *place = found->next;
  arena_close(found->arena);
  return context;
}

/* One that stays keeps our reference; the program's own, and one that failed, nobody takes again. */
static void leave_context(struct device *device) {
  if (!device->stays)
    clReleaseContext(device->context);
  else if (!device->adopted && !device->failed)
    park(device->id, device->context);
}

enum { WARM_MOST = 96, KEY_BYTES = 65 };

/* The context that was closed last, with its programs, where the driver takes long even to find those that it
 * keeps: handles that are opened one after the other build each once. In no arena, for an allocator of the
 * program's gets everything back with its last handle. */
static struct {
  cl_device_id id;
  cl_context context; /* NULL: none */
  size_t count;
  struct {
    char key[KEY_BYTES];
    cl_program program;
  } program[WARM_MOST];
} warm; /* LOCK_DEVICES guards it */

static void release_programs(struct device *device) {
  for (struct kept_program *kept = device->programs; kept; kept = kept->next) clReleaseProgram(kept->program);
  device->programs = NULL;
}

static bool may_stay_warm(const struct device *device) {
  return device->facts.keeps_programs && !device->adopted && !device->stays && !device->failed &&
         !warm.context;
}

static void keep_warm(struct device *device) {
  warm.id = device->id;
  warm.context = device->context;
  warm.count = 0; /* what a broken call left there is lost */
  for (struct kept_program *kept = device->programs; kept && warm.count < WARM_MOST; kept = kept->next) {
    snprintf(warm.program[warm.count].key, KEY_BYTES, "%s", kept->key);
    if (clRetainProgram(kept->program) == CL_SUCCESS) warm.program[warm.count++].program = kept->program;
  }
}

/* Makes a queue in the context that is open, which stays where that fails. */
static bool make_queue(struct device *device, struct error *error) {
  cl_int code;
  device->queue = clCreateCommandQueue(device->context, device->id, 0, &code);
  if (code == CL_SUCCESS) {
    device->arena = arena_open();
    devices++;
    return true;
  }
  device->failed = true;
  leave_context(device);
  device->context = NULL;
  return fail_as(error, kind_of(code), "cannot make a queue on %s: %s (%d)", device->facts.name,
                 device_code_name(code), code);
}

/* The context's programs become the device's, or are gone with it. */
static bool open_warm(struct device *device, struct error *error) {
  device->context = warm.context;
  warm.context = NULL;
  bool good = make_queue(device, error);
  for (; warm.count; warm.count--) {
    cl_program program = warm.program[warm.count - 1].program;
    if (good) device_keep_program(device, warm.program[warm.count - 1].key, program);
    clReleaseProgram(program);
  }
  return good;
}

bool device_open(struct device *device, const char *select, struct error *error) {
  HOLD(LOCK_DEVICES);
  struct found found;
  cl_int code;
  memset(device, 0, sizeof *device);
  if (!select_device(select, &found, &device->facts, error)) return false;
  say_limits(&device->facts);
  device->id = found.id;
  device->context = take_parked(device->id);
  if (device->context) {
    device->stays = true;
    return make_queue(device, error);
  }
  if (warm.context && warm.id == device->id) return open_warm(device, error);
  cl_context_properties list[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)found.platform, 0};
  device->context = clCreateContext(list, 1, &device->id, NULL, NULL, &code);
  if (code != CL_SUCCESS)
    return fail_as(error, kind_of(code), "cannot open device %s: %s (%d)", device->facts.name,
                   device_code_name(code), code);
  return make_queue(device, error);
}

/* The queue's device, or the context's first one. */
static bool find_adopted(struct device *device, cl_context context, cl_command_queue queue,
                         struct error *error) {
  cl_context its = context;
  cl_device_id ids[MOST] = {NULL};
  cl_command_queue_properties properties = 0;
  cl_int code = queue ? clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof its, &its, NULL)
                      : clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof ids, ids, NULL);
  if (queue && code == CL_SUCCESS)
    code = clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof *ids, ids, NULL);
  if (queue && code == CL_SUCCESS)
    code = clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL);
  if (code != CL_SUCCESS)
    return fail_as(error, kind_of(code), "cannot look at the OpenCL %s that was given: %s (%d)",
                   queue ? "queue" : "context", device_code_name(code), code);
  if (context && its != context)
    return fail_usage(error, "the OpenCL queue is of another context; give the queue's own");
  if (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)
    return fail_usage(error, "the OpenCL queue runs out of order; give one that runs in order");
  device->context = its;
  device->queue = queue;
  device->id = ids[0];
  return true;
}

bool device_adopt(struct device *device, cl_context context, cl_command_queue queue, struct error *error) {
  HOLD(LOCK_DEVICES);
  struct found found;
  memset(device, 0, sizeof *device);
  if (!find_adopted(device, context, queue, error)) return false;
  found.id = device->id;
  clGetDeviceInfo(found.id, CL_DEVICE_PLATFORM, sizeof found.platform, &found.platform, NULL);
  read_facts(&found, &device->facts);
  say_limits(&device->facts);
  clRetainContext(device->context);
  device->adopted = true;
  if (!queue) return make_queue(device, error);
  clRetainCommandQueue(queue);
  device->arena = arena_open();
  devices++;
  return true;
}

void device_close(struct device *device) {
  HOLD(LOCK_DEVICES);
  if (!device->context) return;
  clFinish(device->queue);
  devices--;
  bool stays_warm = may_stay_warm(device);
  if (stays_warm) keep_warm(device);
  release_programs(device);
  arena_close(device->arena);
  clReleaseCommandQueue(device->queue);
  if (!stays_warm) leave_context(device);
  if (!devices && !stays_warm) { /* these would keep contexts open */
    blas_cache_clear();
    fft_library_clear();
  }
  memset(device, 0, sizeof *device);
}

bool device_profile(struct device *device, struct profile *profile, struct error *error) {
  cl_int code = CL_SUCCESS;
  bool good = device_finish(device, error);
  device->profile = NULL; /* the caller's may be gone soon, whatever has failed */
  if (!good) return false;
  if (profile && !device->times) {
    cl_command_queue queue =
        clCreateCommandQueue(device->context, device->id, CL_QUEUE_PROFILING_ENABLE, &code);
    if (code != CL_SUCCESS)
      return fail_as(error, kind_of(code), "cannot make a queue on %s that times launches: %s (%d)",
                     device->facts.name, device_code_name(code), code);
    clReleaseCommandQueue(device->queue);
    device->queue = queue;
    device->times = true;
  }
  device->profile = profile;
  return true;
}

/* A launch may compile, and fails without a word where the compiler meets a limit. */
void device_note(struct device *device, cl_int code, const char *call, const char *file, int line) {
  char limits[256];
  if (code == CL_SUCCESS || device->failed) return;
  device->failed = true;
  room_limits(limits, sizeof limits);
  fail_as(&device->first, kind_of(code), "%s on %s: %s (%d) at %s:%d%s", call, device->facts.name,
          device_code_name(code), code, file, line, limits);
}

void device_fail(struct device *device, enum error_code code, const char *format, ...) {
  char text[sizeof device->first.text];
  va_list values;
  if (device->failed) return;
  va_start(values, format);
  vsnprintf(text, sizeof text, format, values);
  va_end(values);
  device->failed = true;
  fail_as(&device->first, code, "%s", text);
}

bool device_finish(struct device *device, struct error *error) {
  CL(device, clFinish(device->queue));
  if (!device->failed) return true;
  *error = device->first;
  return false;
}

/* PoCL takes a buffer's memory at its first use, and ends the program where there is none: it is used at once
 * where a limit is set. */
static cl_int use_first(struct device *device, cl_mem buffer) {
  const uint8_t zero = 0;
  if (!room_is_limited()) return CL_SUCCESS;
  cl_int code = clEnqueueFillBuffer(device->queue, buffer, &zero, 1, 0, 1, 0, NULL, NULL);
  return code == CL_SUCCESS ? clFinish(device->queue) : code;
}

/* A CPU's buffers are memory of the process, which compiling kernels needs too. */
bool device_has_room(const struct device *device, size_t bytes, const char *what, struct error *error) {
  char all[256];
  if (device->facts.kind & CL_DEVICE_TYPE_GPU) return true;
  snprintf(all, sizeof all, "%s and compiling kernels", what);
  return room_for(bytes + room_for_kernels(), all, error);
}

struct shards device_shards(const struct device *device) {
  return (struct shards){device->shards ? device->shards : ranks_count(device->ranks), device->ranks};
}

cl_mem device_buffer(struct device *device, size_t bytes, const char *what, struct error *error) {
  cl_int code = CL_SUCCESS;
  cl_mem buffer = NULL;
  if (!device_has_room(device, bytes, what, error)) return NULL;
  if (device->bytes + bytes <= device->facts.memory)
    buffer = clCreateBuffer(device->context, CL_MEM_READ_WRITE, bytes ? bytes : 1, NULL, &code);
  else
    code = CL_MEM_OBJECT_ALLOCATION_FAILURE;
  if (code == CL_SUCCESS && !(device->facts.kind & CL_DEVICE_TYPE_GPU)) code = use_first(device, buffer);
  if (code != CL_SUCCESS) {
    if (buffer) clReleaseMemObject(buffer);
    fail_memory(error,
                "no room for %s: it needs %.1f MiB, %.1f of %.1f MiB of %s are taken and one allocation may "
                "hold %.1f MiB (%s); ask for fewer rows",
                what, (double)bytes / 0x1p20, (double)device->bytes / 0x1p20,
                (double)device->facts.memory / 0x1p20, device->facts.name,
                (double)device->facts.largest / 0x1p20, device_code_name(code));
    return NULL;
  }
  device->allocations++;
  device->bytes += bytes;
  return buffer;
}

void device_release(struct device *device, cl_mem buffer, size_t bytes) {
  if (!buffer) return;
  clReleaseMemObject(buffer);
  device->bytes -= bytes;
}

cl_program device_kept_program(struct device *device, const char *key) {
  for (const struct kept_program *kept = device->programs; kept; kept = kept->next)
    if (!strcmp(kept->key, key)) return clRetainProgram(kept->program) == CL_SUCCESS ? kept->program : NULL;
  return NULL;
}

void device_keep_program(struct device *device, const char *key, cl_program program) {
  struct kept_program *kept = ARENA_NEW(device->arena, struct kept_program, 1);
  if (clRetainProgram(program) != CL_SUCCESS) return;
  *kept = (struct kept_program){device->programs, arena_text(device->arena, "%s", key), program};
  device->programs = kept;
}
