/* What a program sets once, and the version: the engine's own settings, in the words of l2sr.h. */
#include "engine/base/arena.h"
#include "engine/base/error.h"
#include "engine/base/lock.h"
#include "engine/base/log.h"
#include "engine/files/probe.h"
#include "systems/public/call.h"
#include "systems/public/config.h"

/* The engine does not know l2sr.h: its numbers are given to programs as they are. */
#define SAME(theirs, own) _Static_assert((int)(theirs) == (int)(own), #theirs " is " #own)
SAME(L2SR_GOOD, ERROR_NONE);
SAME(L2SR_FAILED, ERROR_FAILED);
SAME(L2SR_WRONG_USAGE, ERROR_USAGE);
SAME(L2SR_BAD_FILE, ERROR_FILE);
SAME(L2SR_NO_DEVICE, ERROR_NO_DEVICE);
SAME(L2SR_DEVICE_FAILED, ERROR_DEVICE);
SAME(L2SR_NO_MEMORY, ERROR_MEMORY);
SAME(L2SR_DIVERGED, ERROR_DIVERGED);
SAME(L2SR_WRONG_CALL, ERROR_CALL);
SAME(L2SR_STOPPED, ERROR_STOPPED);
SAME(L2SR_ERROR, LEVEL_ERROR);
SAME(L2SR_WARNING, LEVEL_WARNING);
SAME(L2SR_INFO, LEVEL_INFO);
SAME(L2SR_DETAIL, LEVEL_DETAIL);

static struct callbacks {
  l2sr_fatal *fatal;
  void *fatal_context;
  l2sr_line *line;
  l2sr_advance *advance;
  void *log_context;
} callbacks; /* the process has one; LOCK_SETTINGS guards it */

/* The program's functions run without the lock: they may call the library, or leave it. */
static struct callbacks who_is_told(void) {
  HOLD(LOCK_SETTINGS);
  return callbacks;
}

/* ---- the version --------------------------------------------------------------------------------------- */

const char *l2sr_version(void) {
  return L2SR_VERSION;
}

int l2sr_version_number(void) {
  return L2SR_VERSION_NUMBER;
}

/* ---- the end of a call --------------------------------------------------------------------------------- */

static void tell_fatal(enum error_code code, const char *text, void *context) {
  struct callbacks to = who_is_told();
  (void)context;
  if (to.fatal) to.fatal((enum l2sr_code)code, text, to.fatal_context);
}

void l2sr_on_fatal(l2sr_fatal *handler, void *context) {
  HOLD(LOCK_SETTINGS);
  callbacks.fatal = handler;
  callbacks.fatal_context = context;
  fatal_with(handler ? tell_fatal : NULL, NULL);
}

/* ---- the log ------------------------------------------------------------------------------------------- */

static void tell_line(enum log_level level, const char *text, void *context) {
  struct callbacks to = who_is_told();
  (void)context;
  if (to.line) to.line((enum l2sr_level)level, text, to.log_context);
}

static void tell_progress(struct progress_report *report, void *context) {
  struct callbacks to = who_is_told();
  struct l2sr_progress shown = {.bytes = sizeof shown,
                                .what = report->what,
                                .unit = report->unit,
                                .done = report->done,
                                .total = report->total,
                                .seconds = report->seconds,
                                .ended = report->ended,
                                .noted = report->noted};
  (void)context;
  if (!to.advance) return;
  to.advance(&shown, to.log_context);
  report->noted = shown.noted;
}

void l2sr_on_log(l2sr_line *line, l2sr_advance *advance, void *context) {
  HOLD(LOCK_SETTINGS);
  callbacks.line = line;
  callbacks.advance = advance;
  callbacks.log_context = context;
  log_with(line ? tell_line : NULL, advance ? tell_progress : NULL, NULL);
}

/* ---- files, memory ------------------------------------------------------------------------------------- */

void l2sr_look_with(const char *program) {
  probe_with(program);
}

static bool set_allocator(void *none, void *arguments, struct error *error) {
  struct l2sr_allocator own;
  (void)none;
  if (!arguments) {
    arena_allocate_with(NULL);
    return true;
  }
  if (!config_copy(&own, arguments, sizeof own, "l2sr_allocator", error)) return false;
  if (!own.allocate || !own.release)
    return fail_usage(error, "struct l2sr_allocator has %s NULL; give both functions, or no allocator",
                      own.allocate ? "release" : "allocate");
  arena_allocate_with(&(struct allocator){own.allocate, own.release, own.context});
  return true;
}

enum l2sr_code l2sr_allocate_with(const struct l2sr_allocator *allocator) {
  struct l2sr_allocator *given = (struct l2sr_allocator *)(uintptr_t)allocator; /* is read only */
  return call_plain(set_allocator, given);
}
