/* Where the device's time goes: while a profile hangs on the device, every launch is timed by an event and
 * counted under its kernel and what is in force of the device's phase, part (a system) and label (a layer's
 * name). Costs time itself: for benches only. */
#ifndef L2SR_ENGINE_PROFILE_H
#define L2SR_ENGINE_PROFILE_H

#include "engine/device/device.h"

enum { PROFILE_ROWS = 4096, PROFILE_PENDING = 4096 };

struct profile_row {
  const char *kernel, *phase, *part, *label;
  uint64_t launches;
  double seconds;
};

struct profile {
  struct profile_row row[PROFILE_ROWS];
  int rows;
  struct {
    cl_event event;
    int row;
  } pending[PROFILE_PENDING];
  int pendings;
};

/* Called by a launch: takes the event over. */
void profile_note(const struct device *device, const char *kernel, cl_event event);
/* After device_finish: reads the events that are left. */
void profile_collect(struct profile *profile);
/* Rows by falling time, with their fraction of the whole. */
void profile_print(struct profile *profile, FILE *file);
void profile_print_json(struct profile *profile, FILE *file); /* prints a list of objects */
/* The sums over phases and parts. */
void profile_print_parts(struct profile *profile, FILE *file);
void profile_print_parts_json(struct profile *profile, FILE *file);

#endif
