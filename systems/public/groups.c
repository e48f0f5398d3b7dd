#include "systems/public/groups.h"

#include "systems/methods/learn.h"
#include "systems/methods/method.h"
#include "systems/methods/rollout.h"
#include "systems/methods/trajectories.h"
#include "systems/public/env_systems.h"
#include "systems/scan/callback.h"
#include "systems/classifier/classify.h"
#include "systems/planned/planned.h"
#include "systems/scan/slice_cache.h"
#include "systems/scan/solve.h"
#include "systems/scan/systems.h"
#include "systems/scan/transform.h"
#include "systems/training/minibatch.h"

static const struct system *const scan_systems[] = {&system_restart,
                                                    &system_end_scans,
                                                    &system_reset,
                                                    &system_repeat_steps,
                                                    &system_decide_draw,
                                                    &system_decide_next,
                                                    &system_decide_disc,
                                                    &system_decide_exact,
                                                    &system_list_candidates,
                                                    &system_repeat_candidates,
                                                    &system_decide_oracle,
                                                    &system_decide_points,
                                                    &system_decide_points_sequence,
                                                    &system_order_lines,
                                                    &system_decide_sequence,
                                                    &system_start_plan,
                                                    &system_repeat_plan,
                                                    &system_plan,
                                                    &system_repeat_policy,
                                                    &system_encode_policy,
                                                    &system_forward_policy,
                                                    &system_act,
                                                    &system_estimate,
                                                    &system_repeat_states,
                                                    &system_encode_reconstruction,
                                                    &system_keep_state,
                                                    &system_act_draws,
                                                    &system_spread,
                                                    &system_follow,
                                                    &system_acquire,
                                                    &system_observe,
                                                    &system_observe_back,
                                                    &system_observe_cells,
                                                    &system_observe_coils,
                                                    &system_observe_maps,
                                                    &system_observe_coil_lines,
                                                    &system_observe_map_lines,
                                                    &system_reconstruct,
                                                    &system_repeat_reconstructor,
                                                    &system_encode,
                                                    &system_encode_complex,
                                                    &system_encode_varnet,
                                                    &system_forward_reconstructor,
                                                    &system_restore,
                                                    &system_repeat_solve,
                                                    &system_compensate,
                                                    &system_solve_data,
                                                    &system_solve_cg,
                                                    &system_solve_tv,
                                                    &system_solve_wavelet,
                                                    &system_solve_store,
                                                    &system_repeat_callback,
                                                    &system_call_data,
                                                    &system_call_reconstruct,
                                                    &system_score_ssim,
                                                    &system_score_ssim_uniform,
                                                    &system_score_error,
                                                    &system_score_callback,
                                                    &system_score_classes,
                                                    &system_reward,
                                                    &system_hand_over,
                                                    &system_record,
                                                    &system_expand,
                                                    &system_extend,
                                                    &system_weigh,
                                                    NULL};

static const struct system *const load_systems[] = {&system_order_slices,
                                                    &system_bring_slices,
                                                    &system_bring_scans,
                                                    &system_repeat_chunks,
                                                    &system_move_slices,
                                                    &system_normalise_slices,
                                                    &system_transform_lines,
                                                    &system_transform_planes,
                                                    &system_load_coils,
                                                    &system_scale_coils,
                                                    NULL};

/* Systems of several methods. */
static const struct system *const *const shared[] = {
    load_systems,    scan_systems,         minibatch_systems, policy_task_systems,
    rollout_systems, trajectories_systems, clone_systems, env_systems};
enum { SHARED = sizeof shared / sizeof *shared };

static const struct system *const none[] = {NULL};

static const struct system *const *group(size_t place) {
  const struct system *const *own = place < SHARED ? shared[place] : method_list[place - SHARED]->systems;
  return own ? own : none;
}

const struct system *system_at(size_t place) {
  for (size_t g = 0; g < SHARED || method_list[g - SHARED]; g++)
    for (const struct system *const *system = group(g); *system; system++)
      if (!place--) return *system;
  return NULL;
}
