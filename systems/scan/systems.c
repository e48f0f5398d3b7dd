#include "systems/scan/systems.h"

#include "systems/methods/rollout.h"
#include "systems/methods/trajectories.h"
#include "systems/scan/load.h"

const struct system *const system_list[] = {&system_reset,
                                            &system_decide_draw,
                                            &system_decide_next,
                                            &system_decide_disc,
                                            &system_acquire,
                                            &system_observe,
                                            &system_reconstruct,
                                            &system_reconstruct_network,
                                            &system_score_ssim,
                                            &system_score_ssim_uniform,
                                            &system_score_error,
                                            &system_reward,
                                            &system_record,
                                            &system_deal,
                                            &system_standardise,
                                            &system_decide_policy,
                                            &system_present,
                                            &system_decide_oracle,
                                            &system_expand,
                                            &system_weigh,
                                            &system_decide_dense,
                                            &system_decide_exact,
                                            &system_observe_cells,
                                            &system_extend,
                                            &system_draw,
                                            &system_decide_sequence,
                                            &system_decide_points,
                                            &system_decide_points_sequence,
                                            &system_observe_coils,
                                            &system_view,
                                            &system_reconstruct_complex,
                                            NULL};

static bool is_sequence(const struct sampler *sampler) {
  return sampler->kind == SAMPLER_SEQUENCE;
}

/* A sampler of the list is of the kind. */
static bool is_named(const struct options *options, bool (*is_kind)(const struct sampler *sampler)) {
  for (const struct sampler *sampler = sampler_list; sampler->name; sampler++)
    if (is_kind(sampler) && option_has(options->evaluate.samplers, sampler->name)) return true;
  return false;
}

struct simulation_plan method_plan(const struct options *options) {
  bool dense = options->train.method == METHOD_PGMRI && *options->evaluate.policy;
  return (struct simulation_plan){.score_every_step = options->evaluate.curves || dense,
                                  .dense = dense,
                                  .metrics = options->evaluate.metrics,
                                  .network = *options->evaluate.reconstructor,
                                  .policy = *options->evaluate.policy,
                                  .observe_every_step = *options->evaluate.policy,
                                  .oracle = is_named(options, sampler_is_oracle),
                                  .sequence = is_named(options, is_sequence),
                                  .record = true};
}

bool method_describe(struct simulation *simulation, const struct options *options, struct error *error) {
  struct simulation_plan plan = method_plan(options);
  return simulation_describe(simulation, options, &plan, NULL, error);
}

bool training_describe(struct simulation *simulation, const struct options *options, struct error *error) {
  bool dense = options->train.method == METHOD_PGMRI;
  struct simulation_plan plan =
      dense ? trajectories_plan(options, 1, 1, 1, 1) : rollout_plan(options, 1, 1, 1);
  plan.network = true;
  return simulation_describe(simulation, options, &plan, &sampler_policy, error);
}

component_set method_columns(const struct simulation *simulation) {
  return load_columns(simulation->options) | simulation->begin.touched | simulation->step.touched |
         simulation->finish.touched;
}
