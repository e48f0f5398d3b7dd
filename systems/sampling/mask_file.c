#include "systems/sampling/mask_file.h"

#include "engine/files/magic.h"
#include "engine/files/part.h"
#include "engine/files/store.h"
#include "systems/sampling/geometry.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MASK_MOST = 1 << 20 }; /* entries, so that a mask of another size is told from a broken file */

struct reading {
  const char *path;
  const struct acquisition *acquisition; /* NULL: any number of values */
  uint8_t *value; /* [MASK_MOST] */
  size_t count;   /* of the file; what is beyond MASK_MOST is not kept */
};

static void add(struct reading *reading, bool one) {
  if (reading->count < MASK_MOST) reading->value[reading->count] = one;
  reading->count++;
}

static bool refuse(const struct reading *reading, const char *found, struct error *error) {
  if (!reading->acquisition) return fail_file(error, "the mask %s holds %s; it must hold values 0 or 1", reading->path, found);
  return fail_file(error, "sampler.mask %s holds %s; it must hold %u values 0 or 1", reading->path, found,
                   reading->acquisition->shape.actions);
}

/* ---- texts --------------------------------------------------------------------------------------------- */

enum { WORD = 64 };

struct word {
  char text[WORD];
  size_t length;
  bool digits; /* only 0s and 1s so far, each of which is a value */
};

static bool refuse_word(const struct reading *reading, const struct word *word, struct error *error) {
  char found[WORD + 2];
  size_t good = strspn(word->text, "01"), all = strspn(word->text, "0123456789");
  if (all == word->length && good < all)
    snprintf(found, sizeof found, "'%c'", word->text[good]);
  else
    snprintf(found, sizeof found, "'%s'", word->text);
  return refuse(reading, found, error);
}

static bool end_word(struct reading *reading, struct word *word, struct error *error) {
  char *end = word->text;
  bool one = !strcmp(word->text, "True"), good = word->digits || one || !strcmp(word->text, "False");
  if (!good) {
    double value = strtod(word->text, &end);
    one = value == 1;
    good = !*end && (value == 0 || one);
  }
  if (!good) return refuse_word(reading, word, error);
  if (!word->digits) add(reading, one);
  *word = (struct word){.digits = true};
  return true;
}

/* Digits were taken for values as they came: they are not where more follows, as in 1.0. */
static bool add_character(struct reading *reading, struct word *word, int c, struct error *error) {
  bool digit = c == '0' || c == '1', longer = word->length == WORD - 1;
  if (word->digits && !digit) reading->count -= word->length;
  if (longer && word->digits && !digit) { /* what was good is not to blame */
    word->text[0] = (char)c;
    word->text[word->length = 1] = 0;
  }
  if (longer && !(word->digits && digit)) return refuse_word(reading, word, error);
  word->digits &= digit;
  if (!longer) word->text[word->length++] = (char)c;
  if (word->digits) add(reading, c == '1');
  return true;
}

static const unsigned char utf8_mark[] = {0xef, 0xbb, 0xbf};

static bool read_words(struct reading *reading, FILE *file, struct error *error) {
  struct word word = {.digits = true};
  bool comment = false;
  size_t mark = 0, all = sizeof utf8_mark;
  for (int c; (c = fgetc(file)) != EOF;) {
    if (mark < all && c == utf8_mark[mark]) { /* editors put it before UTF-8 */
      mark++;
      continue;
    }
    mark = all;
    comment = c != '\n' && (comment || c == '#');
    bool between = comment || isspace(c) || c == ',' || c == ';';
    if (!between && !add_character(reading, &word, c, error)) return false;
    if (between && word.length && !end_word(reading, &word, error)) return false;
  }
  if (ferror(file))
    return fail_file(error, "cannot read sampler.mask %s: %s", reading->path, strerror(errno));
  return !word.length || end_word(reading, &word, error);
}

static bool read_text(struct reading *reading, struct error *error) {
  FILE *file = file_read_given(reading->path, error);
  if (!file) return fail_in(error, "sampler.mask");
  const struct magic *magic = reading->acquisition ? magic_of(reading->path) : NULL;
  bool good = magic ? fail_file(error,
                                "sampler.mask %s is %s; write its %u values 0 or 1 as text, as "
                                "numpy.savetxt(\"mask.txt\", mask) does",
                                reading->path, magic->name, reading->acquisition->shape.actions)
                    : read_words(reading, file, error);
  fclose(file);
  return good;
}

