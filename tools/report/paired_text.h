/* What `l2sr evaluate` says of two samplers on the same slices. */
#ifndef L2SR_TOOLS_PAIRED_TEXT_H
#define L2SR_TOOLS_PAIRED_TEXT_H

#include "systems/methods/evaluate.h"

#include <stdio.h>

/* The mean difference to the first sampler at the setting of runs[first], of those of its `count` runs behind
 * it, with its 95 % interval over patients; nothing where there is one sampler or one patient. */
void paired_print(const struct evaluation *evaluation, size_t first, size_t count, const bool shown[METRICS],
                  FILE *file);

#endif
