/* Samples in the program's memory: the data set has set the facts of its volumes (dataset_memory.c). */
#include "systems/data/format.h"
#include "systems/data/volume.h"

#include <string.h>

static bool claims(const char *path) {
  (void)path;
  return false;
}

/* The caller has set its facts. */
static bool describe(void *file, struct volume *volume, const struct options *options, struct error *error) {
  bool kspace = options->data.kspace == KSPACE_MEASURED || options->data.crop != CROP_IMAGE;
  (void)file;
  if (!kspace || volume->from_kspace) return true;
  return fail_usage(error,
                    "%s holds images, and data.kspace or data.crop asks for k-space; give k-space of coils, or "
                    "set both to image",
                    volume->path);
}

static bool read_slice(void *file, const struct volume *volume, size_t slice, float *to, struct error *error) {
  size_t floats = volume_slice_floats(volume);
  (void)file, (void)error;
  memcpy(to, volume->memory + slice * floats, sizeof *to * floats);
  return true;
}

static bool read_label(void *file, const struct volume *volume, const char *name, float *to, struct error *error) {
  (void)file;
  if (!volume->memory_label)
    return fail_usage(error, "data.label is %s, and %s have no labels; give l2sr_slices.label, or name a CSV file by data.labels",
                      name, volume->path);
  memcpy(to, volume->memory_label, sizeof *to * volume->slices);
  return true;
}

const struct volume_format format_memory = {
    .name = "memory",
    .in_memory = true,
    .claims = claims,
    .describe = describe,
    .read = read_slice,
    .read_label = read_label,
};
