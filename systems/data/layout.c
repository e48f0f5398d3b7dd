#include "systems/data/layout.h"

#include "engine/files/magic.h"

#include <stdlib.h>
#include <string.h>

enum { FAR = 1 << 20 /* of a step of the phase encoding */, HEADER = 1 << 20, FEW = 64 /* coils, or slices of a volume */ };

/* What follows the tag in a group of the header's `space`; "": it is not there. */
static const char *field_of(const char *header, const char *space, const char *group, const char *tag) {
  const char *place = strstr(header, space), *start = place ? strstr(place, group) : NULL;
  const char *field = start ? strstr(start, tag) : NULL;
  return field ? field + strlen(tag) : "";
}

/* A whole number of the matrixSize. */
static size_t size_of(const char *header, const char *space, const char *tag) {
  long value = strtol(field_of(header, space, "<matrixSize>", tag), NULL, 10);
  return value > 0 ? (size_t)value : 0;
}

static double view_of(const char *header, const char *space) {
  double value = strtod(field_of(header, space, "<fieldOfView_mm>", "<x>"), NULL);
  return value > 0 ? value : 0;
}

/* A whole number of the phase encoding's limits; false: none. */
static bool limit_of(const char *header, const char *tag, size_t *value) {
  static const char step[] = "<kspace_encoding_step_1>", end[] = "</kspace_encoding_step_1>";
  const char *place = strstr(header, step), *stop = place ? strstr(place, end) : NULL;
  const char *field = stop ? strstr(place, tag) : NULL;
  if (!field || field > stop) return false;
  char *rest;
  long number = strtol(field + strlen(tag), &rest, 10);
  *value = number > 0 ? (size_t)number : 0;
  return *rest == '<' && number >= 0 && number <= FAR;
}

bool layout_padding(const struct layout_header *header, size_t width, size_t *left, size_t *right) {
  size_t middle = width / 2, count = header->last + 1;
  if (!header->limits || header->encoded_y != width || header->centre > middle ||
      middle - header->centre + count > width)
    return false;
  *left = middle - header->centre;
  *right = width - *left - count;
  return true;
}

struct layout_header layout_header_of(const char *text) {
  static const char encoded[] = "<encodedSpace>", recon[] = "<reconSpace>";
  struct layout_header sizes = {.encoded_x = size_of(text, encoded, "<x>"),
                                .encoded_y = size_of(text, encoded, "<y>"),
                                .encoded_z = size_of(text, encoded, "<z>"),
                                .recon_x = size_of(text, recon, "<x>"),
                                .recon_y = size_of(text, recon, "<y>"),
                                .encoded_view = view_of(text, encoded),
                                .recon_view = view_of(text, recon)};
  sizes.limits = limit_of(text, "<center>", &sizes.centre) && limit_of(text, "<maximum>", &sizes.last);
  return sizes;
}

const char *layout_header_text(struct arena *arena, const struct layout_sizes *sizes) {
  const char *limits = sizes->limits ? arena_text(arena,
                                                  "<encodingLimits><kspace_encoding_step_1><minimum>0</minimum><maximum>%zu</maximum>"
                                                  "<center>%zu</center></kspace_encoding_step_1></encodingLimits>",
                                                  sizes->last, sizes->centre)
                                     : "<encodingLimits/>";
  return arena_text(arena,
                    "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n"
                    "<ismrmrdHeader xmlns=\"http://www.ismrm.org/ISMRMRD\"><acquisitionSystemInformation>"
                    "<receiverChannels>%zu</receiverChannels></acquisitionSystemInformation><encoding>"
                    "<encodedSpace><matrixSize><x>%zu</x><y>%zu</y><z>1</z></matrixSize></encodedSpace>"
                    "<reconSpace><matrixSize><x>%zu</x><y>%zu</y><z>1</z></matrixSize></reconSpace>"
                    "%s<trajectory>cartesian</trajectory></encoding></ismrmrdHeader>\n",
                    sizes->coils, sizes->rows, sizes->columns, sizes->image_rows, sizes->image_columns, limits);
}

bool layout_word(const char *header, const char *tag, char *text, size_t size) {
  const char *place = strstr(header, tag);
  if (!place) return false;
  place += strlen(tag);
  size_t length = strcspn(place, "<");
  snprintf(text, size, "%.*s", (int)(length < size ? length : size - 1), place);
  return *text != 0;
}

