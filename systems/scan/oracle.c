#include "systems/scan/oracle.h"

#include "systems/scan/observation.h"
#include "systems/scan/systems.h"

#include <math.h>
#include <string.h>

struct oracle {
  struct arena *arena; /* owns this */
  struct simulation *simulation;
  const struct metric *metric;
  struct world *world; /* ENV: candidates; the rest is the simulation's */
  struct schedule schedule;
  bool rank_one;  /* candidates are updates of base (systems/scan/observation.h); else observed */
  size_t first;   /* candidate of the running pass */
  uint32_t count; /* candidates of a scan */
};

/* ---- the candidates' systems --------------------------------------------------------------------------- */

static void run_expand(struct world *world, void *context) {
  const struct oracle *oracle = context;
  kernel_run(world_kernels(world), "oracle_observe", world_rows(world, TABLE_ENV),
             ARGS(world_in(world, CANDIDATE_slice), arg_unnamed(world_in(world, CANDIDATE_action)),
                  world_in(world, CANDIDATE_base), world_in(world, SLICE_hybrid),
                  world_in(world, SCENE_phase), arg_unnamed(world_out(world, ENV_slice)),
                  world_out(world, ENV_magnitude), world_out(world, ENV_magnitude_mean),
                  world_out(world, ENV_magnitude_std), arg_u32((uint32_t)oracle->first),
                  arg_u32(oracle->count)));
}

const struct system system_expand = {.name = "expand",
                                     .doc = "candidates: scans with one line more, by a rank-one update",
                                     .reads = SET(CANDIDATE_slice) | SET(CANDIDATE_action) |
                                              SET(CANDIDATE_base) | SET(SLICE_hybrid) | SET(SCENE_phase),
                                     .writes = SET(ENV_slice) | SET(ENV_magnitude) | SET(ENV_magnitude_mean) |
                                               SET(ENV_magnitude_std),
                                     .kernels = {"oracle_observe"},
                                     .run = run_expand};

static void run_extend(struct world *world, void *context) {
  const struct oracle *oracle = context;
  kernel_run(world_kernels(world), "oracle_extend", world_rows(world, TABLE_ENV),
             ARGS(world_in(world, CANDIDATE_slice), world_in(world, CANDIDATE_mask),
                  arg_unnamed(world_in(world, CANDIDATE_action)), arg_unnamed(world_out(world, ENV_slice)),
                  arg_unnamed(world_out(world, ENV_mask)), arg_u32((uint32_t)oracle->first),
                  arg_u32(oracle->count)));
}

const struct system system_extend = {.name = "extend",
                                     .doc = "candidates: scans with one action more, to be observed",
                                     .reads = SET(CANDIDATE_slice) | SET(CANDIDATE_mask) |
                                              SET(CANDIDATE_action),
                                     .writes = SET(ENV_slice) | SET(ENV_mask),
                                     .kernels = {"oracle_extend"},
                                     .run = run_extend};

static void run_weigh(struct world *world, void *context) {
  const struct oracle *oracle = context;
  kernel_run(world_kernels(world), "oracle_keep", world_rows(world, TABLE_ENV),
             ARGS(arg_unnamed(world_in(world, CANDIDATE_action)),
                  arg_unnamed(world_in(world, oracle->metric->env)), world_part(world, CANDIDATE_quality),
                  arg_u32((uint32_t)oracle->first), arg_u32(oracle->count), arg_f32(oracle->metric->sign)));
}

/* The column of the scene's metric is added to the reads by oracle_open. */
const struct system system_weigh = {.name = "weigh",
                                    .doc = "candidates: their scores to the scans they are of",
                                    .reads = SET(CANDIDATE_action),
                                    .writes = SET(CANDIDATE_quality),
                                    .kernels = {"oracle_keep"},
                                    .run = run_weigh};

/* ---- opening ------------------------------------------------------------------------------------------- */

