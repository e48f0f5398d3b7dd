#include "systems/acquisition.h"

#include "systems/geometry.h"

#include <string.h>

bool acquisition_is_initial(const struct acquisition *acquisition, size_t line) {
  return geometry_of(acquisition)->is_initial(acquisition, line);
}

void acquisition_initial(const struct acquisition *acquisition, uint8_t *mask) {
  for (size_t line = 0; line < acquisition->lines; line++)
    mask[line] = acquisition_is_initial(acquisition, line);
}

void acquisition_initial_rows(const struct acquisition *acquisition, size_t rows, float *mask) {
  for (size_t i = 0; i < rows * acquisition->lines; i++)
    mask[i] = acquisition_is_initial(acquisition, i % acquisition->lines);
}

static bool find_ratio(const char *horizon, uint32_t acceleration, uint32_t *ratio, struct error *error) {
  *ratio = !strcmp(horizon, "base") ? 2 * acceleration : !strcmp(horizon, "long") ? 8 * acceleration : 0;
  if (*ratio) return true;
  return fail_usage(error,
                    "acquisition.horizon is '%s'; it must be base or long (or set "
                    "acquisition.initial_lines and acquisition.budget)",
                    horizon);
}

bool acquisition_plan(struct acquisition *acquisition, const struct options *options, uint32_t acceleration,
                      const char *horizon, struct error *error) {
  uint32_t n = options->data.size, given = options->acquisition.initial_lines, ratio;
  *acquisition = (struct acquisition){.lines = n,
                                      .acceleration = acceleration,
                                      .geometry = (enum acquisition_geometry)options->acquisition.geometry};
  if (!find_ratio(horizon, acceleration, &ratio, error)) return false;
  snprintf(acquisition->horizon, sizeof acquisition->horizon, "%s", given ? "custom" : horizon);
  acquisition->initial_lines = given ? given : geometry_of(acquisition)->initial_count(n, ratio);
  uint32_t total = n / acceleration, initial = acquisition->initial_lines;
  acquisition->budget = options->acquisition.budget ? options->acquisition.budget
                        : total > initial           ? total - initial
                                                    : 0;
  acquisition->initial_start = n / 2 - initial / 2;
  const char *one = geometry_of(acquisition)->one;
  if (initial > n)
    return fail_usage(error, "acquisition.initial_lines is %u; there are only %u %ss", initial, n, one);
  if (!acquisition->budget)
    return fail_usage(error,
                      "no %s is left to acquire: %u initial %ss of %u/%u = %u in all; lower "
                      "acquisition.initial_lines or the acceleration",
                      one, initial, one, n, acceleration, total);
  if (acquisition->budget > n - initial)
    return fail_usage(error, "acquisition.budget is %u; only %u of %u %ss are free after %u initial ones",
                      acquisition->budget, n - initial, n, one, initial);
  return true;
}

static bool read_acceleration(const char *word, uint32_t n, uint32_t *value, struct error *error) {
  if (option_whole(word, 1, n, value)) return true;
  return fail_usage(
      error, "acquisition.acceleration is '%s'; it must be a whole number from 1 to %u (data.size)", word, n);
}

/* Adds a setting; the horizons collapse into one where the initial lines are given. */
static bool add_setting(struct acquisition *list, size_t *count, const struct acquisition *setting,
                        bool first, struct error *error) {
  if (!first && !strcmp(setting->horizon, "custom")) return true;
  for (size_t i = 0; i < *count; i++)
    if (!memcmp(&list[i], setting, sizeof *setting))
      return fail_usage(error,
                        "x%u %s stands twice in acquisition.acceleration and acquisition.horizon; name each "
                        "acceleration and horizon once",
                        setting->acceleration, setting->horizon);
  list[(*count)++] = *setting;
  return true;
}

bool acquisition_list(struct acquisition **list, size_t *count, const struct options *options,
                      struct arena *arena, struct error *error) {
  const char *accelerations = options->acquisition.acceleration;
  char word[32], horizon[32];
  struct acquisition setting;
  *count = 0;
  *list = ARENA_NEW(arena, struct acquisition,
                    option_count(accelerations) * option_count(options->acquisition.horizon));
  while ((accelerations = option_next(accelerations, word, sizeof word))) {
    const char *horizons = options->acquisition.horizon;
    uint32_t acceleration;
    if (!read_acceleration(word, options->data.size, &acceleration, error)) return false;
    for (bool first = true; (horizons = option_next(horizons, horizon, sizeof horizon)); first = false)
      if (!acquisition_plan(&setting, options, acceleration, horizon, error) ||
          !add_setting(*list, count, &setting, first, error))
        return false;
  }
  if (*count) return true;
  return fail_usage(
      error, "acquisition.acceleration or acquisition.horizon is an empty list; give at least one each");
}

bool acquisition_only(struct acquisition *acquisition, const struct options *options, struct arena *arena,
                      struct error *error) {
  struct acquisition *list;
  size_t count;
  if (!acquisition_list(&list, &count, options, arena, error)) return false;
  *acquisition = list[0];
  return count == 1 ? true
                    : fail_usage(error,
                                 "the scene has %zu settings of acceleration, horizon or initial lines; a "
                                 "policy is trained at one",
                                 count);
}
