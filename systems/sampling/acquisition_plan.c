#include "systems/sampling/acquisition.h"

#include "engine/base/log.h"
#include "systems/sampling/geometry.h"

#include <math.h>
#include <string.h>

bool acquisition_is_initial(const struct acquisition *acquisition, size_t action) {
  return geometry_of(acquisition)->is_initial(acquisition, action) ||
         scan_shape_is_padded(&acquisition->shape, action);
}

void acquisition_initial(const struct acquisition *acquisition, uint8_t *mask) {
  for (size_t action = 0; action < acquisition->shape.actions; action++)
    mask[action] = acquisition_is_initial(acquisition, action);
}

void acquisition_initial_rows(const struct acquisition *acquisition, size_t rows, float *mask) {
  size_t actions = acquisition->shape.actions;
  for (size_t i = 0; i < rows * actions; i++) mask[i] = acquisition_is_initial(acquisition, i % actions);
}

static bool find_ratio(const char *horizon, uint32_t acceleration, uint32_t *ratio, struct error *error) {
  *ratio = !strcmp(horizon, "base") ? 2 * acceleration : !strcmp(horizon, "long") ? 8 * acceleration : 0;
  if (*ratio) return true;
  return fail_usage(error,
                    "acquisition.horizon is '%s'; it must be base or long (or set "
                    "acquisition.initial_lines and acquisition.budget)",
                    horizon);
}

struct acquisition acquisition_of(const struct options *options, uint32_t acceleration, const char *horizon) {
  struct acquisition acquisition = {.shape = scan_shape_of(options),
                                    .acceleration = acceleration,
                                    .geometry = scan_geometry(options)};
  snprintf(acquisition.horizon, sizeof acquisition.horizon, "%s", horizon);
  return acquisition;
}

void acquisition_give(struct acquisition *acquisition, uint32_t initial_lines) {
  const struct scan_shape *shape = &acquisition->shape;
  bool points = geometry_of(acquisition)->points;
  uint32_t side = points ? (uint32_t)lround(sqrt(initial_lines)) : 0;
  acquisition->initial_lines = initial_lines;
  acquisition->initial_side = side;
  acquisition->initial_top = points ? shape->height / 2 - side / 2 : 0;
  acquisition->initial_start = shape->width / 2 - (points ? side : initial_lines) / 2;
}

uint32_t acquisition_steps(const struct acquisition *acquisition) {
  return geometry_of(acquisition)->points ? 1 : acquisition->budget;
}

uint32_t acquisition_after(const struct acquisition *acquisition, size_t steps) {
  bool points = geometry_of(acquisition)->points;
  return acquisition->initial_lines + (uint32_t)steps * (points ? acquisition->budget : 1);
}

/* The centre stays, and what images make has no padding. */
static bool check_padded(const struct acquisition *acquisition, const struct options *options,
                         struct error *error) {
  const struct scan_shape *shape = &acquisition->shape;
  uint32_t left = options->acquisition.padded_left, right = options->acquisition.padded_right;
  if (!left && !right) return true;
  if (options->acquisition.geometry != GEOMETRY_LINES || options->data.kspace == KSPACE_IMAGE)
    return fail_usage(error,
                      "acquisition.padded_left is %u and .padded_right %u, which are of lines of measured "
                      "k-space; set both to 0, or acquisition.geometry to lines and data.kspace to measured",
                      left, right);
  if (left < shape->width / 2 && right < shape->width - shape->width / 2) return true;
  return fail_usage(error,
                    "acquisition.padded_left is %u and .padded_right %u of %u columns, and leave nothing of "
                    "the centre; set them lower",
                    left, right, shape->width);
}

static bool check_pairs(const struct options *options, struct error *error) {
  if (!options->acquisition.pairs || options->acquisition.geometry == GEOMETRY_LINES) return true;
  return fail_usage(error, "acquisition.pairs is true, and acquisition.geometry is %s, which have no mirror; set it "
                           "to lines, or acquisition.pairs to false",
                    geometry_chosen(options)->name);
}

