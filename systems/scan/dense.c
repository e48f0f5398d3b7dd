/* Decisions of the dense POMDP: PG-MRI's policy looks at the reconstruction that the last step has left.
 * While the first scans stand for others (training: trajectories that are still one), each of their logits
 * decides for all of those. */
#include "systems/networks/policy.h"
#include "systems/scan/systems.h"

/* Reconstructions and masks of scans [first, first + images) into the policy; kept for training. */
static void present(struct world *world, struct simulation *simulation, size_t first, size_t images) {
  struct policy *policy = simulation->policy;
  struct dense_kept *kept = &simulation->kept;
  size_t mask = sizeof(float) * world->width, image = mask * world->height;
  kernel_run(world->kernels, "pgmri_present", images,
             ARGS(world_in(world, ENV_slice), world_in(world, ENV_reconstruction),
                  world_in(world, SLICE_mean), world_in(world, SLICE_std),
                  arg_buffer(ARG_OUT, ELEMENT_F32, policy->input), arg_u32((uint32_t)first)));
  kernel_run(world->kernels, "policy_mask", images,
             ARGS(world_in(world, ENV_mask), arg_buffer(ARG_OUT, ELEMENT_F32, policy->mask),
                  arg_u32((uint32_t)first)));
  if (!kept->images) return;
  device_copy(world->device, policy->input, 0, kept->images, kept->row * image, images * image);
  device_copy(world->device, policy->mask, 0, kept->masks, kept->row * mask, images * mask);
  kept->row += images;
}

/* As many images at a time as the policy takes; draw after draw of those that share them. */
static void run_dense(struct world *world, void *context) {
  struct simulation *simulation = context;
  struct policy *policy = simulation->policy;
  struct policy_choice choice = {world_in(world, ENV_scan).as.m, world_in(world, ENV_step).as.m,
                                 world_out(world, ENV_action).as.m, world_out(world, ENV_log_prob).as.m};
  size_t rows = world->rows[TABLE_ENV], images = simulation->kept.slices ? simulation->kept.slices : rows;
  for (size_t first = 0; first < images; first += policy->batch) {
    size_t count = images - first < policy->batch ? images - first : policy->batch;
    present(world, simulation, first, count);
    policy_forward(policy, count);
    for (size_t draw = first; draw < rows; draw += images)
      policy_act(policy, &choice, draw, count, simulation->options->world.seed, simulation->best);
  }
}

const struct system system_decide_dense = {
    .name = "decide_dense",
    .doc = "draw a free line by the policy, which looks at the reconstruction, or take its best",
    .reads = SET(ENV_slice) | SET(ENV_reconstruction) | SET(SLICE_mean) | SET(SLICE_std) | SET(ENV_mask) |
             SET(ENV_scan) | SET(ENV_step),
    .writes = SET(ENV_action) | SET(ENV_log_prob),
    .kernels = {"pgmri_present", "policy_mask", "policy_act"},
    .run = run_dense};
