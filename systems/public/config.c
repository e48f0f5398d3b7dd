#include "systems/public/config.h"

#include "engine/files/part.h"
#include "engine/files/scene.h"
#include "systems/data/padding.h"
#include "systems/public/models.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

/* ---- structures that grow ------------------------------------------------------------------------------ */

/* Every version's size is whole words, so that no member is cut. */
static bool check_size(size_t bytes, const char *name, struct error *error) {
  if (bytes >= 2 * sizeof bytes && bytes <= 1 << 16 && bytes % sizeof bytes == 0) return true;
  return fail_as(error, ERROR_CALL, "struct %s has bytes %zu; set it to sizeof(struct %s)", name, bytes,
                 name);
}

bool config_copy(void *to, const void *from, size_t ours, const char *name, struct error *error) {
  if (!from) return fail_as(error, ERROR_CALL, "struct %s is NULL; give its address", name);
  size_t bytes = *(const size_t *)from;
  const unsigned char *rest = from;
  if (!check_size(bytes, name, error)) return false;
  for (size_t i = ours; i < bytes; i++)
    if (rest[i])
      return fail_as(
          error, ERROR_CALL,
          "struct %s asks for what version %s does not know; take a newer library, or set what lies behind "
          "byte %zu to 0",
          name, L2SR_VERSION, ours);
  memset(to, 0, ours);
  memcpy(to, from, bytes < ours ? bytes : ours);
  return true;
}

bool config_room(const void *structure, size_t ours, size_t *bytes, const char *name, struct error *error) {
  if (!structure) return fail_as(error, ERROR_CALL, "struct %s is NULL; give its address", name);
  *bytes = *(const size_t *)structure;
  if (!check_size(*bytes, name, error)) return false;
  if (*bytes > ours) *bytes = ours;
  return true;
}

/* ---- what is asked for --------------------------------------------------------------------------------- */

static bool check_choice(const char *name, int value, int most, struct error *error) {
  if (value >= 0 && value <= most) return true;
  return fail_usage(error, "struct l2sr_config has %s %d; it must be from 0 to %d", name, value, most);
}

bool config_read(struct l2sr_config *config, const struct l2sr_config *given, struct error *error) {
  if (!config_copy(config, given, sizeof *config, "l2sr_config", error) ||
      !check_choice("autoreset", (int)config->autoreset, L2SR_RESET_NEXT_STEP, error) ||
      !check_choice("invalid", (int)config->invalid, L2SR_INVALID_MASK, error) ||
      !check_choice("scoring", (int)config->scoring, L2SR_SCORE_NEVER, error))
    return false;
  if (config->override_count && !config->overrides)
    return fail_usage(error, "struct l2sr_config has %zu overrides at NULL", config->override_count);
  for (size_t i = 0; i < config->override_count; i++)
    if (!config->overrides[i]) return fail_usage(error, "override %zu is NULL; write section.key=value", i);
  if (config->slices && config->data)
    return fail_usage(error, "struct l2sr_config has slices in memory and data %s; give one of them",
                      config->data);
  if ((config->context || config->queue) && config->device && *config->device)
    return fail_usage(error,
                      "struct l2sr_config has an OpenCL context or queue and device %s; give one of them",
                      config->device);
  return true;
}

/* Scenes that are named without a path: installed beside the library, wherever it was put, or beside the
 * folder that it was built in (build, or meson-python's build/cp311); else where it is to be installed. */
static const char *scenes_folder(struct arena *arena) {
  static const char *const up[] = {"../share/l2sr/scenes", "../../share/l2sr/scenes", "../scenes",
                                   "../../scenes", NULL};
  Dl_info place;
  if (!dladdr((const void *)(uintptr_t)config_options, &place) || !place.dli_fname) return L2SR_SCENES;
  const char *folder = folder_beside(arena, place.dli_fname, up);
  return folder ? folder : L2SR_SCENES;
}

static bool read_scene(const struct l2sr_config *config, struct options *options, struct arena *arena,
                       struct error *error) {
  const char *folder = scenes_folder(arena), *path = NULL;
  if (config->scene && !(path = scene_find(arena, config->scene, folder, error))) {
    error->code = ERROR_FILE;
    return false;
  }
  return (!path || scene_read(&option_table, options, arena, path, folder, error)) &&
         (!config->text || scene_read_text(&option_table, options, arena, config->text, folder, error));
}

/* A member of the config in place of an option. */
static bool set(struct options *options, struct arena *arena, const char *key, const char *value,
                struct error *error) {
  return !value || option_set(&option_table, options, arena, key, value, "struct l2sr_config", error);
}

/* What the data say themselves. Slices that are no such are refused where they are opened. */
static void ask_data(const struct l2sr_config *config, struct options *options) {
  struct slices_in_memory slices = {0};
  struct error ignored;
  if (!config->slices)
    padding_find(options, NULL);
  else if (config_slices(config, &slices, &ignored))
    padding_find(options, &slices);
  if (slices.label && !*options->data.label) options->data.label = "label";
}

bool config_options(const struct l2sr_config *config, struct options *options, struct arena *arena,
                    struct error *error) {
  option_defaults(&option_table, options, arena);
  const char *envs = config->envs ? arena_text(arena, "%u", config->envs) : NULL;
  bool good = read_scene(config, options, arena, error) &&
              set(options, arena, "data.path", config->data, error) &&
              set(options, arena, "world.envs", envs, error) &&
              set(options, arena, "evaluate.reconstructor", config->reconstructor, error) &&
              set(options, arena, "evaluate.policy", config->policy, error) &&
              set(options, arena, "evaluate.metrics", config->metrics, error);
  for (size_t i = 0; good && i < config->override_count; i++)
    good = scene_assign(&option_table, options, arena, config->overrides[i], "override", error);
  good = good && models_resolve(options, models_folder(arena, scenes_folder(arena)), arena, error);
  if (good) ask_data(config, options);
  return good;
}

bool config_slices(const struct l2sr_config *config, struct slices_in_memory *slices, struct error *error) {
  struct l2sr_slices own = {0};
  /* programs of before this member, compiled anew, leave it 0 */
  if (config->slices && !config->slices->bytes)
    memcpy(&own, config->slices, offsetof(struct l2sr_slices, volume) + sizeof own.volume);
  else if (!config_copy(&own, config->slices, sizeof own, "l2sr_slices", error))
    return false;
  *slices = (struct slices_in_memory){own.values, own.count, own.coils, own.height, own.width, own.volume, own.label};
  return true;
}

bool config_device(const struct l2sr_config *config, struct device *device, struct error *error) {
  if (config->context || config->queue) return device_adopt(device, config->context, config->queue, error);
  return device_open(device, config->device ? config->device : "", error);
}
