/* One row per kernel (engine/kernel.h), and the scalar references that the rows name. */
#ifndef L2SR_KERNELS_H
#define L2SR_KERNELS_H

#include "engine/kernel.h"

/* For kernel_desc.args[].table beside those of components.h: one row for all (weights, phases). */
enum { TABLE_SHARED = 7 };

#define NO_LINE 0xffffffffu /* no phase-encode line; no scan */

extern const struct kernel_table kernel_table;

void mask_reset_reference(const struct host_args *args);
void mask_acquire_reference(const struct host_args *args);
void mask_chance_reference(const struct host_args *args);
void mask_keep_reference(const struct host_args *args);
void line_draw_reference(const struct host_args *args);
void line_next_reference(const struct host_args *args);
void line_disc_reference(const struct host_args *args);
void observe_reference(const struct host_args *args);
void image_normalise_reference(const struct host_args *args);
void image_pack_reference(const struct host_args *args);
void image_unpack_reference(const struct host_args *args);
void image_zero_filled_reference(const struct host_args *args);
void image_standardise_reference(const struct host_args *args);
void image_restore_reference(const struct host_args *args);
void coil_centre_reference(const struct host_args *args);
void coil_combine_reference(const struct host_args *args);
void score_ssim_reference(const struct host_args *args);
void score_ssim_uniform_reference(const struct host_args *args);
void score_error_reference(const struct host_args *args);
void score_reward_reference(const struct host_args *args);
void conv_forward_reference(const struct host_args *args);
void conv_backward_reference(const struct host_args *args);
void conv_weight_reference(const struct host_args *args);
void conv_weight_sum_reference(const struct host_args *args);
void conv_bias_reference(const struct host_args *args);
void norm_forward_reference(const struct host_args *args);
void norm_backward_reference(const struct host_args *args);
void standardise_forward_reference(const struct host_args *args);
void standardise_backward_reference(const struct host_args *args);
void relu_forward_reference(const struct host_args *args);
void relu_backward_reference(const struct host_args *args);
void softplus_forward_reference(const struct host_args *args);
void softplus_backward_reference(const struct host_args *args);
void sigmoid_forward_reference(const struct host_args *args);
void sigmoid_backward_reference(const struct host_args *args);
void log_softmax_forward_reference(const struct host_args *args);
void log_softmax_backward_reference(const struct host_args *args);
void straight_through_forward_reference(const struct host_args *args);
void straight_through_backward_reference(const struct host_args *args);
void fourier_pack_reference(const struct host_args *args);
void fourier_unpack_reference(const struct host_args *args);
void magnitude_forward_reference(const struct host_args *args);
void magnitude_backward_reference(const struct host_args *args);
void columns_multiply_reference(const struct host_args *args);
void columns_sum_reference(const struct host_args *args);
void linear_bias_reference(const struct host_args *args);
void linear_bias_backward_reference(const struct host_args *args);
void pool_forward_reference(const struct host_args *args);
void pool_backward_reference(const struct host_args *args);
void up_sample_forward_reference(const struct host_args *args);
void up_sample_backward_reference(const struct host_args *args);
void concat_copy_reference(const struct host_args *args);
void loss_ssim_reference(const struct host_args *args);
void loss_ssim_backward_reference(const struct host_args *args);
void loss_power_reference(const struct host_args *args);
void optimise_adam_reference(const struct host_args *args);
void optimise_rmsprop_reference(const struct host_args *args);
void optimise_sgd_reference(const struct host_args *args);
void optimise_square_reference(const struct host_args *args);
void optimise_clip_reference(const struct host_args *args);
void oracle_list_reference(const struct host_args *args);
void oracle_base_reference(const struct host_args *args);
void oracle_observe_reference(const struct host_args *args);
void oracle_keep_reference(const struct host_args *args);
void oracle_mean_reference(const struct host_args *args);
void oracle_choose_reference(const struct host_args *args);
void policy_mask_reference(const struct host_args *args);
void policy_recall_reference(const struct host_args *args);
void policy_recall_mask_reference(const struct host_args *args);
void policy_act_reference(const struct host_args *args);
void policy_loss_reference(const struct host_args *args);
void policy_advantage_reference(const struct host_args *args);
void policy_normalise_reference(const struct host_args *args);
void policy_reinforce_reference(const struct host_args *args);
void pgmri_present_reference(const struct host_args *args);
void pgmri_spread_reference(const struct host_args *args);
void pgmri_follow_reference(const struct host_args *args);
void pgmri_advantage_reference(const struct host_args *args);

