#include "tools/commands/queue.h"

#include "engine/base/arena.h"
#include "engine/base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS_MOST = 256, NO_JOB = -1 };

/* A place on a device; its child runs a job, or NO_JOB. */
struct slot {
  size_t device;
  pid_t child;
  long job;
  double started;
};

/* In the child. */
static void become(const struct queue_job *job, const char *device) {
  const char *line[WORDS_MOST + 4] = {"l2sr"};
  size_t used = 1;
  for (const char *const *word = job->words; *word && used < WORDS_MOST; word++) line[used++] = *word;
  line[used++] = "--device";
  line[used++] = device;
  int log = open(job->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (log < 0 || dup2(log, STDOUT_FILENO) < 0 || dup2(log, STDERR_FILENO) < 0) _exit(127);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  execv("/proc/self/exe", (char *const *)line);
  _exit(127);
}

static bool start(struct slot *slot, const struct queue_job *job, long place, struct error *error) {
  char device[24];
  snprintf(device, sizeof device, "%zu", slot->device);
  fflush(stdout);
  slot->child = fork();
  if (slot->child < 0) return fail(error, "no process for %s: %s", job->name, strerror(errno));
  if (!slot->child) become(job, device);
  slot->job = place;
  slot->started = clock_seconds();
  return true;
}

static void end(struct slot *slot, struct queue_job *job, int status) {
  job->failed = status != 0;
  if (job->failed)
    log_warning("%s failed on device %zu; its log is %s", job->name, slot->device, job->log);
  else
    log_info("%s ended on device %zu after %.0f s", job->name, slot->device, clock_seconds() - slot->started);
  slot->job = NO_JOB;
}

/* Waits for one of those that run. */
static void wait_one(struct slot *slot, size_t slots, struct queue_job *job) {
  int status;
  pid_t child = wait(&status);
  for (size_t i = 0; i < slots; i++)
    if (slot[i].job != NO_JOB && (slot[i].child == child || (child < 0 && errno == ECHILD)))
      end(&slot[i], &job[slot[i].job], child < 0 ? -1 : status);
}

static bool is_idle(const struct slot *slot, size_t slots) {
  for (size_t i = 0; i < slots; i++)
    if (slot[i].job != NO_JOB) return false;
  return true;
}

static bool run_all(struct slot *slot, size_t slots, struct queue_job *job, size_t count, struct error *error) {
  size_t next = 0;
  bool good = true;
  while (good && next < count) {
    for (size_t i = 0; good && i < slots && next < count; i++)
      if (slot[i].job == NO_JOB) good = start(&slot[i], &job[next], (long)next, error), next++;
    if (good) wait_one(slot, slots, job);
  }
  while (!is_idle(slot, slots)) wait_one(slot, slots, job);
  return good;
}

bool queue_run(struct queue_job *job, size_t count, const size_t *devices, size_t device_count, uint32_t each,
               struct error *error) {
  struct arena *arena = arena_open();
  size_t slots = device_count * each;
  struct slot *slot = ARENA_NEW(arena, struct slot, slots);
  for (size_t i = 0; i < slots; i++) slot[i] = (struct slot){.device = devices[i % device_count], .job = NO_JOB};
  bool good = run_all(slot, slots, job, count, error);
  arena_close(arena);
  return good;
}
