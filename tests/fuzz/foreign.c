#include "tests/fuzz/foreign.h"

#include "engine/files/probe.h"
#include "systems/data/volume.h"

#include <stdlib.h>
#include <string.h>

static void read_slices(const struct volume *volume, struct arena *arena) {
  struct error error;
  void *file;
  if (!volume_file_open(&file, volume, &error)) return;
  float *slice = ARENA_TRY(arena, float, volume_slice_floats(volume));
  for (size_t s = 0; slice && s < volume->slices && s < 4; s++)
    volume_read(file, volume, volume->slices - 1 - s, slice, &error);
  volume_file_close(file, volume);
}

void foreign_need_child(void) {
  static const struct error none = {.text = "name the program by L2SR_PROGRAM"};
  if (!getenv("L2SR_PROGRAM")) fuzz_failed("a child that runs the parser", &none);
}

void foreign_read(const char *path) {
  static bool ready;
  struct options options;
  struct volume volume = volume_of(path);
  struct error error = {.text = ""};
  if (!ready) probe_with(getenv("L2SR_PROGRAM"));
  ready = true;
  struct arena *arena = arena_open();
  option_defaults(&option_table, &options, arena);
  options.data.size = option_square(4);
  options.data.pad = 4;
  volume.guesses = true;
  if (volume_open(&volume, &options, &error))
    read_slices(&volume, arena);
  else if (!strstr(error.text, "/a."))
    fuzz_failed("a refusal that names the file", &error);
  arena_close(arena);
}
