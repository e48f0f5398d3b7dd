#include "systems/scan/oracle.h"

#include "systems/scan/observation.h"
#include "systems/scan/reconstruction.h"
#include "systems/scan/systems.h"

#include <math.h>
#include <string.h>

static const struct metric *metric_of(const struct simulation *simulation) {
  return &metric_list[simulation->options->reward.metric];
}

/* Reconstructors that view k-space, and functions of the program's, look at masks, not at what is observed (systems/scan/observation.h). */
bool oracle_rank_one(const struct simulation *simulation) {
  return observation_chosen(simulation->options)->rank_one && !simulation->reconstruction->views &&
         !simulation->reconstruction->calls;
}

/* ---- the candidates' systems --------------------------------------------------------------------------- */

static void run_expand(struct world *world, void *context) {
  const struct candidates *candidates = &((const struct simulation *)context)->candidates;
  kernel_run(world_kernels(world), "oracle_observe", world_rows(world, TABLE_ENV),
             ARGS(world_in(world, CANDIDATE_slice), arg_unnamed(world_in(world, CANDIDATE_action)),
                  world_in(world, CANDIDATE_base), world_in(world, SLICE_hybrid),
                  world_in(world, SCENE_phase), arg_unnamed(world_out(world, ENV_slice)),
                  world_out(world, ENV_magnitude), world_out(world, ENV_magnitude_mean),
                  world_out(world, ENV_magnitude_std), arg_u32((uint32_t)candidates->first),
                  arg_u32(candidates->count)));
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
  const struct candidates *candidates = &((const struct simulation *)context)->candidates;
  kernel_run(world_kernels(world), "oracle_extend", world_rows(world, TABLE_ENV),
             ARGS(world_in(world, CANDIDATE_slice), world_in(world, CANDIDATE_mask),
                  arg_unnamed(world_in(world, CANDIDATE_action)), arg_unnamed(world_out(world, ENV_slice)),
                  arg_unnamed(world_out(world, ENV_mask)), arg_u32((uint32_t)candidates->first),
                  arg_u32(candidates->count)));
}

const struct system system_extend = {.name = "extend",
                                     .doc = "candidates: scans with one action more, to be observed",
                                     .reads = SET(CANDIDATE_slice) | SET(CANDIDATE_mask) |
                                              SET(CANDIDATE_action),
                                     .writes = SET(ENV_slice) | SET(ENV_mask),
                                     .kernels = {"oracle_extend"},
                                     .run = run_extend};

static void run_weigh(struct world *world, void *context) {
  const struct simulation *simulation = context;
  const struct candidates *candidates = &simulation->candidates;
  const struct metric *metric = metric_of(simulation);
  kernel_run(world_kernels(world), "oracle_keep", world_rows(world, TABLE_ENV),
             ARGS(arg_unnamed(world_in(world, CANDIDATE_action)),
                  arg_unnamed(world_in(world, metric->env)), world_part(world, CANDIDATE_quality),
                  arg_u32((uint32_t)candidates->first), arg_u32(candidates->count), arg_f32(metric->sign)));
}

/* oracle_build adds the column of the scene's metric. */
const struct system system_weigh = {.name = "weigh",
                                    .doc = "candidates: their scores to the scans they are of",
                                    .reads = SET(CANDIDATE_action),
                                    .parts = SET(CANDIDATE_quality),
                                    .kernels = {"oracle_keep"},
                                    .run = run_weigh};

/* ---- what the two worlds share ------------------------------------------------------------------------- */

/* Candidates know the scans that they are of by columns of theirs. */
static const struct alias {
  unsigned inside, outside;
} aliases[] = {{CANDIDATE_slice, ENV_slice}, {CANDIDATE_mask, ENV_mask}, {CANDIDATE_base, ENV_base}};
enum { ALIASES = sizeof aliases / sizeof *aliases };

static component_set shared_tables(void) {
  component_set set = schema_table(&component_schema, TABLE_SLICE) | schema_table(&component_schema, TABLE_SCENE) |
                      schema_table(&component_schema, TABLE_CANDIDATE);
  for (int i = 0; i < ALIASES; i++) set &= ~SET(aliases[i].inside);
  return set;
}

/* Networks stand beside the worlds. */
static component_set outside(component_set inside) {
  component_set set = inside & (shared_tables() | schema_kept(&component_schema, KEEP_STATE) |
                                schema_kept(&component_schema, KEEP_MARK));
  for (int i = 0; i < ALIASES; i++)
    if (inside & SET(aliases[i].inside)) set |= SET(aliases[i].outside);
  return set;
}

component_set oracle_columns(const struct simulation *simulation) {
  return outside(simulation->candidates.list.touched) | SET(ENV_base) | SET(SCENE_mean_quality);
}

