/* Where files take their places (engine/files/part.h). */
#include "engine/files/part.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINKS_MOST = 40 }; /* as the kernel follows */

/* The number of an open file of the program's own; -1: it is none. */
static int own_number(const char *place) {
  static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
  for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
    const char *number = place + strlen(folders[i]);
    if (!strncmp(place, folders[i], strlen(folders[i])) && *number && !number[strspn(number, "0123456789")])
      return atoi(number);
  }
  return -1;
}

/* Puts what the link says in place of its name. */
static bool follow(char place[PART_PLACE]) {
  char to[PART_PLACE];
  ssize_t length = readlink(place, to, sizeof to);
  char *slash = strrchr(place, '/');
  size_t before = slash && to[0] != '/' ? (size_t)(slash + 1 - place) : 0;
  if (length < 0) return false;
  if (before + (size_t)length >= PART_PLACE) {
    errno = ENAMETOOLONG;
    return false;
  }
  memcpy(place + before, to, (size_t)length);
  place[before + (size_t)length] = 0;
  return true;
}

/* *status: st_mode 0 where nothing is there yet. */
static bool find(char place[PART_PLACE], struct stat *status) {
  for (int links = 0; own_number(place) < 0; links++) {
    if (lstat(place, status)) return (status->st_mode = 0, errno == ENOENT);
    if (!S_ISLNK(status->st_mode)) return true;
    errno = ELOOP;
    if (links == LINKS_MOST || !follow(place)) return false;
  }
  status->st_mode = S_IFIFO;
  return true;
}

static const char *named(mode_t mode) {
  return S_ISDIR(mode)    ? "it is a folder; name a file"
         : S_ISSOCK(mode) ? "it is a socket; name a file"
         : S_ISBLK(mode)  ? "it is a disk; name a file"
                          : "it is a pipe or a device, into which this kind of file, whose beginning is "
                            "written last, cannot be "
                            "written; name a file";
}

bool part_place(char place[PART_PLACE], const char *path, bool *straight, struct error *error) {
  struct stat status;
  if (strlen(path) >= PART_PLACE)
    return fail_file(error, "cannot write %.64s...: %s", path, strerror(ENAMETOOLONG));
  strcpy(place, path);
  if (!find(place, &status))
    return fail_file(error, "cannot write %s: %s", path,
                     errno == ELOOP ? "it is a link that leads to itself; remove it, or name another place"
                                    : strerror(errno));
  bool streams = S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode);
  if (straight) *straight = streams;
  if (!status.st_mode || S_ISREG(status.st_mode) || (straight && streams)) return true;
  return fail_file(error, "cannot write %s%s%s: %s", path, strcmp(place, path) ? ", a link to " : "",
                   strcmp(place, path) ? place : "", named(status.st_mode));
}

int part_straight(struct part_file *part, const char *place) {
  int own = own_number(place), flags = own < 0 ? 0 : fcntl(own, F_GETFL);
  *part = (struct part_file){.slot = -1};
  if (flags < 0) return -1;
  if ((flags & O_ACCMODE) == O_RDONLY && own >= 0) {
    errno = EBADF;
    return -1;
  }
  if (own >= 0) return fcntl(own, F_DUPFD_CLOEXEC, 0);
  int descriptor = open(place, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (descriptor >= 0) fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK);
  return descriptor;
}
