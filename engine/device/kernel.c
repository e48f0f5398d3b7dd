#include "engine/device/kernel.h"

#include "engine/base/round.h"
#include "engine/base/text.h"
#include "engine/device/compile.h"
#include "engine/device/profile.h"
#include "engine/device/program_cache.h"
#include "engine/files/part.h"

#include <math.h>
#include <string.h>

enum { MACROS_MOST = 8 };

struct built {
  cl_kernel kernel;
  cl_program program;  /* owned by the first kernel that needed it */
  const char *options; /* the owner's: what the program was built with */
  size_t group;
  bool owner, launched;
};

struct kernels {
  struct device *device;
  const struct kernel_table *table;
  struct arena *arena;
  struct built *built;                      /* one for each row */
  const char *folder, *macros[MACROS_MOST]; /* "HEIGHT=128" */
  size_t macro_count, height, width;
  bool half, joined; /* half: REAL is stored as F16; joined: files with the same options are one program */
};

size_t element_bytes(enum element element, bool half) {
  switch (element) {
  case ELEMENT_U8: return 1;
  case ELEMENT_F16: return 2;
  case ELEMENT_REAL: return half ? 2 : 4;
  case ELEMENT_U32:
  case ELEMENT_F32: return 4;
  case ELEMENT_U128:
  case ELEMENT_F128: return 16;
  case ELEMENT_C64:
  case ELEMENT_I64: break;
  }
  return 8;
}

const char *element_name(enum element element) {
  static const char *const names[] = {"u8", "u32", "f16", "f32", "c64", "real", "i64", "u128", "f128"};
  return names[element];
}

struct arg arg_u32(uint32_t value) {
  return (struct arg){.kind = ARG_VALUE, .element = ELEMENT_U32, .as.u = value};
}

struct arg arg_f32(float value) {
  return (struct arg){.kind = ARG_VALUE, .element = ELEMENT_F32, .as.f = value};
}

struct arg arg_unnamed(struct arg arg) {
  arg.name = NULL;
  return arg;
}

struct arg arg_some(struct arg arg, size_t bytes) {
  arg.bytes = bytes;
  return arg;
}

struct arg arg_buffer(enum arg_kind kind, enum element element, cl_mem buffer) {
  return (struct arg){.kind = kind, .element = element, .as.m = buffer};
}

const struct kernel_desc *kernel_row(const struct kernel_table *table, const char *name) {
  for (size_t i = 0; i < table->count; i++)
    if (!strcmp(table->rows[i].name, name)) return &table->rows[i];
  return NULL;
}

bool kernel_fits(const struct kernels *kernels, const char *name, size_t height, size_t width) {
  const struct kernel_desc *row = kernel_row(kernels->table, name);
  REQUIRE(row, "there is no kernel '%s'", name);
  return height == kernels->height && width == kernels->width && (!row->fits || row->fits(height, width));
}

size_t kernels_width(const struct kernels *kernels) {
  return kernels->width;
}

/* PoCL takes long to begin with a program, also with one that it knows: the built-in files with the same
 * options are one program there; not for a cache of ours, for which it would compile every kernel of it. */
static bool joins_files(const struct kernels *kernels, struct arena *arena) {
  const struct device_facts *facts = &kernels->device->facts;
  return facts->keeps_programs && !program_cache(arena, facts) && !*kernels->folder;
}

bool kernels_open(struct kernels **out, struct device *device, const struct kernel_table *table,
                  const struct kernel_setup *setup, struct error *error) {
  struct arena *arena = arena_open();
  struct kernels *kernels = ARENA_NEW(arena, struct kernels, 1);
  (void)error;
  *kernels = (struct kernels){.device = device,
                              .table = table,
                              .arena = arena,
                              .height = setup->height,
                              .width = setup->width,
                              .half = setup->half};
  kernels->built = ARENA_NEW(arena, struct built, table->count);
  kernels->folder = arena_text(arena, "%s", setup->folder ? setup->folder : "");
  kernels->joined = joins_files(kernels, arena);
  kernels_define(kernels, arena_text(arena, "HEIGHT=%zu", setup->height));
  kernels_define(kernels, arena_text(arena, "WIDTH=%zu", setup->width));
  if (setup->half) kernels_define(kernels, "REAL_HALF");
  *out = kernels;
  return true;
}

void kernels_define(struct kernels *kernels, const char *macro) {
  for (size_t i = 0; i < kernels->table->count; i++)
    REQUIRE(!kernels->built[i].kernel, "%s is built already", kernels->table->rows[i].name);
  REQUIRE(kernels->macro_count < MACROS_MOST, "more than %d macros", MACROS_MOST);
  kernels->macros[kernels->macro_count++] = arena_text(kernels->arena, "%s", macro);
}

