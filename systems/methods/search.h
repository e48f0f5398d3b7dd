/* What tasks have alike that search masks for a reconstructor which does not change: they try actions by the oracle's
 * candidates, on training slices side by side, and validation scans have the masks so far. Rows: lbcs.c, suno.c. */
#ifndef L2SR_SYSTEMS_SEARCH_H
#define L2SR_SYSTEMS_SEARCH_H

#include "systems/methods/policy_task.h"

/* Facts of these tasks. */
struct search_way {
  const struct sampler *sampler; /* not by simulation_set: masks are not the scans' own */
  /* Adds what gives the validation's scans their masks. */
  void (*start)(struct simulation *simulation, struct schedule *schedule);
};

/* Refuses complex images. */
bool search_check(const struct options *options, const char *method, struct error *error);
bool search_describe(struct training *training, struct error *error);
struct simulation_plan search_plan(const struct training *training, const struct split *split, size_t slices);
/* The split's lists decide by the way's sampler, for the acquisition of the training. */
bool search_load(struct training *training, struct split *split, struct error *error);
void search_fill_validate(struct training *training, struct schedule *schedule);
void search_fill_scores(struct training *training, struct schedule *schedule);
/* Mean of the scene's metric over the validation slices. */
bool search_validate(struct training *training, double values[TRAINING_VALUES], struct error *error);

/* Lists of the validation data; `scans` says what they are. */
#define SEARCH_LISTS(scans)                                                                                  \
  VALIDATION_BEGINS, [VALIDATION_SCAN] = {"validate", scans, .validates = true, .fill = search_fill_validate}, \
                     [VALIDATION_SCORES] = {VALIDATION_SCORED, .fill = search_fill_scores}
#define SEARCH_TASK                                                                                          \
  .worked = "images", .advice = "name a reconstructor whose images are finite in learn.reconstructor",       \
  .one_setting = true, .unset = true, .validation = {"validation", policy_score_values, 1},   \
  .scores = true, .describe = search_describe, .load = search_load

#endif
