/* Every option of a scene, declared once: file key, --set key, default, range, help, and the field that the
 * program reads. */
#ifndef L2SR_OPTIONS_H
#define L2SR_OPTIONS_H

#include "engine/base/option.h"

/* X(section, type, name, default, low, high, choices, help) */
#define DATA_OPTIONS(X)                                                                                      \
  X(data, TEXT, path, "", 0, 0, NULL, "folder of fastMRI-format HDF5 volumes, or of train, val and test")    \
  X(data, CHOICE, split, "test", 0, 0, "train|val|test|all",                                                 \
    "which part: the subfolder of that name (or singlecoil_, multicoil_ and the name), else the folder")     \
  X(data, CHOICE, coils, "any", 0, 0, "any|single|multi",                                                    \
    "which of fastMRI's folders singlecoil_SPLIT and multicoil_SPLIT; they hold the same scans")             \
  X(data, CHOICE, source, "auto", 0, 0, "auto|reconstruction_esc|reconstruction_rss|kspace",                 \
    "dataset the image comes from; auto takes the first that is there")                                      \
  X(data, CHOICE, kspace, "image", 0, 0, "image|measured",                                                   \
    "what is sampled: the transform of the magnitude image (published), or the file's own complex k-space, "\
    "all coils of it, whose images are combined by root-sum-of-squares")                                     \
  X(data, CHOICE, kspace_shift, "none", 0, 0, "none|columns|rows|both",                                      \
    "axes of the files' k-space whose zero frequency is at index 0: it is moved to the centre")              \
  X(data, CHOICE, image_shift, "none", 0, 0, "none|columns|rows|both",                                       \
    "axes of images from k-space, as of fft2 without ifftshift, whose middle is in a corner: it is moved")   \
  X(data, U32, size, "128", 32, 512, NULL, "N: images are cropped to NxN pixels, N phase-encode lines")      \
  X(data, CHOICE, crop, "image", 0, 0, "image|kspace",                                                       \
    "what is cut to NxN: the image, or its k-space (data.source kspace), of which the image is made then")   \
  X(data, U32, pad, "0", 0, 1024, NULL, "zero-pad each axis to this many pixels before the crop; 0: off")    \
  X(data, F64, scale, "1", 0.000000000001, 1000000000000, NULL,                                              \
    "what images, and k-space with them, are divided by; SeqMRI's 7.072103529760345e-07 of its transforms "  \
    "is 9.052292518093242e-05 of ours at data.size 128")                                                     \
  X(data, F64, fraction, "1", 0, 1, NULL,                                                                    \
    "share of the volumes, selected by name with Python's shuffle seeded 0")                                 \
  X(data, CHOICE, slices, "all", 0, 0, "all|centre", "all slices, or the central half of each volume")       \
  X(data, U32, volumes, "0", 0, 1000000, NULL, "at most this many volumes after the selection; 0: all")      \
  X(data, U32, most, "0", 0, 100000000, NULL, "at most this many slices; 0: all")                            \
  X(data, U32, window, "0", 0, 100000000, NULL,                                                              \
    "slices on the device at a time, the others in host memory; 0: all, or as many as fit; the same results")\
  X(data, TEXT, acquisition, "", 0, 0, NULL, "keep only volumes of this acquisition attribute; empty: all")  \
  X(data, BOOL, patient_split, "false", 0, 0, NULL,                                                          \
    "split by the patient_id attribute (70/15/15 by its hash) instead of by folder")                         \
  X(data, CHOICE, range, "volume", 0, 0, "volume|slice|attribute",                                           \
    "data range L of SSIM and PSNR: largest loaded pixel of the volume, of the slice, or attribute max")     \
  X(data, BOOL, exclude_constant, "false", 0, 0, NULL, "leave out slices whose pixels are all equal")        \
  X(data, BOOL, strict, "false", 0, 0, NULL, "stop at the first broken file instead of skipping it")         \
  X(data, CHOICE, order, "sequential", 0, 0, "sequential|permuted",                                          \
    "order of the slices; permuted is numpy's permutation of world.seed, repeated")
