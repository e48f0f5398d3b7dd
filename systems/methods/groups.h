/* Every system that there is, for `l2sr describe systems`. */
#ifndef L2SR_SYSTEMS_GROUPS_H
#define L2SR_SYSTEMS_GROUPS_H

#include "engine/ecs/system.h"

/* Groups of systems, each ended by NULL, and NULL after the last. */
extern const struct system *const *const system_groups[];

#endif
