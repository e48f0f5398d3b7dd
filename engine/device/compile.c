#include "engine/device/compile.h"

#include "engine/base/arena.h"
#include "engine/device/program_cache.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const double LONG = 1; /* seconds */

/* ---- whether it compiled ------------------------------------------------------------------------------- */

static struct timespec written(const char *path) {
  struct stat status;
  return stat(path, &status) ? (struct timespec){0} : status.st_mtim;
}

static bool is_later(struct timespec a, struct timespec b) {
  return a.tv_sec > b.tv_sec || (a.tv_sec == b.tv_sec && a.tv_nsec > b.tv_nsec);
}

/* A program that PoCL does not know gets a folder of its own in one of two letters from A to P. They are asked
 * for by name: every process of PoCL's leaves an empty file beside them, and listing thousands takes long. */
static struct timespec programs_written(const char *folder) {
  struct timespec last = {0};
  char path[4096 + 4];
  for (int letters = 0; letters < 16 * 16; letters++) {
    snprintf(path, sizeof path, "%s/%c%c", folder, 'A' + letters / 16, 'A' + letters % 16);
    struct timespec one = written(path);
    if (is_later(one, last)) last = one;
  }
  return last;
}

/* A kernel that it does not know is linked in the cache's folder itself, where every program is written to be
 * read by its compiler, too. */
static struct timespec cache_written(const struct device *device, bool launch) {
  char folder[4096];
  if (!device->facts.keeps_programs) return (struct timespec){0};
  device_pocl_cache(folder, sizeof folder);
  return launch ? written(folder) : programs_written(folder);
}

static bool has_compiled(const struct device *device, const struct compile *compile) {
  return is_later(cache_written(device, compile->launch), compile->cache);
}

static void begin(struct device *device, struct compile *compile, bool launch) {
  struct compiling *compiling = &device->compiling;
  *compile = (struct compile){clock_seconds(), cache_written(device, launch), launch};
  if (compiling->told) progress_move(&compiling->progress, compiling->count);
}

void compile_begin(struct device *device, struct compile *compile) {
  begin(device, compile, false);
}

/* ---- where they are kept ------------------------------------------------------------------------------- */

static const char *own_cache(struct arena *arena, const struct device *device) {
  const char *folder = program_cache(arena, &device->facts);
  return folder && !access(folder, W_OK) ? folder : NULL; /* it was made when the first one was saved */
}

static const char *pocl_cache(struct arena *arena, const struct device *device) {
  const char *kept = getenv("POCL_KERNEL_CACHE");
  if (!device->facts.keeps_programs || (kept && !strcmp(kept, "0"))) return NULL;
  char folder[4096];
  device_pocl_cache(folder, sizeof folder);
  return arena_text(arena, "%s", folder);
}

static const char *why_not(struct arena *arena, const struct device *device) {
  const char *own = getenv("L2SR_CACHE"), *folder = program_cache(arena, &device->facts);
  if (folder) return arena_text(arena, "%s cannot be written", folder);
  if (device->facts.keeps_programs) return "POCL_KERNEL_CACHE is 0";
  return own && !strcmp(own, "off") ? "L2SR_CACHE is off" : "neither L2SR_CACHE nor HOME names a folder";
}

static void tell(const struct device *device) {
  struct arena *arena = arena_open();
  const char *own = own_cache(arena, device), *pocl = pocl_cache(arena, device);
  if (own || pocl)
    log_info("compiling kernels for %s: the first use of a device takes a while; they are kept in %s%s%s",
             device->facts.name, own ? own : pocl, own && pocl ? " and " : "", own && pocl ? pocl : "");
  else
    log_info("compiling kernels for %s: this takes a while, and l2sr keeps none of them, for %s",
             device->facts.name, why_not(arena, device));
  arena_close(arena);
}

/* ---- counting ------------------------------------------------------------------------------------------ */

void compile_end(struct device *device, const struct compile *compile, bool anew) {
  struct compiling *compiling = &device->compiling;
  double seconds = clock_seconds() - compile->start;
  clock_pause(seconds);
  if (compiling->told) progress_close(&compiling->progress); /* other lines follow */
  if (!anew && !has_compiled(device, compile)) return;
  compiling->seconds += seconds;
  compiling->count++;
  if (compiling->told || compiling->seconds < LONG) return;
  compiling->told = true;
  tell(device);
  progress_open_aside(&compiling->progress, "compiling kernels", "parts");
}

bool compile_launch(struct device *device, struct compile *compile) {
  if (!device->facts.keeps_programs || device->adopted || device->failed) return false;
  CL(device, clFinish(device->queue)); /* or its waiting for others would look like compiling */
  begin(device, compile, true);
  return !device->failed;
}

static bool is_waiting(cl_event event) {
  cl_int status = CL_COMPLETE;
  return clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL) ==
             CL_SUCCESS &&
         status > CL_RUNNING;
}

/* Naps grow with the time waited, to a millisecond: at 50 microseconds they took 4 % of the processor. */
void compile_wait(struct device *device, const struct compile *compile, cl_event event) {
  struct timespec nap = {.tv_nsec = 50000};
  if (event) {
    clFlush(device->queue);
    for (; is_waiting(event); nap.tv_nsec += nap.tv_nsec < 1000000 ? nap.tv_nsec / 8 : 0) nanosleep(&nap, NULL);
    clReleaseEvent(event);
  }
  compile_end(device, compile, false);
}
