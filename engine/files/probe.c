#include "engine/files/probe.h"
#include "engine/base/arena.h"
#include "engine/base/lock.h"
#include "engine/base/log.h"
#include "engine/files/probe_message.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

/* Seconds. A disk may be slow and the processors busy, so the time that counts is the processor's, which the
 * child limits itself. It is late where it has used less than USED_LEAST of it meanwhile. */
#define WAIT_MOST 20
#define USED_LEAST 0.5
enum { TRIES = 2 };

struct verdict {
  const struct verdict *next;
  const char *path;
  struct stat status;
  const char *fault; /* NULL: none */
  const char *told;  /* texts of the file (probe_message.h), */
  size_t bytes;      /* so many bytes of them */
};

static struct {
  const char *program;
  pid_t pid; /* 0: none */
  int socket;
  bool ready;          /* it has said so */
  bool said;           /* that nothing looks at files first */
  struct arena *arena; /* holds the verdicts until there is no program to look; NULL: there are none */
  const struct verdict *verdicts;
} probe; /* the process has one; LOCK_PROBE guards it */

/* ---- the child ----------------------------------------------------------------------------------------- */

/* Warns once: every file would say the same. */
static void warn_unprobed(const char *why) {
  if (!probe.said)
    log_warning("no child process looks at HDF5 files first: %s; a damaged file may end this program", why);
  probe.said = true;
}

/* The environment of the child. OpenBLAS and its like, which LAPACK may be, start a thread for each processor when they
 * are loaded: the threads would take of the memory and time that the child allows for a file. */
static char **child_environment(struct arena *arena) {
  static const char *const one[] = {"OPENBLAS_NUM_THREADS=1", "BLIS_NUM_THREADS=1", "MKL_NUM_THREADS=1",
                                    "OMP_NUM_THREADS=1"};
  enum { ONES = sizeof one / sizeof *one };
  size_t count = 0, kept = 0;
  while (environ && environ[count]) count++;
  char **all = ARENA_NEW(arena, char *, count + ONES + 1);
  for (size_t i = 0; i < ONES; i++) all[kept++] = arena_text(arena, "%s", one[i]);
  for (size_t i = 0; i < count; i++) {
    bool set = false;
    for (size_t k = 0; k < ONES; k++) set |= !strncmp(environ[i], one[k], strlen(one[k]) - 1);
    if (!set) all[kept++] = environ[i];
  }
  all[kept] = NULL;
  return all;
}

/* Starts the child in a group of its own: the signals by which a terminal stops this program are no fault of
 * a file. */
static bool spawn(int socket) {
  struct arena *arena = arena_open();
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  char name[] = "l2sr", word[] = PROBE_WORD;
  char *words[] = {name, word, NULL}, why[512];
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&actions, socket, STDIN_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  int code = posix_spawn(&probe.pid, probe.program, &actions, &attributes, words, child_environment(arena));
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  arena_close(arena);
  if (!code) return true;
  probe.pid = 0;
  snprintf(why, sizeof why, "%s cannot be started, %s", probe.program, strerror(code));
  warn_unprobed(why);
  return false;
}

static bool start(void) {
  int pair[2];
  if (probe.pid) return true;
  if (!probe.program || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) return false;
  bool good = spawn(pair[1]);
  probe.ready = false;
  close(pair[1]);
  if (good)
    probe.socket = pair[0];
  else
    close(pair[0]);
  return good;
}

/* Ends the child, and returns the signal that ended it; 0: none, or nobody knows, as where the program that
 * this is a part of ignores SIGCHLD. */
static int stop(bool kill_it) {
  int status = 0;
  pid_t ended;
  if (kill_it) kill(probe.pid, SIGKILL);
  close(probe.socket);
  while ((ended = waitpid(probe.pid, &status, 0)) < 0 && errno == EINTR) continue;
  bool known = ended == probe.pid && WIFSIGNALED(status);
  probe.pid = 0;
  return known ? WTERMSIG(status) : 0;
}

static void forget_verdicts(void) {
  arena_close(probe.arena);
  probe.arena = NULL;
  probe.verdicts = NULL;
}

void probe_with(const char *program) {
  HOLD(LOCK_PROBE);
  bool same = program && probe.program && !strcmp(program, probe.program);
  if (probe.pid && !same) stop(true);
  if (!program) forget_verdicts();
  probe.program = program;
  probe.said = false;
}

/* ---- asking -------------------------------------------------------------------------------------------- */

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

enum outcome { ANSWERED, ENDED, LATE };

