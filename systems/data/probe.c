#include "systems/data/probe.h"

#include "systems/data/doubts.h"

#include <math.h>

struct look {
  void *file;
  const struct volume *volume;
  const struct options *options;
  struct doubts *doubts;
  float *data, *crop; /* a slice, and its crop */
  bool plain;         /* the slice has no contrast */
};

/* Why a scene leaves the volume out, or NULL. Values of k-space may be as small as they like. */
static const char *fault_of(struct look *look) {
  const struct volume *volume = look->volume;
  const struct scan_shape shape = scan_shape_of(look->options);
  size_t count = volume_slice_floats(volume);
  bool finite = true;
  if (volume->from_kspace) {
    const char *fault = volume_fault(look->data, count, &look->plain);
    for (size_t i = 0; i < count; i++) finite &= isfinite(look->data[i]) != 0;
    return finite ? NULL : fault;
  }
  volume_crop(look->data, volume->height, volume->width, look->options->data.pad, &shape, look->crop);
  return volume_fault(look->crop, scan_shape_pixels(&shape), &look->plain);
}

static bool look_at(struct look *look, size_t slice, struct error *error) {
  if (!volume_read(look->file, look->volume, slice, look->data, error))
    return fail_in(error, "slice %zu", slice);
  const char *fault = fault_of(look);
  if (fault) return fail_file(error, "%s: slice %zu holds %s", look->volume->path, slice, fault);
  doubts_see(look->doubts, look->volume, look->data);
  if (!look->volume->from_kspace) doubts_see_crop(look->doubts, look->volume, look->data, look->options);
  return true;
}

/* The middle slice; where it has no contrast the others too, to tell a volume that has none. */
static bool look_at_slices(struct look *look, struct error *error) {
  const struct volume *volume = look->volume;
  size_t middle = volume->slice_first + volume->slice_count / 2;
  bool good = look_at(look, middle, error);
  for (size_t s = 0; good && look->plain && s < volume->slice_count; s++)
    if (volume->slice_first + s != middle) good = look_at(look, volume->slice_first + s, error);
  return good;
}

static bool look_at_volume(const struct volume *volume, const struct options *options, struct doubts *doubts,
                           struct error *error) {
  struct look look = {.volume = volume, .options = options, .doubts = doubts};
  const struct scan_shape shape = scan_shape_of(options);
  if (!volume->slice_count) return true;
  if (!volume_file_open(&look.file, volume, error)) return false;
  struct arena *arena = arena_open();
  look.data = arena_try_array(arena, sizeof *look.data, volume_slice_floats(volume));
  look.crop = arena_try_array(arena, sizeof *look.crop, scan_shape_pixels(&shape));
  bool good = look.data && look.crop ? look_at_slices(&look, error)
                                     : fail_memory(error, "no host memory for a slice of %s", volume->path);
  if (!good) doubts_drop(doubts);
  arena_close(arena);
  volume_file_close(look.file, volume);
  return good;
}

static void remove_volume(struct dataset *dataset, size_t index) {
  dataset->slice_count -= dataset->volumes[index].slice_count;
  for (size_t v = index + 1; v < dataset->volume_count; v++) dataset->volumes[v - 1] = dataset->volumes[v];
  dataset->volume_count--;
}

bool dataset_probe(struct dataset *dataset, const struct options *options, struct error *error) {
  struct doubts *doubts = doubts_open(dataset->arena);
  for (size_t v = 0; v < dataset->volume_count;) {
    if (look_at_volume(&dataset->volumes[v], options, doubts, error)) {
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
