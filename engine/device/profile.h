/* Where the device's time goes: while a profile hangs on the device, every launch is timed by an event and
 * counted under its kernel and what is in force of the device's phase, part (a system) and label (a layer's
 * name), with the bytes and operations that it cannot do without. Costs time itself: for benches and traces only. */
#ifndef L2SR_ENGINE_PROFILE_H
#define L2SR_ENGINE_PROFILE_H

#include "engine/device/device.h"

enum { PROFILE_ROWS = 4096, PROFILE_PENDING = 4096, PROFILE_LABEL = 128 };

/* What launches move and compute. */
struct profile_work {
  double bytes;      /* NaN: not known */
  double operations; /* multiply-adds counted as two; 0: none that are counted */
};

struct profile_row {
  const char *kernel, *phase, *part, *label;
  uint64_t launches;
  double seconds;
  struct profile_work work;
};

/* Who takes launches one by one, and what the host did (engine/device/trace_file.h). Seconds: of the device, of clock_seconds. */
struct profile_taker {
  void (*launch)(void *context, const struct profile_row *launch, double start);
  void (*host)(void *context, const char *name, double start, double end);
  void *context;
};

struct profile {
  struct profile_row row[PROFILE_ROWS];
  int rows;
  struct {
    cl_event event, before; /* before: what is timed starts where this one ends; NULL: with `event` */
    struct profile_row row;
    char label[PROFILE_LABEL]; /* for a taker: the network that has the layer may be gone when it is handed over */
  } pending[PROFILE_PENDING];
  int pendings;
  const struct profile_taker *taker; /* launches go there, in place of the rows; NULL: nobody */
};

/* Called by a launch: takes the event over. */
void profile_note(const struct device *device, const char *kernel, struct profile_work work, cl_event event);
/* What another library enqueues between the two; *before: NULL where there is no profile. */
void profile_begin(struct device *device, cl_event *before);
void profile_end(struct device *device, const char *name, struct profile_work work, cl_event before);
/* What the host did from `start`, which profile_clock gave before: for traces. */
double profile_clock(const struct device *device);
void profile_host(const struct device *device, const char *name, double start);
/* After device_finish: reads the events that are left. */
void profile_collect(struct profile *profile);
void profile_sort(struct profile *profile); /* rows by falling time */
/* Rows by falling time, with their fraction of the whole. */
void profile_print(struct profile *profile, FILE *file);
void profile_print_json(struct profile *profile, FILE *file); /* prints a list of objects */
/* The sums over phases and parts. */
void profile_print_parts(struct profile *profile, FILE *file);
void profile_print_parts_json(struct profile *profile, FILE *file);

#endif
