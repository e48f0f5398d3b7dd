/* The child's side: does to a file what this program will do, within limits. */
#include "engine/base/arena.h"
#include "engine/files/probe.h"
#include "engine/files/probe_message.h"
#include "engine/files/store_inside.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* A good file takes far less: texts of 1 MiB, some chunks of 16 MiB, milliseconds. The time grows with the
 * file, which may hold thousands of objects a MiB. */
enum { MEMORY_MOST = 256 << 20, SECONDS_LEAST = 2, SECONDS_MOST = 16 };
/* What is unpacked is all of the file, which may be compressed. */
enum { UNPACKING_LEAST = 30, UNPACKING_MOST = 600 };

/* ---- limits -------------------------------------------------------------------------------------------- */

static rlim_t half_of_host(void) {
  return (rlim_t)sysconf(_SC_PHYS_PAGES) / 2 * (rlim_t)sysconf(_SC_PAGESIZE);
}

/* Above what the program and its libraries have mapped. Sanitizers map terabytes. */
static void limit_memory(rlim_t above) {
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
  unsigned long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (file && fscanf(file, "%lu", &pages) == 1) {
    struct rlimit limit;
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + above;
    if (limit.rlim_cur > limit.rlim_max) limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_AS, &limit);
  }
  if (file) fclose(file);
#else
  (void)above;
#endif
}

/* No file that is unpacked takes more than half of the host's memory; what does is refused by the system (EFBIG). */
static void limit_files(void) {
  struct rlimit limit;
  getrlimit(RLIMIT_FSIZE, &limit);
  if (limit.rlim_cur > half_of_host()) limit.rlim_cur = half_of_host();
  setrlimit(RLIMIT_FSIZE, &limit);
  signal(SIGXFSZ, SIG_IGN);
}

