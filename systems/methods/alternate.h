/* Trains a policy with a reconstructor (L2S, PG-MRI), or both in turn (L2SR; PROTOCOL 1.11), as stages in
 * folders of train.output:
 *
 *   reconstructor         where learn.reconstructor names none: trained first, as train.* says
 *   policy_1              the policy, with that reconstructor scoring: L2S, PG-MRI
 *   reconstructor_1       l2sr: the reconstructor on the policy's trajectories, with a new optimiser
 *   policy_2 ...          the policy goes on, scored by the last reconstructor
 *
 * A stage takes its predecessors' best reconstructor and last policy. Going on skips what is finished and
 * goes on inside of what is not. stages.jsonl holds the validation score after every stage. */
#ifndef L2SR_SYSTEMS_ALTERNATE_H
#define L2SR_SYSTEMS_ALTERNATE_H

#include "systems/methods/learn.h"
#include "systems/methods/pgmri.h"
#include "systems/methods/train.h"

struct stage {
  char name[32];
  bool policy;    /* else a reconstructor */
  uint32_t round; /* from 1; 0: before the first */
  double score; /* its last validation: the scene's metric of the policy's scans, SSIM of the reconstructor */
  double best;  /* its best one; NaN where none is selected by it */
};

struct alternate_wish {
  bool resume;
  void (*see_epoch)(const struct training *training, void *context); /* NULL allowed, as the others */
  void (*see_look)(const struct learning *learning, void *context);
  void (*see_update)(const struct pgmri *pgmri, void *context);
  void (*see_stage)(const struct stage *stage, void *context);
  /* At the end of a stage, before the next. */
  bool (*draw_training)(const struct training *training, struct error *error);
  bool (*draw_learning)(const struct learning *learning, struct error *error);
  void *context;
  const char *kernel_folder;
};

/* The stage as a line of stages.jsonl. */
void alternate_print_stage(const struct stage *stage, FILE *file);

/* Whether train.method is trained in stages. */
bool alternate_takes(const struct options *options);

bool alternate_run(struct device *device, const struct options *options, const struct alternate_wish *wish,
                   struct error *error);

#endif
