/* Opening a simulation, setting what it scans by, and scanning. */
#include "kernels/kernels.h"
#include "systems/coils/maps.h"
#include "systems/coils/simulated.h"
#include "systems/sampling/exact_chances.h"
#include "systems/sampling/geometry.h"
#include "systems/scan/callback.h"
#include "systems/classifier/classify.h"
#include "systems/scan/load.h"
#include "systems/scan/observation.h"
#include "systems/scan/oracle.h"
#include "systems/planned/planned.h"
#include "systems/scan/reconstruction.h"
#include "systems/scan/slice_cache.h"
#include "systems/scan/systems.h"

#include <math.h>
#include <string.h>

static bool is_complex(const struct options *options) {
  return options->network.input == INPUT_COMPLEX;
}

/* ---- what is refused ---------------------------------------------------------------------------------- */

static bool check_sides(const struct options *options, struct error *error) {
  const struct scan_shape shape = scan_shape_of(options);
  return geometry_takes(geometry_chosen(options), &shape, error);
}

/* Coils that a slice has room for. */
static size_t coils_of(const struct options *options, const struct simulation_plan *plan) {
  return options->coils.simulate && plan->coils ? options->coils.simulate : plan->coils;
}

static bool check_kspace(const struct options *options, const struct simulation_plan *plan,
                         struct error *error) {
  bool simulated = options->coils.simulate;
  if (!simulated_or_measured(options)) return true;
  bool images = !is_complex(options) && options->reconstruct.method != RECONSTRUCT_VARNET;
  if ((plan->deciders & DECIDES_SEQUENCE) && images)
    return fail_usage(error,
                      "%s, and the samplers tau_step and tau_step_best transform images; set it to %s, or "
                      "reconstruct.method to varnet",
                      simulated ? "coils.simulate is above 0" : "data.kspace is measured", simulated ? "0" : "image");
  if (plan->coils) return true;
  return fail_usage(error, "%s, and this works on images without files; set it to %s",
                    simulated ? "coils.simulate is above 0" : "data.kspace is measured", simulated ? "0" : "image");
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
  if (plan->deciders & DECIDES_POLICY)
    return fail_usage(error,
                      "network.input is complex, and policies look at magnitudes; set it to magnitude");
  if (plan->deciders & DECIDES_PLANNED)
    return fail_usage(error, "network.input is complex, and the samplers straight_through, straight_through_best and suno look at magnitudes; "
                             "set it to magnitude, or name other samplers");
  if (plan->deciders & DECIDES_ORACLE)
    return fail_usage(error, "network.input is complex, and oracles look at magnitudes; set it to magnitude, "
                             "or name other samplers");
  if ((plan->metrics || plan->images == IMAGES_AT_END) && !plan->network)
    return fail_usage(error, "network.input is complex, and no reconstructor is named; give --reconstructor "
                             "FILE, or set it to magnitude for zero-filled images");
  if (!simulated_or_measured(options) || coils_of(options, plan) == 1) return true;
  if (options->coils.simulate)
    return fail_usage(error,
                      "network.input is complex and coils.simulate %u: a network takes one complex image; set "
                      "coils.simulate to 1 or 0, or network.input to magnitude",
                      options->coils.simulate);
  return fail_usage(
      error,
      "network.input is complex and data.kspace measured: a network takes one complex image, and "
      "these files have %zu coils; set data.kspace to image, or network.input to magnitude",
      plan->coils);
}

/* ---- opening ------------------------------------------------------------------------------------------ */

static bool open_kernels(struct simulation *simulation, const struct simulation_plan *plan,
                         struct error *error) {
  const struct scan_shape shape = scan_shape_of(simulation->options);
  bool half = simulation->options->world.observation == OBSERVATION_F16;
  struct kernel_setup setup = {shape.height, shape.width, half, plan->kernel_folder};
  simulation->kernels = plan->kernels;
  simulation->shares_kernels = plan->kernels;
  if (plan->kernels) return true;
  if (!kernels_open(&simulation->kernels, simulation->device, &kernel_table, &setup, error)) return false;
  if (is_complex(simulation->options)) kernels_define(simulation->kernels, "TARGET_PLAIN");
  const char *actions = geometry_chosen(simulation->options)->macro;
  if (actions) kernels_define(simulation->kernels, actions);
  return true;
}