#define ACQUISITION_OPTIONS(X)                                                                               \
  X(acquisition, CHOICE, geometry, "lines", 0, 0, "lines|spokes|points",                                     \
    "what is acquired: phase-encode lines, spokes through the centre at N angles, or the N^2 points of "     \
    "k-space, all of a scan's at once: its curves have their start and their end (loupe, tau_step, random)") \
  X(acquisition, LIST, acceleration, "4", 0, 0, NULL,                                                        \
    "final acceleration: N/acceleration lines (N^2/acceleration points) in all; evaluate takes a list")      \
  X(acquisition, LIST, horizon, "base", 0, 0, NULL,                                                          \
    "base: start from twice the acceleration; long: from eight times; evaluate takes a list")                \
  X(acquisition, U32, initial_lines, "0", 0, 512, NULL, "lines given at the reset; 0: by the horizon")       \
  X(acquisition, U32, initial_side, "0", 0, 512, NULL,                                                       \
    "points: side of their centred square given at the reset; 0: by the horizon, N over its root")           \
  X(acquisition, U32, budget, "0", 0, 262144, NULL,                                                          \
    "lines acquired after the reset; 0: by the acceleration")
#define WORLD_OPTIONS(X)                                                                                     \
  X(world, U32, envs, "256", 1, 65536, NULL, "environments (scans) stepped together")                        \
  X(world, U32, seed, "42", 0, 4294967295.0, NULL, "seed of all random streams")                             \
  X(world, CHOICE, observation, "f32", 0, 0, "f32|f16", "storage of the zero-filled magnitude")
#define SAMPLER_OPTIONS(X)                                                                                   \
  X(sampler, F64, polynomial_power, "4", 0, 20, NULL,                                                        \
    "p of variable_density: weight (1 - |k|/kmax)^p")                                                        \
  X(sampler, F64, gaussian_width, "0.15", 0.001, 10, NULL,                                                   \
    "deviation of variable_density_gaussian as a share of N")                                                \
  X(sampler, TEXT, mask, "", 0, 0, NULL,                                                                     \
    "file of the fixed mask: N values 0 or 1 (NxN of points) as text, or dataset mask of an HDF5 file")      \
  X(sampler, TEXT, tau_step, "", 0, 0, NULL,                                                                 \
    "checkpoint of train.method tau_step: the sampler and the reconstructor that tau_step scans with")       \
  X(sampler, U32, candidates, "0", 0, 512, NULL,                                                             \
    "oracles: free lines that are tried for every line acquired, drawn evenly; 0: all")
#define NETWORK_OPTIONS(X)                                                                                   \
  X(network, CHOICE, input, "magnitude", 0, 0, "magnitude|complex",                                          \
    "what the reconstructor takes: the zero-filled magnitude, standardised, or the complex image as it is, " \
    "to whose magnitude the network adds (SeqMRI's)")                                                        \
  X(network, U32, channels, "16", 1, 1024, NULL, "channels of the U-Net after its first block")              \
  X(network, U32, pools, "4", 1, 6, NULL, "poolings of the U-Net; each doubles the channels")                \
  X(network, CHOICE, precision, "f32", 0, 0, "f32|mixed|half",                                               \
    "f32: reference; mixed: half operands; half: half storage too (where matrix instructions exist)")        \
  X(network, U32, batch, "256", 1, 65536, NULL, "images a pass through the network at most")
#define POLICY_OPTIONS(X)                                                                                    \
  X(policy, U32, channels, "16", 1, 1024, NULL, "channels of the encoder after its first convolution")       \
  X(policy, U32, pools, "4", 1, 6, NULL, "poolings of the encoder; each doubles the channels")               \
  X(policy, U32, hidden, "256", 1, 65536, NULL, "values of each of the two hidden layers")                   \
  X(policy, CHOICE, precision, "f32", 0, 0, "f32|mixed|half", "of the encoder, as network.precision")        \
  X(policy, U32, batch, "1024", 1, 65536, NULL, "observations a pass through the policy at most")
