#include "systems/data/format.h"

#include <string.h>

#define FORMAT_ROW(row) &format_##row,
static const struct volume_format *const formats[] = {VOLUME_FORMATS(FORMAT_ROW)};
enum { FORMATS = sizeof formats / sizeof *formats };

const struct volume_format *format_of(const char *path) {
  for (size_t i = 0; i < FORMATS; i++)
    if (formats[i]->claims(path)) return formats[i];
  return NULL;
}

const struct volume_format *format_listed(const char *path) {
  const struct volume_format *format = format_of(path);
  return format && format->ending ? format : NULL;
}

const char *format_endings(struct arena *arena) {
  const char *text = "";
  for (size_t i = 0; i < FORMATS; i++)
    if (formats[i]->ending) text = arena_text(arena, "%s%s%s", text, *text ? " or " : "", formats[i]->ending);
  return text;
}

const struct volume_format *format_inside(void *store) {
  for (size_t i = 0; i < FORMATS; i++)
    if (formats[i]->holds && formats[i]->holds(store)) return formats[i];
  return NULL;
}

bool format_unpack(const struct probe_unpacking *unpacking, struct error *error) {
  struct probe_unpacking own = *unpacking;
  for (size_t i = 0; i < FORMATS; i++) {
    size_t length = strlen(formats[i]->name);
    if (!formats[i]->unpack || strncmp(own.how, formats[i]->name, length) || own.how[length] != ':') continue;
    own.how += length + 1;
    own.library = formats[i]->library;
    return formats[i]->unpack(&own, error);
  }
  return fail_file(error, "%s is of no format that is unpacked (%s)", own.path, own.how);
}

const struct volume_format *format_to_write(void) {
  return formats[0];
}
