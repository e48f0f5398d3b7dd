#include "systems/scan/simulation.h"

#include "engine/device/fft.h"
#include "kernels/kernels.h"
#include "systems/scan/geometry.h"
#include "systems/scan/learned.h"
#include "systems/scan/load.h"
#include "systems/scan/oracle.h"
#include "systems/scan/systems.h"
#include "systems/scan/window.h"

#include <math.h>
#include <string.h>

/* ---- lists of systems --------------------------------------------------------------------------------- */

struct list {
  struct simulation *simulation;
  const struct system *row[16];
  int count;
  component_set produced; /* by this list: what record may copy */
};

/* Copies the row into the simulation and gives it the simulation as its context. */
static struct system *place(struct list *list, const struct system *row) {
  struct simulation *simulation = list->simulation;
  struct system *copy = simulation->system;
  while (copy->name) copy++;
  REQUIRE(copy < simulation->system + sizeof simulation->system / sizeof *copy - 1, "too many systems");
  *copy = *row;
  copy->context = simulation;
  list->row[list->count++] = copy;
  list->produced |= row->writes;
  return copy;
}

static bool is_complex(const struct options *options) {
  return options->network.input == INPUT_COMPLEX;
}

/* What views k-space itself reads what an observation would. */
static void place_view(struct list *list, const struct options *options, const struct system *row) {
  place(list, row)->reads |= observation_chosen(options)->kspace;
}

static void place_network(struct list *list, const struct options *options) {
  if (is_complex(options))
    place_view(list, options, &system_reconstruct_complex);
  else
    place(list, &system_reconstruct_network);
}

static void place_scores(struct list *list, const struct options *options,
                         const struct simulation_plan *plan) {
  const char *metrics = plan->metrics;
  const struct metric *reward = &metric_list[options->reward.metric];
  const struct system *last = NULL;
  if (plan->network)
    place_network(list, options);
  else
    place(list, &system_reconstruct);
  if (plan->unscored) return;
  for (const struct metric *metric = metric_list; metric < metric_list + METRICS; metric++)
    if ((option_has(metrics, metric->name) || metric == reward) && metric->system != last)
      place(list, last = metric->system);
  place(list, &system_reward)->reads |= SET(reward->env);
}

/* record copies only what its own list computes; what a policy learns from only where one decides. */
static void place_record(struct list *list, const struct simulation_plan *plan) {
  const component_set learnt = SET(ENV_log_prob) | SET(ENV_value) | SET(ENV_done);
  component_set produced = list->produced & system_record.reads & ~(learnt | SET(ENV_slice)), kept = 0;
  if (plan->policy) produced |= (list->produced & learnt) | SET(ENV_slice);
  for (size_t c = 0; c < component_schema.component_count; c++)
    for (size_t r = 0; r < component_schema.component_count; r++) {
      const struct component_desc *from = &component_schema.components[c],
                                  *to = &component_schema.components[r];
      if ((produced & SET(c)) && to->table == TABLE_ROLLOUT && !strcmp(from->name, to->name)) kept |= SET(r);
    }
  struct system *record = place(list, &system_record);
  record->reads = produced;
  record->writes = kept;
}

/* As the geometry and the data want it. */
static void place_observe(struct list *list, const struct options *options) {
  const struct system *observe = observation_chosen(options)->observe;
  if (observe) place(list, observe);
}

/* What a reconstructor is trained on. */
static void place_input(struct list *list, const struct options *options) {
  if (is_complex(options))
    place_view(list, options, &system_view);
  else
    place(list, &system_standardise);
}

static const struct system *decide_of(const struct simulation *simulation) {
  if (geometry_chosen(simulation->options)->points)
    return simulation->sampler->kind == SAMPLER_SEQUENCE ? &system_decide_points_sequence
                                                         : &system_decide_points;
  if (simulation->dense && simulation->sampler->kind == SAMPLER_POLICY) return &system_decide_dense;
  return decide_by_kind[simulation->sampler->kind];
}

/* An oracle looks at slices as observe does. */
static void adapt_decide(const struct simulation *simulation, struct system *system) {
  if (sampler_is_oracle(simulation->sampler))
    system->reads |= observation_chosen(simulation->options)->kspace;
}

