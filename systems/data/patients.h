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

#endif
