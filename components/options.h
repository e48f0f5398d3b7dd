/* Every option of a scene, declared once: file key, --set key, default, range, help, and the field that the
 * program reads. */
#ifndef L2SR_OPTIONS_H
#define L2SR_OPTIONS_H

#include "engine/base/option.h"

/* What a key concerns: each of section data, and of others those that say where, how long and what is printed. Results are compared where keys of CONCERNS_TEST have equal values and the
 * slices are the same; no other key keeps them apart. */
enum option_concern {
  CONCERNS_NONE,     /* how something is computed that is not the data */
  CONCERNS_TEST,     /* what a tested slice is, or how it is scored */
  CONCERNS_SLICES,   /* which slices are tested: they are in the results, and compared themselves */
  CONCERNS_TRAINING, /* how a training sees its slices */
  CONCERNS_PLACE     /* where files are, how they are read, how long, what is kept or printed: numbers do not change */
};

/* X(section, type, name, default, low, high, choices, help), and what it concerns where that is said */
#define DATA_OPTIONS(X)                                                                                      \
  X(data, TEXT, path, "", 0, 0, NULL, "folder of fastMRI-format HDF5 volumes, or of train, val and test; or one file, also of another program", CONCERNS_PLACE)\
  X(data, CHOICE, split, "test", 0, 0, "train|val|test|all",                                                 \
    "part to use: the subfolder of that name (or singlecoil_NAME, multicoil_NAME), else the folder itself", CONCERNS_PLACE)\
  X(data, CHOICE, coils, "any", 0, 0, "any|single|multi",                                                    \
    "which of fastMRI's folders singlecoil_NAME and multicoil_NAME to read; both hold the same scans. "       \
    "coils.compress makes fewer coils of a slice's", CONCERNS_TEST)                                           \
  X(data, CHOICE, source, "auto", 0, 0, "auto|reconstruction_esc|reconstruction_rss|kspace",                 \
    "dataset that images come from; auto takes the first that is there", CONCERNS_TEST)                      \
  X(data, CHOICE, kspace, "image", 0, 0, "image|measured",                                                   \
    "k-space that is sampled. image: transform of the magnitude image (published). measured: the file's "    \
    "own complex k-space of all coils, combined by root-sum-of-squares", CONCERNS_TEST)                      \
  X(data, CHOICE, kspace_shift, "none", 0, 0, "none|columns|rows|both",                                      \
    "axes of the files' k-space whose zero frequency is at index 0; it is moved to the centre", CONCERNS_TEST)\
  X(data, CHOICE, image_shift, "none", 0, 0, "none|columns|rows|both",                                       \
    "axes on which images made from k-space have their middle in the corner (fft2 without ifftshift); it "   \
    "is moved to the centre", CONCERNS_TEST)                                                                 \
  X(data, SIDES, size, "128", 32, 1024, NULL,                                                                \
    "N, or [height, width]: images are cropped to it, and k-space has N (or width) phase-encode lines", CONCERNS_TEST)\
  X(data, CHOICE, crop, "image", 0, 0, "image|kspace|readout",                                               \
    "what is cropped to data.size: the image, or the k-space that it is made from (needs data.source kspace), or of that the columns, " \
    "and the rows of its image: an oversampled readout is cut, and columns stay as they were measured", CONCERNS_TEST)\
  X(data, U32, pad, "0", 0, 1024, NULL,                                                                      \
    "pads each axis with zeros to this many pixels before the crop; 0: off", CONCERNS_TEST)                  \
  X(data, F64, scale, "1", 0.000000000001, 1000000000000, NULL,                                              \
    "divisor of images and k-space; SeqMRI's 7.072103529760345e-07 for its transforms is "                   \
    "9.052292518093242e-05 for ours at data.size 128", CONCERNS_TEST)                                        \
  X(data, F64, fraction, "1", 0, 1, NULL,                                                                    \
    "fraction of the volumes, selected by name with Python's shuffle, seed 0", CONCERNS_SLICES)              \
  X(data, CHOICE, slices, "all", 0, 0, "all|centre", "all slices of a volume, or its central half", CONCERNS_SLICES)\
  X(data, U32, volumes, "0", 0, 1000000, NULL, "largest number of volumes after the selection; 0: all", CONCERNS_SLICES)\
  X(data, U32, most, "0", 0, 100000000, NULL, "largest number of slices; 0: all", CONCERNS_SLICES)           \
  X(data, U32, window, "0", 0, 100000000, NULL,                                                              \
    "slices on the device at a time, while the others wait in host memory; 0: all, or as many as fit; "      \
    "results do not change", CONCERNS_PLACE)                                                                 \
  X(data, TEXT, acquisition, "", 0, 0, NULL,                                                                 \
    "keeps only volumes with this attribute acquisition; empty: all", CONCERNS_SLICES)                       \
  X(data, BOOL, patient_split, "false", 0, 0, NULL,                                                          \
    "splits by the attribute patient_id (70/15/15 by its hash) instead of by folder", CONCERNS_SLICES)       \
  X(data, U32, folds, "0", 0, 1000, NULL,                                                                    \
    "cross-validation: parts that the patients of split train are dealt to; 0: split val validates", CONCERNS_SLICES) \
  X(data, U32, fold, "0", 0, 999, NULL, "with data.folds: the part that validates, from 0; the others train", CONCERNS_SLICES) \
  X(data, CHOICE, fit, "crop", 0, 0, "crop|resize",                                                          \
    "how images come to data.size. crop: their middle. resize: the whole of them, a pixel the mean of what it covers", CONCERNS_TEST) \
  X(data, CHOICE, range, "volume", 0, 0, "volume|slice|attribute",                                           \
    "data range L of SSIM and PSNR: largest loaded pixel of the volume or of the slice, or the attribute "   \
    "max", CONCERNS_TEST)                                                                                    \
  X(data, LIST, augment, "", 0, 0, NULL,                                                                     \
    "how slices are moved that a reconstructor is trained on, anew in every epoch. flips: on each axis. "    \
    "shifts: cyclic, at most N/32 pixels on each axis. turns: by 90 degrees. Empty: they stay", CONCERNS_TRAINING)\
  X(data, TEXT, labels, "", 0, 0, NULL,                                                                      \
    "CSV file of labels of slices: columns file, slice (without it a row is a volume's), split (optional), and others of " \
    "numbers, of which data.label names one; empty: data.label is an attribute or a dataset of the volumes", CONCERNS_PLACE) \
  X(data, TEXT, label, "", 0, 0, NULL, "name of the label that slices have; empty: none", CONCERNS_TEST)     \
  X(data, BOOL, exclude_constant, "false", 0, 0, NULL, "leaves out slices whose pixels are all equal", CONCERNS_SLICES)\
  X(data, BOOL, strict, "false", 0, 0, NULL, "stops at the first broken file instead of skipping it", CONCERNS_PLACE)\
  X(data, CHOICE, order, "sequential", 0, 0, "sequential|permuted",                                          \
    "order of the slices; permuted: numpy's permutation with world.seed, repeated", CONCERNS_SLICES)
