/* What systems do to a network, as columns of their world: its parameters, moments, activations, gradients at
 * 0 and gradients, which stand side by side in the schema and have no memory of the world (KEEP_STATE,
 * KEEP_MARK). So a schedule knows the order of them, and a world who did not declare them. */
#ifndef L2SR_ENGINE_WATCH_H
#define L2SR_ENGINE_WATCH_H

#include "engine/ecs/world.h"
#include "engine/graph/graph.h"

/* Places of the columns after the first. */
enum watch_column { WATCH_PARAMETERS, WATCH_MOMENTS, WATCH_ACTIVATIONS, WATCH_CLEARED, WATCH_GRADIENTS };

/* What is done to the graph is asked of the world whose system does it. Outside of systems nobody asks. */
struct watch {
  unsigned columns; /* the first of them */
  component_set in, out,
      out_gradient; /* its ports: a whole pass reads and writes them, one back reads the last */
  bool quiet;       /* what is done to it is part of what another network does */
};

void watch_graph(struct watch *watch, struct graph *graph, unsigned columns);
/* Asks for the network's ports; of a network that is not watched nobody does. */
void watch_touch(const struct watch *watch, component_set reads, component_set writes);

#endif
