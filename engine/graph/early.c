#include "engine/graph/early.h"

/* The end of what nodes before this one have in the flat buffers. */
static size_t taken_before(const struct graph *graph, int node) {
  size_t end = 0;
  for (int i = 0; i < node; i++) {
    const int places[] = {graph->node[i].weight, graph->node[i].bias};
    for (int k = 0; k < 2; k++) {
      if (places[k] < 0) continue;
      bool last = places[k] + 1 == graph->parameters;
      size_t next = last ? graph->elements : graph->parameter[places[k] + 1].offset;
      if (next > end) end = next;
    }
  }
  return end;
}

void graph_early_open(struct graph *graph) {
  int node = graph->nodes - 1;
  while (node > 0 && !(graph_runs(&graph->node[node]) && 2 * taken_before(graph, node) <= graph->elements)) node--;
  size_t from = taken_before(graph, node);
  if (!from || graph->shared || graph->early) return;
  graph->early = ARENA_NEW(graph->arena, struct graph_early, 1);
  *graph->early = (struct graph_early){.node = node, .from = from};
}
