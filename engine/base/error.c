#include "engine/base/error.h"

#include "engine/base/lock.h"
#include "engine/base/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *l2sr_version(void) {
  return L2SR_VERSION;
}

/* ---- errors -------------------------------------------------------------------------------------------- */

#define DEFINE_FAIL(name, its_code)                                                                          \
  bool name(struct error *error, const char *format, ...) {                                                  \
    va_list list;                                                                                            \
    va_start(list, format);                                                                                  \
    vsnprintf(error->text, sizeof error->text, format, list);                                                \
    va_end(list);                                                                                            \
    error->code = its_code;                                                                                  \
    return false;                                                                                            \
  }
DEFINE_FAIL(fail, L2SR_FAILED)
DEFINE_FAIL(fail_usage, L2SR_WRONG_USAGE)
DEFINE_FAIL(fail_file, L2SR_BAD_FILE)
DEFINE_FAIL(fail_memory, L2SR_NO_MEMORY)

bool fail_as(struct error *error, enum l2sr_code code, const char *format, ...) {
  va_list list;
  va_start(list, format);
  vsnprintf(error->text, sizeof error->text, format, list);
  va_end(list);
  error->code = code;
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

/* ---- the end of a call --------------------------------------------------------------------------------- */

struct landing {
  jmp_buf place;
  struct landing *before;
  struct error *error;
};

static _Thread_local struct landing *landing; /* of the innermost rescue that is under way; NULL: none */

static struct {
  l2sr_fatal *handler; /* NULL: none but end_program */
  void *context;
} ending; /* of the process: LOCK_SETTINGS */

void l2sr_on_fatal(l2sr_fatal *handler, void *context) {
  HOLD(LOCK_SETTINGS);
  ending.handler = handler;
  ending.context = context;
}

static _Noreturn void end_program(const char *text) {
  log_error("%s", text);
  abort();
}

static _Noreturn void end_call(const struct error *error) {
  lock_give_all();
  if (landing) {
    *landing->error = *error;
    longjmp(landing->place, 1);
  }
  const enum lock settings = lock_take(LOCK_SETTINGS);
  l2sr_fatal *handler = ending.handler;
  void *context = ending.context;
  lock_give(&settings);
  if (handler) handler(error->code, error->text, context);
  end_program(error->text);
}

_Noreturn void fatal(enum l2sr_code code, const char *format, ...) {
  struct error error = {.code = code};
  va_list list;
  va_start(list, format);
  vsnprintf(error.text, sizeof error.text, format, list);
  va_end(list);
  end_call(&error);
}

_Noreturn void require_failed(const char *condition, const char *file, int line, const char *format, ...) {
  struct error error = {.code = L2SR_WRONG_CALL};
  va_list list;
  va_start(list, format);
  vsnprintf(error.text, sizeof error.text, format, list);
  va_end(list);
  fail_in(&error, "%s:%d: required %s", file, line, condition);
  end_call(&error);
}

bool rescue(rescue_work *work, void *context, struct error *error) {
  REQUIRE(!lock_held(), "rescue would give back locks of its caller");
  struct landing own = {.before = landing, .error = error};
  if (setjmp(own.place)) {
    landing = own.before;
    return false;
  }
  landing = &own;
  bool good = work(context, error);
  landing = own.before;
  return good;
}
