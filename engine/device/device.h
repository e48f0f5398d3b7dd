/* One OpenCL context with one in-order queue.
 *
 * A failed enqueue is sticky: the device keeps the first one with its call and place, later enqueues do
 * nothing, and device_finish hands it over.
 *
 * A device and all that is made on it (kernels, worlds, networks, trainings) are used by one thread at a
 * time. Threads that work at once open a device each, of the same card if they like: each has a context of
 * its own.
 */
#ifndef L2SR_ENGINE_DEVICE_H
#define L2SR_ENGINE_DEVICE_H

#include "engine/base/shards.h"
#include "engine/base/error.h"
#include "engine/base/log.h"

#include <CL/cl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum device_maker { MAKER_OTHER, MAKER_NVIDIA, MAKER_AMD, MAKER_INTEL };
/* The matrix instructions that the fused networks use (engine/fused/block.h). AMD's are those of gfx11 in
 * waves of 32, CDNA's those of AMD's data-centre cards in waves of 64. Emulated: lanes exchange words through local
 * memory, slowly, on any device; tests set it after device_open. Their kernels are compiled unoptimised, five times as
 * fast: tests run them for less time. */
enum device_matrix {
  MATRIX_NONE,
  MATRIX_NVIDIA,
  MATRIX_AMD,
  MATRIX_CDNA,
  MATRIX_EMULATED,
  MATRIX_AMD_EMULATED,
  MATRIX_CDNA_EMULATED
};

struct profile;
struct kept_program; /* device.c */

struct device_facts {
  char name[128], vendor[128], version[128], driver[128], platform[128];
  cl_device_type kind;
  enum device_maker maker;
  enum device_matrix matrix;
  cl_ulong memory, largest, local; /* bytes: global memory, one allocation, local memory */
  cl_ulong declared; /* bytes of local memory that a kernel may declare: more than `local` where the driver takes it */
  cl_uint units, alignment;        /* compute units; base address alignment in bytes */
  size_t group;                    /* largest work-group */
  bool keeps_programs; /* the driver has a cache of what it compiled, which ours would only double */
};

/* What engine/device/compile.h counts of a device. */
struct compiling {
  double seconds;
  size_t count;
  bool told;
  struct progress progress; /* once it is told */
};

struct device {
  struct ranks *ranks; /* of which this device is one's; NULL: it is alone */
  uint32_t shards;     /* that batches are summed by (engine/base/shards.h); 0: one a rank */
  cl_context context;
  cl_device_id id;
  cl_command_queue queue;
  struct device_facts facts;
  struct error first; /* the first failed enqueue */
  bool failed;
  uint64_t launches, allocations, bytes; /* a step leaves the last two as they were */
  struct profile *profile;               /* engine/device/profile.h; NULL: launches are not timed */
  bool adopted;                          /* the context is the program's */
  bool stays;                            /* the context is not released: devices opened later take it */
  bool times;                            /* the queue can time launches, which costs time itself */
  const void *calls;                     /* functions of the program, for systems that know what these are; NULL: none */
  const char *stage;                     /* of a training, or another work of the host: lists that run are its; NULL: none */
  const char *phase, *part, *label;      /* names for the profile, ever finer: what the launches belong to */
  /* Of the layer at hand, for the profile: operations one way, multiply-adds counted as two; the bytes of its largest map,
   * which is the most that it takes of a buffer; 0: no layer. */
  double operations, largest;
  struct arena *arena;                   /* holds what is kept until the device is closed */
  struct kept_program *programs;
  struct compiling compiling;
};

/* Whether its kernels are those of AMD's data-centre cards, on one or emulated. */
bool device_on_cdna(const struct device *device);

/* Opens the device named by `select`: "" (L2SR_DEVICE if set, else the first GPU, else anything), a place in
 * the list, a kind ("gpu", "cpu", "accelerator"), or a part of its name, vendor or platform. */
bool device_open(struct device *device, const char *select, struct error *error);
/* Whether there is such a device; nothing is opened. */
bool device_named(const char *select, struct error *error);
/* Opens the device of a context and an in-order queue of the program's, which are retained; queue NULL: one
 * is made on the context's first device. */
