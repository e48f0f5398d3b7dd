#include "systems/public/call.h"

#include "engine/base/lock.h"

#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

enum { HANDLES_MOST = 1024, SHIFT = 4 };
static const uintptr_t salt = (uintptr_t)0x6c327372 << (sizeof(uintptr_t) > 4 ? 32 : 0); /* as no address */

static struct handle {
  uintptr_t turn; /* how often the place was given before */
  void *object;   /* NULL: free */
  enum handle_kind kind;
  bool busy, lost;
} handles[HANDLES_MOST]; /* the process has one list; LOCK_HANDLES guards it */

static _Thread_local char refusal[sizeof((struct error *)0)->text];

const char *l2sr_last_error(void) {
  return refusal;
}

/* ---- forks --------------------------------------------------------------------------------------------- */

/* In a child that is forked the drivers' threads are not there, and what they held stays locked. */
static atomic_bool forked;
static pthread_once_t watched = PTHREAD_ONCE_INIT;

static void note_fork(void) {
  atomic_store(&forked, true);
}

static void watch_forks(void) {
  pthread_atfork(NULL, NULL, note_fork);
}

/* The first call in a process is what its children are watched from. */
static bool is_own_process(struct error *error) {
  if (!atomic_load(&forked)) {
    pthread_once(&watched, watch_forks);
    return true;
  }
  return fail_as(error, ERROR_CALL,
                 "this process was forked from one that had called l2sr, whose devices it cannot use; start "
                 "it anew (Python: multiprocessing's spawn)");
}

/* ---- handles ------------------------------------------------------------------------------------------- */

static void *value_of(size_t place) {
  uintptr_t number = handles[place].turn * HANDLES_MOST + place + 1;
  return (void *)(salt ^ (number << SHIFT));
}

static struct handle *find(const void *value, enum handle_kind kind) {
  uintptr_t number = ((uintptr_t)value ^ salt) >> SHIFT;
  size_t place = (number - 1) % HANDLES_MOST;
  struct handle *handle = &handles[place];
  return number && value == value_of(place) && handle->object && handle->kind == kind ? handle : NULL;
}

void *handle_give(enum handle_kind kind, void *object, struct error *error) {
  HOLD(LOCK_HANDLES);
  for (size_t place = 0; place < HANDLES_MOST; place++) {
    struct handle *handle = &handles[place];
    if (handle->object) continue;
    *handle = (struct handle){.turn = handle->turn, .object = object, .kind = kind};
    return value_of(place);
  }
  fail(error, "%d handles are open, which is the most; close some", HANDLES_MOST);
  return NULL;
}

static const char *opener(enum handle_kind kind) {
  static const char *const names[] = {[HANDLE_ENV] = "l2sr_env_open", [HANDLE_TABLE] = "l2sr_evaluate"};
  return names[kind];
}

/* Takes the handle for one call; a lost one only to be closed. */
static struct handle *take(const void *value, enum handle_kind kind, bool closes, struct error *error) {
  if (!is_own_process(error)) return NULL; /* before its lock, which the parent may have held */
  HOLD(LOCK_HANDLES);
  struct handle *handle = find(value, kind);
  if (!value)
    fail_as(error, ERROR_CALL, "the handle is NULL; %s gives one", opener(kind));
  else if (!handle)
    fail_as(error, ERROR_CALL, "this is no open handle: it was closed, or is none of %s", opener(kind));
  else if (handle->busy)
    fail_as(error, ERROR_CALL, "another call is at work on this handle; wait until it returns");
  else if (handle->lost && !closes)
    fail_as(error, ERROR_CALL,
            "a call on this handle was broken off, so it can only be closed; open another");
  else
    handle->busy = true;
  return handle && handle->busy && error->code == ERROR_NONE ? handle : NULL;
}

static void give_back(struct handle *handle, bool lost) {
  HOLD(LOCK_HANDLES);
  handle->busy = false;
  handle->lost |= lost;
}

static void forget(struct handle *handle) {
  HOLD(LOCK_HANDLES);
  handle->turn++;
  handle->object = NULL;
}

/* ---- calls --------------------------------------------------------------------------------------------- */

struct work {
  call_work_on *work;
  void *object, *arguments;
  bool returned;
};

static bool do_work(void *context, struct error *error) {
  struct work *work = context;
  bool good = work->work(work->object, work->arguments, error);
  work->returned = true;
  return good;
}

/* A write beyond the limit of a file's size (RLIMIT_FSIZE) sends the thread that writes a signal which ends the
 * program. It is kept back, so that the write comes back as an error; threads that begin here keep it back, too. */
struct kept_back {
  bool is_limited, was_pending;
  sigset_t before;
};

static sigset_t only_sigxfsz(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGXFSZ);
  return set;
}

static struct kept_back keep_back(void) {
  struct kept_back kept = {0};
  struct rlimit limit;
  sigset_t pending, set = only_sigxfsz();
  kept.is_limited = !getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur != RLIM_INFINITY;
  if (!kept.is_limited) return kept;
  sigpending(&pending);
  kept.was_pending = sigismember(&pending, SIGXFSZ) == 1;
  pthread_sigmask(SIG_BLOCK, &set, &kept.before);
  return kept;
}

static void let_go(const struct kept_back *kept) {
  sigset_t set = only_sigxfsz();
  if (!kept->is_limited) return;
  if (!kept->was_pending) sigtimedwait(&set, NULL, &(struct timespec){0});
  pthread_sigmask(SIG_SETMASK, &kept->before, NULL);
}

/* Numbers are read and written with a point. */
static bool work_in_c_locale(struct work *work, struct error *error) {
  locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0), before = uselocale(plain);
  struct kept_back kept = keep_back();
  bool good = rescue(do_work, work, error);
  let_go(&kept);
  uselocale(before);
  if (plain) freelocale(plain);
  return good;
}

static enum l2sr_code refuse(const struct error *error) {
  snprintf(refusal, sizeof refusal, "%s", error->text);
  return error->code == ERROR_NONE ? L2SR_FAILED
                                   : (enum l2sr_code)error->code; /* the same numbers: process.c */
}

enum l2sr_code call_plain(call_work_on *work, void *arguments) {
  struct error error = {.code = ERROR_NONE};
  struct work all = {.work = work, .arguments = arguments};
  return is_own_process(&error) && work_in_c_locale(&all, &error) ? L2SR_GOOD : refuse(&error);
}

enum l2sr_code call_on(const void *value, enum handle_kind kind, call_work_on *work, void *arguments) {
  struct error error = {.code = ERROR_NONE};
  struct handle *handle = take(value, kind, false, &error);
  if (!handle) return refuse(&error);
  struct work all = {.work = work, .object = handle->object, .arguments = arguments};
  bool good = work_in_c_locale(&all, &error);
  give_back(handle, !all.returned);
  return good ? L2SR_GOOD : refuse(&error);
}

enum l2sr_code call_close(const void *value, enum handle_kind kind, call_work_on *work) {
  struct error error = {.code = ERROR_NONE};
  struct handle *handle = take(value, kind, true, &error);
  if (!handle) return refuse(&error);
  struct work all = {.work = work, .object = handle->object};
  bool good = handle->lost || work_in_c_locale(&all, &error);
  forget(handle);
  return good ? L2SR_GOOD : refuse(&error);
}