/* Measured coils, and those of coils.simulate. */
#define COILS_OPTIONS(X)                                                                                     \
  X(coils, CHOICE, maps, "none", 0, 0, "none|prescan|acquired|file|ones",                                    \
    "where coil sensitivities come from. prescan: ESPIRiT of coils.lines full lines, which cost no budget. " \
    "acquired: ESPIRiT of the lines that every scan starts with, 12 next to each other at least. file: "     \
    "dataset sensitivity_maps beside the k-space; of simulated coils their own. ones: 1 for every coil", CONCERNS_TEST)\
  X(coils, U32, lines, "24", 12, 512, NULL,                                                                  \
    "central lines that maps are made of, and central samples of the readout; acquired: the most", CONCERNS_TEST) \
  X(coils, U32, kernel, "6", 2, 8, NULL, "ESPIRiT: side of the kernels in k-space", CONCERNS_TEST)           \
  X(coils, F64, threshold, "0.001", 0, 1, NULL,                                                              \
    "ESPIRiT: kernels are kept whose singular value is above its root times the largest", CONCERNS_TEST)     \
  X(coils, F64, crop, "0.8", 0, 1, NULL, "ESPIRiT: maps are 0 where their eigenvalue is below", CONCERNS_TEST) \
  X(coils, U32, sets, "1", 1, 2, NULL,                                                                       \
    "ESPIRiT: sets of maps. 2: where the object is larger than the field of view, or coils have moved, a pixel is of two; "\
    "images of both sets become one by root-sum-of-squares", CONCERNS_TEST)                                  \
  X(coils, CHOICE, combine, "rss", 0, 0, "rss|maps",                                                         \
    "how coil images become one, of the truth and of observations alike: root-sum-of-squares, or the "       \
    "magnitude of the sum of conj(map) times coil image over the sum of squared maps", CONCERNS_TEST)        \
  X(coils, CHOICE, whiten, "none", 0, 0, "none|edge|noise",                                                  \
    "makes the coils' noise independent and of variance 1 first, by the edge of k-space (where a scanner "   \
    "has filled it with zeros it is left out, and said) or by dataset noise [coils, samples] of the volume", CONCERNS_TEST)\
  X(coils, U32, compress, "0", 0, 64, NULL,                                                                  \
    "virtual coils that a slice's coils are compressed to, by principal vectors of coils.lines central "     \
    "lines; 0: off", CONCERNS_TEST)                                                                          \
  X(coils, U32, simulate, "0", 0, 64, NULL,                                                                  \
    "coils that images are given: a birdcage's maps, a smooth phase and coils.noise; the truth stays the "   \
    "image; 0: none", CONCERNS_TEST)                                                                         \
  X(coils, F64, noise, "0", 0, 1000, NULL,                                                                   \
    "simulated coils: deviation of the noise of each part of a coil's k-space, in deviations of the image", CONCERNS_TEST)
#define ACQUISITION_OPTIONS(X)                                                                               \
  X(acquisition, CHOICE, geometry, "lines", 0, 0, "lines|spokes|points",                                     \
    "what an action acquires: a phase-encode line, a spoke (one of N angles), or points of k-space (all "    \
    "of a scan's at once, so curves have only a start and an end)")                                          \
  X(acquisition, BOOL, pairs, "false", 0, 0, NULL,                                                            \
    "lines: an action is a line and its mirror about the centre, the conjugate pair of frequencies k and -k. "\
    "There are N/2 + 1 actions, rounded down: the centre is one, and of even N so is the first line")        \
  X(acquisition, LIST, acceleration, "4", 0, 0, NULL,                                                        \
    "final acceleration A: N/A actions (points: N^2/A) in all; evaluate takes a list")                       \
  X(acquisition, LIST, horizon, "base", 0, 0, NULL,                                                          \
    "initial actions: base starts at twice the acceleration, long at eight times; evaluate takes a list")    \
  X(acquisition, U32, initial_lines, "0", 0, 1024, NULL,                                                     \
    "actions given at the start of a scan; 0: by the horizon")                                               \
  X(acquisition, U32, initial_side, "0", 0, 1024, NULL,                                                      \
    "points: side of the centred square given at the start; 0: by the horizon, N over the root of the "      \
    "initial acceleration")                                                                                  \
  X(acquisition, U32, budget, "0", 0, 1048576, NULL,                                                         \
    "actions acquired after the start; 0: by the acceleration")                                              \
  X(acquisition, U32, padded_left, "0", 0, 511, NULL,                                                        \
    "lines: first columns of k-space that hold zeros which scanners add: no actions, and not counted. Of "   \
    "data.kspace measured those of the files are found where neither this nor padded_right is set")          \
  X(acquisition, U32, padded_right, "0", 0, 511, NULL, "last columns of k-space of that kind")
#define WORLD_OPTIONS(X)                                                                                     \
  X(world, U32, envs, "256", 1, 65536, NULL,                                                                 \
    "environments (scans) stepped side by side; results do not change", CONCERNS_PLACE)                      \
  X(world, U32, seed, "42", 0, 4294967295.0, NULL, "seed of all random numbers")                             \
  X(world, CHOICE, observation, "f32", 0, 0, "f32|f16", "storage of the zero-filled magnitude")
#define SAMPLER_OPTIONS(X)                                                                                   \
  X(sampler, F64, polynomial_power, "4", 0, 20, NULL,                                                        \
    "p of variable_density, whose weight is (1 - |k|/kmax)^p")                                               \
  X(sampler, F64, gaussian_width, "0.15", 0.001, 10, NULL,                                                   \
    "standard deviation of variable_density_gaussian, as a fraction of N")                                   \
  X(sampler, TEXT, mask, "", 0, 0, NULL,                                                                     \
    "file of the fixed mask: N values 0 or 1 (points: NxN) as text, or dataset mask of an HDF5 file; "       \
    "checkpoint of train.method straight_through or suno for the samplers of these names")                   \
  X(sampler, TEXT, tau_step, "", 0, 0, NULL,                                                                 \
    "checkpoint of train.method tau_step: sampler and reconstructor of tau_step scans")                      \
  X(sampler, U32, candidates, "0", 0, 1024, NULL,                                                            \
    "oracles: free actions tried for every action acquired, drawn evenly; 0: all")
#define NETWORK_OPTIONS(X)                                                                                   \
  X(network, CHOICE, input, "magnitude", 0, 0, "magnitude|complex",                                          \
    "input of the reconstructor. magnitude: zero-filled magnitude, standardised. complex: zero-filled "      \
    "complex image as it is; the output is added to its magnitude (SeqMRI)")                                 \
  X(network, U32, channels, "16", 1, 1024, NULL, "channels of the U-Net after its first block")              \
  X(network, U32, pools, "4", 1, 6, NULL, "poolings of the U-Net; each doubles the channels")                \
  X(network, CHOICE, precision, "f32", 0, 0, "f32|mixed|half",                                               \
    "f32: the reference; mixed: half-precision operands; half: half-precision storage too (both need "       \
    "matrix instructions)")                                                                                  \
  X(network, U32, batch, "256", 1, 65536, NULL, "largest number of images in one pass of the network")
/* Every key changes images: tables keep results apart that differ in one (tools/report/read.c). */
#define RECONSTRUCT_OPTIONS(X)                                                                               \
  X(reconstruct, CHOICE, method, "auto", 0, 0, "auto|zero_filled|network|cg_sense|tv|wavelet|varnet|callback",       \
    "how images are made of what is acquired. auto: by the network where one is given, else zero_filled. "    \
    "cg_sense: least squares by conjugate gradients. tv: with total variation. wavelet: with sparse wavelet " \
    "coefficients. varnet: the variational network, of k-space and all coils (section varnet). callback: a "  \
    "function of the program's own, or of the file that --plugin names")                                      \
  X(reconstruct, CHOICE, input, "observation", 0, 0, "observation|kspace|maps",                              \
    "what a callback is given, and a program may read. observation: zero-filled magnitudes and masks. "       \
    "kspace: acquired complex k-space of every coil, too. maps: and coil sensitivities")                      \
  X(reconstruct, F64, weight, "0.01", 0, 1000000000, NULL,                                                   \
    "cg_sense: half of it times the squared image is added to half the squared error. tv, wavelet: the "     \
    "weight of the prior, for an image whose bright pixels are 1")                                           \
  X(reconstruct, U32, iterations, "30", 1, 100000, NULL,                                                     \
    "cg_sense, wavelet: steps. tv: steps of conjugate gradients of all rounds; 200 in fastMRI")              \
  X(reconstruct, F64, tolerance, "0", 0, 1, NULL,                                                            \
    "a scan ends before, where its residual (cg_sense), that of a new round (tv) or the last change of the " \
    "image (wavelet) is this part of the whole; 0: never")                                                   \
  X(reconstruct, BOOL, compensate, "false", 0, 0, NULL,                                                      \
    "zero_filled, spokes and points: acquired cells count by the area of k-space that they stand for (density "    \
    "compensation)")                                                                                         \
  X(reconstruct, BOOL, shifts, "true", 0, 0, NULL, "wavelet: every step moves the wavelets at random")       \
  X(reconstruct, F64, rho, "0.5", 0.000001, 1000000, NULL, "tv: weight of the split in alternating directions")
