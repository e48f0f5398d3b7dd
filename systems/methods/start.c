#include "systems/methods/start.h"

#include "engine/files/part.h"
#include "systems/sampling/acquisition.h"
#include "systems/sampling/geometry.h"

#include <string.h>

static bool is_dense(const struct options *options) {
  return !strcmp(options->alternate.start, "dense");
}

const char *start_checkpoint(const struct options *options) {
  if (*options->learn.reconstructor) return options->learn.reconstructor;
  return is_dense(options) || !strcmp(options->alternate.start, "sparse") ? NULL : options->alternate.start;
}

/* ---- train.start, learn.start -------------------------------------------------------------------------- */

static bool train_start_counts(const struct method *method, const struct options *options,
                               struct error *error) {
  if (method->masks)
    return fail_usage(
        error,
        "train.start starts a reconstructor, and train.method %s learns what chooses its samples beside it, "
        "which no option starts; leave train.start out, or take train.method reconstructor",
        method->name);
  if ((method->policy || method->grows) && start_checkpoint(options))
    return fail_usage(
        error,
        "train.start starts a reconstructor, and none is trained by train.*: %s names one that is "
        "trained; leave one of the two out",
        *options->learn.reconstructor ? "learn.reconstructor" : "alternate.start");
  return true;
}

static bool check_train_start(const struct method *method, const struct options *options,
                              struct device *device, struct error *error) {
  struct reconstructor_setup setup = reconstructor_setup_of(device, NULL, options, 1);
  setup.absolute = setup.train = true;
  if (!*options->train.start) return true;
  return train_start_counts(method, options, error) &&
         (reconstructor_fits(&setup, options->train.start, error) || fail_in(error, "train.start"));
}

static bool check_learn_start(const struct method *method, const struct options *options,
                              struct device *device, struct error *error) {
  struct policy_setup setup = policy_setup_of(device, NULL, options, 1);
  struct acquisition acquisition;
  if (!*options->learn.start) return true;
  if (!method->policy)
    return fail_usage(error,
                      "learn.start starts a policy, and train.method %s trains none; leave it out, or take "
                      "l2s, l2sr or pgmri",
                      method->name);
  setup.dense = method->policy->dense;
  struct arena *arena = arena_open();
  bool good = acquisition_only(&acquisition, options, arena, error) &&
              (policy_fits(&setup, geometry_of(&acquisition)->name, options->learn.start, error) ||
               fail_in(error, "learn.start"));
  arena_close(arena);
  return good;
}

bool start_parameters_check(const struct method *method, const struct options *options, struct device *device,
                            struct error *error) {
  return check_train_start(method, options, device, error) &&
         check_learn_start(method, options, device, error);
}

/* ---- the first reconstructor --------------------------------------------------------------------------- */

bool start_check(const struct options *options, struct error *error) {
  const char *path = start_checkpoint(options);
  if (!path || *options->learn.reconstructor || file_is_there(path)) return true;
  return fail_usage(error,
                    "alternate.start is '%s'; it must be sparse, dense, or the file of a reconstructor's "
                    "checkpoint, and there is no such file",
                    path);
}

/* With a budget of its own a scan has another acceleration than the scene names. */
static uint32_t acceleration_of(const struct acquisition *acquisition, const struct options *options) {
  uint32_t all = acquisition->initial_lines + acquisition->budget;
  return options->acquisition.budget ? (acquisition->shape.actions + all / 2) / all
                                     : acquisition->acceleration;
}

/* The acceleration times so many halves, at most `size`. */
static uint32_t times(uint32_t acceleration, uint32_t halves, uint32_t size) {
  uint64_t product = ((uint64_t)acceleration * halves + 1) / 2;
  return product < size ? (uint32_t)product : size;
}

bool start_set(struct options *options, struct arena *arena, struct error *error) {
  /* R_dense (PROTOCOL 1.1): A, 1.5 A and 2 A, each from every initial acceleration up to 2 A. */
  static const uint32_t pair[][2] = {{2, 2}, {2, 3}, {2, 4}, {3, 3}, {3, 4}, {4, 4}};
  struct acquisition acquisition;
  const char *all = "", *initial = "";
  if (options->alternate.augment == AUGMENT_ROUNDS) options->data.augment = "";
  if (!is_dense(options)) return true;
  if (!acquisition_only(&acquisition, options, arena, error)) return false;
  uint32_t acceleration = acceleration_of(&acquisition, options), size = acquisition.shape.width;
  for (size_t i = 0; i < sizeof pair / sizeof *pair; i++) {
    all = arena_text(arena, "%s%s%u", all, i ? "," : "", times(acceleration, pair[i][0], size));
    initial = arena_text(arena, "%s%s%u", initial, i ? "," : "", times(acceleration, pair[i][1], size));
  }
  options->train.accelerations = all;
  options->train.initial_accelerations = initial;
  return true;
}
