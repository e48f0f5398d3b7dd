#include "tools/ranks/ranks.h"

#include "engine/base/arena.h"
#include "engine/base/option.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What launchers tell their processes: how many there are. */
static const char *const tells_size[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS", "SLURM_STEP_NUM_TASKS", NULL};

static const char *const tells_rank[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID", NULL};

/* What all find at once is told by the first: the others wait for it to end them. */
void ranks_let_first_tell(void) {
  uint32_t rank = 0;
  for (const char *const *name = tells_rank; *name && !rank; name++) {
    const char *text = getenv(*name);
    if (text && !option_whole(text, 0, UINT32_MAX, &rank)) rank = 0;
  }
  if (rank) sleep(2);
}

static uint32_t told_size(const char **by) {
  uint32_t size = 0;
  for (const char *const *name = tells_size; *name && !size; name++) {
    const char *text = getenv(*name);
    if (text && option_whole(text, 1, UINT32_MAX, &size)) *by = *name;
  }
  return size;
}

static bool refuse_apart(uint32_t size, const char *by, struct error *error) {
  bool slurm = !strncmp(by, "SLURM", 5);
  return fail_usage(error,
                    "%s says that %u processes were started, and each finds itself alone: they would all train the same; "
                    "start them by `%s`",
                    by, size, slurm ? "srun --mpi=pmix l2sr train SCENE" : "mpirun -n N l2sr train SCENE, of the MPI that l2sr was built with");
}

static bool check_size(const struct ranks *ranks, struct error *error) {
  if (ranks->count <= RANKS_MOST && (ranks->count & (ranks->count - 1)) == 0) return true;
  return fail_usage(error, "%u ranks were started; there must be 1, 2, 4 ... %d of them: sums are taken two by two", ranks->count,
                    RANKS_MOST);
}

/* ---- one that is killed ------------------------------------------------------------------------------- */

/* The launcher ends the others then, and says so in words of its own. */
static struct companion {
  pid_t process; /* 0: of another host, or none */
  char text[160];
} companions[RANKS_MOST];
static uint32_t own_rank;

static void know_companions(struct ranks *ranks) {
  struct rank_process {
    pid_t process;
    char host[64];
  } all[RANKS_MOST] = {0}, *own = &all[ranks->rank];
  own->process = getpid();
  gethostname(own->host, sizeof own->host - 1);
  const struct rank_process here = *own;
  ranks_unite(ranks, all, ranks->count * sizeof *all);
  for (uint32_t r = 0; r < ranks->count; r++) {
    snprintf(companions[r].text, sizeof companions[r].text, "l2sr: rank %u on %s, process %ld, was ended; the other ranks stop\n", r,
             all[r].host, (long)all[r].process);
    companions[r].process = strcmp(all[r].host, here.host) ? 0 : all[r].process;
  }
  own_rank = ranks->rank;
}

static bool is_gone(const struct companion *companion) {
  return companion->process && kill(companion->process, 0) && errno == ESRCH;
}

/* The first that is left tells, and all stay long enough to be seen. */
bool ranks_tell_ended(void) {
  const struct timespec pause = {.tv_nsec = 200000000};
  uint32_t first = 0;
  if (!companions[own_rank].process) return false;
  while (first < own_rank && (!companions[first].process || is_gone(&companions[first]))) first++;
  for (uint32_t r = 0; first == own_rank && r < RANKS_MOST; r++)
    if (is_gone(&companions[r]) && write(STDERR_FILENO, companions[r].text, strlen(companions[r].text)) < 0) return true;
  nanosleep(&pause, NULL);
  return true;
}

/* ---- joining ------------------------------------------------------------------------------------------- */

bool ranks_join(struct ranks *known, struct ranks **ranks, struct error *error) {
  const char *by = "";
  uint32_t size = told_size(&by);
  *ranks = NULL;
  if (size < 2) return true;
  if (!mpi_is_there)
    return fail_usage(error, "%s says that %u processes were started, and this program was built without MPI; install "
                      "libopenmpi-dev and build it anew, or start it alone", by, size);
  if (!mpi_join(known, error)) return false;
  if (known->count == 1) return refuse_apart(size, by, error);
  if (!check_size(known, error)) return false;
  know_companions(known);
  *ranks = known;
  return true;
}

void ranks_leave(struct ranks *ranks) {
  if (!ranks) return;
  ranks_meet(ranks);
  mpi_leave();
}

bool ranks_name(const struct ranks *ranks, const char *device, struct error *error) {
  char host[64] = "";
  if (!ranks) return false;
  gethostname(host, sizeof host - 1);
  return fail_in(error, "rank %u on %s, device %s", ranks->rank, host, device);
}

/* ---- starting them ------------------------------------------------------------------------------------- */

static volatile pid_t launcher; /* while it runs; else 0 */
static volatile sig_atomic_t passed;

bool ranks_pass_signal(int signal) {
  if (!launcher) return false;
  passed = signal;
  kill(launcher, signal);
  return true;
}

/* In the child: the launcher, which ends when this process does. It writes what ranks print into `output`. A terminal's signals
 * come to it from its parent, once, for the second would have it kill ranks that still write. */
static void become(const char *const *line, int output, int broken, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  int nothing = isatty(STDIN_FILENO) ? open("/dev/null", O_RDONLY) : STDIN_FILENO;
  if (setpgid(0, 0) == 0 && dup2(nothing, STDIN_FILENO) >= 0 && getppid() == parent && dup2(output, STDOUT_FILENO) >= 0) execvp(line[0], (char *const *)line);
  int code = errno;
  _exit(write(broken, &code, sizeof code) == sizeof code ? 127 : 126);
}

/* What ranks print goes through this process, for launchers lose what cannot be written without a word. Returns errno of the
 * first write that failed, or 0. */
static int pass_on(int from) {
  char bytes[4096];
  int failed = 0;
  for (ssize_t count; (count = read(from, bytes, sizeof bytes)) > 0 || (count < 0 && errno == EINTR);)
    for (ssize_t done = 0, now; count > 0 && !failed && done < count; done += now > 0 ? now : 0)
      if ((now = write(STDOUT_FILENO, bytes + done, (size_t)(count - done))) < 0 && errno != EINTR) failed = errno;
  return failed;
}

static void close_end(int *descriptor) {
  if (*descriptor >= 0) close(*descriptor);
  *descriptor = -1;
}

/* Ends with the launcher, by its status. Returns errno where it does not start. */
static int serve(const char *const *line) {
  int output[2] = {-1, -1}, broken[2] = {-1, -1}, code = 0, status = 0;
  pid_t own = getpid(), process = pipe2(output, O_CLOEXEC) || pipe2(broken, O_CLOEXEC) ? -1 : fork();
  if (process < 0) code = errno;
  if (!process) become(line, output[1], broken[1], own);
  close_end(&output[1]), close_end(&broken[1]);
  bool starts = process > 0 && read(broken[0], &code, sizeof code) != sizeof code;
  launcher = starts ? process : 0;
  int failed = starts ? pass_on(output[0]) : 0;
  close_end(&output[0]), close_end(&broken[0]);
  while (process > 0 && waitpid(process, &status, 0) < 0 && errno == EINTR) continue;
  launcher = 0;
  if (!starts) return code;
  if (passed) exit(128 + passed);
  if (failed) fprintf(stderr, "l2sr: cannot write the results: %s\n", strerror(failed));
  exit(failed ? 1 : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

bool ranks_start(uint32_t count, char *const *words, struct error *error) {
  struct arena *arena = arena_open();
  size_t given = 0, used = 0;
  while (words[given]) given++;
  const char **line = ARENA_NEW(arena, const char *, given + 12);
  line[used++] = "mpirun";
  if (mpi_is_open) { /* a rank's device has processors of its own to ask for */
    line[used++] = "--bind-to", line[used++] = "none";
    line[used++] = "--oversubscribe";
    if (!geteuid()) line[used++] = "--allow-run-as-root";
  }
  line[used++] = "-n", line[used++] = arena_text(arena, "%u", count);
  line[used++] = "/proc/self/exe";
  char program[4096];
  ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  if (length > 0) program[length] = 0, line[used - 1] = program;
  for (size_t i = 1; i < given; i++) line[used++] = words[i];
  int code = mpi_is_there ? serve(line) : 0;
  arena_close(arena);
  if (!mpi_is_there)
    return fail_usage(error, "%u devices take as many ranks, and this program was built without MPI; install libopenmpi-dev "
                      "and build it anew, or name one device", count);
  return fail_usage(error, "mpirun, which starts a rank for each of %u devices, does not start: %s; install openmpi-bin, or name "
                    "one device", count, strerror(code));
}
