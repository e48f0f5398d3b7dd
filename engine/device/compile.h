/* The time in which a device's kernels compile: at the first use of a device it is long. Speeds and the time
 * left do not count it (clock_work), and once it is longer than a second the log says what takes so long, and
 * where the compiled kernels are kept for the next time. */
#ifndef L2SR_ENGINE_COMPILE_H
#define L2SR_ENGINE_COMPILE_H

#include "engine/device/device.h"

#include <time.h>

struct compile {
  double start;
  struct timespec cache; /* when PoCL last wrote there what it had not compiled before */
  bool launch;           /* else a program's building */
};

/* Around what may compile. `anew`: what ran is known to have compiled; else that is seen by PoCL's cache. */
void compile_begin(struct device *device, struct compile *compile);
void compile_end(struct device *device, const struct compile *compile, bool anew);

/* PoCL compiles a kernel when it is first launched, in a thread of its own, and the event is not running
 * until then. Call compile_launch before such a launch; where it is true, the launch makes an event, which
 * compile_wait waits for and releases. It is false of a queue of the program's own, which may itself wait for
 * the program. */
bool compile_launch(struct device *device, struct compile *compile);
void compile_wait(struct device *device, const struct compile *compile, cl_event event);

#endif
