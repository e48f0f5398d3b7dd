#include "systems/data/kept.h"

#include "engine/base/lock.h"
#include "systems/data/format.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

struct kept {
  void *file; /* NULL: none */
  const struct volume_format *format;
  char path[PATH_MAX], variable[64];
  struct stat status;
};

static struct kept kept; /* the process has one; LOCK_UNPACKED guards it */

static bool same_file(const struct stat *a, const struct stat *b) {
  return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
         a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

bool kept_take(void **file, const struct kept_name *name, struct stat *status) {
  HOLD(LOCK_UNPACKED);
  if (!kept.file || kept.format != name->format || strcmp(kept.path, name->path) != 0 ||
      strcmp(kept.variable, name->variable) != 0 || stat(name->path, status) != 0 ||
      !same_file(&kept.status, status))
    return false;
  *file = kept.file;
  kept.file = NULL;
  return true;
}

static struct kept exchange(const struct kept *other) {
  HOLD(LOCK_UNPACKED);
  struct kept before = kept;
  kept = *other;
  return before;
}

void kept_give(void *file, const struct kept_name *name, const struct stat *status) {
  struct kept other = {.file = file, .format = name->format, .status = *status};
  bool fits = strlen(name->path) < sizeof other.path;
  snprintf(other.path, sizeof other.path, "%s", name->path);
  snprintf(other.variable, sizeof other.variable, "%s", name->variable);
  struct kept before = fits ? exchange(&other) : other;
  if (before.file) before.format->close(before.file);
}
