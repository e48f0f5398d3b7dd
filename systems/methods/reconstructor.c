/* A reconstructor on masks of heuristics (PROTOCOL 1.10). */
#include "systems/methods/fit.h"
#include "systems/methods/method.h"

const struct task task_reconstructor = {FIT_TASK,
                                        .reads = KEYS(FIT_READS, "acquisition.geometry", "acquisition.pairs",
                                                      "acquisition.padded_left", "acquisition.padded_right",
                                                      "acquisition.initial_side", "sampler.polynomial_power",
                                                      "sampler.gaussian_width", "sampler.mask", "train.masks",
                                                      "train.sampler", "train.accelerations",
                                                      "train.initial_accelerations"),
                                        .start = "train.start",
                                        .onward = "train.start",
                                        .more = "train.epochs",
                                        .bytes = sizeof(struct fitting),
                                        .networks = {&network_learned_reconstructor},
                                        .lists = {FIT_LISTS},
                                        FIT_EPOCHS,
                                        .check = fit_check,
                                        .fits = fit_fits};

const struct method method_reconstructor = {
    .name = "reconstructor",
    .doc = "the network that makes an image of a zero-filled one, on masks of heuristics",
    .paper = "U-Net, arXiv:1505.04597; as in L2SR, doi:10.1088/1361-6420/ad3b34",
    .networks = "U-Net",
    .systems = fit_systems,
    .stages = {&task_reconstructor}};
