/* The device that is checked, and the callback that every check reports to. */
#ifndef L2SR_SYSTEMS_VERIFY_SETUP_H
#define L2SR_SYSTEMS_VERIFY_SETUP_H

#include "engine/device/device.h"

/* Called for every quantity: its worst error and the bound it must keep. */
typedef void verify_see(const char *source, const char *quantity, double worst, double bound, void *context);

struct verify {
  struct device *device; /* NULL: files are read, and refused for what they hold; nothing is run */
  const char *kernel_folder;
  verify_see *see;
  void *context;
};

#endif
