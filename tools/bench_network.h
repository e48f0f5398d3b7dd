/* `l2sr bench network`: images per second of the reconstructor, after its output was checked. */
#ifndef L2SR_TOOLS_BENCH_NETWORK_H
#define L2SR_TOOLS_BENCH_NETWORK_H

#include "tools/command.h"

bool bench_network(struct call *call, struct device *device, struct error *error);

#endif