#define REWARD_OPTIONS(X)                                                                                    \
  X(reward, CHOICE, metric, "ssim", 0, 0, "ssim|ssim_uniform|psnr|psnr_unclamped|nmse|mse",                  \
    "similarity S of the reward")                                                                            \
  X(reward, CHOICE, form, "sparse", 0, 0, "sparse|dense|compat",                                             \
    "sparse: S at the end; dense: gain in S at every step; compat: as the published L2SR code, S at the "    \
    "end and minus the S of the initial lines at the first step (nmse and mse count negative)")              \
  X(reward, F64, scale, "1", 0, 1000000, NULL,                                                               \
    "factor of the reward, but of PSNR, which counts as it is; the published L2SR code uses 100")
#define EVALUATE_OPTIONS(X)                                                                                  \
  X(evaluate, TEXT, name, "", 0, 0, NULL,                                                                    \
    "what the table over several scenes calls the policy, or the only sampler; empty: the sampler's name")   \
  X(evaluate, LIST, samplers, "random", 0, 0, NULL, "samplers to run; `l2sr describe samplers` lists them")  \
  X(evaluate, LIST, metrics, "ssim,psnr,nmse", 0, 0, NULL,                                                   \
    "columns of the table, of ssim, ssim_uniform, psnr, psnr_unclamped, nmse, mse")                          \
  X(evaluate, BOOL, curves, "true", 0, 0, NULL, "score after every line, not only at the end")               \
  X(evaluate, TEXT, output, "", 0, 0, NULL,                                                                  \
    "folder for slices.csv, curves.csv and results.h5; empty: print only")                                   \
  X(evaluate, BOOL, images, "false", 0, 0, NULL, "also store masks and images in results.h5")                \
  X(evaluate, LIST, keep, "", 0, 0, NULL,                                                                    \
    "rows of the data set whose truth and reconstructions are stored in results.h5, for `l2sr report`")      \
  X(evaluate, CHOICE, group, "auto", 0, 0, "auto|fixed|joint",                                               \
    "where `l2sr report` puts it; auto: joint where the reconstructor was trained on scans of a policy or "  \
    "together with what draws its masks")                                                                    \
  X(evaluate, TEXT, policy, "", 0, 0, NULL,                                                                  \
    "checkpoint of the network that is sampler policy; empty: none")                                         \
  X(evaluate, CHOICE, actions, "best", 0, 0, "best|drawn",                                                   \
    "whether it takes its most probable line or draws")                                                      \
  X(evaluate, U32, trajectories, "1", 1, 1024, NULL,                                                         \
    "scans of every slice by samplers that draw; tables are over all of them")                               \
  X(evaluate, TEXT, reconstructor, "", 0, 0, NULL,                                                           \
    "checkpoint of the network that reconstructs; empty: the zero-filled image itself")
