#include "systems/formats/unpacked.h"

#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A path as a pattern of itself. */
static void escape(const char *path, char pattern[2 * PART_PATH]) {
  for (; *path; *pattern++ = *path++)
    if (strchr("*?[\\", *path)) *pattern++ = '\\';
  *pattern = 0;
}

/* What a child that ended had half written beside it goes, too. */
void unpacked_drop(struct part_file *part) {
  char pattern[2 * PART_PATH + 8];
  glob_t found;
  escape(part->path, pattern);
  strcat(pattern, ".*.part");
  if (!glob(pattern, GLOB_NOSORT, NULL, &found)) {
    for (size_t i = 0; i < found.gl_pathc; i++) unlink(found.gl_pathv[i]);
    globfree(&found);
  }
  part_drop(part);
}

bool unpacked_make(struct part_file *part, const struct volume *volume, const char *how, char *told,
                   size_t size, struct error *error) {
  const char *folder = getenv("TMPDIR");
  struct stat status;
  char path[PART_PATH], whole[256];
  if (stat(volume->path, &status))
    return fail_file(error, "cannot open %s: %s", volume->path, strerror(errno));
  if (!S_ISREG(status.st_mode)) return fail_file(error, "%s is no file; give the file itself", volume->path);
  snprintf(path, sizeof path, "%.4000s/l2sr-unpacked", folder && *folder ? folder : "/tmp");
  snprintf(whole, sizeof whole, "%s:%.200s", volume->format->name, how);
  int file = part_make(part, path, NULL, NULL);
  if (file < 0) return part_refuse("write", path, path, error);
  close(file);
  struct probe_unpacking unpacking = {volume->path, whole, part->path, volume->format->library, told, size};
  told[0] = 0;
  enum probe_found found = probe_unpack(&unpacking, error);
  unpacking.how = how;
  if (found == PROBE_FOUND || (found == PROBE_UNASKED && volume->format->unpack(&unpacking, error)))
    return true;
  unpacked_drop(part);
  return false;
}

bool unpacked_array(struct array *array, const struct volume *volume, struct error *error) {
  struct part_file part;
  char told[AXES_MOST + 1];
  if (!unpacked_make(&part, volume, volume->choice.variable, told, sizeof told, error)) return false;
  bool good = array_open_npy(array, part.path, error);
  unpacked_drop(&part);
  array->told.sure = array->height_first = true;
  snprintf(array->told.letter, sizeof array->told.letter, "%s", told);
  return good;
}

bool unpacked_array_open(void **file, const struct volume *volume, struct error *error) {
  return array_file_open(file, volume, unpacked_array, error);
}

/* ---- in the child -------------------------------------------------------------------------------------- */

bool unpacking_begin(struct unpacking *unpacking, const struct probe_unpacking *of, bool complex, int rank,
                     const size_t *size, struct error *error) {
  double bytes = complex ? 8 : 4, host = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
  for (int i = 0; i < rank; i++) bytes *= (double)size[i];
  *unpacking = (struct unpacking){.path = of->path};
  if (bytes > host / 2)
    return fail_file(error,
                     "%s holds %.3g GiB, too much for a host of %.0f GiB; the file is broken or must be cut",
                     of->path, bytes / 0x1p30, host / 0x1p30);
  unpacking->file = fopen(of->to, "we");
  if (!unpacking->file) return fail_file(error, "cannot write %s: %s", of->to, strerror(errno));
  array_begin_npy(unpacking->file, complex ? ARRAY_C64 : ARRAY_F32, true, rank, size);
  return true;
}

bool unpacking_end(struct unpacking *unpacking, bool good, struct error *error) {
  if (!unpacking->file) return good;
  bool written = !ferror(unpacking->file);
  int why = errno;
  if (fclose(unpacking->file)) written = false, why = errno;
  if (!good || written) return good;
  return fail_file(
      error,
      "cannot unpack %s into the folder for temporary files: %s; set TMPDIR to a folder with more room",
      unpacking->path, strerror(why));
}

bool unpacked_refuse_missing(const char *path, const char *library, const char *package,
                             struct error *error) {
  return fail_file(
      error,
      "cannot read %s: this program was built without %s; install the package %s (apt) and build it again",
      path, library, package);
}
