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
void line_draw_reference(const struct host_args *args);
void line_next_reference(const struct host_args *args);
void line_disc_reference(const struct host_args *args);
void observe_reference(const struct host_args *args);
void image_normalise_reference(const struct host_args *args);
void image_pack_reference(const struct host_args *args);
void image_unpack_reference(const struct host_args *args);
void image_zero_filled_reference(const struct host_args *args);
void coil_centre_reference(const struct host_args *args);
void coil_combine_reference(const struct host_args *args);
void score_ssim_reference(const struct host_args *args);
void score_ssim_uniform_reference(const struct host_args *args);
void score_error_reference(const struct host_args *args);
void score_reward_reference(const struct host_args *args);

void mask_reset_prepare(struct host_args *args, struct random *random);
void mask_acquire_prepare(struct host_args *args, struct random *random);
void line_prepare(struct host_args *args, struct random *random);
void observe_prepare(struct host_args *args, struct random *random);
void image_prepare(struct host_args *args, struct random *random);
void coil_prepare(struct host_args *args, struct random *random);
void score_prepare(struct host_args *args, struct random *random);
void score_reward_prepare(struct host_args *args, struct random *random);

/* Sizes that observe_fft is written for. */
bool observe_fft_fits(size_t height, size_t width);

#endif
