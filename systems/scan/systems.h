/* Every system of a scan, and what they share. */
#ifndef L2SR_SYSTEMS_H
#define L2SR_SYSTEMS_H

#include "systems/scan/simulation.h"

extern const struct system system_restart, system_end_scans, system_bring_scans, system_bring_slices, system_reset, system_decide_draw, system_decide_next,
    system_decide_disc, system_decide_exact, system_list_candidates, system_decide_oracle, system_decide_points,
    system_decide_points_sequence, system_decide_sequence, system_order_lines, system_acquire, system_observe,
    system_observe_back, system_observe_cells, system_observe_coils, system_observe_maps, system_observe_coil_lines, system_observe_map_lines,
    system_reconstruct, system_encode, system_encode_complex, system_encode_varnet, system_encode_varnet_back,
    system_forward_reconstructor, system_restore, system_score_ssim, system_score_ssim_uniform,
    system_score_error, system_hand_over, system_reward, system_record, system_encode_policy, system_forward_policy, system_act,
    system_estimate, system_encode_reconstruction, system_keep_state, system_act_draws, system_spread,
    system_follow, system_expand, system_extend, system_weigh;
extern const struct system system_repeat_steps, system_repeat_reconstructor, system_repeat_policy,
    system_repeat_states, system_repeat_candidates;

/* Builds the schedules anew for the plan and the sampler. */
bool simulation_build(struct simulation *simulation, struct error *error);
/* Elements of a row of every shape. */
void simulation_shapes(const struct options *options, size_t coils, size_t shape[SHAPES_MOST]);

/* For systems that start scans: the next scan of environments whose scan has ended, from this mask. Kernel mask_reset; the
 * system reads and writes what system_reset does. */
void reset_scans(struct world *world, const struct simulation *simulation, struct arg mask);

/* Scratch memory and kernels of the observations (systems/scan/observation.h). */
bool observe_open(struct simulation *simulation, struct error *error);
bool observe_cells_open(struct simulation *simulation, struct error *error);
bool observe_coils_open(struct simulation *simulation, struct error *error);
bool observe_maps_open(struct simulation *simulation, struct error *error);
bool observe_hybrid_open(struct simulation *simulation, struct error *error);
bool observe_complex_open(struct simulation *simulation, struct error *error);

/* For systems that encode observations: those of scans [first, first + images), standardised and clamped, into
 * `input` from its image `place` on. Kernel image_standardise. */
#define OBSERVE_STANDARDISE_READS                                                                            \
  (SET(ENV_slice) | SET(ENV_magnitude) | SET(ENV_magnitude_mean) | SET(ENV_magnitude_std) | SET(SLICE_unit))
void observe_standardise(struct world *world, struct arg input, size_t first, size_t place, size_t images);

/* For systems that encode for policies: what the scans of the pass have acquired, into BATCH.taken. Kernel policy_mask. */
void observe_mask(struct world *world, const struct pass *pass);

/* For networks of complex images: frequencies of slices [first, first + images) of `slice`, U32, in units of
 * the image, as planes [images][2][height][width]; with ENV.mask as `mask`: of the lines alone that those
 * environments have acquired. Kernel view_frequencies; the system reads SLICE.unit and the k-space that there is.
 */
void observe_frequencies(struct world *world, struct arg slice, const struct arg *mask, size_t first,
                     cl_mem planes, size_t images);

#endif
