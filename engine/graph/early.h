/* Parameters whose gradients are complete while the pass back is still at work on others: the last ones in the flat buffers,
 * which a graph's last nodes have. Ranks sum them meanwhile. */
#ifndef L2SR_ENGINE_EARLY_H
#define L2SR_ENGINE_EARLY_H

#include "engine/graph/graph.h"

/* After the plan, of a graph whose gradients no other graph shares and only its own backward adds to. Where no such node is,
 * nothing is early. */
void graph_early_open(struct graph *graph);

#endif
