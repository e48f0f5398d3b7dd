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
              [GRAPH_LEARNED] = {PARAMETERS | MOMENTS | GRADIENTS, PARAMETERS | MOMENTS},
              [GRAPH_RETURNED] = {0, 0}};
  const struct watch *watch = context;
  component_set reads = (component_set)uses[effect].reads << watch->columns,
                writes = (component_set)uses[effect].writes << watch->columns;
  if (effect == GRAPH_PASSED) reads |= watch->in, writes |= watch->out;
  if (effect == GRAPH_RETURNED) reads |= watch->out_gradient;
  watch_touch(watch, reads, writes);
}

void watch_graph(struct watch *watch, struct graph *graph, unsigned columns) {
  watch->columns = columns;
  graph->watch = see_effect;
  graph->watch_context = watch;
}

void watch_touch(const struct watch *watch, component_set reads, component_set writes) {
  struct world *world = world_running();
  if (world && watch->columns && !watch->quiet) world_touch(world, reads, writes);
}
