/* Gives the environments the next samples of the running epoch. */
#include "systems/scan/systems.h"

static void copy_rows(struct world *world, unsigned from_column, unsigned to_column, size_t first) {
  struct arg from = world_in(world, from_column), to = world_out(world, to_column);
  size_t bytes = world_column_bytes(world, to_column), rows = world->rows[TABLE_ENV];
  device_copy(world->device, from.as.m, first * bytes, to.as.m, 0, rows * bytes);
}

static void run(struct world *world, void *context) {
  const struct simulation *simulation = context;
  copy_rows(world, EPOCH_slice, ENV_slice, simulation->epoch_row);
  copy_rows(world, EPOCH_mask, ENV_mask, simulation->epoch_row);
}

const struct system system_deal = {.name = "deal",
                                   .doc = "give each environment its sample of the running epoch",
                                   .reads = SET(EPOCH_slice) | SET(EPOCH_mask),
                                   .writes = SET(ENV_slice) | SET(ENV_mask),
                                   .run = run};
