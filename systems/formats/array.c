#include "systems/formats/array.h"

#include "engine/base/half.h"
#include "systems/formats/fourier.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const array_type_names[ARRAY_TYPES] = {"int8",    "uint8",     "int16",     "uint16",  "int32",
                                                   "uint32",  "int64",     "uint64",    "float16", "float32",
                                                   "float64", "complex64", "complex128"};

size_t array_type_bytes(enum array_type type) {
  static const size_t bytes[ARRAY_TYPES] = {1, 1, 2, 2, 4, 4, 8, 8, 2, 4, 8, 8, 16};
  return bytes[type];
}

static bool is_complex(const struct array *array) {
  return array->type >= ARRAY_C64;
}

size_t array_count(const struct array *array) {
  size_t count = 1;
  for (int i = 0; i < array->rank; i++)
    if (__builtin_mul_overflow(count, array->size[i], &count)) return SIZE_MAX;
  return count;
}

/* ---- the file ------------------------------------------------------------------------------------------ */

bool array_open_file(struct array *array, const char *path, struct error *error) {
  struct stat status;
  array->path = path;
  array->file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (array->file < 0) return fail_file(error, "cannot open %s: %s", path, strerror(errno));
  if (fstat(array->file, &status) == 0 && S_ISREG(status.st_mode)) return true;
  return fail_file(error, "%s is no file; give the file itself", path);
}

bool array_check_held(const struct array *array, struct error *error) {
  size_t count = array_count(array), bytes;
  struct stat status;
  if (!count) return fail_file(error, "%s holds an array of no numbers; write it again", array->path);
  bool countable = count != SIZE_MAX && !__builtin_mul_overflow(count, array_type_bytes(array->type), &bytes);
  if (countable && fstat(array->file, &status) == 0 && status.st_size >= array->start &&
      (size_t)(status.st_size - array->start) >= bytes)
    return true;
  return fail_file(error,
                   "%s is shorter than its header says; it is damaged or was cut: fetch or write it again",
                   array->path);
}

static bool read_at(const struct array *array, void *to, size_t bytes, size_t number, struct error *error) {
  off_t place = array->start + (off_t)(number * array_type_bytes(array->type));
  for (char *at = to; bytes;) {
    ssize_t got = pread(array->file, at, bytes, place);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_file(error, "cannot read %s: %s", array->path, strerror(errno));
    if (!got) return fail_file(error, "%s became shorter while it was read", array->path);
    at += got;
    place += got;
    bytes -= (size_t)got;
  }
  return true;
}

/* ---- numbers ------------------------------------------------------------------------------------------- */

static double number_of(const unsigned char *at, enum array_type type, bool swapped) {
  size_t bytes = array_type_bytes(type);
  union {
    unsigned char byte[8];
    int8_t i8;
    uint8_t u8;
    int16_t i16;
    uint16_t u16;
    int32_t i32;
    uint32_t u32;
    int64_t i64;
    uint64_t u64;
    float f32;
    double f64;
  } value = {.u64 = 0};
  for (size_t i = 0; i < bytes; i++) value.byte[i] = at[swapped ? bytes - 1 - i : i];
  switch (type) {
  case ARRAY_I8: return value.i8;
  case ARRAY_U8: return value.u8;
  case ARRAY_I16: return value.i16;
  case ARRAY_U16: return value.u16;
  case ARRAY_I32: return value.i32;
  case ARRAY_U32: return value.u32;
  case ARRAY_I64: return (double)value.i64;
  case ARRAY_U64: return (double)value.u64;
  case ARRAY_F16: return half_to_float(value.u16);
  case ARRAY_F32: return value.f32;
  default: return value.f64;
  }
}

static bool round_to(float *to, double value) {
  *to = (float)value;
  return isfinite(*to) || !isfinite(value);
}

bool array_pair(enum array_type type, bool swapped, const void *at, float to[2]) {
  enum array_type part = type == ARRAY_C64 ? ARRAY_F32 : type == ARRAY_C128 ? ARRAY_F64 : type;
  const unsigned char *behind = (const unsigned char *)at + array_type_bytes(part);
  bool real = round_to(&to[0], number_of(at, part, swapped));
  return round_to(&to[1], part == type ? 0 : number_of(behind, part, swapped)) && real;
}

