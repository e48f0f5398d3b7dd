#include "engine/base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool fail(struct error *error, const char *format, ...) {
  va_list list;
  va_start(list, format);
  vsnprintf(error->text, sizeof error->text, format, list);
  va_end(list);
  error->usage = false;
  return false;
}

bool fail_usage(struct error *error, const char *format, ...) {
  va_list list;
  va_start(list, format);
  vsnprintf(error->text, sizeof error->text, format, list);
  va_end(list);
  error->usage = true;
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

_Noreturn void require_failed(const char *condition, const char *file, int line, const char *format, ...) {
  fprintf(stderr, "%s:%d: required %s: ", file, line, condition);
  va_list list;
  va_start(list, format);
  vfprintf(stderr, format, list);
  va_end(list);
  fputc('\n', stderr);
  abort();
}
