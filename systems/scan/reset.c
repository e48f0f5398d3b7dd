#include "systems/scan/systems.h"

static void fill(struct world *world, unsigned component, uint32_t word) {
  device_fill(world_device(world), world_out(world, component).as.m, 0,
              world_column_bytes(world, component) * world_rows(world, TABLE_ENV), word);
}

static void run_restart(struct world *world, void *context) {
  (void)context;
  fill(world, ENV_scan, UINT32_MAX);
  fill(world, ENV_done, 1);
  fill(world, ENV_slice, 0);
  fill(world, ENV_mask, 0);
  fill(world, ENV_step, 0);
  if (world_writes(world, ENV_quality)) fill(world, ENV_quality, 0);
}

/* simulation_add_restart adds ENV.quality where it is scored. */
const struct system system_restart = {.name = "restart",
                                      .doc = "end every scan; the next ones start anew",
                                      .writes = SET(ENV_scan) | SET(ENV_done) | SET(ENV_slice) |
                                                SET(ENV_mask) | SET(ENV_step),
                                      .run = run_restart};

static void run_end(struct world *world, void *context) {
  (void)context;
  world_fill(world, ENV_scan, UINT32_MAX);
  world_fill(world, ENV_done, 1);
}

const struct system system_end_scans = {.name = "end_scans",
                                        .doc = "end every scan; what it has left stays until the next one begins",
                                        .writes = SET(ENV_scan) | SET(ENV_done),
                                        .run = run_end};

void reset_scans(struct world *world, const struct simulation *simulation, struct arg mask) {
  kernel_run(world_kernels(world), "mask_reset", world_rows(world, TABLE_ENV),
             ARGS(world_in(world, ENV_done), world_inout(world, ENV_scan), world_in(world, SLICE_order),
                  world_inout(world, ENV_slice), world_inout(world, ENV_mask), world_inout(world, ENV_step),
                  mask, arg_u32(simulation->first_scan),
                  arg_u32((uint32_t)world_rows(world, TABLE_ENV)), arg_u32((uint32_t)world_rows(world, TABLE_SLICE)),
                  arg_u32(simulation->group)));
}

static void run_reset(struct world *world, void *context) {
  reset_scans(world, context, world_in(world, SCENE_initial));
}

const struct system system_reset = {.name = "reset",
                                    .doc = "start the next scan where one has ended",
                                    .reads = SET(ENV_done) | SET(ENV_scan) | SET(SLICE_order) |
                                             SET(ENV_slice) | SET(ENV_mask) | SET(ENV_step) |
                                             SET(SCENE_initial),
                                    .writes = SET(ENV_scan) | SET(ENV_slice) | SET(ENV_mask) | SET(ENV_step),
                                    .kernels = {"mask_reset"},
                                    .run = run_reset};