bool array_refuse_large(const char *path, struct error *error) {
  return fail_file(error, "%s holds numbers beyond 3.4e38, the largest of float32, in which samples are kept; divide them, and write "
                          "the file again", path);
}

/* ---- planes -------------------------------------------------------------------------------------------- */

struct step {
  size_t count, stride;
};

static size_t stride_of(const struct array *array, int axis) {
  size_t stride = 1;
  if (array->column_major)
    for (int i = 0; i < axis; i++) stride *= array->size[i];
  else
    for (int i = axis + 1; i < array->rank; i++) stride *= array->size[i];
  return stride;
}

/* The step of the one axis with the letter; of none one entry. */
static struct step step_of(const struct array *array, const char *letters, char letter) {
  const char *found = strchr(letters, letter);
  if (!found) return (struct step){1, 0};
  int axis = (int)(found - letters);
  return (struct step){array->size[axis], stride_of(array, axis)};
}

/* Where slice `slice` begins: of several axes of slices the one whose entries lie farthest apart turns
 * slowest. */
static size_t start_of(const struct array *array, const char *letters, size_t slice) {
  size_t start = 0;
  for (int k = 0; k < array->rank; k++) {
    int axis = array->column_major ? k : array->rank - 1 - k;
    if (letters[axis] != 's') continue;
    start += slice % array->size[axis] * stride_of(array, axis);
    slice /= array->size[axis];
  }
  return start;
}

enum { SPAN_MOST = 512 /* bytes between two numbers of a line that is read as one piece */ };

/* Numbers of a line as pairs, `to` every `apart` pairs. */
static bool read_line(const struct array *array, size_t start, struct step line, unsigned char *room,
                      float *to, size_t apart, struct error *error) {
  size_t bytes = array_type_bytes(array->type);
  bool whole = line.stride * bytes <= SPAN_MOST;
  if (whole && !read_at(array, room, ((line.count - 1) * line.stride + 1) * bytes, start, error))
    return false;
  for (size_t i = 0; i < line.count; i++) {
    if (!whole && !read_at(array, room, bytes, start + i * line.stride, error)) return false;
    if (!array_pair(array->type, array->swapped, room + (whole ? i * line.stride * bytes : 0), to + 2 * i * apart))
      return array_refuse_large(array->path, error);
  }
  return true;
}

/* A plane [height][width] of pairs, by lines of the faster axis. */
static bool read_plane(const struct array *array, size_t start, struct step height, struct step width,
                       float *to, struct error *error) {
  bool rows = width.stride <= height.stride;
  struct step line = rows ? width : height, over = rows ? height : width;
  size_t bytes = array_type_bytes(array->type),
         span = line.stride * bytes <= SPAN_MOST ? line.stride * bytes : bytes;
  struct arena *arena = arena_open();
  unsigned char *room = arena_try_array(arena, span, line.count);
  bool good = room || fail_memory(error, "no host memory for a line of %s", array->path);
  for (size_t i = 0; good && i < over.count; i++)
    good = read_line(array, start + i * over.stride, line, room, to + 2 * (rows ? i * width.count : i),
                     rows ? 1 : width.count, error);
  arena_close(arena);
  return good;
}

/* Parts that lie in an axis of their own: the imaginary ones come from the plane beside. */
static bool read_parts(const struct array *array, size_t start, const char *letters, float *to,
                       struct error *error) {
  struct step height = step_of(array, letters, 'h'), width = step_of(array, letters, 'w'),
              part = step_of(array, letters, 'p');
  if (!read_plane(array, start, height, width, to, error)) return false;
  if (part.count < 2) return true;
  size_t count = height.count * width.count;
  struct arena *arena = arena_open();
  float *other = arena_try_array(arena, 2 * sizeof *other, count);
  bool good = other ? read_plane(array, start + part.stride, height, width, other, error)
                    : fail_memory(error, "no host memory for a plane of %s", array->path);
  for (size_t i = 0; good && i < count; i++) to[2 * i + 1] = other[2 * i];
  arena_close(arena);
  return good;
}

