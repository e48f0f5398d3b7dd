/* Observations of masks that are no whole lines, a geometry's actions as tables of cells (kernels/observe.cl); and of whole
 * lines of all coils, of hybrid data (kernels/hybrid.cl). */
#include "kernels/kernels.h"
#include "systems/scan/systems.h"

/* Work-groups a compute unit: enough to keep it busy, few enough that what they work in stays in cache. */
enum { GROUPS_A_UNIT = 4 };
static const size_t work_most = (size_t)256 << 20; /* bytes that images of many coils may take */

/* The kernel for these sizes of the two of its kind. */
static const char *kernel_for(const struct world *world, const char *const kernels[2]) {
  return kernels[!observe_cells_fft_fits(world_height(world), world_width(world))];
}

static const char *const of_cells[] = {"observe_cells_fft", "observe_cells_direct"},
                         *const of_coils[] = {"observe_coils_fft", "observe_coils_direct"},
                         *const of_maps[] = {"observe_maps_fft", "observe_maps_direct"};

static void run_observe_cells(struct world *world, void *context) {
  const struct simulation *simulation = context;
  size_t scans = world_rows(world, TABLE_ENV), slots = simulation->observe_slots;
  kernel_run(world_kernels(world), kernel_for(world, of_cells), scans < slots ? scans : slots,
             ARGS(world_in(world, ENV_slice), world_in(world, ENV_mask), world_in(world, SLICE_kspace),
                  world_in(world, SCENE_cells), world_in(world, SCENE_phase),
                  world_in(world, SCENE_column_phase),
                  arg_buffer(ARG_INOUT, ELEMENT_C64, simulation->observe_work),
                  world_out(world, ENV_magnitude), world_out(world, ENV_magnitude_mean),
                  world_out(world, ENV_magnitude_std), arg_u32((uint32_t)scans)));
}

const struct system system_observe_cells = {
    .name = "observe_cells",
    .doc = "zero-filled magnitude of the acquired cells of k-space, with mean and deviation",
    .reads = SET(ENV_slice) | SET(ENV_mask) | SET(SLICE_kspace) | SET(SCENE_cells) | SET(SCENE_phase) |
             SET(SCENE_column_phase),
    .writes = SET(ENV_magnitude) | SET(ENV_magnitude_mean) | SET(ENV_magnitude_std),
    .run = run_observe_cells};

static void run_observe_coils(struct world *world, void *context) {
  const struct simulation *simulation = context;
  size_t scans = world_rows(world, TABLE_ENV), slots = simulation->observe_slots;
  kernel_run(world_kernels(world), kernel_for(world, of_coils), scans < slots ? scans : slots,
             ARGS(world_in(world, ENV_slice), world_in(world, ENV_mask), world_in(world, SLICE_coils),
                  world_in(world, SLICE_coil_kspace), world_in(world, SCENE_cells),
                  world_in(world, SCENE_phase), world_in(world, SCENE_column_phase),
                  arg_buffer(ARG_INOUT, ELEMENT_C64, simulation->observe_work),
                  world_out(world, ENV_magnitude), world_out(world, ENV_magnitude_mean),
                  world_out(world, ENV_magnitude_std), arg_u32((uint32_t)simulation->plan.coils),
                  arg_u32((uint32_t)scans)));
}

const struct system system_observe_coils = {
    .name = "observe_coils",
    .doc = "root-sum-of-squares of the coils' zero-filled images, with mean and deviation",
    .reads = SET(ENV_slice) | SET(ENV_mask) | SET(SLICE_coils) | SET(SLICE_coil_kspace) | SET(SCENE_cells) |
             SET(SCENE_phase) | SET(SCENE_column_phase),
    .writes = SET(ENV_magnitude) | SET(ENV_magnitude_mean) | SET(ENV_magnitude_std),
    .run = run_observe_coils};

