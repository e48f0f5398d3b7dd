/* Every table and column, declared once. From these rows come the enumerators, the sizes, the allocation,
 * `l2sr describe components` and the access guard of engine/ecs/world.h. */
#ifndef L2SR_COMPONENTS_H
#define L2SR_COMPONENTS_H

#include "components/streams.h"
#include "engine/ecs/world.h"

enum table {
  TABLE_SCENE,     /* one row: what all scans share */
  TABLE_SLICE,     /* a row a slice of the data */
  TABLE_ENV,       /* a row an environment: a running scan */
  TABLE_ROLLOUT,   /* a row a step of a scan */
  TABLE_STATE,     /* a row an image that PG-MRI's policy saw in a rollout */
  TABLE_EPOCH,     /* a row a sample of the running epoch */
  TABLE_PAIR,      /* a row a pair of accelerations that training mixes */
  TABLE_BATCH,     /* a row an image of a network's pass: its ports */
  TABLE_CANDIDATE, /* a row a scan with one action more, or the scan itself: an oracle's */
  TABLE_RECONSTRUCTOR, /* what a network holds beside the world: of the reconstructor, */
  TABLE_POLICY,        /* the policy, */
  TABLE_SAMPLER,       /* what learns masks, */
  TABLE_TARGET,        /* and an earlier state of a network that learns values */
  TABLE_COUNT
};

/* Elements a row: the scene gives H, W and A (components/scan_shape.h), AC, the cells of all actions, I, the channels of
 * the reconstructor's input, and T, the tiles of its loss; the data give C, the most coils of a slice; M, those of all sets of maps; L is W + 1. Columns
 * of W that are of actions are those of lines. */
enum shape {
  SHAPE_ONE,
  SHAPE_H,
  SHAPE_W,
  SHAPE_A,
  SHAPE_HW,
  SHAPE_CHW,
  SHAPE_MHW,
  SHAPE_IHW,
  SHAPE_WL,
  SHAPE_T,
  SHAPE_AC,
  SHAPE_COUNT
};

/* What systems do to a network: no memory of the world, but order (KEEP_STATE, KEEP_MARK). */
#define NETWORK_COLUMNS(X, table)                                                                            \
  X(table, parameters, F32, ONE, STATE, "the network's parameters")                                          \
  X(table, moments, F32, ONE, STATE, "moments of the optimiser of its parameters")                           \
  X(table, activations, F32, ONE, MARK, "values of the last forward pass, for a backward pass")              \
  X(table, cleared, F32, ONE, MARK, "gradients of the parameters at 0, to be added to")                      \
  X(table, gradients, F32, ONE, MARK, "gradients of the parameters, added up")

