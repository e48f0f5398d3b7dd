/* Scenes: files of YAML, what they resolve to, and values of it that are found again. */
#include "components/options.h"
#include "engine/files/scene.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static void print_again(const struct options *options, struct arena *arena) {
  char *text = NULL;
  size_t size = 0;
  FILE *memory = open_memstream(&text, &size);
  if (!memory) abort();
  option_print(&option_table, options, false, memory);
  fclose(memory);
  scene_value(text, "data", "path", arena);
  scene_value(text, "evaluate", "samplers", arena);
  free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct arena *arena = arena_open();
  struct options options;
  struct error error;
  option_defaults(&option_table, &options, arena);
  const char *path = arena_text(arena, "%s", fuzz_text("text", data, size));
  if (scene_read(&option_table, &options, arena, path, "/nonexistent", &error)) print_again(&options, arena);
  char *text = arena_new(arena, size + 1);
  memcpy(text, data, size);
  scene_value(text, "data", "path", arena);
  scene_assign(&option_table, &options, arena, text, "fuzz", &error);
  arena_close(arena);
  return 0;
}