/* Sums take several sets of maps. */
static const char *kernel_of_maps(const struct world *world, uint32_t sets) {
  return sets > 1 ? of_maps[1] : kernel_for(world, of_maps);
}

#define MAPS_ARGS(world, simulation, scans)                                                                  \
  world_in(world, ENV_slice), world_in(world, ENV_mask), world_in(world, SLICE_coils),                       \
      world_in(world, SLICE_coil_kspace), world_in(world, SLICE_maps), world_in(world, SCENE_cells),         \
      world_in(world, SCENE_phase), world_in(world, SCENE_column_phase),                                     \
      arg_buffer(ARG_INOUT, ELEMENT_C64, simulation->observe_work), world_out(world, ENV_magnitude),         \
      world_out(world, ENV_magnitude_mean), world_out(world, ENV_magnitude_std),                             \
      arg_u32((uint32_t)simulation->plan.coils), arg_u32((uint32_t)scans)

static void run_observe_maps(struct world *world, void *context) {
  const struct simulation *simulation = context;
  uint32_t sets = simulation->options->coils.sets;
  size_t scans = world_rows(world, TABLE_ENV), slots = simulation->observe_slots, rows = scans < slots ? scans : slots;
  const char *kernel = kernel_of_maps(world, sets);
  if (kernel == of_maps[0])
    kernel_run(world_kernels(world), kernel, rows, ARGS(MAPS_ARGS(world, simulation, scans)));
  else
    kernel_run(world_kernels(world), kernel, rows, ARGS(MAPS_ARGS(world, simulation, scans), arg_u32(sets)));
}

const struct system system_observe_maps = {
    .name = "observe_maps",
    .doc = "the coils' zero-filled images combined by maps, with mean and deviation",
    .reads = SET(ENV_slice) | SET(ENV_mask) | SET(SLICE_coils) | SET(SLICE_coil_kspace) | SET(SLICE_maps) |
             SET(SCENE_cells) | SET(SCENE_phase) | SET(SCENE_column_phase),
    .writes = SET(ENV_magnitude) | SET(ENV_magnitude_mean) | SET(ENV_magnitude_std),
    .run = run_observe_maps};

/* An image a coil and work-group. */
static bool open_work(struct simulation *simulation, size_t coils, struct error *error) {
  struct device *device = simulation->device;
  size_t pixels = world_shape(simulation->world, SHAPE_HW),
         envs = world_capacity(simulation->world, TABLE_ENV);
  size_t candidates = simulation->plan.deciders & DECIDES_ORACLE ? simulation->options->network.batch : 0;
  size_t slots = GROUPS_A_UNIT * (size_t)device->facts.units, slot = 8 * pixels * coils;
  if (coils > 1 && slots * slot > work_most) slots = slot < work_most ? work_most / slot : 1;
  if (candidates > envs) envs = candidates;
  simulation->observe_slots = slots < envs ? slots : envs;
  simulation->observe_bytes = slot * simulation->observe_slots;
  return (simulation->observe_work =
              device_buffer(device, simulation->observe_bytes, "columns of k-space", error));
}

bool observe_cells_open(struct simulation *simulation, struct error *error) {
  return open_work(simulation, 1, error) &&
         kernel_need(simulation->kernels, kernel_for(simulation->world, of_cells), error);
}

bool observe_coils_open(struct simulation *simulation, struct error *error) {
  return open_work(simulation, simulation->plan.coils, error) &&
         kernel_need(simulation->kernels, kernel_for(simulation->world, of_coils), error);
}

bool observe_maps_open(struct simulation *simulation, struct error *error) {
  return open_work(simulation, simulation->plan.coils, error) &&
         kernel_need(simulation->kernels, kernel_of_maps(simulation->world, simulation->options->coils.sets), error);
}

/* ---- whole lines of all coils ------------------------------------------------------------------------ */

static size_t blocks_of(const struct world *world) {
  return hybrid_blocks(world_height(world), world_width(world));
}