#define POLICY_OPTIONS(X)                                                                                    \
  X(policy, U32, channels, "16", 1, 1024, NULL, "channels of the encoder after its first convolution")       \
  X(policy, U32, pools, "4", 1, 6, NULL, "poolings of the encoder; each doubles the channels")               \
  X(policy, U32, hidden, "256", 1, 65536, NULL, "values in each of the two hidden layers")                   \
  X(policy, CHOICE, precision, "f32", 0, 0, "f32|mixed|half",                                                \
    "precision of the encoder, as network.precision")                                                        \
  X(policy, U32, batch, "1024", 1, 65536, NULL, "largest number of observations in one pass of the policy")
#define REWARD_OPTIONS(X)                                                                                    \
  X(reward, CHOICE, metric, "ssim", 0, 0, "ssim|ssim_uniform|psnr|psnr_unclamped|nmse|mse|callback|log_likelihood", \
    "similarity S in the reward. callback: a number of a function of the program's own, more is better. "     \
    "log_likelihood: logarithm of the probability that reward.classifier gives the slice's data.label")       \
  X(reward, TEXT, classifier, "", 0, 0, NULL,                                                                \
    "checkpoint of train.method classifier, for log_likelihood and for the metrics that follow from it", CONCERNS_PLACE) \
  X(reward, CHOICE, form, "sparse", 0, 0, "sparse|dense|compat",                                             \
    "sparse: S at the end. dense: gain in S at every step. compat: S at the end and minus the initial S "    \
    "at the first step, as the published L2SR code. nmse and mse count negative")                            \
  X(reward, F64, scale, "1", 0, 1000000, NULL,                                                               \
    "factor of the reward (not of PSNR); the published L2SR code uses 100")
#define EVALUATE_OPTIONS(X)                                                                                  \
  X(evaluate, TEXT, name, "", 0, 0, NULL, "name of the method in tables; empty: the sampler's name")         \
  X(evaluate, LIST, samplers, "random", 0, 0, NULL, "samplers to run; `l2sr describe samplers` lists them")  \
  X(evaluate, LIST, metrics, "ssim,psnr,nmse", 0, 0, NULL,                                                   \
    "metrics in the table: ssim, ssim_uniform, psnr, psnr_unclamped, nmse, mse, callback; by reward.classifier "\
    "log_likelihood, cross_entropy, accuracy and auc, the area under the ROC curve over all slices")          \
  X(evaluate, CHOICE, profile, "l2sr", 0, 0, "l2sr|fastmri|pgmri|pineda",                                    \
    "whose scores: l2sr's own; those of fastMRI's evaluate.py, of volumes; of PG-MRI; of active-mri (Pineda "  \
    "et al. 2020), by each slice's largest pixel. Rewards do not change", CONCERNS_TEST)                     \
  X(evaluate, BOOL, curves, "true", 0, 0, NULL, "scores after every action, not only at the end")            \
  X(evaluate, TEXT, output, "", 0, 0, NULL,                                                                  \
    "folder for slices.csv, curves.csv and results.h5; empty: prints only")                                  \
  X(evaluate, BOOL, images, "false", 0, 0, NULL, "stores all masks and images in results.h5")                \
  X(evaluate, LIST, keep, "", 0, 0, NULL,                                                                    \
    "rows of the data set whose truth and reconstructions results.h5 stores, for `l2sr report`")             \
  X(evaluate, CHOICE, group, "auto", 0, 0, "auto|fixed|joint",                                               \
    "group in the tables of `l2sr report`; auto: joint if the reconstructor was trained on scans of a "      \
    "policy or together with its masks")                                                                     \
  X(evaluate, TEXT, policy, "", 0, 0, NULL, "checkpoint of the sampler policy; empty: none")                 \
  X(evaluate, CHOICE, actions, "best", 0, 0, "best|drawn",                                                   \
    "how the policy chooses: its most probable action, or a draw")                                           \
  X(evaluate, U32, trajectories, "1", 1, 1024, NULL,                                                         \
    "scans of every slice by samplers that draw; tables are over all of them")                               \
  X(evaluate, TEXT, reconstructor, "", 0, 0, NULL,                                                           \
    "checkpoint of the reconstructor; empty: the zero-filled image")                                         \
  X(evaluate, LIST, policies, "", 0, 0, NULL,                                                                \
    "checkpoints of policies, each with each of evaluate.reconstructors: one table of all pairs")            \
  X(evaluate, LIST, masks, "", 0, 0, NULL,                                                                   \
    "files of masks for that table, taken by fixed_mask, or by those of evaluate.samplers that take one")    \
  X(evaluate, LIST, reconstructors, "", 0, 0, NULL,                                                          \
    "checkpoints of reconstructors for that table; none: the zero-filled image")
/* Methods of training, in the order that `l2sr describe methods` has: X(enumerator, name). */
#define TRAIN_METHODS(X)                                                                                     \
  X(RECONSTRUCTOR, reconstructor)                                                                            \
  X(L2S, l2s)                                                                                                \
  X(L2SR, l2sr)                                                                                              \
  X(PGMRI, pgmri)                                                                                            \
  X(LOUPE, loupe)                                                                                            \
  X(TAU_STEP, tau_step)                                                                                      \
  X(LBCS, lbcs)                                                                                              \
  X(STRAIGHT_THROUGH, straight_through)                                                                      \
  X(SUNO, suno)                                                                                              \
  X(DDQN, ddqn)                                                                                              \
  X(EVALUATOR, evaluator)                                                                                    \
  X(CLASSIFIER, classifier)
