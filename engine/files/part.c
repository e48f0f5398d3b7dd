#include "engine/files/part.h"

#include "engine/files/descriptors.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

/* ---- an interrupted program removes them --------------------------------------------------------------- */

enum { UNFINISHED = 128 }; /* a report has two files a table */
static char unfinished[UNFINISHED][PART_PATH];
/* The process has one list. A signal may come between any two steps, and another thread take the next
 * slot. */
static atomic_int unfinished_used[UNFINISHED];
enum { SLOT_FREE, SLOT_TAKEN, SLOT_NAMED };

static int note_unfinished(const char *path) {
  for (int i = 0; i < UNFINISHED; i++) {
    int free_slot = SLOT_FREE;
    if (!atomic_compare_exchange_strong(&unfinished_used[i], &free_slot, SLOT_TAKEN)) continue;
    snprintf(unfinished[i], sizeof unfinished[i], "%s", path);
    unfinished_used[i] = SLOT_NAMED;
    return i;
  }
  return -1;
}

static void forget_unfinished(struct part_file *part) {
  if (part->slot >= 0) unfinished_used[part->slot] = SLOT_FREE;
  part->slot = -1;
}

void store_abandon_all(void) {
  for (int i = 0; i < UNFINISHED; i++)
    if (unfinished_used[i] == SLOT_NAMED) unlink(unfinished[i]);
}

/* ---- making -------------------------------------------------------------------------------------------- */

static const char ending[] = ".part";
enum { DIGITS = 16, TRIES = 100 };

static bool name_part(char *beside, const char *path) {
  uint64_t number;
  if (getrandom(&number, sizeof number, 0) != sizeof number) return false;
  int length = snprintf(beside, PART_PATH, "%s.%016llx%s", path, (unsigned long long)number, ending);
  if (length < PART_PATH) return true;
  errno = ENAMETOOLONG;
  return false;
}

static int make_plain(const char *path, void *context) {
  (void)context;
  return open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
}

/* File systems without locks write all the same. Before it was locked another program may have taken it for
 * one that was left, and removed it: false. */
static bool lock_part(int descriptor) {
  struct stat status;
  flock(descriptor, LOCK_EX | LOCK_NB);
  fcntl(descriptor, F_SETFD, FD_CLOEXEC); /* HDF5 does not */
  return fstat(descriptor, &status) == 0 && status.st_nlink > 0;
}

int part_make(struct part_file *part, const char *path, part_maker *make, void *context) {
  *part = (struct part_file){.slot = -1};
  snprintf(part->place, sizeof part->place, "%s", path);
  for (int i = 0; i < TRIES && name_part(part->path, path); i++) {
    part->slot = note_unfinished(part->path); /* a full disk refuses a file and yet leaves it */
    int descriptor = (make ? make : make_plain)(part->path, context);
    int why = errno;
    if (descriptor >= 0 && lock_part(descriptor)) return descriptor;
    if (descriptor >= 0 && !make)
      close(descriptor);
    else if (descriptor < 0 && why != EEXIST)
      unlink(part->path);
    forget_unfinished(part);
    errno = why;
    if (descriptor < 0 && why != EEXIST) return -1;
  }
  return -1;
}

/* ---- taking the place ---------------------------------------------------------------------------------- */

static bool sync_folder_of(const char *path) {
  char folder[PART_PATH];
  snprintf(folder, sizeof folder, "%s", path);
  char *slash = strrchr(folder, '/');
  if (slash) slash[slash == folder] = 0;
  int descriptor = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return errno == EACCES; /* a folder may take files and yet not be read */
  bool good = fsync(descriptor) == 0 || errno == EINVAL || errno == EROFS; /* not every file system does */
  close(descriptor);
  return good;
}

bool part_take_place(struct part_file *part) {
  if (!*part->path) return true;
  if (rename(part->path, part->place)) return false;
  forget_unfinished(part);
  return sync_folder_of(part->place);
}