void mask_reset_prepare(struct host_args *args, struct random *random);
void mask_acquire_prepare(struct host_args *args, struct random *random);
void mask_chance_prepare(struct host_args *args, struct random *random);
void mask_keep_prepare(struct host_args *args, struct random *random);
void line_prepare(struct host_args *args, struct random *random);
void observe_prepare(struct host_args *args, struct random *random);
void image_prepare(struct host_args *args, struct random *random);
void image_network_prepare(struct host_args *args, struct random *random);
void image_standardise_prepare(struct host_args *args, struct random *random);
void coil_prepare(struct host_args *args, struct random *random);
void score_prepare(struct host_args *args, struct random *random);
void score_reward_prepare(struct host_args *args, struct random *random);
void conv_forward_prepare(struct host_args *args, struct random *random);
void conv_backward_prepare(struct host_args *args, struct random *random);
void conv_weight_prepare(struct host_args *args, struct random *random);
void conv_weight_sum_prepare(struct host_args *args, struct random *random);
void conv_bias_prepare(struct host_args *args, struct random *random);
void norm_forward_prepare(struct host_args *args, struct random *random);
void norm_backward_prepare(struct host_args *args, struct random *random);
void standardise_forward_prepare(struct host_args *args, struct random *random);
void standardise_backward_prepare(struct host_args *args, struct random *random);
void relu_forward_prepare(struct host_args *args, struct random *random);
void relu_backward_prepare(struct host_args *args, struct random *random);
void curve_forward_prepare(struct host_args *args, struct random *random);
void curve_backward_prepare(struct host_args *args, struct random *random);
void log_softmax_forward_prepare(struct host_args *args, struct random *random);
void log_softmax_backward_prepare(struct host_args *args, struct random *random);
void straight_through_forward_prepare(struct host_args *args, struct random *random);
void straight_through_backward_prepare(struct host_args *args, struct random *random);
void fourier_pack_prepare(struct host_args *args, struct random *random);
void fourier_unpack_prepare(struct host_args *args, struct random *random);
void magnitude_forward_prepare(struct host_args *args, struct random *random);
void magnitude_backward_prepare(struct host_args *args, struct random *random);
void columns_multiply_prepare(struct host_args *args, struct random *random);
void columns_sum_prepare(struct host_args *args, struct random *random);
void linear_bias_prepare(struct host_args *args, struct random *random);
void pool_forward_prepare(struct host_args *args, struct random *random);
void pool_backward_prepare(struct host_args *args, struct random *random);
void up_sample_forward_prepare(struct host_args *args, struct random *random);
void up_sample_backward_prepare(struct host_args *args, struct random *random);
void concat_copy_prepare(struct host_args *args, struct random *random);
void loss_prepare(struct host_args *args, struct random *random);
void optimise_adam_prepare(struct host_args *args, struct random *random);
void optimise_rmsprop_prepare(struct host_args *args, struct random *random);
void optimise_sgd_prepare(struct host_args *args, struct random *random);
void optimise_square_prepare(struct host_args *args, struct random *random);
void optimise_clip_prepare(struct host_args *args, struct random *random);
void oracle_list_prepare(struct host_args *args, struct random *random);
void oracle_base_prepare(struct host_args *args, struct random *random);
void oracle_observe_prepare(struct host_args *args, struct random *random);
void oracle_keep_prepare(struct host_args *args, struct random *random);
void oracle_mean_prepare(struct host_args *args, struct random *random);
void oracle_choose_prepare(struct host_args *args, struct random *random);
void policy_mask_prepare(struct host_args *args, struct random *random);
void policy_recall_prepare(struct host_args *args, struct random *random);
void policy_recall_mask_prepare(struct host_args *args, struct random *random);
void policy_act_prepare(struct host_args *args, struct random *random);
void policy_loss_prepare(struct host_args *args, struct random *random);
void policy_advantage_prepare(struct host_args *args, struct random *random);
void policy_normalise_prepare(struct host_args *args, struct random *random);
void policy_reinforce_prepare(struct host_args *args, struct random *random);
void pgmri_present_prepare(struct host_args *args, struct random *random);
void pgmri_spread_prepare(struct host_args *args, struct random *random);
void pgmri_follow_prepare(struct host_args *args, struct random *random);
void pgmri_advantage_prepare(struct host_args *args, struct random *random);

/* Sizes that observe_fft is written for. */
bool observe_fft_fits(size_t height, size_t width);

#endif
