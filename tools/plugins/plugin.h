/* Functions of the user's own for a command (--plugin): of a shared library, or of a Python file, which a child runs. */
#ifndef L2SR_TOOLS_PLUGIN_H
#define L2SR_TOOLS_PLUGIN_H

#include "engine/base/arena.h"
#include "systems/public/callbacks.h"

struct python_child;

/* Must not move while it is open. */
struct plugin {
  struct program_calls calls;
  void *library;               /* NULL: it is no shared library */
  struct python_child *child; /* NULL: it is no Python file */
};

/* By the file's ending, .so or .py. `arena` outlives it. */
bool plugin_open(struct plugin *plugin, const char *path, struct arena *arena, struct error *error);
void plugin_close(struct plugin *plugin);

/* ---- the child of a Python file (plugin_python.c) -------------------------------------------------------- */

/* Starts it, and fills in the functions that the file defines; refuses one that does not load. */
bool python_open(struct python_child **child, const char *path, struct l2sr_callbacks *callbacks, struct arena *arena,
                 struct error *error);
void python_close(struct python_child *child);

#endif
