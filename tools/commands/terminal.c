#include "tools/commands/terminal.h"

#include "engine/base/text.h"

#include <stdio.h>
#include <unistd.h>

static const char clear_line[] = "\r\033[K";
static enum l2sr_level shown = L2SR_INFO;

void terminal_line(const char *prefix, const char *text) {
  if (isatty(STDERR_FILENO)) fputs(clear_line, stderr); /* over an unfinished progress line */
  fputs(prefix, stderr);
  text_show(stderr, text);
  fputc('\n', stderr);
}

static void see_line(enum l2sr_level level, const char *text, void *context) {
  (void)context;
  if (level <= shown) terminal_line(level == L2SR_WARNING ? "warning: " : "", text);
}

static void print_progress(const struct l2sr_progress *progress, bool terminal) {
  if (!progress->total) {
    fprintf(stderr, "%s%s, %zu %s so far%s", terminal ? clear_line : "", progress->what, progress->done,
            progress->unit, terminal ? "" : "\n");
    return;
  }
  double rate = progress->seconds > 0 ? (double)progress->done / progress->seconds : 0;
  double left = rate > 0 ? (double)(progress->total - progress->done) / rate : 0;
  fprintf(stderr, "%s%s %zu/%zu, %s %s/s, %.0f s left%s", terminal ? clear_line : "", progress->what,
          progress->done, progress->total, text_number(rate, 4).text, progress->unit, left,
          terminal ? "" : "\n");
}

static void see_progress(struct l2sr_progress *progress, void *context) {
  bool terminal = isatty(STDERR_FILENO);
  (void)context;
  if (progress->ended) {
    if (terminal && progress->noted > 0) fputs(clear_line, stderr);
    return;
  }
  if (progress->seconds - progress->noted < (terminal ? 0.2 : 10)) return;
  progress->noted = progress->seconds;
  print_progress(progress, terminal);
}

void terminal_show(enum l2sr_level most) {
  shown = most;
  l2sr_on_log(see_line, most < L2SR_INFO ? NULL : see_progress, NULL);
}

void terminal_open(void) {
  terminal_show(shown);
}
