/* Every system, and the lists of each method (DESIGN section 6 and 8). */
#ifndef L2SR_SYSTEMS_H
#define L2SR_SYSTEMS_H

#include "systems/scan/geometry.h"
#include "systems/scan/simulation.h"

extern const struct system system_reset, system_decide_draw, system_decide_next, system_decide_disc,
    system_decide_exact, system_acquire, system_observe, system_reconstruct, system_reconstruct_network,
    system_score_ssim, system_score_ssim_uniform, system_score_error, system_reward, system_record,
    system_deal, system_standardise, system_decide_policy, system_present, system_decide_oracle,
    system_expand, system_weigh, system_decide_dense, system_draw, system_observe_cells, system_extend,
    system_decide_sequence, system_decide_points, system_decide_points_sequence, system_observe_coils,
    system_view, system_reconstruct_complex;

extern const struct system *const system_list[]; /* all of them; ended by NULL */
extern const struct system *const decide_by_kind[]; /* by enum sampler_kind */

/* What the observations need beside columns (systems/scan/geometry.h). */
bool observe_open(struct simulation *simulation, struct error *error);
bool observe_cells_open(struct simulation *simulation, struct error *error);
bool observe_coils_open(struct simulation *simulation, struct error *error);
bool observe_complex_open(struct simulation *simulation, struct error *error);

/* For systems that run networks: observations of scans [first, first + images) as the input of one,
 * standardised and clamped, from its image `place` on. Kernel image_standardise. */
#define OBSERVE_STANDARDISE_READS                                                                            \
  (SET(ENV_slice) | SET(ENV_magnitude) | SET(ENV_magnitude_mean) | SET(ENV_magnitude_std) | SET(SLICE_unit))
void observe_standardise(struct world *world, cl_mem input, size_t first, size_t place, size_t images);

/* For networks of complex images: frequencies of slices [first, first + images) of `slice`, U32, in units of
 * the image, as planes [images][2][N][N]; masked: of the lines alone that those environments have acquired.
 * Kernel view_present. */
void observe_present(const struct world *world, cl_mem slice, size_t first, bool masked, cl_mem planes,
                     size_t images);

/* The schedules of the scene's method (evaluate with its first sampler), without a device. */
bool method_describe(struct simulation *simulation, const struct options *options, struct error *error);
/* Those by which a scene of train.method l2s, l2sr or pgmri trains its policy. */
bool training_describe(struct simulation *simulation, const struct options *options, struct error *error);
/* How evaluating the scene uses the simulation; slices, envs and rollout_steps are the caller's. */
struct simulation_plan method_plan(const struct options *options);
/* Columns that the described simulation allocates. */
component_set method_columns(const struct simulation *simulation);

#endif