/*   table    column           element shape keep   what one row holds                                      */
#define COMPONENTS(X)                                                                                        \
  X(SCENE, phase, C64, W, SCENE, "exp(2 pi i k / W): of the transforms of rows")                             \
  X(SCENE, column_phase, C64, H, SCENE, "exp(2 pi i k / H): of the transforms of columns")                   \
  X(SCENE, initial, U8, A, SCENE, "1 where every scan starts with the action")                               \
  X(SCENE, weight, U32, A, SCENE, "the sampler's weight or rank of every action")                            \
  X(SCENE, chance, U32, WL, SCENE, "chance of an action by how many are left to draw, in 2^-32 (LOUPE)")     \
  X(SCENE, cells, U32, AC, SCENE, "cells of k-space of every action, from the centre on")                    \
  X(SCENE, mean_quality, F32, A, STEP, "mean over all scans of an action's quality (average_oracle, lbcs)")  \
  X(SCENE, grown, U8, A, SAVED, "1 where the mask that lbcs grows has the action so far")                    \
  X(SLICE, image, F32, HW, SCENE, "reference magnitude image: as loaded, or moved (data.augment)")           \
  X(SLICE, original, F32, HW, SCENE, "the image as loaded, where data.augment moves it")                     \
  X(SLICE, number, U32, ONE, SCENE, "which slice of the data it is: keys how it is moved")                   \
  X(SLICE, hybrid, C64, HW, SCENE,                                                                           \
    "rows of the image transformed, orthonormal, in units of unit: [frequency][row]; 0 is the centre line")  \
  X(SLICE, kspace, C64, HW, SCENE,                                                                           \
    "image transformed on both axes, in units of unit: [row frequency][frequency]; 0 is the centre")         \
  X(SLICE, coil_kspace, C64, CHW, SCENE,                                                                     \
    "the file's own k-space of every coil, cropped to the image, as kspace; coils that it lacks are unused") \
  X(SLICE, coil_hybrid, C64, CHW, SCENE,                                                                     \
    "its columns transformed, where whole lines are observed: [coil][frequency][row]; 0 is the centre line") \
  X(SLICE, maps, C64, MHW, SCENE,                                                                            \
    "coil sensitivities, set after set: the slice's image is the sum of conj(map) times coil image; 1 where there is one coil") \
  X(SLICE, coils, U32, ONE, SCENE, "how many coils it has")                                                  \
  X(SLICE, unit, F32, ONE, SCENE, "power of two near the image's deviation: F16 keeps digits")               \
  X(SLICE, mean, F32, ONE, SCENE, "mean of image")                                                           \
  X(SLICE, std, F32, ONE, SCENE, "sample deviation of image (divisor n-1)")                                  \
  X(SLICE, peak, F32, ONE, SCENE, "largest pixel of the clamped, un-normalised image")                       \
  X(SLICE, data_range, F32, ONE, SCENE, "L of SSIM and PSNR, by the rule data.range")                        \
  X(SLICE, label, F32, ONE, SCENE, "label of the slice (data.label)")                                        \
  X(SLICE, volume, U32, ONE, SCENE, "which volume the slice is of")                                          \
  X(SLICE, order, U32, ONE, SCENE, "which slice the scan with this number takes")                            \
  X(ENV, scan, U32, ONE, SAVED, "number of the running scan: keys its random numbers")                       \
  X(ENV, slice, U32, ONE, SAVED, "row of SLICE that this scan scans")                                        \
  X(ENV, mask, U8, A, SAVED, "1 where the action is acquired")                                               \
  X(ENV, step, U32, ONE, SAVED, "actions acquired since the reset; 1 for all points")                        \
  X(ENV, done, U32, ONE, SAVED, "1 when the scan has ended; reset starts the next")                          \
  X(ENV, magnitude, REAL, HW, SAVED, "zero-filled magnitude image, in units of SLICE.unit")                  \
  X(ENV, magnitude_mean, F32, ONE, SAVED, "mean of magnitude, in the same units")                            \
  X(ENV, magnitude_std, F32, ONE, SAVED, "sample deviation of magnitude, in the same units")                 \
  X(ENV, action, U32, ONE, STEP, "action chosen to be acquired next")                                        \
  X(ENV, log_prob, F32, ONE, STEP, "logarithm of the probability of action")                                 \
  X(ENV, value, F32, ONE, STEP, "critic's estimate of the return")                                           \
  X(ENV, reconstruction, F32, HW, SAVED, "reconstructed image, in units of the image")                       \
  X(ENV, ssim, F32, ONE, STEP, "structural similarity, 11x11 Gaussian window")                               \
  X(ENV, ssim_uniform, F32, ONE, STEP, "structural similarity, 7x7 uniform window")                          \
  X(ENV, psnr, F32, ONE, STEP, "peak signal-to-noise ratio in dB, reconstruction in [0, 10]")                \
  X(ENV, psnr_unclamped, F32, ONE, STEP, "peak signal-to-noise ratio in dB, reconstruction as it is")        \
  X(ENV, nmse, F32, ONE, STEP, "squared error over squared norm of the target")                              \
  X(ENV, mse, F32, ONE, STEP, "mean squared error")                                                          \
  X(ENV, callback, F32, ONE, STEP, "the program's own number of the image (metric callback)")                \
  X(ENV, log_likelihood, F32, ONE, STEP, "logarithm of the probability that a classifier gives the slice's label")     \
  X(ENV, quality, F32, ONE, SAVED, "the scene's similarity, signed so that more is better")                  \
  X(ENV, reward, F32, ONE, STEP, "reward of this step, by the rule reward.form")                             \
  X(ENV, rank, U32, W, SAVED, "order in which this scan's actions are acquired (tau_step)")                  \
  X(ENV, base, C64, HW, STEP, "complex zero-filled image, to which an oracle adds lines")                    \
  X(ROLLOUT, slice, U32, ONE, SAVED, "row of SLICE that this scan scans")                                    \
  X(ROLLOUT, action, U32, ONE, SAVED, "action chosen at this step of this scan")                             \
  X(ROLLOUT, log_prob, F32, ONE, SAVED, "logarithm of its probability")                                      \
  X(ROLLOUT, value, F32, ONE, SAVED, "critic's estimate before the step")                                    \
  X(ROLLOUT, reward, F32, ONE, SAVED, "reward of the step")                                                  \
  X(ROLLOUT, centred, F32, ONE, SAVED, "reward less that of the scans of the same slice")                    \
  X(ROLLOUT, done, U32, ONE, SAVED, "1 where the scan ended with the step")                                  \
  X(ROLLOUT, advantage, F32, ONE, SAVED, "generalised advantage of the step")                                \
  X(ROLLOUT, return, F32, ONE, SAVED, "advantage plus value: the critic's target")                           \
  X(ROLLOUT, normalised, F32, ONE, SAVED, "advantage brought to mean 0 and deviation 1 within an update")    \
  X(ROLLOUT, last_value, F32, ONE, SCENE, "estimate after a scan's last step: 0, scans end truly")           \
  X(ROLLOUT, order, U32, ONE, SCENE, "step of a scan that is this row of the update")                        \
  X(ROLLOUT, terms, F128, ONE, SAVED, "of this row of the update: policy, entropy, value loss, log ratio")   \
  X(ROLLOUT, drawn, U32, ONE, SAVED, "of this row of the update: step of a scan that was drawn (ddqn)")       \
  X(ROLLOUT, after, U32, ONE, SAVED, "of this row of the update: the step that its value follows from (ddqn)") \
  X(ROLLOUT, weight, F32, ONE, SAVED, "of this row of the update: its share of the loss (ddqn)")             \
  X(ROLLOUT, target, F32, ONE, SAVED, "of this row of the update: what its action should be worth (ddqn)")   \
  X(ROLLOUT, priority, F32, ONE, SAVED, "how likely the step is drawn; 0: as the most, below: never (ddqn)") \
  X(ROLLOUT, sums, F128, ONE, SAVED, "of so many priorities: sum, zeros, largest, smallest (ddqn)")          \
  X(ROLLOUT, ssim, F32, ONE, SAVED, "ssim after this many actions")                                          \
  X(ROLLOUT, ssim_uniform, F32, ONE, SAVED, "ssim_uniform after this many actions")                          \
  X(ROLLOUT, psnr, F32, ONE, SAVED, "psnr after this many actions")                                          \
  X(ROLLOUT, psnr_unclamped, F32, ONE, SAVED, "psnr_unclamped after this many actions")                      \
  X(ROLLOUT, nmse, F32, ONE, SAVED, "nmse after this many actions")                                          \
  X(ROLLOUT, mse, F32, ONE, SAVED, "mse after this many actions")                                            \
  X(ROLLOUT, callback, F32, ONE, SAVED, "callback after this many actions")                                  \
  X(ROLLOUT, log_likelihood, F32, ONE, SAVED, "log_likelihood after this many actions")                      \
  X(STATE, observation, F32, HW, SAVED, "normalised reconstruction that the policy saw")                     \
  X(STATE, taken, F32, A, SAVED, "1 where an action was acquired in it")                                     \
  X(STATE, terms, C64, ONE, SAVED, "loss and entropy of the choice in it")                                   \
  X(EPOCH, slice, U32, ONE, SAVED, "row of SLICE that this sample of the running epoch is of")               \
  X(EPOCH, mask, U8, A, SAVED, "actions that this sample of the running epoch is observed by")               \
  X(PAIR, initial, U8, A, SCENE, "1 where a scan of this pair starts with the action")                       \
  X(PAIR, chance, U32, ONE, SCENE, "probability of every other action, in 2^-31")                            \
  X(BATCH, input, F32, IHW, PORT, "the reconstructor's input: normalised, or complex in its own units")      \
  X(BATCH, output, F32, HW, PORT, "the reconstructor's output: normalised, or in units of a complex input")  \
  X(BATCH, output_gradient, F32, HW, PORT, "derivative of the loss by output")                               \
  X(BATCH, input_gradient, F32, IHW, PORT, "derivative of the loss by input")                                \
  X(BATCH, loss, F32, T, PORT, "each tile's part of the image's loss")                                       \
  X(BATCH, observation, F32, HW, PORT, "the policy's input: standardised, or PG-MRI's reconstruction")       \
  X(BATCH, taken, F32, A, PORT, "the policy's input: 1 where an action is acquired")                         \
  X(BATCH, logits, F32, A, PORT, "the policy's output: unnormalised logarithms of probabilities")            \
  X(BATCH, value, F32, ONE, PORT, "the critic's output: estimate of the return")                             \
  X(BATCH, logits_gradient, F32, A, PORT, "derivative of the loss by logits")                                \
  X(BATCH, value_gradient, F32, ONE, PORT, "derivative of the loss by value")                                \
  X(BATCH, target_logits, F32, A, PORT, "the target network's output: values of actions (ddqn)")             \
  X(BATCH, steps, F32, A, PORT, "a data-set-specific network's input: 1 at the number of actions so far")    \
  X(BATCH, drawn, F32, A, PORT, "mask that LOUPE or a step of tau_step has drawn, 0 or 1")                   \
  X(BATCH, drawn_gradient, F32, A, PORT, "derivative of the loss by drawn")                                  \
  X(CANDIDATE, slice, U32, ONE, SAVED, "row of SLICE of the scan that candidates are of")                    \
  X(CANDIDATE, mask, U8, A, SAVED, "mask of the scan that candidates are of")                                \
  X(CANDIDATE, base, C64, HW, SAVED, "complex zero-filled image of the scan that candidates are of")         \
  X(CANDIDATE, action, U32, ONE, SAVED, "action that this candidate of a scan adds")                         \
  X(CANDIDATE, quality, F32, ONE, SAVED, "the scene's similarity of an action of a scan, as ENV.quality")    \
  NETWORK_COLUMNS(X, RECONSTRUCTOR)                                                                          \
  X(RECONSTRUCTOR, data, F32, ONE, MARK, "acquired data of scans that are solved for")                       \
  X(RECONSTRUCTOR, solution, F32, ONE, MARK, "complex images of scans that are solved for")                  \
  NETWORK_COLUMNS(X, POLICY)                                                                                 \
  X(POLICY, kept, F32, ONE, STATE, "values of all forward passes of a rollout (train.keep_activations)")     \
  NETWORK_COLUMNS(X, SAMPLER)                                                                                \
  NETWORK_COLUMNS(X, TARGET)

enum component {
#define X(table, name, ...) table##_##name,
  COMPONENTS(X)
#undef X
      COMPONENT_COUNT
};

extern const struct schema component_schema;

#endif
