#include "engine/device/program.h"

#include "engine/base/log.h"
#include "engine/device/compile.h"
#include "engine/device/room.h"
#include "engine/files/part.h"

#include <nettle/sha2.h>
#include <stdlib.h>
#include <string.h>

static const char magic[8] = "l2srcl1";

struct entry_head {
  char magic[8];
  uint64_t bytes;
  uint8_t digest[SHA256_DIGEST_SIZE];
};

void hash_hex(const void *data, size_t bytes, char hex[65]) {
  struct sha256_ctx context;
  uint8_t digest[SHA256_DIGEST_SIZE];
  sha256_init(&context);
  sha256_update(&context, bytes, data);
  sha256_digest(&context, sizeof digest, digest);
  for (size_t i = 0; i < sizeof digest; i++) snprintf(hex + 2 * i, 3, "%02x", digest[i]);
}

char *program_cache(struct arena *arena, const struct device_facts *facts) {
  const char *own = getenv("L2SR_CACHE"), *shared = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  if (own && !strcmp(own, "off")) return NULL;
  if (own && *own) return arena_text(arena, "%s", own);
  if (facts->keeps_programs) return NULL;
  if (shared && *shared) return arena_text(arena, "%s/l2sr", shared);
  return home && *home ? arena_text(arena, "%s/.cache/l2sr", home) : NULL;
}

/* A hash of everything that the binary depends on. */
static void name_program(struct arena *arena, const struct device *device, const struct source *prelude,
                         const struct source *source, const char *options, char key[65]) {
  const struct device_facts *facts = &device->facts;
  char *identity =
      arena_text(arena, "%s\n%s\n%s\n%s\n%s\n%s\n%s\n%s\n%s", magic, facts->platform, facts->name,
                 facts->version, facts->driver, options, prelude->text, source->name, source->text);
  hash_hex(identity, strlen(identity), key);
}

static char *entry_path(struct arena *arena, const struct device *device, const char *key) {
  char *folder = program_cache(arena, &device->facts);
  return folder ? arena_text(arena, "%s/%s.clbin", folder, key) : NULL;
}

static void digest_of(const void *data, size_t bytes, uint8_t digest[SHA256_DIGEST_SIZE]) {
  struct sha256_ctx context;
  sha256_init(&context);
  sha256_update(&context, bytes, data);
  sha256_digest(&context, SHA256_DIGEST_SIZE, digest);
}

static unsigned char *read_entry(struct arena *arena, const char *path, size_t *bytes) {
  struct error ignored;
  FILE *file = file_read(path, &ignored);
  if (!file) return NULL;
  struct entry_head head;
  uint8_t digest[SHA256_DIGEST_SIZE];
  unsigned char *data = NULL;
  if (fread(&head, sizeof head, 1, file) == 1 && !memcmp(head.magic, magic, sizeof magic) &&
      head.bytes < ((uint64_t)1 << 31) && (data = arena_try(arena, head.bytes)) &&
      fread(data, 1, head.bytes, file) == head.bytes) {
    digest_of(data, head.bytes, digest);
    *bytes = head.bytes;
    if (memcmp(digest, head.digest, sizeof digest)) data = NULL;
  } else {
    data = NULL;
  }
  fclose(file);
  if (!data) log_detail("kernel cache entry %s is damaged; building again", path);
  return data;
}

static void write_entry(const char *path, const unsigned char *data, size_t bytes) {
  struct text_file file;
  struct error ignored; /* without the entry it is built again */
  struct entry_head head = {.bytes = bytes};
  memcpy(head.magic, magic, sizeof magic);
  digest_of(data, bytes, head.digest);
  if (!file_create(&file, path, &ignored)) return;
  fwrite(&head, sizeof head, 1, file.file);
  fwrite(data, 1, bytes, file.file);
  file_commit(&file, &ignored);
}

static bool load_entry(cl_program *program, struct device *device, const char *path, const char *options) {
  struct arena *arena = arena_open();
  size_t bytes = 0;
  const unsigned char *data = read_entry(arena, path, &bytes);
  cl_int code = CL_INVALID_BINARY;
  *program = NULL;
  if (data) *program = clCreateProgramWithBinary(device->context, 1, &device->id, &bytes, &data, NULL, &code);
  if (code == CL_SUCCESS) code = clBuildProgram(*program, 1, &device->id, options, NULL, NULL);
  if (code != CL_SUCCESS && *program) {
    clReleaseProgram(*program);
    *program = NULL;
  }
  arena_close(arena);
  return code == CL_SUCCESS;
}

/* Makes the folder, which nothing else does: programs that are there already are many, and found at once. */
static void save_entry(cl_program program, const char *folder, const char *path) {
  size_t bytes = 0;
  struct error ignored; /* without the entry it is built again */
  if (!folder_make(folder, &ignored) ||
      clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, NULL) != CL_SUCCESS || !bytes)
    return;
  struct arena *arena = arena_open();
  unsigned char *data = arena_try(arena, bytes);
  if (data && clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof data, &data, NULL) == CL_SUCCESS)
    write_entry(path, data, bytes);
  arena_close(arena);
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
  fail_as(error, L2SR_DEVICE_FAILED, "kernel file %s does not build on %s: %s (%d): %.*s%s", name,
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
    return fail_as(error, L2SR_DEVICE_FAILED, "cannot make a program of %s: %s (%d)", source->name,
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
  char *path = entry_path(arena, device, key);
  compile_begin(device, &compile);
  bool loaded = path && load_entry(program, device, path, options);
  bool good = loaded || build_source(program, device, prelude, source, options, error);
  if (good && !loaded && path) save_entry(*program, program_cache(arena, &device->facts), path);
  compile_end(device, &compile, !loaded && !device->facts.keeps_programs);
  arena_close(arena);
  return good;
}

bool program_build(cl_program *program, struct device *device, const struct source *prelude,
                   const struct source *source, const char *options, struct error *error) {
  struct arena *arena = arena_open();
  char key[65];
  name_program(arena, device, prelude, source, options, key);
  *program = device_kept_program(device, key);
  bool good = *program != NULL;
  if (!good && (!room_for(room_for_kernels(), "compiling kernels", error) ||
                (device->facts.keeps_programs && !room_for_compiled(error)))) {
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
