#include "engine/device/program.h"

#include "engine/base/hash.h"
#include "engine/base/log.h"
#include "engine/base/text.h"
#include "engine/device/compile.h"
#include "engine/device/program_cache.h"
#include "engine/device/room.h"

#include <string.h>

/* A hash of everything that the binary depends on. */
static void name_program(struct arena *arena, const struct device *device, const struct source *prelude,
                         const struct source *source, const char *options, char key[65]) {
  const struct device_facts *facts = &device->facts;
  const char *parts[] = {PROGRAM_CACHE_FORMAT, "\n", facts->platform, "\n", facts->name, "\n",
                         facts->version,       "\n", facts->driver,   "\n", options,     "\n",
                         prelude->text,        "\n", source->name,    "\n", source->text};
  char *identity = text_join(arena, parts, sizeof parts / sizeof *parts);
  hash_hex(identity, strlen(identity), key);
}

/* The line of a compiler's log that says most. */
static const char *first_error(const char *log) {
  const char *line = strcasestr(log, "error");
  while (line && line > log && line[-1] != '\n') line--;
  return line ? line : log + strspn(log, " \n");
}

static bool report_build(cl_program program, struct device *device, const char *name, cl_int code,
                         struct error *error) {
  size_t bytes = 0;
  struct arena *arena = arena_open();
  clGetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &bytes);
  char *log = arena_new(arena, bytes + 1), limits[256];
  clGetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, bytes, log, NULL);
  log_lines(log);
  const char *line = first_error(log);
  room_limits(limits, sizeof limits);
  fail_as(error, ERROR_DEVICE, "kernel file %s does not build on %s: %s (%d): %.*s%s", name,
          device->facts.name, device_code_name(code), code, (int)strcspn(line, "\n"), line, limits);
  arena_close(arena);
  return false;
}

static bool build_source(cl_program *program, struct device *device, const struct source *prelude,
                         const struct source *source, const char *options, struct error *error) {
  struct arena *arena = arena_open();
  const char *parts[] = {arena_text(arena, "#line 1 \"%s\"\n", prelude->name), prelude->text,
                         arena_text(arena, "\n#line 1 \"%s\"\n", source->name), source->text};
  cl_int code;
  *program = clCreateProgramWithSource(device->context, 4, parts, NULL, &code);
  arena_close(arena);
  if (code != CL_SUCCESS)
    return fail_as(error, ERROR_DEVICE, "cannot make a program of %s: %s (%d)", source->name,
                   device_code_name(code), code);
  code = clBuildProgram(*program, 1, &device->id, options, NULL, NULL);
  if (code == CL_SUCCESS) return true;
  report_build(*program, device, source->name, code, error);
  clReleaseProgram(*program);
  *program = NULL;
  return false;
}

static bool load_or_build(cl_program *program, struct device *device, const struct source *prelude,
                          const struct source *source, const char *options, const char *key,
                          struct error *error) {
  struct arena *arena = arena_open();
  struct compile compile;
  char *path = program_cache_entry(arena, &device->facts, key);
  compile_begin(device, &compile);
  bool loaded = path && program_cache_load(program, device, path, options);
  bool good = loaded || build_source(program, device, prelude, source, options, error);
  if (good && !loaded && path) program_cache_save(*program, program_cache(arena, &device->facts), path);
  compile_end(device, &compile, !loaded && !device->facts.keeps_programs);
  arena_close(arena);
  return good;
}

bool program_build(cl_program *program, struct device *device, const struct source *prelude,
                   const struct source *source, const char *options, struct error *error) {
  /* PoCL compiles kernels of programs that are there, too */
  if (device->facts.keeps_programs && !room_for_compiled(error)) return false;
  struct arena *arena = arena_open();
  char key[65];
  name_program(arena, device, prelude, source, options, key);
  *program = device->facts.keeps_programs ? device_kept_program(device, key) : NULL;
  bool good = *program != NULL;
  if (!good && !room_for(room_for_kernels(), "compiling kernels", error)) {
    arena_close(arena);
    return false;
  }
  if (!good) {
    good = load_or_build(program, device, prelude, source, options, key, error);
    if (good && device->facts.keeps_programs) device_keep_program(device, key, *program);
  }
  arena_close(arena);
  return good;
}