#define METHOD_CHOICE(enumerator, name) "|" #name
#define METHOD_CHOICES (&(TRAIN_METHODS(METHOD_CHOICE))[1])
#define TRAIN_OPTIONS(X)                                                                                     \
  X(train, CHOICE, method, "reconstructor", 0, 0, METHOD_CHOICES,                                            \
    "what to train: a reconstructor; a policy with one reward at the end (l2s), with its reconstructor in "  \
    "turn (l2sr), or PG-MRI's; a mask (loupe) or a sampler of several steps (tau_step) with its "            \
    "reconstructor; a mask for a reconstructor, action by action (lbcs); a policy through the reconstructor " \
    "(straight_through); masks of training slices, which similar slices take (suno); what actions are worth (ddqn); " \
    "how far each line of a reconstruction is from the truth (evaluator)") \
  X(train, TEXT, output, "", 0, 0, NULL, "folder for checkpoints, logs and curves", CONCERNS_PLACE)          \
  X(train, TEXT, start, "", 0, 0, NULL,                                                                      \
    "checkpoint whose reconstructor is where the training of a reconstructor starts, with a new optimiser; " \
    "empty: new parameters", CONCERNS_PLACE)                                                                 \
  X(train, U32, epochs, "50", 1, 1000000, NULL, "passes over the training slices", CONCERNS_PLACE)           \
  X(train, U32, digest_every, "0", 0, 1000000000, NULL,                                                      \
    "units of a training (updates, rollouts, actions) between two digests of the parameters in its log, "    \
    "beside those at validations; 0: those alone", CONCERNS_PLACE)                                           \
  X(train, U32, batch, "16", 1, 65536, NULL, "slices in an update")                                          \
  X(train, U32, shards, "0", 0, 64, NULL,                                                                    \
    "parts of an update whose sums are taken one after the other and then two by two, so that as many ranks " \
    "(mpirun) or fewer give the same bytes: 1, 2, 4 ... 64. A shard has the rows of an update over this, "   \
    "rounded up; the last ones have fewer, or none. 0: 1 for one rank, 8 for several, and what a training "  \
    "that goes on has", CONCERNS_PLACE)                                                                      \
  X(train, CHOICE, reduce, "tree", 0, 0, "tree|free",                                                        \
    "tree: the order of train.shards. free: ranks sum what they hold as it comes: other bytes for another "  \
    "number of ranks")                                                                                       \
  X(train, CHOICE, exchange, "auto", 0, 0, "auto|host|peer",                                                 \
    "way of gradients between ranks. peer: from card to card, where all are NVIDIA's and of one host. host: " \
    "through host memory. auto: peer where that is possible. Bytes are the same", CONCERNS_PLACE)            \
  X(train, CHOICE, loss, "ssim", 0, 0, "ssim|l1|mse|ssim_uniform",                                           \
    "ssim: minus the SSIM of the un-normalised image. ssim_uniform: minus the SSIM of the 7x7 uniform "      \
    "window (SeqMRI, with data.range slice). l1, mse: error of the normalised image")                        \
  X(train, CHOICE, optimiser, "adam", 0, 0, "adam|rmsprop|rmsprop_tf|sgd",                                   \
    "optimiser, in PyTorch's form; rmsprop_tf: RMSprop in TensorFlow's form")                                \
  X(train, F64, rate, "0.001", 0, 1000000000, NULL, "learning rate of the first epoch")                      \
  X(train, CHOICE, schedule, "step", 0, 0, "step|milestones", "when the rate is multiplied by rate_factor")  \
  X(train, F64, rate_factor, "0.1", 0, 1, NULL, "factor of the rate at every step or milestone")             \
  X(train, U32, rate_every, "40", 1, 1000000, NULL, "schedule step: epochs between two steps")               \
  X(train, LIST, milestones, "", 0, 0, NULL, "schedule milestones: the epochs, from 0")                      \
  X(train, F64, clip, "0", 0, 1000000, NULL, "largest norm of the gradient of all parameters; 0: no limit")  \
  X(train, F64, weight_decay, "0", 0, 1, NULL, "fraction of a weight that is added to its gradient")         \
  X(train, CHOICE, masks, "bernoulli", 0, 0, "bernoulli|exact",                                              \
    "bernoulli: every action beside the initial ones by chance, N/acceleration in the mean. exact: "         \
    "that number, by train.sampler")                                                                         \
  X(train, TEXT, sampler, "random", 0, 0, NULL, "sampler of exact masks")                                    \
  X(train, LIST, accelerations, "4", 0, 0, NULL,                                                             \
    "mixture: acceleration of each pair; a pair is drawn evenly for every sample")                           \
  X(train, LIST, initial_accelerations, "8", 0, 0, NULL,                                                     \
    "mixture: initial acceleration of each pair; N over it is the number of initial actions (points: N "     \
    "over its root is the side of the square)")                                                              \
  X(train, U32, early_stopping, "0", 0, 1000000, NULL,                                                       \
    "stops after this many epochs without a better validation loss; 0: never", CONCERNS_PLACE)               \
  X(train, U32, log_every, "10", 1, 100000, NULL, "updates between two lines of the log", CONCERNS_PLACE)    \
  X(train, CHOICE, keep_activations, "auto", 0, 0, "auto|never|always",                                      \
    "a policy learns from the activations of its rollout (always), computes them again (never), or keeps "   \
    "them where they fit (auto); the numbers are the same", CONCERNS_PLACE)
#define LEARN_OPTIONS(X)                                                                                     \
  X(learn, TEXT, reconstructor, "", 0, 0, NULL,                                                              \
    "checkpoint of the reconstructor that scores the policy's scans; empty: it is trained first, in "        \
    "train.output/reconstructor", CONCERNS_PLACE)                                                            \
  X(learn, TEXT, start, "", 0, 0, NULL,                                                                      \
    "checkpoint whose policy is where the training of a policy starts, with a new optimiser; empty: new "    \
    "parameters", CONCERNS_PLACE)                                                                            \
  X(learn, CHOICE, algorithm, "a2c", 0, 0, "a2c|ppo",                                                        \
    "a2c: one update on all steps of a rollout. ppo: clipped updates on minibatches")                        \
  X(learn, U32, steps, "40960000", 1, 4294967295.0, NULL, "environment-steps, rounded up to whole rollouts") \
  X(learn, U32, scans, "16", 1, 65536, NULL, "scans in a rollout; A2C makes one update of them")             \
  X(learn, U32, group, "1", 1, 65536, NULL,                                                                  \
    "scans in a row of a rollout that share a slice; 1: each has its own, as published")                     \
  X(learn, CHOICE, baseline, "critic", 0, 0, "critic|group|group_critic",                                    \
    "what an action is measured against. critic: the critic's estimate (published). group: the mean of the " \
    "other scans of the slice. group_critic: the critic's estimate of rewards less that mean")               \
  X(learn, CHOICE, clone, "none", 0, 0, "none|oracle|lbcs",                                                  \
    "whom the policy imitates before it learns from rewards. oracle: the greedy oracle on training slices, " \
    "of sampler.candidates actions. lbcs: the order in which the mask sampler.mask was grown")               \
  X(learn, U32, clone_steps, "20480", 1, 4294967295.0, NULL,                                                 \
    "environment-steps of that teacher, rounded up to whole rollouts; learn.steps come after them")          \
  X(learn, F64, clone_rate, "0", 0, 1000000000, NULL, "learning rate meanwhile; 0: learn.rate")              \
  X(learn, CHOICE, optimiser, "auto", 0, 0, "auto|rmsprop|adam",                                             \
    "optimiser, in PyTorch's form; auto: rmsprop for a2c, adam for ppo, as in stable-baselines3")            \
  X(learn, F64, rate, "0.0003", 0, 1000000000, NULL, "learning rate of the policy")                          \
  X(learn, CHOICE, rate_schedule, "constant", 0, 0, "constant|linear|cosine",                                \
    "how the rate goes from learn.rate to learn.rate_floor over the environment-steps")                      \
  X(learn, F64, rate_floor, "0", 0, 1000000000, NULL,                                                        \
    "the rate at the end of its schedule, which never rises")                                                \
  X(learn, CHOICE, scaling, "none", 0, 0, "none|root|linear",                                                \
    "how the rate grows with learn.scans/16, for fewer and larger updates over the same steps")              \
  X(learn, F64, epsilon, "0.00001", 0, 1, NULL, "number added to the root in the optimiser")                 \
  X(learn, F64, gamma, "1", 0, 1, NULL, "discount factor")                                                   \
  X(learn, F64, lambda, "0.95", 0, 1, NULL, "lambda of generalised advantages")                              \
  X(learn, CHOICE, normalise, "auto", 0, 0, "auto|off|on",                                                   \
    "brings the advantages of an update to mean 0 and deviation 1; auto: for ppo, as in stable-baselines3")  \
  X(learn, F64, entropy, "0.03", 0, 1000, NULL, "weight of the entropy")                                     \
  X(learn, CHOICE, entropy_schedule, "constant", 0, 0, "constant|linear|cosine",                             \
    "how that weight goes from learn.entropy to learn.entropy_floor over the environment-steps")             \
  X(learn, F64, entropy_floor, "0", 0, 1000, NULL,                                                           \
    "the weight at the end of its schedule, which never rises")                                              \
  X(learn, F64, value, "0.5", 0, 1000, NULL, "weight of the critic's squared error")                         \
  X(learn, F64, clip, "0.5", 0, 1000000, NULL,                                                               \
    "largest norm of the gradient of all parameters; 0: no limit")                                           \
  X(learn, F64, ratio, "0.2", 0.001, 10, NULL,                                                               \
    "ppo: largest change of an action's probability ratio before it is clipped")                             \
  X(learn, U32, epochs, "10", 1, 1000, NULL, "ppo: passes over a rollout")                                   \
  X(learn, U32, rows, "64", 1, 4294967295.0, NULL, "ppo: steps in a minibatch")                              \
  X(learn, U32, validations, "10", 1, 100000, NULL,                                                          \
    "number of validations in the training; best.h5 has the best score")                                     \
  X(learn, U32, save_every, "500", 1, 1000000000, NULL, "rollouts between two checkpoints", CONCERNS_PLACE)  \
  X(learn, U32, log_every, "20", 1, 1000000, NULL, "rollouts between two lines of the log")