static bool build(struct list *list, struct schedule *schedule, struct error *error) {
  list->row[list->count] = NULL;
  return schedule_build(schedule, &component_schema, list->row, error);
}

static bool build_begin(struct simulation *simulation, const struct simulation_plan *plan,
                        struct error *error) {
  struct list list = {.simulation = simulation};
  place(&list, &system_reset);
  if (plan->score_every_step || plan->observe_every_step) place_observe(&list, simulation->options);
  bool compat = plan->policy && simulation->options->reward.form == REWARD_COMPAT;
  if (plan->score_every_step || compat)
    place_scores(&list, simulation->options, plan);
  if ((plan->score_every_step || compat) && plan->record) place_record(&list, plan);
  return build(&list, &simulation->begin, error);
}

static bool build_step(struct simulation *simulation, const struct simulation_plan *plan,
                       struct error *error) {
  struct list list = {.simulation = simulation};
  if (plan->rolling) place(&list, &system_reset);
  adapt_decide(simulation, place(&list, decide_of(simulation)));
  place(&list, &system_acquire);
  if (plan->score_every_step || plan->observe_every_step) place_observe(&list, simulation->options);
  if (plan->score_every_step) place_scores(&list, simulation->options, plan);
  if (plan->record) place_record(&list, plan);
  return build(&list, &simulation->step, error);
}

static bool build_finish(struct simulation *simulation, const struct simulation_plan *plan,
                         struct error *error) {
  struct list list = {.simulation = simulation};
  if (!plan->score_every_step && (plan->metrics || plan->unscored)) {
    if (!plan->observe_every_step) place_observe(&list, simulation->options);
    place_scores(&list, simulation->options, plan);
    if (plan->record) place_record(&list, plan);
  }
  return build(&list, &simulation->finish, error);
}

static bool build_batch(struct simulation *simulation, const struct simulation_plan *plan,
                        struct error *error) {
  struct list list = {.simulation = simulation};
  if (plan->policy && !plan->dense && !plan->epoch_rows) {
    place_observe(&list, simulation->options);
    place(&list, &system_present);
  }
  if (plan->epoch_rows) {
    place(&list, &system_deal);
    if (plan->draws_masks) place(&list, &system_draw);
    if (!plan->deal_only) place_observe(&list, simulation->options);
  }
  if (plan->epoch_rows && !plan->score_batches && !plan->deal_only) place_input(&list, simulation->options);
  if (plan->score_batches) {
    place_network(&list, simulation->options);
    place(&list, &system_score_ssim);
    place(&list, &system_score_error);
  }
  return build(&list, &simulation->batch, error);
}

static bool build_schedules(struct simulation *simulation, const struct simulation_plan *plan,
                            struct error *error) {
  memset(simulation->system, 0, sizeof simulation->system);
  return build_begin(simulation, plan, error) && build_step(simulation, plan, error) &&
         build_finish(simulation, plan, error) && build_batch(simulation, plan, error);
}

bool simulation_describe(struct simulation *simulation, const struct options *options,
                         const struct simulation_plan *plan, const struct sampler *sampler,
                         struct error *error) {
  char first[64];
  *simulation = (struct simulation){.options = options, .dense = plan->dense, .sampler = sampler};
  if (sampler) return build_schedules(simulation, plan, error);
  if (!option_next(options->evaluate.samplers, first, sizeof first))
    return fail_usage(error, "evaluate.samplers is an empty list; name at least one sampler");
  simulation->sampler = sampler_find(first, error);
  return simulation->sampler && build_schedules(simulation, plan, error);
}

/* ---- opening ------------------------------------------------------------------------------------------ */

static bool prepare(struct simulation *simulation, struct error *error) {
  size_t rows = simulation->world.capacity[TABLE_SLICE];
  if (rows < simulation->slices && !window_open(&simulation->window, simulation, simulation->slices, error))
    return false;
  return schedule_prepare(&simulation->begin, simulation->kernels, error) &&
         schedule_prepare(&simulation->step, simulation->kernels, error) &&
         schedule_prepare(&simulation->finish, simulation->kernels, error) &&
         schedule_prepare(&simulation->batch, simulation->kernels, error) &&
         observation_chosen(simulation->options)->open(simulation, error);
}

