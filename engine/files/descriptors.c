#include "engine/files/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>

enum { LIMIT_LEAST = 256, SPARE = 32 }; /* what is advised; what else a program may open */

/* Of the numbers below the limit, those that are free, up to `count`. */
static size_t count_free(size_t count, size_t limit, size_t *used) {
  size_t found = 0;
  *used = 0;
  for (size_t number = 0; number < limit && found < count; number++)
    if (fcntl((int)number, F_GETFD) < 0 && errno == EBADF)
      found++;
    else
      ++*used;
  return found;
}

bool descriptors_for(size_t count, const char *what, struct error *error) {
  struct rlimit limit;
  size_t used;
  if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur == RLIM_INFINITY) return true;
  if (count_free(count, (size_t)limit.rlim_cur, &used) == count) return true;
  size_t enough = used + count + SPARE;
  return fail_as(error, ERROR_FAILED,
                 "%zu files more must be open at once for %s: this process has %zu open and may have %llu (ulimit -n, "
                 "RLIMIT_NOFILE); raise the limit to %zu",
                 count, what, used, (unsigned long long)limit.rlim_cur, enough < LIMIT_LEAST ? LIMIT_LEAST : enough);
}

const char *descriptors_reason(int why) {
  if (why == EMFILE)
    return "as many files are open as this process may have (ulimit -n, RLIMIT_NOFILE); raise the limit";
  return strerror(why);
}