void part_drop(struct part_file *part) {
  if (*part->path) unlink(part->path);
  forget_unfinished(part);
}

/* ---- those that were left ------------------------------------------------------------------------------ */

static bool ends_in(const char *name, size_t length, const char *end) {
  size_t bytes = strlen(end);
  return length >= bytes && !memcmp(name + length - bytes, end, bytes);
}

/* The files that earlier versions wrote beside their places. */
static bool is_of_kind(const char *name, size_t length) {
  static const char *const kinds[] = {".h5",  ".csv",  ".yaml", ".jsonl", ".json",  ".svg",
                                      ".png", ".html", ".tex",  ".txt",   ".clbin", ".l2sr"};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (ends_in(name, length, kinds[i])) return true;
  return false;
}

/* NAME.NUMBER.part: sixteen digits. Earlier versions wrote the number of their process, which is the name of
 * other programs' files too (setup-1.2.part): only of kinds that were written so. */
static bool is_part(const char *name) {
  size_t length = strlen(name), end = sizeof ending - 1;
  if (!ends_in(name, length, ending)) return false;
  const char *last = name + length - end, *digit = last;
  while (digit > name && strchr("0123456789abcdef", digit[-1])) digit--;
  if (digit == last || digit <= name + 1 || digit[-1] != '.') return false;
  bool process = *digit != '0' && strspn(digit, "0123456789") >= (size_t)(last - digit);
  return last - digit == DIGITS || (process && is_of_kind(name, (size_t)(digit - 1 - name)));
}

/* Whoever writes it holds its lock; where there are no locks, and for what is no file, it is left when it is
 * a day old. A link is removed itself, and is not followed. */
static bool is_left(int folder, const char *name) {
  struct stat status;
  if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) || S_ISDIR(status.st_mode)) return false;
  int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  int descriptor = S_ISREG(status.st_mode) ? openat(folder, name, flags) : -1;
  bool locked = descriptor >= 0 && flock(descriptor, LOCK_EX | LOCK_NB) == 0;
  bool held = descriptor >= 0 && !locked && errno == EWOULDBLOCK;
  if (descriptor >= 0) close(descriptor);
  return locked || (!held && status.st_mtime < time(NULL) - 24 * 60 * 60);
}

void parts_clear(const char *folder) {
  DIR *list = opendir(folder);
  for (struct dirent *entry; list && (entry = readdir(list));)
    if (is_part(entry->d_name) && is_left(dirfd(list), entry->d_name))
      unlinkat(dirfd(list), entry->d_name, 0);
  if (list) closedir(list);
}

/* ---- refusing ------------------------------------------------------------------------------------------ */

bool part_lacks_lock(const char *reason) {
  return strstr(reason, "unable to lock") || strstr(reason, strerror(ENOLCK));
}

void part_help(const char *path, const char *reason, char *text, size_t size) {
  struct statvfs disk;
  char folder[PART_PATH];
  const char *slash = strrchr(path, '/');
  snprintf(folder, sizeof folder, "%.*s/", slash ? (int)(slash - path) : 1, slash ? path : ".");
  *text = 0;
  if (part_lacks_lock(reason))
    snprintf(text, size, "; HDF5_USE_FILE_LOCKING=FALSE in the environment writes without locks");
  else if (strstr(reason, strerror(EFBIG)))
    snprintf(text, size, "; `ulimit -f` says how large a file may be: allow more");
  else if (strstr(reason, strerror(ENOSPC)) && !statvfs(folder, &disk))
    snprintf(text, size, "; %.1f MiB are free there: free more, or name another place",
             (double)disk.f_bavail * (double)disk.f_frsize / 0x1p20);
  else if (strstr(reason, strerror(EDQUOT)))
    snprintf(text, size, "; your share of that disk is used up: free some of it, or name another place");
}