static void share(struct simulation *simulation) {
  struct candidates *candidates = &simulation->candidates;
  const component_set touched = candidates->list.touched;
  world_share(candidates->world, simulation->world, touched & shared_tables());
  for (int i = 0; i < ALIASES; i++)
    if (touched & SET(aliases[i].inside))
      world_share_as(candidates->world, aliases[i].inside, simulation->world, aliases[i].outside);
}

/* ---- opening ------------------------------------------------------------------------------------------- */

bool oracle_build(struct simulation *simulation, struct error *error) {
  struct schedule *list = &simulation->candidates.list;
  const struct metric *metric = metric_of(simulation);
  if (!(simulation->plan.deciders & DECIDES_ORACLE)) return true;
  schedule_open(list, &component_schema);
  schedule_add(list, oracle_rank_one(simulation) ? &system_expand : &system_extend, simulation);
  if (!oracle_rank_one(simulation) && !simulation->reconstruction->views) simulation_add_observe(simulation, list);
  simulation_add_reconstruct(simulation, list);
  simulation_add_score(simulation, list, metric);
  schedule_add(list, &system_weigh, simulation)->reads |= SET(metric->env);
  return schedule_close(list, error);
}

bool oracle_open(struct simulation *simulation, struct error *error) {
  struct candidates *candidates = &simulation->candidates;
  const struct world *owner = simulation->world;
  struct ranks *ranks = simulation->device->ranks;
  size_t batch = simulation->options->network.batch, most = world_capacity(owner, TABLE_CANDIDATE);
  struct world_setup setup = {.schema = &component_schema,
                              .columns = candidates->list.touched & schema_table(&component_schema, TABLE_ENV),
                              .height = world_height(owner),
                              .width = world_width(owner),
                              .half = world_half(owner)};
  setup.rows[TABLE_ENV] = batch < most ? batch : most;
  for (unsigned s = 0; s < SHAPE_COUNT; s++) setup.shape[s] = world_shape(owner, s);
  if (!world_open(&candidates->world, simulation->device, simulation->kernels, &setup, TABLE_ENV, error))
    return fail_in(error, "candidates of the oracle, network.batch %zu", batch);
  share(simulation);
  candidates->arena = arena_open();
  if (ranks_count(ranks) > 1)
    candidates->word = ARENA_NEW(candidates->arena, uint32_t,
                                 world_capacity(owner, TABLE_ENV) * world_shape(owner, SHAPE_A));
  return schedule_prepare(&candidates->list, simulation->kernels, error);
}

void oracle_close(struct simulation *simulation) {
  struct candidates *candidates = &simulation->candidates;
  world_close(candidates->world);
  arena_close(candidates->arena);
  candidates->world = NULL, candidates->arena = NULL;
}

/* ---- deciding ------------------------------------------------------------------------------------------ */

/* Candidates of one scan after `taken` actions. */
static uint32_t count_candidates(const struct options *options, const struct acquisition *acquisition,
                                 uint32_t taken) {
  uint32_t left = scan_shape_choices(&acquisition->shape) - acquisition->initial_lines - taken,
           most = options->sampler.candidates;
  return most && most < left ? most : left;
}

size_t oracle_candidates(const struct options *options, const struct acquisition *acquisition) {
  size_t sum = 0;
  for (uint32_t taken = 0; taken < acquisition->budget; taken++)
    sum += count_candidates(options, acquisition, taken);
  return sum;
}

static bool is_average(const struct simulation *simulation) {
  return simulation->sampler->kind == SAMPLER_AVERAGE_ORACLE;
}

static void observe_base(struct world *world) {
  kernel_run(world_kernels(world), "oracle_base", world_rows(world, TABLE_ENV),
             ARGS(world_in(world, ENV_slice), world_in(world, ENV_mask), world_in(world, SLICE_hybrid),
                  world_in(world, SCENE_phase), world_out(world, ENV_base)));
}

static void run_list(struct world *world, void *context) {
  struct simulation *simulation = context;
  struct candidates *candidates = &simulation->candidates;
  size_t rows = world_rows(world, TABLE_ENV);
  candidates->count = count_candidates(simulation->options, &simulation->acquisition, simulation->taken);
  if (oracle_rank_one(simulation)) observe_base(world);
  kernel_run(world_kernels(world), "oracle_list", rows,
             ARGS(world_in(world, ENV_mask), world_in(world, ENV_scan), world_in(world, ENV_step),
                  arg_unnamed(world_out(world, CANDIDATE_action)), arg_u32(candidates->count),
                  arg_u32(simulation->options->world.seed), arg_u32(is_average(simulation))));
  device_fill_floats(world_device(world), world_out(world, CANDIDATE_quality).as.m, rows * world_shape(world, SHAPE_A),
                     -INFINITY);
}

/* oracle_add adds what an update of rank one needs. */
const struct system system_list_candidates = {
    .name = "list_candidates",
    .doc = "free actions that each scan may take next, none of them tried",
    .reads = SET(ENV_mask) | SET(ENV_scan) | SET(ENV_step),
    .writes = SET(CANDIDATE_action) | SET(CANDIDATE_quality),
    .kernels = {"oracle_base", "oracle_list"},
    .run = run_list};

