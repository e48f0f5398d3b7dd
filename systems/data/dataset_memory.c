/* Slices in the program's memory as a data set: neighbours of one number are a volume. */
#include "systems/data/dataset.h"
#include "systems/data/format.h"
#include "systems/data/labels.h"

enum { SIDE_MOST = 1 << 14, COILS_MOST = 1 << 10 };

static bool check_slices(const struct slices_in_memory *slices, struct error *error) {
  if (!slices->values || !slices->count)
    return fail_usage(error, "there are %zu slices in memory, at %s; give at least one", slices->count,
                      slices->values ? "an address" : "NULL");
  if (slices->count > UINT32_MAX)
    return fail_usage(error, "there are %zu slices in memory; there may be %u", slices->count, UINT32_MAX);
  if (!slices->height || !slices->width || slices->height > SIDE_MOST || slices->width > SIDE_MOST)
    return fail_usage(error, "slices in memory are %zu x %zu; each side must be from 1 to %d", slices->height,
                      slices->width, SIDE_MOST);
  if (slices->coils > COILS_MOST)
    return fail_usage(error, "slices in memory have %zu coils; they may have %d", slices->coils, COILS_MOST);
  return true;
}

static size_t slice_floats(const struct slices_in_memory *slices) {
  size_t pixels = slices->height * slices->width;
  return slices->coils ? 2 * slices->coils * pixels : pixels;
}

/* Slices of the volume that begins with this one. */
static size_t count_slices(const struct slices_in_memory *slices, size_t first) {
  size_t end = first + 1;
  while (slices->volume && end < slices->count && slices->volume[end] == slices->volume[first]) end++;
  return end - first;
}

static bool add_volume(struct dataset *dataset, const struct slices_in_memory *slices, size_t first, size_t count,
                       const struct options *options, struct error *error) {
  struct volume *volume = &dataset->volumes[dataset->volume_count];
  const char *name = arena_text(dataset->arena, "slices %zu to %zu in memory", first, first + count - 1);
  *volume = (struct volume){.format = &format_memory,
                            .path = name,
                            .name = name,
                            .from_kspace = slices->coils > 0,
                            .slices = count,
                            .coils = slices->coils ? slices->coils : 1,
                            .height = slices->height,
                            .width = slices->width,
                            .memory = slices->values + first * slice_floats(slices),
                            .memory_label = slices->label ? slices->label + first : NULL};
  snprintf(volume->key, sizeof volume->key, "%s", slices->coils ? "kspace" : "images");
  if (!volume_open(volume, options, error)) return false;
  dataset->volume_count++;
  dataset->slice_count += volume->slice_count;
  return true;
}

static size_t count_volumes(const struct slices_in_memory *slices) {
  size_t volumes = 0;
  for (size_t first = 0; first < slices->count; first += count_slices(slices, first)) volumes++;
  return volumes;
}

static bool add_volumes(struct dataset *dataset, const struct slices_in_memory *slices,
                        const struct options *options, struct error *error) {
  size_t most = options->data.volumes;
  dataset->volumes = ARENA_TRY(dataset->arena, struct volume, count_volumes(slices));
  if (!dataset->volumes)
    return fail_memory(error, "no host memory for the names of %zu slices", slices->count);
  for (size_t first = 0, count; first < slices->count; first += count) {
    if (most && dataset->volume_count == most) break;
    count = count_slices(slices, first);
    if (!add_volume(dataset, slices, first, count, options, error)) return false;
  }
  dataset->entries = dataset->selected = dataset->volume_count;
  return dataset->slice_count ||
         fail_usage(
             error,
             "data.slices takes the central half of a volume, and each of the %zu volumes in memory has "
             "one slice; set data.slices to all",
             dataset->volume_count);
}

bool dataset_of_slices(struct dataset *dataset, const struct slices_in_memory *slices,
                       const struct options *options, struct error *error) {
  *dataset = (struct dataset){.arena = arena_open()};
  if (check_slices(slices, error) && add_volumes(dataset, slices, options, error) &&
      labels_read(dataset->volumes, dataset->volume_count, options, dataset->arena, error))
    return true;
  dataset_close(dataset);
  return false;
}