void kernels_close(struct kernels *kernels) {
  if (!kernels) return;
  for (size_t i = 0; i < kernels->table->count; i++) {
    if (kernels->built[i].kernel) clReleaseKernel(kernels->built[i].kernel);
    if (kernels->built[i].owner) clReleaseProgram(kernels->built[i].program);
  }
  arena_close(kernels->arena);
}

static bool read_override(struct kernels *kernels, const char *name, struct source *source,
                          struct error *error) {
  const char *path = arena_text(kernels->arena, "%s/%s", kernels->folder, name);
  FILE *file = file_read(path, error);
  if (!file) return fail_in(error, "--kernels");
  char *text = arena_new(kernels->arena, 1 << 20);
  size_t length = fread(text, 1, (1 << 20) - 1, file);
  text[length] = 0;
  fclose(file);
  *source = (struct source){name, text};
  return true;
}

static bool find_source(struct kernels *kernels, const char *name, struct source *source,
                        struct error *error) {
  if (*kernels->folder) return read_override(kernels, name, source, error);
  for (const struct source *s = kernels->table->sources; s->name; s++)
    if (!strcmp(s->name, name)) {
      *source = *s;
      return true;
    }
  return fail(error, "no kernel file %s is built in", name);
}

static bool holds_a_word(const char *text, const char *words) {
  char word[32];
  for (int taken; sscanf(words, "%31s%n", word, &taken) == 1; words += taken)
    if (strstr(text, word)) return true;
  return false;
}

static const struct kernel_macro *macro_row(const struct kernel_table *table, const char *macro) {
  size_t length = strcspn(macro, "=");
  for (const struct kernel_macro *row = table->macros; row && row->name; row++)
    if (strlen(row->name) == length && !strncmp(row->name, macro, length)) return row;
  return NULL;
}

#define OPTIONS "-w -cl-std=CL1.2 -cl-kernel-arg-info -cl-mad-enable"

/* PoCL puts clang's header of 900 KB before every program, also before those that it knows, and reads it for
 * longer than all else: the prelude declares what the built-in files call. Of the versions that it was tried with: how
 * the header is left out is not PoCL's word. */
static const char *base_options(const struct kernels *kernels) {
  const struct device_facts *facts = &kernels->device->facts;
  bool declares = facts->keeps_programs && !strncmp(facts->driver, "3.1", 3) && !*kernels->folder &&
                  strstr(kernels->table->sources->text, "DECLARES_BUILTINS");
  return declares ? OPTIONS " -D_OPENCL_H_ -DDECLARES_BUILTINS" : OPTIONS;
}

/* What a file is built with: files that a macro means nothing to are the same for all its values. */
static const char *file_options(const struct kernels *kernels, struct arena *arena,
                                const struct source *source) {
  const char *options = base_options(kernels);
  for (size_t i = 0; i < kernels->macro_count; i++) {
    const struct kernel_macro *row = macro_row(kernels->table, kernels->macros[i]);
    const char *macro = !row || holds_a_word(source->text, row->words) ? kernels->macros[i] : row->otherwise;
    if (macro) options = arena_text(arena, "%s -D%s", options, macro);
  }
  return options;
}

/* ---- files that are built as one ------------------------------------------------------------------------
 */

/* Whether every kernel of the file is a variant. */
static bool is_specialised(const struct kernel_table *table, const char *file) {
  for (size_t i = 0; i < table->count; i++)
    if (table->rows[i].group && !strcmp(table->rows[i].file, file)) return false;
  return true;
}

/* All files that have these options, under the name of one of them. */
static struct source join_files(const struct kernels *kernels, struct arena *arena, const char *name,
                                const char *options) {
  const struct source *sources = kernels->table->sources + 1;
  size_t files = 0, count = 0;
  while (sources[files].name) files++;
  const char **texts = ARENA_NEW(arena, const char *, 2 * files);
  for (const struct source *s = sources; s->name; s++) {
    if (is_specialised(kernels->table, s->name) || strcmp(options, file_options(kernels, arena, s))) continue;
    texts[count++] = arena_text(arena, "\n#line 1 \"%s\"\n", s->name);
    texts[count++] = s->text;
  }
  return (struct source){name, text_join(arena, texts, count)};
}

/* The program of the row's file, where another row of it was built. */
static cl_program built_before(const struct kernels *kernels, const struct kernel_desc *row) {
  const struct kernel_desc *rows = kernels->table->rows;
  for (size_t i = 0; i < kernels->table->count; i++)
    if (kernels->built[i].program && !strcmp(rows[i].file, row->file)) return kernels->built[i].program;
  return NULL;
}

