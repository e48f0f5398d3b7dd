/* The log goes to stderr, results to stdout. Long work shows its rate and the time left. */
#ifndef L2SR_ENGINE_LOG_H
#define L2SR_ENGINE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum log_level { LOG_QUIET, LOG_WARNING, LOG_INFO, LOG_DETAIL };

void log_level(enum log_level level); /* what is below is not printed; the start is LOG_INFO */
void log_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_detail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* One line, whatever the text holds, and lines of a text that has several (of a compiler): at every level. */
void log_line(const char *prefix, const char *text);
void log_lines(const char *text);

/* One line that is rewritten on a terminal, a plain line every ten seconds elsewhere. */
struct progress {
  const char *what, *unit;
  size_t total, done;
  double started, printed;
};

void progress_open(struct progress *progress, const char *what, const char *unit, size_t total);
void progress_move(struct progress *progress, size_t done);
void progress_close(struct progress *progress);

double clock_seconds(void); /* monotonic */

const char *plural(size_t count); /* "s", or "" for one */

/* Writes text as a JSON string, quotes included: always one of UTF-8, where bytes that are none are the text
 * \xNN. */
void json_text(FILE *file, const char *text);
/* Writes a number that JSON can hold: null for infinities and not-a-number. */
void json_number(FILE *file, double value);

#endif