bool part_refuse(const char *doing, const char *path, const char *beside, struct error *error) {
  char help[256] = "";
  const char *reason = errno == ENXIO ? "nobody reads what is written into it; start its reader first"
                                      : descriptors_reason(errno ? errno : EIO);
  if (beside) part_help(beside, reason, help, sizeof help);
  return fail_file(error, "cannot %s %s: %s%s", doing, path, reason, help);
}

bool part_refuse_place(const char *path, const char *place, struct error *error) {
  char named[2 * PART_PLACE + 16];
  bool same = !strcmp(path, place);
  int why = errno;
  snprintf(named, sizeof named, "%s%s%s", path, same ? "" : ", a link to ", same ? "" : place);
  errno = why;
  return part_refuse("write", named, place, error);
}

/* ---- text files ---------------------------------------------------------------------------------------- */

bool file_create(struct text_file *file, const char *path, struct error *error) {
  char place[PART_PLACE];
  bool straight;
  file->unfinished = false;
  snprintf(file->path, sizeof file->path, "%s", path);
  if (!part_place(place, path, &straight, error)) return false;
  int descriptor = straight ? part_straight(&file->part, place) : part_make(&file->part, place, NULL, NULL);
  file->file = descriptor < 0 ? NULL : fdopen(descriptor, "wb");
  file->unfinished = file->file;
  if (file->file) return true;
  part_refuse_place(file->path, place, error);
  if (descriptor < 0) return false;
  close(descriptor);
  part_drop(&file->part);
  return false;
}

void file_abandon(struct text_file *file) {
  if (!file->unfinished) return;
  if (file->file) fclose(file->file);
  file->file = NULL;
  file->unfinished = false;
  part_drop(&file->part);
}

bool file_refuse(struct text_file *file, struct error *error) {
  part_refuse("finish", file->path, *file->part.path ? file->part.path : NULL, error);
  file_abandon(file);
  return false;
}

/* An error of long before left no reason, but what is written now most often fails for the same. Pipes and devices are not
 * synced. */
static bool finish_writing(FILE *file, bool straight) {
  errno = 0;
  bool flushed = fflush(file) == 0;
  bool good = flushed && !ferror(file) && (straight || fsync(fileno(file)) == 0);
  int why = errno;
  if (fclose(file) && good) return false;
  if (!good) errno = why ? why : EIO;
  return good;
}

bool file_finish(struct text_file *file, struct error *error) {
  bool good = finish_writing(file->file, !*file->part.path);
  file->file = NULL;
  return good || file_refuse(file, error);
}

bool file_take_place(struct text_file *file, struct error *error) {
  if (!part_take_place(&file->part)) return file_refuse(file, error);
  file->unfinished = false;
  return true;
}

bool file_commit(struct text_file *file, struct error *error) {
  return file_finish(file, error) && file_take_place(file, error);
}

FILE *file_read(const char *path, struct error *error) {
  struct stat status = {.st_mode = 0};
  int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  bool plain = descriptor >= 0 && fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
  FILE *file = plain ? fdopen(descriptor, "rb") : NULL;
  if (file) return file;
  fail_file(error, "cannot open %s: %s", path,
            descriptor < 0 || plain    ? descriptors_reason(errno)
            : S_ISDIR(status.st_mode)  ? "it is a folder; name a file"
            : S_ISFIFO(status.st_mode) ? "it is a pipe, not a file; write what comes through it into a file"
                                       : "it is not a file");
  if (descriptor >= 0) close(descriptor);
  return NULL;
}

static bool is_given(const char *path) {
  static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
  for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
    if (!strncmp(path, folders[i], strlen(folders[i]))) return true;
  return !strcmp(path, "/dev/stdin") || !strcmp(path, "/dev/null");
}

FILE *file_read_given(const char *path, struct error *error) {
  if (!is_given(path)) return file_read(path, error);
  FILE *file = fopen(path, "rb");
  if (!file) fail_file(error, "cannot open %s: %s", path, descriptors_reason(errno));
  return file;
}

