#include "systems/methods/search.h"

#include "systems/scan/observation.h"

static const struct metric *metric_of(const struct training *training) {
  return &metric_list[training->options->reward.metric];
}

bool search_check(const struct options *options, const char *method, struct error *error) {
  return options->network.input == INPUT_MAGNITUDE ||
         fail_usage(error, "train.method is %s, which looks at magnitudes, and network.input is complex; set it to "
                           "magnitude",
                    method);
}

/* ---- data ---------------------------------------------------------------------------------------------- */

static struct simulation_plan plan_validation(const struct options *options, size_t slices) {
  size_t envs = options->world.envs < slices ? options->world.envs : slices;
  return (struct simulation_plan){.slices = slices,
                                  .envs = envs,
                                  .together = envs,
                                  .metrics = metric_list[options->reward.metric].name,
                                  .network = true};
}

/* Slices stand side by side, so that candidates of several fill the network's passes. Only the candidates, in a world of
 * their own, are observed: they share what that needs. */
struct simulation_plan search_plan(const struct training *training, const struct split *split, size_t slices) {
  const struct observation *observation = observation_chosen(&split->options);
  component_set cells = observation->cells ? SET(SCENE_cells) : 0;
  if (split == &training->validation) return plan_validation(&split->options, slices);
  return (struct simulation_plan){.slices = slices,
                                  .envs = slices,
                                  .together = slices,
                                  .network = true,
                                  .deciders = DECIDES_ORACLE,
                                  .columns = SET(SLICE_image) | observation->kspace | cells};
}

bool search_describe(struct training *training, struct error *error) {
  return training_describe_splits(training, ((const struct search_way *)training->task->facts)->sampler, error);
}

bool search_load(struct training *training, struct split *split, struct error *error) {
  const struct search_way *way = training->task->facts;
  (void)error;
  split->simulation.sampler = way->sampler;
  split->simulation.alike = true;
  split->simulation.acquisition = training->acquisition;
  split->simulation.steps = acquisition_steps(&training->acquisition);
  return true;
}

/* ---- validation ---------------------------------------------------------------------------------------- */

void search_fill_validate(struct training *training, struct schedule *schedule) {
  const struct search_way *way = training->task->facts;
  struct simulation *simulation = &training->validation.simulation;
  simulation_add_restart(simulation, schedule);
  way->start(simulation, schedule);
  simulation_add_observe(simulation, schedule);
  simulation_add_reconstruct(simulation, schedule);
  simulation_add_score(simulation, schedule, metric_of(training));
}

static const struct system save_scores = {.name = "save_scores", .doc = "scores of the validation scans"};

void search_fill_scores(struct training *training, struct schedule *schedule) {
  schedule_add(schedule, &save_scores, NULL)->reads = SET(metric_of(training)->env);
}

bool search_validate(struct training *training, double values[TRAINING_VALUES], struct error *error) {
  const struct metric *metric = metric_of(training);
  const struct split_scans how = {&training->list[VALIDATION_SCAN], training_host(training, VALIDATION_SCORES, 0), metric->env};
  size_t slices = training->validation.report.slices;
  struct arena *arena = arena_open();
  float *score = ARENA_NEW(arena, float, slices);
  bool good = split_scan(&training->validation, &how, score, NULL, error);
  for (size_t i = 0; good && i < slices; i++) values[0] += (double)(metric->sign * score[i]) / (double)slices;
  arena_close(arena);
  return good;
}
