/* A Python file's functions run in a child, the python3 of the user's PATH with its packages: this program is linked with no
 * interpreter, and one that is loaded into it would have other packages, or none. Arrays are in memory that both see; a line
 * of JSON asks for a batch, and a line answers (tools/python/l2sr/_plugin.py, which the child is given as a text). */
#include "tools/plugins/plugin.h"

#include "engine/base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
extern const char plugin_text[]; /* _plugin.py */

enum { CHILD_LINE = 3, CHILD_MEMORY = 4, REPLY = 1 << 14, ALIGNMENT = 64 };

struct python_child {
  const char *path, *python;
  pid_t id;         /* 0: it is not running */
  int line, memory; /* the socket, and the file in memory */
  FILE *replies;    /* of the socket */
  unsigned char *view;
  size_t bytes; /* of the view */
};

/* ---- its life ------------------------------------------------------------------------------------------- */

static bool start(struct python_child *child, int end, struct error *error) {
  const char *const words[] = {child->python, "-c", plugin_text, child->path, "3", "4", NULL};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, end, CHILD_LINE);
  posix_spawn_file_actions_adddup2(&actions, child->memory, CHILD_MEMORY);
  int code = posix_spawnp(&child->id, child->python, &actions, NULL, (char *const *)(uintptr_t)words, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (!code) return true;
  child->id = 0;
  return fail(error, "--plugin %s wants %s, which does not start: %s; install Python, or set L2SR_PYTHON to one", child->path,
              child->python, strerror(code));
}

/* Above the descriptors that the child gets. */
static int moved(int descriptor) {
  int above = fcntl(descriptor, F_DUPFD_CLOEXEC, CHILD_MEMORY + 1);
  close(descriptor);
  return above;
}

static bool open_lines(struct python_child *child, struct error *error) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
    return fail(error, "--plugin %s: cannot make a socket: %s", child->path, strerror(errno));
  child->line = moved(ends[0]);
  int end = moved(ends[1]);
  child->memory = moved(memfd_create("l2sr plugin", MFD_CLOEXEC));
  child->replies = fdopen(fcntl(child->line, F_DUPFD_CLOEXEC, CHILD_MEMORY + 1), "r");
  bool good = child->line >= 0 && end >= 0 && child->memory >= 0 && child->replies
                  ? start(child, end, error)
                  : fail(error, "--plugin %s: cannot make memory to share: %s", child->path, strerror(errno));
  close(end);
  return good;
}

/* How it ended; it has closed its end of the socket. */
static void tell_end(struct python_child *child, char *fault) {
  int status = 0;
  if (waitpid(child->id, &status, 0) == child->id && WIFSIGNALED(status))
    snprintf(fault, L2SR_FAULT, "%s ended by signal %d (%s)", child->python, WTERMSIG(status), strsignal(WTERMSIG(status)));
  else
    snprintf(fault, L2SR_FAULT, "%s ended with status %d", child->python, WEXITSTATUS(status));
  child->id = 0;
}

/* NULL: it has ended, or talks otherwise, and `fault` says so. */
static json_t *hear(struct python_child *child, char *fault) {
  char text[REPLY];
  json_t *answer = fgets(text, sizeof text, child->replies) ? json_loads(text, 0, NULL) : NULL;
  if (answer) return answer;
  if (feof(child->replies) && child->id)
    tell_end(child, fault);
  else
    snprintf(fault, L2SR_FAULT, "%s gave an answer that is no line of JSON", child->python);
  return NULL;
}

/* What the answer says went wrong; 0: nothing. */
static int fault_of(json_t *answer, char *fault) {
  const char *text = json_string_value(json_object_get(answer, "fault"));
  if (text) snprintf(fault, L2SR_FAULT, "%s", text);
  json_decref(answer);
  return text != NULL;
}

void python_close(struct python_child *child) {
  if (child->view) munmap(child->view, child->bytes);
  if (child->replies) fclose(child->replies);
  if (child->line >= 0) close(child->line);
  if (child->memory >= 0) close(child->memory);
  if (child->id) waitpid(child->id, NULL, 0); /* its lines have ended, and so does it */
}

/* ---- a batch -------------------------------------------------------------------------------------------- */

struct part {
  const char *name;
  const void *from; /* NULL: it is no part of the batch */
  size_t bytes, at;
};
enum { PARTS = 8, RESULT = PARTS - 1 };

static size_t place_parts(const struct l2sr_batch *batch, bool images, struct part parts[PARTS]) {
  size_t image = sizeof(float) * batch->scans * batch->height * batch->width, planes = 2 * batch->coils * image, end = 0;
  const struct part own[PARTS] = {{"observation", batch->observation, image, 0},
                                  {"acquired", batch->acquired, batch->scans * batch->actions, 0},
                                  {"kspace", batch->kspace, planes, 0},
                                  {"maps", batch->maps, planes, 0},
                                  {"image", batch->image, image, 0},
                                  {"target", batch->target, image, 0},
                                  {"label", batch->label, sizeof(float) * batch->scans, 0},
                                  {"result", batch->result, images ? image : sizeof(float) * batch->scans, 0}};
  memcpy(parts, own, sizeof own);
  for (size_t p = 0; p < PARTS; p++) {
    if (!parts[p].from) continue;
    parts[p].at = end;
    end += (parts[p].bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  }
  return end;
}

static bool share(struct python_child *child, size_t bytes) {
  if (bytes <= child->bytes) return true;
  if (child->view) munmap(child->view, child->bytes);
  child->bytes = 0;
  child->view = ftruncate(child->memory, (off_t)bytes)
                    ? MAP_FAILED
                    : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, child->memory, 0);
  if (child->view == MAP_FAILED) child->view = NULL;
  if (child->view) child->bytes = bytes;
  return child->view;
}