/* The root of the sum of squares takes no maps: other memory stands for them, which is not looked at. */
static void observe(struct world *world, const struct simulation *simulation, bool mapped) {
  struct kernels *kernels = world_kernels(world);
  size_t scans = world_rows(world, TABLE_ENV);
  struct arg slice = world_in(world, ENV_slice), lines = arg_buffer(ARG_OUT, ELEMENT_U32, simulation->observe_lines),
             starts = arg_buffer(ARG_OUT, ELEMENT_U32, simulation->observe_starts),
             parts = arg_buffer(ARG_OUT, ELEMENT_F128, simulation->observe_work),
             maps = mapped ? world_in(world, SLICE_maps) : arg_buffer(ARG_IN, ELEMENT_C64, slice.as.m);
  kernel_run(kernels, "hybrid_list", scans, ARGS(world_in(world, ENV_mask), lines, starts, arg_u32(0), arg_u32(0)));
  lines.kind = starts.kind = ARG_IN;
  struct arg magnitude = world_out(world, ENV_magnitude);
  magnitude.kind = ARG_INOUT; /* of its blocks */
  kernel_run(kernels, "hybrid_observe", scans * blocks_of(world),
             ARGS(slice, world_in(world, SLICE_coils), lines, starts, arg_unnamed(world_in(world, SLICE_coil_hybrid)), maps,
                  world_in(world, SCENE_phase), magnitude, parts, arg_u32((uint32_t)simulation->plan.coils),
                  arg_u32(mapped)));
  parts.kind = ARG_IN;
  kernel_run(kernels, "hybrid_join", scans,
             ARGS(parts, world_out(world, ENV_magnitude_mean), world_out(world, ENV_magnitude_std),
                  arg_u32((uint32_t)blocks_of(world))));
}

static void run_coils(struct world *world, void *context) {
  observe(world, context, false);
}

static void run_maps(struct world *world, void *context) {
  observe(world, context, true);
}

#define READS SET(ENV_slice) | SET(ENV_mask) | SET(SLICE_coils) | SET(SLICE_coil_hybrid) | SET(SCENE_phase)
#define WRITES SET(ENV_magnitude) | SET(ENV_magnitude_mean) | SET(ENV_magnitude_std)
#define KERNELS {"hybrid_list", "hybrid_observe", "hybrid_join"}

const struct system system_observe_coil_lines = {
    .name = "observe_coil_lines",
    .doc = "root-sum-of-squares of the coils' images of the acquired lines, with mean and deviation",
    .reads = READS,
    .writes = WRITES,
    .kernels = KERNELS,
    .run = run_coils};

const struct system system_observe_map_lines = {
    .name = "observe_map_lines",
    .doc = "the coils' images of the acquired lines combined by maps, with mean and deviation",
    .reads = READS | SET(SLICE_maps),
    .writes = WRITES,
    .kernels = KERNELS,
    .run = run_maps};

/* Candidates of an oracle are observed as scans are. */
bool observe_hybrid_open(struct simulation *simulation, struct error *error) {
  struct device *device = simulation->device;
  size_t scans = world_capacity(simulation->world, TABLE_ENV), width = world_width(simulation->world);
  size_t candidates = simulation->plan.deciders & DECIDES_ORACLE ? simulation->options->network.batch : 0;
  if (candidates > scans) scans = candidates;
  simulation->observe_bytes = 16 * scans * blocks_of(simulation->world);
  simulation->observe_list_bytes = 4 * scans * width;
  return (simulation->observe_work =
              device_buffer(device, simulation->observe_bytes, "mean and deviation of blocks", error)) &&
         (simulation->observe_lines =
              device_buffer(device, simulation->observe_list_bytes, "lists of lines", error)) &&
         (simulation->observe_starts =
              device_buffer(device, simulation->observe_list_bytes, "lists of lines", error));
}
