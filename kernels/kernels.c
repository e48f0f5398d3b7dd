#include "kernels/kernels.h"

#include "components/components.h"

extern const struct source kernel_sources[]; /* made at build time from the .cl files */

#define IN(element, name, table, shape)                                                                      \
  {ARG_IN, ELEMENT_##element, name, SHAPE_##shape, TABLE_##table}
#define OUT(element, name, table, shape)                                                                     \
  {ARG_OUT, ELEMENT_##element, name, SHAPE_##shape, TABLE_##table}
#define INOUT(element, name, table, shape)                                                                   \
  {ARG_INOUT, ELEMENT_##element, name, SHAPE_##shape, TABLE_##table}
#define VALUE(element, name)                                                                                 \
  { ARG_VALUE, ELEMENT_##element, name, 0, 0 }

#define OBSERVE_ARGS                                                                                         \
  {IN(U32, "slice", ENV, ONE),       IN(U8, "mask", ENV, W),                                                 \
   IN(C64, "hybrid", SLICE, HW),     IN(C64, "phase", SHARED, W),                                            \
   OUT(REAL, "magnitude", ENV, HW),  OUT(F32, "magnitude_mean", ENV, ONE),                                   \
   OUT(F32, "magnitude_std", ENV, ONE)}

#define PAIR_ARGS                                                                                            \
  IN(U32, "slice", ENV, ONE), IN(F32, "reconstruction", ENV, HW), IN(F32, "image", SLICE, HW),               \
      IN(F32, "mean", SLICE, ONE), IN(F32, "std", SLICE, ONE), IN(F32, "data_range", SLICE, ONE)

static const struct kernel_desc rows[] = {
    {"mask_reset", "mask.cl", "start the next scan where one has ended", LAUNCH_ITEM, 64,
     {IN(U32, "done", ENV, ONE), INOUT(U32, "scan", ENV, ONE), IN(U32, "order", SLICE, ONE),
      INOUT(U32, "slice", ENV, ONE), INOUT(U8, "mask", ENV, W), INOUT(U32, "step", ENV, ONE),
      VALUE(U32, "first"), VALUE(U32, "stride"), VALUE(U32, "slices"), VALUE(U32, "initial_start"),
      VALUE(U32, "initial_lines")},
     mask_reset_reference, mask_reset_prepare, NULL, 0},
    {"mask_acquire", "mask.cl", "add the chosen line", LAUNCH_ITEM, 64,
     {IN(U32, "action", ENV, ONE), INOUT(U8, "mask", ENV, W), INOUT(U32, "step", ENV, ONE),
      OUT(U32, "done", ENV, ONE), VALUE(U32, "budget")},
     mask_acquire_reference, mask_acquire_prepare, NULL, 0},
    {"line_draw", "line.cl", "draw a free line by weight", LAUNCH_ITEM, 64,
     {IN(U8, "mask", ENV, W), IN(U32, "scan", ENV, ONE), IN(U32, "step", ENV, ONE),
      IN(U32, "weight", SHARED, W), OUT(U32, "action", ENV, ONE), OUT(F32, "log_prob", ENV, ONE),
      VALUE(U32, "seed")},
     line_draw_reference, line_prepare, NULL, 1e-6},
    {"line_next", "line.cl", "take the free line of lowest rank", LAUNCH_ITEM, 64,
     {IN(U8, "mask", ENV, W), IN(U32, "rank", SHARED, W), OUT(U32, "action", ENV, ONE),
      OUT(F32, "log_prob", ENV, ONE)},
     line_next_reference, line_prepare, NULL, 0},
    {"line_disc", "line.cl", "draw a free line away from the acquired ones", LAUNCH_ITEM, 64,
     {IN(U8, "mask", ENV, W), IN(U32, "scan", ENV, ONE), IN(U32, "step", ENV, ONE),
      OUT(U32, "action", ENV, ONE), OUT(F32, "log_prob", ENV, ONE), VALUE(U32, "seed"),
      VALUE(U32, "distance")},
     line_disc_reference, line_prepare, NULL, 1e-6},
    {"observe_direct", "observe.cl", "zero-filled magnitude by summing the acquired lines", LAUNCH_GROUP, 64,
     OBSERVE_ARGS, observe_reference, observe_prepare, NULL, 3e-6},
    {"observe_fft", "observe.cl", "zero-filled magnitude by a two-factor transform", LAUNCH_GROUP, 256,
     OBSERVE_ARGS, observe_reference, observe_prepare, observe_fft_fits, 3e-6},
    {"image_normalise", "image.cl", "mean, deviation, peak and unit of a slice", LAUNCH_GROUP, 256,
     {IN(F32, "image", SLICE, HW), INOUT(F32, "mean", SLICE, ONE), INOUT(F32, "std", SLICE, ONE),
      INOUT(F32, "peak", SLICE, ONE), INOUT(F32, "unit", SLICE, ONE), VALUE(U32, "first")},
     image_normalise_reference, image_prepare, NULL, 2e-6},
    {"image_pack", "image.cl", "image as centred complex rows", LAUNCH_GROUP, 256,
     {IN(F32, "image", SLICE, HW), IN(F32, "unit", SLICE, ONE), OUT(C64, "lines", ENV, HW),
      VALUE(U32, "first")},
     image_pack_reference, image_prepare, NULL, 1e-7},
    {"image_unpack", "image.cl", "transformed rows as hybrid data", LAUNCH_GROUP, 256,
     {IN(C64, "lines", ENV, HW), INOUT(C64, "hybrid", SLICE, HW), VALUE(U32, "first")},
     image_unpack_reference, image_prepare, NULL, 0},
    {"image_zero_filled", "image.cl", "the zero-filled reconstruction", LAUNCH_GROUP, 256,
     {IN(U32, "slice", ENV, ONE), IN(REAL, "magnitude", ENV, HW), IN(F32, "unit", SLICE, ONE),
      OUT(F32, "reconstruction", ENV, HW)},
     image_zero_filled_reference, score_prepare, NULL, 1e-6},
    {"coil_centre", "coil.cl", "move the centre of k-space to the start", LAUNCH_ITEM, 64,
     {IN(C64, "kspace", ENV, ONE), OUT(C64, "work", ENV, ONE), VALUE(U32, "height"), VALUE(U32, "width")},
     coil_centre_reference, coil_prepare, NULL, 0},
    {"coil_combine", "coil.cl", "root-sum-of-squares over coils, cropped", LAUNCH_ITEM, 64,
     {IN(C64, "work", ENV, HW), OUT(F32, "pixels", ENV, ONE), VALUE(U32, "coils"), VALUE(U32, "height"),
      VALUE(U32, "width"), VALUE(U32, "out_height"), VALUE(U32, "out_width")},
     coil_combine_reference, coil_prepare, NULL, 1e-6},
    {"score_ssim", "score.cl", "SSIM, 11x11 Gaussian window", LAUNCH_GROUP, 256,
     {PAIR_ARGS, OUT(F32, "ssim", ENV, ONE)}, score_ssim_reference, score_prepare, NULL, 1e-5},
    {"score_ssim_uniform", "score.cl", "SSIM, 7x7 uniform window", LAUNCH_GROUP, 256,
     {PAIR_ARGS, OUT(F32, "ssim_uniform", ENV, ONE)}, score_ssim_uniform_reference, score_prepare, NULL, 1e-5},
    {"score_error", "score.cl", "PSNR, NMSE and MSE", LAUNCH_GROUP, 256,
     {PAIR_ARGS, OUT(F32, "psnr", ENV, ONE), OUT(F32, "psnr_unclamped", ENV, ONE), OUT(F32, "nmse", ENV, ONE),
      OUT(F32, "mse", ENV, ONE)},
     score_error_reference, score_prepare, NULL, 1e-5},
    {"score_reward", "score.cl", "quality and reward of a step", LAUNCH_ITEM, 64,
     {IN(F32, "score", ENV, ONE), IN(U32, "done", ENV, ONE), INOUT(F32, "quality", ENV, ONE),
      OUT(F32, "reward", ENV, ONE), VALUE(F32, "sign"), VALUE(F32, "scale"), VALUE(U32, "dense")},
     score_reward_reference, score_reward_prepare, NULL, 1e-6},
};

const struct kernel_table kernel_table = {rows, sizeof rows / sizeof rows[0], kernel_sources};
