/* The log, and JSON. Lines and the progress of long work go to the callbacks that the program has set
 * (log_with): the program decides what is shown, and where. */
#ifndef L2SR_ENGINE_LOG_H
#define L2SR_ENGINE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum log_level { LEVEL_ERROR, LEVEL_WARNING, LEVEL_INFO, LEVEL_DETAIL };
/* A line without its end. */
typedef void log_line(enum log_level level, const char *text, void *context);

/* How far long work is, as the program is told. */
struct progress_report {
  const char *what, *unit;
  size_t done, total; /* total 0: not known */
  double seconds;     /* since it began, less those that were not the work's (clock_pause) */
  bool ended;
  double noted; /* the program's own, 0 at the start */
};
typedef void log_progress(struct progress_report *report, void *context);

/* Who is told from now on; NULL: nobody. The callbacks run in the thread that works. */
void log_with(log_line *line, log_progress *progress, void *context);

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
