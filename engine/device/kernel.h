/* Kernels: one row each, compared with the built kernel, with the launch and with a scalar reference.
 *
 * A row says the name, the file, how work-items map to rows, and every argument. kernel_need builds the file
 * and compares the row with what the driver reports of the kernel; kernel_run compares the call with the
 * row. By convention the last argument of every kernel is `uint rows`; kernel_run supplies it. */
#ifndef L2SR_ENGINE_KERNEL_H
#define L2SR_ENGINE_KERNEL_H

#include "engine/base/arena.h"
#include "engine/base/random.h"
#include "engine/device/program.h"

enum element {
  ELEMENT_U8,
  ELEMENT_U32,
  ELEMENT_F16, /* half, computed on as float */
  ELEMENT_F32,
  ELEMENT_C64,  /* float2: real, imaginary */
  ELEMENT_REAL, /* F32 or F16 as kernel_setup says; `real` in a kernel */
  ELEMENT_I64,  /* long */
  ELEMENT_U128, /* uint4 */
  ELEMENT_F128  /* float4 */
};
size_t element_bytes(enum element element, bool half);
const char *element_name(enum element element);

enum arg_kind { ARG_END, ARG_IN, ARG_OUT, ARG_INOUT, ARG_VALUE };

/* How many elements a row of a column or argument holds, as a number that the caller gives meaning to. */
typedef uint8_t shape_id;

struct arg_desc {
  enum arg_kind kind;
  enum element element;
  const char *name; /* in the .cl, and the column's name where a column is passed */
  shape_id shape;   /* for the tests: elements a row */
  uint8_t table;    /* for the tests: the table of its rows */
};

/* The arguments of a launch as host arrays in the type of their element (REAL as float). */
enum { ARGS_MOST = 20 };

struct host_args {
  const void *in[ARGS_MOST];
  void *out[ARGS_MOST]; /* OUT and INOUT arguments */
  union host_value {
    uint32_t u;
    float f;
  } value[ARGS_MOST];
  size_t rows, height, width;
  size_t actions; /* the value of the macro ACTIONS, of files that have it */
  size_t table_rows[12];
};

enum launch {
  LAUNCH_ITEM, /* one work-item a row */
  LAUNCH_GROUP /* one work-group a row */
};

struct kernel_desc {
  const char *name, *file, *doc;
  enum launch launch;
  /* Work-items a group, of kernels that do not require another number themselves. 0: a variant, specialised by macros
   * for every layer of a network, or built for a device alone; it has no reference of its own, it is checked through
   * what runs it against the portable kernels and the reference vectors. */
  unsigned group;
  struct arg_desc args[ARGS_MOST];
  void (*reference)(const struct host_args *); /* scalar C, in double; NAME_ref.c */
  /* For the tests: makes random arguments meaningful (indices in range, ...); NULL if they are. */
  void (*prepare)(struct host_args *, struct random *);
  bool (*fits)(size_t height, size_t width); /* sizes it is written for; NULL: all */
  double tolerance;                          /* largest error relative to the largest value of that output */
};

/* A macro of kernels_open or kernels_define that not every file is built anew for: files get it that hold one
 * of the words, which stand for it in the prelude. Others get `otherwise`, with which they do not build if
 * they use it. */
struct kernel_macro {
  const char *name, *words; /* words are parted by blanks; NULL ends a list */
  const char *otherwise;    /* "NAME=value", or NULL */
};

struct kernel_table {
  const struct kernel_desc *rows;
  size_t count;
  const struct source *sources; /* embedded, ended by a NULL name; the first is the prelude */
  const struct kernel_macro
      *macros; /* NULL: all files get all macros, as they get those that are not listed */
  const char *const *multiply; /* kernels of which a launch does all of device->operations, ended by NULL; NULL: none */
};

struct kernels; /* opaque: kernel.c */

struct kernel_setup {
  size_t height, width;
  bool half;          /* ELEMENT_REAL is stored as F16 */
  const char *folder; /* read the .cl files from here instead; "" for the embedded ones */
};

bool kernels_open(struct kernels **kernels, struct device *device, const struct kernel_table *table,
                  const struct kernel_setup *setup, struct error *error);
void kernels_close(struct kernels *kernels);
/* One more macro, "NAME" or "NAME=value"; before anything is built. */
void kernels_define(struct kernels *kernels, const char *macro);

/* Builds the kernel if it is not yet built and checks its row against it. */
bool kernel_need(struct kernels *kernels, const char *name, struct error *error);
/* Whether the kernels were opened for these sizes, and this one is written for them. */
bool kernel_fits(const struct kernels *kernels, const char *name, size_t height, size_t width);
size_t kernels_width(const struct kernels *kernels); /* that they were opened for */
const struct kernel_desc *kernel_row(const struct kernel_table *table, const char *name);

/* A kernel whose row is a variant's, built with further macros or compiler options. */
struct kernel_variant {
  const struct kernel_desc *row;
  cl_kernel kernel;
  cl_program program;
  size_t group; /* work-items a group */
  bool *launched; /* before; of the kernels' memory */
};
bool kernel_variant_open(struct kernels *kernels, struct kernel_variant *variant, const char *name,
                         const char *macros, size_t group, struct error *error);
void kernel_variant_close(struct kernel_variant *variant); /* one that was never opened is allowed */

struct arg {
  enum arg_kind kind;
  enum element element;
  const char *name; /* the column's name; NULL for values and plain buffers */
  size_t bytes; /* of a column's row, or that a launch takes of a plain buffer; 0: all of it; for the profile */
  union {
    cl_mem m;
    cl_uint u;
    cl_float f;
  } as;
};

struct arg arg_u32(uint32_t value);
struct arg arg_f32(float value);
struct arg arg_buffer(enum arg_kind kind, enum element element, cl_mem buffer);
struct arg arg_unnamed(struct arg arg); /* a column for an argument of another name */
/* A plain buffer of which a launch takes so many bytes; BYTES_UNKNOWN: nobody says how many. */
#define BYTES_UNKNOWN SIZE_MAX
struct arg arg_some(struct arg arg, size_t bytes);
#define ARGS(...) ((const struct arg[]){__VA_ARGS__, {.kind = ARG_END}})

/* Enqueues the kernel over `rows` rows; never waits, never allocates. REQUIREs that it was needed before
 * and that the arguments are those of its row. */
void kernel_run(struct kernels *kernels, const char *name, size_t rows, const struct arg *args);
void kernel_variant_run(struct kernels *kernels, const struct kernel_variant *variant, size_t rows,
                        const struct arg *args);

#endif
