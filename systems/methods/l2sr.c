/* L2SR: policy and reconstructor in turn (Algorithm 1). The reconstructor's part of a round is fitted to
 * masks that the round's policy makes; alternate.* says how both parts are trained. */
#include "systems/methods/fit.h"
#include "systems/methods/learn.h"
#include "systems/methods/method.h"

#include <math.h>

/* ---- the reconstructor's part of a round --------------------------------------------------------------- */

const struct task task_round = {
    FIT_TASK,
    .reads = KEYS(FIT_READS, "acquisition.", "reward.metric"),
    .onward = "learn.reconstructor",
    .more = "alternate.epochs",
    .one_setting = true,
    .bytes = sizeof(struct fitting),
    .networks = {&network_learned_reconstructor, &network_fixed_policy},
    .lists = {FIT_LISTS},
    .validation = {"epoch", fit_round_values, 1 << EPOCH_VAL_LOSS | 1 << EPOCH_VAL_SCORE},
    .score = EPOCH_VAL_SCORE,
    .check = fit_check};

/* ---- the method ---------------------------------------------------------------------------------------- */

static void set_policy(struct options *options, uint32_t round) {
  if (round > 1 && options->alternate.policy_rate > 0) options->learn.rate = options->alternate.policy_rate;
  options->learn.rate /= pow(options->alternate.policy_divisor, round - 1.0);
  if (round > 1 && options->alternate.entropy >= 0) options->learn.entropy = options->alternate.entropy;
}

static void set(struct options *options, const struct task *task, uint32_t round) {
  (task == &task_round ? fit_set_round : set_policy)(options, round);
}

const struct method method_l2sr = {.name = "l2sr",
                                   .doc =
                                       "policy and reconstructor in turn, each on what the other has become",
                                   .paper = "L2SR, doi:10.1088/1361-6420/ad3b34",
                                   .networks = "policy with a critic, U-Net",
                                   .beside = {&network_policy},
                                   .stages = {&task_reconstructor, &task_policy, &task_round},
                                   .alternates = true,
                                   .set = set};