/* All coils of a slice, [coils][height][width] pairs. */
static bool read_coils(const struct array *array, const char *letters, size_t slice, float *to,
                       struct error *error) {
  struct step coil = step_of(array, letters, 'c');
  size_t plane = step_of(array, letters, 'h').count * step_of(array, letters, 'w').count;
  for (size_t c = 0; c < coil.count; c++)
    if (!read_parts(array, start_of(array, letters, slice) + c * coil.stride, letters, to + 2 * c * plane,
                    error))
      return false;
  return true;
}

/* ---- slices -------------------------------------------------------------------------------------------- */

/* The magnitude of one image that is real is itself; of others it is the root-sum-of-squares. */
static void combine(const float *pairs, size_t coils, size_t pixels, bool real, double factor, float *to) {
  for (size_t i = 0; i < pixels; i++) {
    double sum = 0;
    for (size_t c = 0; c < coils; c++) {
      const float *pair = pairs + 2 * (c * pixels + i);
      sum += (double)pair[0] * pair[0] + (double)pair[1] * pair[1];
    }
    to[i] = (float)(factor * (real && coils == 1 ? pairs[2 * i] : sqrt(sum)));
  }
}

static bool read_image(const struct array *array, const struct volume *volume, size_t slice, float *to,
                       struct error *error) {
  const char *letters = volume->found.axes;
  size_t coils = step_of(array, letters, 'c').count, pixels = volume->height * volume->width;
  bool real = !is_complex(array) && !strchr(letters, 'p');
  struct arena *arena = arena_open();
  float *pairs = arena_try_array(arena, 2 * sizeof *pairs, coils * pixels);
  bool good = pairs ? read_coils(array, letters, slice, pairs, error)
                    : fail_memory(error, "no host memory for a slice of %s", array->path);
  if (good) combine(pairs, coils, pixels, real, volume->found.factor, to);
  arena_close(arena);
  return good;
}

/* Memory was taken by the sizes that it had then. */
static bool check_unchanged(const struct array *array, const struct volume *volume, struct error *error) {
  const char *letters = volume->found.axes;
  struct axes axes = {.letter = ""};
  snprintf(axes.letter, sizeof axes.letter, "%.16s", letters);
  if ((int)strlen(letters) == array->rank && step_of(array, letters, 'h').count == volume->height &&
      step_of(array, letters, 'w').count == volume->width &&
      (!volume->from_kspace || step_of(array, letters, 'c').count == volume->coils) &&
      axes_count(&axes, array->size, 's') == volume->slices)
    return array_check_held(array, error);
  return fail_file(error, "%s changed since it was looked at: its array has other sizes; start anew",
                   array->path);
}

bool array_read(const struct array *array, const struct volume *volume, size_t slice, float *to,
                struct error *error) {
  if (!check_unchanged(array, volume, error)) return false;
  if (!volume->from_kspace) return read_image(array, volume, slice, to, error);
  size_t plane = volume->height * volume->width;
  if (!read_coils(array, volume->found.axes, slice, to, error)) return false;
  for (size_t c = 0; volume->found.kind == IMPORT_COMPLEX_IMAGE && c < volume->coils; c++)
    if (!fourier_plane(to + 2 * c * plane, volume->height, volume->width, false, error)) return false;
  for (size_t i = 0; i < 2 * volume->coils * plane; i++) to[i] = (float)(to[i] * volume->found.factor);
  return true;
}

/* ---- what it is ---------------------------------------------------------------------------------------- */

/* BART's sixteen axes are mostly of one entry: those behind the last other one are not shown. */
static int shown_rank(const struct array *array) {
  int rank = array->rank;
  while (rank > 2 && array->size[rank - 1] == 1) rank--;
  return rank;
}

static void shape_text(const struct array *array, char *text, size_t size) {
  size_t used = 0;
  for (int i = 0; i < shown_rank(array) && used < size; i++)
    used += (size_t)snprintf(text + used, size - used, "%s%zu", i ? ", " : "", array->size[i]);
}

/* The share of the energy within an eighth of each side from the place of the zero frequency: in the middle
 * or in the corner. Of k-space most is there, of an image about a sixteenth. */
