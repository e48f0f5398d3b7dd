#include "systems/networks/loupe.h"
#include "systems/scan/systems.h"

static void run(struct world *world, void *context) {
  const struct simulation *simulation = context;
  loupe_forward(simulation->loupe, world_inout(world, ENV_mask), world->rows[TABLE_ENV]);
}

const struct system system_draw = {.name = "draw",
                                   .doc = "draw a learned mask of exactly the budget for each sample",
                                   .reads = SET(ENV_mask),
                                   .writes = SET(ENV_mask),
                                   .kernels = {"loupe_number", "loupe_keep"},
                                   .run = run};
