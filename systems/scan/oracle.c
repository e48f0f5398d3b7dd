#include "systems/scan/oracle.h"

#include "systems/scan/systems.h"

#include <math.h>
#include <string.h>

enum { SYSTEMS = 5 };

struct oracle {
  struct arena *arena; /* owns this */
  struct device *device;
  const struct metric *metric;
  struct world world; /* ENV: candidates; SLICE: the simulation's */
  component_set shared;
  struct system system[SYSTEMS];
  struct schedule schedule;
  size_t envs, lines, pixels;       /* of the simulation */
  cl_mem base, line, quality, mean; /* [envs][HW] complex, [envs][W], [envs][W], [W] */
  cl_mem slice, mask;               /* ENV_slice and ENV_mask of the scans that the candidates are of */
  bool rank_one;                    /* candidates are updates of base (systems/scan/geometry.h); else observed */
  cl_mem phase;
  size_t first;   /* candidate of the running pass */
  uint32_t count; /* candidates of a scan */
};

/* ---- the candidates' systems --------------------------------------------------------------------------- */

static void run_expand(struct world *world, void *context) {
  const struct oracle *oracle = context;
  kernel_run(
      world->kernels, "oracle_observe", world->rows[TABLE_ENV],
      ARGS(arg_buffer(ARG_IN, ELEMENT_U32, oracle->slice), arg_buffer(ARG_IN, ELEMENT_U32, oracle->line),
           arg_buffer(ARG_IN, ELEMENT_C64, oracle->base), world_in(world, SLICE_hybrid),
           arg_buffer(ARG_IN, ELEMENT_C64, oracle->phase),
           arg_buffer(ARG_OUT, ELEMENT_U32, world_out(world, ENV_slice).as.m),
           world_out(world, ENV_magnitude), world_out(world, ENV_magnitude_mean),
           world_out(world, ENV_magnitude_std), arg_u32((uint32_t)oracle->first), arg_u32(oracle->count)));
}

const struct system system_expand = {.name = "expand",
                                     .doc = "candidates: scans with one line more, by a rank-one update",
                                     .reads = SET(SLICE_hybrid),
                                     .writes = SET(ENV_slice) | SET(ENV_magnitude) | SET(ENV_magnitude_mean) |
                                               SET(ENV_magnitude_std),
                                     .kernels = {"oracle_observe"},
                                     .run = run_expand};

static void run_extend(struct world *world, void *context) {
  const struct oracle *oracle = context;
  kernel_run(world->kernels, "oracle_extend", world->rows[TABLE_ENV],
             ARGS(arg_buffer(ARG_IN, ELEMENT_U32, oracle->slice),
                  arg_buffer(ARG_IN, ELEMENT_U8, oracle->mask), arg_buffer(ARG_IN, ELEMENT_U32, oracle->line),
                  arg_buffer(ARG_OUT, ELEMENT_U32, world_out(world, ENV_slice).as.m),
                  arg_buffer(ARG_OUT, ELEMENT_U8, world_out(world, ENV_mask).as.m),
                  arg_u32((uint32_t)oracle->first), arg_u32(oracle->count)));
}

const struct system system_extend = {.name = "extend",
                                     .doc = "candidates: scans with one spoke more, to be observed",
                                     .writes = SET(ENV_slice) | SET(ENV_mask),
                                     .kernels = {"oracle_extend"},
                                     .run = run_extend};

static void run_weigh(struct world *world, void *context) {
  const struct oracle *oracle = context;
  struct arg score = world_in(world, oracle->metric->env);
  score.name = NULL;
  kernel_run(world->kernels, "oracle_keep", world->rows[TABLE_ENV],
             ARGS(arg_buffer(ARG_IN, ELEMENT_U32, oracle->line), score,
                  arg_buffer(ARG_INOUT, ELEMENT_F32, oracle->quality), arg_u32((uint32_t)oracle->first),
                  arg_u32(oracle->count), arg_f32(oracle->metric->sign)));
}

/* The column of the scene's metric is added to the reads by oracle_open. */
const struct system system_weigh = {.name = "weigh",
                                    .doc = "candidates: their scores to the scans they are of",
                                    .kernels = {"oracle_keep"},
                                    .run = run_weigh};

