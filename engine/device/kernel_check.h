/* Runs a kernel row on the device and compares it with its scalar reference.
 *
 * Inputs are random; the row's prepare gives them meaning. Guard words stand on both sides of every buffer;
 * outputs start as garbage, so what a kernel leaves out shows. Every table has three rows more than are
 * launched. */
#ifndef L2SR_ENGINE_KERNEL_CHECK_H
#define L2SR_ENGINE_KERNEL_CHECK_H

#include "engine/device/kernel.h"

struct check_sizes {
  size_t rows, height, width;
  const size_t *shape; /* elements a row, by shape_id */
  uint8_t shared_table; /* the table of one row */
  bool half;
  uint32_t seed;
  const char *macro; /* a macro for all files (kernels_define); NULL: none */
  size_t actions;    /* the value of ACTIONS that it leads to; 0: the width */
  size_t launches;   /* 0: one, whose results are compared; else so many are timed after it, and none is */
};

struct check_result {
  double worst;     /* largest error over largest magnitude, over all outputs; integers: 0 or 1 */
  double bound;     /* the row's tolerance, more for outputs stored as half */
  const char *argument; /* where the worst stands */
  size_t index;
  double found, expected;
  double seconds; /* the time of one launch by the device's clock; 0 where none is timed */
  double bytes;   /* inputs and outputs, once each */
};

/* False when the kernel cannot be run at all or touched a guard word; else the result holds the worst error
 * (worst <= bound is agreement). */
bool kernel_check(struct device *device, const struct kernel_table *table, const struct kernel_desc *row,
                  const struct check_sizes *sizes, const char *folder, struct check_result *result,
                  struct error *error);

#endif
