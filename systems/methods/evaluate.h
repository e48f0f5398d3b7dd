/* Runs every sampler of a scene over all slices at every setting, and keeps what it measured. */
#ifndef L2SR_SYSTEMS_EVALUATE_H
#define L2SR_SYSTEMS_EVALUATE_H

#include "systems/data/dataset.h"
#include "systems/methods/scoring.h"
#include "systems/scan/load.h"
#include "systems/scan/simulation.h"
#include "systems/training/lists.h"

struct evaluate_run {
  struct acquisition acquisition;
  const struct sampler *sampler;
  size_t scans; /* of every slice one or, where lines are drawn, evaluate.trajectories: [trajectory][slice] */
  float *metric[METRICS]; /* [scan][steps + 1]: after 0, 1, ... lines (of points none and all); NULL if not
                             computed. A volume's stands with its first slice, and NaN with the others */
  const bool *holds[METRICS]; /* [slice]: its scans have a score, for it is of volumes; NULL: all have one */
  size_t slices;
  float *returns;         /* [scan]: sum of the rewards */
  uint8_t *mask;          /* [scan][actions]: at the end */
  uint32_t *action;       /* [scan][steps]; of points none */
  float *images; /* [scan][height][width] reconstructions at the end, when asked for; or [kept] of them */
  double seconds;
};

struct evaluation {
  struct arena *arena; /* owns everything below */
  struct dataset dataset;
  struct load_report report;
  struct scan_shape shape;
  size_t slices;
  const struct scoring *scoring; /* whose scores; NULL: l2sr's */
  struct scoring_data scores;    /* where there is one */
  bool curves;       /* false: only the last column of metric holds numbers */
  float *truth; /* what was scored: [slice][height][width], when images are asked for; or [kept] of them */
  float *maps;       /* [slice][coils][height][width], pairs, when they are asked for and there are any */
  size_t coils;      /* of maps; 1: there is one coil, or none */
  uint32_t *kept;    /* rows of evaluate.keep, where not all images are asked for */
  size_t kept_count;
  const char *reconstructor; /* what made the images, in words */
  char classifier[65];       /* hash of what scored them by their labels; "": nothing did */
  struct evaluate_run *runs;
  size_t run_count;
};

struct evaluate_config {
  bool images;
  bool maps; /* of coils, too */
  const char *kernel_folder; /* --kernels; "" for the embedded ones */
  size_t rows;               /* of the slices the first so many; 0: all */
  const struct slices_in_memory *slices; /* in memory, in place of data.path; NULL: files */
  int (*stop)(void *context); /* asked before every batch of scans; not 0: refused as ERROR_STOPPED. NULL: never */
  void *context;              /* of `stop` */
};

/* Adds the lists that evaluate the scene by each of its samplers. */
bool evaluate_list(struct lists *lists, const struct options *options, struct arena *arena, struct error *error);
/* Columns of the scan by the scene's first sampler, with those that are loaded. */
bool evaluate_columns(const struct options *options, struct arena *arena, component_set *columns, struct error *error);

/* Refuses metrics and samplers that there are not; evaluate_open does so too. */
bool evaluate_check(const struct options *options, struct error *error);
/* Refuses checkpoints that are of other networks or scans than the scene's; opens none of them. */
bool evaluate_check_files(struct device *device, const struct options *options, struct error *error);
bool evaluate_open(struct evaluation *evaluation, struct device *device, const struct options *options,
                   const struct evaluate_config *config, struct error *error);
void evaluate_close(struct evaluation *evaluation);

/* Mean over the scans of the cells of k-space that their masks acquired. */
double evaluate_cells(const struct evaluate_run *run);

/* Mean and population deviation of metric_list[metric] after `steps` lines, over the scans or, of volumes,
 * over those of volumes; of points 1 is all. */
void evaluate_mean(const struct evaluate_run *run, size_t metric, size_t steps, double *mean, double *std);

#endif
