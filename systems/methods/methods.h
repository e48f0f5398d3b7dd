/* Trains a method (method.h) in stages, and lists what it runs.
 *
 * A method of one stage trains in train.output itself: a reconstructor, and what learns masks beside it. One
 * of several has folders in it, as
 *
 *   reconstructor         where learn.reconstructor and alternate.start name none: trained first (start.h)
 *   policy_1              the policy, with that reconstructor scoring; mask_1 of what grows a mask by it
 *   reconstructor_1       where both are trained in turn: the reconstructor on the policy's masks, with a new
 *                         optimiser
 *   policy_2 ...          the policy goes on, scored by the last reconstructor
 *
 * A stage takes its predecessors' best reconstructor and last policy. Going on skips what is finished and
 * goes on inside of what is not. stages.jsonl holds the validation score after every stage, and after the
 * rounds which of them is the best. */
#ifndef L2SR_SYSTEMS_METHODS_H
#define L2SR_SYSTEMS_METHODS_H

#include "systems/methods/method.h"
#include "systems/training/lists.h"

struct stage {
  const struct task *task;
  char name[32];  /* its folder; "": train.output itself */
  const char *list; /* what its lists are of */
  uint32_t round; /* from 1; 0: before the first */
  double score;   /* its last validation: the scene's metric of the policy's scans, with the round's
                     reconstructor of the same ones; SSIM of the first reconstructor */
  double best;    /* that of the epoch or rollout that is selected; NaN where none is */
};

/* A round is as good as its policy with its reconstructor. */
struct best_round {
  uint32_t round, rounds; /* which, of how many */
  double score;
  const char *decides; /* the folder, less its round, of what decides beside the reconstructor */
};

struct method_config {
  bool resume;
  void (*see)(const struct training *training, const struct log_record *record, void *context);
  void (*see_stage)(const struct stage *stage, void *context); /* NULL allowed, as the one before and after */
  void (*see_best)(const struct best_round *best, void *context);
  /* At the end of a stage, before the next: it is still open. */
  bool (*end)(struct training *training, const struct stage *stage, void *context, struct error *error);
  bool (*stop)(
      void *context); /* asked after every unit; true: the training is refused as ERROR_STOPPED. NULL: never */
  void *context;
  const char *kernel_folder;
};

/* The stage, or the best round, as a line of stages.jsonl. */
void method_print_stage(const struct stage *stage, FILE *file);
void method_print_best(const struct best_round *best, FILE *file);

/* Trains what the scene's method names, all stages. */
bool method_train(struct device *device, const struct options *options, const struct method_config *config,
                  struct error *error);

/* All lists of systems of the scene's training, and of evaluating its first sampler; they are in the arena.
 */
bool method_lists(struct lists *lists, const struct options *options, struct arena *arena,
                  struct error *error);

#endif
