#include "engine/device/room.h"

#include "engine/base/log.h"
#include "engine/files/descriptors.h"

#include <dirent.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* Measured with PoCL 3.1 and LLVM 14: loading takes 390 MiB, compiling networks up to 350 more. An allocator
 * keeps an arena of 64 MiB for every thread. What is advised is enough for what comes later, too: the buffers and
 * networks of scenes as this program has them. */
enum { MIB = 1 << 20, LOADED = 400, COMPILED = 384, ARENA = 64, STACK = 8, STACK_LEAST = 1, THREADS_MOST = 1024, FILES = 16, COMPILED_FILE = 2, LATER = 1024, STEP = 256 };

struct limit {
  int kind;
  const char *what, *name; /* name: in the shell, and as the system calls it */
  double most;             /* bytes */
};

static bool limit_of(int kind, struct limit *limit) {
  struct rlimit own;
  bool data = kind == RLIMIT_DATA;
  if (getrlimit((__rlimit_resource_t)kind, &own) || own.rlim_cur == RLIM_INFINITY) return false;
  *limit = (struct limit){kind, data ? "data" : "address space",
                          data ? "ulimit -d, RLIMIT_DATA" : "ulimit -v, RLIMIT_AS", (double)own.rlim_cur};
  return true;
}

/* Bytes of address space, or of it what is data. */
static double taken(int kind) {
  unsigned long all = 0, data = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (!file) return 0;
  if (fscanf(file, "%lu %*u %*u %*u %*u %lu", &all, &data) != 2) all = data = 0;
  fclose(file);
  return (double)(kind == RLIMIT_DATA ? data : all) * (double)sysconf(_SC_PAGESIZE);
}

/* The system is asked: it knows all that counts. */
static bool is_there(size_t bytes) {
  void *place = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (place == MAP_FAILED) return false;
  munmap(place, bytes);
  return true;
}

/* A limit, in MiB, that holds so much and what comes later. */
static double enough(double bytes) {
  return STEP * ceil((bytes / MIB + LATER) / STEP);
}

/* `later`: what is known to be needed after it. */
static bool find_room(size_t bytes, size_t later, const char *what, struct error *error) {
  struct limit space, data;
  bool limits_space = limit_of(RLIMIT_AS, &space), limits_data = limit_of(RLIMIT_DATA, &data);
  if ((!limits_space && !limits_data) || is_there(bytes)) return true;
  bool is_data = !limits_space || (limits_data && taken(RLIMIT_AS) + (double)bytes <= space.most);
  const struct limit *limit = is_data ? &data : &space;
  double used = taken(limit->kind);
  return fail_memory(
      error,
      "%.0f MiB more of %s are needed for %s: this process has taken %.0f MiB and may have %.0f MiB "
      "(%s; clusters set it, as SGE's h_vmem); raise the limit to %.0f MiB",
      (double)bytes / MIB, limit->what, what, used / MIB, limit->most / MIB, limit->name,
      enough(used + (double)bytes + (double)later));
}

/* What takes much is followed by as much again, twice: arrays of many scans take two times what their columns do. */
bool room_for(size_t bytes, const char *what, struct error *error) {
  size_t kernels = room_for_kernels(), own = bytes > kernels ? bytes - kernels : 0;
  return find_room(bytes, 2 * own, what, error);
}

bool room_for_compiled(struct error *error) {
  struct rlimit own;
  if (getrlimit(RLIMIT_FSIZE, &own) || own.rlim_cur == RLIM_INFINITY || own.rlim_cur >= (rlim_t)COMPILED_FILE * MIB)
    return true;
  return fail_as(error, ERROR_FAILED,
                 "PoCL's compiler writes files of up to %d MiB, and ends the program where it cannot: this process may "
                 "write %.4g MiB (ulimit -f, RLIMIT_FSIZE); set the limit to unlimited",
                 COMPILED_FILE, (double)own.rlim_cur / MIB);
}

size_t room_for_kernels(void) {
  return (size_t)COMPILED * MIB;
}

/* ---- drivers ------------------------------------------------------------------------------------------- */

/* What PoCL starts when its devices are listed. */
static size_t count_threads(void) {
  const char *set = getenv("POCL_MAX_PTHREAD_COUNT");
  long count = set && atol(set) > 0 ? atol(set) : sysconf(_SC_NPROCESSORS_ONLN);
  return count < 1 ? 1 : count > THREADS_MOST ? THREADS_MOST : (size_t)count;
}

