#include "systems/methods/start.h"

#include "engine/files/part.h"
#include "systems/sampling/acquisition.h"

#include <string.h>

static bool is_dense(const struct options *options) {
  return !strcmp(options->alternate.start, "dense");
}

const char *start_checkpoint(const struct options *options) {
  if (*options->learn.reconstructor) return options->learn.reconstructor;
  return is_dense(options) || !strcmp(options->alternate.start, "sparse") ? NULL : options->alternate.start;
}

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
  return options->acquisition.budget ? (acquisition->lines + all / 2) / all : acquisition->acceleration;
}

/* The acceleration times so many halves, at most N. */
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
  uint32_t acceleration = acceleration_of(&acquisition, options), size = options->data.size;
  for (size_t i = 0; i < sizeof pair / sizeof *pair; i++) {
    all = arena_text(arena, "%s%s%u", all, i ? "," : "", times(acceleration, pair[i][0], size));
    initial = arena_text(arena, "%s%s%u", initial, i ? "," : "", times(acceleration, pair[i][1], size));
  }
  options->train.accelerations = all;
  options->train.initial_accelerations = initial;
  return true;
}
