#include "systems/methods/rollout.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t actions_of(const struct rollout *rollout) {
  return rollout->simulation->acquisition.shape.actions;
}

bool rollout_copy_open(struct rollout_copy *copy, const struct rollout *rollout, float *rewards,
                       struct arena *arena, struct error *error) {
  size_t rows = rollout->rows, actions = actions_of(rollout);
  float **const floats[] = {&copy->value, &copy->target, &copy->advantage};
  double **const doubles[] = {&copy->sum, &copy->square, &copy->count};
  copy->reward = rewards;
  bool good = (copy->action = ARENA_TRY(arena, uint32_t, rows)) &&
              (copy->mask = ARENA_TRY(arena, uint64_t, rollout->scans));
  for (size_t i = 0; i < sizeof floats / sizeof *floats; i++)
    good = good && (*floats[i] = ARENA_TRY(arena, float, rows));
  for (size_t i = 0; i < sizeof doubles / sizeof *doubles; i++)
    good = good && (*doubles[i] = ARENA_TRY(arena, double, actions));
  return good || fail_memory(error, "no host memory for rollouts of %zu steps; lower learn.scans", rows);
}

const struct system system_save_rollout = {.name = "save_rollout",
                                           .doc = "the last rollout, for the facts that the log tells of it",
                                           .reads = SET(ROLLOUT_reward) | SET(ROLLOUT_value) | SET(ROLLOUT_return) |
                                                    SET(ROLLOUT_advantage) | SET(ROLLOUT_action)};

void rollout_copy_read(struct rollout_copy *copy, const struct rollout *rollout) {
  struct world *world = rollout->simulation->world;
  size_t rows = rollout->rows;
  struct world_use before = world_enter(world, &system_save_rollout);
  world_read(world, ROLLOUT_reward, 0, rows, copy->reward);
  world_read(world, ROLLOUT_value, 0, rows, copy->value);
  world_read(world, ROLLOUT_return, 0, rows, copy->target);
  world_read(world, ROLLOUT_advantage, 0, rows, copy->advantage);
  world_read(world, ROLLOUT_action, 0, rows, copy->action);
  world_leave(world, before);
}

/* ---- returns ------------------------------------------------------------------------------------------- */

static double return_of(const struct rollout_copy *copy, const struct rollout *rollout, size_t scan) {
  double sum = 0;
  for (size_t row = scan; row < rollout->rows; row += rollout->scans) sum += copy->reward[row];
  return sum;
}

static double between_slices(const struct rollout_copy *copy, const struct rollout *rollout) {
  size_t members = rollout->group.members, slices = rollout->scans / members;
  double total = 0, between = 0, within = 0;
  if (members < 2 || slices < 2) return NAN;
  for (size_t scan = 0; scan < rollout->scans; scan++) total += return_of(copy, rollout, scan);
  for (size_t slice = 0; slice < slices; slice++) {
    double mean = 0, overall = total / (double)rollout->scans;
    for (size_t i = 0; i < members; i++) mean += return_of(copy, rollout, slice * members + i) / (double)members;
    for (size_t i = 0; i < members; i++) within += pow(return_of(copy, rollout, slice * members + i) - mean, 2);
    between += (double)members * pow(mean - overall, 2);
  }
  return between / (between + within);
}

static double variance_of(const struct rollout_copy *copy, size_t rows, bool less_estimate) {
  double mean = 0, square = 0;
  for (size_t i = 0; i < rows; i++)
    mean += ((double)copy->target[i] - (less_estimate ? copy->value[i] : 0)) / (double)rows;
  for (size_t i = 0; i < rows; i++)
    square += pow((double)copy->target[i] - (less_estimate ? copy->value[i] : 0) - mean, 2);
  return square / (double)rows;
}

/* ---- actions ------------------------------------------------------------------------------------------- */

/* Logits that are not finite choose no action: such rows are left out. */
static void sort_by_action(struct rollout_copy *copy, const struct rollout *rollout, size_t step) {
  size_t actions = actions_of(rollout), first = step * rollout->scans;
  double *const entry[] = {copy->sum, copy->square, copy->count};
  for (size_t i = 0; i < sizeof entry / sizeof *entry; i++) memset(entry[i], 0, sizeof(double) * actions);
  for (size_t row = first; row < first + rollout->scans; row++) {
    uint32_t action = copy->action[row];
    if (action >= actions) continue;
    copy->sum[action] += copy->advantage[row];
    copy->square[action] += pow(copy->advantage[row], 2);
    copy->count[action]++;
  }
}

static double signal_of(struct rollout_copy *copy, const struct rollout *rollout) {
  double between = 0, within = 0, actions = 0, repeats = 0;
  for (size_t step = 0; step < rollout->steps; step++) {
    double total = 0, tried = 0, rows = 0;
    sort_by_action(copy, rollout, step);
    for (size_t a = 0; a < actions_of(rollout); a++) {
      if (!copy->count[a]) continue;
      double part = copy->sum[a] * copy->sum[a] / copy->count[a];
      within += copy->square[a] - part;
      between += part;
      total += copy->sum[a];
      rows += copy->count[a];
      tried++;
    }
    if (!tried) continue;
    between -= total * total / rows;
    actions += tried - 1;
    repeats += rows - tried;
  }
  return actions && repeats && within > 0 ? between / actions / (within / repeats) : NAN;
}

/* ---- masks --------------------------------------------------------------------------------------------- */

/* The same for the same actions in any order (the finaliser of splitmix64, summed). */
static uint64_t mask_of(const struct rollout_copy *copy, const struct rollout *rollout, size_t scan) {
  uint64_t sum = 0;
  for (size_t row = scan; row < rollout->rows; row += rollout->scans) {
    uint64_t word = (copy->action[row] + 1) * 0x9e3779b97f4a7c15u;
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9u;
    word = (word ^ (word >> 27)) * 0x94d049bb133111ebu;
    sum += word ^ (word >> 31);
  }
  return sum;
}

static int compare_masks(const void *a, const void *b) {
  uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;
  return one < other ? -1 : one > other;
}

static double distinct_masks(struct rollout_copy *copy, const struct rollout *rollout) {
  size_t members = rollout->group.members, distinct = 0;
  if (members < 2) return NAN;
  for (size_t scan = 0; scan < rollout->scans; scan++) copy->mask[scan] = mask_of(copy, rollout, scan);
  for (size_t first = 0; first < rollout->scans; first += members) {
    qsort(copy->mask + first, members, sizeof *copy->mask, compare_masks);
    for (size_t i = 0; i < members; i++) distinct += !i || copy->mask[first + i] != copy->mask[first + i - 1];
  }
  return (double)distinct / (double)rollout->scans;
}

struct rollout_facts rollout_facts(struct rollout_copy *copy, const struct rollout *rollout) {
  double variance = variance_of(copy, rollout->rows, false);
  return (struct rollout_facts){
      .between = between_slices(copy, rollout),
      .signal = signal_of(copy, rollout),
      .explained = variance > 0 ? 1 - variance_of(copy, rollout->rows, true) / variance : NAN,
      .distinct = distinct_masks(copy, rollout)};
}
