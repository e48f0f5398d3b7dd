/* The log, and JSON. Lines and the progress of long work go to the callbacks that the program has set
 * (l2sr_on_log): the program decides what is shown, and where. */
#ifndef L2SR_ENGINE_LOG_H
#define L2SR_ENGINE_LOG_H

#include "engine/base/l2sr.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_detail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The lines of a text that has several (a compiler's), as errors. */
void log_lines(const char *text);

struct progress {
  const char *what, *unit;
  size_t total, done; /* total 0: not known */
  double started, noted;
  bool aside; /* its seconds are all seconds, and not those of the work alone */
};

void progress_open(struct progress *progress, const char *what, const char *unit, size_t total);
void progress_open_aside(struct progress *progress, const char *what,
                         const char *unit); /* of such other work */
void progress_move(struct progress *progress, size_t done);
void progress_close(struct progress *progress);

double clock_seconds(void); /* monotonic */
/* The same for this thread's work: it stands still while something else than the work takes time, as
 * compiling kernels does. Whoever does that says how long it took. Speeds are counted by this clock. */
double clock_work(void);
void clock_pause(double seconds);

const char *plural(size_t count); /* "s", or "" for one */

/* Writes text as a JSON string with its quotes. The string is always UTF-8: other bytes become the text
 * \xNN. */
void json_text(FILE *file, const char *text);
/* Writes a number that JSON can hold: null for infinities and not-a-number. */
void json_number(FILE *file, double value);

#endif
