/* Lists the files that a scene's data may come from: the folders of a split, fastMRI's own ones too; and says
 * where there is none. */
#ifndef L2SR_SYSTEMS_LISTING_H
#define L2SR_SYSTEMS_LISTING_H

#include "components/options.h"
#include "engine/base/arena.h"
#include "engine/base/error.h"

#include <stddef.h>

struct names {
  const char **path;
  size_t count, capacity;
};

void names_add(struct arena *arena, struct names *names, const char *path);
const char *names_file(const char *path); /* the name without folders */
int names_compare(const void *a, const void *b);

struct listing {
  struct arena *arena;            /* the caller's */
  struct names names;             /* paths of all files that a format claims and that are not hidden, in no order */
  size_t entries, hidden, not_h5; /* entries of the folders, and those that are left out */
  const char *twice[2];           /* two files of different splits that have one name, or NULL */
};

/* Refuses names that stand in two folders of a split, which are one scan twice, and where there is no file.
 */
bool listing_make(struct listing *listing, const struct options *options, struct error *error);
/* Whether the split is of data.folds: both train and val are of the files of train. */
bool listing_has_folds(const struct options *options);
/* Whether data.path has a folder of the split: 0 train, 1 val, 2 test. */
bool listing_has_split(const struct options *options, unsigned split);

#endif
