#include "systems/data/volume.h"

#include "engine/base/hash.h"
#include "engine/base/log.h"
#include "systems/data/foreign.h"
#include "systems/data/format.h"
#include "systems/data/kept.h"
#include "systems/data/sampled.h"

#include <math.h>
#include <string.h>

/* Images from k-space are cropped to the size that the file says, or to the smaller side where it says none. */
static void find_image_size(struct volume *volume) {
  volume->image_height = volume->height;
  volume->image_width = volume->width;
  if (!volume->from_kspace) return;
  size_t side = volume->height < volume->width ? volume->height : volume->width;
  size_t x = volume->said_height, y = volume->said_width;
  volume->image_height = x && x <= volume->height ? x : side;
  volume->image_width = y && y <= volume->width ? y : side;
}

static size_t largest_size(size_t height, size_t width) {
  return height < width ? height : width;
}

size_t volume_largest_size(const struct volume *volume) {
  return largest_size(volume->image_height, volume->image_width);
}

bool volume_takes_size(size_t side) {
  return (double)side >= option_find(&option_table, "data.size")->low;
}

enum { SIDE_LEAST = 4 };

/* Padding makes any size of it, but no image. */
static bool refuse_tiny(const struct volume *volume, struct error *error) {
  return fail_file(
      error,
      "%s has images of %zu x %zu, which show nothing that could be scanned; are the axes of %s [slices, "
      "%sheight, width]?",
      volume->path, volume->image_height, volume->image_width, volume->key,
      volume->from_kspace ? "(coils,) " : "");
}

static bool check_size(struct volume *volume, const struct options *options, struct error *error) {
  if (volume->image_height < SIDE_LEAST || volume->image_width < SIDE_LEAST)
    return refuse_tiny(volume, error);
  const struct scan_shape shape = scan_shape_of(options);
  size_t pad = options->data.pad, longer = shape.height > shape.width ? shape.height : shape.width;
  volume->small = (volume->image_height < shape.height && pad < shape.height) ||
                  (volume->image_width < shape.width && pad < shape.width);
  if (!volume->small) return true;
  char or_size[96] = "", size[SCAN_SHAPE_TEXT];
  size_t side = volume_largest_size(volume);
  if (volume->from_kspace && volume->height >= shape.height && volume->width >= shape.width)
    snprintf(or_size, sizeof or_size, ", or data.crop to kspace, which has %zu x %zu", volume->height, volume->width);
  else if (volume_takes_size(side))
    snprintf(or_size, sizeof or_size, " or data.size to at most %zu", side);
  return fail_file(error,
                   "%s has images of %zu x %zu, smaller than data.size %s; set data.pad to at least %zu%s",
                   volume->path, volume->image_height, volume->image_width, scan_shape_text(&shape, size),
                   longer, or_size);
}

static bool refuse_kspace(const struct volume *volume, const struct scan_shape *shape, struct error *error) {
  size_t side = largest_size(volume->height, volume->width);
  char size[SCAN_SHAPE_TEXT];
  scan_shape_text(shape, size);
  if (volume_takes_size(side))
    return fail_file(error,
                     "%s has k-space of %zu x %zu, smaller than data.size %s; set data.size to at most %zu",
                     volume->path, volume->height, volume->width, size, side);
  return fail_file(
      error,
      "%s has k-space of %zu x %zu, smaller than data.size %s; set data.crop to image, and data.pad to at "
      "least %u",
      volume->path, volume->height, volume->width, size,
      shape->height > shape->width ? shape->height : shape->width);
}

/* An image of a k-space that is cut has its size, and is of the whole field of view; of the readout all samples stay,
 * and what their image has more rows than data.size is cut later, as of any image. */
static bool cut_kspace(struct volume *volume, const struct options *options, struct error *error) {
  const struct scan_shape shape = scan_shape_of(options);
  if (options->data.crop == CROP_IMAGE) return true;
  volume->small = volume->height < shape.height || volume->width < shape.width;
  if (volume->small) return refuse_kspace(volume, &shape, error);
  volume->kspace_height = volume->image_height = options->data.crop == CROP_READOUT ? volume->height : shape.height;
  volume->kspace_width = volume->image_width = shape.width;
  return true;
}