/* Actions that the options name, 0: none; the square of the side for points. */
static bool read_given(const struct acquisition *acquisition, const struct options *options, uint32_t *given,
                       struct error *error) {
  uint32_t lines = options->acquisition.initial_lines, side = options->acquisition.initial_side;
  bool points = geometry_of(acquisition)->points;
  *given = points ? side * side : lines;
  if (points ? lines : side)
    return fail_usage(error,
                      "acquisition.initial_%s is %u and acquisition.geometry is %s; set "
                      "acquisition.initial_%s instead",
                      points ? "lines" : "side", points ? lines : side, geometry_of(acquisition)->name,
                      points ? "side" : "lines");
  if (side <= scan_shape_shorter(&acquisition->shape)) return true;
  return fail_usage(error, "acquisition.initial_side is %u; k-space has %ux%u points, set it lower", side,
                    acquisition->shape.height, acquisition->shape.width);
}

/* Advises to give fewer where a key says how many and more than one action is left; else the acceleration
 * decides. */
static bool refuse_none_left(const struct acquisition *acquisition, bool by_key, struct error *error) {
  const struct geometry *geometry = geometry_of(acquisition);
  uint32_t initial = acquisition->initial_lines, actions = scan_shape_choices(&acquisition->shape),
           all = actions / acquisition->acceleration;
  const char *key = geometry->points ? "acquisition.initial_side or " : "acquisition.initial_lines or ";
  return fail_usage(
      error, "no %s is left to acquire: %u initial %s%s of %u/%u = %u in all; lower %sthe acceleration",
      geometry->one, initial, geometry->one, plural(initial), actions, acquisition->acceleration, all,
      by_key && all > 1 ? key : "");
}

static bool check_budget(const struct acquisition *acquisition, bool by_key, struct error *error) {
  uint32_t actions = scan_shape_choices(&acquisition->shape), initial = acquisition->initial_lines;
  const char *one = geometry_of(acquisition)->one;
  if (initial > actions)
    return fail_usage(error, "acquisition.initial_lines is %u; there are only %u %s%s, set it lower", initial,
                      actions, one, plural(actions));
  if (!acquisition->budget) return refuse_none_left(acquisition, by_key, error);
  if (acquisition->budget > actions - initial)
    return fail_usage(
        error, "acquisition.budget is %u; only %u of %u %s%s are free after %u initial one%s, set it lower",
        acquisition->budget, actions - initial, actions, one, plural(actions), initial, plural(initial));
  return true;
}

bool acquisition_plan(struct acquisition *acquisition, const struct options *options, uint32_t acceleration,
                      const char *horizon, struct error *error) {
  uint32_t given, ratio;
  *acquisition = acquisition_of(options, acceleration, horizon);
  if (!geometry_takes(geometry_of(acquisition), &acquisition->shape, error) ||
      !check_pairs(options, error) || !check_padded(acquisition, options, error) ||
      !find_ratio(horizon, acceleration, &ratio, error) || !read_given(acquisition, options, &given, error))
    return false;
  if (given) snprintf(acquisition->horizon, sizeof acquisition->horizon, "custom");
  acquisition_give(acquisition,
                   given ? given : geometry_of(acquisition)->initial_count(&acquisition->shape, ratio));
  uint32_t total = scan_shape_choices(&acquisition->shape) / acceleration, initial = acquisition->initial_lines;
  acquisition->budget = options->acquisition.budget ? options->acquisition.budget
                        : total > initial           ? total - initial
                                                    : 0;
  return check_budget(acquisition, given > 0, error);
}

static bool read_acceleration(const char *word, uint32_t n, uint32_t *value, struct error *error) {
  if (option_whole(word, 1, n, value)) return true;
  return fail_usage(
      error, "acquisition.acceleration is '%s'; it must be a whole number from 1 to %u (data.size)", word, n);
}

/* Adds a setting; the horizons collapse into one where the initial actions are given. */
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
    if (!read_acceleration(word, scan_shape_of(options).width, &acceleration, error)) return false;
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
                                 "the scene has %zu settings of acceleration, horizon or initial actions; a "
                                 "policy is trained at one",
                                 count);
}
