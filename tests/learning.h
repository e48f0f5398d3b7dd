/* Helpers of tests that train a policy: a scene of tiny networks on phantoms, its training, and the reconstructor that
 * scores it. */
#ifndef L2SR_TESTS_LEARNING_H
#define L2SR_TESTS_LEARNING_H

#include "systems/methods/learn.h"
#include "tests/support.h"

enum { N = 32, SLICES = 12, SCANS = 6, LINES = 5, ROWS = SCANS * LINES };

struct learning_run {
  struct folder *folder;
  struct device *device;
  struct arena *arena;
  struct options options;
  struct training_config config;
  struct training training;
};

/* 3 lines, then 5; its reconstructor is unet/best.h5. output: a folder's name; NULL: nothing is written. */
void set_learning(struct learning_run *run, struct folder *folder, struct device *device, const char *output,
                  uint64_t rollouts);
void open_learning(struct learning_run *run);
void run_learning(struct learning_run *run);
void close_learning(struct learning_run *run);
/* Opening fails with `part` in the text; the run's options stay. */
void refuse_learning(struct learning_run *run, const char *part);
/* Trains a reconstructor by the run's options, which are gone then. */
void train_unet(struct learning_run *run, const char *output);

#endif
