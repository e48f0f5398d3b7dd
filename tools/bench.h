/* What the benchmarks share. */
#ifndef L2SR_TOOLS_BENCH_H
#define L2SR_TOOLS_BENCH_H

#include "tools/command.h"

enum { BENCH_REPEATS = 7 };

/* Sorts the seconds of the repeats. */
double bench_median(double seconds[BENCH_REPEATS]);

/* `l2sr bench network`: images per second of the reconstructor, after its output was checked. */
bool bench_network(struct call *call, struct device *device, struct error *error);

#endif
