#include "engine/graph/watch.h"

static void see_effect(void *context, enum graph_effect effect) {
  enum {
    PARAMETERS = 1 << WATCH_PARAMETERS,
    MOMENTS = 1 << WATCH_MOMENTS,
    ACTIVATIONS = 1 << WATCH_ACTIVATIONS,
    CLEARED = 1 << WATCH_CLEARED,
    GRADIENTS = 1 << WATCH_GRADIENTS
  };
  static const struct {
    unsigned reads, writes;
  } uses[] = {[GRAPH_CLEARED] = {0, CLEARED},
              [GRAPH_FORWARD] = {PARAMETERS, ACTIVATIONS},
              [GRAPH_BACKWARD] = {PARAMETERS | ACTIVATIONS | CLEARED, GRADIENTS},
              [GRAPH_LEARNED] = {PARAMETERS | MOMENTS | GRADIENTS, PARAMETERS | MOMENTS}};
  const struct watch *watch = context;
  watch_touch(watch, (component_set)uses[effect].reads << watch->columns,
              (component_set)uses[effect].writes << watch->columns);
}

void watch_graph(struct watch *watch, struct graph *graph, struct world *world, unsigned columns) {
  *watch = (struct watch){world, columns};
  graph->watch = see_effect;
  graph->watch_context = watch;
}

void watch_touch(const struct watch *watch, component_set reads, component_set writes) {
  if (watch->world && world_runs(watch->world)) world_touch(watch->world, reads, writes);
}