static bool open_ranks(struct simulation *simulation, const struct simulation_plan *plan,
                       struct error *error) {
  if (!plan->sequence || geometry_chosen(simulation->options)->points) return true;
  simulation->ranks_bytes = sizeof(uint32_t) * plan->envs * simulation->options->data.size;
  simulation->ranks = device_buffer(simulation->device, simulation->ranks_bytes, "the order of lines", error);
  return simulation->ranks && kernel_need(simulation->kernels, "sequence_next", error);
}

static size_t actions_of(const struct simulation *simulation) {
  return geometry_actions(geometry_chosen(simulation->options), simulation->options->data.size);
}

static bool open_tables(struct simulation *simulation, size_t n, struct error *error) {
  struct device *device = simulation->device;
  simulation->phase = device_buffer(device, 8 * n, "the phases", error);
  simulation->initial =
      simulation->phase ? device_buffer(device, actions_of(simulation), "the initial mask", error) : NULL;
  simulation->choice =
      simulation->initial ? device_buffer(device, 4 * n, "the sampler's lines", error) : NULL;
  if (simulation->choice)
    simulation->chances = device_buffer(device, learned_table_bytes(n), "the chances of lines", error);
  if (!simulation->chances) return false;
  float phase[1024];
  for (size_t k = 0; k < n; k++) {
    phase[2 * k] = (float)cos(2 * M_PI * (double)k / (double)n);
    phase[2 * k + 1] = (float)sin(2 * M_PI * (double)k / (double)n);
  }
  device_write(device, simulation->phase, 0, 8 * n, phase);
  return true;
}

static bool open_world(struct simulation *simulation, const struct simulation_plan *plan,
                       struct error *error) {
  size_t n = simulation->options->data.size;
  struct world_setup setup = {.schema = &component_schema,
                              .height = n,
                              .width = n,
                              .half = simulation->options->world.observation == OBSERVATION_F16};
  bool measured = simulation->options->data.kspace == KSPACE_MEASURED;
  setup.columns = load_columns(simulation->options) | simulation->begin.touched | simulation->step.touched |
                  simulation->finish.touched | simulation->batch.touched;
  if (plan->policy) setup.columns |= SET(ROLLOUT_advantage) | SET(ROLLOUT_return); /* systems/methods/rollout.c */
  setup.rows[TABLE_SLICE] = plan->slices;
  setup.rows[TABLE_ENV] = plan->envs;
  setup.rows[TABLE_ROLLOUT] = plan->record ? plan->envs * plan->rollout_steps : 0;
  setup.rows[TABLE_EPOCH] = plan->epoch_rows;
  setup.shape[SHAPE_ONE] = 1;
  setup.shape[SHAPE_W] = n;
  setup.shape[SHAPE_A] = actions_of(simulation);
  setup.shape[SHAPE_HW] = n * n;
  setup.shape[SHAPE_CHW] = plan->coils * n * n;
  setup.rows[TABLE_SLICE] =
      window_rows(&setup, simulation->device, simulation->options, measured ? 0 : plan->together);
  uint8_t grows = plan->epoch_rows ? TABLE_SLICE : TABLE_ENV;
  return world_open(&simulation->world, simulation->device, simulation->kernels, &setup, grows, error);
}

static bool check_size(const struct options *options, struct error *error) {
  if (fft_takes(options->data.size)) return true;
  uint32_t near = options->data.size;
  while (!fft_takes(near)) near--;
  return fail_usage(error, "data.size is %u; it must be a product of 2, 3, 5, 7, 11 and 13, as %u",
                    options->data.size, near);
}

static bool check_kspace(const struct options *options, const struct simulation_plan *plan,
                         struct error *error) {
  if (options->data.kspace == KSPACE_IMAGE) return true;
  if (plan->sequence && !is_complex(options))
    return fail_usage(error, "data.kspace is measured, and the samplers tau_step and tau_step_best transform "
                             "images; set it to image");
  if (plan->coils) return true;
  return fail_usage(error,
                    "data.kspace is measured, and this works on images without files; set it to image");
}

