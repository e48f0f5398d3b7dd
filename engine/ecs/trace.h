/* A line of JSON a system: of what it declares (`l2sr describe schedule --json`), or has asked for when it ran
 * (L2SR_TRACE). */
#ifndef L2SR_ENGINE_TRACE_H
#define L2SR_ENGINE_TRACE_H

#include "engine/ecs/system.h"

/* The list of what the host does between lists, by a row without `run`. */
#define TRACE_HOST "host"

/* Where it stands: in which list of which stage, as "3" or as "3.1" in a list that is row 3 of it, "" between lists; and
 * how many loops and lists are around it. */
struct trace_place {
  const char *stage, *list, *at;
  int depth;
};

/* `reads`, `writes`: of those that the system declares, what is told. */
void trace_print(const struct schema *schema, const struct trace_place *place, const struct system *system,
                 component_set reads, component_set writes, FILE *file);

#endif
