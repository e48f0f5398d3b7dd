/* Masks and probabilities that sampler.mask names, in HDF5 and, where the input is no multiple of 4, as text.
 */
#include "systems/sampling/acquisition.h"
#include "systems/sampling/samplers.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

enum { N = 32 };

static void write_good(const struct acquisition *acquisition) {
  uint8_t mask[N] = {0};
  double probability[N] = {0};
  struct store *store;
  struct error error;
  size_t left = acquisition->budget;
  for (size_t i = 0; i < N; i++) mask[i] = acquisition_is_initial(acquisition, i);
  for (size_t i = 0; i < N; i++) {
    if (!mask[i]) probability[i] = (double)acquisition->budget / (double)(N - acquisition->initial_lines);
    if (!mask[i] && left) mask[i] = 1, left--;
  }
  FUZZ_MUST(store_create(&store, fuzz_path("good.h5"), &error));
  FUZZ_MUST(store_write(store, "mask", STORE_U8, 1, (size_t[]){N}, mask, false, &error) &&
            store_write(store, "probability", STORE_F64, 1, (size_t[]){N}, probability, false, &error) &&
            store_put_text(store, "scan_geometry", "lines", &error));
  FUZZ_MUST(store_commit(store, &error));
  fuzz_take();
}

static void fill(struct options *options, const struct acquisition *acquisition, struct arena *arena) {
  static const char *const names[] = {"fixed_mask", "learned_mask"};
  uint32_t *table = ARENA_NEW(arena, uint32_t, acquisition->shape.actions);
  struct error error;
  for (size_t i = 0; i < 2; i++) {
    const struct sampler *sampler = sampler_find(names[i], &error);
    if (!sampler) fuzz_failed(names[i], &error);
    sampler_fill(sampler, options, acquisition, table, &error);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static bool ready;
  struct arena *arena = arena_open();
  struct options options;
  struct acquisition acquisition;
  struct error error;
  option_defaults(&option_table, &options, arena);
  options.data.size = option_square(N);
  FUZZ_MUST(acquisition_plan(&acquisition, &options, 4, "base", &error));
  if (!ready) write_good(&acquisition);
  ready = true;
  options.sampler.mask =
      arena_text(arena, "%s", size % 4 ? fuzz_text("text", data, size) : fuzz_change(data, size));
  fill(&options, &acquisition, arena);
  arena_close(arena);
  return 0;
}
