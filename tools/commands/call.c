/* What commands ask of a call: its flags, its scene, a device. */
#include "engine/base/log.h"
#include "engine/device/fft.h"
#include "engine/device/trace_file.h"
#include "engine/files/part.h"
#include "engine/files/scene.h"
#include "systems/data/padding.h"
#include "systems/public/models.h"
#include "tools/commands/command.h"
#include "tools/plugins/plugin.h"

#include <string.h>
#include <unistd.h>

const char *call_flag(const struct call *call, const char *name) {
  for (int i = call->given_count - 1; i >= 0; i--)
    if (!strcmp(call->given[i].flag->name, name)) return call->given[i].value;
  return NULL;
}

bool call_number(const struct call *call, const char *name, uint32_t low, uint32_t high, uint32_t *value,
                 struct error *error) {
  const char *text = call_flag(call, name);
  if (!text || option_whole(text, low, high, value)) return true;
  return fail_usage(error, "--%s is '%s'; it must be a whole number from %u to %u", name, text, low, high);
}

/* A scene that names functions of the user's own wants the file that has them. */
static bool check_plugin(const struct call *call, struct error *error) {
  const char *key, *function;
  if (call_flag(call, "plugin") || !call->scene || !callback_wanted(&call->options, &key, &function)) return true;
  return fail_usage(error,
                    "%s: %s names callback, a function of your own; name the file that has %s(batch): l2sr %s %s --plugin FILE.py "
                    "(or FILE.so)",
                    call->scene, key, function, call->command->name, call->scene);
}

static bool open_device(struct call *call, struct device *device, struct error *error) {
  const char *select = call->device ? call->device : call_flag(call, "device"), *path = call_flag(call, "plugin");
  if (!check_plugin(call, error)) return false;
  call->plugin = path ? ARENA_NEW(call->arena, struct plugin, 1) : NULL;
  if (path && !plugin_open(call->plugin, path, call->arena, error)) return false;
  bool good = device_open(device, select ? select : "", error);
  if (!good && path) plugin_close(call->plugin);
  if (good && path) device->calls = callbacks_of(&call->plugin->calls);
  return good;
}

static struct trace_file *volatile open_trace; /* a signal's handler has no other way to it */

void call_rescue_trace(void) {
  if (open_trace) trace_file_rescue(open_trace);
}

/* What has failed is in the trace up to there. */
static bool work_traced(struct call *call, call_work *work, struct device *device, struct error *error) {
  const char *path = ranks_number(call->ranks) ? NULL : call_flag(call, "trace"); /* of the first rank */
  struct trace_file *trace = NULL;
  struct error later;
  if (!path) return work(call, device, error);
  if (!trace_file_open(&trace, device, path, call->arena, error)) return false;
  open_trace = trace;
  bool good = work(call, device, error), written = trace_file_close(trace, good ? error : &later);
  open_trace = NULL;
  return good && written;
}

bool call_on_device(struct call *call, call_work *work, struct error *error) {
  struct device device;
  if (!open_device(call, &device, error)) return false;
  log_info("device %s, %s", device.facts.name, device.facts.platform);
  device.ranks = call->ranks;
  bool good = fft_library_open(error);
  if (good) {
    good = work_traced(call, work, &device, error);
    fft_library_close();
  }
  device_close(&device);
  if (call->plugin) plugin_close(call->plugin);
  return good;
}

/* ---- scene and options -------------------------------------------------------------------------------- */

/* Where scenes are that are named without a path: installed beside the program, wherever it was put, or
 * beside the folder that it was built in; else where it is to be installed. */
const char *call_scenes(struct arena *arena) {
  char program[4096];
  ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  if (length <= 0) return L2SR_SCENES;
  program[length] = 0;
  static const char *const beside[] = {"../share/l2sr/scenes", "../scenes", "../../scenes", NULL};
  const char *folder = folder_beside(arena, program, beside);
  return folder ? folder : L2SR_SCENES;
}

static bool read_scene(struct call *call, const char *name, struct error *error) {
  const char *folder = call_scenes(call->arena);
  call->scene = scene_find(call->arena, name, folder, error);
  return call->scene && scene_read(&option_table, &call->options, call->arena, call->scene, folder, error);
}

static bool apply_flags(struct call *call, struct error *error) {
  for (int i = 0; i < call->given_count; i++) {
    const struct flag *flag = call->given[i].flag;
    const char *where = arena_text(call->arena, "--%s", flag->name);
    if (flag->key && !option_set(&option_table, &call->options, call->arena, flag->key, call->given[i].value,
                                 where, error))
      return false;
  }
  for (int i = 0; i < call->given_count && !call->command->sweeps; i++)
    if (!strcmp(call->given[i].flag->name, "set") &&
        !scene_assign(&option_table, &call->options, call->arena, call->given[i].value, "--set", error))
      return false;
  return true;
}

bool call_models(struct call *call, struct options *options, struct error *error) {
  return models_resolve(options, models_folder(call->arena, call_scenes(call->arena)), call->arena, error);
}

bool call_scene(struct call *call, const char *path, struct error *error) {
  call->scene = NULL;
  option_defaults(&option_table, &call->options, call->arena);
  if ((path && !read_scene(call, path, error)) || !apply_flags(call, error) ||
      !call_models(call, &call->options, error)) {
    error->code = ERROR_USAGE;
    return false;
  }
  if (path) padding_find(&call->options, NULL);
  return true;
}
