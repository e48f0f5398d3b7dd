/* What ranks that train together must have alike: each tells it, and each compares. */
#ifndef L2SR_SYSTEMS_RANK_CARD_H
#define L2SR_SYSTEMS_RANK_CARD_H

#include "systems/training/run_files.h"

/* Refuses, on every rank, one that has another version, scene, data, device or place in the training than the first,
 * naming rank and host. Options that say where files are may differ. */
bool rank_card_compare(const struct run_files *run, uint64_t done, struct error *error);

#endif
