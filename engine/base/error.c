#include "engine/base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define DEFINE_FAIL(name, its_code, busy)                                                                        \
  bool name(struct error *error, const char *format, ...) {                                                  \
    va_list list;                                                                                            \
    va_start(list, format);                                                                                  \
    vsnprintf(error->text, sizeof error->text, format, list);                                                \
    va_end(list);                                                                                            \
    error->code = its_code;                                                                                  \
    error->is_busy = busy;                                                                                   \
    return false;                                                                                            \
  }
DEFINE_FAIL(fail, ERROR_FAILED, false)
DEFINE_FAIL(fail_usage, ERROR_USAGE, false)
DEFINE_FAIL(fail_file, ERROR_FILE, false)
DEFINE_FAIL(fail_busy, ERROR_FILE, true)
DEFINE_FAIL(fail_memory, ERROR_MEMORY, false)

bool fail_as(struct error *error, enum error_code code, const char *format, ...) {
  va_list list;
  va_start(list, format);
  vsnprintf(error->text, sizeof error->text, format, list);
  va_end(list);
  error->code = code;
  error->is_busy = false;
  return false;
}

bool fail_in(struct error *error, const char *format, ...) {
  static const char cut[] = "...: ";
  char context[sizeof error->text];
  va_list list;
  va_start(list, format);
  vsnprintf(context, sizeof context, format, list);
  va_end(list);
  size_t used = strlen(context), length = strlen(error->text), room = sizeof error->text - 1 - length;
  const char *join = used + 2 <= room ? ": " : cut;
  if (room < sizeof cut) return false;
  if (used + strlen(join) > room) used = room - strlen(join);
  memmove(error->text + used + strlen(join), error->text, length + 1);
  memcpy(error->text, context, used);
  memcpy(error->text + used, join, strlen(join));
  return false;
}
