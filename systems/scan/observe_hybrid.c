/* Observations of whole lines of all coils, of hybrid data (kernels/hybrid.cl). */
#include "kernels/kernels.h"
#include "systems/scan/systems.h"

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
