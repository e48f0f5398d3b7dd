/* Minibatches of what a network is trained or validated on: the slices of one split, in an order, each with a
 * mask of its own.
 *
 * An epoch is drawn at its start into the table EPOCH: training shuffles the slices and gives each a fresh
 * mask, validation keeps order and masks. Both are pure functions of the seed and the epoch: sample i of
 * epoch e is the scan with number e * slices + i, whatever the batch. Training slices are moved before that,
 * as data.augment says. */
#ifndef L2SR_SYSTEMS_MINIBATCH_H
#define L2SR_SYSTEMS_MINIBATCH_H

#include "systems/scan/slice_cache.h"
#include "systems/scan/transform.h"
#include "systems/training/lists.h"
#include "systems/training/split.h"

enum { PAIRS_MOST = 32 };

struct minibatch_setup {
  size_t batch;  /* samples at a time at most */
  bool validate; /* fixed order and masks; batches are reconstructed and scored, with a policy by its reward's
                    metric too */
  bool learns;   /* masks are learned beside the reconstructor: training takes slices alone */
  bool images;   /* batches are reconstructed as the scene says, and nothing else */
  bool policy;   /* masks by the policy that simulation.policy is set to before the first epoch */
  uint32_t round; /* of an alternation: slices are moved otherwise than in the rounds before */
  bool made;      /* slices are a benchmark's: they are not moved */
  bool opens;     /* a device follows: else lists are described of the data as they are (lists_slices) */
  component_set columns; /* of schedules over this data that are not the minibatches' */
};

struct minibatches {
  struct minibatch_setup setup;
  struct split *split;
  struct arena *arena;
  struct acquisition pair[PAIRS_MOST]; /* the mixture */
  size_t pairs;
  const struct sampler *sampler; /* of exact masks */
  size_t slices;
  struct augment augment;
  struct transform moves; /* of all slices, where they are moved and there is no cache of them */
  struct slice_order order; /* slice of every sample of the running epoch */
  uint32_t *rows;         /* room for rows of a cache */
  uint32_t scan;          /* number of the running epoch's first scan */
  size_t pair_at;         /* of exact masks: the pair that is scanned for */
  size_t row, sample;     /* its first row of EPOCH; the first sample that is selected */
  struct schedule ordering, masks; /* draw those of an epoch */
};

/* Describes, without a device, what the lists of a split follow from, whose options are set. Must not move from here on.
 */
bool minibatch_describe(struct minibatches *batches, struct split *split, const struct minibatch_setup *setup,
                        struct arena *arena, struct error *error);
/* What the split's simulation has room for; columns of lists that are not the minibatches' are the caller's. */
struct simulation_plan minibatch_plan(const struct minibatches *batches, size_t slices);
/* Notes how its masks are made. */
void minibatch_note(const struct minibatches *batches, struct lists *lists, const char *stage, struct arena *arena);
/* The split is loaded. */
bool minibatch_open(struct minibatches *batches, struct error *error);
void minibatch_close(struct minibatches *batches); /* one that was never opened is allowed */

/* Draws the epoch's order and masks. */
bool minibatch_epoch(struct minibatches *batches, uint32_t epoch, struct error *error);
/* Adds what sees to it that the slices of the next minibatch's samples are on the device, in the rows that
 * EPOCH_slice says. */
void minibatch_add_load(struct minibatches *batches, struct schedule *schedule);
/* The next minibatch is of `count` samples from `first` on. */
void minibatch_select(struct minibatches *batches, size_t first, size_t count);
/* Adds the systems that gather samples, observe, and encode or reconstruct and score. */
void minibatch_add(struct minibatches *batches, struct schedule *schedule);
/* The systems that draw the masks of an epoch. */
void minibatch_add_masks(struct minibatches *batches, struct schedule *schedule);

extern const struct system *const minibatch_systems[];
extern const struct system system_load_pairs; /* what minibatch_open writes */

/* The pairs of train.accelerations and train.initial_accelerations as acquisitions: exact budgets. */
bool minibatch_pairs(struct minibatches *batches, struct error *error);
/* Probability of a line beside the initial ones (PROTOCOL 1.10). */
double minibatch_chance(const struct acquisition *pair);

#endif