#define ALTERNATE_OPTIONS(X)                                                                                 \
  X(alternate, TEXT, start, "sparse", 0, 0, NULL,                                                            \
    "first reconstructor of l2s, l2sr and pgmri where learn.reconstructor is empty. sparse: trained as "     \
    "train.* says. dense: trained on the mixture of R_dense for the scene's acceleration, whole centres "    \
    "included. Else its checkpoint")                                                                         \
  X(alternate, U32, rounds, "5", 1, 1000, NULL, "l2sr: rounds of policy and reconstructor")                  \
  X(alternate, U32, patience, "0", 0, 1000, NULL,                                                            \
    "ends the alternation after so many rounds whose validation was not better than the best; 0: never")     \
  X(alternate, U32, steps, "8192000", 1, 4294967295.0, NULL,                                                 \
    "environment-steps of the policy in every round after the first")                                        \
  X(alternate, F64, policy_rate, "0", 0, 1000000000, NULL,                                                   \
    "learning rate of the policy in rounds after the first; 0: learn.rate")                                  \
  X(alternate, F64, policy_divisor, "1", 1, 1000, NULL,                                                      \
    "divisor of the policy's rate at every round after the first; the paper has 3")                          \
  X(alternate, F64, entropy, "-1", -1, 1000, NULL,                                                           \
    "weight of the entropy in rounds after the first; negative: learn.entropy")                              \
  X(alternate, U32, epochs, "10", 1, 1000000, NULL,                                                          \
    "epochs of the reconstructor in every round, with a new optimiser")                                      \
  X(alternate, U32, batch, "16", 1, 65536, NULL, "slices in an update of the reconstructor")                 \
  X(alternate, F64, rate, "0.003", 0, 1000000000, NULL,                                                      \
    "learning rate of the reconstructor in the first round")                                                 \
  X(alternate, F64, divisor, "3", 1, 1000, NULL,                                                             \
    "divisor of the reconstructor's rate at every round after the first")                                    \
  X(alternate, F64, rate_factor, "0.1", 0, 1, NULL,                                                          \
    "factor of the reconstructor's rate at every step within a round")                                       \
  X(alternate, U32, rate_every, "5", 1, 1000000, NULL, "epochs between two such steps")                      \
  X(alternate, U32, early_stopping, "0", 0, 1000000, NULL,                                                   \
    "ends a round's reconstructor after so many epochs without a better validation loss; 0: never")          \
  X(alternate, CHOICE, augment, "all", 0, 0, "all|rounds",                                                   \
    "which reconstructors data.augment is for: all, or those of rounds but not the first")                   \
  X(alternate, CHOICE, actions, "best", 0, 0, "best|drawn",                                                  \
    "trajectories that the reconstructor is trained on: the policy's most probable actions, or actions "     \
    "drawn anew in every epoch")
#define PGMRI_OPTIONS(X)                                                                                     \
  X(pgmri, CHOICE, estimator, "nongreedy", 0, 0, "greedy|nongreedy",                                         \
    "return of an action. greedy: the gain of its own step. nongreedy: all later gains too, discounted")     \
  X(pgmri, U32, trajectories, "8", 1, 256, NULL,                                                             \
    "q: actions (greedy) or trajectories (nongreedy) drawn for each slice")                                  \
  X(pgmri, BOOL, baseline, "true", 0, 0, NULL,                                                               \
    "subtracts the mean return of the slice's draws; false: greedy only, divided by q")                      \
  X(pgmri, F64, gamma, "0.9", 0, 1, NULL, "nongreedy: discount factor")                                      \
  X(pgmri, U32, batch, "4", 1, 65536, NULL, "slices in a minibatch")                                         \
  X(pgmri, U32, accumulation, "4", 1, 65536, NULL, "minibatches in an update")                               \
  X(pgmri, U32, epochs, "50", 1, 1000000, NULL, "passes over the training slices", CONCERNS_PLACE)           \
  X(pgmri, F64, rate, "0.00005", 0, 1000000000, NULL, "learning rate of the first epoch (Adam)")             \
  X(pgmri, CHOICE, schedule, "milestones", 0, 0, "step|milestones",                                          \
    "when the rate is multiplied by rate_factor")                                                            \
  X(pgmri, F64, rate_factor, "0.5", 0, 1, NULL, "factor of the rate at every step or milestone")             \
  X(pgmri, U32, rate_every, "40", 1, 1000000, NULL, "schedule step: epochs between two steps")               \
  X(pgmri, LIST, milestones, "10,20,30,40", 0, 0, NULL, "schedule milestones: the epochs, from 0")           \
  X(pgmri, LIST, keep, "0,9,19,29,39,49", 0, 0, NULL, "epochs, from 0, whose policy is kept as epoch_N.h5", CONCERNS_PLACE) \
  X(pgmri, U32, save_every, "500", 1, 1000000000, NULL,                                                      \
    "updates between two last.h5; it is written after every epoch too", CONCERNS_PLACE)                      \
  X(pgmri, U32, log_every, "20", 1, 1000000, NULL, "updates between two lines of the log")
#define LOUPE_OPTIONS(X)                                                                                     \
  X(loupe, CHOICE, masks, "batch", 0, 0, "batch|sample",                                                     \
    "one mask for all slices of an update (batch, published), or one for each (sample)")                     \
  X(loupe, F64, slope, "10", 0.01, 1000, NULL,                                                               \
    "slope of the sigmoid whose derivative replaces the derivative of the draw")                             \
  X(loupe, F64, rate, "0", 0, 1000000000, NULL,                                                              \
    "learning rate of the probabilities in the first epoch; 0: train.rate")
#define TAU_OPTIONS(X)                                                                                       \
  X(tau, U32, steps, "4", 1, 8, NULL,                                                                        \
    "steps in which the budget is acquired; before each one the sampler sees the reconstruction")            \
  X(tau, U32, hidden, "512", 1, 65536, NULL, "lines: values in each of the sampler's four hidden layers")    \
  X(tau, U32, channels, "64", 2, 1024, NULL,                                                                 \
    "points: channels of the sampler (a U-Net) after its first block")                                       \
  X(tau, U32, pools, "4", 1, 12, NULL, "points: poolings of the sampler; each doubles the channels")         \
  X(tau, BOOL, adaptive, "true", 0, 0, NULL,                                                                 \
    "false: the sampler always sees the same random numbers (the published control)")                        \
  X(tau, F64, slope, "10", 0.01, 1000, NULL,                                                                 \
    "slope of the sigmoid whose derivative replaces the derivative of the draw")                             \
  X(tau, F64, rate, "0", 0, 1000000000, NULL,                                                                \
    "learning rate of the sampler in the first epoch; 0: train.rate")