static size_t stack_bytes(void) {
  struct rlimit stack;
  bool known = !getrlimit(RLIMIT_STACK, &stack) && stack.rlim_cur != RLIM_INFINITY;
  return known ? (size_t)stack.rlim_cur : (size_t)STACK * MIB;
}

bool room_for_stack(struct error *error) {
  if (stack_bytes() >= (size_t)STACK_LEAST * MIB) return true;
  return fail_memory(error, "the stack may have %zu KiB (ulimit -s, RLIMIT_STACK); allow %d at least, %d are usual",
                     stack_bytes() >> 10, STACK_LEAST << 10, STACK << 10);
}

static void *wait_for_all(void *gate) {
  pthread_mutex_lock(gate);
  pthread_mutex_unlock(gate);
  return NULL;
}

/* Starts them all at once; gives how many started. */
static size_t start_threads(size_t count) {
  pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
  pthread_t threads[THREADS_MOST];
  size_t started = 0;
  pthread_mutex_lock(&gate);
  while (started < count && !pthread_create(&threads[started], NULL, wait_for_all, &gate)) started++;
  pthread_mutex_unlock(&gate);
  for (size_t i = 0; i < started; i++) pthread_join(threads[i], NULL);
  return started;
}

static bool check_threads(size_t count, struct error *error) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NPROC, &limit) || limit.rlim_cur == RLIM_INFINITY) return true;
  size_t started = start_threads(count);
  return started == count ||
         fail_memory(error,
                     "PoCL needs %zu threads, and %zu could be started: this user may have %llu "
                     "processes and threads in all (ulimit -u, RLIMIT_NPROC); end some, raise the limit, or "
                     "set POCL_MAX_PTHREAD_COUNT to a smaller number",
                     count, started, (unsigned long long)limit.rlim_cur);
}

static size_t thread_bytes(void) {
  return count_threads() * (stack_bytes() + (size_t)ARENA * MIB);
}

static bool names_pocl(const char *path) {
  char line[4096] = "";
  FILE *file = fopen(path, "r");
  if (!file) return true;
  bool named = fgets(line, sizeof line, file) && strstr(line, "pocl");
  fclose(file);
  return named;
}

/* By the list of drivers; where there is none, nobody knows. */
static bool may_have_pocl(void) {
  const char *set = getenv("OCL_ICD_VENDORS"), *folder = set && *set ? set : "/etc/OpenCL/vendors";
  char path[4096];
  DIR *list = opendir(folder);
  bool found = !list;
  for (struct dirent *entry; list && !found && (entry = readdir(list));) {
    const char *ending = strrchr(entry->d_name, '.');
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    found = ending && !strcmp(ending, ".icd") && names_pocl(path);
  }
  if (list) closedir(list);
  return found;
}

bool room_for_drivers(size_t later, struct error *error) {
  static const char what[] = "an OpenCL driver with its compiler";
  return room_for_stack(error) && descriptors_for(FILES, what, error) &&
         find_room((size_t)(LOADED + COMPILED) * MIB, later + (may_have_pocl() ? thread_bytes() : 0), what, error);
}

bool room_for_pocl(struct error *error) {
  size_t threads = count_threads();
  char what[128];
  snprintf(what, sizeof what, "PoCL's compiler and %zu thread%s (POCL_MAX_PTHREAD_COUNT)", threads, plural(threads));
  return find_room((size_t)COMPILED * MIB + thread_bytes(), 0, what, error) && check_threads(threads, error);
}

bool room_is_limited(void) {
  struct limit limit;
  return limit_of(RLIMIT_AS, &limit) || limit_of(RLIMIT_DATA, &limit);
}

void room_limits(char *text, size_t size) {
  static const struct {
    int kind;
    const char *what, *name;
  } limits[] = {{RLIMIT_AS, "address space", "ulimit -v, RLIMIT_AS"},
                {RLIMIT_DATA, "memory for data", "ulimit -d, RLIMIT_DATA"},
                {RLIMIT_FSIZE, "files", "ulimit -f, RLIMIT_FSIZE"}};
  size_t used = 0;
  struct rlimit own;
  text[0] = 0;
  for (size_t i = 0; i < sizeof limits / sizeof *limits && used < size; i++)
    if (!getrlimit((__rlimit_resource_t)limits[i].kind, &own) && own.rlim_cur != RLIM_INFINITY)
      used += (size_t)snprintf(text + used, size - used, "%s%s of at most %.4g MiB (%s)",
                               used ? ", " : "; the cause may be a limit: ", limits[i].what,
                               (double)own.rlim_cur / MIB, limits[i].name);
}
