/* HDF5's locks: a writer holds an exclusive one on the whole file, readers share one. */
#include "engine/files/descriptors.h"
#include "engine/files/store_inside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* The variable that turns locks off in every program that uses HDF5. */
static bool are_wanted(void) {
  const char *word = getenv("HDF5_USE_FILE_LOCKING");
  return !word || (strcmp(word, "FALSE") != 0 && strcmp(word, "0") != 0);
}

/* What file systems without locks say: network mounts without a lock server, read-only media. */
static bool has_none(int why) {
  return why == ENOSYS || why == EOPNOTSUPP || why == ENOLCK || why == EROFS;
}

/* 0, or the reason. */
static int share(int file) {
  int code;
  while ((code = flock(file, LOCK_SH | LOCK_NB)) && errno == EINTR) continue;
  return code ? errno : 0;
}

static int open_quickly(const char *path) {
  return open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

bool store_lock(const char *path, int *file, struct error *error) {
  *file = open_quickly(path);
  if (*file < 0) return fail_file(error, "cannot open %s: %s", path, descriptors_reason(errno));
  int why = are_wanted() ? share(*file) : 0;
  if (!why || has_none(why)) return true;
  close(*file);
  *file = -1;
  if (why != EWOULDBLOCK) return fail_file(error, "cannot lock %s: %s", path, strerror(why));
  return fail_busy(
      error,
      "%s is being written: another program holds its lock, and what it has not written yet would be "
      "read as zeros; wait until it closes the file",
      path);
}

static void set_locks(hid_t access, bool use) {
#if H5_VERSION_GE(1, 10, 7) && !(H5_VERS_MAJOR == 1 && H5_VERS_MINOR == 12 && H5_VERS_RELEASE < 1)
  H5Pset_file_locking(access, use, true);
#else
  (void)access, (void)use;
#endif
}

void store_without_locks(hid_t access) {
  set_locks(access, false);
}

/* Other files that an external link or a virtual dataset leads to are opened and locked by HDF5 alone. */
hid_t store_open_locked(const char *path, hid_t access) {
  char reason[REASON];
  set_locks(access, are_wanted());
  hid_t file = H5Fopen(path, H5F_ACC_RDONLY, access);
  if (file >= 0 || !part_lacks_lock(store_reason(reason)) || strstr(reason, strerror(EWOULDBLOCK)))
    return file;
  set_locks(access, false);
  return H5Fopen(path, H5F_ACC_RDONLY, access);
}
