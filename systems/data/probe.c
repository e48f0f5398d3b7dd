#include "systems/data/probe.h"

#include "systems/data/doubts.h"

#include <math.h>

struct probed {
  void *file;
  const struct volume *volume;
  const struct options *options;
  struct doubts *doubts;
  float *data, *crop; /* a slice, and its crop */
  bool plain;         /* the slice has no contrast */
};

/* Why a scene leaves the volume out, or NULL. Values of k-space may be as small as they like. */
static const char *fault_of(struct probed *probed) {
  const struct volume *volume = probed->volume;
  const struct scan_shape shape = scan_shape_of(probed->options);
  size_t count = volume_slice_floats(volume);
  bool finite = true;
  if (volume->from_kspace) {
    const char *fault = volume_fault(probed->data, count, &probed->plain);
    for (size_t i = 0; i < count; i++) finite &= isfinite(probed->data[i]) != 0;
    return finite ? NULL : fault;
  }
  volume_fit(probed->data, volume->height, volume->width, probed->options, probed->crop);
  return volume_fault(probed->crop, scan_shape_pixels(&shape), &probed->plain);
}

static bool probe_slice(struct probed *probed, size_t slice, struct error *error) {
  if (!volume_read(probed->file, probed->volume, slice, probed->data, error))
    return fail_in(error, "slice %zu", slice);
  const char *fault = fault_of(probed);
  if (fault) return fail_file(error, "%s: slice %zu holds %s", probed->volume->path, slice, fault);
  doubts_see(probed->doubts, probed->volume, probed->data);
  if (!probed->volume->from_kspace) doubts_see_crop(probed->doubts, probed->volume, probed->data, probed->options);
  return true;
}

/* The middle slice; where it has no contrast the others too, to tell a volume that has none. */
static bool probe_slices(struct probed *probed, struct error *error) {
  const struct volume *volume = probed->volume;
  size_t middle = volume->slice_first + volume->slice_count / 2;
  bool good = probe_slice(probed, middle, error);
  for (size_t s = 0; good && probed->plain && s < volume->slice_count; s++)
    if (volume->slice_first + s != middle) good = probe_slice(probed, volume->slice_first + s, error);
  return good;
}

static bool probe_volume(const struct volume *volume, const struct options *options, struct doubts *doubts,
                         struct error *error) {
  struct probed probed = {.volume = volume, .options = options, .doubts = doubts};
  const struct scan_shape shape = scan_shape_of(options);
  if (!volume->slice_count) return true;
  if (!volume_file_open(&probed.file, volume, error)) return false;
  struct arena *arena = arena_open();
  probed.data = arena_try_array(arena, sizeof *probed.data, volume_slice_floats(volume));
  probed.crop = arena_try_array(arena, sizeof *probed.crop, scan_shape_pixels(&shape));
  bool good = probed.data && probed.crop ? probe_slices(&probed, error)
                                     : fail_memory(error, "no host memory for a slice of %s", volume->path);
  if (!good) doubts_drop(doubts);
  arena_close(arena);
  volume_file_close(probed.file, volume);
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
    if (probe_volume(&dataset->volumes[v], options, doubts, error)) {
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