#define TRAIN_OPTIONS(X)                                                                                     \
  X(train, CHOICE, method, "reconstructor", 0, 0, "reconstructor|l2s|l2sr|pgmri|loupe|tau_step",             \
    "what is trained: a reconstructor, a policy by one reward at the end, both in turn, PG-MRI's, or a "     \
    "reconstructor together with its mask (LOUPE) or with a sampler of several steps (tau-step)")            \
  X(train, TEXT, output, "", 0, 0, NULL, "folder for checkpoints, logs and curves")                          \
  X(train, U32, epochs, "50", 1, 1000000, NULL, "passes over the training slices")                           \
  X(train, U32, batch, "16", 1, 65536, NULL, "slices an update")                                             \
  X(train, CHOICE, loss, "ssim", 0, 0, "ssim|l1|mse|ssim_uniform",                                           \
    "ssim: minus the SSIM of the un-normalised image; ssim_uniform: by the 7x7 uniform window, SeqMRI's "    \
    "with data.range slice; l1, mse: of the normalised image")                                               \
  X(train, CHOICE, optimiser, "adam", 0, 0, "adam|rmsprop|rmsprop_tf|sgd",                                   \
    "PyTorch's forms, or TensorFlow's of RMSprop")                                                           \
  X(train, F64, rate, "0.001", 0, 1000000000, NULL, "learning rate of the first epoch")                      \
  X(train, CHOICE, schedule, "step", 0, 0, "step|milestones", "when the rate is multiplied by rate_factor")  \
  X(train, F64, rate_factor, "0.1", 0, 1, NULL, "factor of the rate at every step or milestone")             \
  X(train, U32, rate_every, "40", 1, 1000000, NULL, "epochs between the steps of schedule step")             \
  X(train, LIST, milestones, "", 0, 0, NULL, "epochs, from 0, of schedule milestones")                       \
  X(train, F64, clip, "0", 0, 1000000, NULL, "largest norm of the whole gradient; 0: no limit")              \
  X(train, F64, weight_decay, "0", 0, 1, NULL, "share of a weight that is added to its gradient")            \
  X(train, CHOICE, masks, "bernoulli", 0, 0, "bernoulli|exact",                                              \
    "bernoulli: each line beside the initial ones by chance, N/acceleration expected; exact: by sampler")    \
  X(train, TEXT, sampler, "random", 0, 0, NULL, "sampler of exact masks")                                    \
  X(train, LIST, accelerations, "4", 0, 0, NULL, "mixture: the acceleration of each pair, drawn evenly")     \
  X(train, LIST, initial_accelerations, "8", 0, 0, NULL,                                                     \
    "the same pairs: N over this is the initial lines (points: N over its root the side of their square)")   \
  X(train, U32, early_stopping, "0", 0, 1000000, NULL,                                                       \
    "stop after this many epochs without a better validation loss; 0: never")                                \
  X(train, U32, log_every, "10", 1, 100000, NULL, "updates between two looks at the loss, each a log line")   \
  X(train, CHOICE, keep_activations, "auto", 0, 0, "auto|never|always",                                      \
    "whether a policy learns from the activations of its roll-out or computes them again; the same numbers")
#define LEARN_OPTIONS(X)                                                                                     \
  X(learn, TEXT, reconstructor, "", 0, 0, NULL,                                                              \
    "checkpoint that scores the policy's scans; empty: it is trained first, in train.output/reconstructor")  \
  X(learn, CHOICE, algorithm, "a2c", 0, 0, "a2c|ppo",                                                        \
    "a2c: one update on all steps of a roll-out; ppo: clipped")                                              \
  X(learn, U32, steps, "40960000", 1, 4294967295.0, NULL,                                                    \
    "environment-steps, rounded up to whole roll-outs")                                                      \
  X(learn, U32, scans, "16", 1, 65536, NULL, "scans of a roll-out, over which an update is one mean")        \
  X(learn, CHOICE, optimiser, "auto", 0, 0, "auto|rmsprop|adam",                                             \
    "PyTorch's forms; auto: a2c's rmsprop, ppo's adam, as in stable-baselines3")                             \
  X(learn, F64, rate, "0.0003", 0, 1000000000, NULL, "learning rate of the policy")                          \
  X(learn, CHOICE, scaling, "none", 0, 0, "none|root|linear",                                                \
    "of the rate with learn.scans / 16: for fewer, larger updates over the same steps")                      \
  X(learn, F64, epsilon, "0.00001", 0, 1, NULL, "added to the optimiser's root")                             \
  X(learn, F64, gamma, "1", 0, 1, NULL, "discount")                                                          \
  X(learn, F64, lambda, "0.95", 0, 1, NULL, "of generalised advantages")                                     \
  X(learn, CHOICE, normalise, "auto", 0, 0, "auto|off|on",                                                   \
    "advantages to mean 0 and deviation 1 in every update; auto: ppo's, as in stable-baselines3")            \
  X(learn, F64, entropy, "0.03", 0, 1000, NULL, "weight of the entropy")                                     \
  X(learn, F64, value, "0.5", 0, 1000, NULL, "weight of the critic's squared error")                         \
  X(learn, F64, clip, "0.5", 0, 1000000, NULL, "largest norm of the whole gradient; 0: no limit")            \
  X(learn, F64, ratio, "0.2", 0.001, 10, NULL, "ppo: how far the probability of an action may move")         \
  X(learn, U32, epochs, "10", 1, 1000, NULL, "ppo: passes over a roll-out")                                  \
  X(learn, U32, rows, "64", 1, 4294967295.0, NULL, "ppo: steps an update")                                   \
  X(learn, U32, validations, "10", 1, 100000, NULL,                                                          \
    "how often the validation slices are scanned; best.h5 is the best")                                      \
  X(learn, U32, save_every, "500", 1, 1000000000, NULL, "roll-outs between two checkpoints")                 \
  X(learn, U32, log_every, "20", 1, 1000000, NULL, "roll-outs between two log lines")
