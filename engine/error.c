#include "engine/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool fail(struct error *error, const char *format, ...) {
  va_list list;
  va_start(list, format);
  vsnprintf(error->text, sizeof error->text, format, list);
  va_end(list);
  return false;
}

bool fail_in(struct error *error, const char *format, ...) {
  struct error before = *error;
  va_list list;
  va_start(list, format);
  int used = vsnprintf(error->text, sizeof error->text, format, list);
  va_end(list);
  size_t start = used < 0 ? 0 : (size_t)used, room = sizeof error->text;
  if (start + 2 >= room) return false;
  memcpy(error->text + start, ": ", 2);
  size_t length = strnlen(before.text, room - start - 3);
  memcpy(error->text + start + 2, before.text, length);
  error->text[start + 2 + length] = 0;
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