/* Coil sensitivities of a file are those of its k-space as it is transformed. */
static bool check_maps(const struct volume *volume, const struct options *options, struct error *error) {
  size_t height = volume->kspace_height ? volume->kspace_height : volume->height,
         width = volume->kspace_height ? volume->kspace_width : volume->width;
  bool asked = options->coils.maps == MAPS_FILE && options->data.kspace == KSPACE_MEASURED && volume->coils > 1;
  if (!asked || (volume->map_slices == volume->slices && volume->map_coils == volume->coils &&
                 volume->map_height == height && volume->map_width == width))
    return true;
  if (!volume->map_coils)
    return fail_file(error,
                     "%s has k-space of %zu coils and no dataset sensitivity_maps, which coils.maps file takes; add it "
                     "(complex, [slices, coils, height, width] as kspace), or set coils.maps to prescan",
                     volume->path, volume->coils);
  return fail_file(error,
                   "%s has sensitivity_maps of %zu slices, %zu coils and %zux%zu pixels; they must be of %zu, %zu and "
                   "%zux%zu, as its k-space: mend the file, or set coils.maps to prescan",
                   volume->path, volume->map_slices, volume->map_coils, volume->map_height, volume->map_width,
                   volume->slices, volume->coils, height, width);
}

/* Coils that a slice has when they are compressed; a noise scan is of all of them. */
static bool count_coils(struct volume *volume, const struct options *options, struct error *error) {
  size_t most = options->coils.compress;
  volume->made_coils = most && volume->from_kspace ? most : volume->coils;
  if (volume->made_coils > volume->coils)
    return fail_file(error,
                     "%s has k-space of %zu coil%s, and coils.compress is %zu: virtual coils are no more than there are; set it "
                     "to %zu or fewer, or to 0",
                     volume->path, volume->coils, plural(volume->coils), most, volume->coils);
  if (options->coils.whiten != WHITEN_NOISE || !volume->from_kspace || volume->coils == 1) return true;
  if (!volume->noise_coils)
    return fail_file(error,
                     "%s has k-space of %zu coils and no dataset noise, which coils.whiten noise takes; add it (complex, "
                     "[coils, samples]), or set coils.whiten to edge or none",
                     volume->path, volume->coils);
  if (volume->noise_coils == volume->coils) return true;
  return fail_file(error,
                   "%s has a dataset noise of %zu coils and k-space of %zu; give the noise of the same coils, or set "
                   "coils.whiten to edge or none",
                   volume->path, volume->noise_coils, volume->coils);
}

static void select_slices(struct volume *volume, uint32_t rule) {
  volume->slice_first = rule == SLICES_CENTRE ? volume->slices / 4 : 0;
  volume->slice_count = rule == SLICES_CENTRE ? volume->slices * 3 / 4 - volume->slices / 4 : volume->slices;
}

/* By the scene, once the sizes are known. */
static bool complete(struct volume *volume, const struct options *options, struct error *error) {
  volume->shift_columns = options->data.kspace_shift & SHIFT_COLUMNS;
  volume->shift_rows = options->data.kspace_shift & SHIFT_ROWS;
  volume->turn_columns = options->data.image_shift & SHIFT_COLUMNS;
  volume->turn_rows = options->data.image_shift & SHIFT_ROWS;
  select_slices(volume, options->data.slices);
  return count_coils(volume, options, error) && cut_kspace(volume, options, error) &&
         check_maps(volume, options, error) && check_size(volume, options, error);
}

/* ---- k-space with a mask beside it --------------------------------------------------------------------- */

static bool refuse_undersampled(const struct volume *volume, double missing, const char *what, struct error *error) {
  return fail_file(error,
                   "%s is undersampled: %.0f %% of the %s of its kspace are empty, and it has a mask; %s",
                   volume->path, 100 * missing, what,
                   volume->has_images ? "set data.source to auto to take its reconstruction"
                                      : "a test file without target cannot be used");
}

/* A mask may be of a scan that is yet to be made: the first slice from the middle on that holds something
 * tells whether it was. */
static bool check_sampled(void *file, const struct volume *volume, struct error *error) {
  if (!volume->from_kspace || !volume->has_mask) return true;
  struct arena *arena = arena_open();
  struct sampled sampled = {.coils = volume->coils, .height = volume->height, .width = volume->width};
  const char *what = "";
  double missing = 0;
  float *slice = arena_try_array(arena, sizeof *slice, volume_slice_floats(volume));
  bool good = slice || fail_memory(error, "no host memory for a slice of %s", volume->path);
  sampled.column_energy = ARENA_NEW(arena, double, volume->width);
  sampled.row_energy = ARENA_NEW(arena, double, volume->height);
  sampled.kspace = slice;
  if (good) volume->format->read_mask(file, volume, arena, &sampled.mask, &sampled.mask_entries);
  for (size_t s = volume->slices / 2; good && s < volume->slices; s++) {
    if (!(good = volume_read(file, volume, s, slice, error))) break;
    sampled_sum(&sampled);
    missing = sampled_missing(&sampled, &what);
    if (sampled.zeros < volume->coils * volume->height * volume->width) break;
  }
  if (good && missing) good = refuse_undersampled(volume, missing, what, error);
  arena_close(arena);
  return good;
}

