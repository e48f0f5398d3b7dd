/* The child's side: reads of a file what is read of files before their data, within limits. */
#include "engine/base/arena.h"
#include "engine/files/probe.h"
#include "engine/files/probe_message.h"
#include "engine/files/store_inside.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

/* A good file takes far less: texts of 1 MiB, a few MiB of chunks, milliseconds. */
enum {
  MEMORY_MOST = 512 << 20,
  SECONDS_MOST = 2,
  READ_MOST = 16 << 20,
  TEXT_SIZE = 1 << 20,
  OBJECTS_MOST = 1 << 12
};

struct look {
  hid_t file;
  bool memory; /* an allocation was refused */
  size_t seen;
  void *data; /* [READ_MOST] */
};

/* ---- limits -------------------------------------------------------------------------------------------- */

/* Above what the program and its libraries have mapped. Sanitizers map terabytes. */
static void limit_memory(void) {
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
  unsigned long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (file && fscanf(file, "%lu", &pages) == 1) {
    rlim_t most = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + MEMORY_MOST;
    setrlimit(RLIMIT_AS, &(struct rlimit){most, most});
  }
  if (file) fclose(file);
#endif
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
static void limit_time(void) {
  struct rusage used;
  struct rlimit limit;
  getrusage(RUSAGE_SELF, &used);
  getrlimit(RLIMIT_CPU, &limit);
  limit.rlim_cur = (rlim_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + 1 + SECONDS_MOST;
  setrlimit(RLIMIT_CPU, &limit);
}

/* ---- looking ------------------------------------------------------------------------------------------- */

static herr_t see_error(unsigned n, const H5E_error2_t *entry, void *data) {
  (void)n;
  *(bool *)data |= entry->min_num == H5E_NOSPACE || entry->min_num == H5E_CANTALLOC;
  return 0;
}

/* After every call of libhdf5 that may have failed. */
static void note_memory(struct look *look) {
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, see_error, &look->memory);
}

static void look_at_numbers(struct look *look, hid_t dataset, hid_t space, hid_t type) {
  hsize_t size[H5S_MAX_RANK], start[H5S_MAX_RANK] = {0}, count[H5S_MAX_RANK], entries = 1;
  int rank = H5Sget_simple_extent_dims(space, size, NULL);
  for (int i = 0; i < rank; i++) {
    count[i] = size[i] < 4 ? size[i] : 4;
    entries *= count[i];
  }
  if (rank < 0 || !entries || entries > 4096 || H5Tget_size(type) > READ_MOST / 4096) return;
  if (rank) H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
  hid_t memory = H5Screate_simple(1, &entries, NULL);
  H5Dread(dataset, type, memory, space, H5P_DEFAULT, look->data);
  note_memory(look);
  H5Sclose(memory);
}

/* A chunk is read as a whole. */
static bool has_large_chunks(hid_t dataset, hid_t type) {
  hsize_t chunk[H5S_MAX_RANK];
  hid_t plist = H5Dget_create_plist(dataset);
  int rank = H5Pget_layout(plist) == H5D_CHUNKED ? H5Pget_chunk(plist, H5S_MAX_RANK, chunk) : 0;
  double bytes = (double)H5Tget_size(type);
  for (int i = 0; i < rank; i++) bytes *= (double)chunk[i];
  H5Pclose(plist);
  return rank < 0 || bytes > READ_MOST;
}

static void look_at_dataset(struct look *look, const char *name) {
  hid_t dataset = H5Dopen2(look->file, name, H5P_DEFAULT);
  note_memory(look);
  if (dataset < 0) return;
  hid_t space = H5Dget_space(dataset), type = H5Dget_type(dataset);
  H5T_class_t class = H5Tget_class(type);
  H5Dget_storage_size(dataset);
#if H5_VERSION_GE(1, 10, 5)
  hsize_t chunks;
  H5Dget_num_chunks(dataset, space, &chunks);
#endif
  bool numbers = class == H5T_INTEGER || class == H5T_FLOAT || class == H5T_COMPOUND || class == H5T_ENUM;
  if (numbers && H5Tdetect_class(type, H5T_VLEN) <= 0 && !has_large_chunks(dataset, type))
    look_at_numbers(look, dataset, space, type);
  H5Tclose(type);
  H5Sclose(space);
  H5Dclose(dataset);
}

static bool read_text(struct look *look, const char *name) {
  struct store store = {.file = look->file, .path = ""};
  H5Eclear2(H5E_DEFAULT);
  bool found = store_text_here(&store, name, look->data, TEXT_SIZE);
  note_memory(look);
  return found;
}

static herr_t see_object(hid_t root, const char *name, const H5O_info_t *info, void *data) {
  struct look *look = data;
  (void)root;
  if (info->type != H5O_TYPE_DATASET) return 0;
  look_at_dataset(look, name);
  read_text(look, name);
  return ++look->seen > OBJECTS_MOST;
}

static herr_t see_attribute(hid_t root, const char *name, const H5A_info_t *info, void *data) {
  struct look *look = data;
  struct store store = {.file = look->file, .path = ""};
  double value;
  (void)root;
  (void)info;
  if (!read_text(look, name)) store_number(&store, name, &value);
  note_memory(look);
  return ++look->seen > OBJECTS_MOST;
}

static void look_at(struct look *look, const char *path) {
  hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  store_without_locks(access);
  look->file = H5Fopen(path, H5F_ACC_RDONLY, access);
  note_memory(look);
  H5Pclose(access);
}

static enum probe_kind answer_file(struct look *look) {
  if (look->file < 0) return look->memory ? PROBE_MEMORY : PROBE_NONE;
  H5Aiterate2(look->file, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, see_attribute, look);
  note_memory(look);
  H5Ovisit(look->file, H5_INDEX_NAME, H5_ITER_NATIVE, see_object, look);
  note_memory(look);
  return look->memory ? PROBE_MEMORY : PROBE_GOOD;
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

/* The file is opened for each question anew: this program keeps no file of others open. */
static bool answer(struct arena *arena, const struct probe_question *question, void *data) {
  struct look look = {.data = data};
  struct probe_answer answer = {.kind = PROBE_NONE};
  char *path = arena_try(arena, question->path), *name = arena_try(arena, (size_t)question->name + 1);
  if (!path || !name || !read_all(path, question->path) || !read_all(name, question->name)) return false;
  limit_time();
  look_at(&look, path);
  if (!question->name) {
    answer.kind = answer_file(&look);
  } else if (look.file >= 0 && read_text(&look, name)) {
    answer.kind = PROBE_GOOD;
    answer.bytes = (uint32_t)strlen(data) + 1;
  }
  if (look.file >= 0) H5Fclose(look.file);
  return probe_send(STDIN_FILENO, &answer, sizeof answer) && probe_send(STDIN_FILENO, data, answer.bytes);
}

int probe_serve(void) {
  struct arena *arena = arena_open();
  struct probe_question question;
  void *data = arena_new(arena, READ_MOST);
  uint32_t ready = PROBE_READY;
  close_files();
  leave_no_cores();
  store_start();
  limit_memory();
  bool good = probe_send(STDIN_FILENO, &ready, sizeof ready);
  while (good && read_all(&question, sizeof question)) {
    struct arena *own = arena_open();
    good = answer(own, &question, data);
    arena_close(own);
  }
  arena_close(arena);
  return 0;
}