/* ---- HDF5 ---------------------------------------------------------------------------------------------- */

/* A learned mask names its geometry; other masks are of whatever is scanned. */
static bool check_geometry(struct store *store, const struct reading *reading, struct error *error) {
  const char *wanted = geometry_of(reading->acquisition)->name;
  char geometry[32];
  if (!store_text(store, "scan_geometry", geometry, sizeof geometry) || !strcmp(geometry, wanted))
    return true;
  return fail(error, "sampler.mask %s is of %s and acquisition.geometry is %s; name a mask of these",
              reading->path, geometry, wanted);
}

/* Truth values, as h5py writes numpy's, are no numbers to HDF5. */
static bool read_values(struct store *store, struct reading *reading, struct arena *arena,
                        struct error *error) {
  void *data;
  struct error first;
  char text[40];
  size_t count;
  if (!store_read_all(store, "mask", STORE_F64, MASK_MOST, arena, &data, &count, error)) {
    first = *error;
    bool good = store_read_all(store, "mask", STORE_U8, MASK_MOST, arena, &data, &count, error);
    for (size_t i = 0; good && i < count; i++) add(reading, ((const uint8_t *)data)[i] != 0);
    if (!good) *error = first;
    return good;
  }
  for (size_t i = 0; i < count; i++) {
    double value = ((const double *)data)[i];
    snprintf(text, sizeof text, "%g", value);
    if (value != 0 && value != 1) return refuse(reading, text, error);
    add(reading, value == 1);
  }
  return true;
}

static bool read_stored(struct reading *reading, struct error *error) {
  struct store *store;
  if (!store_open(&store, reading->path, error)) return false;
  struct arena *arena = arena_open();
  bool good =
      store_has(store, "mask")
          ? check_geometry(store, reading, error)
          : fail_file(error,
                      "sampler.mask %s has no dataset mask; name a checkpoint of train.method loupe, or %u "
                      "values 0 or 1 as text",
                      reading->path, reading->acquisition->shape.actions);
  good = good && read_values(store, reading, arena, error);
  arena_close(arena);
  store_close(store);
  return good;
}

/* ---- any file ------------------------------------------------------------------------------------------ */

/* All samples of a mask of columns, of which each row says the same. */
static bool take_row(struct reading *reading, struct error *error) {
  const struct scan_shape *shape = &reading->acquisition->shape;
  size_t width = shape->width;
  if (!geometry_of(reading->acquisition)->columns || reading->count != scan_shape_pixels(shape)) return true;
  for (size_t row = 1; row < shape->height; row++)
    if (memcmp(reading->value, reading->value + row * width, width) != 0)
      return fail_file(
          error,
          "sampler.mask %s holds %u x %zu values, and its rows differ; whole columns are acquired: give "
          "one row of %zu values, or set acquisition.geometry to points",
          reading->path, shape->height, width, width);
  reading->count = width;
  return true;
}

bool mask_file_read(const char *path, const struct acquisition *acquisition, uint8_t *mask,
                    struct error *error) {
  size_t length = strlen(path), actions = acquisition->shape.actions;
  char size[SCAN_SHAPE_TEXT];
  struct arena *arena = arena_open();
  struct reading reading = {path, acquisition, arena_new(arena, MASK_MOST), 0};
  bool stored = length > 3 && !strcmp(path + length - 3, ".h5");
  bool good = (stored ? read_stored : read_text)(&reading, error) && take_row(&reading, error);
  if (good && reading.count != actions)
    good = fail_file(error, "sampler.mask %s holds %zu values; %zu are expected at data.size %s", path,
                     reading.count, actions, scan_shape_text(&acquisition->shape, size));
  if (good) memcpy(mask, reading.value, actions);
  arena_close(arena);
  return good;
}

bool mask_file_count(const char *path, uint8_t *mask, size_t most, size_t *count, struct error *error) {
  struct arena *arena = arena_open();
  struct reading reading = {path, NULL, arena_new(arena, MASK_MOST), 0};
  bool good = read_text(&reading, error);
  if (good && (reading.count < 2 || reading.count > most))
    good = fail_file(error, "the mask %s holds %zu values; 2 to %zu columns are expected", path, reading.count, most);
  if (good) memcpy(mask, reading.value, *count = reading.count);
  arena_close(arena);
  return good;
}
