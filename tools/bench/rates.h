/* The rates that a device's kernels are held against. */
#ifndef L2SR_TOOLS_RATES_H
#define L2SR_TOOLS_RATES_H

#include "engine/device/kernel.h"
#include "engine/fused/block.h"

struct rates {
  double bytes;      /* a second, read and written, of a copy */
  double operations; /* a second, multiply-adds counted as two, of the network's numbers */
  const char *by;    /* the instruction that gives them */
};
/* Measures both. Where there are matrix instructions f32 takes three products of halves
 * (engine/fused/block.h). */
bool rates_measure(struct rates *rates, struct device *device, struct kernels *kernels,
                   enum block_precision precision, struct error *error);

#endif