#define LBCS_OPTIONS(X)                                                                                      \
  X(lbcs, U32, slices, "0", 0, 100000000, NULL,                                                              \
    "training slices that score the candidates of a step, drawn anew in every step; 0: all")                 \
  X(lbcs, U32, candidates, "0", 0, 1048576, NULL,                                                            \
    "free actions that are tried in a step, drawn anew in every step; 0: all")                               \
  X(lbcs, U32, log_every, "1", 1, 1000000, NULL,                                                             \
    "actions between two lines of the log, each with a validation and a checkpoint")
#define STRAIGHT_THROUGH_OPTIONS(X)                                                                          \
  X(straight_through, U32, steps, "1", 1, 8, NULL,                                                           \
    "steps in which the budget is acquired; before each one the policy sees the zero-filled image")          \
  X(straight_through, CHOICE, probability, "sigmoid", 0, 0, "sigmoid|softplus",                              \
    "what makes probabilities of the policy's scores: a sigmoid of ten times the score, or softplus over its largest value") \
  X(straight_through, F64, slope, "10", 0.01, 1000, NULL,                                                    \
    "slope of the sigmoid whose derivative replaces the derivative of the draw")                             \
  X(straight_through, F64, rate, "0", 0, 1000000000, NULL,                                                   \
    "learning rate of the policy in the first epoch; 0: train.rate")                                         \
  X(straight_through, BOOL, joint, "true", 0, 0, NULL,                                                       \
    "the reconstructor learns beside the policy; false: it stays that of train.start")
#define SUNO_OPTIONS(X)                                                                                      \
  X(suno, U32, passes, "1", 1, 100, NULL,                                                                    \
    "passes over the lines of every mask, each of which may be exchanged once in a pass", CONCERNS_PLACE)    \
  X(suno, U32, log_every, "7", 1, 1000000, NULL,                                                             \
    "lines of a pass between two lines of the log, each with a validation and a checkpoint", CONCERNS_PLACE)
#define EVALUATOR_OPTIONS(X)                                                                                 \
  X(evaluator, U32, channels, "128", 1, 256, NULL,                                                           \
    "channels of the evaluator after its first convolution; the next three have 2, 4 and 4 times as many")   \
  X(evaluator, F64, gamma, "100", 0, 1000000, NULL,                                                          \
    "a line with the error e is worth exp(-gamma e), where 1 is the deviation of the image; published: 3000 for raw " \
    "data, 100 for magnitudes")                                                                              \
  X(evaluator, F64, weight, "0.1", 0, 1000, NULL,                                                            \
    "weight of what draws the reconstructor to images whose lines the evaluator takes for true; 0: none")    \
  X(evaluator, F64, rate, "0", 0, 1000000000, NULL,                                                          \
    "learning rate of the evaluator in the first epoch; 0: train.rate")
/* train.method classifier */
#define CLASSIFIER_OPTIONS(X)                                                                                \
  X(classifier, U32, classes, "2", 2, 256, NULL, "classes that it tells apart: data.label is 0 to this less 1") \
  X(classifier, U32, channels, "16", 1, 1024, NULL, "channels of its first block; each pooling doubles them") \
  X(classifier, U32, pools, "4", 1, 6, NULL, "poolings of its encoder")                                      \
  X(classifier, U32, hidden, "64", 1, 4096, NULL, "width of its hidden layers")
#define DDQN_OPTIONS(X)                                                                                      \
  X(ddqn, CHOICE, specific, "subject", 0, 0, "subject|data_set",                                             \
    "what the network sees. subject: the scan. data_set: how many actions there were, so that all scans get one mask") \
  X(ddqn, CHOICE, observes, "zero_filled", 0, 0, "zero_filled|reconstruction",                               \
    "specific subject: the image that it sees; a reconstruction is made for every image of an update, too")  \
  X(ddqn, CHOICE, estimator, "double", 0, 0, "double|single",                                                \
    "which network chooses the action after. double: the one that learns. single: the target network, which " \
    "says what it is worth")                                                                                 \
  X(ddqn, U32, scans, "32", 1, 65536, NULL, "scans side by side, of which each takes an action at a time")   \
  X(ddqn, U32, steps, "1000000", 1, 4294967295.0, NULL, "environment-steps", CONCERNS_PLACE)                 \
  X(ddqn, U32, replay, "20000", 2, 100000000, NULL,                                                          \
    "steps that the replay holds at most; whole scans, as many as run side by side at a time")               \
  X(ddqn, U32, first, "1000", 1, 100000000, NULL, "steps in the replay before the first update")             \
  X(ddqn, U32, batch, "32", 1, 1048576, NULL, "steps drawn for an update")                                   \
  X(ddqn, U32, updates, "1", 1, 100000, NULL, "updates after every action of the scans side by side")        \
  X(ddqn, U32, ahead, "1", 1, 65536, NULL, "rewards that are added up before the target network is asked")   \
  X(ddqn, F64, gamma, "0.5", 0, 1, NULL, "discount factor")                                                  \
  X(ddqn, U32, target_every, "5000", 1, 1000000000, NULL, "updates between two copies to the target network") \
  X(ddqn, F64, epsilon, "1", 0, 1, NULL, "probability of a random action at the start")                      \
  X(ddqn, F64, epsilon_floor, "0.01", 0, 1, NULL, "probability of a random action at the end")               \
  X(ddqn, F64, epsilon_steps, "1000000", 0.001, 1000000000000, NULL,                                         \
    "actions of the scans side by side after which what is between them has fallen to 1/e")                  \
  X(ddqn, CHOICE, explores, "scan", 0, 0, "scan|batch",                                                      \
    "what a draw of epsilon decides for: each scan, or all side by side")                                    \
  X(ddqn, F64, priority, "0", 0, 4, NULL,                                                                    \
    "exponent of a step's absolute error in the probability that it is drawn; 0: all alike")                 \
  X(ddqn, F64, priority_weight, "0.4", 0, 4, NULL,                                                           \
    "exponent of the weights that make up for that in the loss")                                             \
  X(ddqn, F64, huber, "1", 0.000001, 1000000, NULL, "error from which on the loss is linear")                \
  X(ddqn, F64, rate, "0.0001", 0, 1000000000, NULL, "learning rate (Adam)")                                  \
  X(ddqn, F64, clip, "0", 0, 1000000, NULL, "largest norm of the gradient of all parameters; 0: no limit")   \
  X(ddqn, U32, validate_every, "5000", 1, 1000000000, NULL,                                                  \
    "actions of the scans side by side between two validations; best.h5 has the best score")                 \
  X(ddqn, U32, save_every, "5000", 1, 1000000000, NULL, "such actions between two checkpoints", CONCERNS_PLACE) \
  X(ddqn, U32, log_every, "200", 1, 1000000, NULL, "such actions between two lines of the log")