/* ---- opening ------------------------------------------------------------------------------------------- */

static bool build_schedule(struct oracle *oracle, struct simulation *simulation, bool network,
                           struct error *error) {
  const struct observation *observation = observation_chosen(simulation->options);
  const struct system *const rows[SYSTEMS] = {observation->rank_one ? &system_expand : &system_extend,
                                              observation->rank_one ? NULL : observation->observe,
                                              network ? &system_reconstruct_network : &system_reconstruct,
                                              oracle->metric->system, &system_weigh};
  const struct system *list[SYSTEMS + 1] = {NULL};
  for (int i = 0, count = 0; i < SYSTEMS; i++) {
    bool own = i == 0 || i == SYSTEMS - 1;
    if (!rows[i]) continue;
    oracle->system[i] = *rows[i];
    oracle->system[i].context = own ? (void *)oracle : (void *)simulation;
    list[count++] = &oracle->system[i];
  }
  oracle->system[SYSTEMS - 1].reads |= SET(oracle->metric->env);
  return schedule_build(&oracle->schedule, &component_schema, list, error) &&
         schedule_prepare(&oracle->schedule, simulation->kernels, error);
}

static component_set columns_of(uint8_t table) {
  component_set set = 0;
  for (size_t c = 0; c < component_schema.component_count; c++)
    if (component_schema.components[c].table == table) set |= SET(c);
  return set;
}

static bool open_world(struct oracle *oracle, const struct simulation *simulation, struct error *error) {
  const struct world *parent = &simulation->world;
  size_t batch = simulation->options->network.batch, most = oracle->envs * oracle->lines;
  struct world_setup setup = {.schema = &component_schema,
                              .columns = oracle->schedule.touched & columns_of(TABLE_ENV),
                              .height = parent->height,
                              .width = parent->width,
                              .half = parent->half};
  setup.rows[TABLE_ENV] = batch < most ? batch : most;
  memcpy(setup.shape, parent->shape, sizeof setup.shape);
  if (!world_open(&oracle->world, oracle->device, simulation->kernels, &setup, TABLE_ENV, error))
    return fail_in(error, "candidates of the oracle, network.batch %zu", batch);
  oracle->shared = oracle->schedule.touched & columns_of(TABLE_SLICE);
  for (unsigned c = 0; c < component_schema.component_count; c++)
    if (oracle->shared & SET(c)) oracle->world.column[c] = parent->column[c];
  return true;
}

static bool open_buffers(struct oracle *oracle, struct error *error) {
  struct device *device = oracle->device;
  size_t words = sizeof(float) * oracle->envs * oracle->lines, images = 8 * oracle->envs * oracle->pixels;
  if (oracle->rank_one && !(oracle->base = device_buffer(device, images, "complex images", error)))
    return false;
  return (oracle->line = device_buffer(device, words, "the candidates' lines", error)) &&
         (oracle->quality = device_buffer(device, words, "the candidates' scores", error)) &&
         (oracle->mean = device_buffer(device, sizeof(float) * oracle->lines, "mean scores", error));
}

static bool need_kernels(struct kernels *kernels, struct error *error) {
  static const char *const names[] = {"oracle_base", "oracle_list", "oracle_mean", "oracle_choose"};
  bool good = true;
  for (size_t i = 0; good && i < sizeof names / sizeof *names; i++)
    good = kernel_need(kernels, names[i], error);
  return good;
}

bool oracle_open(struct oracle **opened, struct simulation *simulation, bool network, struct error *error) {
  struct arena *arena = arena_open();
  const struct world *world = &simulation->world;
  struct oracle *oracle = *opened = ARENA_NEW(arena, struct oracle, 1);
  *oracle = (struct oracle){.arena = arena,
                            .device = simulation->device,
                            .metric = &metric_list[simulation->options->reward.metric],
                            .envs = world->capacity[TABLE_ENV],
                            .lines = world->width,
                            .pixels = world->height * world->width,
                            .phase = simulation->phase,
                            .rank_one = observation_chosen(simulation->options)->rank_one};
  return need_kernels(simulation->kernels, error) && build_schedule(oracle, simulation, network, error) &&
         open_world(oracle, simulation, error) && open_buffers(oracle, error);
}