/* One that was built of other files with these options, and so holds the row's too. */
static cl_program built_alike(const struct kernels *kernels, const char *options) {
  for (size_t i = 0; kernels->joined && i < kernels->table->count; i++)
    if (kernels->built[i].owner && !strcmp(kernels->built[i].options, options))
      return kernels->built[i].program;
  return NULL;
}

static bool build_program(struct kernels *kernels, struct built *built, const struct source *prelude,
                          const struct source *source, struct error *error) {
  struct arena *arena = arena_open();
  struct source whole = kernels->joined ? join_files(kernels, arena, source->name, built->options) : *source;
  built->owner = program_build(&built->program, kernels->device, prelude, &whole, built->options, error);
  arena_close(arena);
  return built->owner;
}

/* The program of the row's file. Its text is read once. */
static bool need_program(struct kernels *kernels, size_t place, struct error *error) {
  const struct kernel_desc *row = &kernels->table->rows[place];
  struct built *built = &kernels->built[place];
  struct source prelude, source;
  if ((built->program = built_before(kernels, row))) return true;
  if (!find_source(kernels, kernels->table->sources[0].name, &prelude, error) ||
      !find_source(kernels, row->file, &source, error))
    return false;
  built->options = file_options(kernels, kernels->arena, &source);
  built->program = built_alike(kernels, built->options);
  return built->program || build_program(kernels, built, &prelude, &source, error);
}

static bool type_agrees(const struct arg_desc *arg, const char *type) {
  static const char *const pointers[] = {"uchar*", "uint*", "half*",  "float*", "float2*",
                                         "real*",  "long*", "uint4*", "float4*"};
  static const char *const values[] = {"uchar", "uint", "half",  "float", "float2",
                                       "real",  "long", "uint4", "float4"};
  if (!strcmp(type, (arg->kind == ARG_VALUE ? values : pointers)[arg->element])) return true;
  if (arg->element == ELEMENT_REAL) return !strcmp(type, "float*") || !strcmp(type, "half*");
  return arg->element == ELEMENT_U8 && !strcmp(type, "unsigned char*");
}

/* Compares one argument of the row with the driver's report; a driver that does not answer agrees. */
static bool check_arg(const struct kernel_desc *row, cl_kernel kernel, cl_uint place,
                      const struct arg_desc *arg, struct error *error) {
  char name[128] = "", type[128] = "";
  cl_kernel_arg_type_qualifier qualifier = 0;
  cl_int code = clGetKernelArgInfo(kernel, place, CL_KERNEL_ARG_NAME, sizeof name, name, NULL);
  if (code == CL_KERNEL_ARG_INFO_NOT_AVAILABLE) return true;
  clGetKernelArgInfo(kernel, place, CL_KERNEL_ARG_TYPE_NAME, sizeof type, type, NULL);
  clGetKernelArgInfo(kernel, place, CL_KERNEL_ARG_TYPE_QUALIFIER, sizeof qualifier, &qualifier, NULL);
  bool constant = qualifier & CL_KERNEL_ARG_TYPE_CONST;
  const char *plain = strncmp(name, "_cl_", 4) ? name : name + 4; /* PoCL renames what is also a built-in */
  if (!strcmp(plain, arg->name) && type_agrees(arg, type) &&
      (arg->kind == ARG_VALUE || constant == (arg->kind == ARG_IN)))
    return true;
  return fail(error, "kernel %s in %s: argument %u is '%s%s %s', its row says '%s%s %s'", row->name,
              row->file, place, constant ? "const " : "", type, name, arg->kind == ARG_IN ? "const " : "",
              element_name(arg->element), arg->name);
}

static cl_uint count_args(const struct kernel_desc *row) {
  cl_uint count = 0;
  while (count < ARGS_MOST && row->args[count].kind != ARG_END) count++;
  return count;
}

static bool check_signature(const struct kernel_desc *row, cl_kernel kernel, struct error *error) {
  static const struct arg_desc last = {.kind = ARG_VALUE, .element = ELEMENT_U32, .name = "rows"};
  cl_uint count = count_args(row), built = 0;
  clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof built, &built, NULL);
  if (built != count + 1)
    return fail(error, "kernel %s in %s has %u arguments, its row has %u and then rows", row->name, row->file,
                built, count);
  for (cl_uint i = 0; i < count; i++)
    if (!check_arg(row, kernel, i, &row->args[i], error)) return false;
  return check_arg(row, kernel, count, &last, error);
}

