/* Messages of probe.c and probe_serve.c over a stream. The child says once that it is ready. A question is
 * its head, path, name and place; an answer is its head and a text. Texts end in a zero byte, which counts.
 * A file that is good is answered by the texts of its root's attributes, name and text in turn, so that the
 * program does not ask for each: longer ones are left out, and those that would make it more than PROBE_TOLD. */
#ifndef L2SR_ENGINE_PROBE_MESSAGE_H
#define L2SR_ENGINE_PROBE_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PROBE_READY = 0x6c327333 }; /* sent as uint32_t; another whenever the messages change */

enum { PROBE_TOLD = 32 << 10, PROBE_TOLD_TEXT = 16 << 10 }; /* bytes of all of a file, and of one */

struct probe_question {
  uint32_t path, name; /* bytes; a name of 0: look at the file */
  uint32_t to;         /* bytes; not 0: unpack the file to that path, as the name says */
};

enum probe_kind {
  PROBE_GOOD,
  PROBE_NONE,   /* no such text; no such file */
  PROBE_MEMORY, /* the limit was met */
  PROBE_REFUSED /* libhdf5 cannot list what is there, or the file cannot be unpacked; the text says why */
};

struct probe_answer {
  uint32_t kind, bytes;
};

/* All of the bytes; false: the other one has ended. (probe.c) */
bool probe_send(int socket, const void *data, size_t bytes);

#endif