#define ALTERNATE_OPTIONS(X)                                                                                 \
  X(alternate, U32, rounds, "5", 1, 1000, NULL, "l2sr: rounds of policy and reconstructor")                  \
  X(alternate, U32, steps, "8192000", 1, 4294967295.0, NULL,                                                 \
    "environment-steps of the policy in rounds after the first")                                             \
  X(alternate, F64, policy_rate, "0", 0, 1000000000, NULL,                                                   \
    "learning rate of the policy in those rounds; 0: learn.rate")                                            \
  X(alternate, F64, policy_divisor, "1", 1, 1000, NULL,                                                      \
    "by which the policy's rate is divided every round, so in the second for the first time; paper: 3")      \
  X(alternate, F64, entropy, "-1", -1, 1000, NULL,                                                           \
    "weight of the entropy in those rounds; negative: learn.entropy")                                        \
  X(alternate, U32, epochs, "10", 1, 1000000, NULL,                                                          \
    "of the reconstructor in a round, with a new optimiser")                                                 \
  X(alternate, U32, batch, "16", 1, 65536, NULL, "slices an update of the reconstructor")                    \
  X(alternate, F64, rate, "0.003", 0, 1000000000, NULL, "its learning rate in the first round")              \
  X(alternate, F64, divisor, "3", 1, 1000, NULL, "by which its rate is divided every round")                 \
  X(alternate, F64, rate_factor, "0.1", 0, 1, NULL, "of its rate at every step within a round")              \
  X(alternate, U32, rate_every, "5", 1, 1000000, NULL, "epochs between those steps")                         \
  X(alternate, CHOICE, actions, "best", 0, 0, "best|drawn",                                                  \
    "the trajectories it trains on: of the policy's most probable lines, or drawn anew each epoch")
#define PGMRI_OPTIONS(X)                                                                                     \
  X(pgmri, CHOICE, estimator, "nongreedy", 0, 0, "greedy|nongreedy",                                         \
    "what a draw is credited with: the gain of its step, or all later gains too, discounted")                \
  X(pgmri, U32, trajectories, "8", 1, 256, NULL,                                                             \
    "q: lines (greedy) or trajectories (nongreedy) drawn for each slice")                                    \
  X(pgmri, BOOL, baseline, "true", 0, 0, NULL,                                                               \
    "subtract the mean over a slice's draws; false: greedy only, divided by q")                              \
  X(pgmri, F64, gamma, "0.9", 0, 1, NULL, "nongreedy: discount")                                             \
  X(pgmri, U32, batch, "4", 1, 65536, NULL, "slices a minibatch")                                            \
  X(pgmri, U32, accumulation, "4", 1, 65536, NULL, "minibatches an update")                                  \
  X(pgmri, U32, epochs, "50", 1, 1000000, NULL, "passes over the training slices")                           \
  X(pgmri, F64, rate, "0.00005", 0, 1000000000, NULL, "learning rate of the first epoch (Adam)")             \
  X(pgmri, CHOICE, schedule, "milestones", 0, 0, "step|milestones",                                          \
    "when the rate is multiplied by rate_factor")                                                            \
  X(pgmri, F64, rate_factor, "0.5", 0, 1, NULL, "factor of the rate at every step or milestone")             \
  X(pgmri, U32, rate_every, "40", 1, 1000000, NULL, "epochs between the steps of schedule step")             \
  X(pgmri, LIST, milestones, "10,20,30,40", 0, 0, NULL, "epochs, from 0, of schedule milestones")            \
  X(pgmri, LIST, keep, "0,9,19,29,39,49", 0, 0, NULL, "epochs, from 0, whose policy stays as epoch_N.h5")    \
  X(pgmri, U32, save_every, "500", 1, 1000000000, NULL, "updates between two last.h5; one after every epoch")\
  X(pgmri, U32, log_every, "20", 1, 1000000, NULL, "updates between two log lines")