/* ---- opening ------------------------------------------------------------------------------------------- */

static bool describe(void *file, struct volume *volume, const struct options *options, struct error *error) {
  if (!volume->format->describe(file, volume, options, error) || !volume_check_sizes(volume, error)) return false;
  find_image_size(volume);
  return complete(volume, options, error) && check_sampled(file, volume, error);
}

struct volume volume_of(const char *path) {
  const struct volume_format *format = format_of(path);
  const char *slash = strrchr(path, '/');
  return (struct volume){.format = format ? format : format_to_write(), .path = path, .name = slash ? slash + 1 : path};
}

static struct volume_choice choice_of(const struct options *options) {
  struct volume_choice choice = {.kind = options->import.kind, .factor = options->import.factor};
  snprintf(choice.axes, sizeof choice.axes, "%s", options->import.axes);
  snprintf(choice.variable, sizeof choice.variable, "%s", options->import.variable);
  return choice;
}

static struct kept_name kept_name_of(const struct volume *volume) {
  return (struct kept_name){volume->format, volume->path, volume->choice.variable};
}

/* The file that was unpacked last, where it is the volume's. */
static bool take_kept(void **file, const struct volume *volume, struct stat *status) {
  const struct kept_name name = kept_name_of(volume);
  return volume->format->unpack && kept_take(file, &name, status);
}

/* The row whose file it is turns out when it is open, for some. */
static bool open_file(void **file, struct volume *volume, struct stat *status, struct error *error) {
  if (take_kept(file, volume, status)) return true;
  if (volume->format->in_memory || stat(volume->path, status)) *status = (struct stat){0};
  if (!volume_file_open(file, volume, error)) return foreign_advise(volume->path, error);
  const struct volume_format *format = volume->format->is_hdf5 ? format_inside(*file) : NULL;
  if (!format) return true;
  volume_file_close(*file, volume);
  volume->format = format;
  return take_kept(file, volume, status) || volume->format->open(file, volume, error);
}

bool volume_open(struct volume *volume, const struct options *options, struct error *error) {
  void *file;
  struct stat status;
  volume->choice = choice_of(options);
  if (!open_file(&file, volume, &status, error)) return false;
  const struct volume_format *format = volume->format;
  const struct kept_name name = kept_name_of(volume);
  bool good = describe(file, volume, options, error);
  good = (!format->is_sound || format->is_sound(file, error)) && good;
  if (good && format->unpack)
    kept_give(file, &name, &status);
  else
    volume_file_close(file, volume);
  return good;
}

bool volume_file_open(void **file, const struct volume *volume, struct error *error) {
  struct stat status;
  *file = NULL;
  if (take_kept(file, volume, &status)) return true;
  return volume->format->in_memory || volume->format->open(file, volume, error);
}

void volume_file_close(void *file, const struct volume *volume) {
  if (file) volume->format->close(file);
}

const char *patient_of(const struct volume *volume) {
  return volume->patient[0] ? volume->patient : volume->name;
}

const char *volume_fault(const float *image, size_t count, bool *constant) {
  double sum = 0, square = 0, largest = 0;
  *constant = true;
  for (size_t i = 0; i < count; i++) {
    sum += image[i];
    largest = fabs(image[i]) > largest ? fabs(image[i]) : largest;
    *constant &= image[i] == image[0];
  }
  if (!isfinite(sum)) return "values that are not finite";
  if (largest > VOLUME_MAGNITUDE_MOST) return "magnitudes above 1e15; rescale the file";
  double mean = sum / (double)count;
  for (size_t i = 0; i < count; i++) square += (image[i] - mean) * (image[i] - mean);
  if (!*constant && sqrt(square / (double)count) < 1e-9)
    return "pixels whose deviation is below 1e-9, too small to be normalised; rescale the file";
  return NULL;
}

static void reverse(float *data, size_t count, size_t unit) {
  for (size_t i = 0; i < count / 2; i++)
    for (size_t f = 0; f < unit; f++) {
      float kept = data[i * unit + f];
      data[i * unit + f] = data[(count - 1 - i) * unit + f];
      data[(count - 1 - i) * unit + f] = kept;
    }
}

/* Entry 0 of `count` goes to place count / 2, in rounds. */
static void shift(float *data, size_t count, size_t unit) {
  size_t by = count / 2;
  reverse(data, count, unit);
  reverse(data, by, unit);
  reverse(data + by * unit, count - by, unit);
}

static void turn_phase(float *sample, double angle) {
  double real = sample[0], imaginary = sample[1], c = cos(angle), s = sin(angle);
  sample[0] = (float)(real * c - imaginary * s);
  sample[1] = (float)(real * s + imaginary * c);
}

