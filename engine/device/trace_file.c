#include "engine/device/trace_file.h"

#include "engine/base/log.h"
#include "engine/files/part.h"

#include <math.h>
#include <stdio_ext.h>
#include <string.h>
#include <unistd.h>

enum side { HOST = 1, DEVICE };

struct trace_file {
  struct device *device;
  struct profile profile;
  struct profile_taker taker;
  struct text_file file;
  double began, ahead; /* of clock_seconds; what the device's clock is ahead of it */
  uint64_t written, left_out;
  volatile bool ended; /* its last bytes are written */
  char text[1 << 16]; /* of spans that the file does not have yet */
  volatile size_t flushed,
      whole; /* bytes: in the file; of whole spans, of which those not in the file are the first of `text` */
};

enum { TEXT_FLUSHED = 1 << 15 }; /* a span is shorter than what is left then */
static const char trace_end[] = "\n]}\n";

/* A span is whole. A signal may come between any two steps: until `flushed` is set, the same bytes are
 * written once more. */
static void end_span(struct trace_file *trace) {
  size_t more = __fpending(trace->file.file);
  trace->whole = trace->flushed + more;
  if (more < TEXT_FLUSHED) return;
  fflush(trace->file.file); /* what the disk does not take is told when the file is finished */
  trace->flushed = trace->whole;
}

/* at: where in the file; a pipe or a device has no places. */
static bool write_all(const struct trace_file *trace, const char *text, size_t bytes, size_t at) {
  int file = fileno(trace->file.file);
  for (ssize_t now; bytes; text += now, bytes -= (size_t)now, at += (size_t)now)
    if ((now = *trace->file.part.path ? pwrite(file, text, bytes, (off_t)at) : write(file, text, bytes)) <= 0)
      return false;
  return true;
}

bool trace_file_rescue(struct trace_file *trace) {
  if (trace->ended) return false;
  int file = fileno(trace->file.file);
  size_t end = trace->whole + sizeof trace_end - 1;
  if (!write_all(trace, trace->text, trace->whole - trace->flushed, trace->flushed) ||
      !write_all(trace, trace_end, sizeof trace_end - 1, trace->whole))
    return false;
  return !*trace->file.part.path || (!ftruncate(file, (off_t)end) && !fsync(file) &&
                                     !rename(trace->file.part.path, trace->file.part.place));
}

static void name_side(struct trace_file *trace, enum side side, const char *name) {
  fprintf(trace->file.file, "%s\n{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%d,\"args\":{\"name\":",
          side == HOST ? "" : ",", (int)side);
  json_text(trace->file.file, name);
  fprintf(trace->file.file, "}}");
}

/* What the device's clock shows when the host's shows this: a marker ends between two looks at the latter. */
static bool compare_clocks(struct trace_file *trace, struct error *error) {
  struct device *device = trace->device;
  cl_event event = NULL;
  cl_ulong end = 0;
  double before = clock_seconds();
  CL(device, clEnqueueMarkerWithWaitList(device->queue, 0, NULL, &event));
  bool good = device_finish(device, error);
  trace->ahead = -(before + clock_seconds()) / 2;
  if (!event) return good;
  clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL);
  clReleaseEvent(event);
  trace->ahead += 1e-9 * (double)end;
  return good;
}

/* Times are microseconds since the file was opened. */
static bool begin_event(struct trace_file *trace, enum side side, const char *name, double start,
                        double seconds) {
  if (trace->written == TRACE_MOST) {
    trace->left_out++;
    return false;
  }
  trace->written++;
  fprintf(trace->file.file,
          ",\n{\"ph\":\"X\",\"pid\":%d,\"tid\":1,\"ts\":%.3f,\"dur\":%.3f,\"name\":", (int)side,
          1e6 * (start - trace->began), 1e6 * seconds);
  json_text(trace->file.file, name);
  return true;
}

static void put_host(void *context, const char *name, double start, double end) {
  struct trace_file *trace = context;
  if (!begin_event(trace, HOST, name, start, end - start)) return;
  fprintf(trace->file.file, "}");
  end_span(trace);
}

static void put_word(struct trace_file *trace, const char *key, const char *word) {
  fprintf(trace->file.file, ",\"%s\":", key);
  json_text(trace->file.file, word);
}

static void put_launch(void *context, const struct profile_row *launch, double start) {
  struct trace_file *trace = context;
  FILE *file = trace->file.file;
  if (!begin_event(trace, DEVICE, launch->kernel, start - trace->ahead, launch->seconds)) return;
  fprintf(file, ",\"args\":{\"bytes\":");
  json_number(file, launch->work.bytes);
  fprintf(file, ",\"operations\":%.6g", launch->work.operations);
  if (*launch->phase) put_word(trace, "phase", launch->phase);
  if (*launch->part) put_word(trace, "system", launch->part);
  if (*launch->label) put_word(trace, "layer", launch->label);
  fprintf(file, "}}");
  end_span(trace);
}

bool trace_file_open(struct trace_file **out, struct device *device, const char *path, struct arena *arena,
                     struct error *error) {
  struct trace_file *trace = ARENA_NEW(arena, struct trace_file, 1);
  struct profile *profile = &trace->profile;
  trace->device = device;
  trace->began = clock_seconds();
  if (!file_create(&trace->file, path, error)) return false;
  if (!device_profile(device, profile, error) || !compare_clocks(trace, error) ||
      !compare_clocks(trace, error)) {
    device->profile = NULL;
    file_abandon(&trace->file);
    return false;
  }
  trace->taker = (struct profile_taker){put_launch, put_host, trace};
  profile->taker = &trace->taker;
  setvbuf(trace->file.file, trace->text, _IOFBF, sizeof trace->text);
  fprintf(trace->file.file, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[");
  name_side(trace, HOST, "host");
  name_side(trace, DEVICE, device->facts.name);
  end_span(trace);
  *out = trace;
  return true;
}

bool trace_file_close(struct trace_file *trace, struct error *error) {
  struct error ignored; /* what failed on the device is told by whoever waited for it */
  device_finish(trace->device, &ignored);
  profile_collect(&trace->profile);
  trace->device->profile = NULL;
  trace->ended = true;
  fprintf(trace->file.file, trace_end);
  if (trace->left_out)
    log_warning("the trace holds the first %d spans; %llu more are left out", TRACE_MOST,
                (unsigned long long)trace->left_out);
  return file_commit(&trace->file, error);
}