bool probe_send(int socket, const void *data, size_t bytes) {
  for (const char *at = data; bytes;) {
    ssize_t sent = send(socket, at, bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    at += sent;
    bytes -= (size_t)sent;
  }
  return true;
}

/* Seconds of the processor that the child has used. */
static double used(void) {
  struct timespec time;
  clockid_t clock;
  if (clock_getcpuclockid(probe.pid, &clock) || clock_gettime(clock, &time)) return 0;
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* An answer that has come is taken however late it is: this program may have been stopped meanwhile, not the
 * child. */
static enum outcome receive_all(void *data, size_t bytes) {
  double end = now() + WAIT_MOST, before = used();
  for (char *at = data; bytes;) {
    struct pollfd ready = {.fd = probe.socket, .events = POLLIN};
    double left = end - now();
    int found = poll(&ready, 1, left > 0 ? (int)(left * 1000) + 1 : 0);
    if (found == 0 && probe.ready && used() - before >= USED_LEAST) { /* no program without limits */
      end = now() + WAIT_MOST;
      before = used();
      continue;
    }
    if (found == 0) return LATE;
    ssize_t got = found < 0 ? -1 : recv(probe.socket, at, bytes, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return ENDED;
    at += got;
    bytes -= (size_t)got;
    end = now() + WAIT_MOST;
  }
  return ANSWERED;
}

/* The part of a text that does not fit is read and forgotten. */
static enum outcome receive_text(char *text, size_t size, size_t bytes) {
  size_t kept = bytes < size ? bytes : size;
  char rest[4096];
  enum outcome outcome = receive_all(text, kept);
  for (bytes -= kept; outcome == ANSWERED && bytes; bytes -= kept) {
    kept = bytes < sizeof rest ? bytes : sizeof rest;
    outcome = receive_all(rest, kept);
  }
  if (size) text[size - 1] = 0;
  return outcome;
}

struct asking {
  const char *path, *name; /* NULL: look at the file */
  const char *to, *library; /* NULL: it is not unpacked */
  char *text;
  size_t size;
};

/* A child that never was ready says nothing about a file. */
static enum outcome await_ready(void) {
  uint32_t word = PROBE_READY;
  enum outcome outcome = probe.ready ? ANSWERED : receive_all(&word, sizeof word);
  if (outcome == ANSWERED && word != PROBE_READY) return ENDED;
  probe.ready = outcome == ANSWERED;
  return outcome;
}

/* Paths go out whole: this program may have gone to another folder since the child was started. */
static enum outcome ask_once(const struct asking *asking, struct probe_answer *answer) {
  char whole[PATH_MAX], whole_to[PATH_MAX];
  const char *path = realpath(asking->path, whole) ? whole : asking->path,
             *to = asking->to && realpath(asking->to, whole_to) ? whole_to : asking->to;
  struct probe_question question = {.path = (uint32_t)strlen(path) + 1};
  if (asking->name) question.name = (uint32_t)strlen(asking->name) + 1;
  if (to) question.to = (uint32_t)strlen(to) + 1;
  if (!probe_send(probe.socket, &question, sizeof question) ||
      !probe_send(probe.socket, path, question.path) ||
      !probe_send(probe.socket, asking->name, question.name) || !probe_send(probe.socket, to, question.to))
    return ENDED;
  enum outcome outcome = receive_all(answer, sizeof *answer);
  return outcome == ANSWERED ? receive_text(asking->text, asking->size, answer->bytes) : outcome;
}

/* "it is damaged, libhdf5 crashes on it; ..." */
static const char *damaged(const struct asking *asking, const char *what) {
  return arena_text(probe.arena, "it is damaged, %s %s; fetch or write it again",
                    asking->library ? asking->library : "libhdf5", what);
}

#define STRING(number) #number
#define TEXT(number) STRING(number)

/* Why there is no answer, in words; NULL: it may have nothing to do with the file. */
static const char *fault_of(const struct asking *asking, enum outcome outcome, int signal) {
  static const int crashes[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGSYS};
  for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
    if (signal == crashes[i]) return damaged(asking, "crashes on it");
  if (outcome == LATE)
    return "the program that looks at it first did not answer in " TEXT(
        WAIT_MOST) " s; is the disk slow, or the file damaged?";
  return signal == SIGXCPU ? damaged(asking, "comes to no end with it") : NULL;
}

/* False: no answer, and *fault says why. A child that somebody ended is started again; one that was ready and
 * ends twice on the same question (a sanitizer's or the memory killer's work) is ended by the file. */
static bool ask(const struct asking *asking, struct probe_answer *answer, const char **fault) {
  int ended = 0;
  *fault = NULL;
  for (int tries = 0; tries < TRIES && !*fault; tries++) {
    if (!start()) return false;
    enum outcome outcome = await_ready();
    if (outcome == ANSWERED) outcome = ask_once(asking, answer);
    if (outcome == ANSWERED) return true;
    int signal = stop(outcome == LATE || !probe.ready); /* another program may go on for long */
    if (probe.ready) *fault = fault_of(asking, outcome, signal);
    ended += probe.ready;
    if (!probe.ready && outcome == LATE) probe.program = NULL; /* each file would wait as long */
    if (!probe.ready) warn_unprobed("the program that was started for it is another, or too old");
  }
  if (ended == TRIES && !*fault) *fault = damaged(asking, "ends a program that reads it");
  return false;
}

/* ---- verdicts ------------------------------------------------------------------------------------------ */

static bool same_file(const struct stat *a, const struct stat *b) {
  return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
         a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static const struct verdict *find_verdict(const char *path, const struct stat *status) {
  for (const struct verdict *verdict = probe.verdicts; verdict; verdict = verdict->next)
    if (same_file(&verdict->status, status) && !strcmp(verdict->path, path)) return verdict;
  return NULL;
}

static void keep_verdict(const struct asking *asking, const struct stat *status, const struct probe_answer *answer,
                         const char *fault) {
  struct verdict *verdict = ARENA_NEW(probe.arena, struct verdict, 1);
  *verdict = (struct verdict){probe.verdicts, arena_text(probe.arena, "%s", asking->path), *status, fault, NULL, 0};
  if (!fault && answer->bytes <= asking->size) { /* a program of another version may tell more */
    char *told = arena_new(probe.arena, answer->bytes + 1);
    memcpy(told, asking->text, answer->bytes);
    verdict->told = told;
    verdict->bytes = answer->bytes;
  }
  probe.verdicts = verdict;
}

/* The text of that name among those that came with the verdict; NULL: it is not among them. */
static const char *told_text(const struct verdict *verdict, const char *name) {
  for (const char *at = verdict->told, *end = at + verdict->bytes; at < end;) {
    const char *text = at + strlen(at) + 1;
    if (text >= end) return NULL;
    if (!strcmp(at, name)) return text;
    at = text + strlen(text) + 1;
  }
  return NULL;
}

/* What an answer says against the file; NULL: nothing. */
static const char *fault_in(const struct asking *asking, const struct probe_answer *answer) {
  if (answer->kind == PROBE_MEMORY) return damaged(asking, "takes more memory for it than any file needs");
  if (answer->kind != PROBE_REFUSED) return NULL;
  return damaged(asking, arena_text(probe.arena, "cannot list what it holds (%s)", asking->text));
}

/* Asks; a fault is kept as the file's verdict. False: there is no answer and no fault. */
static bool judge(const struct asking *asking, const struct stat *status, struct probe_answer *answer,
                  const char **fault) {
  if (!probe.arena) probe.arena = arena_open();
  bool answered = ask(asking, answer, fault);
  if (answered) *fault = fault_in(asking, answer);
  if (*fault || (answered && !asking->name)) keep_verdict(asking, status, answer, *fault);
  return answered || *fault;
}

/* Whether there is somebody to ask, and a file. */
static bool can_ask(const char *path, struct stat *status) {
  if (!probe.program) warn_unprobed("no program was named for it (l2sr_look_with)");
  return probe.program && stat(path, status) == 0;
}

bool probe_file(const char *path, struct error *error) {
  HOLD(LOCK_PROBE);
  char text[PROBE_TOLD] = "";
  struct asking asking = {.path = path, .text = text, .size = sizeof text};
  struct probe_answer answer;
  struct stat status;
  const char *fault = NULL;
  if (!can_ask(path, &status)) return true;
  const struct verdict *verdict = find_verdict(path, &status);
  if (verdict)
    fault = verdict->fault;
  else
    judge(&asking, &status, &answer, &fault);
  return !fault || fail_file(error, "cannot read %s: %s", path, fault);
}

enum probe_found probe_text(const char *path, const char *name, char *text, size_t size) {
  HOLD(LOCK_PROBE);
  struct asking asking = {.path = path, .name = name, .text = text, .size = size};
  struct probe_answer answer;
  struct stat status;
  const char *fault;
  if (!can_ask(path, &status)) return PROBE_UNASKED;
  const struct verdict *verdict = find_verdict(path, &status);
  if (verdict && verdict->fault) return PROBE_MISSING;
  const char *told = verdict ? told_text(verdict, name) : NULL;
  if (told) {
    snprintf(text, size, "%s", told);
    return PROBE_FOUND;
  }
  if (!judge(&asking, &status, &answer, &fault)) return PROBE_UNASKED;
  return !fault && answer.kind == PROBE_GOOD ? PROBE_FOUND : PROBE_MISSING;
}

/* False: nobody was asked. */
static bool ask_to_unpack(struct asking *asking, struct probe_answer *answer, const char **fault) {
  HOLD(LOCK_PROBE);
  struct stat status;
  *fault = NULL;
  if (!can_ask(asking->path, &status)) return false;
  if (!probe.arena) probe.arena = arena_open();
  bool answered = ask(asking, answer, fault);
  if (answered && answer->kind != PROBE_REFUSED) *fault = fault_in(asking, answer);
  return answered || *fault;
}

enum probe_found probe_unpack(const struct probe_unpacking *unpacking, struct error *error) {
  char text[sizeof error->text] = "";
  struct asking asking = {unpacking->path, unpacking->how, unpacking->to, unpacking->library, text, sizeof text};
  struct probe_answer answer = {.kind = PROBE_NONE};
  const char *fault;
  if (!ask_to_unpack(&asking, &answer, &fault)) return PROBE_UNASKED;
  if (fault) fail_file(error, "cannot read %s: %s", unpacking->path, fault);
  if (!fault && answer.kind == PROBE_REFUSED) fail_file(error, "%s", text);
  if (fault || answer.kind == PROBE_REFUSED) return PROBE_MISSING;
  snprintf(unpacking->told, unpacking->size, "%s", text);
  return PROBE_FOUND;
}