/* A shift of the image by minus half its size is a phase along its k-space, 0 at the zero frequency: what was
 * transformed with index 0 for its middle, as by numpy.fft.fft2 without ifftshift, comes to lie as it was. */
static double phase_of(bool turned, size_t place, size_t size) {
  size_t half = size / 2;
  return turned ? 2 * M_PI * ((double)place - (double)half) * (double)half / (double)size : 0;
}

static void shift_image(const struct volume *volume, float *kspace) {
  if (!volume->turn_rows && !volume->turn_columns) return;
  for (size_t line = 0; line < volume->coils * volume->height; line++) {
    double row = phase_of(volume->turn_rows, line % volume->height, volume->height);
    for (size_t x = 0; x < volume->width; x++)
      turn_phase(kspace + 2 * (line * volume->width + x),
                 row + phase_of(volume->turn_columns, x, volume->width));
  }
}

static void shift_kspace(const struct volume *volume, float *kspace) {
  size_t line = 2 * volume->width;
  for (size_t y = 0; volume->shift_columns && y < volume->coils * volume->height; y++)
    shift(kspace + y * line, volume->width, 2);
  for (size_t c = 0; volume->shift_rows && c < volume->coils; c++)
    shift(kspace + c * volume->height * line, volume->height, line);
}

static void move_centres(const struct volume *volume, float *kspace) {
  if (!volume->from_kspace) return;
  shift_kspace(volume, kspace);
  shift_image(volume, kspace);
}

bool volume_read(void *file, const struct volume *volume, size_t slice, float *to, struct error *error) {
  if (!volume->format->read(file, volume, slice, to, error)) return false;
  move_centres(volume, to);
  return true;
}

long volume_place(size_t i, size_t size, size_t pad, size_t n) {
  long before = size < pad ? (long)((pad - size + 1) / 2) : 0;
  long padded = size < pad ? (long)pad : (long)size;
  long place = (long)i + (padded - (long)n) / 2 - before;
  return place >= 0 && place < (long)size ? place : -1;
}

long volume_place_in(size_t i, size_t full, size_t size, size_t pad, size_t n) {
  long place = volume_place(i, size, pad, n);
  return place < 0 ? place : place + (long)((full - size) / 2);
}

void volume_crop(const float *image, size_t height, size_t width, size_t pad, const struct scan_shape *shape,
                 float *to) {
  for (size_t y = 0; y < shape->height; y++) {
    long from_y = volume_place(y, height, pad, shape->height);
    for (size_t x = 0; x < shape->width; x++) {
      long from_x = volume_place(x, width, pad, shape->width);
      to[y * shape->width + x] =
          from_y < 0 || from_x < 0 ? 0 : image[(size_t)from_y * width + (size_t)from_x];
    }
  }
}

/* The part of source pixel `from` that lies in pixel `to`, of `size` pixels in `n`. */
static double overlap(size_t from, size_t to, size_t size, size_t n) {
  double low = (double)to * (double)size / (double)n, high = (double)(to + 1) * (double)size / (double)n;
  return fmin((double)from + 1, high) - fmax((double)from, low);
}

static float mean_below(const float *image, size_t height, size_t width, size_t y, size_t x, const struct scan_shape *shape) {
  size_t top = y * height / shape->height, left = x * width / shape->width;
  double sum = 0, all = 0;
  for (size_t i = top; i < height && overlap(i, y, height, shape->height) > 0; i++)
    for (size_t k = left; k < width && overlap(k, x, width, shape->width) > 0; k++) {
      double part = overlap(i, y, height, shape->height) * overlap(k, x, width, shape->width);
      sum += part * image[i * width + k];
      all += part;
    }
  return (float)(sum / all);
}

void volume_fit(const float *image, size_t height, size_t width, const struct options *options, float *to) {
  const struct scan_shape shape = scan_shape_of(options);
  if (options->data.fit == FIT_CROP) {
    volume_crop(image, height, width, options->data.pad, &shape, to);
    return;
  }
  for (size_t i = 0; i < scan_shape_pixels(&shape); i++)
    to[i] = mean_below(image, height, width, i / shape.width, i % shape.width, &shape);
}

void volume_crop_kspace(const struct volume *volume, const float *kspace, float *to) {
  size_t h = volume->kspace_height, w = volume->kspace_width, top = volume->height / 2 - h / 2,
         left = volume->width / 2 - w / 2;
  for (size_t line = 0; line < volume->coils * h; line++) {
    size_t from = (line / h * volume->height + top + line % h) * volume->width + left;
    memcpy(to + 2 * line * w, kspace + 2 * from, sizeof(float) * 2 * w);
  }
}
