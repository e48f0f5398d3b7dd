#include "engine/device/profile.h"

#include "engine/base/arena.h"
#include "engine/base/log.h"

#include <stdlib.h>
#include <string.h>

static int find_row(struct profile *profile, const struct profile_row *wanted) {
  for (int r = 0; r < profile->rows; r++) {
    const struct profile_row *row = &profile->row[r];
    if (row->kernel == wanted->kernel && !strcmp(row->label, wanted->label) &&
        !strcmp(row->part, wanted->part) && !strcmp(row->phase, wanted->phase))
      return r;
  }
  REQUIRE(profile->rows < PROFILE_ROWS, "more than %d kernels and labels in a profile", PROFILE_ROWS);
  profile->row[profile->rows] = *wanted;
  profile->row[profile->rows].seconds = 0;
  profile->row[profile->rows].work = (struct profile_work){0, 0};
  return profile->rows++;
}

static const char *text_of(const char *text) {
  return text ? text : "";
}

/* The queue is in order: once this event has come, all before it have. */
static void note(const struct device *device, const char *kernel, struct profile_work work, cl_event before, cl_event event) {
  struct profile *profile = device->profile;
  if (profile->pendings == PROFILE_PENDING) {
    clWaitForEvents(1, &event);
    profile_collect(profile);
  }
  snprintf(profile->pending[profile->pendings].label, PROFILE_LABEL, "%s", text_of(profile->taker ? device->label : NULL));
  profile->pending[profile->pendings].event = event;
  profile->pending[profile->pendings].before = before;
  profile->pending[profile->pendings++].row = (struct profile_row){.kernel = kernel,
                                                                   .phase = text_of(device->phase),
                                                                   .part = text_of(device->part),
                                                                   .label = text_of(device->label),
                                                                   .work = work};
}

void profile_note(const struct device *device, const char *kernel, struct profile_work work, cl_event event) {
  note(device, kernel, work, NULL, event);
}

void profile_begin(struct device *device, cl_event *before) {
  *before = NULL;
  if (device->profile && clEnqueueMarkerWithWaitList(device->queue, 0, NULL, before) != CL_SUCCESS) *before = NULL;
}

void profile_end(struct device *device, const char *name, struct profile_work work, cl_event before) {
  cl_event event = NULL;
  if (!before) return;
  if (clEnqueueMarkerWithWaitList(device->queue, 0, NULL, &event) == CL_SUCCESS)
    note(device, name, work, before, event);
  else
    clReleaseEvent(before);
}

double profile_clock(const struct device *device) {
  return device->profile && device->profile->taker ? clock_seconds() : 0;
}

static cl_ulong time_of(cl_event event, cl_profiling_info which) {
  cl_ulong time = 0;
  clGetEventProfilingInfo(event, which, sizeof time, &time, NULL);
  return time;
}

static void add(struct profile *profile, const struct profile_row *seen) {
  struct profile_row *row = &profile->row[find_row(profile, seen)];
  row->seconds += seen->seconds;
  row->work.bytes += seen->work.bytes;
  row->work.operations += seen->work.operations;
  row->launches++;
}

/* The first so many, which have ended. */
static void collect(struct profile *profile, int count) {
  for (int p = 0; p < count; p++) {
    cl_event event = profile->pending[p].event, before = profile->pending[p].before;
    struct profile_row *row = &profile->pending[p].row;
    cl_ulong start = before ? time_of(before, CL_PROFILING_COMMAND_END) : time_of(event, CL_PROFILING_COMMAND_START);
    cl_ulong end = time_of(event, CL_PROFILING_COMMAND_END);
    if (before) clReleaseEvent(before);
    clReleaseEvent(event);
    row->seconds = end > start ? 1e-9 * (double)(end - start) : 0;
    if (profile->taker) row->label = profile->pending[p].label;
    if (profile->taker)
      profile->taker->launch(profile->taker->context, row, 1e-9 * (double)start);
    else
      add(profile, row);
  }
  profile->pendings -= count;
  memmove(profile->pending, profile->pending + count, sizeof *profile->pending * (size_t)profile->pendings);
}

void profile_collect(struct profile *profile) {
  collect(profile, profile->pendings);
}