/* A turn takes as many as their world holds, of this rank's part. */
static bool next_candidates(struct world *world, void *context, size_t turn) {
  struct candidates *candidates = &((struct simulation *)context)->candidates;
  struct ranks *ranks = ((struct simulation *)context)->alike ? world_device(world)->ranks : NULL;
  size_t all = world_rows(world, TABLE_ENV) * candidates->count, most = world_capacity(candidates->world, TABLE_ENV);
  size_t own, end = ranks_rows(ranks, all, &own);
  struct pass pass;
  if (!pass_take(&pass, turn, end - own, most)) return false;
  candidates->first = own + pass.first;
  world_set_rows(candidates->world, TABLE_ENV, pass.images);
  return true;
}

const struct system system_repeat_candidates = {
    .name = "candidates",
    .doc = "as many as the network takes at a time, each the scan (ENV) of a world of their own",
    .covers = TABLE_BIT(TABLE_CANDIDATE),
    .next = next_candidates};

/* A score that no rank has is the one that none are filled with: apart from that, it is one rank's. */
static void run_share(struct world *world, void *context) {
  const float none = -INFINITY;
  size_t count = world_rows(world, TABLE_ENV) * world_shape(world, SHAPE_A);
  uint32_t *word = ((struct simulation *)context)->candidates.word, filled;
  memcpy(&filled, &none, sizeof filled);
  world_read(world, CANDIDATE_quality, 0, count, word);
  for (size_t i = 0; i < count; i++) word[i] ^= filled;
  ranks_unite(world_device(world)->ranks, word, count * sizeof *word);
  for (size_t i = 0; i < count; i++) word[i] ^= filled;
  world_write(world, CANDIDATE_quality, 0, count, word);
}

static const struct system share_candidates = {.name = "share_candidates",
                                               .doc = "scores of the candidates of all ranks, on every rank",
                                               .reads = SET(CANDIDATE_quality),
                                               .parts = SET(CANDIDATE_quality),
                                               .loads = true,
                                               .run = run_share};

/* Scores of equal images are up to 2.3e-7 apart, for they are sums of float32 (PROTOCOL 4). Similarities tie
 * by a part of their range, errors by a part of themselves. */
static const float TIE = 0x1p-18f;

static float least_size(const struct metric *metric) {
  return metric->sign > 0 ? 1 : 0;
}

void oracle_tie(const struct simulation *simulation, float *tie, float *least) {
  *tie = TIE;
  *least = least_size(metric_of(simulation));
}

static struct arg average(struct world *world) {
  kernel_run(world_kernels(world), "oracle_mean", world_shape(world, SHAPE_A),
             ARGS(world_in(world, CANDIDATE_quality), arg_unnamed(world_out(world, SCENE_mean_quality)),
                  arg_u32((uint32_t)world_rows(world, TABLE_ENV))));
  return world_written(world, SCENE_mean_quality);
}

static void run_decide(struct world *world, void *context) {
  const struct simulation *simulation = context;
  bool together = is_average(simulation);
  struct arg quality = together ? average(world) : world_in(world, CANDIDATE_quality);
  kernel_run(world_kernels(world), "oracle_choose", world_rows(world, TABLE_ENV),
             ARGS(arg_unnamed(quality), world_in(world, ENV_mask), world_out(world, ENV_action),
                  world_out(world, ENV_log_prob), arg_u32(together ? 0 : (uint32_t)world_shape(world, SHAPE_A)),
                  arg_f32(TIE), arg_f32(least_size(metric_of(simulation)))));
}

/* oracle_add adds the mean over all scans. */
const struct system system_decide_oracle = {.name = "decide_oracle",
                                            .doc = "the free action whose image is best by the truth",
                                            .reads = SET(ENV_mask) | SET(CANDIDATE_quality),
                                            .writes = SET(ENV_action) | SET(ENV_log_prob),
                                            .kernels = {"oracle_mean", "oracle_choose"},
                                            .run = run_decide};

void oracle_add(struct simulation *simulation, struct schedule *schedule, bool together) {
  struct candidates *candidates = &simulation->candidates;
  struct system *row = schedule_add(schedule, &system_list_candidates, simulation);
  if (oracle_rank_one(simulation)) {
    row->reads |= observation_chosen(simulation->options)->kspace | SET(SCENE_phase) | SET(ENV_slice);
    row->writes |= SET(ENV_base);
  }
  schedule_add_list(schedule, &system_repeat_candidates, simulation, &candidates->list, &candidates->world, outside);
  if (simulation->alike && ranks_count(simulation->device ? simulation->device->ranks : NULL) > 1)
    schedule_add(schedule, &share_candidates, simulation);
  row = schedule_add(schedule, &system_decide_oracle, simulation);
  if (together) row->writes |= SET(SCENE_mean_quality);
}
