/* numpy's .npy (format versions 1 to 3; numpy.lib.format): an array behind a header that is a Python
 * dictionary. */
#include "systems/formats/array.h"
#include "systems/data/format.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { FRONT = 12, HEADER_MOST = 1 << 16 };

static bool claims(const char *path) {
  size_t length = strlen(path);
  return length > 4 && !strcasecmp(path + length - 4, ".npy");
}

/* ---- the header ---------------------------------------------------------------------------------------- */

/* What follows 'KEY': in the dictionary; NULL: it is not there. */
static const char *value_of(const char *header, const char *key) {
  const char *place = strstr(header, key);
  if (!place) return NULL;
  place += strlen(key);
  if (*place == '\'' || *place == '"') place++;
  place += strspn(place, " ");
  if (*place++ != ':') return NULL;
  return place + strspn(place, " ");
}

/* "'<c8'": byte order, kind, bytes. */
static bool read_type(struct array *array, const char *text) {
  static const char *const names[ARRAY_TYPES] = {"i1", "u1", "i2", "u2", "i4", "u4", "i8",
                                                 "u8", "f2", "f4", "f8", "c8", "c16"};
  char word[4] = "";
  if (!text || (*text != '\'' && *text != '"') || !text[1] || !strchr("<>|=", text[1])) return false;
  size_t length = strspn(text + 2, "iufcb0123456789");
  if (length > 3 || text[2 + length] != *text) return false;
  memcpy(word, text + 2, length);
  array->swapped = text[1] == '>';
  if (!strcmp(word, "b1")) memcpy(word, "u1", 2);
  for (int type = 0; type < ARRAY_TYPES; type++)
    if (!strcmp(word, names[type])) {
      array->type = (enum array_type)type;
      return true;
    }
  return false;
}

/* "(12, 640, 320)" */
static bool read_shape(struct array *array, const char *text) {
  if (!text || *text++ != '(') return false;
  for (array->rank = 0; *text != ')'; array->rank++) {
    char *end;
    text += strspn(text, " ");
    if (!isdigit((unsigned char)*text) || array->rank == AXES_MOST) return false;
    array->size[array->rank] = strtoull(text, &end, 10);
    text = end + strspn(end, " ");
    if (*text == ',') text++;
    text += strspn(text, " ");
    if (*text != ')' && !isdigit((unsigned char)*text)) return false;
  }
  return true;
}

static bool read_bytes(int file, off_t place, void *to, size_t bytes) {
  return pread(file, to, bytes, place) == (ssize_t)bytes;
}

static bool read_header(struct array *array, char *header, struct error *error) {
  unsigned char front[FRONT];
  if (!read_bytes(array->file, 0, front, 10) || memcmp(front, "\223NUMPY", 6) != 0)
    return fail_file(error, "%s is no numpy array: it does not begin as one; write it by numpy.save",
                     array->path);
  size_t wide = front[6] == 1 ? 2 : 4, length = (size_t)front[8] | (size_t)front[9] << 8;
  if (front[6] < 1 || front[6] > 3)
    return fail_file(error, "%s is of version %d of numpy's format; 1 to 3 are read: write it by numpy.save",
                     array->path, front[6]);
  if (wide == 4 && !read_bytes(array->file, 10, front + 10, 2))
    return fail_file(error, "%s was cut in its header; fetch it again", array->path);
  if (wide == 4) length |= (size_t)front[10] << 16 | (size_t)front[11] << 24;
  array->start = (off_t)(8 + wide + length);
  if (length < HEADER_MOST && read_bytes(array->file, (off_t)(8 + wide), header, length)) return true;
  return fail_file(error, "%s was cut in its header, or is damaged; fetch or write it again", array->path);
}

/* The type as numpy's header has it, without what follows. */
static const char *shown_type(const char *text, char word[24]) {
  size_t length = text && (*text == '\'' || *text == '"') ? strcspn(text + 1, "'\"") : 0;
  snprintf(word, 24, "%.*s", (int)(length < 20 ? length : 20), length ? text + 1 : "");
  if (!text) return "none";
  if (*text == '[') return "records (several fields)";
  return strchr(word, 'O') ? "objects of Python, which only Python reads" : word;
}

bool array_open_npy(struct array *array, const char *path, struct error *error) {
  char header[HEADER_MOST] = "", word[24];
  if (!array_open_file(array, path, error) || !read_header(array, header, error)) return false;
  const char *order = value_of(header, "fortran_order"), *type = value_of(header, "descr");
  bool said = order && (!strncmp(order, "True", 4) || !strncmp(order, "False", 5));
  if (!said || !read_shape(array, value_of(header, "shape")))
    return fail_file(error,
                     "%s has a header that is no array's of at most %d axes (%.100s); write it by numpy.save",
                     path, AXES_MOST, header);
  if (!read_type(array, type))
    return fail_file(error,
                     "%s holds entries of type %s; whole numbers of 1 to 8 bytes, floats of 2 to 8 and complex ones "
                     "of 8 or 16 are read: write it by numpy.save with another type",
                     path, shown_type(type, word));
  array->column_major = *order == 'T';
  return true;
}

bool array_begin_npy(FILE *file, enum array_type type, bool column_major, int rank, const size_t *size) {
  char text[1024];
  const char *word = type == ARRAY_U8 ? "|u1" : type == ARRAY_F32 ? "<f4" : "<c8";
  size_t used = (size_t)snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': %s, 'shape': (", word,
                                 column_major ? "True" : "False");
  for (int i = 0; i < rank; i++)
    used += (size_t)snprintf(text + used, sizeof text - used, i ? ", %zu" : "%zu", size[i]);
  used += (size_t)snprintf(text + used, sizeof text - used, rank == 1 ? ",), }" : "), }");
  while ((10 + used + 1) % 64) text[used++] = ' ';
  text[used++] = '\n';
  fwrite("\223NUMPY\1", 1, 8, file); /* the version is 1.0, and the text's own zero its second byte */
  fputc((int)(used & 255), file);
  fputc((int)(used >> 8), file);
  return fwrite(text, 1, used, file) == used && !ferror(file);
}

static bool open_array(struct array *array, const struct volume *volume, struct error *error) {
  return array_open_npy(array, volume->path, error);
}

static bool open_file(void **file, const struct volume *volume, struct error *error) {
  return array_file_open(file, volume, open_array, error);
}

const struct volume_format format_npy = {
    .name = "numpy",
    .claims = claims,
    .open = open_file,
    .describe = array_file_describe,
    .read = array_file_read,
    .close = array_file_close,
};