#define LOUPE_OPTIONS(X)                                                                                     \
  X(loupe, CHOICE, masks, "batch", 0, 0, "batch|sample",                                                     \
    "what a drawn mask is for: all slices of an update (published), or each for itself")                     \
  X(loupe, F64, slope, "10", 0.01, 1000, NULL,                                                               \
    "of the sigmoid whose derivative back-propagation takes for that of the draw")                           \
  X(loupe, F64, rate, "0", 0, 1000000000, NULL,                                                              \
    "learning rate of the probabilities in the first epoch; 0: train.rate")
#define TAU_OPTIONS(X)                                                                                       \
  X(tau, U32, steps, "4", 1, 8, NULL,                                                                        \
    "tau: steps of the budget; before each the reconstruction is looked at")                                 \
  X(tau, U32, hidden, "512", 1, 65536, NULL, "lines: values of each of the sampler's four hidden layers")    \
  X(tau, U32, channels, "64", 2, 1024, NULL,                                                                 \
    "points: channels of the sampler, a U-Net, after its first block; twice as many after each pooling")     \
  X(tau, U32, pools, "4", 1, 12, NULL, "points: times that it halves what it sees")                          \
  X(tau, BOOL, adaptive, "true", 0, 0, NULL,                                                                 \
    "false: the sampler sees the same random numbers always, as the published control")                      \
  X(tau, F64, slope, "10", 0.01, 1000, NULL,                                                                 \
    "of the sigmoid whose derivative back-propagation takes for that of the draw")                           \
  X(tau, F64, rate, "0", 0, 1000000000, NULL, "learning rate of the sampler in the first epoch; 0: train.rate")
#define PHANTOM_OPTIONS(X)                                                                                   \
  X(phantom, U32, train, "8", 0, 100000, NULL, "volumes in train")                                           \
  X(phantom, U32, val, "2", 0, 100000, NULL, "volumes in val")                                               \
  X(phantom, U32, test, "4", 0, 100000, NULL, "volumes in test")                                             \
  X(phantom, U32, slices, "8", 1, 1024, NULL, "slices a volume")                                             \
  X(phantom, U32, coils, "1", 1, 64, NULL, "receive coils; more than one writes multi-coil volumes")         \
  X(phantom, U32, rows, "256", 32, 1024, NULL, "readout samples of the k-space (oversampled twice)")         \
  X(phantom, U32, columns, "148", 32, 1024, NULL, "phase-encode lines of the k-space")                       \
  X(phantom, U32, size, "128", 32, 512, NULL, "side of the stored reconstruction")                           \
  X(phantom, F64, noise, "0.01", 0, 1, NULL, "noise deviation in k-space as a share of the image's peak")

#define OPTIONS(X)                                                                                           \
  DATA_OPTIONS(X)                                                                                            \
  ACQUISITION_OPTIONS(X)                                                                                     \
  WORLD_OPTIONS(X)                                                                                           \
  SAMPLER_OPTIONS(X)                                                                                         \
  NETWORK_OPTIONS(X)                                                                                         \
  POLICY_OPTIONS(X)                                                                                          \
  REWARD_OPTIONS(X)                                                                                          \
  EVALUATE_OPTIONS(X)                                                                                        \
  TRAIN_OPTIONS(X)                                                                                           \
  LEARN_OPTIONS(X)                                                                                           \
  ALTERNATE_OPTIONS(X)                                                                                       \
  PGMRI_OPTIONS(X)                                                                                           \
  LOUPE_OPTIONS(X)                                                                                           \
  TAU_OPTIONS(X)                                                                                             \
  PHANTOM_OPTIONS(X)

