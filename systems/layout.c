#include "systems/layout.h"

#include "engine/magic.h"

#include <stdlib.h>
#include <string.h>

enum { HEADER = 1 << 20, FEW = 64 /* coils, or slices of a volume */ };

size_t layout_size(struct store *store, const char *space, const char *tag) {
  struct arena *arena = arena_open();
  char *header = arena_new(arena, HEADER);
  const char *place = store_text(store, "ismrmrd_header", header, HEADER) ? strstr(header, space) : NULL;
  const char *size = place ? strstr(place, "<matrixSize>") : NULL;
  const char *field = size ? strstr(size, tag) : NULL;
  long value = field ? strtol(field + strlen(tag), NULL, 10) : 0;
  arena_close(arena);
  return value > 0 ? (size_t)value : 0;
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

bool layout_check(struct store *store, const struct volume *volume, const struct store_shape *shape,
                  struct error *error) {
  size_t readout = shape->rank == 4 ? layout_size(store, "<encodedSpace>", "<x>") : 0;
  const char *guess = guess_axes(shape, volume->from_kspace, readout);
  bool good = shape->rank == 3 || (shape->rank == 4 && volume->from_kspace);
  if (good && !guess) return true;
  char text[STORE_RANK * 24] = "";
  size_t used = 0;
  for (int i = 0; i < shape->rank; i++)
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%zu", i ? ", " : "", shape->size[i]);
  const char *coils = volume->from_kspace ? " or [slices, coils, height, width]" : "";
  if (!guess)
    return fail(error, "%s in %s has rank %d; it must be [slices, height, width]%s, and is [%s]", volume->key,
                volume->path, shape->rank, coils, text);
  return fail(error, "%s in %s is [%s]; it must be [slices, height, width]%s: %s", volume->key, volume->path,
              text, coils, guess);
}

bool layout_is_turned(struct store *store, const struct volume *volume) {
  if (!volume->from_kspace || volume->height == volume->width) return false;
  size_t x = layout_size(store, "<encodedSpace>", "<x>"), y = layout_size(store, "<encodedSpace>", "<y>");
  return x != y && volume->width == x && volume->height != x;
}

/* ---- datasets ------------------------------------------------------------------------------------------ */

struct found {
  char text[256];
  size_t count;
  bool lines; /* ISMRMRD's table of acquisitions */
};

static void see_dataset(const char *name, void *context) {
  struct found *found = context;
  size_t used = strlen(found->text), length = strlen(name);
  enum { SHOWN = 4 };
  found->lines |= length > 4 && !strcmp(name + length - 4, "/xml");
  if (found->count++ < SHOWN && used + length + 3 < sizeof found->text)
    snprintf(found->text + used, sizeof found->text - used, "%s%s", used ? ", " : "", name);
}

bool layout_refuse(struct store *store, const char *path, const char *wanted, struct error *error) {
  struct found found = {.text = ""};
  struct error ignored;
  const struct magic *magic = magic_of(path);
  bool matlab = magic && magic->kind == MAGIC_MATLAB_73;
  store_list(store, see_dataset, &found, &ignored);
  const char *kind =
      found.lines ? "; it is ISMRMRD raw data: sort its lines into kspace [slices, coils, height, width]"
      : matlab ? "; it is a MATLAB 7.3 file: read it by h5py, reverse its axes, and write it as one of those"
               : "";
  return fail(error, "%s has no dataset %s; its images cannot be found: it holds %s%s%s", path, wanted,
              found.count ? found.text : "none", found.count > 4 ? ", ..." : "", kind);
}
