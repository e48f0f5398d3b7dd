/* A look at the middle slice of every volume: what opens may still be unreadable, or not what it seems. */
#ifndef L2SR_SYSTEMS_PROBE_H
#define L2SR_SYSTEMS_PROBE_H

#include "systems/data/dataset.h"

/* Volumes that cannot be read become broken ones, others' doubts notes (both refused with data.strict). */
bool dataset_probe(struct dataset *dataset, const struct options *options, struct error *error);

#endif
