#include "systems/sampling/exact_chances.h"

#include "engine/base/log.h"
#include "engine/files/store.h"
#include "systems/sampling/geometry.h"

#include <math.h>
#include <string.h>

static size_t width_of(const struct acquisition *acquisition) {
  return (size_t)acquisition->budget + 1;
}

uint32_t *chances_table(struct arena *arena, const struct acquisition *acquisition) {
  return ARENA_NEW(arena, uint32_t, acquisition->shape.actions * width_of(acquisition));
}

void chances_fill(const double *probability, const struct acquisition *acquisition, uint32_t *table) {
  struct arena *arena = arena_open();
  size_t width = width_of(acquisition);
  double *chance = ARENA_NEW(arena, double, width); /* chance[c]: c of the actions after this one are drawn */
  chance[0] = 1;
  for (size_t line = acquisition->shape.actions; line-- > 0;) {
    double p = acquisition_is_initial(acquisition, line) ? 0 : probability[line];
    for (size_t left = width; left-- > 0;) {
      double with = left ? p * chance[left - 1] : 0, all = with + (1 - p) * chance[left];
      double fraction = all > 0 ? 0x1p32 * with / all : 0;
      table[line * width + left] = fraction < (double)UINT32_MAX ? (uint32_t)fraction : UINT32_MAX;
      chance[left] = all;
    }
  }
  arena_close(arena);
}

static bool check(const double *probability, const struct acquisition *acquisition, const char *path,
                  struct error *error) {
  double sum = 0, possible = 0;
  for (size_t line = 0; line < acquisition->shape.actions; line++) {
    double p = probability[line];
    if (!(p >= 0 && p <= 1))
      return fail_file(error, "sampler.mask %s has the probability %g at action %zu; it must be 0 to 1", path,
                       p, line);
    if (acquisition_is_initial(acquisition, line)) continue;
    sum += p;
    possible += p > 0;
  }
  if (fabs(sum - acquisition->budget) < 0.01 && possible >= acquisition->budget) return true;
  return fail_file(
      error,
      "sampler.mask %s has probabilities for %.4g %s%s beside the %u initial one%s, the budget is %u; use "
      "the one that was trained for this acquisition",
      path, sum, geometry_of(acquisition)->one, fabs(sum - 1) < 1e-9 ? "" : "s", acquisition->initial_lines,
      plural(acquisition->initial_lines), acquisition->budget);
}

enum { MASK_MOST = 1 << 20 }; /* entries, so that a mask of another size is told from a broken file */

static bool read_stored(struct store *store, const struct acquisition *acquisition, const char *path,
                        double *probability, struct arena *arena, struct error *error) {
  char size[SCAN_SHAPE_TEXT];
  void *data;
  size_t found;
  if (!store_has(store, "probability"))
    return fail_file(
        error, "sampler.mask %s has no dataset probability; name a checkpoint of train.method loupe", path);
  if (!store_read_all(store, "probability", STORE_F64, MASK_MOST, arena, &data, &found, error)) return false;
  if (found != acquisition->shape.actions)
    return fail_file(error, "sampler.mask %s holds %zu probabilities; %u are expected at data.size %s", path,
                     found, acquisition->shape.actions, scan_shape_text(&acquisition->shape, size));
  if (!check(data, acquisition, path, error)) return false;
  for (size_t line = 0; line < found; line++)
    probability[line] = acquisition_is_initial(acquisition, line) ? 0 : ((const double *)data)[line];
  return true;
}

bool chances_learned(const struct options *options, const struct acquisition *acquisition,
                           double *probability, struct error *error) {
  const char *path = options->sampler.mask;
  struct arena *arena = arena_open();
  struct store *store;
  bool good = *path ? store_open(&store, path, error)
                    : fail_usage(error, "sampler.mask is empty; name a checkpoint of train.method loupe");
  if (good) {
    good = read_stored(store, acquisition, path, probability, arena, error);
    store_close(store);
  }
  arena_close(arena);
  return good;
}
