/* Whose the volumes are: attribute patient_id, or the file's name where it says none. Files of one patient
 * resemble each other more than those of two. */
#ifndef L2SR_SYSTEMS_PATIENTS_H
#define L2SR_SYSTEMS_PATIENTS_H

#include "systems/data/dataset.h"

size_t patients_count(const struct dataset *dataset);
/* What is in doubt where two splits, which are called so, have files with one patient_id; NULL: they have
 * none. */
const char *patients_shared(struct arena *arena, const struct dataset *first, const char *first_name,
                            const struct dataset *second, const char *second_name);

/* Of all volumes those of data.fold stay where split val is asked for, those of the other folds where train is: patients are
 * dealt in the order of the SHA-256 of their ids. Refuses more folds than patients. */
bool patients_take_fold(struct dataset *dataset, const struct options *options, struct error *error);

#endif