enum { TELL_MEBI = 256 };

/* What coils take is told before anything is read, where it is much; a column for which there is no room is refused by name. */
static void tell_memory(const struct simulation *simulation, const struct world_setup *setup) {
  const struct device *device = simulation->device;
  const struct scan_shape shape = scan_shape_of(simulation->options);
  double slices = 0, others = 0, left = (double)(device->facts.memory - device->bytes) / 0x1p20;
  char size[SCAN_SHAPE_TEXT];
  for (uint8_t t = 0; t < TABLE_COUNT; t++)
    *(t == TABLE_SLICE ? &slices : &others) += (double)world_row_bytes(setup, setup->columns, t) * (double)setup->rows[t] / 0x1p20;
  if (slices + others < TELL_MEBI) return;
  log_info("%zu slice%s of %s with %zu coil%s take %.0f MiB of the device's memory, %zu scans %.0f MiB; %.0f MiB are left",
           setup->rows[TABLE_SLICE], plural(setup->rows[TABLE_SLICE]), scan_shape_text(&shape, size), simulation->plan.coils,
           plural(simulation->plan.coils), slices, setup->rows[TABLE_ENV], others, left);
}

static bool open_world(struct simulation *simulation, struct error *error) {
  const struct simulation_plan *plan = &simulation->plan;
  const struct scan_shape scan = scan_shape_of(simulation->options);
  struct world_setup setup = {.schema = &component_schema,
                              .height = scan.height,
                              .width = scan.width,
                              .half = simulation->options->world.observation == OBSERVATION_F16};
  bool coils = simulated_or_measured(simulation->options);
  setup.columns = simulation_columns(simulation);
  setup.rows[TABLE_SCENE] = 1;
  setup.rows[TABLE_SLICE] = plan->slices;
  setup.rows[TABLE_ENV] = plan->envs;
  setup.rows[TABLE_ROLLOUT] = plan->record ? plan->envs * plan->rollout_steps : 0;
  setup.rows[TABLE_STATE] = plan->states;
  setup.rows[TABLE_EPOCH] = plan->epoch_rows;
  setup.rows[TABLE_PAIR] = plan->pairs;
  simulation_shapes(simulation->options, plan->coils, setup.shape);
  setup.rows[TABLE_CANDIDATE] = plan->deciders & DECIDES_ORACLE ? plan->envs * setup.shape[SHAPE_A] : 0;
  setup.rows[TABLE_SLICE] =
      slice_cache_rows(&setup, simulation->device, simulation->options, coils ? 0 : plan->together);
  simulation->plan.window = setup.rows[TABLE_SLICE] < plan->slices;
  if (coils) tell_memory(simulation, &setup);
  uint8_t grows = plan->epoch_rows ? TABLE_SLICE : TABLE_ENV;
  return world_open(&simulation->world, simulation->device, simulation->kernels, &setup, grows, error);
}

static void write_phases(struct world *world, const struct system *load, unsigned column, size_t length) {
  struct arena *arena = arena_open();
  float *phase = ARENA_NEW(arena, float, 2 * length);
  for (size_t k = 0; k < length; k++) {
    phase[2 * k] = (float)cos(2 * M_PI * (double)k / (double)length);
    phase[2 * k + 1] = (float)sin(2 * M_PI * (double)k / (double)length);
  }
  world_put(world, load, column, 0, 1, phase);
  arena_close(arena);
}

/* The kernel wants frequencies from the centre on. */
static void write_cells(struct simulation *simulation) {
  const struct geometry *geometry = geometry_chosen(simulation->options);
  struct arena *arena = arena_open();
  const struct scan_shape shape = scan_shape_of(simulation->options);
  size_t cells = shape.actions * geometry_cells(&shape);
  uint32_t h = shape.height, w = shape.width, *cell = ARENA_NEW(arena, uint32_t, cells);
  for (size_t action = 0; action < shape.actions; action++)
    geometry->cells(&shape, action, cell + action * geometry_cells(&shape));
  for (size_t i = 0; i < cells; i++) {
    if (cell[i] == NO_CELL) continue;
    uint32_t row = cell[i] / w, column = cell[i] % w;
    cell[i] = (row + h - h / 2) % h * w + (column + w - w / 2) % w;
  }
  world_put(simulation->world, &system_load_cells, SCENE_cells, 0, 1, cell);
  arena_close(arena);
}

