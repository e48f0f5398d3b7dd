/* The systems that a scan runs, in order. */
#include "systems/coils/hybrid.h"
#include "systems/coils/maps.h"
#include "systems/coils/simulated.h"
#include "systems/sampling/geometry.h"
#include "systems/scan/load.h"
#include "systems/scan/observation.h"
#include "systems/scan/oracle.h"
#include "systems/planned/planned.h"
#include "systems/scan/reconstruction.h"
#include "systems/scan/sequence.h"
#include "systems/scan/slice_cache.h"
#include "systems/scan/solve.h"
#include "systems/scan/systems.h"

#include <string.h>

/* ---- loops -------------------------------------------------------------------------------------------- */

static size_t row_after(const struct rollout_rows *rows, size_t actions) {
  return rows->first + (rows->before || !actions ? actions : actions - 1) * rows->stride;
}

static bool next_step(struct world *world, void *context, size_t turn) {
  struct simulation *simulation = context;
  (void)world;
  if (turn >= simulation->steps) return false;
  simulation->taken = (uint32_t)turn;
  simulation->rollout_row = row_after(&simulation->rows, turn + 1);
  return true;
}

const struct system system_repeat_steps = {
    .name = "steps",
    .doc = "the actions of a scan, one after the other; all points are one",
    .covers = TABLE_BIT(TABLE_ROLLOUT) | TABLE_BIT(TABLE_STATE),
    .next = next_step};

/* ---- parts of lists ----------------------------------------------------------------------------------- */

static struct system *put(struct simulation *simulation, struct schedule *schedule, const struct system *row) {
  return schedule_add(schedule, row, simulation);
}

static void add_end(struct schedule *schedule) {
  schedule_add(schedule, &system_end, NULL);
}

static void add_scores(struct simulation *simulation, struct schedule *schedule) {
  const struct simulation_plan *plan = &simulation->plan;
  const struct metric *reward = &metric_list[simulation->options->reward.metric];
  const struct system *last = NULL;
  simulation_add_reconstruct(simulation, schedule);
  if (plan->hands_over) put(simulation, schedule, &system_hand_over);
  if (!plan->metrics) return;
  for (const struct metric *metric = metric_list; metric < metric_list + METRICS; metric++)
    if ((option_has(plan->metrics, metric->name) || metric == reward) && metric->system != last)
      last = simulation_add_score(simulation, schedule, metric);
  put(simulation, schedule, &system_reward)->reads |= SET(reward->env);
}

/* Where a column of ENV is kept: the column of ROLLOUT of the same name; 0: nowhere. */
static component_set kept_in(unsigned env) {
  const struct component_desc *from = &component_schema.components[env];
  for (size_t r = 0; r < component_schema.component_count; r++) {
    const struct component_desc *to = &component_schema.components[r];
    if (to->table == TABLE_ROLLOUT && !strcmp(from->name, to->name)) return SET(r);
  }
  return 0;
}

/* Copies only what was computed since place `from` of the schedule; what a policy learns from only where one
 * decides. */
static void add_record(struct simulation *simulation, struct schedule *schedule, int from) {
  const component_set learnt = SET(ENV_log_prob) | SET(ENV_value) | SET(ENV_done);
  component_set written = 0;
  for (int i = from; i < schedule->count; i++) written |= schedule->system[i].writes | schedule->system[i].parts;
  component_set recorded = written & system_record.reads & ~(learnt | SET(ENV_slice));
  if (simulation->plan.deciders & DECIDES_POLICY) recorded |= (written & learnt) | SET(ENV_slice);
  struct system *record = put(simulation, schedule, &system_record);
  record->reads = recorded;
  record->parts = 0;
  for (unsigned c = 0; c < component_schema.component_count; c++)
    if (recorded & SET(c)) record->parts |= kept_in(c);
}

/* ---- deciding ----------------------------------------------------------------------------------------- */