bool file_append(FILE **file, const char *path, struct error *error) {
  struct stat status;
  int descriptor = open(path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
  if (descriptor < 0 && errno == ELOOP)
    return fail_file(error, "cannot write %s: it is a link to another file; remove it, or name another place",
                     path);
  if (descriptor < 0) return fail_file(error, "cannot write %s: %s", path, descriptors_reason(errno));
  bool plain = fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
  if (plain && (*file = fdopen(descriptor, "ab"))) return true;
  close(descriptor);
  return fail_file(error, "cannot write %s: %s", path, plain ? descriptors_reason(errno) : "it is no file");
}

/* ---- folders ------------------------------------------------------------------------------------------- */

bool file_is_there(const char *path) {
  struct stat status;
  return stat(path, &status) == 0;
}

bool folder_is_there(const char *path) {
  struct stat status;
  return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

const char *folder_beside(struct arena *arena, const char *file, const char *const *paths) {
  const char *slash = strrchr(file, '/');
  for (; slash && *paths; paths++) {
    const char *folder = arena_text(arena, "%.*s/%s", (int)(slash - file), file, *paths);
    if (folder_is_there(folder)) return folder;
  }
  return NULL;
}

/* Makes a file beside it, and removes it again. */
static bool try_place(const char *place) {
  struct part_file part;
  int made = part_make(&part, place, NULL, NULL);
  if (made < 0) return false;
  close(made);
  part_drop(&part);
  return true;
}

bool file_try(const char *path, struct error *error) {
  char place[PART_PLACE];
  bool straight;
  if (!part_place(place, path, &straight, error)) return false;
  return straight || try_place(place) || part_refuse_place(path, place, error);
}

/* Hours of work should not end at a folder that nothing can be written into. */
static bool try_folder(const char *path, struct error *error) {
  char file[4096];
  snprintf(file, sizeof file, "%s/.l2sr", path);
  return try_place(file) || fail_file(error, "cannot write into %s: %s; name another place for the output", path,
                                      descriptors_reason(errno));
}

static bool refuse_folder(const char *path, int why, struct error *error) {
  return fail_file(error, "cannot make folder %s: %s; name another place for the output", path, strerror(why));
}

bool folder_make(const char *path, struct error *error) {
  char part[4096];
  snprintf(part, sizeof part, "%s", path);
  for (char *c = part; *c; c++)
    if (*c == '/' && c > part) {
      *c = 0;
      int why = mkdir(part, 0777) ? errno : 0;
      if (why && !file_is_there(part)) return refuse_folder(part, why, error);
      *c = '/';
    }
  if (mkdir(part, 0777) && errno != EEXIST) return refuse_folder(path, errno, error);
  if (!folder_is_there(part))
    return fail_file(error, "%s is not a folder; name another place for the output", path);
  parts_clear(part);
  return try_folder(path, error);
}

size_t folder_there(const char *path) {
  char part[4096];
  snprintf(part, sizeof part, "%s", path);
  size_t length = strlen(part);
  while (length && !file_is_there(part)) {
    while (length && part[length - 1] == '/') length--;
    while (length && part[length - 1] != '/') length--;
    part[length] = 0;
  }
  return length;
}

void folder_unmake(const char *path, size_t there) {
  char part[4096];
  snprintf(part, sizeof part, "%s", path);
  for (size_t length = strlen(part); length > there;) {
    int held;
    struct error ignored;
    if (!folder_hold(part, &held, &ignored)) return; /* another program has it, and makes its files next */
    rmdir(part);                                     /* not where something is in it */
    if (held >= 0) close(held);
    while (length > there && part[length - 1] == '/') length--;
    while (length > there && part[length - 1] != '/') length--;
    part[length] = 0;
  }
}

bool folder_hold(const char *path, int *descriptor, struct error *error) {
  *descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  bool taken = *descriptor >= 0 && flock(*descriptor, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK;
  if (!taken) return true;
  close(*descriptor);
  *descriptor = -1;
  return fail_file(error,
              "%s is in use: another program writes there; wait for its end, or name another place for the "
              "output",
              path);
}