struct layout_header layout_header(struct store *store) {
  struct layout_header sizes = {0};
  struct arena *arena = arena_open();
  char *text = arena_new(arena, HEADER);
  if (store_text(store, "ismrmrd_header", text, HEADER)) sizes = layout_header_of(text);
  arena_close(arena);
  return sizes;
}

/* ---- axes ---------------------------------------------------------------------------------------------- */

static size_t smaller(size_t a, size_t b) {
  return a < b ? a : b;
}

/* "numpy.moveaxis(x, -1, 1)" and what seems to be where, or NULL: nothing is wrong. `readout`: the header's.
 */
static const char *guess_axes(const struct store_shape *shape, bool kspace, size_t readout) {
  const size_t *size = shape->size;
  int last = shape->rank - 1;
  if (shape->rank > 3 && !shape->complex && kspace && size[last] == 2)
    return "real and imaginary parts seem to come last; write it as x[..., 0] + 1j * x[..., 1]";
  if (shape->rank == 4 && kspace) {
    bool turned = readout && size[1] == readout && size[2] != readout;
    if (size[3] <= smaller(size[1], size[2]) / 2 || (size[1] == size[2] && size[3] < size[2]) ||
        (turned && size[3] < size[2]))
      return "the coils seem to come last; write it as numpy.moveaxis(x, -1, 1)";
    if (size[2] <= smaller(size[1], size[3]) / 2 || (turned && size[2] < size[3]))
      return "the coils seem to be the third axis; write it as numpy.moveaxis(x, 2, 1)";
  }
  if (shape->rank == 3 && size[2] <= smaller(size[0], size[1]) / 2 && (size[0] == size[1] || size[2] < FEW))
    return "the slices seem to come last; write it as numpy.moveaxis(x, -1, 0)";
  return NULL;
}

bool layout_check(const struct layout_header *header, const char *path, const char *key, bool kspace,
                  const struct store_shape *shape, struct error *error) {
  const char *guess = guess_axes(shape, kspace, shape->rank == 4 ? header->encoded_x : 0);
  bool good = shape->rank == 3 || (shape->rank == 4 && kspace);
  if (good && !guess) return true;
  char text[STORE_RANK * 24] = "";
  size_t used = 0;
  for (int i = 0; i < shape->rank; i++)
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%zu", i ? ", " : "", shape->size[i]);
  const char *coils = kspace ? " or [slices, coils, height, width]" : "";
  if (!guess)
    return fail_file(error, "%s in %s has rank %d; it must be [slices, height, width]%s, and is [%s]", key,
                     path, shape->rank, coils, text);
  return fail_file(error, "%s in %s is [%s]; it must be [slices, height, width]%s: %s", key, path, text,
                   coils, guess);
}

bool layout_is_turned(const struct layout_header *header, size_t height, size_t width) {
  size_t x = header->encoded_x, y = header->encoded_y;
  return height != width && x != y && width == x && height != x;
}

/* ---- datasets ------------------------------------------------------------------------------------------ */

struct found {
  char text[256];
  size_t count;
};

static void see_dataset(const char *name, void *context) {
  struct found *found = context;
  size_t used = strlen(found->text), length = strlen(name);
  enum { SHOWN = 4 };
  if (found->count++ < SHOWN && used + length + 3 < sizeof found->text)
    snprintf(found->text + used, sizeof found->text - used, "%s%s", used ? ", " : "", name);
}

/* One that was not asked for. */
static bool has_other(struct store *store, const char *wanted) {
  static const char *const keys[] = {"reconstruction_esc", "reconstruction_rss", "kspace"};
  for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
    if (!strstr(wanted, keys[k]) && store_has(store, keys[k])) return true;
  return false;
}

bool layout_refuse(struct store *store, const char *path, const char *wanted, struct error *error) {
  struct found found = {.text = ""};
  struct error ignored;
  const struct magic *magic = magic_of(path);
  bool matlab = magic && magic->kind == MAGIC_MATLAB_73;
  store_list(store, see_dataset, &found, &ignored);
  const char *kind =
      has_other(store, wanted) ? "; set data.source to auto, which takes what is there"
      : matlab ? "; it is a MATLAB 7.3 file: rename it to NAME.mat, and make a volume of it by `l2sr import`"
               : "";
  return fail_file(error, "%s has no dataset %s; its images cannot be found: it holds %s%s%s", path, wanted,
                   found.count ? found.text : "none", found.count > 4 ? ", ..." : "", kind);
}
