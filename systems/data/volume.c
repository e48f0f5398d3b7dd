#include "systems/data/volume.h"

#include "engine/device/program.h"
#include "systems/data/foreign.h"
#include "systems/data/layout.h"
#include "systems/data/sampled.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool choose_key(struct store *store, struct volume *volume, uint32_t source, struct error *error) {
  static const char *const keys[] = {"reconstruction_esc", "reconstruction_rss", "kspace"};
  for (uint32_t k = 0; k < 3; k++)
    if ((source == SOURCE_AUTO || source == k + 1) && store_has(store, keys[k])) {
      snprintf(volume->key, sizeof volume->key, "%s", keys[k]);
      volume->from_kspace = k == 2;
      break;
    }
  if (!volume->key[0])
    return layout_refuse(
        store, volume->path,
        source == SOURCE_AUTO ? "reconstruction_esc, reconstruction_rss or kspace" : keys[source - 1], error);
  return true;
}

static bool read_shape(struct store *store, struct volume *volume, const struct layout_header *header,
                       struct error *error) {
  struct store_shape shape;
  if (!store_shape(store, volume->key, &shape, error)) return false;
  bool coils = volume->from_kspace && shape.rank == 4;
  if (!layout_check(header, volume->path, volume->key, volume->from_kspace, &shape, error)) return false;
  if (!shape.complex && !shape.real) {
    char type[256];
    store_type_words(store, volume->key, type, sizeof type);
    return fail_file(error, "%s in %s holds %s; it must hold %s numbers", volume->key, volume->path, type,
                     volume->from_kspace ? "complex" : "real");
  }
  if (shape.complex != volume->from_kspace)
    return fail_file(error, "%s in %s holds %s numbers; it must hold %s ones", volume->key, volume->path,
                     shape.complex ? "complex" : "real", volume->from_kspace ? "complex" : "real");
  volume->slices = shape.size[0];
  volume->coils = coils ? shape.size[1] : 1;
  volume->height = shape.size[shape.rank - 2];
  volume->width = shape.size[shape.rank - 1];
  if (volume->slices && volume->coils && volume->height && volume->width) return true;
  return fail_file(error, "%s in %s has size zero (%zu slices of %zu x %zu)", volume->key, volume->path,
                   volume->slices, volume->height, volume->width);
}

