/* Every system that there is, for `l2sr describe systems`. */
#ifndef L2SR_SYSTEMS_GROUPS_H
#define L2SR_SYSTEMS_GROUPS_H

#include "engine/ecs/system.h"

/* NULL after the last. */
const struct system *system_at(size_t place);

#endif
