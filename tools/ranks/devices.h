/* Which device a rank opens. */
#ifndef L2SR_TOOLS_RANKS_DEVICES_H
#define L2SR_TOOLS_RANKS_DEVICES_H

#include "tools/commands/command.h"

enum { DEVICES_MOST = 256 };
/* Places in the list of devices that `text` names: all (also NULL), or as 0,1. */
bool devices_read(const char *text, size_t place[DEVICES_MOST], size_t *count, struct error *error);

/* Takes this process among its ranks, where a launcher has started some: each opens the device of its place on the host,
 * among those of --devices, or --device's; without either among all GPUs, where there are none among all devices, one
 * after the other and from the first again. Where --devices names several and no launcher started this, starts a rank for
 * each and does not return. Ranks but the first are silent. */
bool devices_join(struct call *call, struct ranks *known, struct error *error);
/* After the work, good or not: waits for the other ranks, or names this one in what is refused. Returns `good`. */
bool devices_leave(struct call *call, bool good, struct error *error);

#endif