/* The child's crashes are foreseen: they leave no core files, and no reports of a crash handler. */
static void leave_no_cores(void) {
  setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/* Closes the descriptors that the program left open: its pipes and sockets would stay open with this
 * child. */
static void close_files(void) {
  long most = sysconf(_SC_OPEN_MAX);
  if (close_range(STDERR_FILENO + 1, ~0u, 0) == 0) return; /* kernels before 5.9 do not know it */
  for (long i = STDERR_FILENO + 1; i < (most > 0 && most < 1 << 20 ? most : 1 << 20); i++) close((int)i);
}

/* Allows so many seconds of the processor from now on. */
static void limit_time(const char *path, off_t least, off_t most) {
  struct rusage used;
  struct rlimit limit;
  struct stat status;
  off_t seconds = stat(path, &status) ? 0 : least + (status.st_size >> 20);
  if (seconds > most) seconds = most;
  getrusage(RUSAGE_SELF, &used);
  getrlimit(RLIMIT_CPU, &limit);
  limit.rlim_cur = (rlim_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + 1 + (rlim_t)seconds;
  setrlimit(RLIMIT_CPU, &limit);
}

/* libhdf5 leaves memory unset where it meets an error, and reads of it later: whether that ends a program is
 * left to what lay there before. Here memory is never left as it was, and none is kept for use again. */
static void fill_memory(void) {
#ifdef M_PERTURB
  mallopt(M_PERTURB, 0x5a);
#endif
  H5set_free_list_limits(0, 0, 0, 0, 0, 0);
}

/* ---- looking ------------------------------------------------------------------------------------------- */

struct look {
  const struct probe_question *question;
  const char *path, *name; /* of a text; else the file is tried */
  struct probe_answer answer;
  bool lacking; /* memory was refused */
  char *data;   /* [STORE_TEXT_MOST]: the text of the answer */
};

static void answer_text(struct look *look, enum probe_kind kind) {
  look->answer.kind = kind;
  look->answer.bytes = (uint32_t)strlen(look->data) + 1;
}

/* Texts that go with the answer (probe_message.h). */
struct told {
  struct store *store;
  char *all; /* [PROBE_TOLD] */
  size_t bytes;
};

static void tell_text(const char *name, void *context) {
  struct told *told = context;
  char text[PROBE_TOLD_TEXT];
  size_t of_name = strlen(name) + 1;
  if (!store_text(told->store, name, text, sizeof text) || strlen(text) + 1 == sizeof text) return;
  size_t of_text = strlen(text) + 1;
  if (told->bytes + of_name + of_text > PROBE_TOLD) return;
  memcpy(told->all + told->bytes, name, of_name);
  memcpy(told->all + told->bytes + of_name, text, of_text);
  told->bytes += of_name + of_text;
}

static void answer_good(struct look *look, struct store *store) {
  struct told told = {.store = store, .all = look->data};
  struct error ignored;
  store_list_attributes(store, tell_text, &told, &ignored);
  look->answer = (struct probe_answer){PROBE_GOOD, (uint32_t)told.bytes};
}

/* The file is opened for each question anew: this program keeps no file of others open. */
static bool look_at(void *context, struct error *error) {
  struct look *look = context;
  struct store *store;
  H5Eset_auto2(H5E_DEFAULT, store_watch_memory, &look->lacking);
  if (!store_open_here(&store, look->path, error)) return true; /* the program says why */
  if (look->question->name) {
    if (store_text(store, look->name, look->data, STORE_TEXT_MOST)) answer_text(look, PROBE_GOOD);
  } else if (store_try(store, look->data, error)) {
    answer_good(look, store);
  } else {
    snprintf(look->data, STORE_TEXT_MOST, "%s", error->text);
    answer_text(look, PROBE_REFUSED);
  }
  store_close(store);
  return true;
}

struct unpack {
  probe_unpacker *by;
  struct probe_unpacking what;
};

static bool unpack(void *context, struct error *error) {
  const struct unpack *unpack = context;
  return unpack->by(&unpack->what, error);
}

/* Memory that is refused shows as the parser's own error, or ends it. */
static void unpack_file(struct unpack *of, struct look *look) {
  struct error error = {.text = ""};
  limit_time(of->what.path, UNPACKING_LEAST, UNPACKING_MOST);
  limit_memory(half_of_host());
  bool good = rescue(unpack, of, &error);
  limit_memory(MEMORY_MOST);
  look->lacking = !good && error.code == ERROR_MEMORY && !error.text[0];
  if (!good) snprintf(look->data, STORE_TEXT_MOST, "%s", error.text);
  answer_text(look, good ? PROBE_GOOD : PROBE_REFUSED);
}

/* ---- serving ------------------------------------------------------------------------------------------- */

static bool read_all(void *data, size_t bytes) {
  for (char *at = data; bytes;) {
    ssize_t got = read(STDIN_FILENO, at, bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    bytes -= (size_t)got;
  }
  return true;
}

static bool answer(struct arena *arena, const struct probe_question *question, probe_unpacker *by, char *data) {
  struct look look = {.question = question, .data = data};
  struct error error;
  char *path = arena_try(arena, question->path), *name = arena_try(arena, (size_t)question->name + 1),
       *to = arena_try(arena, (size_t)question->to + 1);
  if (!path || !name || !to || !read_all(path, question->path) || !read_all(name, question->name) ||
      !read_all(to, question->to))
    return false;
  look.path = path;
  look.name = name;
  look.answer.kind = PROBE_NONE;
  data[0] = 0;
  if (question->to) {
    unpack_file(&(struct unpack){by, {path, name, to, "", data, STORE_TEXT_MOST}}, &look);
  } else {
    limit_time(path, SECONDS_LEAST, SECONDS_MOST);
    if (!rescue(look_at, &look, &error)) look.lacking |= error.code == ERROR_MEMORY;
  }
  if (look.lacking) look.answer = (struct probe_answer){.kind = PROBE_MEMORY};
  return probe_send(STDIN_FILENO, &look.answer, sizeof look.answer) &&
         probe_send(STDIN_FILENO, data, look.answer.bytes);
}

int probe_serve(probe_unpacker *by) {
  struct arena *arena = arena_open();
  struct probe_question question;
  void *data = arena_new(arena, STORE_TEXT_MOST);
  uint32_t ready = PROBE_READY;
  close_files();
  leave_no_cores();
  fill_memory();
  store_start();
  limit_files();
  limit_memory(MEMORY_MOST);
  bool good = probe_send(STDIN_FILENO, &ready, sizeof ready);
  while (good && read_all(&question, sizeof question)) {
    struct arena *own = arena_open();
    good = answer(own, &question, by, data);
    arena_close(own);
  }
  arena_close(arena);
  return 0;
}
