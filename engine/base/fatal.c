/* The end of a call (error.h). Below locks and the log, which say by fatal_before and fatal_tell what they
 * want of it. */
#include "engine/base/error.h"

#include <pthread.h>
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
static _Thread_local void (*give_back)(void); /* fatal_before */

static struct ending {
  fatal_handler *handler; /* NULL: none but the end of the program */
  void *context;
  void (*tell)(const char *text); /* NULL: nobody is told */
} ending;                         /* the process has one; ending_mutex guards it */
static pthread_mutex_t ending_mutex = PTHREAD_MUTEX_INITIALIZER;

void fatal_with(fatal_handler *handler, void *context) {
  pthread_mutex_lock(&ending_mutex);
  ending.handler = handler;
  ending.context = context;
  pthread_mutex_unlock(&ending_mutex);
}

void fatal_tell(void (*tell)(const char *text)) {
  pthread_mutex_lock(&ending_mutex);
  ending.tell = tell;
  pthread_mutex_unlock(&ending_mutex);
}

void fatal_before(void (*give)(void)) {
  give_back = give;
}

/* The functions are called without the mutex: the handler may leave. */
static struct ending how_to_end(void) {
  pthread_mutex_lock(&ending_mutex);
  struct ending how = ending;
  pthread_mutex_unlock(&ending_mutex);
  return how;
}

static _Noreturn void end_call(const struct error *error) {
  if (give_back) give_back();
  if (landing) {
    *landing->error = *error;
    longjmp(landing->place, 1);
  }
  thread_at = NULL; /* the handler may leave by longjmp */
  struct ending how = how_to_end();
  if (how.handler) how.handler(error->code, error->text, how.context);
  if (how.tell) how.tell(error->text);
  abort();
}

_Noreturn void fatal(enum error_code code, const char *format, ...) {
  struct error error = {.code = code};
  va_list list;
  va_start(list, format);
  vsnprintf(error.text, sizeof error.text, format, list);
  va_end(list);
  end_call(&error);
}

_Noreturn void require_failed(const char *condition, const char *file, int line, const char *format, ...) {
  struct error error = {.code = ERROR_CALL};
  va_list list;
  va_start(list, format);
  vsnprintf(error.text, sizeof error.text, format, list);
  va_end(list);
  fail_in(&error, "%s:%d: required %s", file, line, condition);
  end_call(&error);
}

bool rescue(rescue_work *work, void *context, struct error *error) {
  REQUIRE(!give_back, "rescue would give back what its caller holds");
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
