#include "engine/base/log.h"

#include "engine/base/error.h"
#include "engine/base/lock.h"
#include "engine/base/text.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

static struct logging {
  log_line *line;
  log_progress *progress;
  void *context;
} logging; /* the process has one; LOCK_SETTINGS guards it */

static void tell_end(const char *text) {
  log_error("%s", text);
}

void log_with(log_line *line, log_progress *progress, void *context) {
  HOLD(LOCK_SETTINGS);
  logging = (struct logging){line, progress, context};
  fatal_tell(tell_end);
}

/* The callbacks run without the lock: they may call the library. */
static struct logging who_reads(void) {
  HOLD(LOCK_SETTINGS);
  return logging;
}

static void tell_line(enum log_level level, const char *format, va_list list) {
  struct logging to = who_reads();
  char text[4096];
  if (!to.line) return;
  vsnprintf(text, sizeof text, format, list);
  to.line(level, text, to.context);
}

#define DEFINE_LOG(name, level)                                                                              \
  void name(const char *format, ...) {                                                                       \
    va_list list;                                                                                            \
    va_start(list, format);                                                                                  \
    tell_line(level, format, list);                                                                          \
    va_end(list);                                                                                            \
  }
DEFINE_LOG(log_error, LEVEL_ERROR)
DEFINE_LOG(log_warning, LEVEL_WARNING)
DEFINE_LOG(log_info, LEVEL_INFO)
DEFINE_LOG(log_detail, LEVEL_DETAIL)

void log_lines(const char *text) {
  for (size_t length; *text; text += length + (text[length] == '\n')) {
    length = strcspn(text, "\n");
    log_error("  %.*s", (int)length, text);
  }
}

double clock_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static _Thread_local double paused; /* seconds that were not the work's */

double clock_work(void) {
  return clock_seconds() - paused;
}

void clock_pause(double seconds) {
  paused += seconds;
}

const char *plural(size_t count) {
  return count == 1 ? "" : "s";
}

void progress_open(struct progress *progress, const char *what, const char *unit, size_t total) {
  *progress = (struct progress){.what = what, .unit = unit, .total = total, .started = clock_work()};
}

void progress_open_aside(struct progress *progress, const char *what, const char *unit) {
  *progress = (struct progress){.what = what, .unit = unit, .started = clock_seconds(), .aside = true};
}

static double seconds_of(const struct progress *progress) {
  return (progress->aside ? clock_seconds() : clock_work()) - progress->started;
}

static void tell_progress(struct progress *progress, bool ended) {
  struct logging to = who_reads();
  if (!to.progress) return;
  struct progress_report shown = {.what = progress->what,
                                  .unit = progress->unit,
                                  .done = progress->done,
                                  .total = progress->total,
                                  .seconds = seconds_of(progress),
                                  .ended = ended,
                                  .noted = progress->noted};
  to.progress(&shown, to.context);
  progress->noted = shown.noted;
}

void progress_move(struct progress *progress, size_t done) {
  progress->done = done;
  tell_progress(progress, false);
}

void progress_close(struct progress *progress) {
  tell_progress(progress, true);
}

/* Characters that steer a terminal become JSON's own escape; bytes that JSON cannot hold become \xNN, as
 * elsewhere. */
static void json_escape(FILE *file, const char *text, size_t bytes) {
  const unsigned char *c = (const unsigned char *)text;
  if (!bytes)
    fprintf(file, "\\\\x%02x", *c);
  else if (bytes == 1)
    fprintf(file, "\\u%04x", *c);
  else if (bytes == 2)
    fprintf(file, "\\u%04x", (c[0] & 0x1fu) << 6 | (c[1] & 0x3fu));
  else
    fprintf(file, "\\u%04x", (c[0] & 0xfu) << 12 | (c[1] & 0x3fu) << 6 | (c[2] & 0x3fu));
}

void json_text(FILE *file, const char *text) {
  fputc('"', file);
  while (*text) {
    size_t plain = text_plain(text), bytes = text_character(text);
    if (!plain) json_escape(file, text, bytes);
    if (plain && (*text == '"' || *text == '\\')) fputc('\\', file);
    fwrite(text, 1, plain, file);
    text += bytes ? bytes : 1;
  }
  fputc('"', file);
}

void json_number(FILE *file, double value) {
  if (isfinite(value))
    fprintf(file, "%.9g", value);
  else
    fputs("null", file);
}
