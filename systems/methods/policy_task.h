/* What tasks have alike that train a policy, with a reconstructor that only scores and does not change: the
 * policy, its passes backward, validation by scans of it, and what checkpoints hold. Rows: l2s.c, pgmri.c. */
#ifndef L2SR_SYSTEMS_POLICY_TASK_H
#define L2SR_SYSTEMS_POLICY_TASK_H

#include "systems/training/task_networks.h"

/* Own state of these tasks begins with it. */
struct policy_learning {
  size_t rows;            /* images that an update learns from, at most */
  uint32_t *order;        /* of what an update or an epoch takes */
  float *terms, *rewards; /* room to read those columns into */
  uint32_t
      *choices; /* [steps][actions]: validation scans that chose the action at this step; NULL: not counted */
};

struct policy_learning *policy_learning_of(const struct training *training);

/* ---- for rows ------------------------------------------------------------------------------------------ */

/* dense: it looks at reconstructions, and is rewarded in every step. */
struct policy_setup policy_task_setup(struct device *device, struct kernels *kernels,
                                      const struct options *options, size_t rows, bool dense);
/* Opens it for updates of so many rows by that setup, or by another opener, with new parameters. */
typedef bool policy_opener(struct training *training, const struct policy_setup *setup, struct error *error);
bool policy_task_open(struct training *training, size_t rows, bool dense, policy_opener *open,
                      struct error *error);
bool policy_task_begin(struct training *training, struct error *error);
const char *policy_task_origin(const struct training *training);
bool policy_task_write(const struct training *training, struct store *store, struct error *error);
bool policy_task_read(struct training *training, struct store *store, struct error *error);
/* All but .open and .optimiser of the row of a policy that learns. */
#define POLICY_NETWORK                                                                                       \
  .close = training_close_policy, .graph = training_policy_graph, .begin = policy_task_begin,                \
  .origin = policy_task_origin, .write = policy_task_write, .read = policy_task_read

/* Whether it can start from that checkpoint, which is of the scene's scans. */
bool policy_task_fits(struct device *device, const struct options *options, bool dense, const char *path,
                      struct error *error);
bool policy_task_load(struct training *training, struct split *split, struct error *error);
/* Room for an order of so many, and for the columns that are looked at; `lower`: keys to lower where there is
 * none. */
bool policy_task_room(struct training *training, size_t ordered, const char *lower, struct error *error);
bool policy_task_count_choices(struct training *training, struct error *error);
/* The terms of so many rows, `words` each, of which every rank has those that it took of every `most`. */
void policy_task_share_terms(const struct training *training, size_t words, size_t rows, size_t most);
void policy_task_add_optimise(struct training *training, struct schedule *schedule);
bool policy_task_validate(struct training *training, double values[TRAINING_VALUES], struct error *error);
struct event_picture policy_task_picture(const struct training *training, struct arena *arena);
/* The last lists, of the validation data: what comes before its scans, the scans, and what is read of them. */
enum { VALIDATION_RESTART = TASK_LISTS - 3, VALIDATION_SCAN, VALIDATION_SCORES };
#define VALIDATION_BEGINS                                                                                    \
  [VALIDATION_RESTART] = {"restart", "before the scans of a validation", .validates = true,                  \
                          .in_training = offsetof(struct training, validation.simulation.restart)}
#define VALIDATION_SCORED                                                                                    \
  "scores", "after the scans of a part of the validation slices", .validates = true, .host = true
/* Those of a policy; `scans` says what they are. */
#define POLICY_LISTS(scans, scores)                                                                          \
  VALIDATION_BEGINS,                                                                                         \
      [VALIDATION_SCAN] = {"validate", scans, .validates = true,                                             \
                           .in_training = offsetof(struct training, validation.simulation.scan)},            \
      [VALIDATION_SCORES] = {VALIDATION_SCORED, .rows = scores}
extern const struct log_value policy_score_values[];

#define POLICY_TASK                                                                                          \
  .name = "policy", .start = "learn.start", .onward = "learn.start", .one_setting = true,                    \
  .validation = {"validation", policy_score_values, 1}, .scores = true

/* Keys that every policy's numbers follow from. */
#define POLICY_READS "data.", "import.", "acquisition.", "world.", "network.", "reconstruct.", "policy.", "reward.metric", "reward.scale", "train.reduce"

/* The policy's backward pass, of the simulation's pass; its context is the simulation. */
extern const struct system system_zero_policy, system_backward_policy;
extern const struct system *const policy_task_systems[];

#endif
