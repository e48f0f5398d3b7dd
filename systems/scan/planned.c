#include "systems/scan/planned.h"

#include "systems/scan/observation.h"
#include "systems/scan/systems.h"

#include <string.h>

static const struct planner_desc *const rows[] = {&planner_through, &planner_nearest};
enum { ROWS = sizeof rows / sizeof *rows };

const struct planner_desc *planner_of(const struct sampler *sampler) {
  for (size_t r = 0; r < ROWS; r++)
    for (const char *const *name = rows[r]->names; *name; name++)
      if (!strcmp(*name, sampler->name)) return rows[r];
  REQUIRE(false, "no row plans for %s", sampler->name);
  return NULL;
}

/* ---- opening ------------------------------------------------------------------------------------------- */

static size_t initial_bytes(const struct planner *planner) {
  return sizeof(float) * planner->batch * planner->acquisition.shape.actions;
}

bool planner_open(struct planner *planner, const struct planner_desc *desc, const struct masks_setup *setup,
                  struct error *error) {
  planner->desc = desc;
  planner->device = setup->device;
  planner->acquisition = setup->acquisition;
  planner->batch = setup->batch;
  planner->initial = device_buffer(setup->device, initial_bytes(planner), "initial masks", error);
  if (!planner->initial) return false;
  struct arena *arena = arena_open();
  float *row = ARENA_NEW(arena, float, setup->batch *setup->acquisition.shape.actions);
  acquisition_initial_rows(&setup->acquisition, setup->batch, row);
  device_write(setup->device, planner->initial, 0, initial_bytes(planner), row);
  arena_close(arena);
  return kernel_need(setup->kernels, "loupe_keep", error);
}

bool planner_load(struct planner *planner, const struct sampler *sampler, const struct masks_setup *setup,
                  struct arena *arena, struct error *error) {
  const struct planner_desc *desc = planner_of(sampler);
  *planner = (struct planner){0};
  planner->own = arena_new(arena, desc->bytes);
  if (planner_open(planner, desc, setup, error) && desc->load(planner, setup, error)) return true;
  planner_close(planner);
  return fail_in(error, "sampler.mask %s", setup->options->sampler.mask);
}

void planner_close(struct planner *planner) {
  if (planner->desc) planner->desc->close(planner);
  if (planner->initial) device_release(planner->device, planner->initial, initial_bytes(planner));
  *planner = (struct planner){0};
}

/* ---- systems ------------------------------------------------------------------------------------------- */

void planner_keep(struct world *world, cl_mem drawn, unsigned column, size_t first, size_t images) {
  kernel_run(world_kernels(world), "loupe_keep", images * world_shape(world, SHAPE_A),
             ARGS(graph_arg(ARG_IN, drawn), world_part(world, column), arg_u32((uint32_t)first)));
}

static void run_start(struct world *world, void *context) {
  const struct planner *planner = ((const struct simulation *)context)->planner;
  struct pass pass;
  for (size_t turn = 0; pass_take(&pass, turn, world_rows(world, TABLE_ENV), planner->batch); turn++)
    planner_keep(world, planner->initial, ENV_mask, pass.first, pass.images);
}

const struct system system_start_plan = {.name = "start_plan",
                                         .doc = "masks of the initial actions alone",
                                         .writes = SET(ENV_mask),
                                         .kernels = {"loupe_keep"},
                                         .run = run_start};

static bool next_step(struct world *world, void *context, size_t turn) {
  struct planner *planner = ((const struct simulation *)context)->planner;
  (void)world;
  planner->step = (uint32_t)turn;
  return turn < planner->steps;
}

const struct system system_repeat_plan = {
    .name = "plan_steps", .doc = "steps in which a scan's actions are chosen before the first", .next = next_step};

static void rank(struct world *world, cl_mem mask, size_t first, size_t images, uint32_t step) {
  kernel_run(world_kernels(world), "sequence_rank", images,
             ARGS(graph_arg(ARG_IN, mask), world_part(world, ENV_rank), arg_u32((uint32_t)first), arg_u32(step)));
}

static void run_plan(struct world *world, void *context) {
  const struct simulation *simulation = context;
  struct planner *planner = simulation->planner;
  bool ranks = simulation->sampler->kind == SAMPLER_PLANNED; /* of a scan, not of a training */
  planner->best = ranks && !simulation->sampler->random; /* trainings draw */
  uint32_t number = ranks ? simulation->first_scan : planner->number;
  struct pass pass;
  for (size_t turn = 0; pass_take(&pass, turn, world_rows(world, TABLE_ENV), planner->batch); turn++) {
    cl_mem mask = planner->desc->plan(planner, world, pass.first, number + (uint32_t)pass.first, pass.images);
    planner_keep(world, mask, ENV_mask, pass.first, pass.images);
    if (ranks && !planner->step) rank(world, planner->initial, pass.first, pass.images, 0);
    if (ranks) rank(world, mask, pass.first, pass.images, planner->step + 1);
  }
}

/* planner_add adds what its row reads and writes. */
const struct system system_plan = {.name = "plan",
                                   .doc = "choose the actions of a step for every scan, by what it has acquired",
                                   .parts = SET(ENV_mask),
                                   .run = run_plan};

/* ---- lists --------------------------------------------------------------------------------------------- */

static struct system *add_steps(struct simulation *simulation, const struct planner_desc *desc,
                                struct schedule *schedule) {
  schedule_add(schedule, &system_repeat_plan, simulation);
  simulation_add_observe(simulation, schedule);
  struct system *plan = schedule_add(schedule, &system_plan, simulation);
  plan->reads |= desc->reads;
  plan->writes |= desc->writes;
  plan->kernels[0] = "loupe_keep";
  for (size_t i = 0; i < 2; i++) plan->kernels[1 + i] = desc->kernels[i];
  return plan;
}

void planner_add(struct simulation *simulation, const struct planner_desc *desc, struct schedule *schedule) {
  schedule_add(schedule, &system_start_plan, simulation);
  add_steps(simulation, desc, schedule);
  schedule_add(schedule, &system_end, NULL);
}

void planner_add_order(struct simulation *simulation, const struct planner_desc *desc, struct schedule *schedule) {
  struct system *plan = add_steps(simulation, desc, schedule);
  plan->parts |= SET(ENV_rank);
  for (size_t i = 0; i < SYSTEM_KERNELS_MOST; i++)
    if (!plan->kernels[i]) {
      plan->kernels[i] = "sequence_rank";
      break;
    }
  schedule_add(schedule, &system_end, NULL);
  schedule_add(schedule, &system_start_plan, simulation);
}

component_set planner_columns(const struct simulation *simulation) {
  const struct system *observe = observation_chosen(simulation->options)->observe;
  component_set columns = SET(ENV_rank) | SET(ENV_mask) | (observe ? observe->reads | observe->writes : 0);
  for (size_t r = 0; r < ROWS; r++) columns |= rows[r]->reads | rows[r]->writes;
  return columns;
}