static bool open_tables(struct simulation *simulation, struct error *error) {
  const struct observation *observation = observation_chosen(simulation->options);
  const struct reconstruction *reconstruction = simulation->reconstruction;
  const struct simulation_plan *plan = &simulation->plan;
  write_phases(simulation->world, &system_load_phase, SCENE_phase, world_width(simulation->world));
  if (world_has(simulation->world, SCENE_column_phase))
    write_phases(simulation->world, &system_load_column_phase, SCENE_column_phase, world_height(simulation->world));
  if (world_has(simulation->world, SCENE_cells)) write_cells(simulation);
  return (!plan->window || (slice_cache_open(&simulation->cache, simulation, plan->slices, error) &&
                            simulation_build(simulation, error))) &&
         observation->open(simulation, error) && (!reconstruction->open || reconstruction->open(simulation, error)) &&
         (!(plan->deciders & DECIDES_ORACLE) || oracle_open(simulation, error)) && callback_open(simulation, error) &&
         classify_open(simulation, error);
}

static bool prepare(struct simulation *simulation, struct error *error) {
  struct kernels *kernels = simulation->kernels;
  return schedule_prepare(&simulation->begin, kernels, error) &&
         schedule_prepare(&simulation->step, kernels, error) &&
         schedule_prepare(&simulation->finish, kernels, error) &&
         schedule_prepare(&simulation->restart, kernels, error);
}

bool simulation_open(struct simulation *simulation, struct device *device, const struct options *options,
                     const struct simulation_plan *plan, struct error *error) {
  *simulation = (struct simulation){.device = device,
                                    .options = options,
                                    .plan = *plan,
                                    .group = 1,
                                    .reconstruction = reconstruction_chosen(options, plan->network),
                                    .sampler = plan->deciders & DECIDES_POLICY ? &sampler_policy : &sampler_list[0]};
  simulation->plan.coils = coils_of(options, plan);
  REQUIRE(!(plan->deciders & DECIDES_DENSE) || plan->images == IMAGES_EVERY_STEP, "decisions by the reconstruction need one in every step");
  bool good = check_sides(options, error) && check_kspace(options, plan, error) &&
              reconstruction_check(options, plan->network, plan->coils, error) &&
              check_input(options, plan, error) && simulation_build(simulation, error) &&
              callback_check(simulation, error) && classify_check(simulation, error) &&
              maps_check(options, simulation->plan.coils, simulation->scan.touched | plan->columns, error) &&
              open_kernels(simulation, plan, error) && open_world(simulation, error) &&
              prepare(simulation, error) && open_tables(simulation, error);
  if (!good) simulation_close(simulation);
  return good;
}

bool simulation_check(struct simulation *simulation, struct error *error) {
  const struct reconstruction *reconstruction = simulation->reconstruction;
  return !reconstruction->check || !simulation->solver || reconstruction->check(simulation, error);
}

void simulation_close(struct simulation *simulation) {
  if (simulation->reconstruction && simulation->reconstruction->close) simulation->reconstruction->close(simulation);
  callback_close(simulation);
  classify_close(simulation);
  slice_cache_close(simulation->cache);
  oracle_close(simulation);
  points_close(&simulation->points);
  device_release(simulation->device, simulation->observe_work, simulation->observe_bytes);
  device_release(simulation->device, simulation->observe_lines, simulation->observe_list_bytes);
  device_release(simulation->device, simulation->observe_starts, simulation->observe_list_bytes);
  world_close(simulation->world);
  simulation->world = NULL;
  if (!simulation->shares_kernels) kernels_close(simulation->kernels);
  simulation->kernels = NULL;
  simulation->cache = NULL;
  simulation->observe_work = simulation->observe_lines = simulation->observe_starts = NULL;
}

