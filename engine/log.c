#include "engine/log.h"

#include <math.h>
#include <stdarg.h>
#include <time.h>
#include <unistd.h>

static enum log_level shown = LOG_INFO; /* the one setting of the process: how much it says */

void log_level(enum log_level level) {
  shown = level;
}

static void print_line(enum log_level level, const char *prefix, const char *format, va_list list) {
  if (level > shown) return;
  if (isatty(STDERR_FILENO)) fputs("\r\033[K", stderr);
  fputs(prefix, stderr);
  vfprintf(stderr, format, list);
  fputc('\n', stderr);
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
  fprintf(stderr, "%s%s %zu/%zu, %.4g %s/s, %.0f s left%s", terminal ? "\r\033[K" : "", progress->what,
          progress->done, progress->total, rate, progress->unit, left, terminal ? "" : "\n");
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

void json_text(FILE *file, const char *text) {
  fputc('"', file);
  for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
    if (*c == '"' || *c == '\\')
      fprintf(file, "\\%c", *c);
    else if (*c < 0x20)
      fprintf(file, "\\u%04x", *c);
    else
      fputc(*c, file);
  }
  fputc('"', file);
}

void json_number(FILE *file, double value) {
  if (isfinite(value))
    fprintf(file, "%.9g", value);
  else
    fputs("null", file);
}