bool device_adopt(struct device *device, cl_context context, cl_command_queue queue, struct error *error);
void device_close(struct device *device);

/* Waits for everything enqueued and returns a sticky failure. */
bool device_finish(struct device *device, struct error *error);

/* How batches are shared out. */
struct shards device_shards(const struct device *device);

/* Waits for everything enqueued, and times the launches after it, by another queue; NULL: no more. */
bool device_profile(struct device *device, struct profile *profile, struct error *error);

/* Whether the process has room for so many bytes more of a CPU's device, and for compiling kernels. */
bool device_has_room(const struct device *device, size_t bytes, const char *what, struct error *error);
/* Makes a buffer; the refusal names what it was for and how much the device has. NULL on failure. */
cl_mem device_buffer(struct device *device, size_t bytes, const char *what, struct error *error);
void device_release(struct device *device, cl_mem buffer, size_t bytes);

/* Built programs by a key of 64 letters, kept until the device is closed, and where the driver keeps what it
 * compiled also for the next that is opened: one of the same key is built once. The device and the caller hold a
 * reference each. NULL: none is kept. */
cl_program device_kept_program(struct device *device, const char *key);
void device_keep_program(struct device *device, const char *key, cl_program program);

/* Enqueue; `read` waits. Offsets and sizes in bytes. (transfer.c) */
void device_write(struct device *device, cl_mem buffer, size_t offset, size_t bytes, const void *from);
void device_read(struct device *device, cl_mem buffer, size_t offset, size_t bytes, void *to);
/* As device_read, without waiting: `to` has the bytes after device_finish, and must stay until then. */
void device_fetch(struct device *device, cl_mem buffer, size_t offset, size_t bytes, void *to);
void device_fill(struct device *device, cl_mem buffer, size_t offset, size_t bytes, uint32_t word);
void device_fill_floats(struct device *device, cl_mem buffer, size_t count, float value); /* from its start */
/* What is there already is not copied. */
void device_copy(struct device *device, cl_mem from, size_t from_offset, cl_mem to, size_t to_offset,
                 size_t bytes);

/* Compares two buffers of floats: the root of the mean squared difference over the root of the mean square of
 * the second. For checks: waits, and reads both. */
double device_distance(struct device *device, cl_mem found, cl_mem expected, size_t count);

/* Notes the result of an enqueue; CL() adds its text and place. */
void device_note(struct device *device, cl_int code, const char *call, const char *file, int line);
/* Notes that a function of the program has failed, as a failed enqueue is noted. */
void device_fail(struct device *device, enum error_code code, const char *format, ...) __attribute__((format(printf, 3, 4)));
#define CL(device, call)                                                                                     \
  do {                                                                                                       \
    if (!(device)->failed) device_note(device, call, #call, __FILE__, __LINE__);                             \
  } while (0)

const char *device_code_name(cl_int code); /* "CL_OUT_OF_RESOURCES" (platform.c) */

/* Refuses where the process may not have what OpenCL's drivers take (engine/device/room.h), for they end the
 * program then; the advice counts what is asked for `later`, in bytes. The functions below find nothing where it
 * refuses. (platform.c) */
bool device_load(size_t later, struct error *error);
bool device_may_list(cl_platform_id platform, struct error *error); /* else its devices must not be asked for */

/* Calls `see` for every device there is, in the order of the indices. */
typedef void device_see(size_t index, const struct device_facts *facts, void *context);
size_t device_list(device_see *see, void *context);

/* Calls `see` for every platform: what asking for its devices gave, and what may be the cause where it gave
 * none. (platform.c) */
typedef void device_see_platform(const char *name, cl_int code, const char *cause, void *context);
size_t device_platforms(device_see_platform *see, void *context);
/* Where PoCL keeps compiled kernels: it has no device where it cannot make that folder. (platform.c) */
void device_pocl_cache(char *text, size_t size);
bool device_none(struct error *error); /* says why there is no device at all */

#endif
