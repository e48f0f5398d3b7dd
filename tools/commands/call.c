/* What commands ask of a call: its flags, its scene, a device. */
#include "engine/base/log.h"
#include "engine/device/fft.h"
#include "engine/files/part.h"
#include "engine/files/scene.h"
#include "systems/data/padding.h"
#include "tools/commands/command.h"

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

bool call_on_device(struct call *call, call_work *work, struct error *error) {
  const char *select = call_flag(call, "device");
  struct device device;
  if (!device_open(&device, select ? select : "", error)) return false;
  log_info("device %s, %s", device.facts.name, device.facts.platform);
  bool good = fft_library_open(error);
  if (good) {
    good = work(call, &device, error);
    fft_library_close();
  }
  device_close(&device);
  return good;
}

/* ---- scene and options -------------------------------------------------------------------------------- */

/* Where scenes are that are named without a path: installed beside the program, wherever it was put, or
 * beside the folder that it was built in; else where it is to be installed. */
const char *call_scenes_folder(struct arena *arena) {
  char program[4096];
  ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  if (length <= 0) return L2SR_SCENES;
  program[length] = 0;
  static const char *const beside[] = {"../share/l2sr/scenes", "../scenes", "../../scenes", NULL};
  const char *folder = folder_beside(arena, program, beside);
  return folder ? folder : L2SR_SCENES;
}

static bool read_scene(struct call *call, const char *name, struct error *error) {
  const char *folder = call_scenes_folder(call->arena);
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

bool call_scene(struct call *call, const char *path, struct error *error) {
  call->scene = NULL;
  option_defaults(&option_table, &call->options, call->arena);
  if ((path && !read_scene(call, path, error)) || !apply_flags(call, error)) {
    error->code = ERROR_USAGE;
    return false;
  }
  if (path) padding_find(&call->options, NULL);
  return true;
}
