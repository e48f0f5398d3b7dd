/* Straight-through policies as planners: what they see, and what their draws start from. */
#include "systems/networks/through.h"
#include "systems/scan/planned.h"
#include "systems/scan/systems.h"

void through_see(struct through *through, struct world *world, size_t first, size_t images) {
  observe_standardise(world, graph_arg(ARG_INOUT, through->policy.input), first, 0, images);
}

static cl_mem plan(struct planner *planner, struct world *world, size_t first, uint32_t number, size_t images) {
  struct through *through = planner->own;
  through_see(through, world, first, images);
  through->graph->best = planner->best;
  kernel_run(world_kernels(world), "policy_mask", images,
             ARGS(world_in(world, ENV_mask),
                  graph_arg(ARG_OUT, graph_value(through->graph, through->net.mask[planner->step])),
                  arg_u32((uint32_t)first)));
  return through_forward(through, planner->step, number, images);
}

static bool load(struct planner *planner, const struct masks_setup *setup, struct error *error) {
  struct through *through = planner->own;
  bool good = through_load(through, setup, error);
  planner->steps = through->setup.steps;
  return good;
}

static void close(struct planner *planner) {
  through_close(planner->own);
}

const struct planner_desc planner_through = {.names = {"straight_through", "straight_through_best"},
                                             .reads = OBSERVE_STANDARDISE_READS | SET(ENV_mask) | FORWARD_READS(SAMPLER),
                                             .writes = FORWARD_WRITES(SAMPLER),
                                             .kernels = {"image_standardise", "policy_mask"},
                                             .bytes = sizeof(struct through),
                                             .plan = plan,
                                             .load = load,
                                             .close = close};
