/* The tool for scripts of many calls (cli/setup.sh): they come on standard input, and one process runs them
 * all, so that the device is opened and its programs are loaded once. With words of its own it is the tool.
 *
 * A call is texts that end in a zero byte: the folder to run in, the number of words, the words. What it
 * prints is in the folder's files out and err; the answer is its status, a line. */
#include "tests/session.h"
#include "tools/commands/terminal.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXTS_MOST = 256 };

struct texts {
  char *text[TEXTS_MOST + 1]; /* NULL ends them */
  int count;
};

static bool read_text(FILE *from, struct texts *texts) {
  size_t size = 0;
  char **text = &texts->text[texts->count];
  *text = NULL;
  if (texts->count == TEXTS_MOST || getdelim(text, &size, 0, from) <= 0) return false;
  texts->text[++texts->count] = NULL;
  return true;
}

/* The call's folder, number and words. False: there is none any more. */
static bool read_call(FILE *from, struct texts *texts) {
  texts->count = 0;
  if (!read_text(from, texts) || !read_text(from, texts)) return false;
  for (int left = atoi(texts->text[1]); left > 0; left--)
    if (!read_text(from, texts)) return false;
  return true;
}

static void forget(struct texts *texts) {
  while (texts->count) free(texts->text[--texts->count]);
}

static void direct(int descriptor, const char *path, int flags) {
  int file = open(path, flags, 0666);
  if (file < 0 || dup2(file, descriptor) < 0) abort();
  if (file != descriptor) close(file);
}

static int run_call(struct texts *texts, FILE *out) {
  char name[] = "l2sr";
  if (chdir(texts->text[0])) abort();
  direct(STDOUT_FILENO, "out", O_WRONLY | O_CREAT | O_TRUNC);
  direct(STDERR_FILENO, "err", O_WRONLY | O_CREAT | O_TRUNC);
  terminal_show(L2SR_INFO);
  stdout = out; /* the last call has put its own there */
  free(texts->text[1]);
  texts->text[1] = NULL;
  char **words = texts->text + 1;
  words[0] = name;
  int status = program_main(texts->count - 1, words);
  words[0] = NULL;
  return status;
}

int main(int argc, char **argv) {
  if (argc > 1) return program_main(argc, argv);
  struct texts texts;
  FILE *out = stdout, *calls = fdopen(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 10), "r"),
       *answers = fdopen(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 10), "w");
  if (!calls || !answers) abort();
  direct(STDIN_FILENO, "/dev/null", O_RDONLY);
  for (; read_call(calls, &texts); forget(&texts)) {
    fprintf(answers, "%d\n", run_call(&texts, out));
    fflush(answers);
  }
  forget(&texts);
  return 0;
}