static bool build_schedule(struct oracle *oracle, struct error *error) {
  struct simulation *simulation = oracle->simulation;
  struct schedule *schedule = &oracle->schedule;
  schedule_open(schedule, &component_schema);
  schedule_add(schedule, oracle->rank_one ? &system_expand : &system_extend, oracle);
  if (!oracle->rank_one) simulation_add_observe(simulation, schedule);
  simulation_add_reconstruct(simulation, schedule);
  schedule_add(schedule, oracle->metric->system, simulation);
  schedule_add(schedule, &system_weigh, oracle)->reads |= SET(oracle->metric->env);
  return schedule_close(schedule, error) && schedule_prepare(schedule, simulation->kernels, error);
}

/* Candidates know the scans that they are of by columns of theirs. */
static void share(struct oracle *oracle) {
  const struct world *owner = oracle->simulation->world;
  const component_set touched = oracle->schedule.touched, own = SET(CANDIDATE_slice) | SET(CANDIDATE_mask) |
                                                                SET(CANDIDATE_base);
  const component_set others = schema_table(&component_schema, TABLE_SLICE) |
                               schema_table(&component_schema, TABLE_SCENE) |
                               schema_table(&component_schema, TABLE_CANDIDATE);
  world_share(oracle->world, owner, touched & others & ~own);
  world_share_as(oracle->world, CANDIDATE_slice, owner, ENV_slice);
  world_share_as(oracle->world, CANDIDATE_mask, owner, ENV_mask);
  if (oracle->rank_one) world_share_as(oracle->world, CANDIDATE_base, owner, ENV_base);
}

static bool open_world(struct oracle *oracle, struct error *error) {
  const struct simulation *simulation = oracle->simulation;
  const struct world *owner = simulation->world;
  size_t batch = simulation->options->network.batch, most = world_capacity(owner, TABLE_CANDIDATE);
  struct world_setup setup = {.schema = &component_schema,
                              .columns = oracle->schedule.touched & schema_table(&component_schema, TABLE_ENV),
                              .height = world_height(owner),
                              .width = world_width(owner),
                              .half = world_half(owner)};
  setup.rows[TABLE_ENV] = batch < most ? batch : most;
  for (unsigned s = 0; s < SHAPE_COUNT; s++) setup.shape[s] = world_shape(owner, s);
  if (!world_open(&oracle->world, simulation->device, simulation->kernels, &setup, TABLE_ENV, error))
    return fail_in(error, "candidates of the oracle, network.batch %zu", batch);
  share(oracle);
  return true;
}

bool oracle_open(struct oracle **opened, struct simulation *simulation, struct error *error) {
  struct arena *arena = arena_open();
  struct oracle *oracle = *opened = ARENA_NEW(arena, struct oracle, 1);
  *oracle = (struct oracle){.arena = arena,
                            .simulation = simulation,
                            .metric = &metric_list[simulation->options->reward.metric],
                            .rank_one = observation_chosen(simulation->options)->rank_one};
  return build_schedule(oracle, error) && open_world(oracle, error);
}

void oracle_close(struct oracle *oracle) {
  if (!oracle) return;
  world_close(oracle->world);
  arena_close(oracle->arena);
}

/* ---- deciding ------------------------------------------------------------------------------------------ */

/* Candidates of one scan after `taken` actions. */
static uint32_t count_candidates(const struct options *options, const struct acquisition *acquisition,
                                 uint32_t taken) {
  uint32_t left = acquisition->shape.actions - acquisition->initial_lines - taken,
           most = options->sampler.candidates;
  return most && most < left ? most : left;
}

size_t oracle_candidates(const struct options *options, const struct acquisition *acquisition) {
  size_t sum = 0;
  for (uint32_t taken = 0; taken < acquisition->budget; taken++)
    sum += count_candidates(options, acquisition, taken);
  return sum;
}

