#include "engine/device/program_cache.h"

#include "engine/base/log.h"
#include "engine/files/part.h"

#include <nettle/sha2.h>
#include <stdlib.h>
#include <string.h>

static const char magic[8] = PROGRAM_CACHE_FORMAT;

struct entry_head {
  char magic[8];
  uint64_t bytes;
  uint8_t digest[SHA256_DIGEST_SIZE];
};

char *program_cache(struct arena *arena, const struct device_facts *facts) {
  const char *own = getenv("L2SR_CACHE"), *shared = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  if (own && !strcmp(own, "off")) return NULL;
  if (own && *own) return arena_text(arena, "%s", own);
  if (facts->keeps_programs) return NULL;
  if (shared && *shared) return arena_text(arena, "%s/l2sr", shared);
  return home && *home ? arena_text(arena, "%s/.cache/l2sr", home) : NULL;
}

char *program_cache_entry(struct arena *arena, const struct device_facts *facts, const char *key) {
  char *folder = program_cache(arena, facts);
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

bool program_cache_load(cl_program *program, struct device *device, const char *path, const char *options) {
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
void program_cache_save(cl_program program, const char *folder, const char *path) {
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