/* Compares the built kernel with its row and the device. Its work-groups are those that it requires, for which it was
 * built whatever the driver says of it (Mesa's rusticl 22.3: 32 of all), or else the row's; with one work-item a row they
 * may be smaller. */
static bool check_kernel(struct kernels *kernels, const struct kernel_desc *row, struct built *built,
                         struct error *error) {
  const struct device_facts *facts = &kernels->device->facts;
  size_t most = 0, required[3] = {0};
  cl_device_id id = kernels->device->id;
  clGetKernelWorkGroupInfo(built->kernel, id, CL_KERNEL_WORK_GROUP_SIZE, sizeof most, &most, NULL);
  clGetKernelWorkGroupInfo(built->kernel, id, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof required, required, NULL);
  if (required[0] || !most || most > facts->group) most = facts->group;
  built->group = required[0] ? required[0] : row->group;
  while (row->launch == LAUNCH_ITEM && !required[0] && built->group > most) built->group /= 2;
  if (built->group > most)
    return fail_as(error, ERROR_DEVICE,
                   "kernel %s needs work-groups of %zu, %s allows %zu; use another device", row->name,
                   built->group, facts->name, most);
  return check_signature(row, built->kernel, error);
}

bool kernel_need(struct kernels *kernels, const char *name, struct error *error) {
  const struct kernel_desc *row = kernel_row(kernels->table, name);
  REQUIRE(row, "there is no kernel row '%s'", name);
  size_t place = (size_t)(row - kernels->table->rows);
  struct built *built = &kernels->built[place];
  if (built->kernel) return true;
  if (!need_program(kernels, place, error)) return false;
  cl_int code;
  built->kernel = clCreateKernel(built->program, name, &code);
  if (code != CL_SUCCESS)
    return fail(error, "kernel %s is not in %s: %s (%d)", name, row->file, device_code_name(code), code);
  if (check_kernel(kernels, row, built, error)) return true;
  clReleaseKernel(built->kernel); /* or the next call would find it and agree */
  built->kernel = NULL;
  return false;
}

static void check_call(const struct kernel_desc *row, const struct arg *args) {
  cl_uint i = 0;
  for (; args[i].kind != ARG_END; i++) {
    const struct arg_desc *want = &row->args[i];
    REQUIRE(i < ARGS_MOST && want->kind != ARG_END, "%s takes %u arguments", row->name, i);
    REQUIRE(args[i].kind == want->kind && args[i].element == want->element,
            "%s argument %u (%s) is of the wrong kind or element", row->name, i, want->name);
    REQUIRE(!args[i].name || !strcmp(args[i].name, want->name),
            "%s argument %u is %s, the column given is %s", row->name, i, want->name, args[i].name);
  }
  REQUIRE(i == count_args(row), "%s takes %u arguments, %u were given", row->name, count_args(row), i);
}

static void set_args(struct device *device, cl_kernel kernel, size_t rows, const struct arg *args) {
  cl_uint i = 0, count = (cl_uint)rows;
  for (; args[i].kind != ARG_END; i++) {
    if (args[i].kind == ARG_VALUE)
      CL(device, clSetKernelArg(kernel, i, sizeof(cl_uint), &args[i].as));
    else
      CL(device, clSetKernelArg(kernel, i, sizeof(cl_mem), &args[i].as.m));
  }
  CL(device, clSetKernelArg(kernel, i, sizeof count, &count));
}

/* Every buffer once, and once more where it is read and written; of a column as many rows as are launched. */
static struct profile_work work_of(const struct kernels *kernels, const struct kernel_desc *row, size_t rows, const struct arg *args) {
  struct profile_work work = {0, 0};
  for (const char *const *name = kernels->table->multiply; name && *name; name++)
    if (!strcmp(*name, row->name)) work.operations = kernels->device->operations;
  for (; args->kind != ARG_END; args++) {
    size_t size = 0;
    if (args->kind == ARG_VALUE) continue;
    clGetMemObjectInfo(args->as.m, CL_MEM_SIZE, sizeof size, &size, NULL);
    double most = kernels->device->largest > 0 ? kernels->device->largest : (double)size;
    double taken = args->bytes ? (double)args->bytes * (args->name ? (double)rows : 1) : most;
    if (args->bytes == BYTES_UNKNOWN) taken = NAN;
    work.bytes += (args->kind == ARG_INOUT ? 2 : 1) * (taken > (double)size ? (double)size : taken);
  }
  return work;
}