static void add_policy(struct simulation *simulation, struct schedule *schedule, bool acts) {
  put(simulation, schedule, &system_repeat_policy);
  put(simulation, schedule, &system_encode_policy);
  struct system *forward = put(simulation, schedule, &system_forward_policy);
  if (simulation->keeps) forward->writes |= SET(POLICY_kept);
  if (acts) put(simulation, schedule, &system_act);
  put(simulation, schedule, &system_estimate);
  add_end(schedule);
}

/* PG-MRI's policy has no critic. */
static void add_dense(struct simulation *simulation, struct schedule *schedule) {
  put(simulation, schedule, &system_repeat_states);
  put(simulation, schedule, &system_encode_reconstruction);
  if (simulation->plan.draws) put(simulation, schedule, &system_keep_state);
  put(simulation, schedule, &system_forward_policy)->writes &= ~SET(BATCH_value);
  put(simulation, schedule, &system_act_draws);
  add_end(schedule);
}

static const struct system *decide_by_kind(enum sampler_kind kind) {
  static const struct system *const rows[] = {[SAMPLER_DRAW] = &system_decide_draw,
                                              [SAMPLER_NEXT] = &system_decide_next,
                                              [SAMPLER_DISC] = &system_decide_disc,
                                              [SAMPLER_EXACT] = &system_decide_exact,
                                              [SAMPLER_SEQUENCE] = &system_decide_sequence,
                                              [SAMPLER_PLANNED] = &system_decide_sequence};
  return rows[kind];
}

static void add_points(struct simulation *simulation, struct schedule *schedule) {
  if (simulation->sampler->kind == SAMPLER_SEQUENCE)
    put(simulation, schedule, &system_decide_points_sequence)->reads |=
        tau_encode_reads(simulation->options);
  else
    put(simulation, schedule, &system_decide_points);
}

static bool has_points(const struct simulation *simulation) {
  return geometry_chosen(simulation->options)->points;
}

static void add_sampler(struct simulation *simulation, struct schedule *schedule, const struct sampler *sampler) {
  if (sampler_is_oracle(sampler))
    oracle_add(simulation, schedule, sampler->kind == SAMPLER_AVERAGE_ORACLE);
  else
    put(simulation, schedule, decide_by_kind(sampler->kind));
}

static void add_decide(struct simulation *simulation, struct schedule *schedule, const struct sampler *teacher) {
  const struct sampler *sampler = simulation->sampler;
  if (has_points(simulation))
    add_points(simulation, schedule);
  else if (sampler->kind != SAMPLER_POLICY)
    add_sampler(simulation, schedule, sampler);
  else if (simulation->plan.deciders & DECIDES_DENSE)
    add_dense(simulation, schedule);
  else
    add_policy(simulation, schedule, !teacher);
  if (teacher) add_sampler(simulation, schedule, teacher);
}

void simulation_add_decide(struct simulation *simulation, struct schedule *schedule) {
  add_decide(simulation, schedule, NULL);
}

/* What decides, in a word: lists of scans are called by it. */
static const char *decider_of(const struct simulation *simulation) {
  static const char *const words[] = {[SAMPLER_DRAW] = "draws",        [SAMPLER_NEXT] = "rank",
                                      [SAMPLER_DISC] = "distance",     [SAMPLER_EXACT] = "exact draws",
                                      [SAMPLER_SEQUENCE] = "tau steps", [SAMPLER_ORACLE] = "oracle",
                                      [SAMPLER_AVERAGE_ORACLE] = "average oracle", [SAMPLER_POLICY] = "policy"};
  if (simulation->sampler->kind == SAMPLER_PLANNED) return planner_of(simulation->sampler)->names[0];
  bool points = has_points(simulation) && simulation->sampler->kind != SAMPLER_SEQUENCE;
  return points ? "draws of points" : words[simulation->sampler->kind];
}

/* ---- a scan ------------------------------------------------------------------------------------------- */

/* Those that solve for images take k-space itself. */
static bool observes_images(const struct simulation *simulation) {
  const struct reconstruction *chosen = reconstruction_chosen(simulation->options, simulation->plan.network);
  return !chosen->solve && chosen->encode != &system_compensate;
}