static void write_ask(FILE *file, const struct python_child *child, const struct l2sr_batch *batch, const char *what,
                      const struct part parts[PARTS]) {
  const char *separator = "";
  fprintf(file, "{\"what\":\"%s\",\"bytes\":%zu,\"scans\":%zu,\"height\":%zu,\"width\":%zu,\"actions\":%zu,\"coils\":%zu,\"at\":{",
          what, child->bytes, batch->scans, batch->height, batch->width, batch->actions, batch->coils);
  for (size_t p = 0; p < PARTS; p++) {
    if (!parts[p].from) continue;
    fprintf(file, "%s\"%s\":%zu", separator, parts[p].name, parts[p].at);
    separator = ",";
  }
  fputs("},\"slice\":[", file);
  for (size_t i = 0; i < batch->scans; i++) fprintf(file, "%s%u", i ? "," : "", batch->slice[i]);
  fputs("],\"number\":[", file);
  for (size_t i = 0; i < batch->scans; i++) fprintf(file, "%s%zu", i ? "," : "", batch->number[i]);
  fputs("],\"path\":[", file);
  for (size_t i = 0; i < batch->scans; i++) {
    if (i) fputc(',', file);
    json_text(file, batch->path[i]);
  }
  fputs("]}\n", file);
}

/* A child that has ended is told by its answer: sending raises no signal. */
static bool ask(struct python_child *child, const struct l2sr_batch *batch, const char *what, const struct part parts[PARTS]) {
  char *line = NULL;
  size_t bytes = 0, sent = 0;
  FILE *file = open_memstream(&line, &bytes);
  if (!file) return false;
  write_ask(file, child, batch, what, parts);
  bool good = !fclose(file);
  while (good && sent < bytes) {
    ssize_t more = send(child->line, line + sent, bytes - sent, MSG_NOSIGNAL);
    if (more < 0 && errno != EINTR) break;
    if (more > 0) sent += (size_t)more;
  }
  free(line);
  return good;
}

static int run_batch(struct python_child *child, const struct l2sr_batch *batch, const char *what, bool images) {
  struct part parts[PARTS];
  if (!share(child, place_parts(batch, images, parts)))
    return snprintf(batch->fault, L2SR_FAULT, "no memory to share with %s: %s", child->python, strerror(errno));
  for (size_t p = 0; p < RESULT; p++)
    if (parts[p].from) memcpy(child->view + parts[p].at, parts[p].from, parts[p].bytes);
  if (!child->id) return snprintf(batch->fault, L2SR_FAULT, "%s has ended", child->python);
  if (!ask(child, batch, what, parts)) return snprintf(batch->fault, L2SR_FAULT, "no memory");
  json_t *answer = hear(child, batch->fault);
  if (!answer || fault_of(answer, batch->fault)) return 1;
  memcpy(batch->result, child->view + parts[RESULT].at, parts[RESULT].bytes);
  return 0;
}

static int reconstruct(const struct l2sr_batch *batch, void *context) {
  return run_batch(context, batch, "reconstruct", true);
}

static int metric(const struct l2sr_batch *batch, void *context) {
  return run_batch(context, batch, "metric", false);
}

/* ---- opening -------------------------------------------------------------------------------------------- */

static void take_functions(json_t *answer, struct python_child *child, struct l2sr_callbacks *callbacks) {
  json_t *names = json_object_get(answer, "functions");
  callbacks->context = child;
  for (size_t i = 0; i < json_array_size(names); i++) {
    const char *name = json_string_value(json_array_get(names, i));
    if (name && !strcmp(name, "reconstruct")) callbacks->reconstruct = reconstruct;
    if (name && !strcmp(name, "metric")) callbacks->metric = metric;
  }
}

static bool refuse(const struct python_child *child, const char *fault, struct error *error) {
  return fail_file(error, "--plugin %s does not load in %s: %s", child->path, child->python, fault);
}

bool python_open(struct python_child **opened, const char *path, struct l2sr_callbacks *callbacks, struct arena *arena,
                 struct error *error) {
  char fault[L2SR_FAULT] = "";
  const char *python = getenv("L2SR_PYTHON");
  struct python_child *child = *opened = ARENA_NEW(arena, struct python_child, 1);
  *child = (struct python_child){.path = path, .python = python && *python ? python : "python3", .line = -1, .memory = -1};
  if (!open_lines(child, error)) return false;
  json_t *answer = hear(child, fault);
  if (!answer) return refuse(child, fault, error);
  take_functions(answer, child, callbacks);
  return !fault_of(answer, fault) || refuse(child, fault, error);
}
