/* `l2sr bench roofline`: what every kernel of a pass takes, moves and computes, beside what the device can
 * do. */
#ifndef L2SR_TOOLS_BENCH_ROOFLINE_H
#define L2SR_TOOLS_BENCH_ROOFLINE_H

#include "engine/fused/block.h"
#include "tools/commands/command.h"

/* Refuses a --figure that is no picture. */
bool roofline_check(const struct call *call, struct error *error);
/* Passes that only enqueue, once they were checked: a table, or one JSON object; and the picture of --figure.
 * `seconds`: of a pass by the host's clock, without being timed. */
bool roofline_print(struct call *call, struct device *device, enum block_precision precision, double seconds,
                    void (*pass)(void *context), void *context, struct error *error);

#endif