static bool observes_every_step(const struct simulation *simulation) {
  const struct simulation_plan *plan = &simulation->plan;
  return plan->observe_every_step || (plan->images == IMAGES_EVERY_STEP && observes_images(simulation));
}

static bool has_images_at_end(const struct simulation_plan *plan) {
  return plan->images == IMAGES_AT_END || (plan->images == IMAGES_SCORED && plan->metrics);
}

static bool scores_at_begin(const struct simulation *simulation) {
  const struct simulation_plan *plan = &simulation->plan;
  return plan->images == IMAGES_EVERY_STEP || ((plan->deciders & DECIDES_POLICY) && plan->metrics &&
                                               simulation->options->reward.form == REWARD_COMPAT);
}

/* All actions of tau steps are drawn before the first is acquired: looking between them needs no more. */
static void add_order(struct simulation *simulation, struct schedule *schedule) {
  if (simulation->sampler->kind == SAMPLER_SEQUENCE && !has_points(simulation))
    put(simulation, schedule, &system_order_lines)->reads |= tau_encode_reads(simulation->options);
  if (simulation->sampler->kind == SAMPLER_PLANNED)
    planner_add_order(simulation, planner_of(simulation->sampler), schedule);
}

static void add_begin(struct simulation *simulation, struct schedule *schedule) {
  const struct simulation_plan *plan = &simulation->plan;
  int from = schedule->count;
  put(simulation, schedule, &system_reset);
  add_order(simulation, schedule);
  if (observes_every_step(simulation)) simulation_add_observe(simulation, schedule);
  if (scores_at_begin(simulation)) add_scores(simulation, schedule);
  if (scores_at_begin(simulation) && plan->record) add_record(simulation, schedule, from);
  if (plan->draws) put(simulation, schedule, &system_spread);
}

static void add_step(struct simulation *simulation, struct schedule *schedule, const struct sampler *teacher) {
  const struct simulation_plan *plan = &simulation->plan;
  int from = schedule->count;
  if (plan->rolling) put(simulation, schedule, &system_reset);
  add_decide(simulation, schedule, teacher);
  put(simulation, schedule, &system_acquire);
  if (observes_every_step(simulation)) simulation_add_observe(simulation, schedule);
  if (plan->images == IMAGES_EVERY_STEP) add_scores(simulation, schedule);
  if (plan->record) add_record(simulation, schedule, from);
  if (plan->draws && plan->greedy) put(simulation, schedule, &system_follow);
}

static void add_finish(struct simulation *simulation, struct schedule *schedule) {
  const struct simulation_plan *plan = &simulation->plan;
  int from = schedule->count;
  if (!has_images_at_end(plan)) return;
  if (!plan->observe_every_step && observes_images(simulation)) simulation_add_observe(simulation, schedule);
  add_scores(simulation, schedule);
  if (plan->record) add_record(simulation, schedule, from);
}

void simulation_add_scan(struct simulation *simulation, struct schedule *schedule, const struct sampler *teacher) {
  add_begin(simulation, schedule);
  put(simulation, schedule, &system_repeat_steps);
  add_step(simulation, schedule, teacher);
  add_end(schedule);
  add_finish(simulation, schedule);
}

/* Where scores are computed, the last one of a scan is kept to compare with. */
void simulation_add_restart(struct simulation *simulation, struct schedule *schedule) {
  struct system *restart = put(simulation, schedule, &system_restart);
  if (simulation->plan.metrics) restart->writes |= SET(ENV_quality);
}

/* Scans of the host's: what a scan finds is otherwise the last one's. */
static void add_restart(struct simulation *simulation, struct schedule *schedule) {
  slice_cache_add_bring(simulation, schedule);
  put(simulation, schedule, &system_end_scans);
}

/* ---- the simulation's own schedules -------------------------------------------------------------------- */