static void list_candidates(struct world *world, const struct simulation *simulation, bool together) {
  struct oracle *oracle = simulation->oracle;
  size_t rows = world_rows(world, TABLE_ENV);
  oracle->count = count_candidates(simulation->options, &simulation->acquisition, simulation->taken);
  if (oracle->rank_one)
    kernel_run(world_kernels(world), "oracle_base", rows,
               ARGS(world_in(world, ENV_slice), world_in(world, ENV_mask), world_in(world, SLICE_hybrid),
                    world_in(world, SCENE_phase), world_out(world, ENV_base)));
  kernel_run(world_kernels(world), "oracle_list", rows,
             ARGS(world_in(world, ENV_mask), world_in(world, ENV_scan), world_in(world, ENV_step),
                  arg_unnamed(world_out(world, CANDIDATE_action)), arg_u32(oracle->count),
                  arg_u32(simulation->options->world.seed), arg_u32(together)));
  device_fill_floats(world_device(world), world_out(world, CANDIDATE_quality).as.m, rows * world_shape(world, SHAPE_A),
                     -INFINITY);
}

/* Scores as many candidates at a time as their world holds. */
static void score_candidates(struct oracle *oracle, size_t scans) {
  size_t all = scans * oracle->count, most = world_capacity(oracle->world, TABLE_ENV);
  for (oracle->first = 0; oracle->first < all; oracle->first += most) {
    size_t left = all - oracle->first;
    world_set_rows(oracle->world, TABLE_ENV, left < most ? left : most);
    schedule_run(&oracle->schedule, oracle->world);
  }
}

static bool is_average(const struct simulation *simulation) {
  return simulation->sampler->kind == SAMPLER_AVERAGE_ORACLE;
}

/* Scores of equal images are up to 2.3e-7 apart, for they are sums of float32 (PROTOCOL 4). Similarities tie
 * by a part of their range, errors by a part of themselves. */
static const float TIE = 0x1p-18f;

static float least_size(const struct metric *metric) {
  return metric->sign > 0 ? 1 : 0;
}

static void run_oracle(struct world *world, void *context) {
  const struct simulation *simulation = context;
  size_t rows = world_rows(world, TABLE_ENV);
  bool together = is_average(simulation);
  list_candidates(world, simulation, together);
  score_candidates(simulation->oracle, rows);
  if (together)
    kernel_run(world_kernels(world), "oracle_mean", world_shape(world, SHAPE_A),
               ARGS(world_written(world, CANDIDATE_quality), arg_unnamed(world_out(world, SCENE_mean_quality)),
                    arg_u32((uint32_t)rows)));
  unsigned quality = together ? SCENE_mean_quality : CANDIDATE_quality;
  kernel_run(world_kernels(world), "oracle_choose", rows,
             ARGS(arg_unnamed(world_written(world, quality)), world_in(world, ENV_mask),
                  world_out(world, ENV_action), world_out(world, ENV_log_prob),
                  arg_u32(together ? 0 : (uint32_t)world_shape(world, SHAPE_A)), arg_f32(TIE),
                  arg_f32(least_size(simulation->oracle->metric))));
}

/* oracle_adapt adds what the geometry and the kind of oracle need. */
const struct system system_decide_oracle = {
    .name = "decide_oracle",
    .doc = "the free action whose image is best by the truth",
    .reads = SET(ENV_mask) | SET(ENV_scan) | SET(ENV_step),
    .writes = SET(ENV_action) | SET(ENV_log_prob) | SET(CANDIDATE_action) | SET(CANDIDATE_quality),
    .kernels = {"oracle_base", "oracle_list", "oracle_mean", "oracle_choose"},
    .run = run_oracle};

void oracle_adapt(const struct simulation *simulation, struct system *system) {
  const struct observation *observation = observation_chosen(simulation->options);
  if (observation->rank_one) { /* else its candidates are observed, in their own list */
    system->reads |= observation->kspace | SET(SCENE_phase) | SET(ENV_slice);
    system->writes |= SET(ENV_base);
  }
  if (is_average(simulation)) system->writes |= SET(SCENE_mean_quality);
}
