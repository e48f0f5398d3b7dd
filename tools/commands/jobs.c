#include "tools/commands/jobs.h"

#include "engine/base/log.h"
#include "engine/files/part.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STOP_SECONDS = 3 /* until a process is killed that does not end */ };

void job_add(struct job *job, const char *word) {
  REQUIRE(job->words < JOB_WORDS, "a command of more than %d words", JOB_WORDS);
  job->word[job->words++] = word;
}

/* In the child, between fork and exec: only what is safe there. */
static void become(const struct job *job, int log, pid_t parent) {
  int nothing = open("/dev/null", O_RDONLY);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent || nothing < 0 || dup2(nothing, 0) < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0)
    _exit(127);
  const char *arguments[JOB_WORDS + 2] = {"l2sr"};
  memcpy(arguments + 1, job->word, job->words * sizeof *arguments);
  execv("/proc/self/exe", (char *const *)arguments);
  _exit(127);
}

bool job_start(struct job *job, struct error *error) {
  int log = open(job->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (log < 0) return fail(error, "cannot open %s: %s", job->log, strerror(errno));
  pid_t own = getpid();
  fflush(NULL);
  job->process = fork();
  if (!job->process) become(job, log, own);
  close(log);
  job->began = clock_seconds();
  job->asked = 0;
  if (job->process > 0) return true;
  job->process = 0;
  return fail(error, "cannot start a process: %s", strerror(errno));
}

bool job_ended(struct job *job) {
  int status;
  pid_t ended = job->process;
  while (ended && (ended = waitpid(job->process, &status, WNOHANG)) < 0 && errno == EINTR) continue;
  if (!ended) return !job->process;
  job->status = ended < 0 ? 127 : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  job->seconds = clock_seconds() - job->began;
  job->process = 0;
  return true;
}

/* It is asked first, so that it removes what it has half written. */
void job_stop(struct job *job) {
  if (!job->process) return;
  if (!job->asked && !kill(job->process, SIGTERM))
    job->asked = clock_seconds();
  else if (clock_seconds() - job->asked >= STOP_SECONDS)
    kill(job->process, SIGKILL);
}

const char *job_last_line(const struct job *job, struct arena *arena) {
  char line[1024], last[1024] = "";
  struct error ignored;
  FILE *file = file_read(job->log, &ignored);
  while (file && fgets(line, sizeof line, file)) {
    line[strcspn(line, "\r\n")] = 0;
    if (*line) memcpy(last, line, sizeof last);
  }
  if (file) fclose(file);
  return arena_text(arena, "%s", last);
}