#define BENCHMARK_OPTIONS(X)                                                                                 \
  X(benchmark, LIST, settings, "", 0, 0, NULL, "scenes, each of one setting: [knee_x4_long, knee_x8_long]", CONCERNS_PLACE) \
  X(benchmark, LIST, methods, "", 0, 0, NULL,                                                                \
    "samplers, and what follows the setting's name in scenes that are trained: [random, l2s_fast]", CONCERNS_PLACE) \
  X(benchmark, LIST, reconstructors, "network", 0, 0, NULL,                                                  \
    "network, or another word of reconstruct.method; what is trained takes those that are networks", CONCERNS_PLACE) \
  X(benchmark, LIST, only, "", 0, 0, NULL,                                                                   \
    "methods that are for some settings, and reconstructors that are for some methods, alone: [pgmri knee_x8_long, varnet random lbcs]", CONCERNS_PLACE) \
  X(benchmark, LIST, seeds, "1", 0, 0, NULL, "world.seed of trainings and evaluations", CONCERNS_PLACE)      \
  X(benchmark, U32, jobs, "1", 1, 64, NULL, "processes at a time on each device", CONCERNS_PLACE)            \
  X(benchmark, LIST, devices, "", 0, 0, NULL, "devices as --device names them; empty: that of --device", CONCERNS_PLACE) \
  X(benchmark, CHOICE, keep, "all", 0, 0, "all|results",                                                     \
    "what stays of a method once it is evaluated. results: no checkpoints, so that the folder stays small", CONCERNS_PLACE) \
  X(benchmark, TEXT, baseline, "", 0, 0, NULL, "method that the page compares others with; empty: the first", CONCERNS_PLACE)
#define SEARCH_OPTIONS(X)                                                                                    \
  X(search, LIST, linear, "", 0, 0, NULL, "keys whose numbers are tried, lowest and highest: [learn.gamma 0.8 1]", CONCERNS_PLACE) \
  X(search, LIST, log, "", 0, 0, NULL,                                                                       \
    "the same, of which factors are as likely, not differences: [learn.rate 1e-5 1e-2]", CONCERNS_PLACE)     \
  X(search, LIST, integer, "", 0, 0, NULL, "the same of whole numbers: [learn.validations 5 20]", CONCERNS_PLACE) \
  X(search, LIST, choice, "", 0, 0, NULL, "keys and the words that are tried: [learn.scans 32 64 128]", CONCERNS_PLACE) \
  X(search, U32, trials, "50", 1, 1000, NULL, "trainings, the first of them by the scene's own values", CONCERNS_PLACE) \
  X(search, U32, even, "8", 1, 1000, NULL,                                                                   \
    "trials that fill the space evenly, before the others follow from what was found", CONCERNS_PLACE)       \
  X(search, U32, limit, "0", 0, 100000000, NULL,                                                             \
    "seconds after which a trial ends with the score that it has then; 0: never", CONCERNS_PLACE)            \
  X(search, F64, quantile, "0.25", 0, 0.9, NULL,                                                             \
    "a trial is stopped whose best score is below this quantile of the others' after as many seconds; 0: none is", CONCERNS_PLACE) \
  X(search, U32, repeats, "0", 0, 100, NULL,                                                                 \
    "at the end the best and the scene's own values are trained by so many other seeds, with data.folds on other folds, and compared", CONCERNS_PLACE)
#define PHANTOM_OPTIONS(X)                                                                                   \
  X(phantom, U32, train, "8", 0, 100000, NULL, "volumes in train")                                           \
  X(phantom, U32, val, "2", 0, 100000, NULL, "volumes in val")                                               \
  X(phantom, U32, test, "4", 0, 100000, NULL, "volumes in test")                                             \
  X(phantom, U32, slices, "8", 1, 1024, NULL, "slices in a volume")                                          \
  X(phantom, U32, coils, "1", 1, 64, NULL, "receive coils; more than one makes multi-coil volumes")          \
  X(phantom, U32, rows, "256", 32, 1024, NULL, "readout samples of the k-space (oversampled twice)")         \
  X(phantom, U32, columns, "148", 32, 1024, NULL, "phase-encode lines of the k-space")                       \
  X(phantom, U32, padded_left, "0", 0, 511, NULL, "first columns of k-space that hold zeros, as scanners add them; the header says so") \
  X(phantom, U32, padded_right, "0", 0, 511, NULL, "last columns of k-space that hold zeros")                \
  X(phantom, SIDES, size, "128", 32, 1024, NULL, "side of the stored images, or [height, width]")            \
  X(phantom, F64, noise, "0.01", 0, 1, NULL,                                                                 \
    "standard deviation of the noise in k-space, as a fraction of the image's peak")                         \
  X(phantom, F64, lesions, "0", 0, 1, NULL,                                                                  \
    "share of the patients that have a large lesion. Above 0 volumes have a dataset `lesion`: 1 for slices in which it shows, " \
    "else 0 (data.label lesion)")

/* How files of other programs are read, by `l2sr import` and where data.path names one. */
#define IMPORT_OPTIONS(X)                                                                                    \
  X(import, LIST, axes, "", 0, 0, NULL,                                                                      \
    "what the axes of an array are, in the order in which its program prints its shape: s slices (may be "   \
    "said of several), c coils, h height, w width and phase encoding, p real and imaginary part, 0 only the "\
    "first entry; those of one entry may be left out. Empty: guessed", CONCERNS_TEST)                         \
  X(import, CHOICE, kind, "auto", 0, 0, "auto|image|kspace|complex_image",                                   \
    "what an array holds. image: magnitudes, of complex numbers and coils too. kspace: fully sampled. "      \
    "complex_image: images of which k-space is made. auto: real numbers are images, complex ones by where "  \
    "their energy lies", CONCERNS_TEST)                                                                      \
  X(import, TEXT, variable, "", 0, 0, NULL, "variable of a MATLAB file; empty: the only one that can be a volume", CONCERNS_TEST)\
  X(import, F64, factor, "1", 0.000000000001, 1000000000000, NULL, "what the samples of an array are multiplied by", CONCERNS_TEST)\
  X(import, TEXT, patient, "", 0, 0, NULL,                                                                    \
    "patient_id that imported volumes get; empty: the file's own, else the name of the file", CONCERNS_PLACE)

/* reconstruct.method varnet; the sizes are those published. */
#define VARNET_OPTIONS(X)                                                                                    \
  X(varnet, U32, cascades, "12", 1, 64, NULL, "steps, each with a U-Net of its own")                         \
  X(varnet, U32, channels, "18", 1, 1024, NULL, "channels of a step's U-Net after its first block")          \
  X(varnet, U32, pools, "4", 1, 6, NULL, "poolings of a step's U-Net; each doubles the channels")            \
  X(varnet, CHOICE, sense, "network", 0, 0, "network|maps",                                                  \
    "where its coil sensitivities come from: a network of its own, which looks at the lines that are "       \
    "acquired without a gap in the middle, or coils.maps")                                                   \
  X(varnet, U32, sense_channels, "8", 1, 1024, NULL, "channels of the sensitivities' U-Net")                 \
  X(varnet, U32, sense_pools, "4", 1, 6, NULL, "poolings of the sensitivities' U-Net")

