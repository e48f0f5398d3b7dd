/* Files of other programs in place of volumes: what makes volumes of them. */
#ifndef L2SR_SYSTEMS_FOREIGN_H
#define L2SR_SYSTEMS_FOREIGN_H

#include "engine/base/arena.h"
#include "engine/base/error.h"
#include "engine/files/magic.h"

const char *foreign_advice(const struct magic *magic, struct arena *arena);
/* Adds it to the refusal of a file that the store knew and had no remedy for. Returns false. */
bool foreign_advise(const char *path, struct error *error);

#endif
