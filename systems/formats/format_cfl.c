/* BART's arrays: NAME.cfl holds complex64 numbers, the first axis fastest, NAME.hdr the sizes of at most
 * sixteen axes. */
#include "engine/files/part.h"
#include "systems/formats/array.h"
#include "systems/data/format.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER_MOST = 1 << 16 };

static bool claims(const char *path) {
  size_t length = strlen(path);
  return length > 4 && !strcmp(path + length - 4, ".cfl");
}

/* Sizes of the line after "# Dimensions". */
static bool read_sizes(struct array *array, const char *header) {
  static const char title[] = "# Dimensions\n";
  const char *text = strstr(header, title);
  if (!text) return false;
  text += sizeof title - 1;
  for (array->rank = 0; isdigit((unsigned char)*text); array->rank++) {
    char *end;
    if (array->rank == AXES_MOST) return false;
    array->size[array->rank] = strtoull(text, &end, 10);
    text = end + strspn(end, " \t\r");
  }
  return array->rank > 1 && (!*text || *text == '\n');
}

/* Readout, phase 1, phase 2, coil, then maps, TE, coefficients, iterations, time and so on; slice is the
 * fourteenth. What phase 2 is depends on whether it was transformed. */
static void tell_axes(struct array *array) {
  array->told.sure = true;
  for (int i = 0; i < array->rank; i++) {
    char letter = i == 0 ? 'h' : i == 1 ? 'w' : i == 3 ? 'c' : 's';
    bool one = array->size[i] == 1 && i > 1;
    array->told.letter[i] = one ? '1' : letter;
    if (!one && letter == 's' && i != 13) array->told.sure = false;
  }
}

static bool read_header(struct array *array, struct error *error) {
  char path[PART_PATH], header[HEADER_MOST] = "";
  snprintf(path, sizeof path, "%.*s.hdr", (int)strlen(array->path) - 4, array->path);
  FILE *file = file_read(path, error);
  if (!file) return fail_in(error, "%s needs its header", array->path);
  size_t got = fread(header, 1, sizeof header - 1, file);
  fclose(file);
  if (strlen(header) == got && read_sizes(array, header)) return true;
  return fail_file(
      error,
      "%s is no header of a BART array: no line of 2 to 16 sizes follows \"# Dimensions\"; write it by BART",
      path);
}

static bool open_array(struct array *array, const struct volume *volume, struct error *error) {
  array->column_major = true;
  array->type = ARRAY_C64;
  if (!array_open_file(array, volume->path, error) || !read_header(array, error)) return false;
  tell_axes(array);
  return true;
}

static bool open_file(void **file, const struct volume *volume, struct error *error) {
  return array_file_open(file, volume, open_array, error);
}

const struct volume_format format_cfl = {
    .name = "BART",
    .claims = claims,
    .open = open_file,
    .describe = array_file_describe,
    .read = array_file_read,
    .close = array_file_close,
};
