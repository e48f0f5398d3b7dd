/* What ranks that train together must have alike: each tells it, and each compares. */
#ifndef L2SR_SYSTEMS_RANK_CARD_H
#define L2SR_SYSTEMS_RANK_CARD_H

#include "systems/training/run_files.h"

/* Refuses, on every rank, one that has another version, scene, data, device or place in the training than the first,
 * naming rank and host. Options that say where files are may differ. Data without a hash are none. */
bool rank_card_compare(const struct run_files *run, uint64_t done, struct error *error);

/* How many shards the updates of a training have (train.shards): what the scene says, or the checkpoint that it goes on
 * from, else 1 for one rank and 8 for several. Refuses another number than the checkpoint's, one that is no power of two,
 * and more ranks than shards. folder: NULL, or where last.h5 may be, which counts where it goes on. */
bool rank_card_shards(const struct options *options, const struct ranks *ranks, const char *folder, bool resume,
                      uint32_t *shards, struct error *error);

#endif
