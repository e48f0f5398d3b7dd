/* The slices of one split with a simulation over them. */
#ifndef L2SR_SYSTEMS_SPLIT_H
#define L2SR_SYSTEMS_SPLIT_H

#include "systems/scan/load.h"
#include "systems/scan/simulation.h"
#include "systems/training/run_files.h"

struct training_config;

struct split {
  struct options options; /* the scene's, with the split; the caller sets them */
  struct dataset dataset;
  struct load_report report;
  struct simulation simulation;
};

/* Opens the data set; the plan follows from how many slices it has at most. */
bool split_find(struct split *split, const struct training_config *config, size_t *slices,
                struct error *error);
/* Opens the simulation and loads the slices. */
bool split_load(struct split *split, struct device *device, struct simulation_plan plan,
                const struct training_config *config, struct arena *arena, struct error *error);
void split_close(struct split *split); /* also where it is not open */

/* One scan of every slice, and what it leaves. */
struct split_scans {
  const struct schedule *scan; /* NULL: the simulation's own */
  const struct system *save; /* the host's row that reads it, */
  unsigned score;            /* of this column */
};
/* The scores of all slices, of all ranks, and actions of each: [slice][step]; NULL: none. */
bool split_scan(struct split *split, const struct split_scans *how, float *of, uint32_t *action, struct error *error);
/* Mean of the scene's metric over the slices, one scan of each by the policy; counts its actions by step
 * (choices: [budget][lines]; NULL: not). */
bool split_score(struct split *split, uint32_t *choices, double *score, struct error *error);
size_t split_choices(const struct acquisition *acquisition); /* how many counts these are */
/* What the host does for it after the scans of a part of the slices. */
extern const struct system *const split_scores[], *const split_scores_and_choices[];
struct run_data split_data(const struct split *split);

#endif
