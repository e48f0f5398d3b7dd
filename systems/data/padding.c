#include "systems/data/padding.h"

#include "engine/base/log.h"
#include "systems/data/listing.h"

struct padding {
  size_t left, right;
};

struct search {
  const struct options *options;
  struct scan_shape shape;
  struct padding least, most; /* of the volumes so far */
  size_t volumes;
};

/* ---- by looking ---------------------------------------------------------------------------------------- */

/* Columns from `first` on, in steps of 1 or -1, in which all is 0. */
static size_t count_zeros(const float *kspace, size_t lines, size_t width, size_t first, int step) {
  for (size_t count = 0; count < width; count++, first += (size_t)step)
    for (size_t line = 0; line < lines; line++) {
      const float *sample = kspace + 2 * (line * width + first);
      if (sample[0] != 0 || sample[1] != 0) return count;
    }
  return width;
}

/* A slice of nothing but zeros tells nothing. */
static bool look_at(void *file, const struct volume *volume, struct padding *padding) {
  struct arena *arena = arena_open();
  struct error ignored;
  size_t lines = volume->coils * volume->height, width = volume->width;
  float *kspace = arena_try_array(arena, sizeof *kspace, volume_slice_floats(volume));
  bool good =
      kspace && volume_read(file, volume, volume->slice_first + volume->slice_count / 2, kspace, &ignored);
  if (good) {
    padding->left = count_zeros(kspace, lines, width, 0, 1);
    padding->right = count_zeros(kspace, lines, width, width - 1, -1);
    good = padding->left < width;
  }
  arena_close(arena);
  return good;
}

static bool padding_of(const struct volume *volume, struct padding *padding) {
  struct error ignored;
  void *file;
  *padding = (struct padding){volume->padded_left, volume->padded_right};
  if (volume->says_padding) return true;
  if (!volume->slice_count || !volume_file_open(&file, volume, &ignored)) return false;
  bool good = look_at(file, volume, padding);
  volume_file_close(file, volume);
  return good;
}

/* ---- of a volume in the scene -------------------------------------------------------------------------- */

static size_t less(size_t count, size_t by) {
  return count > by ? count - by : 0;
}

/* What is left of it where the k-space is cut; false where the scene's columns are not the volume's. */
static bool cut(const struct search *search, const struct volume *volume, struct padding *padding) {
  size_t width = search->shape.width, own = volume->width;
  if (search->options->data.crop != CROP_IMAGE) {
    size_t before = own / 2 - width / 2;
    *padding = (struct padding){less(padding->left, before), less(padding->right, own - width - before)};
    return own >= width && search->options->data.pad <= width;
  }
  return own == width && search->options->data.pad <= width;
}

static size_t smaller(size_t a, size_t b) {
  return a < b ? a : b;
}

static size_t larger(size_t a, size_t b) {
  return a > b ? a : b;
}

/* Columns beyond those of the scene are none: then there is no padding in every volume. */
static void see(struct search *search, const struct volume *volume) {
  struct padding padding;
  if (!volume->from_kspace || !padding_of(volume, &padding)) return;
  if (!cut(search, volume, &padding)) padding = (struct padding){0, 0};
  struct padding *least = &search->least, *most = &search->most;
  if (!search->volumes++) *least = *most = padding;
  *least = (struct padding){smaller(least->left, padding.left), smaller(least->right, padding.right)};
  *most = (struct padding){larger(most->left, padding.left), larger(most->right, padding.right)};
}

/* ---- of all -------------------------------------------------------------------------------------------- */

static void see_files(struct search *search) {
  struct options all = *search->options;
  struct listing listing = {.arena = arena_open()};
  struct error ignored;
  all.data.split = SPLIT_ALL;
  if (listing_make(&listing, &all, &ignored))
    for (size_t i = 0; i < listing.names.count; i++) {
      struct volume volume = volume_of(listing.names.path[i]);
      if (volume_open(&volume, &all, &ignored)) see(search, &volume);
    }
  arena_close(listing.arena);
}

static void see_slices(struct search *search, const struct slices_in_memory *slices) {
  struct dataset dataset;
  struct error ignored;
  if (!dataset_of_slices(&dataset, slices, search->options, &ignored)) return;
  for (size_t v = 0; v < dataset.volume_count; v++) see(search, &dataset.volumes[v]);
  dataset_close(&dataset);
}

static void tell(const struct search *search) {
  const struct padding *least = &search->least, *most = &search->most;
  if (least->left || least->right)
    log_info(
        "the first %zu and the last %zu of %u columns of k-space hold zeros that were added: they are no "
        "actions (acquisition.padded_left, .padded_right)",
        least->left, least->right, search->shape.width);
  if (least->left != most->left || least->right != most->right)
    log_warning(
        "volumes differ in the columns of k-space that hold zeros, from %zu and %zu to %zu and %zu: those "
        "that not all have are actions; set acquisition.padded_left and .padded_right, or take volumes of "
        "one kind",
        least->left, least->right, most->left, most->right);
}

void padding_find(struct options *options, const struct slices_in_memory *slices) {
  const bool *given = options->given;
  if (given[OPTION_ROW_acquisition_padded_left] || given[OPTION_ROW_acquisition_padded_right]) return;
  options->acquisition.padded_left = options->acquisition.padded_right = 0;
  struct search search = {.options = options, .shape = scan_shape_of(options)};
  if (options->data.kspace != KSPACE_MEASURED || options->acquisition.geometry != GEOMETRY_LINES) return;
  if (slices)
    see_slices(&search, slices);
  else if (*options->data.path)
    see_files(&search);
  size_t half = search.shape.width / 2;
  if (search.least.left >= half || search.least.right >= half) return;
  options->acquisition.padded_left = (uint32_t)search.least.left;
  options->acquisition.padded_right = (uint32_t)search.least.right;
  tell(&search);
}