/* Networks of complex images: what has no such image. */
static bool check_input(const struct options *options, const struct simulation_plan *plan,
                        struct error *error) {
  if (!is_complex(options)) return true;
  if (!geometry_chosen(options)->columns && !geometry_chosen(options)->points)
    return fail_usage(
        error,
        "network.input is complex, which is of lines and points, and acquisition.geometry is %s; set it to "
        "lines or points, or network.input to magnitude",
        geometry_chosen(options)->name);
  if (plan->policy)
    return fail_usage(error,
                      "network.input is complex, and policies look at magnitudes; set it to magnitude");
  if (plan->oracle)
    return fail_usage(error, "network.input is complex, and oracles look at magnitudes; set it to magnitude, "
                             "or name other samplers");
  if ((plan->metrics || plan->unscored) && !plan->network)
    return fail_usage(error, "network.input is complex, and no reconstructor is named; give --reconstructor "
                             "FILE, or set it to magnitude for zero-filled images");
  if (options->data.kspace == KSPACE_IMAGE || plan->coils == 1) return true;
  return fail_usage(
      error,
      "network.input is complex and data.kspace measured: a network takes one complex image, and "
      "these files have %zu coils; set data.kspace to image, or network.input to magnitude",
      plan->coils);
}

static bool open_kernels(struct simulation *simulation, const struct simulation_plan *plan,
                         struct error *error) {
  size_t n = simulation->options->data.size;
  bool half = simulation->options->world.observation == OBSERVATION_F16;
  struct kernel_setup setup = {n, n, half, plan->kernel_folder};
  simulation->kernels = plan->kernels;
  simulation->shares_kernels = plan->kernels;
  if (plan->kernels) return true;
  if (!kernels_open(&simulation->kernels, simulation->device, &kernel_table, &setup, error)) return false;
  if (is_complex(simulation->options)) kernels_define(simulation->kernels, "TARGET_PLAIN");
  if (geometry_chosen(simulation->options)->points) kernels_define(simulation->kernels, "ACTIONS=PIXELS");
  return true;
}

bool simulation_open(struct simulation *simulation, struct device *device, const struct options *options,
                     const struct simulation_plan *plan, struct error *error) {
  size_t n = options->data.size;
  *simulation = (struct simulation){.device = device,
                                    .options = options,
                                    .sampler = plan->policy ? &sampler_policy : &sampler_list[0],
                                    .policy_decides = plan->policy,
                                    .dense = plan->dense,
                                    .slices = plan->slices,
                                    .sequence = plan->sequence,
                                    .coils = plan->coils,
                                    .oracle_batch = plan->oracle ? options->network.batch : 0};
  REQUIRE(!plan->dense || plan->score_every_step, "decisions by the reconstruction need one in every step");
  bool good = check_size(options, error) && check_kspace(options, plan, error) &&
              check_input(options, plan, error) && build_schedules(simulation, plan, error) &&
              open_kernels(simulation, plan, error) && open_world(simulation, plan, error) &&
              open_tables(simulation, n, error) && open_ranks(simulation, plan, error) &&
              prepare(simulation, error) && kernel_need(simulation->kernels, "line_draw", error) &&
              kernel_need(simulation->kernels, "line_next", error) &&
              kernel_need(simulation->kernels, "line_disc", error) &&
              kernel_need(simulation->kernels, "line_exact", error) &&
              (!plan->oracle || oracle_open(&simulation->oracle, simulation, plan->network, error));
  if (!good) simulation_close(simulation);
  return good;
}

void simulation_close(struct simulation *simulation) {
  size_t n = simulation->options->data.size;
  window_close(simulation->window);
  oracle_close(simulation->oracle);
  device_release(simulation->device, simulation->phase, 8 * n);
  device_release(simulation->device, simulation->initial, actions_of(simulation));
  points_close(&simulation->points);
  device_release(simulation->device, simulation->cells, 4 * n * n);
  device_release(simulation->device, simulation->observe_work, simulation->observe_bytes);
  device_release(simulation->device, simulation->choice, 4 * n);
  device_release(simulation->device, simulation->chances, learned_table_bytes(n));
  device_release(simulation->device, simulation->ranks, simulation->ranks_bytes);
  world_close(&simulation->world);
  if (!simulation->shares_kernels) kernels_close(simulation->kernels);
  simulation->kernels = NULL;
  simulation->oracle = NULL;
  simulation->window = NULL;
  simulation->phase = simulation->choice = simulation->chances = simulation->initial = NULL;
  simulation->cells = simulation->observe_work = simulation->ranks = NULL;
}

/* ---- running ------------------------------------------------------------------------------------------ */

