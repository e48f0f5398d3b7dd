/* Patients of split train that are dealt to folds, of which one validates (PROTOCOL 1.2). */
#ifndef L2SR_SYSTEMS_FOLDS_H
#define L2SR_SYSTEMS_FOLDS_H

#include "components/options.h"
#include "systems/data/volume.h"

/* Of all volumes those of data.fold are kept where split val is asked for, those of the other folds where train is: patients
 * are dealt in the order of the SHA-256 of their ids. Refuses more folds than patients. */
bool folds_choose(const struct volume *volumes, size_t count, const struct options *options, bool *kept, struct error *error);

#endif
