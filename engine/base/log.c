#include "engine/base/log.h"

#include "engine/base/text.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static enum log_level shown = LOG_INFO; /* the one setting of the process: how much it says */

void log_level(enum log_level level) {
  shown = level;
}

void log_line(const char *prefix, const char *text) {
  if (isatty(STDERR_FILENO)) fputs("\r\033[K", stderr); /* over an unfinished progress line */
  fputs(prefix, stderr);
  text_show(stderr, text);
  fputc('\n', stderr);
}

void log_lines(const char *text) {
  struct arena *arena = arena_open();
  for (size_t length; *text; text += length + (text[length] == '\n')) {
    length = strcspn(text, "\n");
    log_line("  ", arena_text(arena, "%.*s", (int)length, text));
  }
  arena_close(arena);
}

static void print_line(enum log_level level, const char *prefix, const char *format, va_list list) {
  char text[4096];
  if (level > shown) return;
  vsnprintf(text, sizeof text, format, list);
  log_line(prefix, text);
}

#define DEFINE_LOG(name, level, prefix)                                                                      \
  void name(const char *format, ...) {                                                                       \
    va_list list;                                                                                            \
    va_start(list, format);                                                                                  \
    print_line(level, prefix, format, list);                                                                 \
    va_end(list);                                                                                            \
  }
DEFINE_LOG(log_warning, LOG_WARNING, "warning: ")
DEFINE_LOG(log_info, LOG_INFO, "")
DEFINE_LOG(log_detail, LOG_DETAIL, "")

double clock_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

const char *plural(size_t count) {
  return count == 1 ? "" : "s";
}

void progress_open(struct progress *progress, const char *what, const char *unit, size_t total) {
  double now = clock_seconds();
  *progress = (struct progress){what, unit, total, 0, now, now};
}

static void print_progress(const struct progress *progress, bool terminal, double now) {
  double seconds = now - progress->started;
  double rate = seconds > 0 ? (double)progress->done / seconds : 0;
  double left = rate > 0 ? (double)(progress->total - progress->done) / rate : 0;
  fprintf(stderr, "%s%s %zu/%zu, %s %s/s, %.0f s left%s", terminal ? "\r\033[K" : "", progress->what,
          progress->done, progress->total, text_number(rate, 4).text, progress->unit, left,
          terminal ? "" : "\n");
}

void progress_move(struct progress *progress, size_t done) {
  progress->done = done;
  if (shown < LOG_INFO) return;
  bool terminal = isatty(STDERR_FILENO);
  double now = clock_seconds();
  if (now - progress->printed < (terminal ? 0.2 : 10)) return;
  progress->printed = now;
  print_progress(progress, terminal, now);
}

void progress_close(struct progress *progress) {
  if (shown >= LOG_INFO && isatty(STDERR_FILENO) && progress->printed > progress->started)
    fputs("\r\033[K", stderr);
}

/* What steers a terminal stands as JSON's own escape; what JSON cannot hold, as elsewhere, as \xNN. */
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
