#include "systems/methods/start.h"

#include "engine/files/part.h"
#include "systems/sampling/acquisition.h"
#include "systems/sampling/geometry.h"
#include "systems/scan/reconstruction.h"

#include <string.h>

static bool is_dense(const struct options *options) {
  return !strcmp(options->alternate.start, "dense");
}

const char *start_checkpoint(const struct options *options) {
  if (*options->learn.reconstructor) return options->learn.reconstructor;
  return is_dense(options) || !strcmp(options->alternate.start, "sparse") ? NULL : options->alternate.start;
}

bool start_trains(const struct options *options) {
  const struct method *method = method_of(options);
  return method->stages[1] || method->stages[0] != &task_reconstructor || reconstruction_trains(options);
}

/* Stages after the first take its reconstructor; where they alternate they train it. */
bool start_check_method(const struct method *method, const struct options *options, struct error *error) {
  bool trains = !method->stages[1] || method->alternates;
  bool alone = method->stages[0] == &task_reconstructor && !method->stages[1];
  if (trains)
    return reconstruction_trains(options) ||
           fail_usage(error, "reconstruct.method is %s, which has no network, and train.method %s trains one; %s",
                      reconstruction_chosen(options, true)->name, method->name,
                      alone ? "evaluate it as it is, score its weights by `l2sr sweep`, or set reconstruct.method to auto"
                            : "set reconstruct.method to auto, or, for `l2sr sweep` to score its weights, train.method to reconstructor");
  if (*options->train.start) return reconstruction_check_network(options, "train.start starts", error);
  return !start_checkpoint(options) ||
         reconstruction_check_network(
             options, *options->learn.reconstructor ? "learn.reconstructor names" : "alternate.start names", error);
}

/* ---- train.start, learn.start -------------------------------------------------------------------------- */

static const char *value_of(const struct options *options, const char *key) {
  return *(const option_TEXT *)((const char *)options + option_find(&option_table, key)->offset);
}

/* The stage that the key starts; NULL: none. */
static const struct task *started_by(const struct method *method, const char *key) {
  for (size_t i = 0; method->stages[i]; i++)
    if (method->stages[i]->start && !strcmp(method->stages[i]->start, key)) return method->stages[i];
  return NULL;
}

static bool refuse_start(const struct method *method, const char *key, const char *what, struct error *error) {
  struct arena *arena = arena_open();
  const char *takes = "";
  for (const struct method *const *other = method_list; *other; other++)
    if (started_by(*other, key)) takes = arena_text(arena, "%s%s%s", takes, *takes ? ", " : "", (*other)->name);
  fail_usage(error,
             "%s starts %s, and train.method %s trains none that starts so; leave it out, or take one of %s",
             key, what, method->name, takes);
  arena_close(arena);
  return false;
}

/* Of several stages the first is left out where its reconstructor is there. */
static bool check_start(const struct method *method, const char *key, const char *what, const struct options *options,
                        struct device *device, struct error *error) {
  const struct task *task = started_by(method, key);
  if (!*value_of(options, key)) return true;
  if (!task) return refuse_start(method, key, what, error);
  if (method->stages[1] && task == method->stages[0] && start_checkpoint(options))
    return fail_usage(error,
                      "%s starts %s, and none is trained by train.*: %s names one that is trained; leave one of the "
                      "two out",
                      key, what, *options->learn.reconstructor ? "learn.reconstructor" : "alternate.start");
  return task->fits(device, options, value_of(options, key), error) || fail_in(error, "%s", key);
}

bool start_parameters_check(const struct method *method, const struct options *options, struct device *device,
                            struct error *error) {
  return check_start(method, "train.start", "a reconstructor", options, device, error) &&
         check_start(method, "learn.start", "a policy", options, device, error);
}

const char *start_parameters(const struct task *task, const struct options *options) {
  const char *path = task->start ? value_of(options, task->start) : "";
  return *path ? path : NULL;
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
  return options->acquisition.budget ? (scan_shape_choices(&acquisition->shape) + all / 2) / all
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
