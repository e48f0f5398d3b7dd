#include "systems/data/probe.h"

#include "systems/data/doubts.h"

static bool read_middle(const struct volume *volume, struct doubts *doubts, struct error *error) {
  struct store *store;
  size_t slice = volume->slice_first + volume->slice_count / 2;
  if (!volume->slice_count) return true;
  if (!store_open(&store, volume->path, error)) return false;
  struct arena *arena = arena_open();
  float *data = arena_try_array(arena, sizeof *data, volume_slice_floats(volume));
  bool good = data ? volume_read(store, volume, slice, data, error)
                   : fail_memory(error, "no host memory for a slice of %s", volume->path);
  if (good) doubts_see(doubts, volume, data);
  arena_close(arena);
  store_close(store);
  return good || fail_in(error, "slice %zu", slice);
}

static void remove_volume(struct dataset *dataset, size_t index) {
  dataset->slice_count -= dataset->volumes[index].slice_count;
  for (size_t v = index + 1; v < dataset->volume_count; v++) dataset->volumes[v - 1] = dataset->volumes[v];
  dataset->volume_count--;
}

bool dataset_probe(struct dataset *dataset, const struct options *options, struct error *error) {
  struct doubts *doubts = doubts_open(dataset->arena);
  for (size_t v = 0; v < dataset->volume_count;) {
    if (read_middle(&dataset->volumes[v], doubts, error)) {
      if (!doubts_end(doubts, &dataset->volumes[v++], options, error)) return false;
      continue;
    }
    if (!dataset_skip(dataset, &dataset->volumes[v], options->data.strict, error)) return false;
    remove_volume(dataset, v);
  }
  for (int kind = 0; kind < DOUBT_KINDS; kind++) {
    const char *text = doubts_text(doubts, kind, dataset->arena);
    if (text && !dataset_note(dataset, options, error, "%s", text)) return false;
  }
  if (dataset->slice_count) return true;
  const struct error last = *error;
  return fail_file(error, "no usable slice in %s: no volume can be read; the last: %s", options->data.path,
                   last.text);
}
