/* A trace of launches and of what the host did, side by side over time, as Chrome's Trace Event Format:
 * Perfetto (ui.perfetto.dev) and chrome://tracing show it. Written while the program runs. */
#ifndef L2SR_ENGINE_TRACE_FILE_H
#define L2SR_ENGINE_TRACE_FILE_H

#include "engine/device/profile.h"

enum { TRACE_MOST = 2000000 };

struct trace_file;

/* Opens the file, and lets the device's launches be timed for it from now on. */
bool trace_file_open(struct trace_file **trace, struct device *device, const char *path, struct arena *arena,
                     struct error *error);
/* Writes what is left; after TRACE_MOST spans the rest was left out, and a warning says so. The device has no
 * profile after it. False: the file was not written. */
bool trace_file_close(struct trace_file *trace, struct error *error);
/* Of an interrupted program: ends the trace with the last span that is whole, and lets it take its place. False: it was
 * ended before, or cannot be written. Async-signal-safe, on the thread that writes the trace. */
bool trace_file_rescue(struct trace_file *trace);

#endif