static bool has_ended(cl_event event) {
  cl_int status = CL_QUEUED;
  return clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL) == CL_SUCCESS && status == CL_COMPLETE;
}

/* A trace that is interrupted has what has ended by then: nobody waits for the rest. */
void profile_host(const struct device *device, const char *name, double start) {
  struct profile *profile = device->profile;
  const struct profile_taker *taker = profile ? profile->taker : NULL;
  if (!taker) return;
  taker->host(taker->context, name, start, clock_seconds());
  int ended = 0;
  while (ended < profile->pendings && has_ended(profile->pending[ended].event)) ended++;
  collect(profile, ended);
}

static int compare_rows(const void *a, const void *b) {
  double x = ((const struct profile_row *)a)->seconds, y = ((const struct profile_row *)b)->seconds;
  return (x < y) - (x > y);
}

void profile_sort(struct profile *profile) {
  qsort(profile->row, (size_t)profile->rows, sizeof *profile->row, compare_rows);
}

void profile_print_json(struct profile *profile, FILE *file) {
  profile_sort(profile);
  for (int r = 0; r < profile->rows; r++) {
    const struct profile_row *row = &profile->row[r];
    fprintf(file, "%s{\"kernel\":\"%s\",\"layer\":", r ? "," : "[", row->kernel);
    json_text(file, row->label);
    fprintf(file, ",\"milliseconds\":%.6g}", 1e3 * row->seconds);
  }
  fprintf(file, profile->rows ? "]" : "[]");
}

void profile_print(struct profile *profile, FILE *file) {
  double all = 0;
  for (int r = 0; r < profile->rows; r++) all += profile->row[r].seconds;
  profile_sort(profile);
  for (int r = 0; r < profile->rows; r++) {
    const struct profile_row *row = &profile->row[r];
    fprintf(file, "  %9.4f ms %5.1f %%  %-20s %s\n", 1e3 * row->seconds, 100 * row->seconds / all,
            row->kernel, row->label);
  }
}

/* ---- parts --------------------------------------------------------------------------------------------- */

/* Joins the rows of a phase and part into one. */
static void add_parts(const struct profile *profile, struct profile *parts) {
  parts->rows = 0;
  for (int r = 0; r < profile->rows; r++) {
    const struct profile_row *row = &profile->row[r];
    struct profile_row part = {.kernel = "", .phase = row->phase, .part = row->part, .label = ""};
    int at = 0;
    while (at < parts->rows &&
           (strcmp(parts->row[at].phase, row->phase) || strcmp(parts->row[at].part, row->part)))
      at++;
    if (at == parts->rows) parts->row[parts->rows++] = part;
    parts->row[at].launches += row->launches;
    parts->row[at].seconds += row->seconds;
  }
  profile_sort(parts);
}

void profile_print_parts(struct profile *profile, FILE *file) {
  struct arena *arena = arena_open();
  struct profile *parts = ARENA_NEW(arena, struct profile, 1);
  double all = 0;
  add_parts(profile, parts);
  for (int r = 0; r < parts->rows; r++) all += parts->row[r].seconds;
  for (int r = 0; r < parts->rows; r++) {
    const struct profile_row *row = &parts->row[r];
    fprintf(file, "  %9.4f ms %5.1f %%  %-10s %-22s %6llu launches\n", 1e3 * row->seconds,
            100 * row->seconds / all, row->phase, row->part, (unsigned long long)row->launches);
  }
  arena_close(arena);
}

void profile_print_parts_json(struct profile *profile, FILE *file) {
  struct arena *arena = arena_open();
  struct profile *parts = ARENA_NEW(arena, struct profile, 1);
  add_parts(profile, parts);
  for (int r = 0; r < parts->rows; r++)
    fprintf(file, "%s{\"phase\":\"%s\",\"part\":\"%s\",\"launches\":%llu,\"milliseconds\":%.6g}",
            r ? "," : "[", parts->row[r].phase, parts->row[r].part,
            (unsigned long long)parts->row[r].launches, 1e3 * parts->row[r].seconds);
  fprintf(file, parts->rows ? "]" : "[]");
  arena_close(arena);
}
