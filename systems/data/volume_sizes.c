/* What the sizes of a volume say before a sample of it is read: for the formats that tell them. */
#include "systems/data/volume.h"

#include <unistd.h>

enum { SLICES_MOST = 1 << 20 };

/* Sizes that no host can hold come from broken files. The reader keeps a few slices at a time. */
bool volume_check_sizes(const struct volume *volume, struct error *error) {
  if (!volume->slices || !volume->coils || !volume->height || !volume->width)
    return fail_file(error, "%s in %s has size zero (%zu slices of %zu x %zu)", volume->key, volume->path,
                     volume->slices, volume->height, volume->width);
  if (volume->slices > SLICES_MOST)
    return fail_file(error, "%s has %zu slices; at most %d are read: the file is broken or must be cut",
                     volume->path, volume->slices, SLICES_MOST);
  double bytes = (double)volume->coils * (double)volume->height * (double)volume->width * 8;
  double host = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
  if (bytes < host / 8) return true;
  return fail_file(error,
                   "%s has slices of %zu x %zu x %zu numbers, too large for a host of %.0f GiB; the file is "
                   "broken or must be cut",
                   volume->path, volume->coils, volume->height, volume->width, host / 0x1p30);
}

size_t volume_sample_floats(const struct volume *volume) {
  return volume->coils * volume->height * volume->width * (volume->from_kspace ? 2 : 1);
}

size_t volume_slice_floats(const struct volume *volume) {
  return volume_sample_floats(volume) + 2 * volume->map_coils * volume->map_height * volume->map_width +
         2 * volume->noise_coils * volume->noise_samples;
}