/* Exchanges the decide system of the step for the sampler's; the heuristics touch the same columns, a policy more:
 * the schedule was built for it where one decides. */
static void exchange_decide(struct simulation *simulation) {
  for (struct system *system = simulation->system; system->name; system++)
    if (!strncmp(system->name, "decide_", 7)) {
      *system = *decide_of(simulation);
      system->context = simulation;
      adapt_decide(simulation, system);
    }
}

static bool write_chances(struct simulation *simulation, struct error *error) {
  const struct acquisition *acquisition = &simulation->acquisition;
  struct arena *arena = arena_open();
  uint32_t *table = learned_table(arena, acquisition);
  double *probability = ARENA_NEW(arena, double, acquisition->lines);
  bool good = learned_probabilities(simulation->options, acquisition, probability, error);
  if (good) {
    learned_fill(probability, acquisition, table);
    device_write(simulation->device, simulation->chances, 0,
                 sizeof(uint32_t) * acquisition->lines * (acquisition->budget + 1), table);
  }
  arena_close(arena);
  return good;
}

static void write_initial(struct simulation *simulation, struct arena *arena) {
  size_t lines = simulation->acquisition.lines;
  uint8_t *initial = ARENA_NEW(arena, uint8_t, lines);
  acquisition_initial(&simulation->acquisition, initial);
  device_write(simulation->device, simulation->initial, 0, lines, initial);
}

/* What the sampler decides by. Points of tau steps are drawn by a network. */
static bool write_tables(struct simulation *simulation, const uint32_t *table, struct error *error) {
  const struct acquisition *acquisition = &simulation->acquisition;
  const struct sampler *sampler = simulation->sampler;
  if (geometry_of(acquisition)->points)
    return sampler->kind == SAMPLER_SEQUENCE ||
           ((simulation->points.graph ||
             points_open(&simulation->points, simulation->device, simulation->kernels, simulation->options,
                         simulation->world.capacity[TABLE_ENV], error)) &&
            points_set(&simulation->points, sampler, simulation->options, acquisition, table, error));
  device_write(simulation->device, simulation->choice, 0, 4 * (size_t)acquisition->lines, table);
  return sampler->kind != SAMPLER_EXACT || write_chances(simulation, error);
}

bool simulation_set(struct simulation *simulation, const struct acquisition *acquisition,
                    const struct sampler *sampler, struct error *error) {
  REQUIRE(sampler->kind != SAMPLER_POLICY || simulation->policy_decides,
          "the simulation was opened without a policy");
  REQUIRE(!sampler_is_oracle(sampler) || simulation->oracle, "the simulation was opened without an oracle");
  REQUIRE(sampler->kind != SAMPLER_SEQUENCE || simulation->tau,
          "the simulation was opened without tau steps");
  struct arena *arena = arena_open();
  uint32_t *table = ARENA_NEW(arena, uint32_t, acquisition->lines);
  bool good = sampler_fill(sampler, simulation->options, acquisition, table, error);
  if (good) {
    simulation->acquisition = *acquisition;
    simulation->sampler = sampler;
    exchange_decide(simulation);
    write_initial(simulation, arena);
    good = write_tables(simulation, table, error);
  }
  arena_close(arena);
  return good;
}

void simulation_restart(struct simulation *simulation, uint32_t first_scan, size_t envs) {
  REQUIRE(envs <= simulation->world.capacity[TABLE_ENV], "%zu environments; the world has %zu", envs,
          simulation->world.capacity[TABLE_ENV]);
  window_bring_scans(simulation, first_scan, envs);
  simulation->first_scan = first_scan;
  simulation->world.rows[TABLE_ENV] = envs;
  world_fill(&simulation->world, ENV_scan, NO_LINE);
  world_fill(&simulation->world, ENV_done, 1);
}

void simulation_episode(struct simulation *simulation) {
  size_t envs = simulation->world.rows[TABLE_ENV];
  simulation->rollout_row = 0; /* row t of an environment is what stands after t lines */
  schedule_run(&simulation->begin, &simulation->world);
  for (uint32_t t = 1; t <= acquisition_steps(&simulation->acquisition); t++) {
    simulation->rollout_row = t * envs;
    simulation->taken = t - 1;
    schedule_run(&simulation->step, &simulation->world);
  }
  schedule_run(&simulation->finish, &simulation->world);
}
