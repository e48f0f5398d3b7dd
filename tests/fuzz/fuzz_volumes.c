/* Volumes of fastMRI's format: opened as images and as k-space, and their slices read. */
#include "systems/data/dataset.h"
#include "tests/fuzz/fuzz.h"

enum { SLICES = 2, COILS = 2, N = 32 };

static void write_good(void) {
  static float pixels[SLICES * N * N], samples[SLICES * COILS * N * N * 2];
  struct store *store;
  struct error error;
  for (size_t i = 0; i < SLICES * N * N; i++) pixels[i] = (float)(i % 97);
  for (size_t i = 0; i < SLICES * COILS * N * N * 2; i++) samples[i] = (float)(i % 89) - 40;
  FUZZ_MUST(store_create(&store, fuzz_path("good.h5"), &error));
  FUZZ_MUST(
      store_write(store, "reconstruction_rss", STORE_F32, 3, (size_t[]){SLICES, N, N}, pixels, true,
                  &error) &&
      store_write(store, "kspace", STORE_C64, 4, (size_t[]){SLICES, COILS, N, N}, samples, false, &error) &&
      store_write_text(store, "ismrmrd_header",
                       "<reconSpace><matrixSize><x>32</x><y>32</y></matrixSize></reconSpace>", &error) &&
      store_put_text(store, "acquisition", "AXT2", &error) &&
      store_put_text(store, "patient_id", "7", &error) && store_put_number(store, "max", 96, &error));
  FUZZ_MUST(store_commit(store, &error));
  fuzz_take();
}

static void open_one(const struct options *options, const char *path, struct arena *arena) {
  struct volume volume = volume_of(path);
  struct error error;
  void *file;
  if (!volume_open(&volume, options, &error) || !volume_file_open(&file, &volume, &error)) return;
  size_t count = volume_slice_floats(&volume);
  float *slice = ARENA_TRY(arena, float, count);
  bool constant;
  for (size_t i = 0; slice && i < volume.slices && i < 4; i++)
    if (volume_read(file, &volume, volume.slices - 1 - i, slice, &error))
      volume_fault(slice, count, &constant);
  volume_file_close(file, &volume);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static bool ready;
  struct arena *arena = arena_open();
  struct options options;
  option_defaults(&option_table, &options, arena);
  if (!ready) write_good();
  ready = true;
  const char *path = fuzz_change(data, size);
  options.data.size = option_square(N);
  open_one(&options, path, arena);
  options.data.kspace = KSPACE_MEASURED;
  open_one(&options, path, arena);
  options.data.crop = CROP_KSPACE;
  options.data.kspace = KSPACE_IMAGE;
  options.data.source = SOURCE_KSPACE;
  open_one(&options, path, arena);
  arena_close(arena);
  return 0;
}
