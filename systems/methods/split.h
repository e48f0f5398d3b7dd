/* The slices of one split with a simulation over them, for policies. */
#ifndef L2SR_SYSTEMS_SPLIT_H
#define L2SR_SYSTEMS_SPLIT_H

#include "systems/methods/trainer.h"
#include "systems/scan/load.h"
#include "systems/scan/simulation.h"

struct split {
  struct options options; /* the scene's, with the split */
  struct dataset dataset;
  struct load_report report;
  struct simulation simulation;
};

/* How many slices there are is known when the data set is open: the plan follows. */
typedef struct simulation_plan split_plan(const void *context, const struct split *split, size_t slices);

/* split->options is set but for the split. */
bool split_open(struct split *split, struct device *device, enum data_split which, split_plan *plan,
                const void *context, const struct trainer_config *config, struct arena *arena,
                struct error *error);
void split_close(struct split *split); /* also where it is not open */
/* Mean of the scene's metric over the slices, one scan of each by its policy. */
bool split_score(struct split *split, double *score, struct error *error);
struct run_data split_data(const struct split *split);

#endif
