/* Parameters whose gradients are complete while the pass back is still at work on others: the last ones in the flat buffers,
 * which a graph's last nodes have. Ranks sum them meanwhile. */
#ifndef L2SR_ENGINE_EARLY_H
#define L2SR_ENGINE_EARLY_H

#include "engine/graph/graph.h"

struct graph_early {
  int node;    /* once its backward is enqueued, nothing is added any more ... */
  size_t from; /* ... to the gradients of the parameters from here on, at least half of all */
  cl_mem tail; /* the gradients from there to the end, of all shards */
  cl_event ready; /* the last pass back is past that node; NULL: none has run since the last sum */
};

/* After the plan, of a graph whose gradients no other graph shares and only its own backward adds to. Where no such node is,
 * nothing is early. */
void graph_early_open(struct graph *graph);
void graph_early_close(struct graph *graph);
void graph_early_mark(struct graph *graph); /* the node's backward is enqueued */
void graph_early_forget(const struct graph *graph);
/* As graph_gather, of the parameters before graph->early->from, or from there on. */
void graph_gather_part(const struct graph *graph, bool tail);

#endif
