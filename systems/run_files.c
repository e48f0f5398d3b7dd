#include "systems/run_files.h"

#include "engine/arena.h"
#include "engine/log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

char *run_scene_text(const struct options *options) {
  char *scene = NULL;
  size_t size = 0;
  FILE *memory = open_memstream(&scene, &size);
  if (!memory) return NULL;
  option_print(&option_table, options, false, memory);
  fclose(memory);
  return scene;
}

/* Whether the row is on the list: as section.name, or its whole section as `section.` */
static bool is_listed(const struct option *row, const char *const list[]) {
  char key[128];
  snprintf(key, sizeof key, "%s.%s", row->section, row->name);
  for (size_t i = 0; list[i]; i++) {
    size_t length = strlen(list[i]);
    bool section = list[i][length - 1] == '.';
    if (section ? !strncmp(key, list[i], length) : !strcmp(key, list[i])) return true;
  }
  return false;
}

/* The value of a row in the text that option_print made, or NULL. */
static const char *stored_value(const char *scene, const struct option *row, struct arena *arena) {
  const char *header = arena_text(arena, "%s:\n", row->section), *at = scene;
  const char *label = arena_text(arena, "  %s: ", row->name);
  while (at && strncmp(at, header, strlen(header))) at = (at = strchr(at, '\n')) ? at + 1 : NULL;
  if (at) at = strchr(at, '\n') + 1;
  for (; at && *at == ' '; at = (at = strchr(at, '\n')) ? at + 1 : NULL)
    if (!strncmp(at, label, strlen(label)))
      return arena_text(arena, "%.*s", (int)strcspn(at + strlen(label), "\n"), at + strlen(label));
  return NULL;
}

bool run_same_scene(const struct options *options, const char *stored, const char *const may_differ[],
                    struct error *error) {
  struct arena *arena = arena_open();
  char *scene = run_scene_text(options);
  bool same = scene ? true : fail(error, "no host memory for the scene's text");
  for (size_t i = 0; same && i < option_table.count; i++) {
    const struct option *row = &option_table.rows[i];
    if (is_listed(row, may_differ)) continue;
    const char *before = stored_value(stored, row, arena), *now = stored_value(scene, row, arena);
    if (!before || strcmp(before, now))
      same = fail(error,
                  "it is of another scene: %s.%s was %s and is %s now; use that value, or another "
                  "train.output",
                  row->section, row->name, before ? before : "not known", now);
  }
  free(scene);
  arena_close(arena);
  return same;
}

/* The lock goes with the process, however it ends. File systems without locks train all the same. */
bool run_open_log(FILE **log, const char *folder, const char *path, struct error *error) {
  if (!folder_make(folder, error)) return false;
  int descriptor = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor < 0) return fail(error, "cannot write %s: %s", path, strerror(errno));
  bool taken = flock(descriptor, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK;
  if (!taken && (*log = fdopen(descriptor, "ab"))) return true;
  close(descriptor);
  if (!taken) return fail(error, "cannot write %s: %s", path, strerror(errno));
  return fail(error,
              "%s is in use: another training holds %s; wait for its end, or choose another train.output",
              folder, path);
}

bool run_flush(FILE *file, const char *path, struct error *error) {
  if (fflush(file) == 0 && fsync(fileno(file)) == 0) return true;
  return fail(error, "cannot write %s: %s", path, strerror(errno));
}

void run_compare_device(struct store *store, const char *path, const char *device) {
  char before[128] = "";
  if (store_text(store, "device", before, sizeof before) && strcmp(before, device))
    log_warning("%s was written on %s; on %s the numbers go on differently", path, before, device);
}

bool run_shorten(FILE *file, const char *path, double bytes, struct error *error) {
  struct stat status;
  off_t length = (off_t)bytes;
  int descriptor = fileno(file);
  if (fstat(descriptor, &status) == 0 && (status.st_size <= length || ftruncate(descriptor, length) == 0) &&
      fseek(file, 0, SEEK_END) == 0)
    return true;
  return fail(error, "cannot shorten %s: %s", path, strerror(errno));
}

static bool is_part(const char *name, const char *file) {
  size_t length = strlen(name), start = strlen(file);
  return length > start + 5 && !strncmp(name, file, start) && name[start] == '.' &&
         !strcmp(name + length - 5, ".part");
}

void run_remove_leftovers(const char *folder, const char *const others[]) {
  DIR *list = opendir(folder);
  struct arena *arena = arena_open();
  for (struct dirent *entry; list && (entry = readdir(list));) {
    bool part = is_part(entry->d_name, "last.h5");
    for (size_t i = 0; others[i]; i++) part |= is_part(entry->d_name, others[i]);
    if (part) unlink(arena_text(arena, "%s/%s", folder, entry->d_name));
  }
  if (list) closedir(list);
  arena_close(arena);
}

static bool holds(const char *folder, const char *name) {
  struct arena *arena = arena_open();
  bool there = file_is_there(arena_text(arena, "%s/%s", folder, name));
  arena_close(arena);
  return there;
}

bool run_folder_takes(const char *folder, const char *const others[], bool resume, struct error *error) {
  if (holds(folder, "stages.jsonl"))
    return fail(error,
                "%s holds stages of train.method l2s, l2sr or pgmri (stages.jsonl); choose another "
                "train.output",
                folder);
  if (resume) return true;
  if (holds(folder, "last.h5"))
    return fail(error, "%s holds a training (last.h5); go on with --resume, or choose another train.output",
                folder);
  for (size_t i = 0; others[i]; i++)
    if (holds(folder, others[i]))
      return fail(error, "%s holds %s of another training and no last.h5; choose another train.output",
                  folder, others[i]);
  return true;
}
