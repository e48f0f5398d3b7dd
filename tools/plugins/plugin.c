#include "tools/plugins/plugin.h"

#include "engine/files/part.h"

#include <dlfcn.h>
#include <string.h>

static bool ends_in(const char *path, const char *ending) {
  size_t length = strlen(path), its = strlen(ending);
  return length > its && !strcmp(path + length - its, ending);
}

/* A path without '/' would be looked for where the system's libraries are. */
static bool open_library(struct plugin *plugin, const char *path, struct l2sr_callbacks *callbacks, struct arena *arena,
                         struct error *error) {
  char fault[L2SR_FAULT] = "";
  l2sr_plugin *open;
  const char *place = strchr(path, '/') ? path : arena_text(arena, "./%s", path);
  if (!(plugin->library = dlopen(place, RTLD_NOW | RTLD_LOCAL))) return fail_file(error, "--plugin %s does not load: %s", path, dlerror());
  void *symbol = dlsym(plugin->library, "l2sr_plugin_open");
  if (!symbol)
    return fail_file(error, "--plugin %s has no function l2sr_plugin_open; l2sr.h says what it does (l2sr_plugin)", path);
  memcpy(&open, &symbol, sizeof open);
  if (!open(callbacks, fault)) return true;
  fault[L2SR_FAULT - 1] = 0;
  return fail(error, "--plugin %s refuses%s%s", path, *fault ? ": " : "", fault);
}

bool plugin_open(struct plugin *plugin, const char *path, struct arena *arena, struct error *error) {
  struct l2sr_callbacks callbacks = {.bytes = sizeof callbacks, .name = path};
  *plugin = (struct plugin){0};
  if ((ends_in(path, ".so") || ends_in(path, ".py")) && !file_is_there(path))
    return fail_file(error, "--plugin %s: there is no such file", path);
  bool good = ends_in(path, ".so")   ? open_library(plugin, path, &callbacks, arena, error)
              : ends_in(path, ".py") ? python_open(&plugin->child, path, &callbacks, arena, error)
                                     : fail_usage(error, "--plugin %s is no shared library (.so) and no Python file (.py)", path);
  if (good && !callbacks.reconstruct && !callbacks.metric)
    good = fail_file(error, "--plugin %s has neither a function reconstruct nor a function metric", path);
  if (good && callbacks_take(&plugin->calls, &callbacks, error)) return true;
  plugin_close(plugin);
  return false;
}

void plugin_close(struct plugin *plugin) {
  if (plugin->child) python_close(plugin->child);
  if (plugin->library) dlclose(plugin->library);
  *plugin = (struct plugin){0};
}