#define OPTIONS(X)                                                                                           \
  DATA_OPTIONS(X)                                                                                            \
  COILS_OPTIONS(X)                                                                                           \
  ACQUISITION_OPTIONS(X)                                                                                     \
  WORLD_OPTIONS(X)                                                                                           \
  SAMPLER_OPTIONS(X)                                                                                         \
  NETWORK_OPTIONS(X)                                                                                         \
  RECONSTRUCT_OPTIONS(X)                                                                                     \
  VARNET_OPTIONS(X)                                                                                          \
  POLICY_OPTIONS(X)                                                                                          \
  REWARD_OPTIONS(X)                                                                                          \
  EVALUATE_OPTIONS(X)                                                                                        \
  TRAIN_OPTIONS(X)                                                                                           \
  LEARN_OPTIONS(X)                                                                                           \
  ALTERNATE_OPTIONS(X)                                                                                       \
  PGMRI_OPTIONS(X)                                                                                           \
  LOUPE_OPTIONS(X)                                                                                           \
  TAU_OPTIONS(X)                                                                                             \
  LBCS_OPTIONS(X)                                                                                            \
  STRAIGHT_THROUGH_OPTIONS(X)                                                                                \
  SUNO_OPTIONS(X)                                                                                            \
  DDQN_OPTIONS(X)                                                                                            \
  EVALUATOR_OPTIONS(X)                                                                                       \
  CLASSIFIER_OPTIONS(X)                                                                                      \
  BENCHMARK_OPTIONS(X)                                                                                       \
  SEARCH_OPTIONS(X)                                                                                          \
  PHANTOM_OPTIONS(X)                                                                                         \
  IMPORT_OPTIONS(X)

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
  struct { COILS_OPTIONS(X) } coils;
  struct { ACQUISITION_OPTIONS(X) } acquisition;
  struct { WORLD_OPTIONS(X) } world;
  struct { SAMPLER_OPTIONS(X) } sampler;
  struct { NETWORK_OPTIONS(X) } network;
  struct { RECONSTRUCT_OPTIONS(X) } reconstruct;
  struct { VARNET_OPTIONS(X) } varnet;
  struct { POLICY_OPTIONS(X) } policy;
  struct { REWARD_OPTIONS(X) } reward;
  struct { EVALUATE_OPTIONS(X) } evaluate;
  struct { TRAIN_OPTIONS(X) } train;
  struct { LEARN_OPTIONS(X) } learn;
  struct { ALTERNATE_OPTIONS(X) } alternate;
  struct { PGMRI_OPTIONS(X) } pgmri;
  struct { LOUPE_OPTIONS(X) } loupe;
  struct { TAU_OPTIONS(X) } tau;
  struct { LBCS_OPTIONS(X) } lbcs;
  struct { STRAIGHT_THROUGH_OPTIONS(X) } straight_through;
  struct { SUNO_OPTIONS(X) } suno;
  struct { DDQN_OPTIONS(X) } ddqn;
  struct { EVALUATOR_OPTIONS(X) } evaluator;
  struct { CLASSIFIER_OPTIONS(X) } classifier;
  struct { BENCHMARK_OPTIONS(X) } benchmark;
  struct { SEARCH_OPTIONS(X) } search;
  struct { PHANTOM_OPTIONS(X) } phantom;
  struct { IMPORT_OPTIONS(X) } import;
#undef X
  bool given[OPTION_ROWS]; /* a flag for each row: it was set, and is not the default */
};

extern const struct option_table option_table;

enum data_split { SPLIT_TRAIN, SPLIT_VAL, SPLIT_TEST, SPLIT_ALL };
enum data_coils { COILS_ANY, COILS_SINGLE, COILS_MULTI };
enum data_source { SOURCE_AUTO, SOURCE_ESC, SOURCE_RSS, SOURCE_KSPACE };
enum data_kspace { KSPACE_IMAGE, KSPACE_MEASURED };
enum data_shift { SHIFT_NONE, SHIFT_COLUMNS = 1, SHIFT_ROWS = 2, SHIFT_BOTH = SHIFT_COLUMNS | SHIFT_ROWS };
enum data_fit { FIT_CROP, FIT_RESIZE };
enum data_crop { CROP_IMAGE, CROP_KSPACE, CROP_READOUT };
enum import_kind { IMPORT_AUTO, IMPORT_IMAGE, IMPORT_KSPACE, IMPORT_COMPLEX_IMAGE };
enum data_slices { SLICES_ALL, SLICES_CENTRE };
enum coils_maps { MAPS_NONE, MAPS_PRESCAN, MAPS_ACQUIRED, MAPS_FILE, MAPS_ONES };
enum coils_combine { COMBINE_RSS, COMBINE_MAPS };
enum coils_whiten { WHITEN_NONE, WHITEN_EDGE, WHITEN_NOISE };
enum data_range { RANGE_VOLUME, RANGE_SLICE, RANGE_ATTRIBUTE };
enum reconstruct_method { RECONSTRUCT_AUTO, RECONSTRUCT_ZERO_FILLED, RECONSTRUCT_NETWORK, RECONSTRUCT_CG_SENSE, RECONSTRUCT_TV, RECONSTRUCT_WAVELET, RECONSTRUCT_VARNET, RECONSTRUCT_CALLBACK };
enum reconstruct_input { GIVEN_OBSERVATION, GIVEN_KSPACE, GIVEN_MAPS };
enum varnet_sense { SENSE_NETWORK, SENSE_MAPS };
enum network_input { INPUT_MAGNITUDE, INPUT_COMPLEX };
enum data_order { ORDER_SEQUENTIAL, ORDER_PERMUTED };
/* systems/sampling/geometry.h; pairs are lines of acquisition.pairs, which scan_geometry (scan_shape.h) tells. */
enum acquisition_geometry { GEOMETRY_LINES, GEOMETRY_SPOKES, GEOMETRY_POINTS, GEOMETRY_PAIRS };
enum observation_storage { OBSERVATION_F32, OBSERVATION_F16 };
enum evaluate_profile { PROFILE_L2SR, PROFILE_FASTMRI, PROFILE_PGMRI, PROFILE_PINEDA };
enum reward_metric { METRIC_SSIM, METRIC_SSIM_UNIFORM, METRIC_PSNR, METRIC_PSNR_UNCLAMPED, METRIC_NMSE, METRIC_MSE, METRIC_CALLBACK, METRIC_LOG_LIKELIHOOD };
enum reward_form { REWARD_SPARSE, REWARD_DENSE, REWARD_COMPAT }; /* known to kernels/score.cl */
enum train_schedule { SCHEDULE_STEP, SCHEDULE_MILESTONES };
#define METHOD_ENUMERATOR(enumerator, name) METHOD_##enumerator,
enum train_method { TRAIN_METHODS(METHOD_ENUMERATOR) METHOD_COUNT };
enum benchmark_keep { BENCHMARK_ALL, BENCHMARK_RESULTS };
enum ddqn_specific { DDQN_SUBJECT, DDQN_DATA_SET };
enum ddqn_observes { DDQN_ZERO_FILLED, DDQN_RECONSTRUCTION };
enum ddqn_estimator { DDQN_DOUBLE, DDQN_SINGLE };
enum ddqn_explores { DDQN_BY_SCAN, DDQN_BY_BATCH };
enum loupe_masks { LOUPE_BATCH, LOUPE_SAMPLE };
enum through_probability { THROUGH_SIGMOID, THROUGH_SOFTPLUS };
enum pgmri_estimator { PGMRI_GREEDY, PGMRI_NONGREEDY };
enum learn_algorithm { LEARN_A2C, LEARN_PPO };
enum learn_clone { CLONE_NONE, CLONE_ORACLE, CLONE_LBCS };
enum learn_optimiser { LEARN_AUTO, LEARN_RMSPROP, LEARN_ADAM };
enum learn_normalise { NORMALISE_AUTO, NORMALISE_OFF, NORMALISE_ON };
enum learn_baseline { BASELINE_CRITIC, BASELINE_GROUP, BASELINE_GROUP_CRITIC };
enum learn_schedule { LEARN_CONSTANT, LEARN_LINEAR, LEARN_COSINE };
enum learn_scaling { SCALING_NONE, SCALING_ROOT, SCALING_LINEAR };
enum evaluate_group { GROUP_AUTO, GROUP_FIXED, GROUP_JOINT };
enum alternate_augment { AUGMENT_ALL, AUGMENT_ROUNDS };
enum alternate_actions { ACTIONS_BEST, ACTIONS_DRAWN };
enum train_keep { KEEP_AUTO, KEEP_NEVER, KEEP_ALWAYS };
enum train_reduce { REDUCE_TREE, REDUCE_FREE };
enum train_masks { MASKS_BERNOULLI, MASKS_EXACT };

#endif