static void fill_step(struct simulation *simulation, struct schedule *schedule) {
  add_step(simulation, schedule, NULL);
}

static void fill_scan(struct simulation *simulation, struct schedule *schedule) {
  simulation_add_scan(simulation, schedule, NULL);
}

static bool build(struct simulation *simulation, struct schedule *schedule, const char *name,
                  void (*fill)(struct simulation *simulation, struct schedule *schedule), struct error *error) {
  const char *prefix = simulation->plan.prefix;
  schedule_open(schedule, &component_schema);
  schedule_name(schedule, "%s%s", prefix ? prefix : "", name);
  fill(simulation, schedule);
  return schedule_close(schedule, error);
}

/* The window of slices follows from what a scan looks at. */
bool simulation_build(struct simulation *simulation, struct error *error) {
  char scan[SCHEDULE_NAME];
  snprintf(scan, sizeof scan, "scan by %s", decider_of(simulation));
  return oracle_build(simulation, error) && build(simulation, &simulation->begin, "begin", add_begin, error) &&
         build(simulation, &simulation->step, "step", fill_step, error) &&
         build(simulation, &simulation->finish, "finish", add_finish, error) &&
         build(simulation, &simulation->scan, scan, fill_scan, error) &&
         build(simulation, &simulation->restart, "restart", add_restart, error);
}

bool simulation_describe(struct simulation *simulation, const struct options *options,
                         const struct simulation_plan *plan, const struct sampler *sampler,
                         struct error *error) {
  *simulation = (struct simulation){.options = options,
                                    .plan = *plan,
                                    .reconstruction = reconstruction_chosen(options, plan->network),
                                    .sampler = sampler};
  return simulation_build(simulation, error);
}

/* ---- what the host writes before lists run -------------------------------------------------------------- */

const struct system system_load_phase = {.name = "load_phase",
                                         .doc = "phases of the transforms of rows",
                                         .writes = SET(SCENE_phase),
                                         .loads = true};
const struct system system_load_column_phase = {.name = "load_column_phase",
                                                .doc = "phases of the transforms of columns",
                                                .writes = SET(SCENE_column_phase),
                                                .loads = true};
const struct system system_load_cells = {.name = "load_cells",
                                         .doc = "the geometry's cells of k-space",
                                         .writes = SET(SCENE_cells),
                                         .loads = true};
const struct system system_load_chances = {
    .name = "load_chances", .doc = "chances of actions, of exactly the budget", .writes = SET(SCENE_chance), .loads = true};
const struct system system_load_initial = {
    .name = "load_initial", .doc = "actions that scans start with", .writes = SET(SCENE_initial), .loads = true};
const struct system system_load_weights = {.name = "load_weights",
                                           .doc = "the sampler's weight or rank of every action",
                                           .writes = SET(SCENE_weight),
                                           .loads = true};

/* Samplers are exchanged later: what any of them may look at. */
static component_set decide_columns(const struct simulation *simulation) {
  component_set columns = SET(SCENE_weight) | SET(SCENE_chance);
  if (simulation->plan.deciders & DECIDES_SEQUENCE) columns |= SET(ENV_rank);
  if (simulation->plan.deciders & DECIDES_PLANNED) columns |= planner_columns(simulation);
  if (simulation->plan.deciders & DECIDES_ORACLE) columns |= oracle_columns(simulation);
  return columns;
}

component_set simulation_columns(const struct simulation *simulation) {
  const struct simulation_plan *plan = &simulation->plan;
  component_set columns = load_columns(simulation->options) | simulation->scan.touched | decide_columns(simulation) |
                          plan->columns | SET(SCENE_initial) | SET(SCENE_phase);
  return oracle_rank_one(simulation) ? columns : columns & ~SET(ENV_base);
}

static component_set columns_of(const struct system *system) {
  return system->reads | system->writes | system->parts;
}

static void add_one(struct schedule *schedule, const struct simulation *simulation, const struct system *row) {
  if (!(columns_of(row) & ~simulation_columns(simulation))) schedule_add(schedule, row, NULL);
}