void oracle_close(struct oracle *oracle) {
  if (!oracle) return;
  size_t words = sizeof(float) * oracle->envs * oracle->lines;
  for (unsigned c = 0; c < component_schema.component_count; c++)
    if (oracle->shared & SET(c)) oracle->world.column[c] = NULL;
  world_close(&oracle->world);
  device_release(oracle->device, oracle->base, 8 * oracle->envs * oracle->pixels);
  device_release(oracle->device, oracle->line, words);
  device_release(oracle->device, oracle->quality, words);
  device_release(oracle->device, oracle->mean, sizeof(float) * oracle->lines);
  arena_close(oracle->arena);
}

/* ---- deciding ------------------------------------------------------------------------------------------ */

/* Candidates of one scan after `taken` lines. */
static uint32_t count_candidates(const struct options *options, const struct acquisition *acquisition,
                                 uint32_t taken) {
  uint32_t left = acquisition->lines - acquisition->initial_lines - taken, most = options->sampler.candidates;
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
  size_t rows = world->rows[TABLE_ENV];
  const float least = -INFINITY;
  uint32_t word;
  memcpy(&word, &least, sizeof word);
  oracle->slice = world_in(world, ENV_slice).as.m;
  oracle->mask = world_in(world, ENV_mask).as.m;
  oracle->count = count_candidates(simulation->options, &simulation->acquisition, simulation->taken);
  if (oracle->rank_one)
    kernel_run(world->kernels, "oracle_base", rows,
               ARGS(world_in(world, ENV_slice), world_in(world, ENV_mask), world_in(world, SLICE_hybrid),
                    arg_buffer(ARG_IN, ELEMENT_C64, oracle->phase),
                    arg_buffer(ARG_OUT, ELEMENT_C64, oracle->base)));
  kernel_run(world->kernels, "oracle_list", rows,
             ARGS(world_in(world, ENV_mask), world_in(world, ENV_scan), world_in(world, ENV_step),
                  arg_buffer(ARG_OUT, ELEMENT_U32, oracle->line), arg_u32(oracle->count),
                  arg_u32(simulation->options->world.seed), arg_u32(together)));
  device_fill(oracle->device, oracle->quality, 0, sizeof(float) * rows * oracle->lines, word);
}

/* As many candidates at a time as their world holds. */
static void score_candidates(struct oracle *oracle, size_t scans) {
  size_t all = scans * oracle->count, most = oracle->world.capacity[TABLE_ENV];
  for (oracle->first = 0; oracle->first < all; oracle->first += most) {
    size_t left = all - oracle->first;
    oracle->world.rows[TABLE_ENV] = left < most ? left : most;
    schedule_run(&oracle->schedule, &oracle->world);
  }
}

static void run_oracle(struct world *world, void *context) {
  const struct simulation *simulation = context;
  struct oracle *oracle = simulation->oracle;
  size_t rows = world->rows[TABLE_ENV];
  bool together = simulation->sampler->kind == SAMPLER_AVERAGE_ORACLE;
  list_candidates(world, simulation, together);
  score_candidates(oracle, rows);
  if (together)
    kernel_run(world->kernels, "oracle_mean", oracle->lines,
               ARGS(arg_buffer(ARG_IN, ELEMENT_F32, oracle->quality),
                    arg_buffer(ARG_OUT, ELEMENT_F32, oracle->mean), arg_u32((uint32_t)rows)));
  kernel_run(world->kernels, "oracle_choose", rows,
             ARGS(arg_buffer(ARG_IN, ELEMENT_F32, together ? oracle->mean : oracle->quality),
                  world_in(world, ENV_mask), world_out(world, ENV_action), world_out(world, ENV_log_prob),
                  arg_u32(together ? 0 : (uint32_t)oracle->lines)));
}

const struct system system_decide_oracle = {
    .name = "decide_oracle",
    .doc = "the free line whose image is best by the truth",
    .reads = SET(ENV_slice) | SET(ENV_mask) | SET(ENV_scan) | SET(ENV_step), /* and the geometry's k-space */
    .writes = SET(ENV_action) | SET(ENV_log_prob),
    .kernels = {"oracle_base", "oracle_list", "oracle_mean", "oracle_choose"},
    .run = run_oracle};