/* Images from k-space are cropped to the header's recon size, or to the smaller side where it says none. */
static void find_image_size(struct volume *volume, const struct layout_header *header) {
  volume->image_height = volume->height;
  volume->image_width = volume->width;
  if (!volume->from_kspace) return;
  size_t side = volume->height < volume->width ? volume->height : volume->width;
  size_t x = header->recon_x, y = header->recon_y;
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
  char or_size[64] = "", size[SCAN_SHAPE_TEXT];
  size_t side = volume_largest_size(volume);
  if (volume_takes_size(side)) snprintf(or_size, sizeof or_size, " or data.size to at most %zu", side);
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

/* An image of a k-space that is cut has its size, and is of the whole field of view. */
static bool cut_kspace(struct volume *volume, const struct options *options, struct error *error) {
  const struct scan_shape shape = scan_shape_of(options);
  if (options->data.crop != CROP_KSPACE) return true;
  volume->small = volume->height < shape.height || volume->width < shape.width;
  if (volume->small) return refuse_kspace(volume, &shape, error);
  volume->kspace_height = volume->image_height = shape.height;
  volume->kspace_width = volume->image_width = shape.width;
  return true;
}

enum { SLICES_MOST = 1 << 20, PATIENT_MOST = 1 << 16 };

/* Sizes that no host can hold come from broken files. The reader keeps a few slices at a time. */
static bool check_memory(const struct volume *volume, struct error *error) {
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

static void select_slices(struct volume *volume, uint32_t rule) {
  volume->slice_first = rule == SLICES_CENTRE ? volume->slices / 4 : 0;
  volume->slice_count = rule == SLICES_CENTRE ? volume->slices * 3 / 4 - volume->slices / 4 : volume->slices;
}

/* Some programs write numbers as text. */
static void read_max(struct store *store, struct volume *volume) {
  char text[64], *end = text;
  volume->has_max = store_number(store, "max", &volume->max);
  if (volume->has_max || !store_word(store, "max", text, sizeof text)) return;
  volume->max = strtod(text, &end);
  volume->has_max = !*end;
}

/* Two long ids may begin alike: what is cut would make one patient of them. */
static void read_patient(struct store *store, struct volume *volume) {
  struct arena *arena = arena_open();
  char *text = arena_new(arena, PATIENT_MOST);
  if (store_word(store, "patient_id", text, PATIENT_MOST)) {
    if (strlen(text) < sizeof volume->patient)
      strcpy(volume->patient, text);
    else
      hash_hex(text, strlen(text), volume->patient);
  }
  arena_close(arena);
}

/* By the scene, once the sizes are known. */
static bool complete(struct volume *volume, const struct options *options, struct error *error) {
  volume->shift_columns = options->data.kspace_shift & SHIFT_COLUMNS;
  volume->shift_rows = options->data.kspace_shift & SHIFT_ROWS;
  volume->turn_columns = options->data.image_shift & SHIFT_COLUMNS;
  volume->turn_rows = options->data.image_shift & SHIFT_ROWS;
  select_slices(volume, options->data.slices);
  return cut_kspace(volume, options, error) && check_size(volume, options, error);
}

/* ---- k-space with a mask beside it ----------------------------------------------------------------------
 */

/* The mask of the file, where it is one of columns or of samples. */
static void read_mask(struct store *store, struct sampled *sampled, struct arena *arena) {
  struct error ignored;
  size_t plane = sampled->height * sampled->width, total;
  void *mask;
  if (!store_read_all(store, "mask", STORE_U8, plane, arena, &mask, &total, &ignored)) return;
  sampled->mask = mask;
  sampled->mask_entries = total;
}

static bool refuse_undersampled(struct store *store, const struct volume *volume, double missing,
                                const char *what, struct error *error) {
  bool other = store_has(store, "reconstruction_esc") || store_has(store, "reconstruction_rss");
  return fail_file(error,
                   "%s is undersampled: %.0f %% of the %s of its kspace are empty, and it has a mask; %s",
                   volume->path, 100 * missing, what,
                   other ? "set data.source to auto to take its reconstruction"
                         : "a test file without target cannot be used");
}

/* A mask may be of a scan that is yet to be made: the first slice from the middle on that holds something
 * tells whether it was. */
static bool check_sampled(struct store *store, const struct volume *volume, struct error *error) {
  if (!volume->from_kspace || !store_has(store, "mask")) return true;
  struct arena *arena = arena_open();
  struct sampled sampled = {.coils = volume->coils, .height = volume->height, .width = volume->width};
  const char *what = "";
  double missing = 0;
  float *slice = arena_try_array(arena, sizeof *slice, volume_slice_floats(volume));
  bool good = slice || fail_memory(error, "no host memory for a slice of %s", volume->path);
  sampled.column = ARENA_NEW(arena, double, volume->width);
  sampled.row = ARENA_NEW(arena, double, volume->height);
  sampled.kspace = slice;
  if (good) read_mask(store, &sampled, arena);
  for (size_t s = volume->slices / 2; good && s < volume->slices; s++) {
    if (!(good = volume_read(store, volume, s, slice, error))) break;
    sampled_sum(&sampled);
    missing = sampled_missing(&sampled, &what);
    if (sampled.zeros < volume->coils * volume->height * volume->width) break;
  }
  if (good && missing) good = refuse_undersampled(store, volume, missing, what, error);
  arena_close(arena);
  return good;
}

/* ---- opening --------------------------------------------------------------------------------------------
 */

static bool describe(struct store *store, struct volume *volume, const struct options *options,
                     struct error *error) {
  bool kspace = options->data.kspace == KSPACE_MEASURED || options->data.crop == CROP_KSPACE;
  uint32_t source = kspace ? SOURCE_KSPACE : options->data.source;
  if (!choose_key(store, volume, source, error)) return false;
  struct layout_header header = {0};
  if (volume->from_kspace) header = layout_header(store);
  if (!read_shape(store, volume, &header, error)) return false;
  if (!check_memory(volume, error) || !store_check_held(store, volume->key, error)) return false;
  find_image_size(volume, &header);
  store_word(store, "acquisition", volume->acquisition, sizeof volume->acquisition);
  read_patient(store, volume);
  read_max(store, volume);
  volume->turned = volume->from_kspace && layout_is_turned(&header, volume->height, volume->width);
  return complete(volume, options, error) && check_sampled(store, volume, error);
}

bool volume_of_memory(struct volume *volume, const struct options *options, struct error *error) {
  const struct layout_header none = {0};
  bool kspace = options->data.kspace == KSPACE_MEASURED || options->data.crop == CROP_KSPACE;
  if (kspace && !volume->from_kspace)
    return fail_usage(error, "%s holds images, and data.kspace or data.crop asks for k-space; give k-space of coils, or "
                             "set both to image",
                      volume->path);
  if (!check_memory(volume, error)) return false;
  find_image_size(volume, &none);
  return complete(volume, options, error);
}

bool volume_open(struct store **store, struct volume *volume, const char *path, const struct options *options,
                 struct error *error) {
  const char *slash = strrchr(path, '/');
  *volume = (struct volume){.path = path, .name = slash ? slash + 1 : path};
  if (!store_open(store, path, error)) {
    volume->written = store_is_written(path);
    return foreign_advise(path, error);
  }
  bool good = describe(*store, volume, options, error);
  if (store_is_sound(*store, error) && good) return true;
  store_close(*store);
  *store = NULL;
  return false;
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
  if (largest > 1e15) return "magnitudes above 1e15; rescale the file";
  double mean = sum / (double)count;
  for (size_t i = 0; i < count; i++) square += (image[i] - mean) * (image[i] - mean);
  if (!*constant && sqrt(square / (double)count) < 1e-9)
    return "pixels whose deviation is below 1e-9, too small to be normalised; rescale the file";
  return NULL;
}

size_t volume_slice_floats(const struct volume *volume) {
  return volume->coils * volume->height * volume->width * (volume->from_kspace ? 2 : 1);
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

/* Doubles below the least float are read as zeros. */
static bool check_vanished(struct store *store, const struct volume *volume, const size_t start[],
                           const size_t count[], const float *data, struct error *error) {
  size_t total = volume->height * volume->width;
  double largest = 0;
  for (size_t i = 0; i < total; i++)
    if (fabsf(data[i]) >= FLT_MIN) return true;
  struct arena *arena = arena_open();
  double *wide = arena_try_array(arena, sizeof *wide, total);
  bool good = wide ? store_read(store, volume->key, STORE_F64, start, count, wide, error)
                   : fail_memory(error, "no host memory for a slice of %s", volume->path);
  for (size_t i = 0; good && i < total; i++) largest = fabs(wide[i]) > largest ? fabs(wide[i]) : largest;
  arena_close(arena);
  if (!good || largest == 0) return good;
  return fail_file(
      error,
      "%s in %s holds numbers of at most %.4g in a slice, which vanish in single precision; rescale the file",
      volume->key, volume->path, largest);
}

static void move_centres(const struct volume *volume, float *kspace) {
  if (!volume->from_kspace) return;
  shift_kspace(volume, kspace);
  shift_image(volume, kspace);
}

static void read_memory(const struct volume *volume, size_t slice, float *to) {
  size_t floats = volume_slice_floats(volume);
  memcpy(to, volume->memory + slice * floats, sizeof *to * floats);
  move_centres(volume, to);
}

bool volume_read(struct store *store, const struct volume *volume, size_t slice, float *to,
                 struct error *error) {
  if (volume->memory) {
    read_memory(volume, slice, to);
    return true;
  }
  size_t start[4] = {slice, 0, 0, 0}, count[4] = {1, volume->height, volume->width, 0};
  struct store_shape shape;
  if (!store_shape(store, volume->key, &shape, error)) return false;
  if (shape.rank == 4) {
    count[1] = volume->coils;
    count[2] = volume->height;
    count[3] = volume->width;
  }
  if (!store_read(store, volume->key, volume->from_kspace ? STORE_C64 : STORE_F32, start, count, to, error))
    return false;
  move_centres(volume, to);
  return volume->from_kspace || check_vanished(store, volume, start, count, to, error);
}

long volume_place(size_t i, size_t size, size_t pad, size_t n) {
  long before = size < pad ? (long)((pad - size + 1) / 2) : 0;
  long padded = size < pad ? (long)pad : (long)size;
  long place = (long)i + (padded - (long)n) / 2 - before;
  return place >= 0 && place < (long)size ? place : -1;
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

void volume_crop_kspace(const struct volume *volume, const float *kspace, float *to) {
  size_t h = volume->kspace_height, w = volume->kspace_width, top = volume->height / 2 - h / 2,
         left = volume->width / 2 - w / 2;
  for (size_t line = 0; line < volume->coils * h; line++) {
    size_t from = (line / h * volume->height + top + line % h) * volume->width + left;
    memcpy(to + 2 * line * w, kspace + 2 * from, sizeof(float) * 2 * w);
  }
}