enum {
#define X(section, type, name, ...) OPTION_ROW_##section##_##name,
  OPTIONS(X)
#undef X
      OPTION_ROWS
};

/* The values of a scene: options.data.size, options.world.envs, ... */
struct options {
#define X(section, type, name, ...) option_##type name;
  struct { DATA_OPTIONS(X) } data;
  struct { ACQUISITION_OPTIONS(X) } acquisition;
  struct { WORLD_OPTIONS(X) } world;
  struct { SAMPLER_OPTIONS(X) } sampler;
  struct { NETWORK_OPTIONS(X) } network;
  struct { POLICY_OPTIONS(X) } policy;
  struct { REWARD_OPTIONS(X) } reward;
  struct { EVALUATE_OPTIONS(X) } evaluate;
  struct { TRAIN_OPTIONS(X) } train;
  struct { LEARN_OPTIONS(X) } learn;
  struct { ALTERNATE_OPTIONS(X) } alternate;
  struct { PGMRI_OPTIONS(X) } pgmri;
  struct { LOUPE_OPTIONS(X) } loupe;
  struct { TAU_OPTIONS(X) } tau;
  struct { PHANTOM_OPTIONS(X) } phantom;
#undef X
  bool given[OPTION_ROWS]; /* by row: not the default, but set */
};

extern const struct option_table option_table;

enum data_split { SPLIT_TRAIN, SPLIT_VAL, SPLIT_TEST, SPLIT_ALL };
enum data_coils { COILS_ANY, COILS_SINGLE, COILS_MULTI };
enum data_source { SOURCE_AUTO, SOURCE_ESC, SOURCE_RSS, SOURCE_KSPACE };
enum data_kspace { KSPACE_IMAGE, KSPACE_MEASURED };
enum data_shift { SHIFT_NONE, SHIFT_COLUMNS = 1, SHIFT_ROWS = 2, SHIFT_BOTH = SHIFT_COLUMNS | SHIFT_ROWS };
enum data_crop { CROP_IMAGE, CROP_KSPACE };
enum data_slices { SLICES_ALL, SLICES_CENTRE };
enum data_range { RANGE_VOLUME, RANGE_SLICE, RANGE_ATTRIBUTE };
enum network_input { INPUT_MAGNITUDE, INPUT_COMPLEX };
enum data_order { ORDER_SEQUENTIAL, ORDER_PERMUTED };
enum acquisition_geometry { GEOMETRY_LINES, GEOMETRY_SPOKES, GEOMETRY_POINTS }; /* systems/scan/geometry.h */
enum observation_storage { OBSERVATION_F32, OBSERVATION_F16 };
enum reward_form { REWARD_SPARSE, REWARD_DENSE, REWARD_COMPAT }; /* known to kernels/score.cl */
enum train_schedule { SCHEDULE_STEP, SCHEDULE_MILESTONES };
enum train_method {
  METHOD_RECONSTRUCTOR,
  METHOD_L2S,
  METHOD_L2SR,
  METHOD_PGMRI,
  METHOD_LOUPE,
  METHOD_TAU_STEP
};
enum loupe_masks { LOUPE_BATCH, LOUPE_SAMPLE };
enum pgmri_estimator { PGMRI_GREEDY, PGMRI_NONGREEDY };
enum learn_algorithm { LEARN_A2C, LEARN_PPO };
enum learn_optimiser { LEARN_AUTO, LEARN_RMSPROP, LEARN_ADAM };
enum learn_normalise { NORMALISE_AUTO, NORMALISE_OFF, NORMALISE_ON };
enum learn_scaling { SCALING_NONE, SCALING_ROOT, SCALING_LINEAR };
enum evaluate_group { GROUP_AUTO, GROUP_FIXED, GROUP_JOINT };
enum alternate_actions { ACTIONS_BEST, ACTIONS_DRAWN };
enum train_keep { KEEP_AUTO, KEEP_NEVER, KEEP_ALWAYS };
enum train_masks { MASKS_BERNOULLI, MASKS_EXACT };

#endif
