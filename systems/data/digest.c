#include "systems/data/digest.h"

#include "engine/base/arena.h"
#include "engine/base/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCKS = 16, BLOCK = 1 << 16, MOST = BLOCKS * BLOCK };

/* All of the bytes, or false. */
static bool read_at(int file, off_t place, size_t bytes, char *to) {
  size_t done = 0;
  while (done < bytes) {
    ssize_t got = pread(file, to + done, bytes - done, place + (off_t)done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    done += (size_t)got;
  }
  return true;
}

/* Bytes to `to`; 0: they cannot be read. */
static size_t sample(int file, off_t length, char *to) {
  if (length <= MOST) return read_at(file, 0, (size_t)length, to) ? (size_t)length : 0;
  for (off_t block = 0; block < BLOCKS; block++)
    if (!read_at(file, (length - BLOCK) * block / (BLOCKS - 1), BLOCK, to + block * BLOCK)) return 0;
  return MOST;
}

static struct digest digest_of(const char *bytes, size_t count) {
  struct digest digest;
  char hex[65];
  hash_hex(bytes, count, hex);
  sscanf(hex, "%8x%8x", &digest.word[0], &digest.word[1]);
  return digest;
}

struct digest digest_file(const char *path) {
  struct digest digest = {{0}};
  struct stat status;
  int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return digest;
  struct arena *arena = arena_open();
  char *bytes = arena_new(arena, MOST + 32);
  size_t used = fstat(file, &status) ? 0 : sample(file, status.st_size, bytes);
  if (used) {
    used += (size_t)snprintf(bytes + used, 32, "%lld", (long long)status.st_size);
    digest = digest_of(bytes, used);
  }
  arena_close(arena);
  close(file);
  return digest;
}

void digest_add(struct digest *digest, const void *bytes, size_t count) {
  struct arena *arena = arena_open();
  char *all = arena_new(arena, sizeof *digest + count);
  memcpy(all, digest, sizeof *digest);
  memcpy(all + sizeof *digest, bytes, count);
  *digest = digest_of(all, sizeof *digest + count);
  arena_close(arena);
}

bool digest_is_known(const struct digest *digest) {
  return digest->word[0] || digest->word[1];
}

/* ---- whole files --------------------------------------------------------------------------------------- */

static bool hold_the_same(int file, int other, char *bytes) {
  struct stat status, another;
  if (fstat(file, &status) || fstat(other, &another) || status.st_size != another.st_size) return false;
  for (off_t place = 0; place < status.st_size; place += BLOCK) {
    off_t left = status.st_size - place;
    size_t count = left < BLOCK ? (size_t)left : BLOCK;
    if (!read_at(file, place, count, bytes) || !read_at(other, place, count, bytes + BLOCK) ||
        memcmp(bytes, bytes + BLOCK, count) != 0)
      return false;
  }
  return true;
}

bool files_are_equal(const char *path, const char *other) {
  int first = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), second = open(other, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  struct arena *arena = arena_open();
  char *bytes = arena_new(arena, 2 * BLOCK);
  bool equal = first >= 0 && second >= 0 && hold_the_same(first, second, bytes);
  arena_close(arena);
  if (first >= 0) close(first);
  if (second >= 0) close(second);
  return equal;
}
