/* Whether a file is still the one it was, without reading all of it. */
#ifndef L2SR_SYSTEMS_DIGEST_H
#define L2SR_SYSTEMS_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct digest {
  uint32_t word[2];
};

/* A digest of the length and the bytes: all of them up to 1 MiB, else sixteen blocks from the first to the
 * last; zeros where the file cannot be read, or is empty. Times are left out: a copy is the same file. */
struct digest digest_file(const char *path);
/* Of what it was of before, and of the bytes. */
void digest_add(struct digest *digest, const void *bytes, size_t count);
bool digest_is_known(const struct digest *digest); /* it is not zeros */
/* Both are read whole: digests may agree where bytes do not. False, too, where one cannot be read. */
bool files_are_equal(const char *path, const char *other);

#endif
