#include "systems/data/format.h"

#define FORMAT_ROW(row) &format_##row,
static const struct volume_format *const formats[] = {VOLUME_FORMATS(FORMAT_ROW)};
enum { FORMATS = sizeof formats / sizeof *formats };

const struct volume_format *format_of(const char *path) {
  for (size_t i = 0; i < FORMATS; i++)
    if (formats[i]->claims(path)) return formats[i];
  return NULL;
}

const char *format_endings(struct arena *arena) {
  const char *text = "";
  for (size_t i = 0; i < FORMATS; i++)
    if (formats[i]->ending) text = arena_text(arena, "%s%s%s", text, *text ? " or " : "", formats[i]->ending);
  return text;
}

const struct volume_format *format_to_write(void) {
  return formats[0];
}
