/* Labels of slices, numbers that others have given them (data.label): a column of a CSV file (data.labels), or an attribute or
 * a dataset of the volumes. */
#ifndef L2SR_SYSTEMS_LABELS_H
#define L2SR_SYSTEMS_LABELS_H

#include "engine/base/arena.h"
#include "systems/data/volume.h"

/* Sets `label` of every volume, in the arena, where the scene names one. Refuses a slice without a label by name, and what is
 * no finite number. */
bool labels_read(struct volume *volumes, size_t count, const struct options *options, struct arena *arena, struct error *error);

#endif
