/* The end of a call (error.h): above locks and the log, whose own errors are those of error.h. */
#include "engine/base/error.h"
#include "engine/base/lock.h"
#include "engine/base/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct landing {
  jmp_buf place;
  struct landing *before;
  void *at; /* thread_at before */
  struct error *error;
};

_Thread_local void *thread_at;

static _Thread_local struct landing *landing; /* the innermost rescue that is under way; NULL: none */

static struct {
  l2sr_fatal *handler; /* NULL: none but end_program */
  void *context;
} ending; /* the process has one; LOCK_SETTINGS guards it */

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
  thread_at = NULL; /* the handler may leave by longjmp */
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
  struct landing own = {.before = landing, .at = thread_at, .error = error};
  if (setjmp(own.place)) {
    landing = own.before;
    thread_at = own.at;
    return false;
  }
  landing = &own;
  bool good = work(context, error);
  landing = own.before;
  return good;
}