/* Those whose columns the simulation has. */
static void add_those(struct schedule *schedule, const struct simulation *simulation, const struct system *const *rows) {
  for (; *rows; rows++) add_one(schedule, simulation, *rows);
}

static const struct system *maps_of(const struct options *options) {
  if (options->coils.maps == MAPS_FILE)
    return options->coils.simulate ? &system_load_simulated_maps : &system_load_maps;
  return options->coils.maps == MAPS_ONES || options->coils.simulate == 1 ? &system_load_maps
                                                                          : &system_calibrate;
}

/* Of slices with several coils. */
static void add_coils(struct schedule *schedule, const struct simulation *simulation) {
  const struct options *options = simulation->options;
  add_one(schedule, simulation, &system_clear_maps);
  add_one(schedule, simulation, maps_of(options));
  add_one(schedule, simulation, &system_transform_coils);
  if (options->coils.simulate) add_one(schedule, simulation, &system_simulate_coils);
  if (options->coils.combine == COMBINE_MAPS && !options->coils.simulate) add_one(schedule, simulation, &system_combine_coils);
}

static const struct system *const opening[] = {&system_load_phase, &system_load_column_phase,
                                               &system_load_cells, NULL};
static const struct system *const resident[] = {&system_load_labels, &system_read_peaks, &system_load_ranges,
                                                &system_load_order, NULL};
static const struct system *const windowed[] = {&system_read_peaks, &system_load_some_ranges, NULL};

bool simulation_describe_loads(struct schedule *schedule, const struct simulation *simulation, struct error *error) {
  const struct system slice = load_slice_of(simulation_columns(simulation));
  schedule_open(schedule, &component_schema);
  schedule_name(schedule, "%sloaded", simulation->plan.prefix ? simulation->plan.prefix : "");
  add_those(schedule, simulation, opening);
  if (!simulation->plan.window) schedule_add(schedule, &slice, NULL);
  if (!simulation->plan.window) add_coils(schedule, simulation);
  add_those(schedule, simulation, simulation->plan.window ? windowed : resident);
  return schedule_close(schedule, error);
}

/* Points are drawn by a table of the host's. */
void simulation_describe_set(struct schedule *schedule, const struct simulation *simulation) {
  const bool exact = simulation->sampler->kind == SAMPLER_EXACT;
  struct error error;
  schedule_open(schedule, &component_schema);
  schedule_name(schedule, "%s%s", simulation->plan.prefix ? simulation->plan.prefix : "", exact ? "chances" : "sampler");
  schedule_add(schedule, &system_load_initial, NULL);
  if (!geometry_chosen(simulation->options)->points) schedule_add(schedule, &system_load_weights, NULL);
  if (exact) schedule_add(schedule, &system_load_chances, NULL);
  REQUIRE(schedule_close(schedule, &error), "rows that only write close: %s", error.text);
}

/* ---- in words ------------------------------------------------------------------------------------------ */

static const char *observed_text(const struct simulation *simulation) {
  if (observes_every_step(simulation)) return "observed after every action";
  return has_images_at_end(&simulation->plan) && observes_images(simulation) ? "observed at the end" : "not observed";
}

static const char *scored_text(const struct simulation_plan *plan) {
  bool every = plan->images == IMAGES_EVERY_STEP;
  if (!every && !has_images_at_end(plan)) return "not reconstructed";
  if (!plan->metrics) return every ? "reconstructed after every action" : "reconstructed at the end";
  return every ? "scored after every action" : "scored at the end";
}

const char *simulation_text(const struct simulation *simulation, struct arena *arena) {
  const struct simulation_plan *plan = &simulation->plan;
  return arena_text(arena, "decided by %s; %s; %s; images by %s; slices %s", decider_of(simulation),
                    observed_text(simulation), scored_text(plan),
                    reconstruction_chosen(simulation->options, plan->network)->name,
                    plan->window ? "in a window (data.window)" : "all on the device");
}
