#include "systems/training/split.h"

#include <string.h>

#include "systems/training/training_config.h"

bool split_find(struct split *split, const struct training_config *config, size_t *slices, struct error *error) {
  size_t most = split->options.data.most;
  if (!config->fill && !dataset_open(&split->dataset, &split->options, error)) return false;
  *slices = config->fill ? config->slices : split->dataset.slice_count;
  if (most && most < *slices) *slices = most;
  return true;
}

bool split_load(struct split *split, struct device *device, struct simulation_plan plan,
                const struct training_config *config, struct arena *arena, struct error *error) {
  plan.coils = config->fill ? 0 : dataset_coils(&split->dataset);
  if (config->fill) plan.together = 0;
  plan.kernel_folder = config->kernel_folder;
  split->report.slices = config->slices;
  return simulation_open(&split->simulation, device, &split->options, &plan, error) &&
         (config->fill ? config->fill(split->simulation.world, config->slices, split->options.world.seed, error)
                       : load_simulation(&split->simulation, &split->dataset, &split->options, arena,
                                         &split->report, error));
}

void split_close(struct split *split) {
  if (split->simulation.kernels) simulation_close(&split->simulation);
  if (split->dataset.arena) dataset_close(&split->dataset);
}

static const struct system save_choices = {
    .name = "save_choices", .doc = "actions of the validation scans", .reads = SET(ROLLOUT_action)};
static const struct system save_scores = {
    .name = "save_scores", .doc = "scores of the validation scans", .reads = SET(ENV_quality)};

const struct system *const split_scores[] = {&save_scores, NULL},
                    *const split_scores_and_choices[] = {&save_scores, &save_choices, NULL};

/* Actions of scans from `first` on, [scan][step]. Row 0 of a scan in ROLLOUT is of before its first action. */
static bool keep_actions(struct split *split, size_t first, size_t envs, uint32_t *action, struct error *error) {
  struct simulation *simulation = &split->simulation;
  size_t steps = acquisition_steps(&simulation->acquisition);
  struct arena *arena = arena_open();
  uint32_t *row = ARENA_NEW(arena, uint32_t, envs * steps);
  world_get(simulation->world, &save_choices, ROLLOUT_action, envs, envs * steps, row);
  bool good = device_finish(simulation->device, error);
  for (size_t i = 0; good && i < envs * steps; i++) action[(first + i % envs) * steps + i / envs] = row[i];
  arena_close(arena);
  return good;
}

static void count_choices(const struct split *split, uint32_t *action, uint32_t *choices) {
  const struct acquisition *acquisition = &split->simulation.acquisition;
  size_t steps = acquisition_steps(acquisition), lines = acquisition->shape.actions, count = split->report.slices * steps;
  memset(choices, 0, split_choices(acquisition) * sizeof *choices);
  ranks_unite(split->simulation.device->ranks, action, count * sizeof *action);
  for (size_t i = 0; i < count; i++)
    if (action[i] < lines) choices[i % steps * lines + action[i]]++;
}

size_t split_choices(const struct acquisition *acquisition) {
  return (size_t)acquisition->budget * acquisition->shape.actions;
}

bool split_scan(struct split *split, const struct split_scans *how, float *of, uint32_t *action, struct error *error) {
  struct simulation *simulation = &split->simulation;
  struct ranks *ranks = simulation->device->ranks;
  size_t slices = split->report.slices, most = world_capacity(simulation->world, TABLE_ENV);
  size_t first, end = ranks_rows(ranks, slices, &first);
  for (; first < end; first += most) {
    size_t envs = end - first < most ? end - first : most;
    simulation_restart(simulation, (uint32_t)first, envs);
    if (how->scan)
      schedule_run(how->scan, simulation->world);
    else
      simulation_episode(simulation);
    world_get(simulation->world, how->save, how->score, 0, envs, of + first);
    if (!device_finish(simulation->device, error) || !simulation_check(simulation, error) ||
        (action && !keep_actions(split, first, envs, action, error)))
      return false;
  }
  ranks_unite(ranks, of, slices * sizeof *of);
  return true;
}

bool split_score(struct split *split, uint32_t *choices, double *score, struct error *error) {
  const struct split_scans how = {NULL, &save_scores, ENV_quality};
  size_t slices = split->report.slices, steps = acquisition_steps(&split->simulation.acquisition);
  struct arena *arena = arena_open();
  float *quality = ARENA_NEW(arena, float, slices);
  uint32_t *action = choices ? ARENA_NEW(arena, uint32_t, slices * steps) : NULL;
  double sum = 0;
  bool good = split_scan(split, &how, quality, action, error);
  for (size_t i = 0; i < slices; i++) sum += quality[i];
  if (choices && good) count_choices(split, action, choices);
  arena_close(arena);
  *score = sum / (double)slices;
  return good;
}

struct run_data split_data(const struct split *split) {
  return (struct run_data){split->dataset.hash, split->report.slices, &split->dataset};
}