/* ---- what it scans by --------------------------------------------------------------------------------- */

static bool write_chances(struct simulation *simulation, struct error *error) {
  const struct acquisition *acquisition = &simulation->acquisition;
  size_t lines = acquisition->shape.actions;
  struct arena *arena = arena_open();
  uint32_t *table = ARENA_NEW(arena, uint32_t, lines * (lines + 1)); /* a budget is smaller */
  double *probability = ARENA_NEW(arena, double, lines);
  bool good = chances_learned(simulation->options, acquisition, probability, error);
  if (good) {
    chances_fill(probability, acquisition, table);
    world_put(simulation->world, &system_load_chances, SCENE_chance, 0, 1, table);
  }
  arena_close(arena);
  return good;
}

static void write_initial(struct simulation *simulation, struct arena *arena) {
  uint8_t *initial = ARENA_NEW(arena, uint8_t, simulation->acquisition.shape.actions);
  acquisition_initial(&simulation->acquisition, initial);
  world_put(simulation->world, &system_load_initial, SCENE_initial, 0, 1, initial);
}

/* Writes the table that the sampler decides by. A network draws the points of tau steps. */
static bool write_tables(struct simulation *simulation, const uint32_t *table, struct error *error) {
  const struct acquisition *acquisition = &simulation->acquisition;
  const struct sampler *sampler = simulation->sampler;
  if (geometry_of(acquisition)->points)
    return sampler->kind == SAMPLER_SEQUENCE ||
           ((simulation->points.graph ||
             points_open(&simulation->points, simulation->device, simulation->kernels, simulation->options,
                         world_capacity(simulation->world, TABLE_ENV), error)) &&
            points_set(&simulation->points, sampler, simulation->options, acquisition, table, error));
  world_put(simulation->world, &system_load_weights, SCENE_weight, 0, 1, table);
  return sampler->kind != SAMPLER_EXACT || write_chances(simulation, error);
}

bool simulation_set(struct simulation *simulation, const struct acquisition *acquisition,
                    const struct sampler *sampler, struct error *error) {
  REQUIRE(sampler->kind != SAMPLER_POLICY || (simulation->plan.deciders & DECIDES_POLICY),
          "the simulation was opened without a policy");
  REQUIRE(!sampler_is_oracle(sampler) || simulation->candidates.world,
          "the simulation was opened without an oracle");
  REQUIRE(sampler->kind != SAMPLER_SEQUENCE || simulation->tau,
          "the simulation was opened without tau steps");
  REQUIRE(sampler->kind != SAMPLER_PLANNED || simulation->planner, "the simulation was opened without a planner");
  struct arena *arena = arena_open();
  uint32_t *table = ARENA_NEW(arena, uint32_t, acquisition->shape.actions);
  bool good = sampler_fill(sampler, simulation->options, acquisition, table, error);
  if (good) {
    simulation->acquisition = *acquisition;
    simulation->steps = acquisition_steps(acquisition);
    simulation->sampler = sampler;
    write_initial(simulation, arena);
    good = simulation_build(simulation, error) && prepare(simulation, error) &&
           write_tables(simulation, table, error);
  }
  arena_close(arena);
  return good;
}

/* ---- scanning ----------------------------------------------------------------------------------------- */

void simulation_number(struct simulation *simulation, uint32_t first_scan, size_t envs) {
  REQUIRE(envs <= world_capacity(simulation->world, TABLE_ENV), "%zu environments; the world has %zu", envs,
          world_capacity(simulation->world, TABLE_ENV));
  slice_cache_want_scans(simulation, first_scan, envs);
  simulation->first_scan = first_scan;
  world_set_rows(simulation->world, TABLE_ENV, envs);
}

void simulation_restart(struct simulation *simulation, uint32_t first_scan, size_t envs) {
  simulation_number(simulation, first_scan, envs);
  schedule_run(&simulation->restart, simulation->world);
}

void simulation_episode(struct simulation *simulation) {
  simulation->rows = (struct rollout_rows){.stride = world_rows(simulation->world, TABLE_ENV), .before = true};
  simulation->rollout_row = 0;
  schedule_run(&simulation->scan, simulation->world);
}