static double centre_share(const float *pairs, size_t height, size_t width, bool corner) {
  double all = 0, centre = 0;
  for (size_t y = 0; y < height; y++)
    for (size_t x = 0; x < width; x++) {
      const float *pair = pairs + 2 * (y * width + x);
      double energy = (double)pair[0] * pair[0] + (double)pair[1] * pair[1];
      size_t from_y = y < height / 2 ? height / 2 - y : y - height / 2,
             from_x = x < width / 2 ? width / 2 - x : x - width / 2;
      bool in = corner ? 8 * from_y >= 3 * height && 8 * from_x >= 3 * width
                       : 8 * from_y <= height && 8 * from_x <= width;
      all += energy;
      centre += in ? energy : 0;
    }
  return all > 0 ? centre / all : 0;
}

/* Of complex numbers: by the middle slice's first coil. *sure: there is no doubt. */
static bool guess_kind(const struct array *array, struct volume *volume, bool *sure, struct error *error) {
  const char *letters = volume->found.axes;
  struct arena *arena = arena_open();
  struct step height = step_of(array, letters, 'h'), width = step_of(array, letters, 'w');
  float *pairs = arena_try_array(arena, 2 * sizeof *pairs, height.count * width.count);
  bool good = pairs ? read_parts(array, start_of(array, letters, volume->slices / 2), letters, pairs, error)
                    : fail_memory(error, "no host memory for a slice of %s", array->path);
  double share = good ? fmax(centre_share(pairs, height.count, width.count, false),
                             centre_share(pairs, height.count, width.count, true))
                      : 0;
  volume->found.kind = share > 0.4 ? IMPORT_KSPACE : IMPORT_IMAGE;
  *sure = share > 0.6 || share < 0.3;
  arena_close(arena);
  return good;
}

static const char *const kinds[] = {"auto", "image", "kspace", "complex_image"};

static bool refuse_doubt(const struct array *array, const struct volume *volume, struct error *error) {
  char shape[AXES_MOST * 22], axes[2 * AXES_MOST + 1];
  struct axes found = {.letter = ""};
  snprintf(found.letter, sizeof found.letter, "%.*s", shown_rank(array), volume->found.axes);
  shape_text(array, shape, sizeof shape);
  axes_text(&found, axes);
  return fail_file(
      error,
      "%s is an array [%s] of %s, which may be read in several ways; make a volume of it by `l2sr import %s "
      "--axes %s --kind %s --output FOLDER`, with the letters and the kind that are right (s slices, c "
      "coils, "
      "h height, w width; image, kspace, complex_image)",
      array->path, shape, array_type_names[array->type], array->path, axes, kinds[volume->found.kind]);
}

/* Formats without an axis of coils call it a second one of slices. */
static bool hides_coils(const struct array *array, const struct axes *axes) {
  const char *slices = strchr(axes->letter, 's');
  return is_complex(array) && slices && strchr(slices + 1, 's') && !strchr(axes->letter, 'c');
}

/* Which axes, and which kind. */
static bool find(const struct array *array, struct volume *volume, bool *sure, struct error *error) {
  struct axes axes = array->told;
  const struct volume_choice *choice = &volume->choice;
  volume->found = *choice;
  if (*choice->axes) {
    if (!axes_parse(choice->axes, array->rank, array->size, is_complex(array), &axes, error))
      return fail_in(error, "%s", array->path);
  } else if (!axes.letter[0]) {
    axes = axes_guess(array->rank, array->size, is_complex(array), array->height_first);
  } else if (hides_coils(array, &axes)) {
    axes.sure = false;
  }
  if (!strchr(axes.letter, 'h'))
    return fail_file(
        error, "%s is an array of %d axes, of which fewer than two have several entries; it is no image",
        array->path, array->rank);
  snprintf(volume->found.axes, sizeof volume->found.axes, "%s", axes.letter);
  volume->slices = axes_count(&axes, array->size, 's');
  *sure = axes.sure;
  bool complex = is_complex(array) || strchr(axes.letter, 'p');
  if (choice->kind > IMPORT_IMAGE && !complex)
    return fail_file(error,
                     "%s holds real numbers (%s), and import.kind %s takes complex ones; where real and "
                     "imaginary parts are an axis, say p in import.axes",
                     array->path, array_type_names[array->type], kinds[choice->kind]);
  bool known = true;
  if (choice->kind == IMPORT_AUTO && !complex) volume->found.kind = IMPORT_IMAGE;
  if (choice->kind == IMPORT_AUTO && complex && !guess_kind(array, volume, &known, error)) return false;
  *sure &= known;
  return true;
}

