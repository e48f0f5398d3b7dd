/* Which files a scene's data may come from: the folders of a split, fastMRI's own ones too, and what is said
 * where there is none. */
#ifndef L2SR_SYSTEMS_LISTING_H
#define L2SR_SYSTEMS_LISTING_H

#include "systems/dataset.h"

struct names {
  const char **path;
  size_t count, capacity;
};

void names_add(struct arena *arena, struct names *names, const char *path);
const char *names_file(const char *path); /* the name without folders */
int names_compare(const void *a, const void *b);

/* Every .h5 file that is not hidden, in no order; counts the others. Refuses names that stand in two folders
 * of a split: they are one scan twice. */
bool listing_make(struct dataset *dataset, struct names *names, const struct options *options,
                  struct error *error);

#endif