/* A kernel's first launch may compile it. */
static void launch(const struct kernels *kernels, const struct kernel_desc *row, cl_kernel kernel, bool *launched,
                   size_t local, size_t rows, const struct arg *args) {
  struct device *device = kernels->device;
  struct compile compile;
  check_call(row, args);
  REQUIRE(rows <= UINT32_MAX, "%s for %zu rows; kernels count to 2^32 - 1", row->name, rows);
  if (!rows) return;
  set_args(device, kernel, rows, args);
  bool waits = !*launched && compile_launch(device, &compile);
  size_t groups = row->launch == LAUNCH_GROUP ? rows : divide_up(rows, local);
  size_t global = groups * local;
  cl_event event = NULL;
  CL(device, clEnqueueNDRangeKernel(device->queue, kernel, 1, NULL, &global, &local, 0, NULL,
                                    waits || device->profile ? &event : NULL));
  if (event && waits && device->profile) clRetainEvent(event);
  if (waits) compile_wait(device, &compile, event);
  if (event && device->profile) profile_note(device, row->name, work_of(kernels, row, rows, args), event);
  *launched = true;
  device->launches++;
}

void kernel_run(struct kernels *kernels, const char *name, size_t rows, const struct arg *args) {
  const struct kernel_desc *row = kernel_row(kernels->table, name);
  REQUIRE(row, "there is no kernel row '%s'", name);
  struct built *built = &kernels->built[row - kernels->table->rows];
  REQUIRE(built->kernel, "kernel %s was not built before the launch; name it in its system's kernels", name);
  launch(kernels, row, built->kernel, &built->launched, built->group, rows, args);
}

/* ---- kernels specialised by layer --------------------------------------------------------------------- */

/* Variants alone see the matrix instructions: where a compiler refuses them, all other kernels still build.
 */
#define EMULATED " -DL2SR_EMULATED -cl-opt-disable"
#define CDNA " -DL2SR_AMD -DL2SR_CDNA"
static const char *const matrices[] = {"",       " -DL2SR_NVIDIA",        " -DL2SR_AMD", CDNA,
                                       EMULATED, " -DL2SR_AMD" EMULATED, CDNA EMULATED};

/* Puts before the source what CDNA's has of its own. */
static bool begin_with_cdna(struct kernels *kernels, struct arena *arena, struct source *source,
                            struct error *error) {
  static const char name[] = "cdna.h";
  struct source first;
  if (!find_source(kernels, name, &first, error)) return false;
  const char *texts[] = {arena_text(arena, "#line 1 \"%s\"\n", name), first.text,
                         arena_text(arena, "\n#line 1 \"%s\"\n", source->name), source->text};
  source->text = text_join(arena, texts, sizeof texts / sizeof *texts);
  return true;
}

bool kernel_variant_open(struct kernels *kernels, struct kernel_variant *variant, const char *name,
                         const char *macros, size_t group, struct error *error) {
  const struct kernel_desc *row = kernel_row(kernels->table, name);
  REQUIRE(row && !row->group, "there is no row of a kernel variant '%s'", name);
  struct arena *arena = arena_open();
  const char *matrix = matrices[kernels->device->facts.matrix];
  struct source prelude, source;
  cl_int code = CL_SUCCESS;
  *variant =
      (struct kernel_variant){.row = row, .group = group, .launched = ARENA_NEW(kernels->arena, bool, 1)};
  bool good = find_source(kernels, kernels->table->sources[0].name, &prelude, error) &&
              find_source(kernels, row->file, &source, error) &&
              (!device_on_cdna(kernels->device) || begin_with_cdna(kernels, arena, &source, error)) &&
              program_build(
                  &variant->program, kernels->device, &prelude, &source,
                  arena_text(arena, "%s%s %s", file_options(kernels, arena, &source), matrix, macros), error);
  arena_close(arena);
  if (good) variant->kernel = clCreateKernel(variant->program, name, &code);
  if (code != CL_SUCCESS)
    good = fail(error, "kernel %s is not in %s: %s (%d)", name, row->file, device_code_name(code), code);
  if (good && check_signature(row, variant->kernel, error)) return true;
  kernel_variant_close(variant);
  return false;
}

void kernel_variant_close(struct kernel_variant *variant) {
  if (variant->kernel) clReleaseKernel(variant->kernel);
  if (variant->program) clReleaseProgram(variant->program);
  *variant = (struct kernel_variant){0};
}

void kernel_variant_run(struct kernels *kernels, const struct kernel_variant *variant, size_t rows,
                        const struct arg *args) {
  REQUIRE(variant->kernel, "a kernel variant was not opened before the launch");
  launch(kernels, variant->row, variant->kernel, variant->launched, variant->group, rows, args);
}
