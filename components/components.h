/* Every table and column, declared once. From these rows come the enumerators, the sizes, the allocation,
 * `l2sr describe components` and the access guard of engine/ecs/world.h. */
#ifndef L2SR_COMPONENTS_H
#define L2SR_COMPONENTS_H

#include "engine/ecs/world.h"

enum table { TABLE_SLICE, TABLE_ENV, TABLE_ROLLOUT, TABLE_EPOCH, TABLE_COUNT };

/* Elements a row: the scene gives H, W and A, the actions of a scan, the data C, the most coils of a slice.
 */
enum shape { SHAPE_ONE, SHAPE_W, SHAPE_A, SHAPE_HW, SHAPE_CHW, SHAPE_COUNT };

/*   table    column           element shape keep   what one row holds                                      */
#define COMPONENTS(X)                                                                                        \
  X(SLICE, image, F32, HW, SCENE, "reference magnitude image, as loaded")                                    \
  X(SLICE, hybrid, C64, HW, SCENE,                                                                           \
    "rows of the image transformed, orthonormal, in units of unit: [frequency][row]; 0 is the centre line")  \
  X(SLICE, kspace, C64, HW, SCENE,                                                                           \
    "image transformed on both axes, in units of unit: [row frequency][frequency]; 0 is the centre")         \
  X(SLICE, coil_kspace, C64, CHW, SCENE,                                                                     \
    "the file's own k-space of every coil, cropped to the image, as kspace; coils that it lacks are unused") \
  X(SLICE, coils, U32, ONE, SCENE, "how many coils it has")                                                  \
  X(SLICE, unit, F32, ONE, SCENE, "power of two near the image's deviation: F16 keeps digits")               \
  X(SLICE, mean, F32, ONE, SCENE, "mean of image")                                                           \
  X(SLICE, std, F32, ONE, SCENE, "sample deviation of image (divisor n-1)")                                  \
  X(SLICE, peak, F32, ONE, SCENE, "largest pixel of the clamped, un-normalised image")                       \
  X(SLICE, data_range, F32, ONE, SCENE, "L of SSIM and PSNR, by the rule data.range")                        \
  X(SLICE, volume, U32, ONE, SCENE, "which volume the slice is of")                                          \
  X(SLICE, order, U32, ONE, SCENE, "which slice the scan with this number takes")                            \
  X(ENV, scan, U32, ONE, SAVED, "number of the running scan: keys its random numbers")                       \
  X(ENV, slice, U32, ONE, SAVED, "row of SLICE that this scan scans")                                        \
  X(ENV, mask, U8, A, SAVED, "1 where a line, a spoke or a point is acquired")                               \
  X(ENV, step, U32, ONE, SAVED, "lines acquired since the reset; of points 1 for all")                       \
  X(ENV, done, U32, ONE, SAVED, "1 when the scan has ended; reset starts the next")                          \
  X(ENV, magnitude, REAL, HW, SAVED, "zero-filled magnitude image, in units of SLICE.unit")                  \
  X(ENV, magnitude_mean, F32, ONE, SAVED, "mean of magnitude, in the same units")                            \
  X(ENV, magnitude_std, F32, ONE, SAVED, "sample deviation of magnitude, in the same units")                 \
  X(ENV, action, U32, ONE, STEP, "line chosen to be acquired next")                                          \
  X(ENV, log_prob, F32, ONE, STEP, "logarithm of the probability of action")                                 \
  X(ENV, value, F32, ONE, STEP, "critic's estimate of the return")                                           \
  X(ENV, reconstruction, F32, HW, SAVED, "reconstructed image, in units of the image")                       \
  X(ENV, ssim, F32, ONE, STEP, "structural similarity, 11x11 Gaussian window")                               \
  X(ENV, ssim_uniform, F32, ONE, STEP, "structural similarity, 7x7 uniform window")                          \
  X(ENV, psnr, F32, ONE, STEP, "peak signal-to-noise ratio in dB, reconstruction in [0, 10]")                \
  X(ENV, psnr_unclamped, F32, ONE, STEP, "peak signal-to-noise ratio in dB, reconstruction as it is")        \
  X(ENV, nmse, F32, ONE, STEP, "squared error over squared norm of the target")                              \
  X(ENV, mse, F32, ONE, STEP, "mean squared error")                                                          \
  X(ENV, quality, F32, ONE, SAVED, "the scene's similarity, signed so that more is better")                  \
  X(ENV, reward, F32, ONE, STEP, "reward of this step, by the rule reward.form")                             \
  X(ROLLOUT, slice, U32, ONE, STEP, "row of SLICE that this scan scans")                                     \
  X(ROLLOUT, action, U32, ONE, STEP, "line chosen at this step of this scan")                                \
  X(ROLLOUT, log_prob, F32, ONE, STEP, "logarithm of its probability")                                       \
  X(ROLLOUT, value, F32, ONE, STEP, "critic's estimate before the step")                                     \
  X(ROLLOUT, reward, F32, ONE, STEP, "reward of the step")                                                   \
  X(ROLLOUT, done, U32, ONE, STEP, "1 where the scan ended with the step")                                   \
  X(ROLLOUT, advantage, F32, ONE, STEP, "generalised advantage of the step")                                 \
  X(ROLLOUT, return, F32, ONE, STEP, "advantage plus value: the critic's target")                            \
  X(ROLLOUT, ssim, F32, ONE, STEP, "ssim after this many lines")                                             \
  X(ROLLOUT, ssim_uniform, F32, ONE, STEP, "ssim_uniform after this many lines")                             \
  X(ROLLOUT, psnr, F32, ONE, STEP, "psnr after this many lines")                                             \
  X(ROLLOUT, psnr_unclamped, F32, ONE, STEP, "psnr_unclamped after this many lines")                         \
  X(ROLLOUT, nmse, F32, ONE, STEP, "nmse after this many lines")                                             \
  X(ROLLOUT, mse, F32, ONE, STEP, "mse after this many lines")                                               \
  X(EPOCH, slice, U32, ONE, SCENE, "row of SLICE that this sample of the running epoch is of")               \
  X(EPOCH, mask, U8, A, SCENE, "lines that this sample of the running epoch is observed by")

enum component {
#define X(table, name, ...) table##_##name,
  COMPONENTS(X)
#undef X
      COMPONENT_COUNT
};

extern const struct schema component_schema;

#endif