/* Planes that axes of "0" leave out, and bytes behind the last number. */
static void left_text(const struct array *array, const char *letters, char *text, size_t size) {
  size_t planes = 1, used = 0, bytes = array_count(array) * array_type_bytes(array->type);
  struct stat status;
  for (int i = 0; letters[i]; i++)
    if (letters[i] == '0') planes *= array->size[i];
  text[0] = 0;
  if (planes > 1) used = (size_t)snprintf(text, size, "; of %zu entries of the axes 0 only the first", planes);
  if (fstat(array->file, &status) == 0 && (size_t)(status.st_size - array->start) > bytes)
    snprintf(text + used, size - used, "; %zu bytes behind the array are not read",
             (size_t)(status.st_size - array->start) - bytes);
}

static void tell_layout(const struct array *array, struct volume *volume, bool sure) {
  char shape[AXES_MOST * 22], axes[2 * AXES_MOST + 1], left[128];
  struct axes found = {.letter = ""};
  snprintf(found.letter, sizeof found.letter, "%.*s", shown_rank(array), volume->found.axes);
  shape_text(array, shape, sizeof shape);
  axes_text(&found, axes);
  left_text(array, found.letter, left, sizeof left);
  snprintf(volume->layout, sizeof volume->layout, "[%.120s] %s as %s, %s%s%s", shape,
           array_type_names[array->type], axes, kinds[volume->found.kind], sure ? "" : " (a guess)", left);
}

/* Coils of images are combined as they are read. */
bool array_describe(const struct array *array, struct volume *volume, const struct options *options,
                    struct error *error) {
  bool sure = false, kspace = options->data.kspace == KSPACE_MEASURED || options->data.crop != CROP_IMAGE ||
                              options->data.source == SOURCE_KSPACE;
  if (!array_check_held(array, error) || !find(array, volume, &sure, error)) return false;
  volume->ambiguous = !sure && !volume->guesses;
  if (volume->ambiguous) return refuse_doubt(array, volume, error);
  volume->from_kspace = volume->found.kind != IMPORT_IMAGE;
  snprintf(volume->key, sizeof volume->key, "%s", volume->from_kspace ? "kspace" : "images");
  volume->height = volume->said_height = step_of(array, volume->found.axes, 'h').count;
  volume->width = volume->said_width = step_of(array, volume->found.axes, 'w').count;
  volume->coils = volume->from_kspace ? step_of(array, volume->found.axes, 'c').count : 1;
  volume->guessed = !sure;
  tell_layout(array, volume, sure);
  if (!kspace || volume->from_kspace) return true;
  return fail_file(error,
                   "%s holds images, and the scene asks for k-space; complex images become k-space by `l2sr "
                   "import %s --kind complex_image --output FOLDER`",
                   array->path, array->path);
}

/* ---- for rows ------------------------------------------------------------------------------------------ */

bool array_file_open(void **file, const struct volume *volume, array_opener *open, struct error *error) {
  struct arena *arena = arena_open();
  struct array_file *of = ARENA_NEW(arena, struct array_file, 1);
  of->arena = arena;
  of->array.file = -1;
  if (open(&of->array, volume, error)) {
    of->array.path = arena_text(arena, "%s", volume->path);
    *file = of;
    return true;
  }
  array_file_close(of);
  return false;
}

void array_file_close(void *file) {
  struct array_file *of = file;
  if (of->array.file >= 0) close(of->array.file);
  arena_close(of->arena);
}

bool array_file_describe(void *file, struct volume *volume, const struct options *options,
                         struct error *error) {
  const struct array_file *of = file;
  return array_describe(&of->array, volume, options, error);
}

bool array_file_read(void *file, const struct volume *volume, size_t slice, float *to, struct error *error) {
  const struct array_file *of = file;
  return array_read(&of->array, volume, slice, to, error);
}
